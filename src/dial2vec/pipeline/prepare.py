"""Stage prepare: split the usable dialogues into train, dev and test."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

from conversations.dialogue import dialogues_of_lines, line_of
from conversations.files import atomic_path, numbered_lines, write_json
from dial2vec.config import Settings, part_of
from dial2vec.data.corpora import get_corpus
from dial2vec.data.corpora.corpus import Splitting
from dial2vec.data.corpora.joint import Joint
from dial2vec.data.splits import BLOCK, LEFT_OUT, SPLITS, Copy, Division, Signed, divide
from dial2vec.data.workers import spread
from dial2vec.errors import CorpusError
from dial2vec.pipeline import run_stage as stage
from dial2vec.pipeline.artifacts import Artifacts

# Bytes of a block of lines, by which processes are counted, and blocks for which one more is worth its start.
BLOCK_BYTES, FEWEST_BLOCKS = 10_000_000, 4
Block = tuple[Path, list[tuple[int, str]]]


def prepare(artifacts: Artifacts, settings: Settings) -> str:
    """Split the corpus by its official splits if any, otherwise by seed without copies across splits."""
    corpus = get_corpus(artifacts.corpus, data=artifacts.data.parent)
    splitting, parts = corpus.splitting, corpus.splittings if isinstance(corpus, Joint) else None
    # A missing file is said when it is read.
    size = artifacts.dialogues.stat().st_size if artifacts.dialogues.is_file() else 0
    on_workers = partial(spread, n_parts=size // BLOCK_BYTES, fewest=FEWEST_BLOCKS)
    division = divide(
        on_workers(_signed, _blocks_of_lines(artifacts.dialogues)),
        splitting=splitting,
        options=settings.prepare,
        seed=settings.seed,
        parts=parts,
    )
    if not division.size(0):
        raise CorpusError(
            f"{artifacts.corpus}: the train split is empty; expected dialogues in it. Lower the shares in block "
            "`prepare` of params.yaml; if the corpus has official splits, fetch its archive again."
        )
    with atomic_path(artifacts.splits) as folder, ExitStack() as stack:
        folder.mkdir()
        files = [stack.enter_context((folder / f"{name}.jsonl").open("wb")) for name in SPLITS]
        for texts in on_workers(_by_split, _blocks_with_splits(artifacts.dialogues, division)):
            for file, text in zip(files, texts, strict=True):
                file.write(text)
    report = {"corpus": artifacts.corpus, "splitting": splitting} | _report(division)
    write_json(artifacts.split_report, report | (_report_of_parts(division, parts) if parts else {}))
    return _summary(division, splitting)


def _blocks_of_lines(path: Path) -> Iterator[Block]:
    lines = numbered_lines(path)
    while taken := list(islice(lines, BLOCK)):
        yield path, taken


def _signed(block: Block) -> Signed:
    path, lines = block
    return Signed.of(list(dialogues_of_lines(lines, path)))


def _blocks_with_splits(path: Path, division: Division) -> Iterator[tuple[Block, list[int]]]:
    first = 0
    for _, lines in _blocks_of_lines(path):
        yield (path, lines), division.assigned[first : first + len(lines)].tolist()
        first += len(lines)


def _by_split(block: tuple[Block, list[int]]) -> list[bytes]:
    """Return the lines of each split's file, as `dialogue_writer` writes them."""
    (path, lines), assigned = block
    texts: list[list[bytes]] = [[] for _ in SPLITS]
    for dialogue, split in zip(dialogues_of_lines(lines, path), assigned, strict=True):
        if split != LEFT_OUT:
            texts[split].append(line_of(replace(dialogue, split=SPLITS[split])))
    return [b"".join(text) for text in texts]


def _report(division: Division) -> dict[str, Any]:
    labels: list[Counter[str]] = [Counter() for _ in SPLITS]
    for split, names in zip(division.assigned.tolist(), division.labels, strict=True):
        if split != LEFT_OUT and len(names) == 1:
            labels[split][names[0]] += 1
    return {
        "split_sizes": {name: division.size(split) for split, name in enumerate(SPLITS)},
        "labels": {name: dict(counts.most_common()) for name, counts in zip(SPLITS, labels, strict=True)},
        "several_labels": [division.ids[place] for place in division.several],
        "copies": _described(division, division.copies),
    }


def _report_of_parts(division: Division, parts: Mapping[str, Splitting]) -> dict[str, Any]:
    """Return the sizes of each joined corpus, and what was left out because of the others."""
    owners = [part_of(name) for name in division.ids]
    counts = Counter(zip(owners, division.assigned.tolist(), strict=True))
    return {
        "parts": {
            name: {"splitting": kind} | {split: counts[name, place] for place, split in enumerate(SPLITS)}
            for name, kind in parts.items()
        },
        "copies_between_corpora": _described(division, division.foreign),
        "beyond_shares": dict(Counter(owners[place] for place in division.surplus)),
    }


def _described(division: Division, copies: list[Copy]) -> list[dict[str, Any]]:
    return [
        {
            "dialogue_id": division.ids[copy.place],
            "split": division.splits[copy.place],
            "of": division.ids[copy.of],
            "of_split": division.splits[copy.of],
            "similarity": copy.similarity,
        }
        for copy in copies
    ]


def _summary(division: Division, splitting: str) -> str:
    parts = [", ".join(f"{name} {division.size(split)}" for split, name in enumerate(SPLITS))]
    if division.several:
        parts.append(f"{len(division.several)} with several labels left out of dev and test")
    dev_and_test = [
        names for names, split in zip(division.labels, division.assigned.tolist(), strict=True) if split in (1, 2)
    ]
    if unscored := sum(len(names) > 1 for names in dev_and_test):
        parts.append(f"{unscored} of dev and test have several labels and are not scored")
    if division.n_marked:
        parts.append(f"{division.n_marked} name a split, which is ignored: own dialogues are split by their ids")
    if division.foreign:
        parts.append(f"{len(division.foreign)} left out, because they copy a later split of another corpus")
    if division.surplus:
        parts.append(f"{len(division.surplus)} of train left out by prepare.shares")
    if division.copies and splitting == "joint":
        parts.append(f"{len(division.copies)} copies within a corpus (splits.json)")
    elif division.copies:
        done = (
            "left out of dev and test, because they copy" if splitting == "hashed" else "of dev and test stay that copy"
        )
        parts.append(f"{len(division.copies)} {done} a dialogue of an earlier split (splits.json)")
    if splitting == "hashed" and len(division.copies) > len(dev_and_test):
        parts.append(
            "most of dev and test was left out, because the dialogues seem to follow templates: raise "
            "prepare.near_duplicate to keep similar ones"
        )
    return "; ".join(parts)


if __name__ == "__main__":
    stage.main(prepare)
