from __future__ import annotations

import sys
from dataclasses import replace

from dial2vec.encoder.loading import load_encoder
from dial2vec.files import find_root

sys.path.insert(0, str(find_root() / "benchmarks"))

import changes


def test_a_planted_change_comes_first(tmp_path, monkeypatch, capsys, dialogue, student_folder):
    labels = [changes.GROWS, changes.NEW, changes.BY_CHAT, changes.LOW_RATINGS]
    dialogues = [
        replace(dialogue(f"{label} {at}", f"a: w{place} w{place + 4}", "b: w30"), labels=(label,))
        for place, label in enumerate(labels)
        for at in range(40)
    ]
    encoder = load_encoder(student_folder)
    monkeypatch.setattr(changes, "dialogues_of", lambda corpus, root: dialogues)
    monkeypatch.setattr(changes, "load_encoder", lambda folder: encoder)
    monkeypatch.setattr("dial2vec.collection.clustering.stability.HALVES", 2)
    monkeypatch.setattr(sys, "argv", ["changes.py", "--artifacts", str(tmp_path), "--draws", "1"])
    changes.main()
    rows = [line.strip("| ").split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert [float(row[0]) for row in rows] == list(changes.CHANCES)
    assert rows[0][3:] == ["0 of 1", "0 of 1", "0"]
    # All 40 dialogues of a kind are in May, and about 60 of the 120 others.
    assert rows[-1][1] == "0.0%"
    assert rows[-1][3] == "1 of 1"


def test_dates_depend_only_on_the_seed():
    dates = [[changes.date_of(changes.Random(seed), 1) for _ in range(3)] for seed in (1, 1)]
    assert dates[0] == dates[1]
    assert all(date.startswith("2026-05") for date in dates[0])
