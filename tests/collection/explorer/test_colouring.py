from __future__ import annotations

import re
from dataclasses import replace
from datetime import datetime
from importlib.resources import files

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from scipy.spatial.distance import pdist, squareform

from dial2vec.collection.explorer import content
from dial2vec.collection.explorer.colouring import (
    GREY,
    MOST_NAMED,
    SHADES,
    STYLES,
    TIMES,
    _by_category,
    _by_number,
    _by_time,
    colourings,
)
from dial2vec.collection.explorer.maps import maps_of
from dial2vec.errors import ArtifactError
from dial2vec.evaluation.geometry import HUES
from dial2vec.evaluation.geometry import mixed as shade
from tests.conftest import make_dialogue

from .conftest import dialogues_of

# Severity 1 of Machado, Oliveira and Fernandes 2009, on linear RGB.
VISIONS = {
    "normal": np.eye(3),
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}
# Linear RGB to cones, and their cube roots to OKLab (Ottosson 2020).
CONES = np.array(
    [[0.41222147, 0.53633254, 0.05144599], [0.2119035, 0.68069955, 0.10739696], [0.08830246, 0.28171884, 0.6299787]]
)
OKLAB = np.array(
    [[0.21045426, 0.79361779, -0.00407205], [1.9779985, -2.42859221, 0.45059371], [0.02590404, 0.78277177, -0.80867577]]
)


def tokens(scheme):
    """The colours of `:root` in the style of all pages, for "light" or "dark"."""
    text = files("dial2vec.html").joinpath("base.css").read_text(encoding="utf-8")
    light, dark = re.findall(r":root \{(.*?)\}", text, flags=re.DOTALL)[:2]
    return dict(re.findall(r"--(\w+): ([^;]+);", light + (dark if scheme == "dark" else "")))


SCHEMES = {scheme: tokens(scheme) for scheme in ("light", "dark")}


def linear(colours):
    rgb = np.array([[int(colour[place : place + 2], 16) for place in (1, 3, 5)] for colour in colours]) / 255
    return np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)


def seen(colours, vision):
    """Places in OKLab as an eye of this kind sees them."""
    return np.cbrt(np.clip(linear(colours) @ np.transpose(VISIONS[vision]), 0, 1) @ CONES.T) @ OKLAB.T


def least_distance(colours, vision):
    return pdist(seen(colours, vision)).min()


def contrasts(colours, page, vision="normal"):
    """Contrasts with a page, by the definition of WCAG 2."""
    bright = np.clip(linear([*colours, page]) @ np.transpose(VISIONS[vision]), 0, 1) @ (0.2126, 0.7152, 0.0722) + 0.05
    return np.maximum(bright[:-1], bright[-1]) / np.minimum(bright[:-1], bright[-1])


def mixed(colour, other, share):
    """A colour mixed with a share of another one, as `color-mix` and the page's scripts do."""
    pairs = [(int(colour[place : place + 2], 16), int(other[place : place + 2], 16)) for place in (1, 3, 5)]
    return "#" + "".join(f"{round((1 - share) * own + share * more):02x}" for own, more in pairs)


def grey_share(way):
    styles = zip(way.counts, way.colours, way.marks, strict=True)
    return sum(count for count, colour, mark in styles if colour == GREY and mark != "faint") / len(way.codes)


def write_clusters(folder, topics, areas):
    (folder / "clusters").mkdir()
    table = pa.table({"dialogue_id": [f"d{n}" for n in range(len(topics))], "name": topics, "area": areas})
    pq.write_table(table, folder / "clusters" / "assignment.parquet")


@pytest.mark.parametrize("scheme", SCHEMES)
def test_colours_are_readable_on_both_pages(scheme):
    own = SCHEMES[scheme]
    lift = int(own["lift"].rstrip("%")) / 100
    drawn = [mixed(colour, own["ink"], lift) for colour in HUES]
    assert contrasts(drawn, own["page"]).min() >= 3
    assert all(contrasts(drawn, own["page"], vision).min() >= 2.3 for vision in VISIONS)
    shades = [mixed(shade(colour, part), own["ink"], lift) for colour in HUES for part in SHADES]
    assert contrasts([*shades, *(mixed(colour, own["ink"], lift) for colour in TIMES)], own["page"]).min() >= 1.8


