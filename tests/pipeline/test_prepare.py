"""Stage prepare by several processes."""

from __future__ import annotations

from conversations.dialogue import read_dialogues, write_dialogues
from conversations.files import read_json
from dial2vec.pipeline.prepare import prepare
from dial2vec.pipeline.validate import validate
from tests.pipeline.projects import run


def test_splits_are_the_same_from_several_processes(project, monkeypatch):
    artifacts, said = run(project, validate, prepare)
    alone = {name: artifacts.split(name).read_bytes() for name in ("train", "dev", "test")}
    known = read_json(artifacts.split_report)
    monkeypatch.setattr("dial2vec.data.workers.processes_for", lambda n_parts, fewest: 2)
    monkeypatch.setattr("dial2vec.pipeline.prepare.BLOCK", 7)
    _, (again,) = run(project, prepare)
    assert again == said[1]
    assert {name: artifacts.split(name).read_bytes() for name in alone} == alone
    assert read_json(artifacts.split_report) == known
    # As `dialogue_writer` writes them.
    for name, text in alone.items():
        write_dialogues(project / name, read_dialogues(artifacts.split(name)))
        assert (project / name).read_bytes() == text
