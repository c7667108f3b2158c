"""Public corpora with labels of one or two levels, read from their upstream archives; docs/adapting.md names them.

A folder holds the archives as `DIAL2VEC_MIRROR` does: sgd, self_dialogue, woz, camrest676, gsim, taskmaster4, and
`intents/intents.zip` with clinc150, banking77, hwu64 and snips, whose utterances are dialogues of one turn.
"""

from __future__ import annotations

import csv
import io
import json
import tarfile
import zipfile
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from conversations.dialogue import Dialogue, Turn
from dial2vec.data.corpora.demo import generate_demo

# Dialogues that have one of fewer are left out, and the folders of self_dialogue by kind.
RARE = 10
KINDS = {
    "music": ("music", "pop", "rap_hiphop", "rock", "beatles", "lady_gaga"),
    "sport": ("nfl_football", "baseball", "basketball"),
    "other": ("fashion", "music_and_movies", "transition_music_movies"),
}


def made(name: str, turns: Sequence[tuple[str, str]], *labels: str) -> Dialogue:
    """Return a dialogue with its labels, the coarse one first."""
    return Dialogue(name, tuple(Turn(speaker, text) for speaker, text in turns if text.strip()), labels)


def sgd(folder: Path, split: str, *, users_only: bool = False) -> list[Dialogue]:
    """Dialogues with one service; coarse: its domain."""
    dialogues = []
    with zipfile.ZipFile(next((folder / "sgd").glob("*.zip"))) as archive:
        for name in sorted(name for name in archive.namelist() if f"/{split}/dialogues" in name):
            for record in json.loads(archive.read(name)):
                turns = [(turn["speaker"], turn["utterance"]) for turn in record["turns"]]
                if len(set(record["services"])) == 1:
                    service = record["services"][0]
                    own = [turn for turn in turns if turn[0] == "USER" or not users_only]
                    dialogues.append(made(f"{split}/{record['dialogue_id']}", own, service.split("_")[0], service))
    return dialogues


def self_dialogue(folder: Path) -> list[Dialogue]:
    """Chats about a topic; coarse: its kind."""
    dialogues = []
    with zipfile.ZipFile(next((folder / "self_dialogue").glob("*.zip"))) as archive:
        for name in sorted(name for name in archive.namelist() if "/corpus/" in name and name.endswith(".csv")):
            topic = name.split("/")[-2]
            kind = next((kind for kind, topics in KINDS.items() if topic in topics), "film")
            for row in csv.DictReader(io.StringIO(archive.read(name).decode(), newline="")):
                cells = [
                    (int(key[15:]), text) for key, text in row.items() if key and key.startswith("Answer.sentence")
                ]
                texts = [text for _, text in sorted(cells) if text and text != "{}"]
                if not row.get("Reject") and len(texts) > 3:
                    turns = [("AB"[place % 2], text) for place, text in enumerate(texts)]
                    dialogues.append(made(row["AssignmentId"], turns, kind, topic))
    return dialogues


def meetings(folder: Path) -> list[Dialogue]:
    """Parts of meetings of two to eight speakers: three chats of one topic end to end, said by varying pairs."""
    by_topic, rng, parts = defaultdict(list), np.random.default_rng(5), []
    for dialogue in self_dialogue(folder):
        by_topic[dialogue.labels].append(dialogue)
    for labels, dialogues in sorted(by_topic.items()):
        for number in range(40 if len(dialogues) >= 160 else 0):
            turns: list[tuple[str, str]] = []
            speakers = int(rng.integers(2, 9))
            for place in rng.choice(len(dialogues), 3, replace=False):
                pair = rng.choice(speakers, 2, replace=False)
                turns += [(f"speaker {pair[at % 2]}", turn.text) for at, turn in enumerate(dialogues[place].turns[:14])]
            parts.append(made(f"{labels[1]}/{number}", turns, *labels))
    return parts


def woz(folder: Path) -> list[Dialogue]:
    """Searches for a restaurant; the label is the last food asked for."""
    dialogues = []
    for name, record in _records(folder, "woz"):
        foods = [
            value
            for turn in record["dialogue"]
            for state in turn["belief_state"]
            for key, value in state["slots"]
            if key == "food"
        ]
        pairs = [(("system", turn["system_transcript"]), ("user", turn["transcript"])) for turn in record["dialogue"]]
        if foods:
            dialogues.append(
                made(f"{name}/{record['dialogue_idx']}", [turn for pair in pairs for turn in pair], foods[-1])
            )
    return dialogues


def camrest676(folder: Path) -> list[Dialogue]:
    """Searches for a restaurant; the label is the last food asked for."""
    dialogues = []
    for _, record in _records(folder, "camrest676"):
        said = [value for turn in record["dial"] for act in turn["usr"]["slu"] if act["act"] == "inform" for key, value in act["slots"] if key == "food" and value != "dontcare"]  # fmt: skip  # noqa: E501
        turns = [(("user", turn["usr"]["transcript"]), ("system", turn["sys"]["sent"])) for turn in record["dial"]]
        if said:
            dialogues.append(made(str(record["dialogue_id"]), [turn for pair in turns for turn in pair], said[-1]))
    return dialogues


