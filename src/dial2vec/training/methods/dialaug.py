"""Method dialaug: contexts find their responses, also damaged contexts (Poddar et al. 2022)."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from conversations.dialogue import Dialogue
from dial2vec.config import DialAug, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.inputs import input_style
from dial2vec.encoder.papers.codes import code_vectors, codes_of, new_codes, poly_scores
from dial2vec.encoder.pooling import pool
from dial2vec.encoder.reading import Reading, check_pooling, one_context
from dial2vec.encoder.tokens import Batch, DialogueTokenizer, TokenSequence
from dial2vec.errors import ArtifactError, SettingsError
from dial2vec.training.augmentation import TOKEN_WAYS
from dial2vec.training.augmentation.token_ways import Vocabulary
from dial2vec.training.auxiliary import TwoLayers, seeded
from dial2vec.training.data import TrainingSet, whole_batches
from dial2vec.training.loop import Names
from dial2vec.training.plan import Given, Plan
from dial2vec.training.processes import gathered

ROLES = {"any": None, "first": 0, "second": 1}
# Input whose turns end with a token of their own, and that token.
EOT = "eot"
# Percentile of the lengths that is the length limit if the settings name none.
LONG = 95


def plan(given: Given) -> Plan:
    """Prepare contexts with their responses; the trained encoder reads a dialogue as one context.

    :raises ArtifactError: if there are fewer than 2 responses.
    :raises ModelError: if the start token is to be pooled, and contexts have none.
    :raises SettingsError: if the token for deleted words is one that marks turns.
    """
    encoder, settings = given.encoder, given.settings
    options, chosen = settings.dialaug, given.of_two_speakers()
    reading = one_context(encoder.tokens.input, options.pooling)
    if options.end_of_turn == EOT:
        reading = Reading(EOT, options.pooling)
    added = _added(encoder, reading, options)
    tokens = _tokens(encoder, reading, added)
    answers = contexts_with_answers(chosen, answering=ROLES[options.answering])
    if len(answers) < 2:
        raise ArtifactError(
            f"the {len(chosen)} dialogues of two speakers have {len(answers)} turns that answer others; expected at "
            "least two. Set dialaug.answering to any, or bring more dialogues."
        )
    own = given.train_as(options, max_items=options.max_responses)
    train, order = whole_batches(_words_before(chosen, answers), settings=own, seed=settings.seed)
    head = seeded(lambda: TwoLayers(encoder.dimension, encoder.dimension), seed=settings.seed)
    return Plan(
        ResponseSet(chosen, answers, tokens, order, options=options, auxiliary=head),
        train,
        added=added,
        codes=new_codes(options.codes, encoder.dimension, seed=settings.seed) if options.scoring == "poly" else None,
        reading=reading,
        names=Names.of_block("dialaug", items="responses"),
    )


def _added(encoder: DialogueEncoder, reading: Reading, options: DialAug) -> tuple[str, ...]:
    """Return the tokens that the encoder lacks: the end of a turn, and the one for deleted words."""
    marks = input_style(reading.input).marks
    wanted = list(marks) if reading.input == EOT else []
    if options.augmentation == "deletion":
        if options.deleted in marks:
            raise SettingsError(
                f"dialaug.deleted is {options.deleted}, which marks the turns of input {reading.input}; expected a "
                "token of its own for deleted words. Set it to another, such as '[DEL]'."
            )
        wanted.append(options.deleted)
    known = encoder.tokens.tokenizer.get_vocab()
    return tuple(token for token in wanted if token not in known)


def _tokens(encoder: DialogueEncoder, reading: Reading, added: Sequence[str]) -> DialogueTokenizer:
    """Return the tokenizer of contexts; the encoder's own gets new tokens only when the plan is carried out."""
    if not added:
        return encoder.tokens_as(reading, option="dialaug.pooling")
    own = copy.deepcopy(encoder.tokens.tokenizer)
    own.add_tokens(list(added), special_tokens=True)
    options = replace(encoder.options, input=reading.input, pooling=reading.pooling)
    tokens = encoder.network.tokens_for(options, own)
    check_pooling(reading.pooling, tokens, encoder=encoder.name or "the encoder", option="dialaug.pooling")
    return tokens


def contexts_with_answers(dialogues: Sequence[Dialogue], *, answering: int | None = None) -> NDArray[np.int64]:
    """Return every turn that answers others (Poddar et al. 2022, section 3.1), int64 [m, 2]: (dialogue, turn).

    Its context is all turns before it.

    :param answering: Role whose turns are answers, 0 for the first speaker; None is any.
    """
    rows = [
        (number, place)
        for number, dialogue in enumerate(dialogues)
        for place, role in enumerate(dialogue.roles)
        if place and answering in (None, role)
    ]
    return np.array(rows, dtype=np.int64).reshape(-1, 2)


