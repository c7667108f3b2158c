"""Method dse: utterances learn from what is said next (Zhou et al. 2022)."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from conversations.dialogue import Dialogue, Turn
from conversations.files import reading_errors
from conversations.words import words
from dial2vec.config import Dse, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.pooling import pool
from dial2vec.encoder.reading import sentences_apart
from dial2vec.encoder.tokens import Batch, DialogueTokenizer, TokenSequence
from dial2vec.errors import ArtifactError, CorpusError, MissingDataError, described
from dial2vec.training.auxiliary import TwoLayers, seeded
from dial2vec.training.data import first_turns, whole_batches, word_counts_of_turns
from dial2vec.training.loop import Names
from dial2vec.training.plan import Given, Plan
from dial2vec.training.processes import gathered
from dial2vec.training.utterances import NONE, UtteranceSet

PairVariant = Literal["1-1", "2-1", "3-1", "123-1"]
Weights = Literal["code", "paper"]
# Numbers of utterances in a row that make a query, for each variant (table 6).
JOINED: dict[str, tuple[int, ...]] = {"1-1": (1,), "2-1": (2,), "3-1": (3,), "123-1": (1, 2, 3)}
LONGEST_QUERY = 3
# Width of the head that is discarded after training, d -> d -> 128; without bias, as in the authors' code (App. A.2).
WIDTH = 128
# Dialogue-NLI's own label, and that of other sets of inference pairs.
ENTAILED = ("positive", "entailment")


def plan(given: Given) -> Plan:
    """Prepare pairs of utterances; the trained encoder reads a dialogue as the mean of its utterances.

    If there are several epochs, each ends with a checkpoint.

    :raises ArtifactError: if there are fewer than 2 pairs.
    :raises CorpusError: if the pairs come from a file that cannot be read.
    """
    encoder, settings = given.encoder, given.settings
    options = settings.dse
    chosen, pairs = _utterances_and_pairs(given)
    if len(pairs) < 2:
        raise ArtifactError(
            f"the {len(chosen)} dialogues of two speakers have {len(pairs)} pairs of consecutive utterances of at "
            f"least {options.min_words} words; expected at least 2. Lower dse.min_words or bring more dialogues."
        )
    # The paper's rate is constant from the first step on.
    own = replace(given.train_as(options, max_items=options.max_pairs), warmup_share=0.0)
    train, order = whole_batches(word_counts_of_turns(chosen)[pairs[:, -1]], settings=own, seed=settings.seed)
    if train.epochs > 1:
        train = replace(train, checkpoint_steps=len(order) // train.epochs // train.batch_size)
    head = seeded(lambda: TwoLayers(encoder.dimension, WIDTH, bias=False), seed=settings.seed)
    return Plan(
        PairSet(chosen, pairs, encoder.tokens, order, options=options, auxiliary=head),
        train,
        auxiliary_rate=options.head_learning_rate,
        schedule="constant",
        reading=sentences_apart(encoder.tokens.input),
        names=Names.of_block("dse", items="pairs"),
    )


def _utterances_and_pairs(given: Given) -> tuple[Sequence[Dialogue], NDArray[np.int64]]:
    """Return the dialogues whose utterances are numbered, and the pairs of these numbers."""
    options = given.settings.dse
    if options.pairs == "dianli":
        chosen = entailed_pairs(options.pairs_file)
        return chosen, consecutive_pairs(chosen, variant="1-1", min_words=1)
    # "Utterance" is a speaker's whole turn (footnote 1 of the abstract).
    chosen = [dialogue.merged() for dialogue in given.of_two_speakers()]
    if options.pairs == "dropout":
        tokens = given.encoder.tokens.for_utterances(max_length=options.max_length)
        return chosen, unique_utterances(chosen, tokens, min_words=options.min_words)
    return chosen, consecutive_pairs(chosen, variant=options.pairs, min_words=options.min_words)


class PairSet(UtteranceSet):
    """Items of DSE: a query of 1 to 3 utterances and the next one, rows of `consecutive_pairs`."""

    options: Dse

    def __getitem__(self, item: int) -> list[TokenSequence]:
        *query, following = self.rows[self.order[item, 1]]
        return [self.joined(*query), self.joined(following)]

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return DSE's loss."""
        vectors = pool(encoder.sequence_states(batch), batch.roles, batch.turns, how="mean")
        assert self.auxiliary is not None
        first, second = gathered(self.auxiliary(vectors)).unflatten(0, (-1, 2)).unbind(1)
        return dse_loss(first, second, temperature=self.options.temperature, weights=self.options.weights)


