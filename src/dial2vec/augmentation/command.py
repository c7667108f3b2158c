"""`dial2vec augment`: dialogues with their variants, as JSON Lines and as a page to look at."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

from dial2vec.augmentation import WAYS, Tools, Variant, augment
from dial2vec.augmentation.page import render_page
from dial2vec.dialogue import Dialogue, Quarantined, read_dialogues
from dial2vec.encoder import DialogueEncoder
from dial2vec.files import atomic_path, write_errors

# Dialogues on the page; all of them are in the file.
SHOWN = 50


def augment_file(
    transcripts: Path,
    output: Path,
    *,
    ways: Sequence[str],
    tools: Tools,
    model: str,
    limit: int | None,
    seed: int,
    say: Callable[[str], None],
) -> list[Path]:
    """Write the variants of the dialogues of a file, and return the files that were written.

    `variants.jsonl` has a dialogue per line, with `original`, `way` and `preserving`; `variants.html` shows the first
    dialogues beside their variants.

    :param output: a folder.
    :param ways: of `WAYS`; all that the tools allow where none is named.
    :param tools: with the models that the ways need, as far as they are given.
    :param model: the encoder that finds stages, as `DialogueEncoder.from_pretrained` takes it.
    :param limit: dialogues at most; None is all.
    :raises Dial2vecError: for a way whose model is not given.
    """
    with write_errors(output):
        output.mkdir(parents=True, exist_ok=True)
    quarantine: list[Quarantined] = []
    dialogues = list(read_dialogues(transcripts, quarantine=quarantine))
    chosen = dialogues[:limit]
    names = list(ways) or [way for way, kind in WAYS.items() if not _models_lacking(kind.needs, tools)]
    if {"encoder", "ordering", "foreign"} & {need for way in names if way in WAYS for need in WAYS[way].needs}:
        tools = tools.learned(dialogues, encoder=DialogueEncoder.from_pretrained(model), seed=seed)
    found = augment(chosen, names, tools=tools, seed=seed)
    _write(output / "variants.jsonl", chosen, found)
    with atomic_path(output / "variants.html") as temporary:
        temporary.write_text(render_page(list(zip(chosen[:SHOWN], found[:SHOWN], strict=True))), encoding="utf-8")
    changed = Counter(variant.way for variants in found for variant in variants if variant.changed)
    for way in names:
        kind = "keeps the intent" if WAYS[way].preserving else "corrupts it"
        say(f"{way} ({kind}): {changed[way]} of {len(chosen)} dialogues changed")
    if quarantine:
        say(f"{len(quarantine)} records could not be used, the first: {quarantine[0]}")
    return [output / "variants.jsonl", output / "variants.html"]


def _models_lacking(needs: Sequence[str], tools: Tools) -> list[str]:
    return [need for need in needs if need in ("masked", "translation") and getattr(tools, need) is None]


def _write(path: Path, dialogues: Sequence[Dialogue], found: Sequence[Sequence[Variant]]) -> None:
    with atomic_path(path) as temporary, temporary.open("w", encoding="utf-8") as handle:
        for dialogue, variants in zip(dialogues, found, strict=True):
            for variant in variants:
                if variant.changed:
                    record = variant.dialogue.to_record() | {
                        "original": dialogue.dialogue_id,
                        "way": variant.way,
                        "preserving": variant.preserving,
                    }
                    handle.write(json.dumps(record, ensure_ascii=False) + "\n")
