"""Stage select: choose one encoder among the base encoder and the candidates, on dev without labels."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack, nullcontext
from dataclasses import asdict
from typing import Any

import torch

from conversations.dialogue import Dialogue, read_dialogues
from conversations.files import read_json, write_json
from dial2vec.config import Settings
from dial2vec.draws import drawn
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.protocol import Encoder
from dial2vec.encoder.reading import Reading
from dial2vec.encoder.vector_cache import BATCH
from dial2vec.evaluation import TASKS
from dial2vec.evaluation.distribution import uniformity
from dial2vec.evaluation.measure import measure_vectors
from dial2vec.evaluation.selection.choice import (
    Choice,
    EncodedCandidate,
    choose_by_scores,
    choose_label_free,
    choose_last,
)
from dial2vec.evaluation.selection.criteria import CHOOSING, Views
from dial2vec.pipeline import run_stage as stage
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.training.candidates import Candidate as Entry
from dial2vec.training.candidates import apply_candidate, read_candidates


def select(artifacts: Artifacts, settings: Settings) -> str:
    """Encode dev with every candidate, choose one by `select.selection`, and save it as the model.

    Scores on dev's labels are only shown; `dev_purity` alone uses them for the choice.
    """
    entries = read_candidates(artifacts.candidates)
    dev = draw_dialogues(list(read_dialogues(artifacts.split("dev"), may_be_empty=True)), settings)
    candidates, figures = [], []
    unmapped: dict[tuple[str | None, Reading | None], Views] = {}
    for entry in entries:
        encoder = _load(artifacts, settings, entry)
        pooled = (entry.weights, entry.reading)
        if pooled not in unmapped:
            unmapped[pooled] = views(encoder, dev, mapped=False)
        seen = _mapped(unmapped[pooled], encoder)
        candidates.append(EncodedCandidate(entry.name, entry.step, seen))
        figures.append(figures_of(seen, dev, settings))
    note = str(read_json(artifacts.training).get("note", ""))
    choice = choose(candidates, figures, settings)
    sentence = note or choice.sentence + _advice(entries, choice)
    _load(artifacts, settings, entries[choice.chosen]).save_pretrained(artifacts.model)
    write_json(artifacts.selection, choice_record(choice, sentence, candidates, figures, settings))
    return sentence


def _advice(entries: Sequence[Entry], choice: Choice) -> str:
    """Return advice if the base encoder was kept after a training for utterances, otherwise ""."""
    if choice.chosen or not any(entry.reading for entry in entries):
        return ""
    return (
        " Training was for utterances, but this choice compares dialogues. To keep the trained encoder, set "
        "select.selection to last."
    )


def draw_dialogues(dev: Sequence[Dialogue], settings: Settings) -> list[Dialogue]:
    """Draw dialogues for the criteria among those with two sides, at most `select.max_dialogues`; keeps their order."""
    sided = [dialogue for dialogue in dev if dialogue.n_speakers > 1]
    return [sided[place] for place in drawn(len(sided), settings.select.max_dialogues, seed=[settings.seed, 2])]


def _load(artifacts: Artifacts, settings: Settings, entry: Entry) -> DialogueEncoder:
    return apply_candidate(DialogueEncoder.start(settings.encoder), entry, artifacts.candidates)


def views(encoder: Encoder, dev: Sequence[Dialogue], *, mapped: bool = True) -> Views:
    """Encode whole dialogues, and each of their two sides.

    :param mapped: False skips the encoder's head; encoders that differ only in the head then share one encoding.
    """
    batch_size = 32
    with ExitStack() as stack:
        if isinstance(encoder, DialogueEncoder):
            batch_size = BATCH.get(encoder.device.type, batch_size)
            stack.enter_context(nullcontext() if mapped else encoder.without_head())
            stack.enter_context(encoder.autocast("auto"))
        whole = encoder.encode(dev, batch_size=batch_size)
        sides = encoder.encode_sides(dev, batch_size=batch_size)
    return Views(whole, sides[:, 0], sides[:, 1])


def _mapped(unmapped: Views, encoder: DialogueEncoder) -> Views:
    parts = (unmapped.whole, unmapped.first, unmapped.second)
    return Views(*(encoder.through_head(torch.from_numpy(part).to(encoder.device)).cpu().numpy() for part in parts))


def figures_of(views: Views, dev: Sequence[Dialogue], settings: Settings) -> dict[str, float] | None:
    """Return the scores of a candidate on dev's labels; None if they leave nothing to score."""
    labels = [dialogue.label for dialogue in dev]
    return measure_vectors(views.whole, labels, runs=settings.evaluate.kmeans_runs, seed=settings.seed)


def choose(
    candidates: list[EncodedCandidate],
    figures: list[dict[str, float] | None],
    settings: Settings,
    *,
    allowance: float = 0.0,
    agreements: Sequence[float | None] | None = None,
) -> Choice:
    """Choose among candidates, the base encoder first, by `select.selection`.

    :param allowance: see `choose_label_free`; so for `agreements`.
    """
    names, steps = [item.name for item in candidates], [item.step for item in candidates]
    if settings.select.selection == "last":
        return choose_last(names, steps)
    if settings.select.selection == "dev_purity":
        purities = [None if scores is None else scores["purity"] for scores in figures]
        return choose_by_scores(names, steps, purities, title="purity on dev")
    return choose_label_free(
        candidates,
        bootstraps=settings.select.bootstraps,
        seed=settings.seed,
        allowance=allowance,
        agreements=agreements,
    )


def choice_record(
    choice: Choice,
    sentence: str,
    candidates: list[EncodedCandidate],
    figures: list[dict[str, float] | None],
    settings: Settings,
) -> dict[str, Any]:
    """Return the record of a choice: the rule, the sentence, and the criteria and scores of each candidate."""
    listed = []
    for judged, candidate, scores in zip(choice.results, candidates, figures, strict=True):
        known = {
            "dev": scores and {task: scores[task] for task in TASKS},
            "adjusted_alignment": scores and scores["adjusted_alignment"],
            "uniformity": uniformity(candidate.views.whole) if len(candidate.views) > 1 else None,
        }
        listed.append(asdict(judged) | known)
    return {
        "rule": settings.select.selection,
        "chosen": choice.results[choice.chosen].name,
        "sentence": sentence,
        "criteria": list(CHOOSING),
        "candidates": listed,
    }


if __name__ == "__main__":
    stage.main(select)
