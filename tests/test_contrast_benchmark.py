from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np

from conversations.dialogue import write_dialogues
from dial2vec.files import find_root

sys.path.insert(0, str(find_root() / "benchmarks"))

import contrast


def test_a_projection_leaves_the_unwanted_topic_out(tmp_path, monkeypatch, capsys, dialogue):
    labels = [label for _, more, topics in contrast.TOPICS for label in (*more, *topics)]
    dialogues = [
        replace(dialogue(f"{label} {at}", f"a: {label}"), labels=(label,)) for label in labels for at in "abcd"
    ]
    (tmp_path / "self_dialogue" / "splits").mkdir(parents=True)
    for split in ("test", "dev"):
        path = tmp_path / "self_dialogue" / "splits" / f"{split}.jsonl"
        write_dialogues(path, dialogues if split == "test" else [dialogue("u", "a: hi")])
    words = {text: label for _, _, topics in contrast.TOPICS for label, text in topics.items()}

    class Fake:
        """A dimension per label; a question has those of the topics it names, and a bit of all others."""

        def encode(self, given):
            rows = []
            for said in (one.turns[0].text for one in given):
                named = [words.get(part, part) for part in said.split(" or ")]
                rows.append([1.0 if label in named else 0.01 for label in labels])
            return np.array(rows, dtype=np.float32)

    monkeypatch.setattr(contrast, "load_encoder", lambda name: Fake())
    monkeypatch.setattr(sys, "argv", ["contrast.py", "--artifacts", str(tmp_path)])
    contrast.main()
    table = [line.split(" | ") for line in capsys.readouterr().out.splitlines()[2:]]
    assert len(table) == 2 * 2 * len(contrast.WAYS)
    unwanted = {way: float(share.rstrip(" |")) for _, kind, way, _, share in table[:10] if "two topics" in kind}
    assert unwanted["query alone"] == 40
    assert unwanted["projection (ours)"] == 0
