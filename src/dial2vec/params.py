"""Read and validate `params.yaml` and `operation.yaml`; defaults and ranges are in `dial2vec.config`."""

from __future__ import annotations

import contextlib
import dataclasses
import re
import types
import typing
import zoneinfo
from collections.abc import Iterator
from math import inf
from pathlib import Path
from typing import Any, Literal

import yaml

from dial2vec.addresses import is_web_address
from dial2vec.config import EQUAL_SHARES, JOIN, LanguageModel, Operation, PreservingWay, Settings
from dial2vec.errors import SettingsError, did_you_mean
from dial2vec.extension import methods

# Most characters of the operator's instructions about names: each question holds them.
INSTRUCTIONS = 1000

# Methods that train on parts of dialogues, so a hierarchy would stay untrained.
WITHOUT_HIERARCHY = ("dse", "dialoguecse", "dialaug")
# Methods that train on single utterances, so turn and role embeddings would learn only their first rows.
WITHOUT_TABLES = ("dse", "dialoguecse")
# DialAug's augmentations without a share of damaged words: truncation draws a number of turns.
WITHOUT_SHARE = ("truncation", "none")


def load_settings(path: Path) -> Settings:
    """Read and validate `params.yaml`; a missing key takes its default, but DVC needs every block.

    :raises SettingsError: naming the file, the key, what was found and what is valid.
    """
    return settings_from_dict(_read(path), source=str(path))


def load_operation(path: Path) -> Operation:
    """Read and validate `operation.yaml`; a missing file, block or key takes its default.

    :raises SettingsError: naming the file, the key, what was found and what is valid.
    """
    return operation_from_dict(_read(path) if path.exists() else {}, source=str(path))


def settings_from_dict(raw: object, *, source: str = "params.yaml") -> Settings:
    """Validate a decoded `params.yaml`; errors name `source` and the key."""
    settings: Settings = _build(Settings, raw, source, "")
    for name in settings.corpora:
        parts = name.split(JOIN)
        if not all(part.replace("_", "").isalnum() and part.isascii() for part in parts):
            raise SettingsError(
                f"{source}: corpora: {name!r} is no corpus name; use letters, digits and '_' only, and '+' to join "
                "corpora."
            )
        if len(set(parts)) < len(parts):
            raise SettingsError(f"{source}: corpora: {name!r} joins a corpus with itself; name each once.")
    if not settings.corpora or len(set(settings.corpora)) < len(settings.corpora):
        raise SettingsError(
            f"{source}: corpora: expected at least one name, each once; found {list(settings.corpora)}."
        )
    names = settings.train.methods(gpu=True)
    if "auto" in names or len(set(names)) != max(1, len(names)):
        raise SettingsError(f"{source}: train.method: found {[*names]}; expected auto or methods, each once.")
    of_training = [refused for method in names for refused in _of_training(settings, method)]
    for refused in (*_general(settings), *_of_methods(settings), *of_training):
        raise SettingsError(f"{source}: {refused}")
    return settings


def operation_from_dict(raw: object, *, source: str = "operation.yaml") -> Operation:
    """Validate a decoded `operation.yaml`; errors name `source` and the key."""
    operation: Operation = _build(Operation, raw, source, "")
    for refused in _of_operation(operation):
        raise SettingsError(f"{source}: {refused}")
    return operation


def _read(path: Path) -> object:
    try:
        raw = yaml.safe_load(path.read_text(encoding="utf-8"))
    except FileNotFoundError as error:
        raise SettingsError(
            f"{path} does not exist; expected the project's params.yaml. Run from the project."
        ) from error
    except (OSError, UnicodeDecodeError) as error:
        raise SettingsError(f"{path} cannot be read as UTF-8 text ({error}). Restore it from git.") from error
    except yaml.YAMLError as error:
        raise SettingsError(f"{path} is not valid YAML: {' '.join(str(error).split())}. Correct that line.") from error
    return {} if raw is None else raw


def _general(settings: Settings) -> Iterator[str]:
    if not settings.encoder.name.strip():
        yield "encoder.name is blank; give a folder, a Hugging Face name or all-MiniLM-L6-v2."
    if settings.prepare.dev_share + settings.prepare.test_share >= 1:
        yield "prepare: dev_share + test_share leave nothing to train on; lower one of them."
    joined = {part for name in settings.corpora if JOIN in name for part in name.split(JOIN)}
    for entry in settings.prepare.shares if settings.prepare.shares != (EQUAL_SHARES,) else ():
        name, _, number = entry.partition("=")
        if not re.fullmatch(r"0?\.\d*[1-9]\d*|1(\.0*)?", number):
            yield f"prepare.shares: found {entry!r}; expected {EQUAL_SHARES} alone, or entries such as sgd=0.5."
        elif name not in joined:
            yield (
                f"prepare.shares: {name!r} is no part of a joint corpus in `corpora`.{did_you_mean(name, joined)} "
                "Remove it, or join it, such as sgd+metalwoz."
            )


