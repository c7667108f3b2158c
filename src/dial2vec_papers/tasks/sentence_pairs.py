"""Relatedness of sentence pairs: compare the order by cosine with the order by people (D-STS of DialogueCSE)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from scipy.stats import spearmanr

from dial2vec.errors import CorpusError, Dial2vecError
from dial2vec.evaluation.distribution import normalised
from dial2vec.evaluation.ranking import stepped
from dial2vec_papers.tasks.encoding import Reader, encode_distinct
from dial2vec_papers.tasks.records import TaskResult, points, tab_rows, timed


@dataclass(frozen=True, slots=True)
class SentencePairs:
    """Pairs of sentences with human judgements.

    :param scores: relatedness of each pair, on any scale, since only the order counts; higher is more related.
    """

    scores: tuple[float, ...]
    first: tuple[str, ...]
    second: tuple[str, ...]


def read_sentence_pairs(path: Path) -> SentencePairs:
    """Read `score <tab> sentence <tab> sentence` lines, the form of DialogueCSE's `sts.txt` (UTF-8, no header).

    :raises CorpusError: if a line does not have 3 cells, has a blank sentence, or its score is no number; the message
        names file and line.
    """
    scores, first, second = [], [], []
    for number, (score, left, right) in tab_rows(path, ("score", "sentence", "sentence")):
        try:
            value = float(score)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise CorpusError(f"{path}:{number}: found the score {score!r}, expected a number. Mend or remove it.")
        if not left or not right:
            raise CorpusError(f"{path}:{number}: found a blank sentence, expected two sentences. Mend or remove it.")
        scores.append(value)
        first.append(left)
        second.append(right)
    return SentencePairs(tuple(scores), tuple(first), tuple(second))


@timed("numpy", "scipy")
def pair_relatedness(reader: Reader, pairs: SentencePairs, *, data: str) -> TaskResult:
    """Correlate the cosine of each pair with its score; the figure is "spearman".

    Spearman's correlation in points, in [-100, 100], higher is better; ties share their average rank. If all
    cosines are equal, it is undefined and counts as 0. Source: Liu et al. 2021 (DialogueCSE), section 5.1 (D-STS).

    :raises Dial2vecError: if the pairs have fewer than 2 different scores.
    """
    if len(set(pairs.scores)) < 2:
        raise Dial2vecError(
            f"found {len(pairs.scores)} pairs with {len(set(pairs.scores))} different scores in {data}; expected at "
            "least two different ones, as a correlation needs. Take more pairs."
        )
    encoded = encode_distinct(reader.utterances, [*pairs.first, *pairs.second])
    units = normalised(encoded.vectors)
    first, second = units[encoded.rows(pairs.first)], units[encoded.rows(pairs.second)]
    cosines = stepped(np.einsum("ij,ij->i", first, second))
    spearman = float(spearmanr(cosines, pairs.scores).statistic) if np.ptp(cosines) else 0.0
    return TaskResult(task="sentence_pairs", data=data, n=len(pairs.scores), figures={"spearman": points(spearman)})
