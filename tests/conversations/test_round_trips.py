"""Whatever is exported by a table library comes back, and whatever is broken is accounted for."""

from __future__ import annotations

import csv
import json
import random
from dataclasses import replace

import pandas as pd
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from conversations.dialogue import Dialogue, Turn
from conversations.formats.markup import is_twice_encoded
from conversations.options import KINDS, Options
from conversations.reading import read_export
from dial2vec.errors import CorpusError

# All but the signs of damage, the one in place of an attachment, and a carriage return of its own: pandas writes it
# without the quotes that it needs.
CHARACTERS = st.characters(codec="utf-8", exclude_characters="\0\ufffc\ufffd\ufeff\r")
LATIN = st.characters(codec="cp1252", exclude_characters="\0\r")
SETTINGS = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.too_slow])


def texts(characters):
    # pandas writes a gap as "nan". Texts that all look like `MÃ¼ller` are decoded once more, as their own test shows.
    stripped = st.text(characters, min_size=1, max_size=30).map(str.strip)
    return stripped.filter(lambda text: text not in ("", "nan", "NaN") and not is_twice_encoded(text))


def corpora(characters=CHARACTERS):
    turns = st.lists(st.builds(Turn, texts(characters), texts(characters)), min_size=1, max_size=4).map(tuple)
    labels = st.none() | texts(characters).filter(lambda label: label[0] != "[")
    one = st.builds(lambda n, t, x: Dialogue(n, t, (x,) if x else ()), texts(characters), turns, labels)
    return st.lists(one, min_size=1, max_size=4, unique_by=lambda dialogue: dialogue.dialogue_id)


def frame(dialogues):
    rows = [
        {
            "dialogue_id": dialogue.dialogue_id,
            "speaker": turn.speaker,
            "text": turn.text,
            "timestamp": 1_700_000_000 + number,
            "label": dialogue.label or "",
        }
        for dialogue in dialogues
        for number, turn in enumerate(dialogue.turns)
    ]
    return pd.DataFrame(rows)


def read(path, **options):
    named = {"labels": ("label",)} if "turns" not in options else {}
    result = read_export(path, Options(keep=KINDS, **(named | options))).result
    assert result.quarantine == []
    return sorted(result.dialogues, key=lambda dialogue: dialogue.dialogue_id)


def by_id(dialogues, *, date="2023-11-14T22:13:20+00:00"):
    """Sorted, and begun when the first row of each in `frame` says so."""
    return sorted((replace(dialogue, date=date) for dialogue in dialogues), key=lambda dialogue: dialogue.dialogue_id)


@SETTINGS
@given(
    corpora(),
    st.sampled_from([",", ";", "\t", "|"]),
    st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC]),
    st.sampled_from(["utf-8", "utf-8-sig", "utf-16"]),
    st.sampled_from(["\n", "\r\n"]),
    st.randoms(use_true_random=False),
)
def test_a_table_comes_back_from_any_dialect_and_any_order_of_its_rows(
    tmp_path_factory, dialogues, delimiter, quoting, encoding, line_end, rng
):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    table = frame(dialogues).sample(frac=1, random_state=rng.randrange(1000))
    table.to_csv(path, index=False, sep=delimiter, quoting=quoting, encoding=encoding, lineterminator=line_end)
    assert read(path) == by_id(dialogues)


@SETTINGS
@given(corpora(LATIN))
def test_a_table_in_windows_western_code_page_comes_back_when_that_is_said(tmp_path_factory, dialogues):
    path = tmp_path_factory.mktemp("t") / "t.csv"
    frame(dialogues).to_csv(path, index=False, encoding="cp1252")
    assert read(path, encoding="cp1252") == by_id(dialogues)


@SETTINGS
@given(corpora(), st.sampled_from(["rows.jsonl", "rows.parquet", "records.jsonl", "records.json"]))
def test_json_and_parquet_come_back(tmp_path_factory, dialogues, form):
    path = tmp_path_factory.mktemp("t") / form
    if form == "rows.parquet":
        frame(dialogues).to_parquet(path)
    elif form == "rows.jsonl":
        frame(dialogues).to_json(path, orient="records", lines=True)
    elif form == "records.jsonl":
        path.write_text("\n".join(json.dumps(dialogue.to_record(), ensure_ascii=False) for dialogue in dialogues))
    else:
        path.write_text(json.dumps({"conversations": [dialogue.to_record() for dialogue in dialogues]}, indent=1))
    if form.startswith("records"):
        assert read(path, turns="turns") == by_id(dialogues, date=None)
    else:
        assert read(path) == by_id(dialogues)


@SETTINGS
@given(st.integers(0, 10**6), st.sampled_from(["csv", "jsonl"]))
def test_under_random_damage_every_dialogue_is_used_or_quarantined_and_none_twice(tmp_path_factory, seed, form):
    path = tmp_path_factory.mktemp("t") / f"t.{form}"
    turns = (Turn("agent", 'Hello, "you"'), Turn("caller", "two\nlines"), Turn("agent", "bye"))
    ids = [f"call-{number}" for number in range(6)]
    if form == "csv":
        frame([Dialogue(name, turns) for name in ids]).to_csv(path, index=False)
    else:
        path.write_text("\n".join(json.dumps(Dialogue(name, turns).to_record()) for name in ids))
    rng = random.Random(seed)
    data = bytearray(path.read_bytes())
    head = data.index(b"\n") + 1 if form == "csv" else 0
    changes = rng.randint(1, 3)
    for _ in range(changes):
        at = rng.randrange(head, len(data))
        data[at : at + rng.randint(0, 1)] = rng.choice([b'"', b",", b"\n", b"\xff", b"\0", b"}", b""])
    path.write_bytes(data)
    try:
        result = read_export(path, Options()).result
    except CorpusError:
        return
    used = [dialogue.dialogue_id for dialogue in result.dialogues]
    refused = [record.dialogue_id for record in result.quarantine if record.dialogue_id]
    assert len(used) == len(set(used))
    # Of two records with one id the first counts; rows of one id are one dialogue.
    assert form == "jsonl" or not set(used) & set(refused)
    gone = {name for name in ids if name not in used and name not in refused}
    # An id is gone only where its line cannot be read: an entry without it is there, but where two lines became one.
    without = [name for name in (*used, *(record.dialogue_id for record in result.quarantine)) if name not in ids]
    assert len(gone) <= len(without) + changes
