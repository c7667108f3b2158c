"""What the speed of dial2vec is compared with: sentence-transformers at each of its settings, and torch's own modules.

The library computes with torch, in fp32 and bf16, and with OpenVINO and onnxruntime where they are installed beside
dial2vec, in an environment for measuring: they are no dependencies. Its own backends for these two need optimum, which
does not work with transformers 5.23, so here its model is converted and everything else is the library's.
"""

from __future__ import annotations

import importlib.util
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
import torch
from timing import Works
from torch import Tensor, nn

from conversations.dialogue import Dialogue
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.cpu.attention import Dropout
from dial2vec.encoder.names import resolve

WIDTH = 512
BATCH_SIZES = (8, 32)


@contextmanager
def torchs_own(encoder: DialogueEncoder, attention: str = "sdpa") -> Iterator[None]:
    """Attend and drop as torch does inside a `with`, not by `dial2vec.encoder.cpu.attention`.

    :param attention: Implementation of attention, by transformers' name.
    """
    before = encoder.backbone.config._attn_implementation
    changed = [module for module in encoder.modules() if type(module) is Dropout]
    encoder.backbone.set_attn_implementation(attention)
    for module in changed:
        module.__class__ = nn.Dropout
    try:
        yield
    finally:
        encoder.backbone.set_attn_implementation(before)
        for module in changed:
            module.__class__ = Dropout


def of_library(name: str, dialogues: Sequence[Dialogue], kind: str, *, ends: Sequence[str]) -> Works:
    """Return the works of sentence-transformers on the joined turns; none if it is not installed.

    "library" is its default; the others are "library", precision, backend and batch size.

    :param ends: "" for fp32 and "_bf16" for bf16, where the device has it.
    """
    if importlib.util.find_spec("sentence_transformers") is None:
        return {}
    texts = [" ".join(turn.text for turn in dialogue.turns) for dialogue in dialogues]
    works: Works = {}
    for label, library in libraries(resolve(name), kind, ends).items():
        if label == "library":
            works[label] = lambda library=library: library.encode(texts)
        for size in BATCH_SIZES:
            works[f"{label} {size}"] = lambda library=library, size=size: library.encode(texts, batch_size=size)
    return works


def libraries(folder: str, kind: str, ends: Sequence[str]) -> dict[str, Any]:
    """Return the library's model in each precision and on each backend that is at hand."""
    from sentence_transformers import SentenceTransformer

    def load(**options: Any) -> Any:
        library = SentenceTransformer(folder, device=kind, **options)
        library.max_seq_length = WIDTH
        return library

    found = {"library": load()}
    if "_bf16" in ends:
        found["library_bf16"] = load(model_kwargs={"dtype": torch.bfloat16})
    if kind == "cpu" and importlib.util.find_spec("openvino"):
        for end in ends:
            found[f"library{end} openvino"] = library = load()
            library[0].auto_model = Elsewhere(library[0].auto_model, openvino(library[0].auto_model, bf16=bool(end)))
    if kind == "cpu" and importlib.util.find_spec("onnxruntime"):
        found["library onnx"] = library = load()
        library[0].auto_model = Elsewhere(library[0].auto_model, onnxruntime(library[0].auto_model))
    return found


class Elsewhere(nn.Module):
    """A model of transformers that another program computes.

    :param compute: Function of input_ids, attention_mask and token_type_ids, int64 [b, n], to token vectors [b, n, d].
    """

    def __init__(self, model: Any, compute: Callable[..., np.ndarray]) -> None:
        super().__init__()
        self.config, self.compute = model.config, compute
        # The library asks for the device of the first parameter.
        self.kept = nn.Parameter(torch.zeros(1))

    def forward(self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor, **_: Any) -> Any:
        """Return the token vectors as a model of transformers does."""
        from transformers.modeling_outputs import BaseModelOutput

        states = self.compute(*(given.numpy() for given in (input_ids, attention_mask, token_type_ids)))
        return BaseModelOutput(last_hidden_state=torch.from_numpy(states))


class Ordered(nn.Module):
    """A model that takes its three inputs by place and returns the token vectors alone, for converting."""

    def __init__(self, model: Any) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor, attention: Tensor, types: Tensor) -> Tensor:
        """Return the token vectors."""
        return self.model(input_ids=ids, attention_mask=attention, token_type_ids=types).last_hidden_state


def openvino(model: Any, *, bf16: bool) -> Callable[..., np.ndarray]:
    """Convert a model to OpenVINO, with as many threads as torch has."""
    import openvino

    model.set_attn_implementation("eager")
    example = tuple(torch.ones(2, 8, dtype=torch.int64) for _ in range(3))
    converted = openvino.convert_model(Ordered(model).eval(), example_input=example)
    options = {"INFERENCE_PRECISION_HINT": "bf16" if bf16 else "f32", "INFERENCE_NUM_THREADS": torch.get_num_threads()}
    compiled = openvino.compile_model(converted, "CPU", options | {"PERFORMANCE_HINT": "LATENCY"})
    return lambda *given: compiled(given)[0]


def onnxruntime(model: Any) -> Callable[..., np.ndarray]:
    """Convert a model to ONNX, with as many threads as torch has; its kernels for a CPU have no bf16."""
    import onnxruntime

    model.set_attn_implementation("eager")
    example, names = tuple(torch.ones(2, 8, dtype=torch.int64) for _ in range(3)), ("ids", "attention", "types")
    axes = {name: {0: "rows", 1: "tokens"} for name in (*names, "states")}
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/model.onnx"
        given = {"input_names": list(names), "output_names": ["states"], "dynamic_axes": axes}
        torch.onnx.export(Ordered(model).eval(), example, path, dynamo=False, **given)
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
    return lambda *given: session.run(None, dict(zip(names, given, strict=True)))[0]
