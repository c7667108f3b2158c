"""The search box and the line that says how its hits were found."""

from __future__ import annotations

import pytest

from .page import Script

DOCUMENT = """
class Part {
  constructor(name) { Object.assign(this, { name, heard: {}, children: [], value: "", hidden: false }); }
  addEventListener(kind, hear) { this.heard[kind] = hear; }
  append(...parts) { this.children.push(...parts); }
  replaceChildren(...parts) { this.children = parts; }
  setAttribute() {}
  querySelector() { return this.input ??= new Part("input"); }
}
const document = { createElement: (name) => new Part(name), getElementById: (name) => new Part(name) };
"""
BOX = """
const form = new Part("form"), line = new Part("div"), told = [];
const box = new SearchBox(form, line, { ways: ["moments", "themes", "exact"] }, { set: (change) => told.push(change) });
const type = (text) => { form.input.value = text; form.heard.submit({ preventDefault() {} }); return told.at(-1); };
const options = () => box.choice.children.map(({ value, textContent }) => [value, textContent]);
"""


@pytest.fixture
def script() -> Script:
    opened = Script("list", "search", before=DOCUMENT)
    opened.run(BOX)
    return opened


def query(text: str, **more: object) -> dict[str, object]:
    return {"text": text, "way": "auto", "like": None, "unlike": []} | more


def shown(script: Script, asked: dict[str, object] | None, way: str | None) -> None:
    hits = None if way is None else {"way": way}
    script.value("box.update({ state: { query }, hits })", query=asked, hits=hits)


def test_a_text_is_searched_by_the_way_that_suits(script):
    assert script.value("type('  lost card ')") == {"query": query("lost card"), "panel": "dialogues"}
    shown(script, query("lost card", way="exact"), "exact")
    assert script.value("type('stolen card')")["query"]["way"] == "auto"
    assert script.value("type('lost card')")["query"]["way"] == "exact"  # the same text, so the way stays


def test_a_text_takes_the_place_of_a_dialogue_to_be_like_and_keeps_what_it_should_not_be_like(script):
    shown(script, query("", like="d1", unlike=["d2"]), "themes")
    assert script.value("type('card')")["query"] == query("card", unlike=["d2"])


def test_an_empty_text_takes_back_the_text_but_not_a_dialogue_to_be_like(script):
    shown(script, query("card"), "moments")
    assert script.value("type('')") == {"query": None}
    shown(script, query("", like="d1"), "themes")
    assert script.value("told.length = 0, type(''), told") == []


def test_the_line_says_the_way_and_lets_choose_another(script):
    shown(script, query("card"), "themes")
    assert script.value("[line.hidden, line.children[0], options(), box.choice.value]") == [
        False,
        "Found by ",
        [
            ["auto", "whole conversations, which suits"],
            ["moments", "single turns"],
            ["themes", "whole conversations"],
            ["exact", "exact words"],
        ],
        "auto",
    ]
    script.run("box.choice.value = 'exact'; box.choice.heard.change()")
    assert script.value("told.at(-1)") == {"query": query("card", way="exact")}


def test_the_line_is_hidden_without_a_text_or_before_the_answer(script):
    for asked, way in ((None, None), (query("card"), None), (query("", like="d1"), "themes")):
        shown(script, asked, way)
        assert script.value("line.hidden") is True


def test_the_box_shows_the_text_of_the_state_but_keeps_what_is_being_typed(script):
    shown(script, query("card"), "moments")
    assert script.value("form.input.value") == "card"
    script.run("form.input.value = 'card lo'")
    shown(script, query("card"), "moments")
    assert script.value("form.input.value") == "card lo"
    shown(script, None, None)
    assert script.value("form.input.value") == ""
