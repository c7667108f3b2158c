"""Dialogues to vectors as a step of a scikit-learn pipeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from conversations.dialogue import Dialogue
from dial2vec.encoder.conversations import Sample, as_dialogues
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.protocol import Encoder

if TYPE_CHECKING:
    from dial2vec.encoder.pooling import Pooling


class DialogueTransformer(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator):
    """A transformer of dialogues, which are no rows of numbers."""

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.no_validation = True
        return tags


class DialogueVectorizer(DialogueTransformer):
    """An encoder as a transformer: `make_pipeline(DialogueVectorizer(model), KMeans(8)).fit_predict(dialogues)`.

    `fit` loads the encoder and learns nothing from the dialogues. Dialogues are a sequence of `Dialogue`, of mappings
    with `turns` like the lines of a JSON Lines file, of lists of chat messages, or of texts.

    :param model: name or folder, see `dial2vec.load_encoder`.
    :param pooling: name of the pooling; None is the encoder's own. A student takes no other.
    :param normalize: whether vectors get length 1, so that Euclidean distance goes by cosine.
    :param batch_size: largest number of dialogues or windows encoded at a time.
    :param device: "cpu", "cuda", ...; None takes a GPU if there is one.

    Attribute `encoder_`: the encoder that `fit` loaded.
    """

    def __init__(
        self,
        model: str | Path = "all-MiniLM-L6-v2",
        *,
        pooling: Pooling | None = None,
        normalize: bool = True,
        batch_size: int = 32,
        device: str | None = None,
    ) -> None:
        self.model = model
        self.pooling = pooling
        self.normalize = normalize
        self.batch_size = batch_size
        self.device = device

    def fit(self, dialogues: Sequence[Sample | Mapping[str, Any]], y: object = None) -> DialogueVectorizer:
        """Load the encoder; `y` is ignored.

        :raises ModelError: if the model cannot be loaded.
        :raises TypeError: if this is one dialogue, or a table.
        :raises CorpusError: if an item is no dialogue.
        """
        _dialogues(dialogues)
        if self.pooling is None:
            self.encoder_: Encoder = load_encoder(self.model, device=self.device)
        else:
            from dial2vec.encoder import DialogueEncoder  # imports torch, which a student does not need

            self.encoder_ = DialogueEncoder.from_pretrained(self.model, pooling=self.pooling, device=self.device)
        self._n_features_out = self.encoder_.dimension
        return self

    def transform(self, dialogues: Sequence[Sample | Mapping[str, Any]]) -> NDArray[np.float32]:
        """Return a vector for each dialogue, float32 [n, d], in input order.

        The errors are those of `fit`.
        """
        check_is_fitted(self)
        vectors = self.encoder_.encode(_dialogues(dialogues), batch_size=self.batch_size)
        return unit_rows(vectors) if self.normalize else vectors


def _dialogues(given: Sequence[Sample | Mapping[str, Any]]) -> Sequence[Dialogue]:
    if hasattr(given, "columns") or hasattr(given, "column_names"):
        raise TypeError(
            "found a table, whose rows would count as samples; expected a sequence of dialogues. An encoder takes it "
            "as it is: dial2vec.load_encoder(...).encode(table)."
        )
    dialogues, single = as_dialogues(given)
    if single:
        raise TypeError("found one dialogue; expected a sequence of them. Put it into a list.")
    return dialogues
