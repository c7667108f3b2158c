"""Segments against true boundaries: seams of joined dialogues, and SGD's changes of service; beside TextTiling.

    .venv/bin/dial2vec run            # with corpora: [sgd, self_dialogue] in params.yaml
    .venv/bin/python benchmarks/segments.py sgd self_dialogue

Joined: half of up to 2,000 dialogues of test (and dev) are what cutting is learnt from, without labels; 300 dialogues
are joined from pieces of the other half, one to four each. Services: 1,200 dialogues of SGD's dev and test, with all
their services, cut as `dial2vec segments` does. A boundary is the first turn about another service: the system's turn
says which one is spoken about, and a turn of the user belongs to the answer to it.

F1 within one turn and exactly; Pk and WindowDiff with half the mean segment as their window, 0 is best.
"""

from __future__ import annotations

import argparse
import itertools
import json
import re
import sys
import zipfile
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
from groups import dialogues_of
from numpy.typing import NDArray

from conversations.words import words
from dial2vec.collection.clustering.communities import communities
from dial2vec.collection.collection_folder import sampled
from dial2vec.collection.segments.cuts import Cuts, join_courtesies
from dial2vec.collection.segments.cutting import fit_cutter, join_pieces
from dial2vec.collection.segments.scoring import boundary_f1, pk, window_diff
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.nearest import unit_rows

N_JOINED, N_SERVICES = 300, 1200
ARCHIVE = Path("data/sgd/dstc8-schema-guided-dialogue-master.zip")
# Hearst's defaults: words of a sequence, sequences of a block.
SEQUENCE, BLOCK = 20, 10

# Frequent function words, as in Hearst's list: TextTiling needs them left out, our cutting does not.
FREQUENT = """
a about all also am an and any are as at be been but by can could did do does for from had has have he her hers him his
how i if in into is it its just me my no not of on or our she so some than that the their them then there these they
this to too up us was we were what when where which who will with would yes you your
"""
STOP = frozenset(FREQUENT.split())

Texts = Sequence[str]
Vectors = NDArray[np.float32]
Tiling = Callable[[Texts, Vectors], list[int]]


