"""DSE: utterances learn from what is said next (Zhou et al. 2022)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from dial2vec.config import Settings
from dial2vec.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.reading import sentences_apart
from dial2vec.errors import ArtifactError
from dial2vec.objectives.dse import ContrastHead
from dial2vec.training.data import whole_batches
from dial2vec.training.loop import Names
from dial2vec.training.negatives import Samples
from dial2vec.training.pairs import consecutive_pairs
from dial2vec.training.plan import Plan, of_block, of_two_speakers, words_of_turns
from dial2vec.training.utterances import PairSet, seeded, utterance_tokenizer


def plan_dse(
    encoder: DialogueEncoder,
    dialogues: Sequence[Dialogue],
    samples: Samples,
    *,
    settings: Settings,
    seed: int,
    vectors: Path,
) -> Plan:
    """Prepare pairs of consecutive utterances, and the head that is thrown away.

    :param encoder: the start; reads dialogues as means of their utterances from here on.
    :param dialogues: all of two speakers may train.
    :param samples: not used.
    :param vectors: not used: no vectors are needed beforehand.
    :raises ArtifactError: when there are fewer than two pairs.
    """
    options = settings.dse
    chosen = of_two_speakers(dialogues)
    pairs = consecutive_pairs(chosen, variant=options.pairs, min_words=options.min_words)
    if len(pairs) < 2:
        raise ArtifactError(
            f"the {len(chosen)} dialogues of two speakers have {len(pairs)} pairs of consecutive utterances with "
            f"{options.min_words} words and more; expected at least two. Lower dse.min_words or bring more dialogues."
        )
    # The paper's rate is constant from the first step on.
    own = replace(of_block(settings.train, options, max_items=options.max_pairs), warmup_share=0.0)
    train, order = whole_batches(words_of_turns(chosen)[pairs[:, -1]], settings=own, seed=seed)
    data = PairSet(
        chosen,
        pairs,
        utterance_tokenizer(encoder, max_length=options.max_length),
        order,
        temperature=options.temperature,
        beside=seeded(ContrastHead, encoder.dimension, seed=seed),
    )
    reading = sentences_apart(encoder.tokens.input)
    encoder.read_as(reading)
    names = Names.of_block("dse", items="pairs")
    return Plan(
        data, train=train, beside_rate=options.head_learning_rate, schedule="constant", reading=reading, names=names
    )
