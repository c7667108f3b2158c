"""Stage validate says what its expectations do not stop."""

from __future__ import annotations

import json

import pytest

from dial2vec.errors import ValidationError
from dial2vec.pipeline.validate import validate
from tests.pipeline.projects import change, make_project, run

ENGLISH = ("Hello, my card was stolen yesterday, what should I do?", "I am sorry to hear that, I will block it now.")


def test_dialogues_of_one_speaker_are_refused_whatever_the_limits_are(tmp_path, tiny_folder):
    project = make_project(tmp_path, tiny_folder)
    change(project, "validate", max_one_speaker_share=1.0, min_alternation=0.0)
    turns = [{"speaker": "a", "text": text} for text in ENGLISH]
    lines = [json.dumps({"dialogue_id": f"d{number}", "turns": turns}) for number in range(20)]
    (project / "data" / "calls" / "calls.jsonl").write_text("\n".join(lines))
    with pytest.raises(ValidationError, match=r"each of the 20 dialogues of calls has one speaker only.*no limit"):
        run(project, validate)
