"""`DialogueEncoder`: whole dialogues in, one vector each out. Load by name or folder, encode, save."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal, get_args, overload

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from tqdm.auto import tqdm

from dial2vec.config import Encoder as Settings
from dial2vec.dialogue import Dialogue
from dial2vec.encoder.backbone import load_backbone, own_input, resolve
from dial2vec.encoder.backbone import save as save_backbone
from dial2vec.encoder.head import Head
from dial2vec.encoder.hub import push
from dial2vec.encoder.network import DialogueReader, check_name
from dial2vec.encoder.pooling import Pooling, pool
from dial2vec.encoder.reading import Reading, check_pooling
from dial2vec.encoder.saving import (
    chosen,
    fill_tables,
    model_folder,
    save_parts,
    saved_head,
    saved_hierarchy,
    saved_input,
    saved_settings,
)
from dial2vec.encoder.sharing import save_card, save_sentence_modules
from dial2vec.encoder.tokens import Batch, DialogueTokenizer, TokenSequence
from dial2vec.encoder.turns import Apart, Output, encode_windows
from dial2vec.encoder.windows import windows_of

# Dialogues that are tokenised at a time.
BLOCK = 8192

log = logging.getLogger(__name__)


class DialogueEncoder(DialogueReader):
    """An encoder that reads a whole dialogue and pools its tokens by speaker.

    :param backbone: any Hugging Face encoder that returns `last_hidden_state` [b, n, d], or a `PlatoModel`.
    :param tokenizer: its fast tokenizer.
    :param name: what it was loaded from, for reports.
    :param max_length: longest input in tokens; lowered to the encoder's own limit.
    :param input: how a dialogue looks to the encoder, a name of `dial2vec.encoder.inputs.STYLES`.
    :param last_turns: only so many turns, counted from the end, are read; None is the input's own number.
    :param pooling: "role" (sum of the speakers' means, the paper's default), "mean" (all tokens), "turns" (mean of
        the turns' means), "cls" (the first token) or "separators" (mean of the separators).
    :param hierarchy: "none", or a name of `dial2vec.encoder.hierarchical.HIERARCHIES`: what reads the turns of a
        dialogue as turns, on top of the backbone. Untrained it leaves every vector as it was.
    :param turn_embeddings: add a table for the turn index to the input, zero at the start.
    :param role_embeddings: add a table for the role to the input, zero at the start. Zero tables leave every
        vector of the starting encoder as it was.

    :raises ModelError: when the encoder cannot read so, or has no tokens that are pooled so.

    Attribute `head`: None, or the linear map that training fitted on the pooled vectors. Attribute `own_reading`: how
    it was told to read when it was made.
    """

    def __init__(
        self,
        backbone: Any,
        tokenizer: Any,
        *,
        name: str = "",
        max_length: int = 512,
        input: str = "text",
        last_turns: int | None = None,
        pooling: Pooling = "role",
        hierarchy: str = "none",
        turn_embeddings: bool = False,
        role_embeddings: bool = False,
    ) -> None:
        check_name("pooling", pooling, get_args(Pooling))
        super().__init__(
            backbone,
            tokenizer,
            max_length=max_length,
            input=input,
            last_turns=last_turns,
            hierarchy=hierarchy,
            turn_embeddings=turn_embeddings,
            role_embeddings=role_embeddings,
        )
        self.name = name
        check_pooling(pooling, self.tokens, encoder=self._called, option="encoder.pooling")
        self.pooling = pooling
        self.own_reading = Reading(input, pooling)
        self.head: Head | None = None

    @classmethod
    def from_pretrained(
        cls,
        name: str | Path,
        *,
        max_length: int | None = None,
        input: str = "auto",
        last_turns: int | None = None,
        pooling: Pooling | None = None,
        hierarchy: str | None = None,
        turn_embeddings: bool | None = None,
        role_embeddings: bool | None = None,
        device: str | None = None,
    ) -> DialogueEncoder:
        """Load an encoder.

        :param name: a folder made by `save_pretrained`, a registry address such as
            "models:/dial2vec-demo@champion", any Hugging Face folder or name, "all-MiniLM-L6-v2" (packaged), or a
            short name of the paper's encoders, such as "tod-bert" (docs/encoders.md).
        :param max_length: tokens; None keeps what the folder was saved with, else 512.
        :param input: a name of `dial2vec.encoder.inputs.STYLES`; "auto" keeps what was saved, else is what the paper
            gives the encoder of a short name, else "text".
        :param last_turns: None keeps what was saved where `input` is "auto", else is the input's own number.
        :param pooling: None keeps what was saved, else "role".
        :param hierarchy: None keeps what was saved, with its weights, else "none"; another than was saved is untrained.
        :param turn_embeddings: None keeps what was saved, else False.
        :param role_embeddings: likewise.
        :param device: "cpu", "cuda", ...; None takes a GPU where there is one.
        :raises ModelError: when nothing that can be loaded is there.
        """
        folder = resolve(name)
        saved = saved_settings(folder)
        asked = {
            "max_length": max_length,
            "pooling": pooling,
            "hierarchy": hierarchy,
            "turn_embeddings": turn_embeddings,
            "role_embeddings": role_embeddings,
        }
        backbone, tokenizer = load_backbone(folder)
        encoder = cls(
            backbone,
            tokenizer,
            name=saved.get("name", str(name)),
            input=(saved_input(saved) or own_input(name, folder)) if input == "auto" else input,
            last_turns=saved.get("last_turns") if last_turns is None and input == "auto" else last_turns,
            **chosen(saved, asked),
        )
        fill_tables(folder, saved, encoder.tables)
        encoder.hierarchy = saved_hierarchy(folder, saved, encoder.hierarchy)
        encoder.head = saved_head(folder, saved, encoder.dimension)
        return encoder.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval()

    @classmethod
    def start(cls, settings: Settings) -> DialogueEncoder:
        """Load the starting encoder that block `encoder` of `params.yaml` names."""
        return cls.from_pretrained(
            settings.name,
            max_length=settings.max_length,
            input=settings.input,
            last_turns=settings.last_turns,
            pooling=settings.pooling,
            hierarchy=settings.hierarchy,
            turn_embeddings=settings.turn_embeddings,
            role_embeddings=settings.role_embeddings,
        )

    def save_pretrained(self, path: str | Path) -> None:
        """Write a folder that `from_pretrained` loads, and `AutoModel` too where it was loaded by that; atomic.

        `SentenceTransformer` loads it as well, where its own modules can say what the encoder does with a text
        (docs/ecosystem.md). A model that was saved there before is replaced as a whole.

        :raises ModelError: when the folder holds anything else.
        """
        with model_folder(path) as folder:
            save_backbone(self.backbone, folder)
            self.tokens.tokenizer.save_pretrained(folder)
            settings = {
                "name": self.name,
                "max_length": self.max_length,
                "input": self.tokens.input,
                "last_turns": self.tokens.last_turns,
                "pooling": self.pooling,
            }
            save_parts(folder, settings, tables=self.tables, hierarchy=self.hierarchy, head=self.head)
            save_sentence_modules(self, folder)
            save_card(self, folder)

    def push_to_hub(
        self, repo_id: str, *, private: bool = True, token: str | None = None, message: str = "An encoder of dialogues"
    ) -> str:
        """Push the folder that `save_pretrained` writes to a hub, with its card; return the address of the commit.

        :param repo_id: "owner/name"; made where it is not there.
        :param private: of a new repository. What was trained on private conversations may tell of them.
        :param token: None takes that of `hf auth login`.
        :param message: of the commit.
        :raises ModelError: when the hub cannot be reached or refuses.
        """
        return push(self, repo_id, private=private, token=token, message=message)

    def read_as(self, reading: Reading | None, *, option: str = "encoder.pooling") -> None:
        """Read dialogues in another way from now on; None is the encoder's own reading.

        :param option: the setting that names the pooling.
        :raises ModelError: when the encoder cannot.
        """
        asked = reading or self.own_reading
        self.tokens, self.pooling = self.tokens_as(asked, option=option), asked.pooling

    def tokens_as(self, reading: Reading, *, option: str = "encoder.pooling") -> DialogueTokenizer:
        """Return the tokenizer of another reading; the encoder stays as it is.

        :param option: Setting that names the pooling.
        :raises ModelError: if the encoder cannot read so.
        """
        now = self.tokens
        tokens = self._tokens(now.tokenizer, max_length=now.max_length, input=reading.input, last_turns=now.last_turns)
        check_pooling(reading.pooling, tokens, encoder=self._called, option=option)
        return tokens

    @property
    def _called(self) -> str:
        return self.name or type(self.backbone).__name__

    def forward(self, batch: Batch) -> Tensor:
        """Return one vector per dialogue of the batch, [b, d] float32; of length 1 where there is a head."""
        return self.through_head(self.pooled(self.hidden_states(batch), batch))

    def pooled(self, hidden: Tensor, batch: Batch) -> Tensor:
        """Return one vector per dialogue of its token vectors [b, n, d], [b, d] float32, without the head."""
        separator = self.tokens.separator
        separators = None if separator is None else batch.ids == separator
        return pool(hidden, batch.roles, batch.turns, how=self.pooling, separators=separators)

    @contextmanager
    def without_head(self) -> Iterator[None]:
        """Leave the head out inside a `with`, for the pooled vectors as they are."""
        head, self.head = self.head, None
        try:
            yield
        finally:
            self.head = head

    def through_head(self, pooled: Tensor) -> Tensor:
        """Map pooled vectors [..., d] by the head, if there is one."""
        return pooled if self.head is None else self.head(pooled)

    @overload
    def encode(
        self,
        dialogues: Dialogue | Sequence[Dialogue],
        *,
        output: Literal["dialogue"] = "dialogue",
        batch_size: int = 32,
        progress: bool = False,
    ) -> NDArray[np.float32]: ...

    @overload
    def encode(
        self, dialogues: Dialogue, *, output: Apart, batch_size: int = 32, progress: bool = False
    ) -> NDArray[np.float32]: ...

    @overload
    def encode(
        self, dialogues: Sequence[Dialogue], *, output: Apart, batch_size: int = 32, progress: bool = False
    ) -> list[NDArray[np.float32]]: ...

    def encode(
        self,
        dialogues: Dialogue | Sequence[Dialogue],
        *,
        output: Output = "dialogue",
        batch_size: int = 32,
        progress: bool = False,
    ) -> NDArray[np.float32] | list[NDArray[np.float32]]:
        """Encode each dialogue once, and the whole of it: one that is too long for the encoder is read in windows.

        What is pooled over windows, and how: `dial2vec.encoder.windows`. Without a head these sums hold: with pooling
        "role" the speakers' vectors sum to the dialogue's, with "turns" its vector is the mean of the turns', with
        "mean" that weighted by their tokens. A head maps the vector of each turn, speaker and dialogue by itself, to
        length 1.

        :param dialogues: one dialogue, or any sequence of them.
        :param output: "dialogue" is a vector for each; "turns" one for each turn, the mean of its tokens (zeros where
            it has none); "speakers" one for each speaker, the mean of all they say, in the order of first speaking.
        :param batch_size: largest number of dialogues or windows encoded at a time; no effect beyond rounding.
        :param progress: show a progress bar, where standard error is a terminal.
        :return: float32 [n, d] in input order; for turns or speakers a list of n matrices, float32 [turns, d] or
            [speakers, d]. For one dialogue its row or its matrix.
        """
        check_name("output", output, ("dialogue", *get_args(Apart)))
        if isinstance(dialogues, Dialogue):
            return self.encode([dialogues], output=output, batch_size=batch_size)[0]  # type: ignore[call-overload]
        vectors = np.zeros((len(dialogues) if output == "dialogue" else 0, self.dimension), dtype=np.float32)
        apart: list[NDArray[np.float32]] = []
        with tqdm(total=len(dialogues), unit="dialogue", disable=None if progress else True, leave=False) as bar:
            # Tokens take more memory than the dialogues themselves.
            for first in range(0, len(dialogues), BLOCK):
                windows = windows_of(self.tokens, dialogues[first : first + BLOCK])
                if cut := sum(one.cut > 0 for one in windows):
                    log.warning("%d dialogues are longer than %d tokens and were cut", cut, self.max_length)
                found = encode_windows(self, windows, output=output, batch_size=batch_size, done=bar.update)
                if output == "dialogue":
                    vectors[first : first + len(found)] = found
                else:
                    apart += found
        return vectors if output == "dialogue" else apart

    def encode_tokens(
        self,
        sequences: Sequence[TokenSequence],
        *,
        batch_size: int = 32,
        done: Callable[[int], object] | None = None,
        embed: Callable[[Batch], Tensor] | None = None,
    ) -> NDArray[np.float32]:
        """Encode dialogues that `self.tokens` has tokenised; otherwise like `encode`.

        :param done: called after each batch with its number of dialogues.
        :param embed: what to make of a batch, [b, ...]; None is the vector of the dialogue.
        """
        vectors = np.zeros((0, self.dimension), dtype=np.float32)
        with self.evaluating():
            for rows, batch in self.batches(sequences, batch_size):
                found = (embed or self)(batch).cpu().numpy()
                if not len(vectors):
                    vectors = np.zeros((len(sequences), *found.shape[1:]), dtype=np.float32)
                vectors[rows] = found
                if done is not None:
                    done(len(rows))
        return vectors

    def encode_utterances(
        self, texts: Sequence[str], *, roles: Sequence[int] | None = None, batch_size: int = 32
    ) -> NDArray[np.float32]:
        """Encode utterances, each alone: the mean of its tokens (with pooling "cls" the first), float32 [n, d].

        Head and hierarchy are left out: they read dialogues. Around each stand the encoder's own start and separator,
        or what its input puts around a turn (`dial2vec.encoder.inputs.joined_input`).

        :param roles: who says each, 0 for who speaks first in the dialogue; it counts where the input or a table tells
            roles apart. None is 0 for all, as in a dialogue of one turn.
        """
        tokens = self.tokens.for_utterances()
        words = tokens.utterances(texts)
        spoken_by = [0] * len(words) if roles is None else roles
        sequences = [
            tokens.assemble([words[place]], [role]) for place, role in zip(range(len(words)), spoken_by, strict=True)
        ]
        return self.encode_tokens(sequences, batch_size=batch_size, embed=self._alone)

    def encode_contexts(self, contexts: Sequence[Sequence[str]], *, batch_size: int = 32) -> NDArray[np.float32]:
        """Encode contexts as utterances are, with a separator behind each turn, float32 [n, d].

        Of a context that does not fit the last turns are read that do: they are what is being answered.

        :param contexts: texts of the turns of each, at least one.
        """
        return self.encode_tokens(self.context_tokens(contexts), batch_size=batch_size, embed=self._alone)

    def context_tokens(self, contexts: Sequence[Sequence[str]]) -> list[TokenSequence]:
        """Return what `encode_contexts` reads; in `cut` the tokens of turns that were left out in front count, too."""
        tokens = self.tokens.for_utterances()
        words = tokens.utterances(text for context in contexts for text in context)
        sequences, first = [], 0
        for context in contexts:
            turns = [words[first + place] for place in range(len(context))]
            begin = tokens.first_that_fits([len(turn) for turn in turns], self.max_length)
            read = tokens.assemble(turns[begin:], [0] * (len(turns) - begin))
            sequences.append(replace(read, cut=read.cut + sum(map(len, turns[:begin]))))
            first += len(context)
        return sequences

    def _alone(self, batch: Batch) -> Tensor:
        how: Pooling = "cls" if self.pooling == "cls" else "mean"
        return pool(self.sequence_states(batch), batch.roles, batch.turns, how=how)

    def encode_sides(self, dialogues: Sequence[Dialogue], *, batch_size: int = 32) -> NDArray[np.float32]:
        """Encode each side of a dialogue as if the other had said nothing, float32 [n, 2, d].

        The first side is the first speaker's, the second that of all others. Nothing leaks from one to the other,
        as it does through attention when both are encoded together. A side without turns gives zeros.
        """
        sides = [dialogue.side(number) for dialogue in dialogues for number in (0, 1)]
        spoken = [place for place, side in enumerate(sides) if side.turns]
        vectors = np.zeros((len(sides), self.dimension), dtype=np.float32)
        vectors[spoken] = self.encode([sides[place] for place in spoken], batch_size=batch_size)
        return vectors.reshape(-1, 2, self.dimension)

    def encode_speakers(self, dialogue: Dialogue) -> NDArray[np.float32]:
        """Return one vector per speaker, float32 [speakers, d], in the order in which they first speak.

        Without a head their sum is the role-pooled vector of the dialogue; with one each is mapped by it, so that
        speakers and dialogues can be compared.
        """
        return self.encode(dialogue, output="speakers")
