"""`DialogueEncoder`: whole dialogues in, one vector each out. Load by name or folder, encode, save."""

from __future__ import annotations

import hashlib
import json
import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from tqdm.auto import tqdm

from conversations.dialogue import Dialogue
from dial2vec.config import EncoderSettings
from dial2vec.encoder.backbone import load_backbone, own_input, save_backbone
from dial2vec.encoder.contribution import turn_shares
from dial2vec.encoder.folder import check_files, model_folder
from dial2vec.encoder.head import Head
from dial2vec.encoder.names import resolve
from dial2vec.encoder.network import Network, Precision, resolved
from dial2vec.encoder.pooling import Pooling, pool
from dial2vec.encoder.protocol import Encoder, ExplainedTurns, Output
from dial2vec.encoder.reading import EncoderOptions, Reading, check_pooling
from dial2vec.encoder.saving import HEAD_FILE, fill_network, options_for, save_parts, saved_settings
from dial2vec.encoder.sharing import Parts, save_card, save_sentence_modules
from dial2vec.encoder.tokens import Batch, DialogueTokenizer, TokenSequence
from dial2vec.encoder.turns import ReadTurns, read_turns
from dial2vec.encoder.windows import Windows, windows_of
from dial2vec.errors import ModelError
from dial2vec.files import code_hash

# Dialogues that are tokenised at a time.
BLOCK = 8192
# Dialogues whose turns' sums are in memory at a time: an hour's, of 2,000 turns and 384 numbers, have 6 MiB.
AT_ONCE = 32

log = logging.getLogger(__name__)


