"""The same facts on the page, the sheet, in `compare` and in the terminal."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from conversations.dialogue import write_dialogues
from conversations.words import from_to
from dial2vec.cli import main
from dial2vec.collection.adding import add
from dial2vec.collection.clustering.clustering import cluster
from dial2vec.collection.clustering.clusters import Clusters
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.explorer.explorer_page import write_page
from dial2vec.collection.explorer.groups_content import groups_content
from dial2vec.collection.explorer.maps import CollectionMap, Maps
from dial2vec.collection.summary.summary import summarize
from dial2vec.encoder.loading import load_encoder
from tests.collection.planted import LESS, MORE, NEW, SINCE, planted

WORDS = {"new": "is new, from", "more": "grew from", "less": "shrank from"}
CARDS = """JSON.stringify([...document.querySelectorAll("#changes li")].map((card) =>
    ["b", "button", ".shares", ".says"].map((part) => card.querySelector(part).textContent)))"""


@dataclass(frozen=True, slots=True)
class Desk:
    """A help desk with its topics by the general encoder, and the shares that were planted, by kind."""

    collection: CollectionFolder
    clusters: Clusters
    shares: dict[str, tuple[str, str]]

    @classmethod
    def of(cls, folder: Path, *, quiet: bool) -> Desk:
        dialogues = planted(quiet=quiet)
        write_dialogues(folder / "desk.jsonl", [replace(one, labels=()) for one in dialogues])
        add(folder / "desk", folder / "desk.jsonl", encoder=load_encoder("general"), turns=False, progress=False)
        collection = CollectionFolder(folder / "desk")
        sides = [Counter(one.labels[0] for one in dialogues if (one.date >= SINCE) == late) for late in (False, True)]
        shares = {
            kind: from_to(*(counts[label] / counts.total() for counts in sides))
            for kind, label in (("new", NEW), ("more", MORE), ("less", LESS))
        }
        return cls(collection, cluster(collection), shares)

    @property
    def content(self) -> dict[str, Any]:
        return groups_content(self.collection, np.arange(len(self.collection)))

    def run(self, command: str) -> str:
        result = CliRunner().invoke(main, [command, str(self.collection.folder)], env={"COLUMNS": "150"})
        assert result.exit_code == 0, result.output
        return result.stdout


@pytest.fixture(scope="module")
def desk(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk.of(tmp_path_factory.mktemp("planted"), quiet=False)


@pytest.fixture(scope="module")
def quiet(tmp_path_factory: pytest.TempPathFactory) -> Desk:
    return Desk.of(tmp_path_factory.mktemp("quiet"), quiet=True)


@pytest.fixture
def names(desk: Desk) -> dict[str, str]:
    """Name of the topic of each planted fact, which has a word that only its customers say."""
    said = {"new": "keyboards", "more": "lost card", "less": "pizza"}
    return {
        kind: next(one.name for one in desk.clusters.clusters if word in one.name.lower())
        for kind, word in said.items()
    }


def test_four_surfaces_tell_the_three_planted_facts_with_equal_numbers(desk, names):
    content, changed = desk.content, summarize(desk.collection).changed
    cards = {card["kind"]: card for card in content["news"]["cards"]}
    assert (content["news"]["since"], changed.since) == (SINCE, SINCE)
    assert list(cards) == ["new", "more", "less"]
    compared, terminal = desk.run("compare"), desk.run("cluster")
    assert f"from {SINCE} on, are compared with all before" in compared
    assert "Groups: 3 clear changes" in compared
    for kind, (before, after) in desk.shares.items():
        assert content["groups"][1][cards[kind]["topic"]]["name"] == names[kind]
        assert cards[kind]["shares"] == (before, after)
        line = f"{kind.capitalize()}: {names[kind]} {before} → {after}"
        assert [one for one in changed.topics.values() if one.sentence.startswith(line)]
        assert line in terminal
        assert any(
            names[kind] in one and f"{WORDS[kind]} {before} to {after} (" in one for one in compared.splitlines()
        )
    assert "What changed since 30 March 2026" in terminal
    assert content["news"]["rest"].startswith("The other 9 topics did not change clearly.")


def test_a_topic_that_grew_says_for_whom(desk):
    [card] = [card for card in desk.content["news"]["cards"] if card["kind"] == "more"]
    # Planted are 60 % by phone (others 25 %), and ratings of 1 and 2.
    assert "59% by phone (30%)" in card["says"]
    assert "CSAT 1.7 (others 3.1)" in card["says"]
    assert card["says"] in desk.run("cluster")
    [new] = [card for card in desk.content["news"]["cards"] if card["kind"] == "new"]
    assert new["says"] == "36 conversations, all since 6 April"


def test_only_topics_with_a_clear_change_have_one_in_the_table(desk):
    kinds = [topic["change"]["kind"] for topic in desk.content["groups"][1] if topic["change"]]
    assert sorted(kinds) == ["less", "more", "new"]


def test_no_change_is_an_answer_on_all_four(quiet):
    said = "No topic changed clearly since 30 March."
    content = quiet.content
    assert (content["news"]["cards"], content["news"]["rest"]) == ([], said)
    assert not any(group["change"] for level in content["groups"][:2] for group in level)
    assert summarize(quiet.collection).changed.lines == [said]
    assert said in quiet.run("cluster")
    assert "Groups: no clear changes" in quiet.run("compare")


@pytest.fixture
def page(chromium: Any) -> Iterator[Any]:
    chromium.complaints.clear()
    yield chromium
    assert chromium.complaints == []


def opened(page: Any, collection: CollectionFolder, **look: Any) -> Any:
    points = np.random.default_rng(1).normal(size=(len(collection), 2)).astype(np.float32)
    path = collection.folder / "page.html"
    write_page(path, collection, Maps(CollectionMap(points, np.arange(len(collection)))))
    page.look(**look)
    page.open(path.as_uri())
    page.until("Boolean(explorer?.view)")
    return page


@pytest.mark.services("chromium")
def test_the_band_shows_the_same_and_leads_to_the_topic(page, desk, names):
    opened(page, desk.collection, size=(1440, 900))
    cards = json.loads(page.value(CARDS))
    assert [card[:3] for card in cards] == [
        [kind.capitalize(), names[kind], " → ".join(shares)] for kind, shares in desk.shares.items()
    ]
    assert "by phone" in cards[1][3]
    assert page.value("document.querySelector('#changes').getBoundingClientRect().height") <= 120
    page.click("#changes li:nth-child(2) button")
    chosen = [card["topic"] for card in desk.content["news"]["cards"] if card["kind"] == "more"]
    page.until(f"JSON.stringify(explorer.state.topic) === '[1,{chosen[0]}]'")
    assert page.value("document.querySelector('#changes [aria-pressed=true]').textContent") == names["more"]


@pytest.mark.services("chromium")
def test_another_period_has_cards_of_its_own(page, desk):
    opened(page, desk.collection, size=(1440, 900))
    spans = desk.content["news"]["spans"]
    assert [span["since"] for span in spans] == [SINCE, "2026-04-20"]
    page.value("""(() => { const choice = document.querySelector("#changes select");
        choice.selectedIndex = 1; choice.onchange(); })()""")
    assert [card[2] for card in json.loads(page.value(CARDS))] == [
        " → ".join(card["shares"]) for card in spans[1]["cards"]
    ]
    # The table tells the same period.
    told = sum(change is not None for change in spans[1]["changes"][1])
    assert page.value("explorer.content.groups[1].filter(({ change }) => change).length") == told
    assert (
        page.value("document.querySelectorAll('#topics .topic .change[data-kind]:not([data-kind=\\'\\'])').length")
        == told
    )


@pytest.mark.services("chromium")
def test_a_telephone_has_a_line_and_cards_to_scroll(page, desk, quiet):
    for one, most in ((desk, 120), (quiet, 70)):
        opened(page, one.collection, size=(390, 844), phone=True)
        assert page.value("document.querySelector('#changes').getBoundingClientRect().height") <= most
        assert page.value("document.documentElement.scrollWidth") == 390
    assert page.value("document.querySelector('#changes').innerText.includes('No topic changed clearly')")
