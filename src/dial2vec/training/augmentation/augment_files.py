"""`dial2vec augment`: dialogues with their variants, as JSON Lines and as a page to look at."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from dial2vec.dialogue import Dialogue, Quarantined, read_dialogues
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import Dial2vecError, did_you_mean
from dial2vec.files import atomic_path, write_errors
from dial2vec.training.augmentation import WAYS, Tools, Variant, augment
from dial2vec.training.augmentation.augmentation_page import render_variants
from dial2vec.training.augmentation.masked_model import load_masked
from dial2vec.training.augmentation.translation import BackTranslation, load_translator

# Dialogues on the page; all of them are in the file.
SHOWN = 50
# Tools whose models the user names: what each is, and by which option.
OPTIONS = {
    "masked": ("a masked language model", "--masked NAME"),
    "translation": ("two translation models", "--translate THERE BACK"),
}


@dataclass(frozen=True, slots=True)
class Models:
    """The models that ways of augmentation use, by name or folder.

    :param encoder: finds stages, as `DialogueEncoder.from_pretrained` takes it.
    :param masked: fills in words; empty where there is none.
    :param translation: two of them, there and back; empty where there are none.
    """

    encoder: str
    masked: str = ""
    translation: tuple[str, ...] = ()


def augment_file(
    transcripts: Path,
    output: Path,
    *,
    ways: Sequence[str],
    models: Models,
    limit: int | None,
    seed: int,
    say: Callable[[str], None],
) -> list[Path]:
    """Write the variants of the dialogues of a file, and return the files that were written.

    `variants.jsonl` has a dialogue per line, with `original`, `way` and `preserving`; `variants.html` shows the first
    dialogues beside their variants.

    :param output: a folder.
    :param ways: of `WAYS`; all whose models are given where none is named.
    :param limit: dialogues at most; None is all.
    :raises Dial2vecError: for an unknown way, and one whose model is not given, before anything is loaded.
    """
    names = chosen_ways(ways, models)
    with write_errors(output):
        output.mkdir(parents=True, exist_ok=True)
    quarantine: list[Quarantined] = []
    dialogues = list(read_dialogues(transcripts, quarantine=quarantine))
    chosen = dialogues[:limit]
    found = augment(chosen, names, tools=_tools(names, models, dialogues, seed=seed), seed=seed)
    _write(output / "variants.jsonl", chosen, found)
    with atomic_path(output / "variants.html") as temporary:
        temporary.write_text(render_variants(list(zip(chosen[:SHOWN], found[:SHOWN], strict=True))), encoding="utf-8")
    changed = Counter(variant.way for variants in found for variant in variants if variant.changed)
    for way in names:
        kind = "keeps the intent" if WAYS[way].preserving else "corrupts it"
        say(f"{way} ({kind}): {changed[way]} of {len(chosen)} dialogues changed")
    if quarantine:
        say(f"{len(quarantine)} records could not be used, the first: {quarantine[0]}")
    return [output / "variants.jsonl", output / "variants.html"]


def chosen_ways(ways: Sequence[str], models: Models) -> list[str]:
    """Return the ways that are named, or all whose models are given.

    :raises Dial2vecError: for an unknown way, and one whose model is not given.
    """
    lacking = {
        way: [need for need in kind.needs if need in OPTIONS and not getattr(models, need)]
        for way, kind in WAYS.items()
    }
    for way in ways:
        if way not in lacking:
            raise Dial2vecError(f"unknown way {way!r}.{did_you_mean(way, WAYS)} Valid: {', '.join(WAYS)}.")
        for need in lacking[way]:
            what, option = OPTIONS[need]
            raise Dial2vecError(f"way {way!r} needs {what}; expected {option}. Give it, or leave the way out.")
    return list(ways) or [way for way, needs in lacking.items() if not needs]


def _tools(ways: Sequence[str], models: Models, dialogues: Sequence[Dialogue], *, seed: int) -> Tools:
    """Load and learn what the ways need, and nothing else."""
    needs = {need for way in ways for need in WAYS[way].needs}
    tools = Tools(
        masked=load_masked(models.masked) if "masked" in needs else None,
        translation=BackTranslation(*map(load_translator, models.translation)) if "translation" in needs else None,
    )
    if "encoder" not in needs:
        return tools
    encoder = DialogueEncoder.from_pretrained(models.encoder)
    if needs & {"ordering", "foreign"}:
        return tools.learned(dialogues, encoder=encoder, seed=seed)
    return replace(tools, encoder=encoder)


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
