"""Turns of a system with the actions that they perform: SGD, GSIM (Sim-R, Sim-M) and DSTC2 in their upstream forms."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from dial2vec.errors import CorpusError, described
from dial2vec_papers.corpora.source_files import json_of, lines_of, records_of
from dial2vec_papers.tasks.encoding import Context, Spoken
from dial2vec_papers.tasks.intents import IntentFiles, open_intent_files

# Speaker, "user" or "system", text, and actions.
ActedTurn = tuple[str, str, frozenset[str]]


@dataclass(frozen=True, slots=True)
class ActionExample:
    """A context and the actions of the system's next turn, at least one."""

    context: Context
    actions: frozenset[str]


@dataclass(frozen=True, slots=True)
class ActionSet:
    """Examples of one corpus.

    :param name: key of `ACTION_FORMS`.
    """

    name: str
    train: tuple[ActionExample, ...]
    test: tuple[ActionExample, ...]

    @property
    def actions(self) -> list[str]:
        """All actions, sorted."""
        return sorted({action for part in (self.train, self.test) for example in part for action in example.actions})


def read_actions(path: Path) -> ActionSet:
    """Read the turns of a system with their actions, from the first form of `ACTION_FORMS` that the files have.

    :param path: folder or zip of the corpus as upstream has it, with any folders above it.
    :raises CorpusError: if the files have none of the forms, or one is missing or damaged; the message names the file
        and the dialogue.
    """
    with open_intent_files(path, what="the files with actions") as files:
        names = list(files.files)
        for form, (pattern, read) in ACTION_FORMS.items():
            if any(re.search(pattern, name) for name in names):
                parts: dict[str, list[ActionExample]] = {"train": [], "test": []}
                for split, dialogue in read(files, names):
                    parts[split] += examples_of(dialogue)
                data = ActionSet(form, tuple(parts["train"]), tuple(parts["test"]))
                _require_both(path, data)
                return data
    raise CorpusError(
        f"{path} holds no dialogues with actions; expected the files of {', '.join(ACTION_FORMS)}. Put a whole copy of "
        "one there."
    )


def examples_of(dialogue: list[ActedTurn]) -> list[ActionExample]:
    """Return an example for each turn of the system that has actions and a turn before it.

    :param dialogue: speaker ("user" or "system"), text and actions of each turn; turns without text are left out.
    """
    roles: dict[str, int] = {}
    context: list[Spoken] = []
    examples = []
    for speaker, text, actions in dialogue:
        if context and speaker == "system" and actions:
            examples.append(ActionExample(tuple(context), actions))
        if text.strip():
            context.append(Spoken(" ".join(text.split()), roles.setdefault(speaker, len(roles))))
    return examples


def _require_both(path: Path, data: ActionSet) -> None:
    for split, examples in (("train", data.train), ("test", data.test)):
        if not examples:
            raise CorpusError(
                f"{path} has no turn of the system with actions in its {split} part; expected some. Put a whole copy "
                f"of {data.name} there."
            )


def _sgd(files: IntentFiles, names: list[str]) -> Iterator[tuple[str, list[ActedTurn]]]:
    """Yield the dialogues of `{train,test}/dialogues_NNN.json`; an action is the act of a frame of a system's turn."""
    for name, split in _named(names, SGD):
        for where, record in _list(files, name):
            yield (
                split,
                [
                    (
                        "system" if _text(where, turn, "speaker").lower() == "system" else "user",
                        _text(where, turn, "utterance"),
                        frozenset(
                            _text(where, action, "act")
                            for frame in _objects(where, turn, "frames")
                            for action in _objects(where, frame, "actions", optional=True)
                        ),
                    )
                    for turn in _objects(where, record, "turns")
                ],
            )