def text_tiling(texts: Texts, vectors: Vectors, *, sequence: int = SEQUENCE, block: int = BLOCK) -> list[int]:
    """Return the boundaries of TextTiling (Hearst 1997, block comparison), moved to the nearest beginning of a turn.

    :param sequence: words of a pseudo-sentence.
    :param block: pseudo-sentences on either side of a gap.
    """
    del vectors
    tokens = [(word, turn) for turn, text in enumerate(texts) for word in re.findall(r"\w+", text.lower())]
    vocabulary = {word: at for at, word in enumerate(sorted({word for word, _ in tokens} - STOP))}
    n = max(1, len(tokens) // sequence)
    counts = np.zeros((n, max(1, len(vocabulary))))
    for at, (word, _) in enumerate(tokens):
        if word in vocabulary:
            counts[min(n - 1, at // sequence), vocabulary[word]] += 1
    begins = np.searchsorted([turn for _, turn in tokens], range(len(texts)))
    gaps = valleys(_likeness(counts, block))
    return sorted({int(np.abs(begins[1:] - gap * sequence).argmin()) + 1 for gap in gaps}) if len(texts) > 1 else []


def turn_tiling(texts: Texts, vectors: Vectors, *, block: int = 3) -> list[int]:
    """Return the boundaries of TextTiling if each turn is a pseudo-sentence."""
    del vectors
    own = [[word for word in words(text.lower()) if word not in STOP] for text in texts]
    vocabulary = {word: at for at, word in enumerate(sorted({word for turn in own for word in turn}))}
    counts = np.zeros((len(texts), max(1, len(vocabulary))))
    for at, turn in enumerate(own):
        np.add.at(counts[at], [vocabulary[word] for word in turn], 1)
    return valleys(_likeness(counts, block))


def vector_tiling(texts: Texts, vectors: Vectors, *, block: int = 3) -> list[int]:
    """Return the boundaries of TextTiling on vectors of turns instead of counts of words (as Solbiati et al. 2021)."""
    del texts
    return valleys(_likeness(vectors, block))


def _likeness(rows: NDArray[np.floating], block: int) -> NDArray[np.float64]:
    """Return the cosine of the sums of `block` rows before and after each gap, [n - 1]."""
    scores = []
    for gap in range(1, len(rows)):
        before, after = rows[max(0, gap - block) : gap].sum(axis=0), rows[gap : gap + block].sum(axis=0)
        scores.append(before @ after / max(1e-9, float(np.linalg.norm(before) * np.linalg.norm(after))))
    return np.array(scores, dtype=np.float64)


def valleys(scores: NDArray[np.float64]) -> list[int]:
    """Return the gaps, from 1, whose depth is above the mean less half a standard deviation (Hearst's cut-off)."""
    if len(scores) < 2:
        return []
    smooth = np.convolve(np.pad(scores, 1, mode="edge"), np.ones(3) / 3, mode="valid")
    depths = np.array([_depth(smooth, at) for at in range(len(smooth))])
    limit = depths.mean() - depths.std() / 2
    chosen: list[int] = []
    for at in np.argsort(-depths, kind="stable"):
        if depths[at] > max(limit, 0) and all(abs(at - other) > 1 for other in chosen):
            chosen.append(int(at))
    return sorted(at + 1 for at in chosen)


def _depth(scores: NDArray[np.float64], at: int) -> float:
    """Return how far the likeness rises on both sides of a valley; 0 beside one."""
    if (at and scores[at - 1] < scores[at]) or (at + 1 < len(scores) and scores[at + 1] < scores[at]):
        return 0.0
    peaks = []
    for step in (-1, 1):
        place = at
        while 0 <= place + step < len(scores) and scores[place + step] >= scores[place]:
            place += step
        peaks.append(scores[place] - scores[at])
    return float(sum(peaks))


def row(corpus: str, name: str, cuts: list[list[int]], true: list[list[int]], sizes: list[int]) -> str:
    """Return a row of the table."""
    window = max(1, round(sum(sizes) / (2 * (len(sizes) + sum(map(len, true))))))
    usable = [at for at, size in enumerate(sizes) if size > window]
    errors = [
        100 * float(np.mean([measure(cuts[at], true[at], sizes[at], window=window) for at in usable]))
        for measure in (pk, window_diff)
    ]
    scores = [100 * boundary_f1(cuts, true, tolerance=tolerance) for tolerance in (1, 0)]
    figures = " | ".join(f"{figure:.1f}" for figure in (*scores, *errors))
    per = [sum(map(len, places)) / len(sizes) for places in (true, cuts)]
    return f"| {corpus} | {name} | {figures} | {per[0]:.2f} | {per[1]:.2f} |"


def rows_of(
    corpus: str, texts: list[Texts], vectors: list[Vectors], true: list[list[int]], own: Tiling | None
) -> list[str]:
    """Return a row for each way of cutting."""
    lines = []
    sizes = [len(turns) for turns in texts]
    ways: dict[str, Tiling] = {"ours": own} if own else {}
    ways |= {"TextTiling": text_tiling, "TextTiling, turns": turn_tiling, "TextTiling, vectors of turns": vector_tiling}
    ways |= {"no cuts": lambda texts, vectors: []}
    for name, way in ways.items():
        cuts = [way(*dialogue) for dialogue in zip(texts, vectors, strict=True)]
        lines.append(row(corpus, name, cuts, true, sizes))
    return lines


def counts_of(texts: Texts) -> NDArray[np.int64]:
    """Return the number of words of each text."""
    return np.array([len(words(text)) for text in texts], dtype=np.int64)


def encoded(encoder: str, dialogues: Sequence[Texts]) -> tuple[Vectors, NDArray[np.int64], NDArray[np.int64]]:
    """Return the vectors of all turns, each read alone, their words, and the first turn of each dialogue."""
    texts = [text for turns in dialogues for text in turns]
    unique, places = np.unique(np.array(texts, dtype=object), return_inverse=True)
    units = unit_rows(load_encoder(encoder).encode_utterances(unique.tolist(), batch_size=64))
    return units[places], counts_of(texts), np.concatenate([[0], np.cumsum([len(turns) for turns in dialogues])])


def joined(corpus: str, dialogues: Sequence[Texts], encoder: str) -> list[str]:
    """Return the rows of joined dialogues; cutting is learnt from the dialogues with even numbers."""
    vectors, counts, starts = encoded(encoder, dialogues)
    texts = [text for turns in dialogues for text in turns]
    halves = []
    for half in (0, 1):
        rows = range(half, len(dialogues), 2)
        turns = np.concatenate([np.arange(starts[row], starts[row + 1]) for row in rows])
        halves.append((turns, np.concatenate([[0], np.cumsum([starts[row + 1] - starts[row] for row in rows])])))
    cutter = fit_cutter(vectors[halves[0][0]], counts[halves[0][0]], halves[0][1], seed=1)
    made = [(halves[1][0][places], seams) for places, seams in join_pieces(halves[1][1], N_JOINED, seed=2)]
    return rows_of(
        f"{corpus}, joined",
        [[texts[turn] for turn in turns] for turns, _ in made],
        [vectors[turns] for turns, _ in made],
        [seams for _, seams in made],
        lambda texts, vectors: cutter.cut(vectors, counts_of(texts)),
    )


def services_of(archive: Path) -> tuple[list[Texts], list[list[int]]]:
    """Return the turns of dialogues of SGD's dev and test, and the turns with which their service changes."""
    records = []
    with zipfile.ZipFile(archive) as opened:
        for split in ("dev", "test"):
            names = sorted(name for name in opened.namelist() if f"/{split}/dialogues_" in name)
            records += [record for name in names for record in json.loads(opened.read(name))]
    chosen = [records[row] for row in sampled(len(records), N_SERVICES, 1)]
    texts = [[turn["utterance"] for turn in record["turns"]] for record in chosen]
    return texts, [changes([[frame["service"] for frame in turn["frames"]] for turn in one["turns"]]) for one in chosen]


def changes(services: Sequence[Sequence[str]]) -> list[int]:
    """Return the turns with which the service changes; a turn with several has that of the next turn with one."""
    topics: list[str] = []
    for at, _own in enumerate(services):
        later = (other[0] for other in services[at:] if len(other) == 1)
        topics.append(next(later, (topics or [""])[-1]))
    return [at for at in range(1, len(topics)) if topics[at] != topics[at - 1]]


def services(archive: Path, encoder: str) -> list[str]:
    """Return the rows of SGD's changes of service."""
    texts, true = services_of(archive)
    vectors, counts, starts = encoded(encoder, texts)
    cutter = fit_cutter(vectors, counts, starts, seed=1)
    apart = [vectors[first:end] for first, end in itertools.pairwise(starts)]
    parts = [
        Cuts.of(cutter, at, own, counts_of(turns), at) for at, (turns, own) in enumerate(zip(texts, apart, strict=True))
    ]
    whole = Cuts.joined(parts)
    joined_cuts, _ = join_courtesies(whole, communities(whole.vectors, seed=1))
    lines = []
    for name, cuts in (("ours", joined_cuts), ("ours, thanks cut off", whole)):
        begins = [cuts.first[cuts.rows == at][1:].tolist() for at in range(len(texts))]
        lines.append(row("sgd, services", name, begins, true, [len(turns) for turns in texts]))
    return lines + rows_of("sgd, services", texts, apart, true, None)


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("corpora", nargs="+")
    parser.add_argument("--artifacts", type=Path, default=Path("artifacts"))
    parser.add_argument("--archive", type=Path, default=ARCHIVE, help="SGD as it was fetched, with all services")
    parser.add_argument("--encoder", default="all-MiniLM-L6-v2", help="encoder of the turns")
    arguments = parser.parse_args()
    out = sys.stdout
    out.write("| dialogues | cut by | F1, ±1 turn | F1, exact | Pk | WindowDiff | true cuts | found |\n")
    out.write("|" + "---|" * 8 + "\n")
    for corpus in arguments.corpora:
        dialogues = [[turn.text for turn in one.turns] for one in dialogues_of(corpus, arguments.artifacts)]
        out.write("\n".join(joined(corpus, dialogues, arguments.encoder)) + "\n")
        out.flush()
    if "sgd" in arguments.corpora and arguments.archive.is_file():
        out.write("\n".join(services(arguments.archive, arguments.encoder)) + "\n")


if __name__ == "__main__":
    main()