def _of_operation(operation: Operation) -> Iterator[str]:
    schedule, drift = operation.schedule, operation.drift
    if drift.min_dialogues > drift.max_dialogues:
        yield (
            f"drift.min_dialogues: found {drift.min_dialogues}, more than drift.max_dialogues "
            f"({drift.max_dialogues}); lower it."
        )
    if len(schedule.cron.split()) != 5:
        yield (
            f"schedule.cron: found {schedule.cron!r}; expected minute, hour, day, month and weekday, such as "
            "'0 3 * * *' for every night at three."
        )
    if schedule.timezone not in zoneinfo.available_timezones():
        known = sorted(zoneinfo.available_timezones())
        yield f"schedule.timezone: found {schedule.timezone!r}.{did_you_mean(schedule.timezone, known)} Such as UTC."
    if not schedule.inbox.strip():
        yield "schedule.inbox is blank; give a folder, such as inbox."
    for source in schedule.traces:
        if not re.fullmatch(r"\w+=mlflow:.+", source):
            yield f"schedule.traces: found {source!r}; expected <corpus>=mlflow:<experiment>. Correct it."
    if schedule.heartbeat is not None and not is_web_address(schedule.heartbeat):
        yield "schedule.heartbeat is no web address; give one that begins with http:// or https://, or null."
    folders = [entry.folder for entry in operation.collection]
    for at, folder in enumerate(folders):
        if not folder.strip() or folder in folders[:at]:
            yield f"collection[{at}].folder: found {folder!r}; expected a folder of its own. Name another one."
    yield from _of_language_model(operation.language_model)


def _of_language_model(block: LanguageModel) -> Iterator[str]:
    """Yield what is wrong; an address with a user or password is not repeated."""
    if block.address is None:
        return
    scheme, _, rest = block.address.partition("://")
    if "@" in rest.partition("/")[0]:
        yield (
            "language_model.address: found a user or password in it; expected the address alone. Put the key into the "
            f"variable {block.key_variable}."
        )
    elif scheme not in ("http", "https") or not rest.strip("/ "):
        yield (
            f"language_model.address: found {block.address!r}; expected one that begins with http:// or https://, such "
            "as http://localhost:11434/v1."
        )
    if not block.model.strip():
        yield "language_model.model is blank; give the name of a model at that address."
    if not block.key_variable.strip():
        yield "language_model.key_variable is blank; give the name of a variable, such as OPENAI_API_KEY."
    if (length := len(block.instructions)) > INSTRUCTIONS:
        yield f"language_model.instructions: found {length:,} characters; expected at most {INSTRUCTIONS:,}. Cut some."


def _of_methods(settings: Settings) -> Iterator[str]:
    """Yield conflicts within each method's block, for all methods: the benchmark runs them all."""
    cse, damage, variants = settings.dialoguecse, settings.dialaug, settings.intent_augmentation
    if cse.guidance != "matching" and cse.aggregation == "attention":
        yield (
            f"dialoguecse.aggregation: found attention with guidance {cse.guidance}, which has no attention. Set "
            "aggregation to mean, or guidance to matching."
        )
    if cse.guidance == "none" and not cse.mlm_epochs:
        yield (
            "dialoguecse.mlm_epochs: found 0 with guidance none, which trains nothing. Set mlm_epochs to 0.5, or "
            "guidance to matching."
        )
    if settings.dse.pairs == "dianli" and not settings.dse.pairs_file:
        yield "dse.pairs_file is null, but pairs is dianli; give the training file of Dialogue-NLI, or other pairs."
    if not damage.deleted.strip():
        yield "dialaug.deleted is blank; give a token such as '[DEL]'."
    if damage.share is not None and damage.augmentation in WITHOUT_SHARE:
        yield (
            f"dialaug.share: found {damage.share:g}, but augmentation {damage.augmentation} has no share. Set share to "
            "null, or augmentation to another."
        )
    if not variants.ways:
        valid = ", ".join(typing.get_args(PreservingWay))
        yield f"intent_augmentation.ways: expected at least one, found none. Valid: {valid}."
    if "insertion" in variants.ways and not variants.masked_model:
        yield (
            "intent_augmentation.ways has insertion, which needs a masked language model. Set masked_model, or remove "
            "insertion."
        )
    if "back_translation" in variants.ways and len(variants.translation_models) != 2:
        yield (
            f"intent_augmentation.translation_models: found {len(variants.translation_models)}, but ways has "
            "back_translation; expected two. Name one that translates and one that translates back."
        )