@pytest.mark.parametrize("scheme", SCHEMES)
def test_texts_have_a_contrast_of_4_5_on_both_pages(scheme):
    own = SCHEMES[scheme]
    lift = int(own["lift"].rstrip("%")) / 100
    areas = [mixed(colour, own["ink"], 0.22 + lift) for colour in HUES]
    for ground in (own["page"], own["panel"]):
        assert contrasts([own[name] for name in ("ink", "soft", "more", "less", "heat")], ground).min() >= 4.5
        assert contrasts([*areas, own["soft"]], ground).min() >= 4.5
        # Of marks and lines, and of text from 14 pixels on.
        assert contrasts([own["faint"]], ground).min() >= 2.9


def test_the_accent_is_no_colour_of_an_area():
    for own in SCHEMES.values():
        lift = int(own["lift"].rstrip("%")) / 100
        areas = [mixed(colour, own["ink"], lift) for colour in HUES]
        apart = np.linalg.norm(seen(areas, "normal") - seen([own["heat"]], "normal"), axis=1)
        assert apart.min() >= 0.05
        assert apart[0] >= 0.1


@pytest.mark.parametrize("vision", VISIONS)
def test_eight_colours_differ_for_every_kind_of_eye(vision):
    # 0.02 is a difference that is just visible side by side.
    assert least_distance(HUES[:4], vision) >= 0.12
    assert least_distance([*HUES, GREY], vision) >= (0.09 if vision == "normal" else 0.03)
    assert all(least_distance([shade(colour, part) for part in SHADES], vision) >= 0.04 for colour in HUES)


@pytest.mark.parametrize("vision", VISIONS)
def test_times_run_in_one_order_for_every_kind_of_eye(vision):
    places = seen(TIMES, vision)
    steps = np.linalg.norm(np.diff(places, axis=0), axis=1)
    assert steps.min() >= 0.034
    # From each time the next one is the nearest of the later ones.
    apart = squareform(pdist(places))
    assert all(apart[place, place + 1] == apart[place, place + 1 :].min() for place in range(len(TIMES) - 1))


def test_labels_and_dates_colour_the_points(collection):
    by_label, by_time, *_ = colourings(collection, np.arange(40))
    assert (by_label.title, by_label.names, by_label.counts) == ("label", ("cards", "rooms"), (20, 20))
    assert by_label.codes.tolist() == [0, 1] * 20
    assert (by_time.title, by_time.names) == ("time", ("2026-01-01", "2026-02-01", "2026-03-01"))


def test_categories_and_numbers_of_the_metadata_colour_the_points(collection):
    by_channel, by_wait = colourings(collection, np.arange(40))[2:]
    assert (by_channel.title, by_channel.names) == ("channel", ("chat", "phone", "no channel"))
    assert by_channel.counts == (10, 10, 20)
    assert by_channel.codes[:4].tolist() == [1, 2, 0, 2]
    assert (by_wait.title, by_wait.names[0], by_wait.names[-2:]) == ("wait", "0 to 2", ("36 to 38", "no wait"))
    assert by_wait.counts == (2,) * 10 + (20,)
    assert by_wait.groups == by_channel.groups == ()
    assert [way.title for way in colourings(collection, np.array([1, 3]))] == ["time", "label"]


@given(st.lists(st.floats(-1e300, 1e300) | st.just(float("nan")) | st.integers(0, 3).map(float), min_size=1))
@settings(max_examples=50, deadline=None)
def test_ranges_are_few_and_in_order(numbers):
    numbers = np.array(numbers)
    assume(not np.isnan(numbers).all())
    ranges = _by_number("wait", numbers)
    assert sum(ranges.counts) == len(numbers)
    assert min(ranges.counts) > 0
    assert len(ranges.names) <= len(TIMES) + 1
    codes = ranges.codes[np.argsort(numbers, kind="stable")].tolist()
    assert codes == sorted(codes)


