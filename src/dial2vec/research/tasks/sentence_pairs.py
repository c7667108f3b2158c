"""Relatedness of sentence pairs: does the cosine rank pairs of sentences as people do? (D-STS of DialogueCSE)"""

from __future__ import annotations

import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import rankdata

from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec.evaluation.distribution import normalised
from dial2vec.research.tasks.encoding import Reader, encode_distinct, stepped
from dial2vec.research.tasks.records import TaskResult, points, versions_of
from dial2vec.research.tasks.tab_rows import tab_rows


@dataclass(frozen=True, slots=True)
class SentencePairs:
    """Pairs of sentences that people judged.

    :param scores: how related each pair is, higher is more; any scale, only the order counts.
    :param first: the first sentence of each pair.
    :param second: the second one.
    """

    scores: tuple[float, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]


def read_sentence_pairs(path: Path) -> SentencePairs:
    """Read `score <tab> sentence <tab> sentence` lines, the form of DialogueCSE's `sts.txt` (UTF-8, no header).

    :raises CorpusError: naming file and line, when a line has other cells, a blank sentence, or no number as score.
    """
    scores, first, second = [], [], []
    for number, (score, one, other) in tab_rows(path, ("score", "sentence", "sentence")):
        try:
            value = float(score)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise CorpusError(f"{path}:{number}: found the score {score!r}, expected a number. Mend or remove it.")
        if not one or not other:
            raise CorpusError(f"{path}:{number}: found a blank sentence, expected two sentences. Mend or remove it.")
        scores.append(value)
        first.append(one)
        second.append(other)
    return SentencePairs(tuple(scores), tuple(first), tuple(second))


def pair_relatedness(reader: Reader, pairs: SentencePairs, *, data: str) -> TaskResult:
    """Correlate the cosine of each pair with its score; the figure is "spearman".

    Spearman's correlation in points, in [-100, 100], higher is better; ties share their average rank. Where all
    cosines are equal it is not defined and counts 0. Source: Liu et al. 2021 (DialogueCSE), section 4 (D-STS).

    :param data: name of the data, for the record.
    :raises Dial2vecError: when fewer than two pairs, or pairs of one score only, leave nothing to rank.
    """
    if len(set(pairs.scores)) < 2:
        raise Dial2vecError(
            f"found {len(pairs.scores)} pairs with {len(set(pairs.scores))} different scores in {data}; expected at "
            "least two different ones, as a correlation needs. Take more pairs."
        )
    start = time.perf_counter()
    encoded = encode_distinct(reader.utterances, [*pairs.first, *pairs.second])
    units = normalised(encoded.vectors)
    first, second = units[encoded.rows(pairs.first)], units[encoded.rows(pairs.second)]
    cosines = stepped(np.einsum("ij,ij->i", first, second))
    return TaskResult(
        task="sentence_pairs",
        data=data,
        n=len(pairs.scores),
        figures={"spearman": points(_spearman(cosines, np.array(pairs.scores)))},
        spread={},
        seconds=time.perf_counter() - start,
        versions=versions_of("numpy", "scipy"),
    )


def _spearman(found: np.ndarray, expected: np.ndarray) -> float:
    found, expected = rankdata(found), rankdata(expected)
    found, expected = found - found.mean(), expected - expected.mean()
    spread = math.sqrt(float(found @ found) * float(expected @ expected))
    return float(found @ expected) / spread if spread else 0.0