def _words_before(dialogues: Sequence[Dialogue], answers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Return the number of words before each answer, int64 [m]."""
    words = [np.cumsum([len(turn.text.split()) for turn in dialogue.turns]) for dialogue in dialogues]
    return np.array([words[place][turn - 1] for place, turn in answers], dtype=np.int64)


class ResponseSet(TrainingSet):
    """Items of DialAug: `[context, response]`; every step damages the context in a new way.

    :param dialogues: Dialogues of at least two speakers.
    :param answers: Result of `contexts_with_answers`, int64 [m, 2].
    :param tokenizer: Tokenizer that reads dialogues as contexts.
    :param order: Items of the whole run, int64 [items, 2], from `training_order`; the second column is the answer.
    :param options: Block `dialaug`.
    :param auxiliary: Head after which views are contrasted; discarded after training.

    Attributes: `longest` and `longest_response`, in tokens. A longer context is read from the first turn from which all
    fit; a turn that is longer alone is cut before its separator. Without `options.max_length` and
    `options.max_response_length` they are the 95th percentiles of the contexts and of the responses, each at most the
    tokenizer's limit (Poddar et al. 2022, section 4.1).
    """

    auxiliary: nn.Module

    def __init__(
        self,
        dialogues: Sequence[Dialogue],
        answers: NDArray[np.int64],
        tokenizer: DialogueTokenizer,
        order: NDArray[np.int64],
        *,
        options: DialAug,
        auxiliary: nn.Module,
    ) -> None:
        super().__init__(tokenizer, order)
        self.dialogues, self.answers, self.options, self.auxiliary = dialogues, answers, options, auxiliary
        used = np.unique(answers[np.unique(order[:, 1]), 0])
        self.words = dict(zip(used, tokenizer.turns_of([dialogues[place] for place in used]), strict=True))
        self.vocabulary = Vocabulary.of(tokenizer.tokenizer, fixed=tokenizer.style.marks, deleted=options.deleted)
        usual = zip((options.max_length, options.max_response_length), self._usual_lengths(), strict=True)
        self.longest, self.longest_response = (min(tokenizer.max_length, own or length) for own, length in usual)
        self.tokenizer = tokenizer.for_utterances(max_length=self.longest)
        self.responses = tokenizer.for_utterances(max_length=self.longest_response)

    def __getitem__(self, item: int) -> list[TokenSequence]:
        place, turn = self.answers[self.order[item, 1]]
        words, roles = self.words[place], self.dialogues[place].roles
        begin = self.tokenizer.first_that_fits([len(ids) for ids in words[:turn]], self.longest)
        return [
            self.tokenizer.assemble(words[begin:turn], roles[begin:turn]),
            self.responses.assemble([words[turn]], [roles[turn]]),
        ]

    def _usual_lengths(self) -> tuple[int, int]:
        """Return the 95th percentiles of the lengths in tokens of the contexts and of the responses that train."""
        trained = self.answers[np.unique(self.order[:, 1])]
        begins = {place: np.cumsum([0, *(len(turn) for turn in words)]) for place, words in self.words.items()}
        # No more turns of a context are read than the input has.
        firsts = np.maximum(0, trained[:, 1] - (self.tokenizer.style.last_turns or trained[:, 1].max()))
        lengths = [
            (
                begins[place][turn] - begins[place][first] + self.tokenizer.n_special(turn - first),
                begins[place][turn + 1] - begins[place][turn] + self.tokenizer.n_special(1),
            )
            for (place, turn), first in zip(trained, firsts, strict=True)
        ]
        contexts, responses = np.percentile(lengths, LONG, axis=0, method="higher")
        return int(contexts), int(responses)

    def loss(self, encoder: DialogueEncoder, settings: Train, batch: Batch, extra: dict[str, Tensor]) -> Tensor:
        """Return DialAug's loss; damage is drawn from torch's own generator, which checkpoints keep."""
        contexts, responses = (Batch(*(getattr(batch, name)[side::2] for name in Batch.__slots__)) for side in (0, 1))
        # Without damage a context is its own view: counted twice in a mean, that is the plain bi-encoder's loss.
        views, contrast = [contexts], 0.0
        if self.options.augmentation != "none":
            augment, vocabulary = TOKEN_WAYS[self.options.augmentation], self.vocabulary.to(batch.ids.device)
            share = {} if self.options.share is None else {"share": self.options.share}
            views.append(augment(contexts, vocabulary, generator=torch.default_generator, **share))
            contrast = self.options.contrast
        read = [self._read(encoder, view) for view in views]
        (plain, plain_codes), (damaged, damaged_codes) = read[0], read[-1]
        return dialaug_loss(
            plain,
            damaged,
            self._pooled(encoder.sequence_states(responses), responses),
            by_code=None if plain_codes is None or damaged_codes is None else (plain_codes, damaged_codes),
            project=self.auxiliary,
            contrast=contrast,
            temperature=self.options.temperature,
            positive_in_sum=self.options.positive_in_sum,
        )

    def _read(self, encoder: DialogueEncoder, batch: Batch) -> tuple[Tensor, Tensor | None]:
        """Return the vectors of contexts [b, d], and those by code [b, m, d] if the encoder is a Poly-encoder."""
        states = encoder.sequence_states(batch)
        vectors = self._pooled(states, batch)
        if self.options.scoring == "dot":
            return vectors, None
        codes = codes_of(encoder.network, name=encoder.name)
        return vectors, gathered(code_vectors(states, batch.roles, codes))

    def _pooled(self, states: Tensor, batch: Batch) -> Tensor:
        return gathered(pool(states, batch.roles, batch.turns, how=self.options.pooling))


def dialaug_loss(
    contexts: Tensor,
    augmented: Tensor,
    responses: Tensor,
    *,
    by_code: tuple[Tensor, Tensor] | None = None,
    project: nn.Module,
    contrast: float = 0.5,
    temperature: float = 0.07,
    positive_in_sum: bool = True,
) -> Tensor:
    """Let a context find its response in the batch, also when the context was damaged (section 3.2).

    In plain words: the context, a damaged copy of it and the response are three views of one exchange. Each must find
    the others among the views of all other exchanges.

    Requirements: contexts with their responses; an augmentation of `training.augmentation`, fresh at each step.
    Inputs: vectors of contexts, augmented contexts and responses; equal rows are of the same exchange.
    Relations: trains *contexts and responses* for selection by dot product (bi-encoder) or by codes (Poly-encoder);
    `dse_loss` trains single utterances.

    `L = L_CE + 0.5 L_CL`. `L_CE` is the cross-entropy of the true response among those of the batch, by dot product or
    by `encoder.papers.codes.poly_scores`, mean over contexts and augmented contexts. `L_CL` is `nt_xent` of the three
    projected views; a Poly-encoder contrasts the same vectors as a bi-encoder.

    :param contexts: Vectors [b, d].
    :param augmented: Vectors of damaged contexts [b, d].
    :param responses: Vectors [b, d].
    :param by_code: Vectors of contexts and of damaged contexts by code, each [b, m, d]; None is the bi-encoder.
    :param project: Module from [.., d] to the vectors that are contrasted.
    :param contrast: Weight of `L_CL`, at least 0; the paper's 0.5.
    :param temperature: τ of `L_CL`. The paper does not say it; 0.07 is the default of its library (section 4.2).
    :param positive_in_sum: Whether the sum in the denominator of `L_CL` has the positive (`nt_xent`).
    :return: scalar, in fp32 or the vectors' own precision if that is higher.

    Example::

        loss = dialaug_loss(encoder(contexts), encoder(augmented), encoder(responses), project=head)
        loss.backward()
    """
    with torch.autocast(contexts.device.type, enabled=False):
        precision = torch.promote_types(contexts.dtype, torch.float32)
        contexts, augmented, responses = (vectors.to(precision) for vectors in (contexts, augmented, responses))
        if by_code is None:
            scores = torch.cat([contexts, augmented]) @ responses.T
        else:
            scores = poly_scores(torch.cat(by_code), responses)
        own = torch.arange(len(responses), device=responses.device).repeat(2)
        selection = functional.cross_entropy(scores, own)
        if not contrast:
            return selection
        views = torch.stack([project(vectors) for vectors in (contexts, augmented, responses)])
        return selection + contrast * nt_xent(views, temperature=temperature, positive_in_sum=positive_in_sum)


def nt_xent(views: Tensor, *, temperature: float, positive_in_sum: bool = True) -> Tensor:
    """Normalised temperature-scaled cross-entropy over several views of each example (Chen et al. 2020, equation 1).

    For every ordered pair of views i, j of one example `-log(e^{s_ij/τ} / (e^{s_ij/τ} + Σ_k e^{s_ik/τ}))`, k over all
    views of all other examples; mean over pairs.

    :param views: Vectors [v, b, d], v at least 2.
    :param temperature: τ > 0.
    :param positive_in_sum: False leaves `e^{s_ij/τ}` out of the denominator: the sum of equation 4 of Poddar et al.
        2022, over the other examples only, but of cosines where it prints dot products. That loss can be negative.
        Cosines and the positive are those of NT-Xent, which they cite, in pytorch-metric-learning, which they use.
    """
    n_views, n_examples, _ = views.shape
    flat = functional.normalize(views.flatten(0, 1), dim=1)
    logits = flat @ flat.T / temperature
    example = torch.arange(n_examples, device=views.device).repeat(n_views)
    same = example[:, None] == example
    negatives = logits.masked_fill(same, float("-inf")).logsumexp(1, keepdim=True)
    terms = (torch.logaddexp(logits, negatives) if positive_in_sum else negatives) - logits
    positive = same & ~torch.eye(len(flat), dtype=torch.bool, device=views.device)
    return terms[positive].mean()