def test_areas_and_topics_come_first(grow, tmp_path):
    collection = grow(tmp_path / "c", dialogues_of(range(20)))
    topics = ["lost cards"] * 6 + ["pins"] * 5 + ["rooms"] * 8 + [None]
    write_clusters(tmp_path / "c", topics, ["cards"] * 11 + ["rooms"] * 8 + [None])
    by_area, by_topic, by_label, *_ = colourings(collection, np.arange(20))
    assert (by_area.title, by_area.names, by_area.groups) == ("area", ("cards", "rooms", "no area"), ())
    assert (by_topic.title, by_topic.names[0], by_topic.counts) == ("topic", "rooms", (8, 6, 5, 1))
    assert by_topic.groups[-1] == ""
    assert (by_topic.colours[-1], by_topic.marks[-1]) == (GREY, "faint")
    assert by_label.title == "label"


def test_topics_have_shades_of_their_areas_colour(grow, tmp_path):
    collection = grow(tmp_path / "c", dialogues_of(range(20)))
    write_clusters(tmp_path / "c", ["lost"] * 6 + ["pins"] * 5 + ["rooms"] * 9, ["cards"] * 11 + ["hotels"] * 9)
    by_area, by_topic, *_ = colourings(collection, np.arange(20))
    assert by_area.colours == HUES[:2]
    assert dict(zip(by_topic.names, by_topic.colours, strict=True)) == {
        "rooms": HUES[1], "lost": HUES[0], "pins": shade(HUES[0], SHADES[1])
    }  # fmt: skip
    assert shade("#ff8000", 0.5) == "#ffc080"
    assert shade("#ff8000", -0.5) == "#804000"


def test_unclear_groups_are_grey(grow, tmp_path, monkeypatch):
    collection = grow(tmp_path / "c", dialogues_of(range(20)))
    write_clusters(tmp_path / "c", ["lost"] * 6 + ["pins"] * 5 + ["names"] * 9, ["cards"] * 11 + ["names"] * 9)
    groups = [[{"name": "names", "unclear": True}, {"name": "cards", "unclear": False}], [], []]
    found = {"groups": groups, "members": [np.full(20, -1, dtype=np.int16)] * 3, "similarity": None}
    monkeypatch.setattr(content, "groups_content", lambda *_: found)
    by_area, by_topic, *_ = content.content(collection, maps_of(collection), np.arange(20))["colourings"]
    assert by_area["colours"] == [HUES[0], GREY]
    assert by_topic["colours"] == [GREY, HUES[0], shade(HUES[0], SHADES[1])]


def test_topics_that_are_their_own_areas_are_offered_once(grow, tmp_path):
    collection = grow(tmp_path / "c", dialogues_of(range(4)))
    write_clusters(tmp_path / "c", ["a", "a", "b", "b"], ["a", "a", "b", "b"])
    assert [way.title for way in colourings(collection, np.arange(4))][:2] == ["topic", "label"]


def test_a_colouring_that_leaves_many_grey_is_never_the_first(grow, tmp_path):
    collection = grow(tmp_path / "c", [make_dialogue(f"d{n}", "x: w1") for n in range(10)])
    write_clusters(tmp_path / "c", ["a"] * 4 + ["b"] * 4 + [None] * 2, ["a"] * 8 + [None] * 2)
    assert [way.title for way in colourings(collection, np.arange(10))] == ["nothing", "topic", "area"]
    assert [way.title for way in colourings(collection, np.arange(8))] == ["topic", "area"]


def test_titles_are_different(grow, tmp_path):
    dialogues = [
        replace(one, metadata={"label": "x", "time": "late", "constructor": 1}) for one in dialogues_of(range(4))
    ]
    titles = [way.title for way in colourings(grow(tmp_path / "c", dialogues), np.arange(4))]
    assert titles == ["label", "time", "constructor", "label (metadata)", "time (metadata)"]


