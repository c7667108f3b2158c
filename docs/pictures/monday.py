"""The picture of `docs/monday.md`: what a help desk is told on three Mondays.

    .venv/bin/python docs/pictures/monday.py --pictures docs

The help desk is that of `tests/collection/planted.py`, in which lost cards grow from 30 March on, orders of keyboards
are new from 6 April, and orders of pizza halve. Each week is added by `update`, as `dial2vec watch` and a scheduled run
do it, and the messages are shown as they are.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.collection.planted import planted

from browser import browser
from conversations.dialogue import write_dialogues
from dial2vec.collection.news.updating import update
from terminal import take_terminal

FIRST, WEEKS, SHOWN = datetime(2026, 3, 30, tzinfo=UTC), 4, 3


def messages(folder: Path) -> list[str]:
    """Return what each Monday tells."""
    dialogues, texts = planted(), []
    for week in range(WEEKS):
        monday = FIRST + timedelta(weeks=week)
        new = [
            replace(dialogue, labels=())
            for dialogue in dialogues
            if (monday - timedelta(weeks=1) if week else datetime.min.replace(tzinfo=UTC))
            <= datetime.fromisoformat(dialogue.date or "").replace(tzinfo=UTC)
            < monday
        ]
        write_dialogues(folder / "exports" / f"{monday:%Y-%m-%d}.jsonl", new)
        news = update(folder / "help desk", folder / "exports", encoder="general", at=monday)
        texts.append(f"{monday:%A, %-d %B}\n{news.text('help desk')}" if news else "")
    return texts


def main() -> None:
    """Take the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=Path, required=True, help="folder that gets the picture")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, browser() as page:
        (Path(name) / "exports").mkdir()
        take_terminal(page, "\n\n".join(messages(Path(name))[-SHOWN:]), arguments.pictures / "monday-terminal.png")


if __name__ == "__main__":
    main()