class DialogueEncoder(nn.Module, Encoder):
    """An encoder that reads a whole dialogue and pools its tokens by speaker.

    :param backbone: Hugging Face encoder that returns `last_hidden_state` [b, n, d], or a `PlatoModel`.
    :param tokenizer: fast tokenizer of the backbone.
    :param options: see `dial2vec.encoder.reading.EncoderOptions`.
    :param name: name or folder that the encoder was loaded from, for reports.
    :raises ModelError: if the backbone cannot read so, or has no tokens for the pooling.

    Attributes: `network`, all weights but the head's; `head`, the linear map that training fitted on the pooled
    vectors, or None; `own_reading`, the reading before any `read_as`.
    """

    BATCH = 32

    def __init__(self, backbone: Any, tokenizer: Any, options: EncoderOptions, *, name: str = "") -> None:
        super().__init__()
        self.network = Network(backbone, tokenizer, options)
        self.name = name
        self.options = self.own_reading = options
        self.read_as(None)
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
        """Load an encoder. An option that is not given is as saved, else the default of `EncoderOptions`.

        :param name: a folder made by `save_pretrained`, a registry address such as
            "models:/dial2vec-demo@champion", any Hugging Face folder or name, "all-MiniLM-L6-v2" (packaged), or a
            short name of the paper's encoders, such as "tod-bert" (docs/encoders.md).
        :param max_length: longest input in tokens.
        :param input: name of `dial2vec.encoder.inputs.STYLES`; "auto" is as saved, else the published
            code's input for the encoder of a short name, else "text".
        :param last_turns: number of last turns to read; None is as saved with input "auto", else the input's own.
        :param pooling: "role", "mean", "turns", "cls" or "separators".
        :param hierarchy: "none", "hssa" or "biden"; other than the saved one it is untrained.
        :param turn_embeddings: whether to add a table for the turn index.
        :param role_embeddings: whether to add a table for the role.
        :param device: "cpu", "cuda", ...; None takes a GPU if there is one.
        :raises ModelError: if the name cannot be loaded or an option is not valid.
        """
        check_files(folder := resolve(name))
        settings = saved_settings(folder)
        asked = {
            "max_length": max_length,
            "input": None if input == "auto" else input,
            "last_turns": last_turns,
            "pooling": pooling,
            "hierarchy": hierarchy,
            "turn_embeddings": turn_embeddings,
            "role_embeddings": role_embeddings,
        }
        options = options_for(settings, asked, own_input=own_input(name, folder))
        encoder = cls(*load_backbone(folder), options, name=settings.get("name", str(name)))
        fill_network(encoder.network, folder, settings)
        encoder.head = Head.load(Path(folder) / HEAD_FILE, encoder.dimension) if settings.get("head") else None
        return encoder.to(device or ("cuda" if torch.cuda.is_available() else "cpu")).eval()

    @classmethod
    def start(cls, settings: EncoderSettings) -> DialogueEncoder:
        """Load the base encoder that block `encoder` of `params.yaml` names."""
        options = asdict(settings)
        return cls.from_pretrained(options.pop("name"), **options)

    def save_pretrained(self, path: str | Path) -> None:
        """Write a folder that `from_pretrained` loads, and `AutoModel` too if the backbone came from there; atomic.

        `SentenceTransformer` loads the folder as well if its own modules can express the encoder (docs/ecosystem.md).
        A model that was saved there before is replaced as a whole.

        :raises ModelError: if the folder holds other files than a model.
        """
        with model_folder(path) as folder:
            save_backbone(self.backbone, folder)
            self.tokens.tokenizer.save_pretrained(folder)
            save_parts(folder, self.options, self.network, self.head, name=self.name, max_length=self.max_length)
            parts = Parts(self.network, self.pooling, self.head, self.name)
            save_sentence_modules(parts, folder)
            save_card(parts, folder)

    def add_map(self, mean: NDArray[np.float32], weight: NDArray[np.float32], dialogues: Sequence[Dialogue]) -> None:
        """Make the map the encoder's head; `dialogues` has no effect."""
        if self.head is not None:
            raise ModelError(f"{self.name} has a head of its own, so no map can be added. Take the encoder as it is.")
        self.head = Head(torch.from_numpy(mean), torch.from_numpy(weight)).to(self.device)

    def read_as(self, reading: Reading | None, *, option: str = "encoder.pooling") -> None:
        """Change how dialogues are read from now on; None is the encoder's own reading.

        :param option: setting that names the pooling, for errors.
        :raises ModelError: if the encoder cannot read so.
        """
        asked = reading or self.own_reading
        self.network.tokens = self.tokens_as(asked, option=option)
        self.options = replace(self.options, input=asked.input, pooling=asked.pooling)

    def tokens_as(self, reading: Reading, *, option: str = "encoder.pooling") -> DialogueTokenizer:
        """Return the tokenizer of another reading; the encoder stays as it is. Options and errors: `read_as`."""
        options = replace(self.options, input=reading.input, pooling=reading.pooling)
        tokens = self.network.tokens_for(options, self.tokens.tokenizer)
        check_pooling(options.pooling, tokens, encoder=self.name or type(self.backbone).__name__, option=option)
        return tokens

    @property
    def backbone(self) -> Any:
        """The Hugging Face encoder, or a `PlatoModel`."""
        return self.network.backbone

    @property
    def tokens(self) -> DialogueTokenizer:
        """The tokenizer of dialogues."""
        return self.network.tokens

    @property
    def pooling(self) -> Pooling:
        """Name of the pooling."""
        return self.options.pooling

    @property
    def dimension(self) -> int:
        """Length d of a vector."""
        return self.network.dimension

    @property
    def max_length(self) -> int:
        """Longest input in tokens."""
        return self.tokens.max_length

    @property
    def device(self) -> torch.device:
        """Device of the weights."""
        return self.network.device

    @property
    def reads_whole(self) -> bool:
        """Whether dialogues of any length are read whole; False only if the input is one of the last turns."""
        return self.tokens.style.last_turns is None

    def count_long(self, dialogues: Sequence[Dialogue]) -> int:
        """Return how many of the dialogues are longer than the encoder reads at once (`dial2vec.encoder.windows`)."""
        return sum(windows.long for windows in windows_of(self.tokens, dialogues))

    def hidden_states(self, batch: Batch) -> Tensor:
        """Return the token vectors [b, n, d] of a padded batch of dialogues."""
        return self.network(batch)

    def sequence_states(self, batch: Batch) -> Tensor:
        """Return the token vectors [b, n, d] of rows that are one sequence each (`Network.sequence_states`)."""
        return self.network.sequence_states(batch)

    def autocast(self, precision: Precision) -> torch.autocast:
        """Return the context in which the encoder computes with the given precision on its device."""
        return torch.autocast(self.device.type, torch.bfloat16, enabled=resolved(precision, self.device.type) == "bf16")

    def forward(self, batch: Batch) -> Tensor:
        """Return one vector per dialogue of the batch, [b, d] float32; of length 1 if there is a head."""
        return self.through_head(self.pooled(self.hidden_states(batch), batch))

    def pooled(self, hidden: Tensor, batch: Batch) -> Tensor:
        """Pool the token vectors [b, n, d] of dialogues: one vector each, [b, d] float32, without the head."""
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

    def encode_list(
        self, dialogues: Sequence[Dialogue], *, output: Output, batch_size: int, progress: bool
    ) -> NDArray[np.float32] | list[NDArray[np.float32]]:
        """Encode dialogues as `encode` does, block by block."""
        vectors = np.zeros((len(dialogues) if output == "dialogue" else 0, self.dimension), dtype=np.float32)
        apart: list[NDArray[np.float32]] = []
        with tqdm(total=len(dialogues), unit="dialogue", disable=None if progress else True, leave=False) as bar:
            # In blocks: tokens take more memory than the dialogues themselves.
            for first in range(0, len(dialogues), BLOCK):
                windows = windows_of(self.tokens, dialogues[first : first + BLOCK])
                if cut := sum(dialogue.cut > 0 for dialogue in windows):
                    log.warning("%d dialogues are longer than %d tokens and were cut", cut, self.max_length)
                block = self.encode_windows(windows, output=output, batch_size=batch_size, done=bar.update)
                if output == "dialogue":
                    vectors[first : first + len(block)] = block
                else:
                    apart += block
        return vectors if output == "dialogue" else apart

    def encode_marking_long(
        self, dialogues: Sequence[Dialogue], *, batch_size: int, done: Callable[[int], object]
    ) -> tuple[NDArray[np.float32], list[bool]]:
        """Return the vectors of dialogues, and which of them are longer than the encoder reads at once."""
        windows = windows_of(self.tokens, dialogues)
        vectors = self.encode_windows(windows, batch_size=batch_size, done=done)
        return np.array(vectors, np.float32), [dialogue.long for dialogue in windows]

    def encode_windows(
        self,
        dialogues: Sequence[Windows],
        *,
        output: Output = "dialogue",
        batch_size: int = 32,
        done: Callable[[int], object] | None = None,
    ) -> list[NDArray[np.float32]]:
        """Encode dialogues that `dial2vec.encoder.windows.windows_of` cut into windows; otherwise like `encode`.

        :param done: called with the number of dialogues encoded since the last call.
        """
        encoded: dict[int, NDArray[np.float32]] = {}
        if output == "dialogue":
            short = [place for place, windows in enumerate(dialogues) if len(windows.sequences) == 1]
            sequences = [dialogues[place].sequences[0] for place in short]
            encoded |= zip(short, self.encode_tokens(sequences, batch_size=batch_size, done=done), strict=True)
        rest = [place for place in range(len(dialogues)) if place not in encoded]
        for first in range(0, len(rest), AT_ONCE):
            places = rest[first : first + AT_ONCE]
            reads = self.read_turns([dialogues[place] for place in places], batch_size=batch_size)
            encoded |= {place: self.vectors_of(read, output) for place, read in zip(places, reads, strict=True)}
            if done is not None:
                done(len(places))
        return [encoded[place] for place in range(len(dialogues))]

    def read_turns(self, dialogues: Sequence[Windows], *, batch_size: int = 32) -> list[ReadTurns]:
        """Read dialogues turn by turn, without the head (`dial2vec.encoder.turns.read_turns`)."""
        return read_turns(self.network, dialogues, pooling=self.pooling, batch_size=batch_size)

    def vectors_of(self, read: ReadTurns, output: Output) -> NDArray[np.float32]:
        """Return the vectors of a dialogue that was read, through the head if there is one; zeros stay zeros."""
        pooled = read.of(output)
        with torch.inference_mode():
            mapped = self.through_head(torch.from_numpy(pooled).to(self.device)).cpu().numpy()
        return np.where(pooled.any(-1, keepdims=True), mapped, np.float32(0))

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
        :param embed: function that embeds a batch, [b, ...]; None is the encoder itself.
        """
        vectors = np.zeros((0, self.dimension), dtype=np.float32)
        with self.network.evaluating():
            for rows, batch in self.network.batches(sequences, batch_size):
                embedded = (embed or self)(batch).cpu().numpy()
                if not len(vectors):
                    vectors = np.zeros((len(sequences), *embedded.shape[1:]), dtype=np.float32)
                vectors[rows] = embedded
                if done is not None:
                    done(len(rows))
        return vectors

    def unknown_share(self, texts: Sequence[str]) -> float:
        """Return the share of the tokens of texts that all have the vector of the unknown token, in [0, 1]."""
        ids = self.tokens.utterances(texts).ids
        return float((ids == self.tokens.tokenizer.unk_token_id).sum()) / max(1, len(ids))

    def encode_utterances(
        self, texts: Sequence[str], *, roles: Sequence[int] | None = None, batch_size: int = 32
    ) -> NDArray[np.float32]:
        """Encode utterances, each alone: the mean of its tokens (with pooling "cls" the first), float32 [n, d].

        Head and hierarchy are left out: they read dialogues. Each utterance has the encoder's own start and separator
        around it, or the tokens that its input puts around a turn (`dial2vec.encoder.inputs.joined_input`).

        :param roles: role of each speaker, 0 for the first speaker of the dialogue; it matters if the input or a table
            tells roles apart. None is 0 for all.
        """
        return self.encode_tokens(self.tokens.utterances_alone(texts, roles), batch_size=batch_size, embed=self._alone)

    def encode_contexts(
        self, contexts: Sequence[Sequence[str]], *, roles: Sequence[Sequence[int]] | None = None, batch_size: int = 32
    ) -> NDArray[np.float32]:
        """Encode contexts as utterances are, with a separator after each turn, float32 [n, d].

        If a context does not fit, its last turns that fit are read: the response answers these.
        Arguments: `dial2vec.encoder.tokens.DialogueTokenizer.contexts`.
        """
        return self.encode_tokens(self.tokens.contexts(contexts, roles), batch_size=batch_size, embed=self._alone)

    def _alone(self, batch: Batch) -> Tensor:
        how: Pooling = "cls" if self.pooling == "cls" else "mean"
        return pool(self.sequence_states(batch), batch.roles, batch.turns, how=how)

    def turn_shares(self, dialogue: Dialogue, *, towards: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Return the contribution of each turn, float32 [turns] (`dial2vec.encoder.contribution.turn_shares`)."""
        [read] = self.read_turns(windows_of(self.tokens, [dialogue]))
        return turn_shares(read, self.head, towards=towards)

    def shares_of(self, dialogues: Sequence[Dialogue], *, towards: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """Return `turn_shares` of several dialogues, which are read in batches."""
        reads = self.read_turns(windows_of(self.tokens, dialogues))
        return [turn_shares(read, self.head, towards=towards) for read in reads]

    def explained_turns(self, dialogue: Dialogue, *, batch_size: int = 32) -> ExplainedTurns:
        """Return the vectors and the shares of a dialogue's turns, read once."""
        [windows] = windows_of(self.tokens, [dialogue])
        [read] = self.read_turns([windows], batch_size=batch_size)
        return ExplainedTurns(self.vectors_of(read, "turns"), turn_shares(read, self.head), len(windows.sequences))

    def fingerprint(self) -> str:
        """Return a hash of the weights and of the reading: the same one gives the same vectors except for rounding."""
        tokens = self.tokens
        read_by = (_words_of(tokens.tokenizer), tokens.max_length, tokens.style, tokens.last_turns)
        digest = hashlib.sha256(repr((read_by, self.pooling)).encode())
        for tensor in self.state_dict().values():
            digest.update(tensor.cpu().numpy().tobytes())
        return digest.hexdigest()

    def computed_by(self, precision: Precision | None = None) -> str:
        """Return a hash of all that decides the bytes of the vectors here: the encoder, precision, device and code.

        :param precision: None is the encoder's own.
        """
        computed_in = resolved(precision or self.network.precision, self.device.type)
        made_by = (self.fingerprint(), computed_in, self.device.type, code_hash("encoder"))
        return hashlib.sha256(repr(made_by).encode()).hexdigest()


def _words_of(tokenizer: Any) -> str:
    """Return what decides the tokens of a text."""
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        # Written in Python, such as Canine's, whose characters are its tokens.
        return json.dumps([type(tokenizer).__name__, sorted(tokenizer.get_vocab().items())])
    # Without the tokenizer's own special tokens, truncation and padding: `DialogueTokenizer` adds its own.
    parts = json.loads(backend.to_str())
    words = {name: part for name, part in parts.items() if name not in ("post_processor", "truncation", "padding")}
    return json.dumps(words, sort_keys=True)
