"""Answers by fine-tuning: the encoder learns from a few hundred questions to find their answers (AmazonQA's form)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial
from itertools import pairwise

import numpy as np
import torch
from torch import Tensor
from torch.nn import functional

from conversations.dialogue import Dialogue
from dial2vec.draws import stable_hash
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.tokens import TokenSequence
from dial2vec.errors import CorpusError
from dial2vec.training.methods.dialaug import nt_xent
from dial2vec_papers.tasks.encoding import Context, Similarity, Spoken, reader_of_encoder, spoken_turns, texts_and_roles
from dial2vec_papers.tasks.fine_tuning import TuningRecipe, fine_tune, pooled_rows, tuned_vectors, weights_kept
from dial2vec_papers.tasks.kept_runs import KeptRuns, over_shots
from dial2vec_papers.tasks.records import Figures, Setting, TaskResult, timed
from dial2vec_papers.tasks.response_selection import Queries, draw_queries, select_responses
from dial2vec_papers.tasks.sources import AnswerLoss

# Zhou et al. 2022, table 1 (500 and 1,000 pairs, five draws) and appendix B.1; the batch is 50 on each of two GPUs in
# the code. Patience is the code's, and so are checks every 50 steps; the paper checks every 10.
ANSWER_SHOTS, ANSWER_DRAWS = (500, 1000), 5
ANSWER_RECIPE = TuningRecipe(
    epochs=50, batch_size=100, learning_rate=3e-5, max_length=128, dropout=0.0, patience=3, check_every=50
)
# The paper does not give τ of this loss; 0.05 is that of its training.
TEMPERATURE = 0.05
# Answers among which a validation answer is found, and the ranks that the code adds up to its figure.
AMONG, RANKS = 100, (1, 3, 5, 10)


@timed("torch", "transformers")
def fine_tune_answers(
    encoder: DialogueEncoder,
    train: Iterable[Dialogue],
    validation: Iterable[Dialogue],
    test: Sequence[Dialogue],
    *,
    data: str,
    shots: Sequence[int] = ANSWER_SHOTS,
    draws: int = ANSWER_DRAWS,
    recipe: TuningRecipe = ANSWER_RECIPE,
    loss: AnswerLoss = "simclr",
    negatives: int = AMONG - 1,
    limit: int | None = None,
    kept: KeptRuns | None = None,
    seed: int,
) -> TaskResult:
    """Fine-tune on pairs of a question and its answer, then find the answers of other questions among 100.

    A pair is a turn of the second speaker and the turn before it: with AmazonQA a question and its answer. Early
    stopping goes by the sum of Recall@1, 3, 5 and 10 on as many pairs of the validation dialogues, or all if they have
    fewer. Figures "recall_at_1_500_shot" and so on, and "mrr_500_shot", are those of `select_responses` with one turn
    of context, mean and standard deviation over the draws. The encoder has its weights back afterwards. Source: Zhou
    et al. 2022 (DSE), appendix B.1.

    :param encoder: encoder to fine-tune, as for `fine_tune_intents`.
    :param loss: "simclr", the paper's text, is `nt_xent` of both sides, compared by cosine; "release", the paper's
        code, the cross-entropy of the dot product of a question with all answers of the batch, compared by it.
    :param negatives: number of answers besides the true one in the test.
    :param limit: largest number of test questions, drawn by the seed; None takes all.
    :raises CorpusError: if there are fewer training pairs than shots, or no validation pair.
    """
    pairs, others = pairs_of(train), pairs_of(validation)
    if len(pairs) < max(shots) or not others:
        raise CorpusError(
            f"{data} has {len(pairs)} training pairs and {len(others)} validation pairs of a turn and its answer; "
            f"expected at least {max(shots)} and 1. Take fewer shots or more dialogues."
        )
    queries = draw_queries(test, negatives=negatives, limit=limit, seed=seed, data=data)
    settings: dict[str, Setting] = {"loss": loss, **queries.settings}
    texts = [turn.text for pair in (*pairs, *others) for turn in pair]
    texts += [turn.text for dialogue in test for turn in dialogue.turns]
    run = partial(_run, encoder, pairs, others, queries, recipe=recipe, loss=loss, seed=seed)
    decisive: dict[str, Setting] = {"task": "answer_fine_tuning", **settings}
    figures, spread = over_shots(encoder, run, shots, draws, settings=decisive, recipe=recipe, texts=texts, kept=kept)
    return TaskResult(
        task="answer_fine_tuning",
        data=data,
        n=len(queries.names),
        figures=figures,
        spread=spread,
        settings={"draws": draws, "epochs": recipe.epochs, **settings},
    )


def pairs_of(dialogues: Iterable[Dialogue]) -> list[tuple[Spoken, Spoken]]:
    """Return the turns of the second speaker, each with the turn before it; each pair of texts once."""
    pairs: dict[tuple[str, str], tuple[Spoken, Spoken]] = {}
    for dialogue in dialogues:
        for before, turn in pairwise(spoken_turns(dialogue)):
            if turn.role == 1:
                pairs.setdefault((before.text, turn.text), (before, turn))
    return [pairs[key] for key in sorted(pairs)]


def answer_loss(questions: Tensor, answers: Tensor, *, loss: AnswerLoss) -> Tensor:
    """Return the loss of questions and their answers, [b, d] both, as `fine_tune_answers` describes it."""
    precision = torch.promote_types(questions.dtype, torch.float32)
    questions, answers = questions.to(precision), answers.to(precision)
    if len(questions) < 2:
        # A pair alone has no other answer to be told from.
        return 0 * (questions.sum() + answers.sum())
    if loss == "simclr":
        return nt_xent(torch.stack([questions, answers]), temperature=TEMPERATURE)
    scores = questions @ answers.T
    return functional.cross_entropy(scores, torch.arange(len(scores), device=scores.device))


def validation_recall(questions: Tensor, answers: Tensor, *, similarity: Similarity) -> float:
    """Return the sum of Recall@1, 3, 5 and 10 among each hundred pairs, in [0, 4]; a tie counts as not found.

    :param questions: vectors [n, d]; row i asks for row i of the answers.
    :param answers: vectors [n, d].
    """
    if similarity == "cosine":
        questions, answers = functional.normalize(questions, dim=1), functional.normalize(answers, dim=1)
    ranks = []
    for first in range(0, len(questions), AMONG):
        scores = questions[first : first + AMONG] @ answers[first : first + AMONG].T
        ranks.append((scores >= scores.diagonal()[:, None]).sum(1))
    reached = torch.cat(ranks)
    return float(sum((reached <= rank).double().mean() for rank in RANKS))


def _run(
    encoder: DialogueEncoder,
    pairs: Sequence[tuple[Spoken, Spoken]],
    others: Sequence[tuple[Spoken, Spoken]],
    queries: Queries,
    shots: int,
    draw: int,
    *,
    recipe: TuningRecipe,
    loss: AnswerLoss,
    seed: int,
) -> Figures:
    similarity: Similarity = "cosine" if loss == "simclr" else "dot"
    train, validation = (
        sorted(some, key=lambda pair: stable_hash(seed, "answers", draw, pair[0].text, pair[1].text))[:shots]
        for some in (pairs, others)
    )
    read = [_sequences(encoder, [(pair[side],) for pair in train], recipe.max_length) for side in (0, 1)]
    checked = [_sequences(encoder, [(pair[side],) for pair in validation], recipe.max_length) for side in (0, 1)]

    def loss_of(batch: np.ndarray) -> Tensor:
        questions, answers = (pooled_rows(encoder, [side[place] for place in batch]) for side in read)
        return answer_loss(questions, answers, loss=loss)

    def figure_of() -> float:
        return validation_recall(*(tuned_vectors(encoder, side) for side in checked), similarity=similarity)

    with weights_kept(encoder):
        own_seed = stable_hash(seed, "answers", draw, shots) % 2**32
        fine_tune(encoder, torch.nn.Identity(), loss_of, figure_of, n=len(train), recipe=recipe, seed=own_seed)
        reader = reader_of_encoder(encoder, similarity=similarity)
        result = select_responses(reader, queries, turns=1)
    return {name: figure / 100 for name, figure in result.figures.items()}


def _sequences(encoder: DialogueEncoder, contexts: Sequence[Context], max_length: int) -> list[TokenSequence]:
    return encoder.tokens.contexts(*texts_and_roles(contexts), max_length=max_length)
