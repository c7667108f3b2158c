"""What every encoder of dialogues offers, a transformer or a student; the rest of the package knows only this."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import ClassVar, Literal, NamedTuple, Protocol, TypedDict, Unpack, get_args, overload

import numpy as np
from numpy.typing import NDArray

from conversations.dialogue import Dialogue
from dial2vec.encoder.conversations import Given, Messages, Sample, as_dialogues
from dial2vec.encoder.hub import push_folder
from dial2vec.encoder.inputs import check_name
from dial2vec.encoder.nearest import unit_rows
from dial2vec.errors import ModelError
from dial2vec.files import code_hash

Apart = Literal["turns", "speakers"]
Output = Literal["dialogue"] | Apart


class Options(TypedDict, total=False):
    """The options of `encode`."""

    batch_size: int | None
    show_progress_bar: bool
    normalize_embeddings: bool


class ExplainedTurns(NamedTuple):
    """The turns of a dialogue.

    :param vectors: vector of each turn, float32 [turns, d].
    :param shares: share of each turn in the dialogue's vector, float32 [turns], with sum 1.
    :param windows: number of windows in which the encoder read the dialogue.
    """

    vectors: NDArray[np.float32]
    shares: NDArray[np.float32]
    windows: int


class Encoder(Protocol):
    """Dialogues in, vectors out.

    Attributes: `name`, that of the encoder it was loaded from or trained from, for reports; `BATCH`, the default
    number of dialogues encoded at a time.
    """

    BATCH: ClassVar[int]
    name: str

    @property
    def dimension(self) -> int:
        """Length d of a vector."""
        ...

    @property
    def reads_whole(self) -> bool:
        """Whether dialogues of any length are read whole, as all but transformers do."""
        return True

    @property
    def max_length(self) -> int | None:
        """Longest input in tokens; None without a limit, as of all but transformers."""
        return None

    def count_long(self, dialogues: Sequence[Dialogue]) -> int:
        """Return how many of the dialogues are longer than the encoder reads at once."""
        return 0

    def fingerprint(self) -> str:
        """Return a hash of all that decides the vectors; elsewhere they differ by rounding only."""
        ...

    def save_pretrained(self, path: str | Path) -> None:
        """Write a folder that `load_encoder` loads."""
        ...

    def save_copy(self, path: str | Path) -> None:
        """Write such a folder with the very numbers of this encoder."""
        self.save_pretrained(path)

    def push_to_hub(
        self, repo_id: str, *, private: bool = True, token: str | None = None, message: str = "An encoder of dialogues",
        licence: str | None = None, about: str = "",
    ) -> str:  # fmt: skip
        """Push the folder that `save_copy` writes to a hub, with its card; return the address of the commit.

        :param repo_id: "owner/name", by which `from_pretrained` loads it; created if it does not exist.
        :param private: whether a new repository is private. A model can reveal private conversations it was trained on.
        :param token: access token; None takes that of `hf auth login`.
        :param licence: name of the licence as hubs list it, such as "apache-2.0".
        :param about: Markdown at the end of the card, such as the data and the figures.
        :raises ModelError: if the hub cannot be reached or refuses.
        """
        with TemporaryDirectory() as scratch:
            self.save_copy(folder := Path(scratch) / "model")
            return push_folder(
                folder, repo_id, private=private, token=token, message=message, licence=licence, about=about
            )

    def add_map(self, mean: NDArray[np.float32], weight: NDArray[np.float32], dialogues: Sequence[Dialogue]) -> None:
        """Add a map of the vectors x, `unit((unit(x) - mean) W)`, to the encoder.

        :param mean: [d] float32.
        :param weight: W, [d, d] float32.
        :param dialogues: dialogues that the map was fitted on; a student folds it in for dialogues of their length.
        :raises ModelError: if the encoder has a map already, or can have none.
        """
        raise ModelError(f"{self.name} can have no map of its own. Save another encoder, or take this one as it is.")

    def encode_list(
        self, dialogues: Sequence[Dialogue], *, output: Output, batch_size: int, progress: bool
    ) -> NDArray[np.float32] | list[NDArray[np.float32]]:
        """Encode dialogues as `encode` does, which has made a list of whatever was given."""
        ...

    def encode_marking_long(
        self, dialogues: Sequence[Dialogue], *, batch_size: int, done: Callable[[int], object]
    ) -> tuple[NDArray[np.float32], list[bool]]:
        """Return the vectors of dialogues, and which of them are longer than the encoder reads at once.

        :param done: called with the number of dialogues encoded since the last call.
        """
        vectors = np.zeros((len(dialogues), self.dimension), dtype=np.float32)
        for first in range(0, len(dialogues), self.BATCH):
            block = dialogues[first : first + self.BATCH]
            vectors[first : first + len(block)] = self.encode(block)
            done(len(block))
        return vectors, [False] * len(dialogues)

    def computed_by(self) -> str:
        """Return a hash of all that decides the bytes of the vectors here: the encoder, precision, device and code."""
        return f"{self.fingerprint()} {code_hash('encoder')}"

    def unknown_share(self, texts: Sequence[str]) -> float:
        """Return the share of the tokens of texts that the encoder does not know, in [0, 1]; 0 if it cannot tell."""
        return 0.0

    def encode_utterances(
        self, texts: Sequence[str], *, roles: Sequence[int] | None = None, batch_size: int = ...
    ) -> NDArray[np.float32]:
        """Encode utterances, each alone, float32 [n, d]."""
        ...

    def turn_shares(self, dialogue: Dialogue, *, towards: NDArray[np.float32] | None = None) -> NDArray[np.float32]:
        """Return the contribution of each turn, float32 [turns]; below 0 for a turn that pulls the other way.

        :param towards: vector [d] of another dialogue or query from the same encoder, of any length; the contributions
            sum to the cosine with it. None is the dialogue's own vector; they sum to 1.
        """
        ...

    def shares_of(self, dialogues: Sequence[Dialogue], *, towards: NDArray[np.float32]) -> list[NDArray[np.float32]]:
        """Return `turn_shares` of several dialogues."""
        return [self.turn_shares(dialogue, towards=towards) for dialogue in dialogues]

    def explained_turns(self, dialogue: Dialogue, *, batch_size: int = 32) -> ExplainedTurns:
        """Return the vectors and the shares of a dialogue's turns.

        :param batch_size: largest number of windows read at a time.
        """
        return ExplainedTurns(self.encode(dialogue, output="turns"), self.turn_shares(dialogue), 1)

    @overload
    def encode(
        self, dialogues: Given, *, output: Literal["dialogue"] = ..., **options: Unpack[Options]
    ) -> NDArray[np.float32]: ...

    @overload
    def encode(
        self, dialogues: Dialogue | Messages, *, output: Apart, **options: Unpack[Options]
    ) -> NDArray[np.float32]: ...

    @overload
    def encode(
        self, dialogues: Sequence[Sample], *, output: Apart, **options: Unpack[Options]
    ) -> list[NDArray[np.float32]]: ...

    def encode(
        self,
        dialogues: Given,
        *,
        output: Output = "dialogue",
        batch_size: int | None = None,
        show_progress_bar: bool = False,
        normalize_embeddings: bool = False,
    ) -> NDArray[np.float32] | list[NDArray[np.float32]]:
        """Encode each dialogue once and whole; a dialogue that is too long for the encoder is read in windows.

        `dial2vec.encoder.windows` says how windows are pooled. Without a head these sums hold for a transformer: with
        pooling "role" the speakers' vectors sum to the dialogue's; with "turns" the dialogue's vector is the mean of
        the turns' vectors, with "mean" the mean weighted by their tokens. A head maps each vector by itself, to
        length 1.

        The names are those of sentence-transformers.

        :param dialogues: one dialogue or a sequence of them; messages `{"role", "content"}` of one conversation, or a
            list of such conversations; a list of texts, each a dialogue of one turn; or a table (of pandas, polars,
            Arrow or datasets) with dialogue_id, speaker and text, or with a column of messages.
        :param output: "dialogue" gives one vector per dialogue; "turns" one per turn, the mean of its tokens (zeros if
            it has none); "speakers" one per speaker, the mean of all their tokens, in the order of first speaking.
        :param batch_size: largest number of dialogues or windows encoded at a time, `BATCH` by default; no effect
            beyond rounding.
        :param show_progress_bar: show a progress bar if standard error is a terminal.
        :param normalize_embeddings: give every vector length 1; zeros stay zeros.
        :return: float32 [n, d] in input order; for turns or speakers a list of n matrices, float32 [turns, d] or
            [speakers, d]. For one dialogue its row or its matrix.
        :raises CorpusError: if `dialogues` is anything else.
        """
        check_name("output", output, ("dialogue", *get_args(Apart)))
        given, single = as_dialogues(dialogues)
        size = self.BATCH if batch_size is None else batch_size
        vectors = self.encode_list(given, output=output, batch_size=size, progress=show_progress_bar)
        if normalize_embeddings:
            vectors = unit_rows(vectors) if isinstance(vectors, np.ndarray) else [unit_rows(own) for own in vectors]
        return vectors[0] if single else vectors

    def similarity(self, first: NDArray[np.float32], second: NDArray[np.float32]) -> NDArray[np.float32]:
        """Return the cosines of vectors [n, d] with others [m, d], float32 [n, m]; 0 for a vector of zeros."""
        return unit_rows(np.atleast_2d(first)) @ unit_rows(np.atleast_2d(second)).T

    def encode_sides(self, dialogues: Sequence[Dialogue], *, batch_size: int | None = None) -> NDArray[np.float32]:
        """Encode each side of a dialogue as if the other had said nothing, float32 [n, 2, d].

        The first side is the first speaker's, the second that of all others. Encoded together, each would change the
        other through attention. A side without turns gives zeros.
        """
        sides = [dialogue.side(number) for dialogue in dialogues for number in (0, 1)]
        spoken = [place for place, side in enumerate(sides) if side.turns]
        vectors = np.zeros((len(sides), self.dimension), dtype=np.float32)
        vectors[spoken] = self.encode([sides[place] for place in spoken], batch_size=batch_size)
        return vectors.reshape(-1, 2, self.dimension)
