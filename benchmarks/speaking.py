"""Turns that speak for a group against openings: which ones name what the call is about, on SGD.

    .venv/bin/dial2vec run            # with corpora: [sgd] in params.yaml
    .venv/bin/python benchmarks/speaking.py

Groups of up to 2,000 dialogues of test and dev by the trained encoder; the 10 dialogues closest to each centre. `named`
is the share whose turns have a word for the domain of their label (`hotel`, `room`, ... for Hotels), `in 100` that of
their first 100 characters, about what a terminal shows.
"""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import numpy as np
from groups import dialogues_of

from conversations.dialogue import Dialogue
from dial2vec.collection.clustering.communities import centres_of_groups, communities
from dial2vec.collection.clustering.speaking import TURNS, speaking_turns
from dial2vec.data.terms import characteristic_terms
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.nearest import unit_rows

TYPICAL, LINE = 10, 100
WORDS = {
    "Alarm": "alarms?",
    "Banks": "banks?|accounts?|balance|transfer",
    "Buses": "bus|buses",
    "Calendar": "calendar|events?|schedule",
    "Events": "events?|concerts?|games?|tickets?|shows?",
    "Flights": "flights?|fly|airlines?|planes?",
    "Homes": "apartments?|homes?|houses?|property|bedrooms?|place to live",
    "Hotels": "hotels?|stay|rooms?|house|accommodation",
    "Media": "movies?|watch|films?|subtitles",
    "Messaging": "messages?|send|share",
    "Movies": "movies?|theat\\w+|films?|show",
    "Music": "songs?|music|albums?|listen|play",
    "Payment": "pay|payments?|send|money",
    "RentalCars": "cars?|rentals?|rent",
    "Restaurants": "restaurants?|eat|food|table|reservation|dine",
    "RideSharing": "rides?|cabs?|taxis?",
    "Services": "dentists?|doctors?|stylists?|salons?|hair\\w*|therapists?|psycho\\w+|appointments?|dermatologists?",
    "Trains": "trains?",
    "Travel": "attractions?|places|visit",
    "Weather": "weather|temperature|rain|humidity|wind",
}


def names(text: str, label: str) -> bool:
    """Return whether a text has a word for the domain of a service such as `Hotels_2`."""
    return bool(re.search(rf"\b(?:{WORDS[label.partition('_')[0]]})\b", text, re.IGNORECASE))


def shares(shown: list[tuple[Dialogue, tuple[int, ...]]]) -> str:
    """Return both shares and the mean number of words of the turns."""
    texts = [" / ".join(dialogue.turns[place].text for place in places) for dialogue, places in shown]
    labels = [dialogue.labels[0] for dialogue, _ in shown]
    whole, cut = (
        np.mean([names(text[:end], label) for text, label in zip(texts, labels, strict=True)]) for end in (None, LINE)
    )
    return f"{100 * whole:.1f} | {100 * cut:.1f} | {np.mean([len(text.split()) for text in texts]):.0f}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--artifacts", type=Path, default=Path("artifacts"))
    folder = parser.parse_args().artifacts
    dialogues = dialogues_of("sgd", folder)
    units = unit_rows(load_encoder(str(folder / "sgd" / "model")).encode(dialogues)).astype(np.float32)
    groups = communities(units, seed=1)
    centres = centres_of_groups(units, groups)
    terms = characteristic_terms(dialogues, groups.tolist(), len(centres))
    typical = []
    for group, centre in enumerate(centres):
        rows = np.flatnonzero(groups == group)
        typical += [(int(row), group) for row in rows[np.argsort(-(units[rows] @ centre), kind="stable")[:TYPICAL]]]
    opening = [(dialogues[row], tuple(range(min(TURNS, len(dialogues[row].turns))))) for row, _ in typical]
    speaking = [(dialogues[row], speaking_turns(dialogues[row], terms[group])) for row, group in typical]
    sys.stdout.write(
        f"| {len(typical)} dialogues of {len(centres)} groups | named | in {LINE} | words |\n|---|---|---|---|\n"
    )
    for title, shown in (("opening", opening), ("turns that speak for the group", speaking)):
        sys.stdout.write(f"| {title} | {shares(shown)} |\n")


if __name__ == "__main__":
    main()
