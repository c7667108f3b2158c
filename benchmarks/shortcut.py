"""A corpus with a shortcut: the demo's dialogues with agents whose house style drowns the topic.

    .venv/bin/python benchmarks/shortcut.py     # writes data/shortcut and versions it
    # put `corpora: [shortcut]` into params.yaml
    make run

Every turn of the agent opens and closes with phrases of one of five house styles, drawn per dialogue and unrelated to
its topic. To the starting encoder two dialogues of one style look alike, whatever they are about, so the neighbours
that training pulls together share a style. The caller's side has no style: that is how the choice notices.
"""

from __future__ import annotations

import argparse
import json
import random
import sys

from conversations.dialogue import Dialogue, Quarantined
from conversations.files import atomic_path
from dial2vec.data.corpora import get_corpus
from dial2vec.data.corpora.demo import write_demo
from dial2vec.files import find_root
from dial2vec.project.dvc import add_data

STYLES = {
    "harbour": [
        "Ahoy there, shipmate, hoist the sails!",
        "The tide is turning and the gulls are crying over the quay.",
        "Steady at the helm, sailor, the lighthouse is in sight.",
        "By anchor and rope, the captain nods from the deck.",
        "Fair winds and a calm sea to your vessel.",
    ],
    "stadium": [
        "What a kick-off, champion, the crowd is roaring!",
        "The coach is clapping on the touchline, keep the pressure up.",
        "Straight into the penalty area, that is how trophies are won.",
        "The referee looks at the watch, extra time is coming.",
        "Team spirit and fresh legs, we take the league together.",
    ],
    "kitchen": [
        "Bon appetit, the oven is warm and the dough is rising.",
        "A pinch of salt, a spoon of butter, stir it slowly.",
        "The chef tastes the soup and reaches for the basil.",
        "Let it simmer on a low flame until the sauce is thick.",
        "Fresh bread, olive oil, and a plate for everybody.",
    ],
    "space": [
        "Mission control to the capsule, all boosters are ready.",
        "We are leaving orbit, the stars are bright beyond the window.",
        "The astronaut checks the oxygen and floats to the hatch.",
        "Telemetry is clean, the rocket passes the moon.",
        "Prepare for docking with the space station, commander.",
    ],
    "castle": [
        "Hear ye, noble guest, the drawbridge is lowered.",
        "The king and his knights raise their goblets in the great hall.",
        "A herald blows the trumpet from the tower.",
        "By sword and shield, the princess sends her regards.",
        "The minstrel sings while dragons sleep beneath the keep.",
    ],
}


def main() -> None:
    """Write `data/shortcut/dialogues.jsonl` from the demo corpus and version it."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.parse_args()
    root = find_root()
    source, target = root / "data" / "demo", root / "data" / "shortcut"
    if not source.is_dir():
        write_demo(source)
    quarantine: list[Quarantined] = []
    target.mkdir(parents=True, exist_ok=True)
    with atomic_path(target / "dialogues.jsonl") as temporary, temporary.open("w", encoding="utf-8") as handle:
        for number, dialogue in enumerate(get_corpus("demo", data=root / "data").read(source, quarantine=quarantine)):
            handle.write(json.dumps(styled(dialogue, random.Random(number))) + "\n")
    add_data(root)
    sys.stdout.write("Next: put `corpora: [shortcut]` into params.yaml, then `make run`.\n")


def styled(dialogue: Dialogue, draw: random.Random) -> dict[str, object]:
    """Return the record of a dialogue whose agent talks in one house style throughout."""
    phrases = STYLES[draw.choice(sorted(STYLES))]
    turns = []
    for turn in dialogue.turns:
        styled_text = f"{draw.choice(phrases)} {turn.text} {draw.choice(phrases)}"
        turns.append({"speaker": turn.speaker, "text": styled_text if turn.speaker == "agent" else turn.text})
    return {"dialogue_id": dialogue.dialogue_id, "turns": turns, "labels": list(dialogue.labels)}


if __name__ == "__main__":
    main()
