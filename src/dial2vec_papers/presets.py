"""The papers' own settings under one name each, written into params.yaml, where they can be seen and changed."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import yaml

from conversations.files import atomic_path
from dial2vec.config import Settings
from dial2vec.encoder.names import SHORT_NAMES
from dial2vec.errors import SettingsError, did_you_mean
from dial2vec.params import load_settings

if TYPE_CHECKING:
    from _typeshed import DataclassInstance

Blocks = dict[str, dict[str, Any]]
Block = TypeVar("Block", bound="DataclassInstance")


@dataclass(frozen=True, slots=True)
class Preset:
    """Settings of a paper.

    :param blocks: block of params.yaml -> settings.
    :param open: values that the paper leaves open, or where they come from, as sentences.
    :param by_corpus: setting, such as "train.epochs" -> published values of corpora.
    """

    source: str
    blocks: Blocks
    open: Sequence[str] = ()
    by_corpus: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def _presets() -> dict[str, Preset]:
    read = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))
    return {name: Preset(**preset) for name, preset in read["presets"].items()}


PRESETS = _presets()


def preset_of(name: str) -> Preset:
    """Return a preset by its name.

    :raises SettingsError: if there is no preset of that name.
    """
    if name not in PRESETS:
        raise SettingsError(f"there is no preset {name!r}.{did_you_mean(name, PRESETS)} Valid: {', '.join(PRESETS)}.")
    return PRESETS[name]


def preset_blocks(name: str, *, encoder: str, corpus: str) -> Blocks:
    """Return the settings of a preset for one encoder and one corpus, block by block.

    The preset dial2vec-paper reads an encoder of the paper in its own way, and all others like BERT, with [EOU] between
    the turns (footnote 1).

    :param name: key of `PRESETS`.
    :raises SettingsError: if there is no such preset.
    """
    blocks = {block: dict(values) for block, values in preset_of(name).blocks.items()}
    for setting, values in preset_of(name).by_corpus.items():
        block, key = setting.split(".")
        blocks[block][key] = values.get(corpus, blocks[block][key])
    if name == "dial2vec-paper" and encoder in SHORT_NAMES and encoder not in ("bert", "simcse"):
        blocks["encoder"]["input"] = SHORT_NAMES[encoder].input
    return blocks


def with_preset(settings: Settings, name: str, *, corpus: str) -> Settings:
    """Return settings with those of a preset in their place.

    :param name: key of `PRESETS`.
    :raises SettingsError: if there is no such preset.
    """
    blocks = preset_blocks(name, encoder=settings.encoder.name, corpus=corpus)
    return dataclasses.replace(
        settings, **{block: with_values(getattr(settings, block), values) for block, values in blocks.items()}
    )


def with_values(block: Block, values: Mapping[str, Any]) -> Block:
    """Return a block of settings with some values replaced; lists become tuples."""
    return dataclasses.replace(block, **{key: _frozen(value) for key, value in values.items()})


def _frozen(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def write_preset(path: Path, name: str) -> list[str]:
    """Write the settings of a preset into params.yaml; comments and all other settings stay.

    :param name: key of `PRESETS`, or "default" for the values that a new project has in the same settings.
    :return: a line for each setting that changed, such as "train.learning_rate: 0.0001 -> 1.0e-05".
    :raises SettingsError: if there is no such preset, or the file has a wrong setting; it is then unchanged.
    """
    from ruamel.yaml import YAML

    settings = load_settings(path)
    if name == "default":
        blocks = _defaults()
    else:
        blocks = preset_blocks(name, encoder=settings.encoder.name, corpus=settings.corpora[0])
    editor = YAML()
    editor.preserve_quotes, editor.width = True, 10_000
    editor.representer.add_representer(
        type(None), lambda representer, _: representer.represent_scalar("tag:yaml.org,2002:null", "null")
    )
    document, changed = editor.load(path), []
    for block, values in blocks.items():
        for key, value in values.items():
            before = getattr(getattr(settings, block), key)
            if before != _frozen(value):
                # Loaded from its text, so that it is written in that form.
                document.setdefault(block, {})[key] = editor.load(_shown(value))
                changed.append(f"{block}.{key}: {_shown(before)} -> {_shown(value)}")
    with atomic_path(path) as temporary:
        editor.dump(document, temporary)
    return changed


def _defaults() -> Blocks:
    """Return the default of every setting that some preset has."""
    default, blocks = Settings(), Blocks()
    for preset in PRESETS.values():
        for block, values in preset.blocks.items():
            blocks.setdefault(block, {}).update({key: getattr(getattr(default, block), key) for key in values})
    return {
        block: {key: list(value) if isinstance(value, tuple) else value for key, value in values.items()}
        for block, values in blocks.items()
    }


def _shown(value: Any) -> str:
    """Return a value as it stands in params.yaml; numbers like 1.0e-05 have the dot without which YAML reads text."""
    if isinstance(value, tuple | list):
        return f"[{', '.join(value)}]"
    return str(yaml.safe_dump(value, width=10_000)).splitlines()[0]


def notes_on(name: str, corpora: Sequence[str]) -> list[str]:
    """Return what a user should know about a preset: values that the paper leaves open, and those of other corpora.

    :param name: key of `PRESETS`.
    :param corpora: names of the project's corpora; the values of the first one were written.
    """
    (first, *others), notes = corpora, list(preset_of(name).open)
    blocks = preset_blocks(name, encoder="", corpus=first)
    for setting, values in preset_of(name).by_corpus.items():
        block, key = setting.split(".")
        written = blocks[block][key]
        notes.append(f"{setting} {written} is {'published' if first in values else 'our choice'} for {first}.")
        notes += [
            f"{other} would have {values[other]}: train it in a project of its own, or change {setting}."
            for other in others
            if values.get(other, written) != written
        ]
    return notes