def _of_training(settings: Settings, method: str) -> Iterator[str]:
    """Yield conflicts between the encoder and a method of `train.method`."""
    encoder = settings.encoder
    if encoder.hierarchy != "none" and method in WITHOUT_HIERARCHY:
        yield (
            f"encoder.hierarchy: found {encoder.hierarchy}, which method {method} does not train: it never reads whole "
            "dialogues. Set encoder.hierarchy to none, or choose another train.method."
        )
    for table in ("turn_embeddings", "role_embeddings"):
        if getattr(encoder, table) and method in WITHOUT_TABLES:
            yield (
                f"encoder.{table}: found true, but method {method} would train only its first rows, because it never "
                f"reads whole dialogues. Set encoder.{table} to false, or choose another train.method."
            )
    block = method if method == "intent_augmentation" else "train"
    own = getattr(settings, block)
    on_top = encoder.hierarchy != "none" or encoder.turn_embeddings or encoder.role_embeddings
    # For the other methods, the range in `config` is below 1.
    if method not in WITHOUT_HIERARCHY and own.frozen_share == 1 and own.epochs and not on_top:
        yield (
            f"{block}.frozen_share: found 1, which leaves nothing to train. Lower it, set encoder.hierarchy to train "
            f"that alone{'' if method != 'neighbours' else ', or train.epochs to 0 to fit the map only'}."
        )


def _build(cls: type[Any], raw: object, source: str, prefix: str) -> Any:
    if not isinstance(raw, dict):
        raise SettingsError(f"{source}: {prefix.rstrip('.') or 'the file'}: expected keys and values, found {raw!r}.")
    hints = typing.get_type_hints(cls)
    for key in raw:
        if key not in hints:
            raise SettingsError(
                f"{source}: unknown key '{prefix}{key}'.{did_you_mean(str(key), hints)} Valid: {', '.join(hints)}."
            )
    values = {key: _value(hints[key], value, source, prefix + key) for key, value in raw.items()}
    for entry in dataclasses.fields(cls):
        if entry.name in values and "range" in entry.metadata:
            _check_range(values[entry.name], entry.metadata["range"], source, prefix + entry.name)
    return cls(**values)


def _value(hint: Any, value: object, source: str, key: str) -> Any:
    if typing.get_origin(hint) is typing.Union:
        # The second is a list of the first.
        hint = typing.get_args(hint)[isinstance(value, list)]
    if dataclasses.is_dataclass(hint):
        return _build(typing.cast("type[Any]", hint), value, source, f"{key}.")
    if typing.get_origin(hint) is tuple:
        item_hint = typing.get_args(hint)[0]
        if dataclasses.is_dataclass(item_hint):
            if not isinstance(value, list):
                raise SettingsError(f"{source}: {key}: expected a list of blocks, found {value!r}.")
            return tuple(_value(item_hint, item, source, f"{key}[{at}]") for at, item in enumerate(value))
        if isinstance(value, list) and all(isinstance(item, str) for item in value):
            return tuple(_value(item_hint, item, source, key) for item in value)
        raise SettingsError(f"{source}: {key}: expected a list of names, found {value!r}.")
    if typing.get_origin(hint) is Literal:
        valid = [*typing.get_args(hint), *(methods() if key == "train.method" else ())]
        if value in valid:
            return value
        names = [*map(str, valid)]
        raise SettingsError(
            f"{source}: {key}: found {value!r}.{did_you_mean(str(value), names)} Valid: {', '.join(names)}."
        )
    return _scalar(hint, value, source, key)


def _scalar(hint: Any, value: object, source: str, key: str) -> Any:
    accepted = set(typing.get_args(hint)) if isinstance(hint, types.UnionType) else {hint}
    if isinstance(value, str) and float in accepted:
        # YAML 1.1 reads "1e-5" as text, because it has no dot.
        with contextlib.suppress(ValueError):
            value = float(value)
    if isinstance(value, int) and not isinstance(value, bool) and float in accepted:
        value = float(value)
    if type(value) not in accepted:
        names = {int: "a whole number", float: "a number", bool: "true or false", str: "text", types.NoneType: "null"}
        expected = " or ".join(names[kind] for kind in names if kind in accepted)
        raise SettingsError(f"{source}: {key}: expected {expected}, found {value!r}.")
    return value


def _check_range(value: object, valid: tuple[float, float], source: str, key: str) -> None:
    low, high = valid
    if isinstance(value, int | float) and (not (low <= value <= high) or value in (inf, -inf)):
        bounds = f"at least {low:g}" if high == inf else f"between {low:g} and {high:g}"
        raise SettingsError(f"{source}: {key}: expected {bounds}, found {value:g}.")