def consecutive_pairs(dialogues: Sequence[Dialogue], *, variant: PairVariant, min_words: int = 4) -> NDArray[np.int64]:
    """Return queries with the next utterance (Zhou et al. 2022, section 3.1 and App. A.1), int64 [m, 4].

    The first three columns are the query's utterances in their order, -1 if there are fewer; the last is the next
    utterance. All follow one another in the dialogue: pairs come first, then those with a short utterance are dropped,
    so that utterances before and after a short one are no pair.

    :param dialogues: Dialogues with consecutive turns of one speaker merged (`Dialogue.merged`).
    :param variant: "1-1", "2-1" and "3-1" join one, two or three utterances to a query, "123-1" has all of these.
    :param min_words: Shortest utterance in words; the paper drops pairs with an utterance of three words or fewer.
    """
    rows = []
    for begin, dialogue in zip(first_turns(dialogues), dialogues, strict=False):
        is_long = [len(words(turn.text)) >= min_words for turn in dialogue.turns]
        for place in range(1, len(is_long)):
            for joined in JOINED[variant]:
                first = place - joined
                if first >= 0 and all(is_long[first : place + 1]):
                    query = range(begin + first, begin + place)
                    rows.append([*query, *[NONE] * (LONGEST_QUERY - joined), begin + place])
    return np.array(rows, dtype=np.int64).reshape(-1, LONGEST_QUERY + 1)


def unique_utterances(
    dialogues: Sequence[Dialogue], tokenizer: DialogueTokenizer, *, min_words: int = 4
) -> NDArray[np.int64]:
    """Return every different utterance once, paired with itself: DSE-dropout (App. A.1), int64 [m, 4] as above.

    Dropout makes the two views. A second copy in a batch would be a negative of the first.

    :param tokenizer: Tokenizer of the training; utterances with the same tokens within its limit are the same.
    :param min_words: Shortest utterance in words.
    """
    tokens = tokenizer.utterances(turn.text for dialogue in dialogues for turn in dialogue.turns)
    first: dict[bytes, int] = {}
    for number, n_words in enumerate(word_counts_of_turns(dialogues)):
        if n_words >= min_words:
            first.setdefault(tokens[number][: tokenizer.longest_turn].tobytes(), number)
    numbers = np.array(list(first.values()), dtype=np.int64)
    none = np.full_like(numbers, NONE)
    return np.stack([numbers, none, none, numbers], axis=1)


