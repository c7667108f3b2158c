"""DSTC2: telephone calls to a system that knows restaurants, official splits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from conversations.dialogue import Origin, Quarantined, RecordError
from dial2vec_papers.corpora.file_corpus import SPLITS, CorpusFiles, FileCorpus, Placed, expect
from dial2vec_papers.corpora.source_files import SourceFile, json_of, lines_of, listed_twice

# Folder of the recording day and call.
CALL = r"(?P<call>[^/]+/[^/]+)"
LOG = CALL + r"/log\.json"
LABEL = CALL + r"/label\.json"


class Dstc2(FileCorpus):
    """Reader of the upstream archives (Henderson et al. 2014): 1,612, 506 and 1,117 calls.

    In each turn the system speaks (`log.json`), then the user, as people have transcribed it (`label.json`), not as the
    recogniser heard it. `dstc2_<split>.flist` names the calls of a split. There are no labels: all calls are about
    restaurants. `dstc2_traindev.tar.gz` and `dstc2_test.tar.gz` are both needed, as they are or unpacked.
    """

    source = "https://github.com/matthen/dstc (dstc2_traindev.tar.gz and dstc2_test.tar.gz)"
    expected: ClassVar[Mapping[str, str]] = {
        **{f"dstc2_{split}.flist": rf"dstc2_{split}\.flist" for split in SPLITS},
        "log.json": LOG,
        "label.json": LABEL,
    }

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the listed calls, sorted by split and name; note those without files, and files in no list."""
        logs = {groups["call"]: file for file, groups in sources.matching(LOG)}
        labels = {groups["call"]: file for file, groups in sources.matching(LABEL)}
        listed: dict[str, str] = {}
        for split in SPLITS:
            names = sources.only(self.expected[f"dstc2_{split}.flist"])
            for number, call in _calls(names):
                if listed.setdefault(call, split) != split:
                    raise listed_twice(names, number, call, listed[call])
                if call in logs and call in labels:
                    yield Origin(logs[call].address, 0), (split, call, logs[call], labels[call])
                else:
                    lacking = "log.json" if call not in logs else "label.json"
                    reason = f"it is listed for {split}, and there is no {lacking} of it"
                    quarantine.append(Quarantined(Origin(names.address, number), f"{split}/{call}", reason))
        for call in sorted(logs.keys() - listed.keys()):
            quarantine.append(Quarantined(Origin(logs[call].address, 0), call, "it is in no dstc2_<split>.flist"))

    def dialogue(self, record: Any) -> dict[str, Any]:
        """Convert a call: the turns of both files must have the same numbers."""
        split, call, log_file, label_file = record
        log, label = expect(json_of(log_file), dict, "log.json"), expect(json_of(label_file), dict, "label.json")
        outputs, inputs = expect(log["turns"], list, "'turns'"), expect(label["turns"], list, "'turns' of label.json")
        if len(outputs) != len(inputs):
            raise RecordError(f"log.json has {len(outputs)} turns, and label.json has {len(inputs)}")
        turns = []
        for place, (spoken, transcribed) in enumerate(zip(outputs, inputs, strict=True)):
            spoken, transcribed = expect(spoken, dict, "a turn"), expect(transcribed, dict, "a turn of label.json")
            if spoken["turn-index"] != place or transcribed["turn-index"] != place:
                raise RecordError(f"'turn-index' of turn {place + 1} is not {place} in both files")
            turns.append({"speaker": "system", "text": expect(spoken["output"], dict, "'output'")["transcript"]})
            turns.append({"speaker": "user", "text": transcribed["transcription"]})
        return {"dialogue_id": f"{split}/{call}", "turns": turns, "split": split}


def _calls(file: SourceFile) -> Iterator[tuple[int, str]]:
    """Yield line number and call, as day and name: some copies of the lists have longer paths."""
    for number, line in lines_of(file):
        if line.strip():
            yield number, "/".join(line.strip().strip("/").split("/")[-2:])
