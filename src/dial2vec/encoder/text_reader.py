"""Vectors of texts by a saved BERT, computed by numpy: a search from the shell answers before torch is imported."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from safetensors import safe_open
from threadpoolctl import threadpool_limits
from tokenizers import Tokenizer

from conversations.files import read_json
from dial2vec.encoder.folder import SETTINGS_FILE, check_files, is_student

# Settings of an encoder and of its backbone that numpy can compute (Devlin et al. 2019).
SETTINGS = {"input": "text", "pooling": "role", "hierarchy": "none", "head": False, "last_turns": None}
SETTINGS |= {"turn_embeddings": False, "role_embeddings": False}
BACKBONE = {"model_type": "bert", "hidden_act": "gelu", "position_embedding_type": "absolute"}
# Left out by newer files.
DEFAULTS = {"position_embedding_type": "absolute"}
# A text of so many characters has as many tokens at most, which every such encoder reads at once.
LONGEST = 500


def text_reader(folder: Path) -> TextReader | None:
    """Return a reader of the encoder in a folder; None if numpy cannot compute that encoder."""
    check_files(folder)
    if is_student(folder) or not (folder / SETTINGS_FILE).is_file():
        return None
    settings, config = read_json(folder / SETTINGS_FILE), read_json(folder / "config.json")
    able = SETTINGS.items() <= settings.items() and BACKBONE.items() <= (DEFAULTS | config).items()
    able = able and min(settings["max_length"] or 0, config["max_position_embeddings"]) >= LONGEST + 2
    return TextReader(folder, config) if able else None


class TextReader:
    """The encoder of a folder for texts of up to 500 characters; its vectors are those of `DialogueEncoder` in fp32.

    :param folder: folder of a saved encoder.
    :param config: content of its `config.json`.
    """

    def __init__(self, folder: Path, config: dict[str, Any]) -> None:
        self._tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        self._tokenizer.no_padding()
        self._tokenizer.no_truncation()
        self._weights, self._config = safe_open(folder / "model.safetensors", "np"), config

    def encode_dialogue(self, text: str) -> NDArray[np.float32]:
        """Return the vector of a dialogue of one turn, float32 [d]."""
        return self._means([text], [])[0]

    def encode_utterances(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return the vectors of utterances, each alone, float32 [texts, d]."""
        return self._means(texts, [self._tokenizer.token_to_id("[SEP]")])

    def _means(self, texts: Sequence[str], end: list[int | None]) -> NDArray[np.float32]:
        """Return the mean token vector of each text between [CLS] and some last tokens, float32 [texts, d]."""
        start = self._tokenizer.token_to_id("[CLS]")
        encoded = self._tokenizer.encode_batch(list(texts), add_special_tokens=False)
        read = [[start, *encoding.ids, *end] for encoding in encoded]
        lengths = np.array([len(ids) for ids in read])
        known = np.arange(lengths.max()) < lengths[:, None]
        # The matrices are too small for several threads, which would wait for each other.
        with threadpool_limits(limits=1):
            hidden = self._hidden(np.array([row + [0] * (lengths.max() - len(row)) for row in read]), known)
        return np.asarray((hidden * known[..., None]).sum(1) / lengths[:, None], dtype=np.float32)

    def _hidden(self, ids: NDArray[np.int64], known: NDArray[np.bool_]) -> NDArray[np.float32]:
        """Return the last hidden states of tokens, float32 [b, n, d]."""
        unique, places = np.unique(ids, return_inverse=True)
        table = self._weights.get_slice("embeddings.word_embeddings.weight")
        rows = np.concatenate([table[int(row) : int(row) + 1] for row in unique])[places.reshape(ids.shape)]
        positions = self._weights.get_slice("embeddings.position_embeddings.weight")[: ids.shape[1]]
        x = self._norm(rows + positions + self._get("embeddings.token_type_embeddings.weight")[0], "embeddings")
        masked = np.where(known, 0, -np.inf)[:, None, None, :].astype(np.float32)
        for layer in range(self._config["num_hidden_layers"]):
            name = f"encoder.layer.{layer}"
            x = self._norm(x + self._attended(x, masked, f"{name}.attention"), f"{name}.attention.output")
            inner = _gelu(self._dense(x, f"{name}.intermediate.dense"))
            x = self._norm(x + self._dense(inner, f"{name}.output.dense"), f"{name}.output")
        return x

    def _attended(self, x: NDArray[np.float32], masked: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        split = (*x.shape[:2], self._config["num_attention_heads"], -1)
        parts = (self._dense(x, f"{name}.self.{part}").reshape(split) for part in ("query", "key", "value"))
        query, key, value = (part.swapaxes(1, 2) for part in parts)
        scores = query @ key.swapaxes(2, 3) / np.float32(np.sqrt(query.shape[3])) + masked
        shares = np.exp(scores - scores.max(3, keepdims=True))
        heads = shares / shares.sum(3, keepdims=True) @ value
        return self._dense(heads.swapaxes(1, 2).reshape(x.shape), f"{name}.output.dense")

    def _dense(self, x: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        return x @ self._get(f"{name}.weight").T + self._get(f"{name}.bias")

    def _norm(self, x: NDArray[np.float32], name: str) -> NDArray[np.float32]:
        weight, bias = (self._get(f"{name}.LayerNorm.{part}") for part in ("weight", "bias"))
        spread = np.sqrt(x.var(2, keepdims=True) + np.float32(self._config["layer_norm_eps"]))
        return (x - x.mean(2, keepdims=True)) / spread * weight + bias

    def _get(self, name: str) -> NDArray[np.float32]:
        return np.asarray(self._weights.get_tensor(name), dtype=np.float32)


def _gelu(x: NDArray[np.float32]) -> NDArray[np.float32]:
    """Return x times the normal distribution's share below x (Abramowitz and Stegun 1964, 7.1.26; to 2e-7)."""
    t = 1 / (1 + 0.3275911 * np.abs(x) / np.sqrt(np.float32(2)))
    tail = ((((1.061405429 * t - 1.453152027) * t + 1.421413741) * t - 0.284496736) * t + 0.254829592) * t
    tail *= np.exp(-x * x / 2)
    return np.asarray(x * np.where(x > 0, 1 - tail / 2, tail / 2), dtype=np.float32)
