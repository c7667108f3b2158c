"""Taskmaster 1 to 4: task-oriented dialogues, written by one person or spoken by two."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from conversations.dialogue import Origin, Quarantined, RecordError
from dial2vec.data.corpora.corpus import Splitting
from dial2vec_papers.corpora.file_corpus import (
    SPLITS,
    CorpusFiles,
    Element,
    ListCorpus,
    Lists,
    Placed,
    expect,
    id_below,
    literal,
)
from dial2vec_papers.corpora.source_files import SourceFile, lines_of, listed_twice, records_of

# First word of `instruction_id` -> name of the task in upstream's ontology.
TASKS = {
    "auto": "auto_repair",
    "coffee": "coffee_ordering",
    "movie": "movie_ticket",
    "pizza": "pizza_ordering",
    "restaurant": "restaurant_reservation",
    "uber": "uber_lyft",
}
# Domains of the second corpus.
SPOKEN = ("flights", "food-ordering", "hotels", "movies", "music", "restaurant-search", "sports")
# Upstream's text of a turn that was removed.
DELETED = "(deleted)"
SPEAKERS = ("user", "assistant")


class Taskmaster(ListCorpus):
    """Base of the four readers (Byrne et al. 2019 and 2021; CC BY 4.0): one archive holds all four corpora."""

    url = "https://github.com/google-research-datasets/Taskmaster/archive/refs/heads/master.zip"
    splitting: ClassVar[Splitting] = "shuffled"
    source = "https://github.com/google-research-datasets/Taskmaster"
    key = "conversation_id"

    def dialogue(self, record: Element) -> dict[str, Any]:
        """Convert a conversation; removed turns are dropped."""
        content = expect(record.content, dict, "the dialogue")
        turns = [expect(turn, dict, "an utterance") for turn in expect(content["utterances"], list, "'utterances'")]
        return {
            "dialogue_id": id_below(record.group, content["conversation_id"], "'conversation_id'"),
            "turns": [_turn(turn) for turn in turns],
            "labels": [self.label(record.group, content)],
            "split": record.split,
        }

    def label(self, group: str, content: dict[str, Any]) -> str:
        """Return the label of a conversation."""
        return group


class Taskmaster1(Taskmaster):
    """Taskmaster 1: 7,708 written and 5,507 spoken dialogues (upstream's README) of 6 tasks.

    The written ones (`self-dialogs.json`) have official splits. The spoken ones (`woz-dialogs.json`) have none and are
    all train. The label is the task, as the first word of `instruction_id` says it.
    """

    splitting: ClassVar[Splitting] = "official"
    expected: ClassVar[Mapping[str, str]] = {
        "TM-1-2019/self-dialogs.json": r"self-dialogs\.json",
        "TM-1-2019/woz-dialogs.json": r"woz-dialogs\.json",
        **{f"TM-1-2019/train-dev-test/{split}.csv": rf"train-dev-test/{split}\.csv" for split in SPLITS},
    }

    def records(self, sources: CorpusFiles, quarantine: list[Quarantined]) -> Iterator[Placed]:
        """Yield the conversations of both files, and note the listed ids that the first one lacks."""
        written, spoken = (sources.only(self.expected[f"TM-1-2019/{name}-dialogs.json"]) for name in ("self", "woz"))
        lists = {split: sources.only(self.expected[f"TM-1-2019/train-dev-test/{split}.csv"]) for split in SPLITS}
        listed = _listed(lists)
        met: set[str] = set()
        for number, content in records_of(written):
            upstream = content.get("conversation_id") if isinstance(content, dict) else None
            split = listed.get(upstream, (None, 0))[0] if isinstance(upstream, str) else None
            if split is not None:
                met.add(str(upstream))
            yield Origin(written.address, number), Element("self", split, number, content)
        for number, content in records_of(spoken):
            yield Origin(spoken.address, number), Element("woz", "train", number, content)
        for upstream, (split, line) in listed.items():
            if upstream not in met:
                reason = f"it is listed for {split}, and self-dialogs.json has no such dialogue"
                quarantine.append(Quarantined(Origin(lists[split].address, line), f"self/{upstream}", reason))

    def dialogue(self, record: Element) -> dict[str, Any]:
        """Convert a conversation; a written one must have a split."""
        if record.split is None and isinstance(record.content, dict):
            raise RecordError("no list of train-dev-test has it")
        return Taskmaster.dialogue(self, record)

    def label(self, group: str, content: dict[str, Any]) -> str:
        """Return the task of a conversation."""
        instruction = expect(content["instruction_id"], str, "'instruction_id'")
        word = instruction.partition("-")[0]
        if word not in TASKS:
            raise RecordError(f"'instruction_id' must start with one of {', '.join(TASKS)}, found {instruction[:40]!r}")
        return TASKS[word]


class Taskmaster2(Taskmaster):
    """Taskmaster 2: spoken dialogues of 7 domains, one file each; the label is the file's name. No official splits."""

    lists: ClassVar[Lists] = {f"TM-2-2020/data/{domain}.json": (domain, None) for domain in SPOKEN}
    expected = literal(lists)


class Taskmaster3(Taskmaster):
    """Taskmaster 3: written dialogues about cinema tickets. Upstream's splits are of single turns, and not read."""

    lists: ClassVar[Lists] = {f"TM-3-2020/data/data_{number:02}.json": ("", None) for number in range(20)}
    expected: ClassVar[Mapping[str, str]] = literal(lists)

    def label(self, group: str, content: dict[str, Any]) -> str:
        """Return the domain of a conversation."""
        return expect(content["vertical"], str, "'vertical'")


class Taskmaster4(Taskmaster3):
    """Taskmaster 4: written dialogues about orders of coffee. No official splits."""

    lists: ClassVar[Lists] = {"TM-4-2024/data/data_NN.json": ("", None)}
    expected: ClassVar[Mapping[str, str]] = {"TM-4-2024/data/data_NN.json": r"TM-4-2024/data/data_\d+\.json"}


def _turn(turn: dict[str, Any]) -> dict[str, Any]:
    speaker = expect(turn["speaker"], str, "'speaker'").lower()
    if speaker not in SPEAKERS:
        raise RecordError(f"'speaker' must be USER or ASSISTANT, found {turn['speaker'][:40]!r}")
    text = expect(turn["text"], str, "'text'")
    return {"speaker": speaker, "text": "" if text.strip() == DELETED else text}


def _listed(lists: Mapping[str, SourceFile]) -> dict[str, tuple[str, int]]:
    """Return id -> split and line; the lists have one id per line, with a comma after it.

    :raises CorpusError: if an id is in two lists.
    """
    listed: dict[str, tuple[str, int]] = {}
    for split, file in lists.items():
        for number, line in lines_of(file):
            upstream = line.partition(",")[0].strip()
            if upstream and listed.setdefault(upstream, (split, number))[0] != split:
                raise listed_twice(file, number, upstream, listed[upstream][0])
    return listed
