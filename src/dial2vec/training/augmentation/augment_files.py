"""`dial2vec papers augment`: write variants of dialogues as JSON Lines and as an HTML page."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from conversations.dialogue import Dialogue, Quarantined, read_dialogues
from conversations.files import write_errors, write_json_lines, write_text
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import Dial2vecError, did_you_mean
from dial2vec.training.augmentation import WAYS, Tools, Variant, augment
from dial2vec.training.augmentation.augmentation_page import render_variants
from dial2vec.training.augmentation.masked_model import load_masked
from dial2vec.training.augmentation.stages import Stages
from dial2vec.training.augmentation.translation import BackTranslation, load_translator

# Number of dialogues on the page; the file has all.
SHOWN = 50
# Tools whose models the user names: description and option.
OPTIONS = {
    "masked": ("a masked language model", "--masked NAME"),
    "translation": ("two translation models", "--translate THERE BACK"),
}


@dataclass(frozen=True, slots=True)
class Models:
    """Names or folders of the models that ways of augmentation use.

    :param encoder: Encoder that finds stages, as `DialogueEncoder.from_pretrained` takes it.
    :param masked: Masked language model, or "".
    :param translation: Translation models into another language and back, or ().
    :param stages: Kind of stages (`dial2vec.training.augmentation.stages`).
    """

    encoder: str
    masked: str = ""
    translation: tuple[str, ...] = ()
    stages: Stages = "runs"


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
    """Write variants of the dialogues in a file, and return the written files.

    `variants.jsonl` has one variant per line, with `original`, `way` and `preserving`. `variants.html` shows the first
    dialogues next to their variants.

    :param output: Folder for the two files.
    :param ways: Names from `WAYS`; if empty, all ways whose models are given.
    :param limit: Maximum number of dialogues; None means all.
    :raises Dial2vecError: if a way is unknown or its model is not given, before any model is loaded.
    """
    names = chosen_ways(ways, models)
    with write_errors(output):
        output.mkdir(parents=True, exist_ok=True)
    quarantine: list[Quarantined] = []
    dialogues = list(read_dialogues(transcripts, quarantine=quarantine))
    chosen = dialogues[:limit]
    variants = augment(chosen, names, tools=_tools(names, models, dialogues, seed=seed), seed=seed)
    write_json_lines(output / "variants.jsonl", _records(chosen, variants))
    page = render_variants(list(zip(chosen[:SHOWN], variants[:SHOWN], strict=True)))
    write_text(output / "variants.html", page)
    changed = Counter(variant.way for own in variants for variant in own if variant.changed)
    for way in names:
        kind = "keeps the intent" if WAYS[way].preserving else "changes the intent"
        say(f"{way} ({kind}): {changed[way]} of {len(chosen)} dialogues changed")
    if quarantine:
        say(f"{len(quarantine)} records could not be used, the first: {quarantine[0]}")
    return [output / "variants.jsonl", output / "variants.html"]


def chosen_ways(ways: Sequence[str], models: Models) -> list[str]:
    """Return the named ways, or all ways whose models are given if none is named.

    :raises Dial2vecError: if a way is unknown or its model is not given.
    """
    lacking = {
        way: [need for need in kind.needs if need in OPTIONS and not getattr(models, need)]
        for way, kind in WAYS.items()
    }
    for way in ways:
        if way not in lacking:
            raise Dial2vecError(f"unknown way {way!r}.{did_you_mean(way, WAYS)} Valid: {', '.join(WAYS)}.")
        for need in lacking[way]:
            model, option = OPTIONS[need]
            raise Dial2vecError(f"way {way!r} needs {model}; expected {option}. Give it, or leave the way out.")
    return list(ways) or [way for way, needs in lacking.items() if not needs]


def _tools(ways: Sequence[str], models: Models, dialogues: Sequence[Dialogue], *, seed: int) -> Tools:
    """Load and train only the tools that the ways need."""
    needs = {need for way in ways for need in WAYS[way].needs}
    encoder = DialogueEncoder.from_pretrained(models.encoder) if "encoder" in needs else None
    tools = Tools(
        encoder=encoder,
        masked=load_masked(models.masked) if "masked" in needs else None,
        translation=BackTranslation(*map(load_translator, models.translation)) if "translation" in needs else None,
        stages=models.stages,
    )
    return tools.learned(dialogues, encoder=encoder, seed=seed) if encoder and "ordering" in needs else tools


def _records(dialogues: Sequence[Dialogue], variants: Sequence[Sequence[Variant]]) -> Iterator[dict[str, Any]]:
    for dialogue, own in zip(dialogues, variants, strict=True):
        for variant in own:
            if variant.changed:
                about = {"original": dialogue.dialogue_id, "way": variant.way, "preserving": variant.preserving}
                yield variant.dialogue.to_record() | about
