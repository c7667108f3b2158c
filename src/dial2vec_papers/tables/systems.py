"""Systems that the tables compare, a row each; `start@bert` is the row `start` from the encoder `bert`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import yaml

from dial2vec.config import Settings
from dial2vec.errors import SettingsError, did_you_mean
from dial2vec_papers.presets import preset_of, with_preset, with_values

if TYPE_CHECKING:
    from dial2vec_papers.tasks.encoding import Similarity

# The paper's settings, independent of params.yaml, but 200 dialogues once, 5 a step, instead of all of them for some
# epochs, 20 a step.
PAPER = preset_of("dial2vec-paper").blocks
PAPER_ENCODER = {name: value for name, value in PAPER["encoder"].items() if name not in ("input", "max_length")}
PAPER_SAMPLES = PAPER["sample"]
PAPER_TRAINING = {name: value for name, value in PAPER["train"].items() if name != "weight_decay"} | {
    "epochs": 1,
    "max_dialogues": 200,
    "gradient_accumulation": 1,
    "checkpoint_steps": 10,
}
# Seed with which courses are scored and choices computed; seed of systems without random draws.
COURSE_SEED, NO_SEED = 1, 0


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """A row of the tables.

    :param published: corresponding model of Liu et al. 2022; "" if the paper has none.
    :param baseline: key of `dial2vec_papers.baselines.BASELINES`; "" for an encoder.
    :param topics: True if the dimensions are topics: the largest one, not k-means, gives the cluster of a dialogue.
    :param seeded: True if the vectors depend on a seed; otherwise there is one cell, of seed 0.
    :param version: number to raise when the code changes the vectors: the cells are then computed again.
    :param as_the_paper: True to read like the paper's code: `input` of its encoders, separators for all others.
    :param preset: preset of `pipeline.presets` whose settings are taken first; "" for none.
    :param encoder: differences from block `encoder` of params.yaml; with "name" the row has an encoder of its own.
    :param train: differences from block `train`; None if nothing is trained.
    :param block: differences from the block of the method.
    :param student: True to score the student of the chosen encoder, instead of that encoder.
    :param choices: True to compute the choice without labels, with seed 1, even if the last checkpoint is scored.
    :param similarity: similarity of contexts and answers on the tasks for utterances, the same as in training.
    :param course: True to score every checkpoint, with seed 1, for figure 3.
    """

    title: str
    published: str = ""
    baseline: str = ""
    topics: bool = False
    seeded: bool = True
    version: int = 1
    as_the_paper: bool = False
    preset: str = ""
    encoder: Mapping[str, Any] = field(default_factory=dict)
    sample: Mapping[str, Any] = field(default_factory=dict)
    train: Mapping[str, Any] | None = None
    block: Mapping[str, Any] = field(default_factory=dict)
    student: bool = False
    selection: Literal["label_free", "dev_purity", "last"] = "label_free"
    choices: bool = False
    similarity: Similarity = "cosine"
    course: bool = False

    @property
    def from_start(self) -> bool:
        """Whether the row depends on the base encoder, so that it can be computed from several."""
        from dial2vec_papers.baselines import BASELINES

        return "name" not in self.encoder and (not self.baseline or BASELINES[self.baseline].encodes)

    def settings(self, settings: Settings, *, seed: int, corpus: str = "") -> Settings:
        """Return the settings of a cell.

        :param corpus: name of the corpus; a preset trains as many epochs as the paper does for it.
        """
        if name := self.encoder.get("name"):
            settings = replace(settings, encoder=replace(settings.encoder, name=name))
        if self.preset:
            # All rows of a table are scored by the same rules.
            settings = replace(with_preset(settings, self.preset, corpus=corpus), evaluate=settings.evaluate)
        reading: dict[str, Any] = {"input": paper_input(settings.encoder.name)} if self.as_the_paper else {}
        method = (self.train or {}).get("method", "")
        blocks = {method: with_values(getattr(settings, method), self.block)} if self.block else {}
        # A table's rows are the same on every machine.
        alone = {"method": "neighbours"} if settings.train.method == "auto" else {}
        return replace(
            settings,
            **blocks,
            seed=seed,
            encoder=replace(settings.encoder, **self.encoder, **reading),
            sample=replace(settings.sample, **self.sample),
            train=replace(settings.train, **{**alone, **(self.train or {})}),
            select=replace(settings.select, selection=self.selection),
        )


def paper_input(encoder: str) -> str:
    """Return the input that the paper's code has for an encoder: BERT's for encoders that it does not know."""
    from dial2vec.encoder.names import SHORT_NAMES
    from dial2vec.encoder.papers.plato import is_plato

    if encoder in SHORT_NAMES:
        return SHORT_NAMES[encoder].input
    return "plato" if is_plato(encoder) else "separators"


_GROUPS: dict[str, Any] = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text(encoding="utf-8"))


def _group(name: str) -> dict[str, System]:
    return {system: System(**fields) for system, fields in _GROUPS[name].items()}


SYSTEMS = _group("rows")
SYSTEMS["paper"] = replace(SYSTEMS["paper"], encoder=PAPER_ENCODER, sample=PAPER_SAMPLES, train=PAPER_TRAINING)
# Rows of the table of methods: the base encoder, and all trainings from it.
METHOD_ROWS = ("start", "default", "paper", "dse", "dialoguecse", "bi_encoder", "dialaug", "intent_augmentation")
VARIANTS, AUGMENTED, WHOLE = _group("variants"), _group("augmented"), _group("whole")
# Setting -> block in params.yaml, and values other than the recipe's.
ABLATIONS: dict[str, tuple[Literal["sample", "train", "dialoguecse"], list[Any]]] = {
    setting: (block, values) for setting, (block, values) in _GROUPS["ablations"].items()
}


def recipe_of(setting: str) -> str:
    """Return the system of which an ablation changes one setting.

    :param setting: key of `ABLATIONS`.
    """
    return "dialoguecse" if ABLATIONS[setting][0] == "dialoguecse" else "paper"


def _ablated(setting: str, value: Any) -> System:
    recipe, place = SYSTEMS[recipe_of(setting)], ABLATIONS[setting][0]
    own = setting.removeprefix(f"{place}_")
    part = "block" if place == "dialoguecse" else place
    changed: dict[str, Any] = {part: {**(getattr(recipe, part) or {}), own: value}}
    shown = f"{'DialogueCSE, ' if place == 'dialoguecse' else ''}{own} {'no limit' if value is None else value}"
    return replace(recipe, title=shown, published="", **changed)


def _key(setting: str, value: Any) -> str:
    return f"{setting}_{'none' if value is None else value}"


# All systems: rows of the tables, variants, the whole trainings, then ablations.
TABLE_ROWS = SYSTEMS | VARIANTS | AUGMENTED | WHOLE
ALL: dict[str, System] = TABLE_ROWS | {
    _key(setting, value): _ablated(setting, value) for setting, (_, values) in ABLATIONS.items() for value in values
}


def ablated(setting: str) -> list[str]:
    """Return the systems that differ from their recipe (`recipe_of`) in one setting.

    :raises SettingsError: if the setting is not in `ABLATIONS`.
    """
    if setting not in ABLATIONS:
        raise SettingsError(
            f"there is no ablation of {setting!r}.{did_you_mean(setting, ABLATIONS)} Valid: {', '.join(ABLATIONS)}."
        )
    return [_key(setting, value) for value in ABLATIONS[setting][1]]


def system_of(name: str) -> System:
    """Return a system by its name, such as "lda", or "start@bert" for a row from another encoder than the settings'.

    :raises SettingsError: if there is no such system.
    """
    system, _, encoder = name.partition("@")
    if system not in ALL:
        raise SettingsError(f"there is no system {name!r}.{did_you_mean(system, ALL)} Valid: {', '.join(ALL)}.")
    row = ALL[system]
    if not encoder:
        return row
    # Only the rows of encoders as they are, and dial2vec from PLATO, have published figures.
    published = row.published if encoder == "plato" else ""
    if row.baseline == "encoder_mean":
        published = next((known.published for known in SYSTEMS.values() if known.encoder.get("name") == encoder), "")
    title = f"{row.title}, from {Path(encoder).name}"
    return replace(row, title=title, published=published, encoder={**row.encoder, "name": encoder})


def teacher_of(name: str) -> str:
    """Return the system that trains the teacher of a student; any other system's own name."""
    system, at, encoder = name.partition("@")
    return f"default{at}{encoder}" if ALL[system].student else name


def is_system(name: str) -> bool:
    """Return whether `system_of` knows a name."""
    return name.partition("@")[0] in ALL


def is_table_row(name: str) -> bool:
    """Return whether a system is a row of the tables, not an ablation."""
    return name.partition("@")[0] in TABLE_ROWS


def in_order(names: Iterable[str]) -> list[str]:
    """Return each name once, in the order of the tables; the same row from several encoders one after the other."""
    places = {name: place for place, name in enumerate(ALL)}
    return sorted(dict.fromkeys(names), key=lambda name: (places[name.partition("@")[0]], name))


def from_encoders(systems: Iterable[str], encoders: Sequence[str], *, own: str) -> list[str]:
    """Return the systems from every encoder; those that need none, or have their own, once.

    :param encoders: names or folders of encoders; empty leaves the systems as they are.
    :param own: encoder of the settings, whose rows have no "@".
    :raises SettingsError: if a system is unknown.
    """
    names = []
    for system in systems:
        if not encoders or not system_of(system).from_start:
            names.append(system)
        else:
            names += [system if encoder == own else f"{system}@{encoder}" for encoder in encoders]
    return names
