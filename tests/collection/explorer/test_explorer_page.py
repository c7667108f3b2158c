from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re

import numpy as np
import pytest

from dial2vec.collection.explorer.content import whole_content
from dial2vec.collection.explorer.explorer_page import SCRIPTS, render_explorer, title_of, write_page
from dial2vec.collection.explorer.maps import maps_of
from dial2vec.collection.explorer.packing import packed

from .page import Script

CONTENT = re.compile(r'<script type="text/plain" id="content">([^<]*)</script>')


def unpacked(text: str) -> dict:
    [found] = CONTENT.findall(text)
    return json.loads(gzip.decompress(base64.b85decode(found.translate(str.maketrans(",:.", "<>&")))))


def test_static_page_holds_everything_and_names_nothing_outside(collection, tmp_path):
    done = write_page(tmp_path / "out.html", collection, maps_of(collection))
    text = (tmp_path / "out.html").read_text()
    assert (done.dialogues, done.left_out, done.bytes) == (40, 0, len(text.encode()))
    assert re.findall(r"https?:(?!//www.w3.org/2000/svg)|url\(|@import|\bsrc=", CONTENT.sub("", text)) == []
    assert "onerror" not in text
    content = unpacked(text)
    assert content["ids"] == [f"d{n}" for n in range(40)]
    assert content["records"]["records"]["columns"]["dialogue_id"] == {"values": content["ids"]}


def test_only_the_scripts_of_the_page_may_run():
    text = render_explorer("calls")
    [policy] = re.findall(r'Content-Security-Policy" content="([^"]*)"', text)
    scripts = re.findall(r"<script>(.*?)</script>", text, flags=re.DOTALL)
    assert len(scripts) == len(SCRIPTS)
    for script in scripts:
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        assert f"sha256-{digest}" in policy.replace("&#39;", "'").replace("&#43;", "+")
    assert "unsafe" not in policy
    assert "default-src &#39;none&#39;" in policy


def test_name_of_the_folder_is_no_markup():
    assert "<b>" not in render_explorer("<b>calls</b>")


def test_of_too_many_dialogues_some_are_drawn_by_lot(collection, tmp_path):
    maps = maps_of(collection)
    done = write_page(tmp_path / "a.html", collection, maps, most=12)
    assert (done.dialogues, done.left_out) == (12, 28)
    content = unpacked((tmp_path / "a.html").read_text())
    assert (len(content["ids"]), content["dialogues"]) == (12, 40)
    write_page(tmp_path / "b.html", collection, maps, most=12)
    assert (tmp_path / "a.html").read_bytes() == (tmp_path / "b.html").read_bytes()


def test_single_dialogue_has_a_page(grow, collection, tmp_path):
    alone = grow(tmp_path / "c", list(collection.dialogues([0])))
    assert write_page(tmp_path / "out.html", alone, maps_of(alone)).dialogues == 1
    assert "<" not in packed(whole_content(alone, maps_of(alone), np.arange(1)))


def test_no_script_declares_a_name_of_another_one():
    # V8 refuses a second `const` or `class` of the same name.
    assert Script().value("typeof Points") == "function"


@pytest.mark.parametrize(
    ("folder", "title"),
    [("help_desk_export.look", "Help desk"), ("calls", "Calls"), ("New_calls.look", "New calls"), ("öl", "Öl")],
)
def test_the_title_is_the_name_of_the_export_in_words(tmp_path, folder, title):
    assert title_of(tmp_path / folder) == title
