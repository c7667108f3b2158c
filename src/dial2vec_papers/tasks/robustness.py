"""Robustness: response selection from contexts that are shortened, shuffled or misspelt."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np

from conversations.dialogue import Dialogue
from dial2vec.draws import rng_for
from dial2vec.errors import Dial2vecError
from dial2vec_papers.tasks.encoding import Context, Reader, Spoken, encode_distinct
from dial2vec_papers.tasks.records import Setting, TaskResult, timed
from dial2vec_papers.tasks.response_selection import (
    TOP,
    Queries,
    check_ranking,
    count_cut,
    draw_queries,
    ranking_figures,
    ranks_of_responses,
)

# Turns of a context and a random generator -> turns of a perturbed context.
Perturbation = Callable[[list[str], np.random.Generator], list[str]]
CLEAN = "clean"


@timed("numpy")
def select_responses_perturbed(
    reader: Reader,
    dialogues: Iterable[Dialogue],
    perturbations: Mapping[str, Perturbation],
    *,
    data: str,
    draws: int = 1,
    role: int = 1,
    negatives: int = 50,
    top: Sequence[int] = TOP,
    limit: int | None = None,
    seed: int,
) -> TaskResult:
    """Select responses with clean contexts and with perturbed ones: the same turns against the same candidates.

    The figures are those of `select_responses` for each perturbation: "clean_recall_at_1", "typos_mrr". Each has its
    drop, "typos_mrr_drop": clean minus perturbed, in points, in [-100, 100], lower is better, 0 if the perturbation
    does no harm. Several draws give means, with standard deviations in `spread`. A context without turns after a
    perturbation becomes one empty turn. Source: Poddar et al. 2022 (DialAug).

    :param perturbations: name -> function of the turns of one context and a random generator; it may change the list.
        The last turn that it returns has the last speaker of the context, and so on backwards.
        The generator depends only on the seed, the name and the turn.
    :param draws: number of draws of each perturbation.
    :raises Dial2vecError: if an option is out of range, there is no perturbation, one is called "clean", or one does
        not return a list of texts.
    :raises CorpusError: if no turn can be ranked, or there are too few other turns.
    """
    check_ranking(top, reader.similarity)
    if not perturbations or CLEAN in perturbations or draws < 1:
        raise Dial2vecError(
            f"found the perturbations {list(perturbations)} in {draws} draws; expected at least one of both, and none "
            f"called {CLEAN!r}. Name them otherwise."
        )
    queries = draw_queries(dialogues, role=role, negatives=negatives, limit=limit, seed=seed, data=data)
    contexts = {
        (called, draw): _perturbed(queries, called, perturb, seed=seed, draw=draw)
        for called, perturb in perturbations.items()
        for draw in range(draws)
    }
    contexts[CLEAN, 0] = list(queries.contexts)
    everything = [context for some in contexts.values() for context in some]
    encoded = encode_distinct(reader.answered, everything), encode_distinct(reader.contexts, queries.answers)
    figures_of = {
        key: ranking_figures(ranks_of_responses(*encoded, queries, read, similarity=reader.similarity), top)
        for key, read in contexts.items()
    }
    figures, spread = _compared(figures_of, list(perturbations), draws)
    settings: dict[str, Setting] = {"draws": draws, "role": role, "negatives": negatives, "limit": limit, "seed": seed}
    return TaskResult(
        task="robustness",
        data=data,
        n=len(queries.names),
        figures=figures,
        spread=spread,
        settings=settings | {"similarity": reader.similarity},
        cut=count_cut(reader, everything),
    )


def _compared(
    figures_of: Mapping[tuple[str, int], dict[str, float]], perturbations: Sequence[str], draws: int
) -> tuple[dict[str, float], dict[str, float]]:
    """Return means with drops, and standard deviations, of the figures by perturbation and draw."""
    clean = figures_of[CLEAN, 0]
    figures, spread = {f"{CLEAN}_{name}": figure for name, figure in clean.items()}, {}
    for called in perturbations:
        for name in clean:
            drawn = [figures_of[called, draw][name] for draw in range(draws)]
            figures[f"{called}_{name}"] = round(float(np.mean(drawn)), 4)
            figures[f"{called}_{name}_drop"] = round(clean[name] - float(np.mean(drawn)), 4)
            if draws > 1:
                spread[f"{called}_{name}"] = round(float(np.std(drawn)), 4)
    return figures, spread


def _perturbed(queries: Queries, called: str, perturb: Perturbation, *, seed: int, draw: int) -> list[Context]:
    contexts = []
    for name, turns in zip(queries.names, queries.contexts, strict=True):
        perturbed = perturb([turn.text for turn in turns], rng_for(seed, called, draw, *name))
        if not isinstance(perturbed, list) or not all(isinstance(turn, str) for turn in perturbed):
            raise Dial2vecError(
                f"the perturbation {called!r} gave {str(perturbed)[:60]} for turn {name[1] + 1} of dialogue "
                f"{name[0]!r}; expected a list of texts. Return the turns from it."
            )
        contexts.append(_spoken(perturbed or [""], turns))
    return contexts


def _spoken(perturbed: Sequence[str], turns: Context) -> Context:
    """Give perturbed turns their speakers, counted from the end: early turns may be gone."""
    roles = [turn.role for turn in turns][-len(perturbed) :]
    roles = [roles[0]] * (len(perturbed) - len(roles)) + roles
    return tuple(map(Spoken, perturbed, roles))
