"""Intents by fine-tuning: the encoder and a linear layer learn the intents from a few sentences each."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from torch.nn import functional

from dial2vec.draws import rng_for, stable_hash
from dial2vec.encoder import DialogueEncoder
from dial2vec_papers.tasks.fine_tuning import TuningRecipe, tune_classifier
from dial2vec_papers.tasks.intents import IntentSet, Sentences
from dial2vec_papers.tasks.kept_runs import KeptRuns, over_shots
from dial2vec_papers.tasks.prototypes import DRAWS, SHOTS, intent_codes, require_sentences
from dial2vec_papers.tasks.records import Figures, Setting, TaskResult, timed

# Zhou et al. 2022, appendix B.1; patience is the code's, which shares the 16 out over two GPUs.
INTENT_RECIPE = TuningRecipe(
    epochs=50, batch_size=16, learning_rate=3e-5, max_length=64, dropout=0.1, patience=5, check_every=10
)


@timed("torch", "transformers")
def fine_tune_intents(
    encoder: DialogueEncoder,
    data: IntentSet,
    *,
    shots: Sequence[int] = SHOTS,
    draws: int = DRAWS,
    recipe: TuningRecipe = INTENT_RECIPE,
    kept: KeptRuns | None = None,
    seed: int,
) -> TaskResult:
    """Fine-tune on k sentences of each intent, and classify the in-scope test sentences.

    Another k sentences of each intent are for early stopping by accuracy; an intent with fewer than 2 k sentences gives
    each part half of them, the first part one more. Figure "accuracy_1_shot", and so on for each k: share of the test
    sentences whose intent is found, mean and standard deviation over the draws, in points, in [0, 100], higher is
    better. The encoder has its weights back afterwards. Source: Zhou et al. 2022 (DSE), table 1 and appendix B.1.

    :param encoder: encoder to fine-tune: the mean of its tokens (with pooling "cls" the first), without its head.
    :param shots: numbers of sentences per intent, each a k.
    :raises CorpusError: if there are no training or no test sentences.
    """
    require_sentences(data.train.texts, f"{data.name} has no training sentences")
    require_sentences(data.test.texts, f"{data.name} has no test sentences")
    texts = [*data.train.texts, *data.train.labels, *data.test.texts, *data.test.labels]
    decisive: dict[str, Setting] = {"task": "intent_fine_tuning", "seed": seed}
    run = partial(_run, encoder, data, recipe=recipe, seed=seed)
    figures, spread = over_shots(encoder, run, shots, draws, settings=decisive, recipe=recipe, texts=texts, kept=kept)
    return TaskResult(
        task="intent_fine_tuning",
        data=data.name,
        n=len(data.test.texts),
        figures=figures,
        spread=spread,
        settings={"draws": draws, "seed": seed, "epochs": recipe.epochs},
    )


def _run(
    encoder: DialogueEncoder, data: IntentSet, shots: int, draw: int, *, recipe: TuningRecipe, seed: int
) -> Figures:
    intents = sorted(set(data.train.labels))
    train, validation = draw_halves(data.train, shots=shots, seed=seed, draw=draw)
    parts = {"train": train, "validation": validation, "test": data.test}
    read = {
        name: encoder.tokens.contexts([[text] for text in part.texts], max_length=recipe.max_length)
        for name, part in parts.items()
    }
    codes = {
        name: torch.from_numpy(intent_codes(part.labels, intents)).to(encoder.device) for name, part in parts.items()
    }

    def loss(logits: torch.Tensor, batch: np.ndarray) -> torch.Tensor:
        return functional.cross_entropy(logits, codes["train"][torch.from_numpy(batch).to(encoder.device)])

    def scores(part: str, logits: torch.Tensor) -> Figures:
        return {"accuracy": float((logits.argmax(1) == codes[part]).double().mean())}

    own_seed = stable_hash(seed, "intents", draw, shots) % 2**32
    return tune_classifier(encoder, read, loss, scores, classes=len(intents), recipe=recipe, seed=own_seed)


def draw_halves(train: Sentences, *, shots: int, seed: int, draw: int) -> tuple[Sentences, Sentences]:
    """Draw up to `shots` sentences of each intent to train on, and as many others for early stopping."""
    members = defaultdict(list)
    for text, intent in sorted(zip(train.texts, train.labels, strict=True)):
        members[intent].append(text)
    halves: tuple[list[tuple[str, str]], list[tuple[str, str]]] = ([], [])
    for intent, texts in members.items():
        order = rng_for(seed, "halves", draw, intent).permutation(len(texts))[: 2 * shots]
        for place, row in enumerate(order):
            halves[place >= len(order) - len(order) // 2].append((texts[row], intent))
    return Sentences.of(halves[0]), Sentences.of(halves[1])
