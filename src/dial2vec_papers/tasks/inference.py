"""Inference between sentences: is a sentence nearer to what follows from it than to what contradicts it?"""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from conversations.files import reading_errors
from dial2vec.errors import CorpusError, described
from dial2vec.evaluation.distribution import normalised
from dial2vec.evaluation.ranking import stepped
from dial2vec_papers.tasks.encoding import Reader, encode_distinct
from dial2vec_papers.tasks.records import TaskResult, points, timed
from dial2vec_papers.tasks.tab_rows import tab_rows

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
    for where, pair in _records(path):
        if not isinstance(pair, dict):
            raise CorpusError(f"{where}: found {described(pair)}, expected an object. Mend or remove it.")
        first, second, label = (
            pair.get(key) for key in ("sentence1", "sentence2", "label" if "label" in pair else "gold_label")
        )
        if not (isinstance(first, str) and isinstance(second, str) and first.strip() and second.strip()):
            raise CorpusError(
                f"{where}: found {described(pair)}, expected the texts sentence1 and sentence2. Mend or remove it."
            )
        if not isinstance(label, str) or label not in LABELS:
            raise CorpusError(
                f"{where}: found the label {label!r}, expected one of {', '.join(LABELS)}. Mend or remove it."
            )
        follows = LABELS[label]
        if follows is not None:
            pairs_of_sentence[first.strip()][follows].append(second.strip())
    return [
        (sentence, *both)
        for sentence, pairs in pairs_of_sentence.items()
        for both in zip(pairs[True], pairs[False], strict=False)
    ]


def _records(path: Path) -> list[tuple[str, object]]:
    """Return each record with its place for errors: the line, or the number in the list."""
    with reading_errors(path, "labelled pairs"):
        text = path.read_text(encoding="utf-8-sig")
    if text.lstrip().startswith("["):
        return [(f"{path}, pair {number}", pair) for number, pair in enumerate(_decoded(text, str(path)), start=1)]
    lines = enumerate(text.split("\n"), start=1)
    return [(f"{path}:{number}", _decoded(line, f"{path}:{number}")) for number, line in lines if line.strip()]


def _decoded(text: str, where: str) -> list[object]:
    try:
        decoded: list[object] = json.loads(text)
    except (ValueError, RecursionError) as error:
        reason = getattr(error, "msg", type(error).__name__)
        raise CorpusError(f"{where}: not valid JSON ({reason}); expected labelled pairs. Mend it.") from error
    return decoded


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
