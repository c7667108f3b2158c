"""Robustness: response selection from contexts that are shortened, shuffled or misspelt."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from dial2vec.draws import rng_for
from dial2vec_papers.tasks.encoding import Context, Reader, Spoken, encode_distinct
from dial2vec_papers.tasks.records import TaskResult, timed
from dial2vec_papers.tasks.response_selection import (
    TOP,
    Queries,
    count_cut,
    ranking_figures,
    ranks_of_responses,
)

# Turns of a context and a random generator -> turns of a perturbed context.
Perturbation = Callable[[list[str], np.random.Generator], list[str]]
CLEAN = "clean"


@timed("numpy")
def select_responses_perturbed(
    reader: Reader,
    queries: Queries,
    perturbations: Mapping[str, Perturbation],
    *,
    top: Sequence[int] = TOP,
    seed: int,
) -> TaskResult:
    """Select responses with clean contexts and with perturbed ones: the same turns against the same candidates.

    The figures are those of `select_responses` for each perturbation: "clean_recall_at_1", "typos_mrr". Each has its
    drop, "typos_mrr_drop": clean minus perturbed, in points, in [-100, 100], lower is better, 0 if the perturbation
    does no harm. A context without turns after a perturbation becomes one empty turn. Source: Poddar et al. 2022
    (DialAug).

    :param perturbations: name -> function of the turns of one context and a random generator; it may change the list.
        The last turn that it returns has the last speaker of the context, and so on backwards.
        The generator depends only on the seed, the name and the turn.
    """
    contexts = {CLEAN: list(queries.contexts)}
    contexts |= {called: _perturbed(queries, called, perturb, seed=seed) for called, perturb in perturbations.items()}
    everything = [context for some in contexts.values() for context in some]
    encoded = encode_distinct(reader.answered, everything), encode_distinct(reader.contexts, queries.answers)
    figures: dict[str, float] = {}
    for called, read in contexts.items():
        ranks = ranks_of_responses(*encoded, queries, read, similarity=reader.similarity)
        own = ranking_figures(ranks, queries, top)
        for name, figure in own.items():
            figures[f"{called}_{name}"] = figure
            if called != CLEAN:
                figures[f"{called}_{name}_drop"] = round(figures[f"{CLEAN}_{name}"] - figure, 4)
    return TaskResult(
        task="robustness",
        data=queries.data,
        n=len(queries.names),
        figures=figures,
        settings=queries.settings | {"similarity": reader.similarity},
        left_out=queries.left_out,
        cut=count_cut(reader, everything),
    )


def _perturbed(queries: Queries, called: str, perturb: Perturbation, *, seed: int) -> list[Context]:
    contexts = []
    for name, turns in zip(queries.names, queries.contexts, strict=True):
        # Published figures depend on the 0.
        perturbed = perturb([turn.text for turn in turns], rng_for(seed, called, 0, *name))
        contexts.append(_spoken(perturbed or [""], turns))
    return contexts


def _spoken(perturbed: Sequence[str], turns: Context) -> Context:
    """Give perturbed turns their speakers, counted from the end: early turns may be gone."""
    roles = [turn.role for turn in turns][-len(perturbed) :]
    roles = [roles[0]] * (len(perturbed) - len(roles)) + roles
    return tuple(map(Spoken, perturbed, roles))