def _gsim(files: IntentFiles, names: list[str]) -> Iterator[tuple[str, list[ActedTurn]]]:
    """Yield the dialogues of `sim-{R,M}/{train,test}.json`; each turn there is the system's, if any, and the user's."""
    for name, split in _named(names, GSIM):
        for where, record in _list(files, name):
            dialogue: list[ActedTurn] = []
            for turn in _objects(where, record, "turns"):
                for speaker in ("system", "user"):
                    if f"{speaker}_utterance" in turn:
                        acts = _objects(where, turn, f"{speaker}_acts", optional=True)
                        actions = frozenset(_text(where, act, "type") for act in acts)
                        utterance = _object(where, turn, f"{speaker}_utterance")
                        dialogue.append((speaker, _text(where, utterance, "text"), actions))
            yield split, dialogue


def _dstc2(files: IntentFiles, names: list[str]) -> Iterator[tuple[str, list[ActedTurn]]]:
    """Yield the calls that `dstc2_{train,test}.flist` name.

    The system's turns are those of `log.json`, the user's words the transcription of `label.json`, not what was
    recognised.
    """
    logs = {name.removesuffix("/log.json"): name for name in names if name.endswith("/log.json")}
    calls = {"/".join(folder.split("/")[-2:]): folder for folder in logs}
    for name, split in _named(names, DSTC2):
        file = files.file(name)
        for number, line in lines_of(file):
            call = line.strip()
            if not call:
                continue
            if call not in calls:
                raise CorpusError(
                    f"{file.address}:{number}: found the call {call!r}, expected its folder with a log.json. "
                    "Put a whole copy of DSTC2 there."
                )
            heard, spoken = (json_of(files.file(f"{calls[call]}/{part}.json")) for part in ("log", "label"))
            where = f"{files.path}/{calls[call]}"
            dialogue: list[ActedTurn] = []
            for log, label in zip(_objects(where, heard, "turns"), _objects(where, spoken, "turns"), strict=False):
                output = _object(where, log, "output")
                acts = frozenset(_text(where, act, "act") for act in _objects(where, output, "dialog-acts"))
                dialogue.append(("system", _text(where, output, "transcript"), acts))
                dialogue.append(("user", _text(where, label, "transcription"), frozenset()))
            yield split, dialogue


SGD = r"(?:^|/)(train|test)/dialogues_\d+\.json$"
GSIM = r"(?:^|/)sim-[RM]/(train|test)\.json$"
DSTC2 = r"(?:^|/)dstc2_(train|test)\.flist$"
ReadForm = Callable[[IntentFiles, list[str]], Iterator[tuple[str, list[ActedTurn]]]]
# Name -> pattern of its files, with the split, and their reader.
ACTION_FORMS: dict[str, tuple[str, ReadForm]] = {"sgd": (SGD, _sgd), "gsim": (GSIM, _gsim), "dstc2": (DSTC2, _dstc2)}


def _named(names: list[str], pattern: str) -> Iterator[tuple[str, str]]:
    for name in names:
        if match := re.search(pattern, name):
            yield name, match[1]


def _list(files: IntentFiles, name: str) -> Iterator[tuple[str, Any]]:
    """Yield each dialogue of a JSON list, with its place for errors."""
    file = files.file(name)
    for number, record in records_of(file):
        yield f"{file.address}, dialogue {number}", record


def _objects(where: str, record: Any, key: str, *, optional: bool = False) -> list[dict[str, Any]]:
    value = record.get(key, [] if optional else None) if isinstance(record, dict) else None
    if not isinstance(value, list) or not all(isinstance(part, dict) for part in value):
        raise CorpusError(f"{where}: {key!r} is no list of objects; expected one, as upstream has it. Fetch it again.")
    return value


def _object(where: str, record: dict[str, Any], key: str) -> dict[str, Any]:
    if not isinstance(value := record.get(key), dict):
        raise CorpusError(f"{where}: {key!r} is {described(value)}; expected an object. Fetch it again.")
    return value


def _text(where: str, record: dict[str, Any], key: str) -> str:
    if not isinstance(value := record.get(key), str):
        raise CorpusError(f"{where}: {key!r} is {described(value)}; expected a text. Fetch it again.")
    return value
