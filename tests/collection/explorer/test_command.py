from __future__ import annotations

import pytest
from click.testing import CliRunner, Result

from dial2vec.cli import main
from dial2vec.collection.clustering.clusters import read_clusters

from .conftest import dialogues_of


def explore(*arguments: object) -> Result:
    return CliRunner().invoke(main, ["explore", *map(str, arguments)])


def test_one_file_is_written_and_the_reader_warned(grow, tmp_path):
    grow(tmp_path / "c", dialogues_of(range(40)))
    done = explore(tmp_path / "c", "--static", tmp_path / "out.html")
    assert done.exit_code == 0, done.output
    assert "out.html: 40 dialogues" in done.output
    assert "give it only to people who may read them" in done.output
    assert (tmp_path / "out.html").read_text().startswith("<!doctype html>")


def test_topics_are_found_if_they_are_missing_or_old(grow, tmp_path):
    for count in (40, 60):
        collection = grow(tmp_path / "c", dialogues_of(range(count)))
        assert explore(tmp_path / "c", "--static", tmp_path / "out.html").exit_code == 0
        clusters, _ = read_clusters(collection)
        assert clusters.seen == count


def test_map_of_few_of_the_dialogues_is_pointed_out(grow, tmp_path):
    grow(tmp_path / "c", dialogues_of(range(3)))
    done = explore(tmp_path / "c", "--static", tmp_path / "out.html")
    assert done.exit_code == 0, done.output
    assert "--from-scratch" not in done.output
    grow(tmp_path / "c", dialogues_of(range(40)))
    done = explore(tmp_path / "c", "--static", tmp_path / "out.html")
    assert "made from 3 of the 40 dialogues" in done.output
    assert "made from" not in explore(tmp_path / "c", "--from-scratch", "--static", tmp_path / "out.html").output


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["none"], "none is no collection"),
        (["c", "--static", "."], "is a folder; expected a file"),
        (["c", "--start", "./none"], "is not a folder with a model"),
        (["c", "--static", "c/collection.json/out.html"], "cannot write"),
    ],
)
def test_errors_are_one_sentence(grow, tmp_path, monkeypatch, arguments, said):
    grow(tmp_path / "c", dialogues_of(range(4)))
    monkeypatch.chdir(tmp_path)
    done = explore(*arguments)
    assert done.exit_code == 1
    assert said in done.output
    assert "Traceback" not in done.output


def test_taken_port_is_named(grow, tmp_path):
    from dial2vec.addresses import listen

    grow(tmp_path / "c", dialogues_of(range(4)))
    with listen("127.0.0.1", 0) as other:
        port = other.getsockname()[1]
        done = explore(tmp_path / "c", "--port", port)
    assert done.exit_code == 1
    assert f"port {port} is taken" in done.output
