"""Stage prepare: usable dialogues to train, dev and test."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from dataclasses import replace
from typing import Any

from dial2vec.config import Settings
from dial2vec.data.corpora import get_corpus
from dial2vec.data.splits import LEFT_OUT, SPLITS, Division, divide
from dial2vec.dialogue import dialogue_writer, read_dialogues
from dial2vec.errors import CorpusError
from dial2vec.files import atomic_path, write_json
from dial2vec.pipeline import run_stage as stage
from dial2vec.pipeline.artifacts import Artifacts


def prepare(artifacts: Artifacts, settings: Settings) -> str:
    """Split the corpus: officially where upstream has splits, by seed otherwise; own ones without copies across."""
    splitting = get_corpus(artifacts.corpus, data=artifacts.data.parent).splitting
    found = divide(
        read_dialogues(artifacts.dialogues), splitting=splitting, options=settings.prepare, seed=settings.seed
    )
    if not found.size(0):
        raise CorpusError(
            f"{artifacts.corpus}: the train split is empty; expected dialogues in it. Lower the shares in block "
            "`prepare` of params.yaml, or, where upstream has splits, fetch the archive again."
        )
    with atomic_path(artifacts.splits) as folder, ExitStack() as stack:
        folder.mkdir()
        writers = [stack.enter_context(dialogue_writer(folder / f"{name}.jsonl")) for name in SPLITS]
        for dialogue, split in zip(read_dialogues(artifacts.dialogues), found.assigned.tolist(), strict=True):
            if split != LEFT_OUT:
                writers[split](replace(dialogue, split=SPLITS[split]))
    write_json(artifacts.split_report, {"corpus": artifacts.corpus, "splitting": splitting} | _report(found))
    return _in_words(found, splitting)


def _report(found: Division) -> dict[str, Any]:
    labels: list[Counter[str]] = [Counter() for _ in SPLITS]
    for split, names in zip(found.assigned.tolist(), found.labels, strict=True):
        if split != LEFT_OUT and len(names) == 1:
            labels[split][names[0]] += 1
    copies = [
        {
            "dialogue_id": found.ids[copy.place],
            "split": found.splits[copy.place],
            "of": found.ids[copy.of],
            "of_split": found.splits[copy.of],
            "similarity": copy.similarity,
        }
        for copy in found.copies
    ]
    return {
        "split_sizes": {name: found.size(split) for split, name in enumerate(SPLITS)},
        "labels": {name: dict(counts.most_common()) for name, counts in zip(SPLITS, labels, strict=True)},
        "several_labels": [found.ids[place] for place in found.several],
        "copies": copies,
    }


def _in_words(found: Division, splitting: str) -> str:
    said = [", ".join(f"{name} {found.size(split)}" for split, name in enumerate(SPLITS))]
    if found.several:
        said.append(f"{len(found.several)} with several labels left out of dev and test")
    judging = [names for names, split in zip(found.labels, found.assigned.tolist(), strict=True) if split in (1, 2)]
    if unscored := sum(len(names) > 1 for names in judging):
        said.append(f"{unscored} of dev and test have several labels, and no figure counts them")
    if found.n_marked:
        said.append(f"{found.n_marked} name a split, which is not followed: own dialogues are split by their ids")
    if found.copies:
        done = (
            "left out of dev and test, because they copy" if splitting == "hashed" else "of dev and test stay that copy"
        )
        said.append(f"{len(found.copies)} {done} a dialogue of an earlier split (splits.json)")
    if splitting == "hashed" and len(found.copies) > len(judging):
        said.append(
            "most of dev and test was left out, so the dialogues seem to follow templates: raise "
            "prepare.near_duplicate if they are to count as different"
        )
    return "; ".join(said)


if __name__ == "__main__":
    stage.main(prepare)
