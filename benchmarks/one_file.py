"""The explorer in one file: bytes of its parts, and how far its search differs from that by the full vectors.

    .venv/bin/python benchmarks/one_file.py calls

The collection needs labels for the precision, and a student for the texts.
"""

from __future__ import annotations

import argparse
import base64
import zlib
from pathlib import Path
from typing import Any

import click
import numpy as np
from numpy.typing import NDArray

from dial2vec.collection import Collection
from dial2vec.collection.explorer.content import whole_content
from dial2vec.collection.explorer.explorer_page import render_explorer
from dial2vec.collection.explorer.maps import maps_of
from dial2vec.collection.explorer.packing import packed
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.student import StudentEncoder

QUERIES, NEAREST, WORDS = 100, 10, 5


def main() -> None:
    """Print bytes and overlaps."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path)
    collection = Collection(parser.parse_args().folder)
    n = len(collection)
    content = whole_content(collection, maps_of(collection), np.arange(n))
    meaning = content["meaning"]
    click.echo(f"{n} dialogues")
    student = meaning.pop("student", None)
    for name, part in {**content, "student": student, "page": None}.items():
        size = len(render_explorer("").encode()) if name == "page" else len(packed({name: part}))
        if size > 500:
            click.echo(f"| {name} | {size / n:.0f} | {size / 1e6:.2f} MB |")
    whole = len(render_explorer("calls", content=packed(content | {"student": student})).encode())
    click.echo(f"| whole file | {whole / n:.0f} | {whole / 1e6:.2f} MB |")
    compare(collection, meaning, student)


def compare(collection: Collection, meaning: dict[str, Any], student: dict[str, Any] | None) -> None:
    """Print the overlap of the ten nearest by the packed and by the full vectors, and the precision of both."""
    rng, steps = np.random.default_rng(1), np.array(meaning["steps"])
    full = np.asarray(collection.vectors)
    small = numbers(meaning["vectors"], len(steps)) * steps
    asked = rng.choice(len(full), min(QUERIES, len(full)), replace=False)
    ours, theirs = (nearest(unit_rows(of[asked]) @ of.T, without=asked) for of in (small, full))
    click.echo(f"dialogues as queries: {100 * overlap(ours, theirs):.1f} % of the ten nearest are the same")
    labels = [set(names) for names in collection.rows["labels"].to_pylist()]
    for name, found in (("file", ours), ("collection", theirs)):
        same = [labels[row] & labels[own] != set() for own, rows in zip(asked, found, strict=True) for row in rows]
        click.echo(f"precision of the ten nearest by label, {name}: {100 * np.mean(same):.1f} %")
    encoder = collection._search.encoder
    if student is None or not isinstance(encoder, StudentEncoder):
        return
    texts = [turn.text for dialogue in collection.dialogues() for turn in dialogue.turns]
    texts = [text for text in texts if len(text.split()) >= WORDS]
    texts = [texts[at] for at in rng.choice(len(texts), QUERIES, replace=False)]
    factors = student["step"] * 2 ** (numbers(student["factors"], 1) / 256)
    table = numbers(student["rows"], len(steps)) * factors * steps
    ids = {token: at for at, token in enumerate(student["tokens"])}
    tokens = [encoder.tokenizer.encode(text, add_special_tokens=False).tokens for text in texts]
    queries = np.stack([table[[ids[token] for token in of]].sum(0) for of in tokens])
    ours = nearest(queries @ small.T)
    theirs = nearest(encoder.encode_utterances(texts) @ full.T)
    click.echo(f"texts as queries: {100 * overlap(ours, theirs):.1f} % of the ten nearest are the same")


def numbers(text: str, columns: int) -> NDArray[np.float64]:
    """Read what `packed_numbers` wrote, number by number as it says."""
    content = zlib.decompress(base64.b64decode(text))
    half = len(content) // 2
    unsigned = np.frombuffer(content[:half], np.uint8) + 256.0 * np.frombuffer(content[half:], np.uint8)
    signed = np.where(unsigned % 2 == 1, -(unsigned + 1) / 2, unsigned / 2)
    return signed.reshape(columns, -1).T


def nearest(cosines: NDArray[Any], *, without: NDArray[np.int64] | None = None) -> NDArray[np.int64]:
    """Return the places of the largest cosines of each row, but not those in `without`."""
    if without is not None:
        cosines[np.arange(len(without)), without] = -2
    return np.argsort(-cosines, axis=1, kind="stable")[:, :NEAREST]


def overlap(ours: NDArray[np.int64], theirs: NDArray[np.int64]) -> float:
    """Return the mean share of the places that are the same."""
    return float(np.mean([len(set(a) & set(b)) / len(b) for a, b in zip(ours, theirs, strict=True)]))


if __name__ == "__main__":
    main()
