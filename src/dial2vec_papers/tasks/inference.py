"""Inference between sentences: is a sentence nearer to what follows from it than to what contradicts it?"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from dial2vec.errors import CorpusError
from dial2vec.evaluation.distribution import normalised
from dial2vec.evaluation.ranking import stepped
from dial2vec.training.methods.dse import labelled_pairs
from dial2vec_papers.tasks.encoding import Reader, encode_distinct
from dial2vec_papers.tasks.records import TaskResult, points, tab_rows, timed

# Labels of Dialogue NLI, SNLI and MultiNLI -> whether the second sentence follows from the first; None for neither.
LABELS = {
    **{"positive": True, "negative": False, "neutral": None},
    **{"entailment": True, "contradiction": False, "-": None},
}


@dataclass(frozen=True, slots=True)
class Inferences:
    """Sentences, each with one that follows from it and one that contradicts it; all three have one length."""

    sentences: tuple[str, ...]
    following: tuple[str, ...]
    contradicting: tuple[str, ...]


def read_inferences(path: Path) -> Inferences:
    """Read `sentence <tab> what follows <tab> what contradicts` lines, or labelled pairs from `.json` or `.jsonl`.

    Labelled pairs have the keys of Dialogue NLI (`sentence1`, `sentence2`, `label`: positive, neutral or negative) or
    of SNLI (`gold_label`: entailment, neutral or contradiction), as one JSON list or an object per line. The first pair
    that follows from a sentence is put beside its first that contradicts it, the second beside the second, and so on.

    :raises CorpusError: if a line, or a pair, does not have this form, or no sentence has both; the message names the
        file and the line, or the number of the pair.
    """
    rows = _of_pairs(path) if path.suffix in (".json", ".jsonl") else _of_lines(path)
    if not rows:
        raise CorpusError(
            f"{path} has no sentence with both a pair that follows and one that contradicts; expected some. Take "
            "another file."
        )
    return Inferences(*zip(*rows, strict=True))


def _of_lines(path: Path) -> list[tuple[str, str, str]]:
    rows = []
    for number, (sentence, follows, contradicts) in tab_rows(path, ("sentence", "what follows", "what contradicts")):
        if not (sentence and follows and contradicts):
            raise CorpusError(f"{path}:{number}: found a blank sentence, expected three. Mend or remove this line.")
        rows.append((sentence, follows, contradicts))
    return rows


def _of_pairs(path: Path) -> list[tuple[str, str, str]]:
    pairs_of_sentence: dict[str, dict[bool, list[str]]] = defaultdict(lambda: {True: [], False: []})
    for number, first, second, label in labelled_pairs(path):
        if label not in LABELS:
            raise CorpusError(
                f"{path}: pair {number} has the label {label!r}; expected one of {', '.join(LABELS)}. Mend it."
            )
        follows = LABELS[label]
        if follows is not None:
            pairs_of_sentence[first][follows].append(second)
    return [
        (sentence, *both)
        for sentence, pairs in pairs_of_sentence.items()
        for both in zip(pairs[True], pairs[False], strict=False)
    ]


@timed("numpy")
def infer_sentences(reader: Reader, inferences: Inferences, *, data: str) -> TaskResult:
    """Return the figure "accuracy": sentences that are nearer to what follows than to what contradicts.

    Nearer by cosine, in points, in [0, 100], higher is better, 50 by chance; a tie counts as wrong, so equal vectors
    score 0. Both may be near: a method that learns from consecutive utterances draws answers that disagree to their
    question, too. Source: Zhou et al. 2022 (DSE), section 4.5, by the form of the paper's code.
    """
    texts = (inferences.sentences, inferences.following, inferences.contradicting)
    encoded = encode_distinct(reader.utterances, [text for part in texts for text in part])
    units = normalised(encoded.vectors)
    asked, follows, contradicts = (units[encoded.rows(part)] for part in texts)
    near, far = (stepped(np.einsum("ij,ij->i", asked, other)) for other in (follows, contradicts))
    return TaskResult(
        task="inference",
        data=data,
        n=len(near),
        figures={"accuracy": points(float((near > far).mean()))},
    )