def dse_loss(first: Tensor, second: Tensor, *, temperature: float = 0.05, weights: Weights = "code") -> Tensor:
    """Bring each utterance near to the next one and away from the batch, most of all from near ones (section 3.2).

    In plain words: what is said next is the best hint at what was meant. Among the other utterances of the batch,
    similar ones count for more than utterances that are far away in any case.

    Requirements: pairs from `consecutive_pairs`; large batches.
    Inputs: pairs; no labels. DSE-dropout takes the same utterances twice.
    Relations: trains vectors of *utterances*. `dial2vec_loss` and `neighbour_loss` train whole dialogues.

    With 2m views and `α_ij = e^{s(i,j)/τ} / mean_k e^{s(i,k)/τ}`, k over the 2m - 2 views of other pairs, the loss of
    view i is (equations 1 and 2; equation 3 is the mean)

    - "code": `-log(e^{s(i,i+)/τ} / (e^{s(i,i+)/τ} + Σ_j α_ij e^{s(i,j)/τ}))`, j over the same views as k, as the
      authors' code computes it; at least 0;
    - "paper": `-log(e^{s(i,i+)/τ} / Σ_j e^{α_ij s(i,j)/τ})`, j over all views but i, as the paper prints it. i+ has a
      weight, too, so it can be negative, and at a low τ it is huge.

    The result is the mean over all views. The gradient goes through α.

    :param first: Vectors after the head [m, d], m at least 2.
    :param second: Vectors of the next utterances [m, d].
    :param temperature: τ > 0; the paper's 0.05.
    :param weights: Place of α: "code" or "paper".
    :return: scalar, in fp32 or the vectors' own precision if that is higher.

    Example::

        loss = dse_loss(head(encoder(first)), head(encoder(second)))
        loss.backward()
    """
    pairs = len(first)
    if pairs < 2 or first.shape != second.shape:
        raise ValueError(f"found pairs of shape {[*first.shape]} and {[*second.shape]}; expected two or more of each")
    with torch.autocast(first.device.type, enabled=False):
        views = torch.cat([first, second])
        views = functional.normalize(views.to(torch.promote_types(views.dtype, torch.float32)), dim=1)
        logits = views @ views.T / temperature
        places = torch.arange(2 * pairs, device=views.device)
        partner = places.roll(pairs)
        positive = logits[places, partner]
        itself = torch.eye(2 * pairs, dtype=torch.bool, device=views.device)
        others = logits.masked_fill(itself | itself[partner], float("-inf"))
        # In logarithms: at τ = 0.05 the exponentials reach e^40.
        log_mean = torch.logsumexp(others, 1) - math.log(2 * pairs - 2)
        if weights == "paper":
            weighted = (logits - log_mean[:, None]).exp() * logits
            return (torch.logsumexp(weighted.masked_fill(itself, float("-inf")), 1) - positive).mean()
        # Σ α e^l = Σ e^{2l} / mean e^l.
        negatives = torch.logsumexp(2 * others, 1) - log_mean
        return (torch.logaddexp(positive, negatives) - positive).mean()


def entailed_pairs(path: str | None) -> list[Dialogue]:
    """Return the different pairs of which one sentence entails the other, each as a dialogue of two turns.

    :param path: File of records with `sentence1`, `sentence2` and `label`: a JSON list, as Dialogue-NLI is published,
        or JSON Lines. None is an error.
    :raises MissingDataError: if there is no such file.
    :raises CorpusError: if the file has another form, or no entailed pair.
    """
    if path is None or not Path(path).is_file():
        reason = "dse.pairs_file is not set" if path is None else f"dse.pairs_file is {path}, which is not a file"
        raise MissingDataError(
            f"{reason}, but dse.pairs is dianli; expected the training file of Dialogue-NLI. Set dse.pairs_file "
            "to it, or choose other pairs."
        )
    pairs = dict.fromkeys(
        (first, second) for _, first, second, label in labelled_pairs(Path(path)) if label in ENTAILED
    )
    if not pairs:
        raise CorpusError(f"{path} has no record whose label is {' or '.join(ENTAILED)}; expected pairs of these.")
    return [
        Dialogue(f"pair {number}", (Turn("first", premise), Turn("second", entailed)))
        for number, (premise, entailed) in enumerate(pairs)
    ]


def labelled_pairs(path: Path) -> Iterator[tuple[int, str, str, str]]:
    """Yield number or line, both sentences and label of the pairs of Dialogue-NLI, SNLI or MultiNLI.

    :param path: File of records with `sentence1`, `sentence2`, and `label` or `gold_label`: a JSON list, or JSON Lines.
    :raises CorpusError: if the file has another form.
    """
    with reading_errors(path, "labelled pairs"):
        text = path.read_text(encoding="utf-8-sig")
    lines = ((number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip())
    try:
        is_list = text.lstrip().startswith("[")
        records = enumerate(json.loads(text), 1) if is_list else ((number, json.loads(line)) for number, line in lines)
        for number, pair in records:
            label = "label" if isinstance(pair, dict) and "label" in pair else "gold_label"
            values = [pair.get(key) for key in ("sentence1", "sentence2", label)] if isinstance(pair, dict) else [None]
            if not all(isinstance(value, str) and value.strip() for value in values):
                raise CorpusError(
                    f"{path}: pair {number} is {described(pair)}; expected sentence1, sentence2 and label, all texts. "
                    "Mend or remove it."
                )
            first, second, named = (str(value).strip() for value in values)
            yield number, first, second, named
    except (ValueError, RecursionError) as error:
        raise CorpusError(
            f"{path} is not JSON ({error}); expected labelled pairs, as a list or one per line. Mend it."
        ) from error
