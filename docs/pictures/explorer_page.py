"""The explorer's page in Chromium: its states, and what a user does on it."""

from __future__ import annotations

import json
import time

from browser import Page

# True once the page shows its dialogues.
READY = "explorer.view && document.getElementById('says').textContent !== 'Loading …'"
IDLE = "!document.getElementById('says').textContent.startsWith('Searching')"
# What differs from the first screen, as JavaScript: the states that a person sees.
STATES = {
    "topics": "{}",
    "topic": "{topic: [1, 0]}",
    "area": "{topic: [0, 0]}",
    "dialogues": '{panel: "dialogues"}',
    "hits": '{panel: "dialogues", query: {text: QUESTION, way: "auto", like: null, unlike: []}}',
    "exact": '{panel: "dialogues", query: {text: QUESTION.split(" ")[0], way: "exact", like: null, unlike: []}}',
    "filters": '{panel: "filters"}',
    "filtered": '{panel: "filters", filters: {[FACT.title]: [FACT.names[0]]}}',
    "reader": '{panel: "dialogues", topic: [1, 0], open: [FIRST, 2]}',
    "map": '{panel: "map"}',
}
# Of the phone only: the map stands beside the panel on a wider screen.
PHONE_STATES = ("map",)


def open_explorer(page: Page, address: str, *, seconds: float = 300) -> None:
    """Open the page and wait until it shows its dialogues."""
    page.open(address)
    page.until(READY, seconds=seconds)
    rest(page)


def show(page: Page, state: str, *, question: str) -> None:
    """Bring the page into one of `STATES`."""
    known = f"""const QUESTION = {json.dumps(question)}, {{ colourings, ids, members }} = explorer.content;
        const FACT = colourings.find(({{ title }}) => !["area", "topic", "time"].includes(title)) ?? colourings[0];
        const FIRST = ids[Math.max(0, members[1]?.indexOf(0) ?? 0)];"""
    page.value(f"(() => {{ {known} explorer.set({{ ...START, ...({STATES[state]}) }}); }})()")
    rest(page)


def search(page: Page, question: str, *, seconds: float = 120) -> None:
    """Type a question and wait for its hits."""
    page.click("#words")
    page.value("document.getElementById('words').select()")
    page.write(question)
    page.key("Enter")
    page.until(f"explorer.hits && explorer.state.query?.text === {json.dumps(question)} && {IDLE}", seconds=seconds)
    rest(page)


def read(page: Page, place: int = 0) -> None:
    """Open a dialogue of the list in the reader."""
    page.value(f"explorer.set({{ open: [explorer.content.ids[explorer.view.rows[{place}]], -1] }})")
    page.until("!document.getElementById('reader').hidden")
    rest(page)


def set_state(page: Page, change: str) -> None:
    """Change the state by a JavaScript object, such as "{ map: 1 }"."""
    page.value(f"explorer.set({change})")
    rest(page)


def rest(page: Page) -> None:
    """Wait until the page has drawn what it was told."""
    page.until(IDLE)
    time.sleep(0.8)