def gsim(folder: Path) -> list[Dialogue]:
    """Bookings; the label is cinema or restaurant."""
    dialogues = []
    for name, record in _records(folder, "gsim"):
        turns = [
            (side, turn[f"{side}_utterance"]["text"])
            for turn in record["turns"]
            for side in ("system", "user")
            if f"{side}_utterance" in turn
        ]
        dialogues.append(made(f"{name}/{record['dialogue_id']}", turns, "cinema" if "sim-M" in name else "restaurant"))
    return dialogues


def taskmaster4(folder: Path) -> list[Dialogue]:
    """Orders of coffee; the label is the scenario."""
    dialogues = []
    for _, record in _records(folder, "taskmaster4"):
        turns = [(turn["speaker"], turn["text"]) for turn in record["utterances"]]
        dialogues.append(made(record["conversation_id"], turns, record["scenario"]))
    return dialogues


def desk(folder: Path) -> list[Dialogue]:
    """300 dialogues each of four tasks: coffee, cinema, restaurant, and restaurants of Cambridge."""
    rng, bookings = np.random.default_rng(7), gsim(folder)
    parts = {
        "coffee": taskmaster4(folder),
        "cinema": [dialogue for dialogue in bookings if dialogue.labels == ("cinema",)],
        "restaurant": [dialogue for dialogue in bookings if dialogue.labels == ("restaurant",)],
        "cambridge": woz(folder),
    }
    return [
        made(f"{task}/{place}", [(turn.speaker, turn.text) for turn in dialogues[place].turns], task)
        for task, dialogues in parts.items()
        for place in rng.choice(len(dialogues), min(300, len(dialogues)), replace=False)
    ]


def intents(folder: Path, name: str) -> list[Dialogue]:
    """Utterances of an intent, each a dialogue of one turn; coarse: its domain, where there are domains."""
    with zipfile.ZipFile(folder / "intents" / "intents.zip") as archive:
        if name == "clinc150":
            domains = {
                intent: domain
                for domain, own in json.loads(archive.read("clinc150/domains.json")).items()
                for intent in own
            }
            rows = [
                (text, domains[intent], intent)
                for text, intent in json.loads(archive.read("clinc150/data_full.json"))["test"]
            ]
        elif name == "snips":
            rows = [(text, intent) for text, intent in json.loads(archive.read("snips/snips_train.json"))]
        elif name == "banking77":
            rows = [(row["text"], row["category"]) for row in _table(archive, "banking77/test.csv", ",")]
        else:
            files = sorted(file for file in archive.namelist() if "hwu64/trainset" in file and file.endswith(".csv"))
            rows = [
                (
                    row["answer_from_user"] or row["answer_annotation"],
                    row["scenario"],
                    f"{row['scenario']} {row['intent']}",
                )
                for file in files
                for row in _table(archive, file, ";")
            ]
    return [made(str(place), [("user", row[0])], *row[1:]) for place, row in enumerate(rows)]  # fmt: skip


def _table(archive: zipfile.ZipFile, name: str, delimiter: str) -> Iterator[dict[str, str]]:
    yield from csv.DictReader(io.StringIO(archive.read(name).decode(), newline=""), delimiter=delimiter)


def _records(folder: Path, name: str) -> Iterator[tuple[str, Any]]:
    """Yield the records of the JSON lists in an archive, each with the name of its file."""
    with tarfile.open(folder / name / f"{name}.tgz") as archive:
        for member in archive.getmembers():
            if member.isfile() and member.name.endswith(".json"):
                text = archive.extractfile(member).read().decode()  # type: ignore[union-attr]
                # CamRest676 has a licence before the list.
                for record in json.loads(text[text.index("[\n") if text.startswith("#") else 0 :]):
                    yield member.name, record


CORPORA: dict[str, Callable[[Path], list[Dialogue]]] = {
    "sgd": lambda folder: sgd(folder, "test"),
    "self_dialogue": self_dialogue,
    "demo": lambda folder: [dialogue for dialogue in generate_demo() if len(dialogue.labels) == 1],
    "sgd_dev": lambda folder: sgd(folder, "dev"),
    "sgd_customers": lambda folder: [*sgd(folder, "dev", users_only=True), *sgd(folder, "test", users_only=True)],
    "woz": woz,
    "camrest676": camrest676,
    "gsim": gsim,
    "taskmaster4": taskmaster4,
    "desk": desk,
    "meetings": meetings,
    "clinc150": lambda folder: intents(folder, "clinc150"),
    "banking77": lambda folder: intents(folder, "banking77"),
    "hwu64": lambda folder: intents(folder, "hwu64"),
    "snips": lambda folder: intents(folder, "snips"),
}


def read_topics(name: str, folder: Path) -> list[Dialogue]:
    """Return the dialogues of a corpus whose label at least ten have, and that have a turn."""
    dialogues = [dialogue for dialogue in CORPORA[name](folder) if dialogue.turns]
    counts = Counter(dialogue.labels[-1] for dialogue in dialogues)
    return [dialogue for dialogue in dialogues if counts[dialogue.labels[-1]] >= RARE]