def test_a_group_named_like_those_without_one_stays_apart():
    assert _by_category("channel", ["no channel", "no channel", ""]).names == ("no channel", "no channel given")


def test_damaged_clusters_are_named(grow, tmp_path):
    collection = grow(tmp_path / "c", dialogues_of(range(4)))
    write_clusters(tmp_path / "c", ["a"] * 4, ["a"] * 4)
    (tmp_path / "c" / "clusters" / "assignment.parquet").write_text("[]")
    with pytest.raises(ArtifactError, match=r"assignment\.parquet cannot be read"):
        colourings(collection, np.arange(4))


def test_without_labels_and_dates_there_is_one_colour(grow, tmp_path):
    collection = grow(tmp_path / "c", [make_dialogue("a", "x: w1"), make_dialogue("b", "x: w2")])
    [only] = colourings(collection, np.arange(2))
    assert (only.names, only.counts, only.groups) == (("dialogues",), (2,), ())


@given(st.lists(st.integers(0, 90).map(lambda n: f"g{n}" if n else ""), min_size=1, max_size=300))
@settings(max_examples=80, deadline=None)
def test_sixteen_groups_have_a_style_of_their_own_and_grey_is_at_most_a_tenth(groups):
    found = _by_category("label", groups)
    assert sum(found.counts) == len(groups)
    assert [found.names[code] for code in found.codes] == [name or "no label" for name in groups]
    named = len(set(groups) - {""})
    sizes = list(found.counts[:named])
    assert sizes == sorted(sizes, reverse=True)
    assert list(found.colours[:16]) == STYLES[:named] + list(found.colours[named:16])
    missing = groups.count("")
    assert grey_share(found) <= max(0, 0.1 - missing / len(groups)) + 1e-9


def test_the_smallest_of_many_groups_are_grey():
    groups = [f"g{n}" for n in range(20) for _ in range(20)] + [f"s{n}" for n in range(40)]
    found = _by_category("label", groups)
    assert found.colours[20:] == (GREY,) * 40
    more = _by_category("label", [*groups, *[f"s{n}" for n in range(40, 60)]])
    assert more.colours.count(GREY) == 46
    assert set(more.colours[20:34]) <= set(STYLES)
    assert grey_share(more) <= 0.1


def test_groups_beyond_a_byte_are_joined_and_not_grey():
    found = _by_category("label", [f"g{n:03d}" for n in range(400)])
    assert (len(found.names), found.names[-1], found.counts[-1]) == (MOST_NAMED, "151 smaller ones", 151)
    assert GREY not in found.colours


@given(st.lists(st.datetimes(min_value=datetime(1, 1, 2)) | st.none(), min_size=1, max_size=60))
@settings(max_examples=50, deadline=None)
def test_periods_are_few_and_in_order(moments):
    assume(any(moments))
    found = _by_time(pa.array(moments, pa.timestamp("s", tz="UTC")))
    assert len(found.names) <= len(TIMES) + 1
    known = sorted((moment, code) for moment, code in zip(moments, found.codes.tolist(), strict=True) if moment)
    codes = [code for _, code in known]
    assert codes == sorted(codes)


@pytest.mark.parametrize(
    ("last", "names"),
    [
        ("2026-01-03", ["2026-01-01", "2026-01-03"]),
        ("2026-01-13", ["2025-12-29 to 2026-01-04", "2026-01-12 to 2026-01-18"]),
        *(("2026-06-30", ["2026-01", "2026-06"]), ("2027-08-01", ["2026 Q1", "2027 Q3"])),
        *(("2035-01-01", ["2026", "2035"]), ("2226-01-01", ["2026 to 2046", "2215 to 2226"])),
    ],
)
def test_periods_are_as_fine_as_ten_of_them_allow(last, names):
    found = _by_time(pa.array(pd.date_range("2026-01-01", last, tz="UTC", freq="D" if last < "2100" else "YS")))
    assert [found.names[0], found.names[-1]] == names
    assert found.kind == "time"
