"""Stage select: the start and the candidates of training to one encoder, chosen without labels on dev."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import numpy as np

from dial2vec.artifacts import Artifacts
from dial2vec.candidates import Candidate as Entry
from dial2vec.candidates import become, read_candidates
from dial2vec.config import Settings
from dial2vec.dialogue import Dialogue, read_dialogues
from dial2vec.encoder import DialogueEncoder
from dial2vec.evaluation.distribution import uniformity
from dial2vec.evaluation.measure import measure_vectors
from dial2vec.files import read_json, write_json
from dial2vec.selection.choice import Candidate, Choice, choose_by_scores, choose_label_free, choose_last
from dial2vec.selection.criteria import CHOOSING, Views
from dial2vec.stages import stage
from dial2vec.vectors import BATCH

Scores = dict[str, float]


def select(artifacts: Artifacts, settings: Settings) -> str:
    """Encode dev by every candidate, choose one by `select.selection`, and save it as the model.

    The labels of dev, where there are any, are measured and shown; only `dev_purity` looks at them for the choice.
    """
    entries = read_candidates(artifacts.candidates)
    dev = some(list(read_dialogues(artifacts.split("dev"), may_be_empty=True)), settings)
    candidates, figures = [], []
    for entry in entries:
        encoder = _load(artifacts, settings, entry)
        seen = views(encoder, dev)
        candidates.append(Candidate(entry.name, entry.step, seen))
        labels = [dialogue.label for dialogue in dev]
        figures.append(measure_vectors(seen.whole, labels, runs=settings.evaluate.kmeans_runs, seed=settings.seed))
    note = str(read_json(artifacts.training).get("note", ""))
    choice = _choose(candidates, figures, settings)
    sentence = note or choice.sentence
    _load(artifacts, settings, entries[choice.chosen]).save_pretrained(artifacts.model)
    write_json(artifacts.selection, _record(choice, sentence, candidates, figures, settings))
    return sentence


def some(dev: Sequence[Dialogue], settings: Settings) -> list[Dialogue]:
    """Return the dialogues of dev that the criteria look at: `select.max_dialogues` by seeded lot, in their order."""
    lot = np.random.default_rng([settings.seed, 2]).permutation(len(dev))[: settings.select.max_dialogues]
    return [dev[place] for place in np.sort(lot)]


def _load(artifacts: Artifacts, settings: Settings, entry: Entry) -> DialogueEncoder:
    return become(DialogueEncoder.start(settings.encoder), entry, artifacts.candidates)


def views(encoder: DialogueEncoder, dev: Sequence[Dialogue]) -> Views:
    """Encode the dialogues whole, and their two sides apart."""
    batch_size = BATCH.get(encoder.device.type, 32)
    with encoder.autocast("auto"):
        whole = encoder.encode_tokens(encoder.tokens.dialogues(dev), batch_size=batch_size)
        sides = encoder.encode_sides(dev, batch_size=batch_size)
    return Views(whole, sides[:, 0], sides[:, 1])


def _choose(candidates: list[Candidate], figures: list[Scores | None], settings: Settings) -> Choice:
    names, steps = [one.name for one in candidates], [one.step for one in candidates]
    if settings.select.selection == "last":
        return choose_last(names, steps)
    if settings.select.selection == "dev_purity":
        purities = [None if found is None else found["purity"] for found in figures]
        return choose_by_scores(names, steps, purities, what="purity on dev")
    return choose_label_free(candidates, bootstraps=settings.select.bootstraps, seed=settings.seed)


def _record(
    choice: Choice,
    sentence: str,
    candidates: list[Candidate],
    figures: list[Scores | None],
    settings: Settings,
) -> dict[str, Any]:
    listed = []
    for judged, candidate, scores in zip(choice.judged, candidates, figures, strict=True):
        dev = None if scores is None else {task: scores[task] for task in ("purity", "spearman", "map")}
        spread = {
            "dev": dev,
            "alignment": None if scores is None else scores["alignment"],
            "uniformity": uniformity(candidate.views.whole) if len(candidate.views.whole) > 1 else None,
        }
        listed.append(asdict(judged) | spread)
    return {
        "rule": settings.select.selection,
        "chosen": choice.judged[choice.chosen].name,
        "sentence": sentence,
        "criteria": list(CHOOSING),
        "candidates": listed,
    }


if __name__ == "__main__":
    stage.main(select)
