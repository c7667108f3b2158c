"""Dialogue action prediction: which actions does the system's next turn perform, one or several?"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn import functional

from dial2vec.draws import rng_for, stable_hash
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.tokens import TokenSequence
from dial2vec_papers.tasks.actions import ActionExample, ActionSet
from dial2vec_papers.tasks.encoding import Context, Spoken, texts_and_roles
from dial2vec_papers.tasks.fine_tuning import TuningRecipe, tune_classifier
from dial2vec_papers.tasks.kept_runs import KeptRuns, over_shots
from dial2vec_papers.tasks.records import Figures, Setting, TaskResult, timed

# Zhou et al. 2022, section 4.2, table 1 and appendix B.1; patience is the code's, which shares 32 out over two GPUs.
ACTION_SHOTS, ACTION_DRAWS = (10, 20), 5
ACTION_RECIPE = TuningRecipe(
    epochs=100, batch_size=32, learning_rate=5e-5, max_length=32, dropout=0.2, patience=3, check_every=30
)
# The code keeps as many last words of a history as nine tenths of its tokens, because words have several tokens.
WORDS_PER_TOKEN = 0.9
# From this probability on an action is predicted.
THRESHOLD = 0.5


@timed("torch", "transformers")
def predict_actions(
    encoder: DialogueEncoder,
    data: ActionSet,
    *,
    shots: Sequence[int] = ACTION_SHOTS,
    draws: int = ACTION_DRAWS,
    recipe: TuningRecipe = ACTION_RECIPE,
    limit: int | None = None,
    kept: KeptRuns | None = None,
    seed: int,
) -> TaskResult:
    """Fine-tune on k examples of each action, and predict all actions of the test examples from their contexts.

    Up to 2 k examples of each action are drawn; those not drawn for an action before are halved, the first half to
    train on, the other for early stopping by the mean of both figures. The encoder reads the last words of a context
    that fit; a linear layer and a sigmoid give each action a probability, the loss is the binary cross-entropy, and an
    action is predicted above 0.5. Figures "micro_f1_10_shot" and "macro_f1_10_shot", and so on for each k: see
    `f1_scores`; mean and standard deviation over the draws, in points, in [0, 100], higher is better. The encoder has
    its weights back afterwards. Source: Zhou et al. 2022 (DSE), section 4.2 and Table 5, in the form of its code.

    :param encoder: encoder to fine-tune, as for `fine_tune_intents`.
    :param shots: numbers of examples per action, each a k.
    :param limit: largest number of test examples, drawn by the seed; None takes all.
    """
    drawn = sorted(range(len(data.test)), key=lambda place: stable_hash(seed, "example", place))[:limit]
    test = [data.test[place] for place in sorted(drawn)]
    texts = [repr((example.context, sorted(example.actions))) for example in (*data.train, *test)]
    decisive: dict[str, Setting] = {"task": "action_prediction", "seed": seed}
    run = partial(_run, encoder, data, test, recipe=recipe, seed=seed)
    figures, spread = over_shots(encoder, run, shots, draws, settings=decisive, recipe=recipe, texts=texts, kept=kept)
    return TaskResult(
        task="action_prediction",
        data=data.name,
        n=len(test),
        figures=figures,
        spread=spread,
        settings={"draws": draws, "limit": limit, "seed": seed, "epochs": recipe.epochs},
    )


def f1_scores(truth: NDArray[np.bool_], predicted: NDArray[np.bool_]) -> dict[str, float]:
    """Return micro and macro F1 of several labels, "micro_f1" and "macro_f1", in [0, 1]; higher is better.

    F1 is 2 right / (2 right + missed + wrong), 0 if there is nothing to find and nothing is found. Micro F1 counts all
    labels together, macro F1 is the mean over labels: frequent actions decide the first, rare ones weigh as much in the
    second.

    :param truth: whether a label belongs to an example, [n, labels].
    :param predicted: whether it is predicted, [n, labels].
    """
    right = (truth & predicted).sum(axis=0)
    either = truth.sum(axis=0) + predicted.sum(axis=0)
    each = np.divide(2 * right, either, out=np.zeros(len(right)), where=either > 0)
    micro = 2 * right.sum() / either.sum() if either.sum() else 0.0
    return {"micro_f1": float(micro), "macro_f1": float(each.mean()) if len(each) else 0.0}


def draw_examples(
    data: ActionSet, *, shots: int, seed: int, draw: int
) -> tuple[list[ActionExample], list[ActionExample]]:
    """Draw the examples of `predict_actions`: to train on, and for early stopping."""
    halves: tuple[list[ActionExample], list[ActionExample]] = ([], [])
    used: set[int] = set()
    for action in data.actions:
        holders = [place for place, example in enumerate(data.train) if action in example.actions]
        order = rng_for(seed, "examples", draw, action).permutation(len(holders))[: 2 * shots]
        fresh = [holders[row] for row in order if holders[row] not in used]
        used.update(fresh)
        for rank, place in enumerate(fresh):
            halves[rank >= len(fresh) - len(fresh) // 2].append(data.train[place])
    return halves


def last_words(context: Context, n: int) -> Context:
    """Return the last n words of a context with their speakers; a turn that does not fit whole loses its beginning."""
    kept: list[Spoken] = []
    for turn in reversed(context):
        words = turn.text.split()[-n:] if n > 0 else []
        if not words:
            break
        kept.append(Spoken(" ".join(words), turn.role))
        n -= len(words)
    return tuple(reversed(kept)) or context[-1:]


def _run(
    encoder: DialogueEncoder,
    data: ActionSet,
    test: Sequence[ActionExample],
    shots: int,
    draw: int,
    *,
    recipe: TuningRecipe,
    seed: int,
) -> Figures:
    train, validation = draw_examples(data, shots=shots, seed=seed, draw=draw)
    parts = {"train": train, "validation": validation, "test": list(test)}
    read = {name: _sequences(encoder, part, recipe.max_length) for name, part in parts.items()}
    truth = {name: _labels(part, data.actions) for name, part in parts.items()}
    wanted = torch.from_numpy(truth["train"]).to(encoder.device, torch.float32)

    def loss(logits: torch.Tensor, batch: NDArray[np.int64]) -> torch.Tensor:
        return functional.binary_cross_entropy_with_logits(logits, wanted[torch.from_numpy(batch)])

    def scores(part: str, logits: torch.Tensor) -> Figures:
        return f1_scores(truth[part], (torch.sigmoid(logits) > THRESHOLD).cpu().numpy())

    own_seed = stable_hash(seed, "actions", draw, shots) % 2**32
    return tune_classifier(encoder, read, loss, scores, classes=len(data.actions), recipe=recipe, seed=own_seed)


def _sequences(encoder: DialogueEncoder, examples: Sequence[ActionExample], max_length: int) -> list[TokenSequence]:
    contexts = [last_words(example.context, int(WORDS_PER_TOKEN * max_length)) for example in examples]
    return encoder.tokens.contexts(*texts_and_roles(contexts), max_length=max_length)


def _labels(examples: Sequence[ActionExample], actions: Sequence[str]) -> NDArray[np.bool_]:
    labels = [[action in example.actions for action in actions] for example in examples]
    return np.array(labels, dtype=bool).reshape(-1, len(actions))
