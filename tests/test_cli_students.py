"""Every command that loads an encoder takes a student, and then runs without torch; `small` names the champion."""

from __future__ import annotations

import json
import textwrap
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from conversations.dialogue import read_dialogues
from dial2vec import load_encoder
from dial2vec.cli import main
from dial2vec.collection import Collection
from tests.students import run_without_torch

N = 40


def write_dialogues(path: Path) -> None:
    """Dialogues of two topics: w0 to w9, and w10 to w19."""
    rng = np.random.default_rng(1)
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as handle:
        for number in range(N):
            words = [" ".join(f"w{word}" for word in 10 * (number % 2) + rng.choice(10, 4)) for _ in range(4)]
            turns = [{"speaker": ("ann", "bob")[at % 2], "text": text} for at, text in enumerate(words)]
            handle.write(json.dumps({"dialogue_id": f"d{number}", "turns": turns}) + "\n")


@pytest.fixture(scope="module")
def done(tmp_path_factory, student_folder) -> tuple[Path, dict[str, str]]:
    """The folder in which all commands ran once, without torch, and what each printed."""
    folder = tmp_path_factory.mktemp("students")
    write_dialogues(folder / "a.jsonl")
    (folder / "dvc.yaml").touch()
    (folder / "params.yaml").write_text("corpora: [calls]")
    write_dialogues(folder / "artifacts" / "calls" / "splits" / "train.jsonl")
    commands = {
        "index": ["index", "a.jsonl", "--output", "calls", "--model", student_folder],
        "index again": ["index", "a.jsonl", "--output", "calls"],
        "search": ["search", "calls", "w3 w4", "--themes", "-k", "3", "--json"],
        "like": ["search", "calls", "--like", "d1", "-k", "3"],
        "cluster": ["cluster", "calls", "--k", "2"],
        "explore": ["explore", "calls", "--static", "map.html"],
        "embed": ["embed", "a.jsonl", "--output", "a.parquet", "--model", student_folder],
        "explain": ["explain", "a.jsonl", "--id", "d0", "--output", "d0.html", "--model", student_folder],
        "drift": ["drift", "a.jsonl", "--model", student_folder],
        "look": ["look", "a.jsonl", "--static", "look.html", "--model", student_folder],
    }
    script = textwrap.dedent(f"""
        import json
        from click.testing import CliRunner
        from dial2vec.cli import main
        outputs = {{}}
        for name, words in {commands!r}.items():
            done = CliRunner().invoke(main, ["--debug", *words])
            if done.exception:
                raise RuntimeError(f"{{name}}: {{done.output}}") from done.exception
            outputs[name] = done.output
        print(json.dumps(outputs))
    """)
    return folder, json.loads(run_without_torch(script, folder))


def test_a_collection_keeps_the_student_and_grows_with_it(done, student_folder):
    folder, outputs = done
    assert f"calls: {N} dialogues, {N} new, 0 already there" in outputs["index"]
    assert f"calls: {N} dialogues, 0 new, {N} already there" in outputs["index again"]
    collection = Collection(folder / "calls")
    assert collection.manifest.fingerprint == load_encoder(student_folder).fingerprint()
    assert load_encoder(collection.model).fingerprint() == collection.manifest.fingerprint
    expected = load_encoder(student_folder).encode(list(collection.dialogues()))
    np.testing.assert_allclose(collection.vectors, expected, atol=1e-6)


def test_a_search_finds_the_nearest_and_the_turns_sum_to_the_cosine(done, student_folder):
    folder, outputs = done
    hits = [json.loads(line) for line in outputs["search"].splitlines() if line.startswith("{")]
    encoder = load_encoder(student_folder)
    dialogues = {dialogue.dialogue_id: dialogue for dialogue in read_dialogues(folder / "a.jsonl")}
    query = encoder.encode([next(iter(dialogues.values())).from_messages([{"role": "query", "content": "w3 w4"}])])[0]
    cosines = {name: float(encoder.encode(dialogue) @ query) for name, dialogue in dialogues.items()}
    assert [hit["dialogue_id"] for hit in hits] == sorted(cosines, key=cosines.get, reverse=True)[:3]
    for hit in hits:
        shares = encoder.turn_shares(dialogues[hit["dialogue_id"]], towards=query)
        assert shares.sum() == pytest.approx(hit["cosine"], abs=1e-5)
        turns = {turn["turn"]: turn["contribution"] for turn in hit["turns"]}
        assert turns == pytest.approx({at: shares[at] for at in turns}, abs=1e-5)
    assert "d1 " not in outputs["like"]
    assert "3 of 40 dialogues" in outputs["like"]


def test_embed_writes_the_vectors_and_reports_no_limit(done, student_folder):
    folder, outputs = done
    assert outputs["embed"].splitlines() == [f"a.parquet: {N} vectors of length 16"]
    table = pq.read_table(folder / "a.parquet")
    expected = load_encoder(student_folder).encode(list(read_dialogues(folder / "a.jsonl")))
    np.testing.assert_allclose(np.array(table["embedding"].to_pylist()), expected, atol=1e-6)


def test_the_other_commands_do_their_work(done, student_folder):
    folder, outputs = done
    assert "Agreement" not in outputs["cluster"]
    assert (folder / "calls" / "clusters" / "assignment.csv").exists()
    assert f"map.html: {N} dialogues" in outputs["explore"]
    assert "of 4 turns make half of the vector" in outputs["explain"]
    page = (folder / "d0.html").read_text()
    assert student_folder in page
    assert "windows" not in page
    assert "No drift: the new dialogues are like the training data." in outputs["drift"]
    assert f"a.look: {N} dialogues" in outputs["look"]
    assert f"look.html: {N} dialogues" in outputs["look"]


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A project with these corpora, whose registry is not asked."""
    monkeypatch.chdir(tmp_path)

    def make(*corpora: str) -> list[str]:
        (tmp_path / "dvc.yaml").touch()
        (tmp_path / "params.yaml").write_text(f"corpora: [{', '.join(corpora)}]")
        asked: list[str] = []

        def local_model(address: str, *, root: Path | None) -> Path:
            asked.append(address)
            raise SystemExit(9)

        monkeypatch.setattr("dial2vec.registry.tracking.local_model", local_model)
        write_dialogues(tmp_path / "a.jsonl")
        return asked

    return make


@pytest.mark.parametrize(
    "words",
    [
        ["embed", "a.jsonl", "--output", "a.parquet"],
        ["index", "a.jsonl", "--output", "calls"],
        ["look", "a.jsonl"],
        ["explain", "a.jsonl", "--id", "d0", "--output", "a.html"],
    ],
    ids=lambda words: words[0],
)
def test_small_is_the_small_champion_of_the_corpus(project, words):
    asked = project("calls")
    done = CliRunner().invoke(main, [*words, "--model", "small"])
    assert (done.exit_code, asked) == (9, ["models:/dial2vec-calls-small@champion"]), done.output


def test_small_is_that_of_the_named_corpus(project, monkeypatch):
    asked = project("calls", "chats")
    monkeypatch.setattr("dial2vec.operation.drift.compare_files.require_split", lambda *_: None)
    CliRunner().invoke(main, ["drift", "a.jsonl", "--model", "small", "--corpus", "chats"])
    assert asked == ["models:/dial2vec-chats-small@champion"]


@pytest.mark.parametrize("model", ["small", "models:/dial2vec-calls-small@champion"])
def test_small_without_a_student_as_champion_says_so(project, monkeypatch, tiny_folder, model):
    project("calls")
    monkeypatch.setattr("dial2vec.cli.options.resolve", lambda name: tiny_folder)
    done = CliRunner().invoke(main, ["embed", "a.jsonl", "--output", "a.parquet", "--model", model])
    assert "No student of calls is champion yet, so small is the base encoder." in done.output


def test_small_is_one_sentence_with_several_corpora_and_outside_a_project(project, tmp_path):
    words = ["embed", "a.jsonl", "--output", "a.parquet", "--model", "small"]
    project("calls", "chats")
    done = CliRunner().invoke(main, words)
    assert done.output == (
        "Error: --model small is the small model of one corpus, and params.yaml names 2 (calls, chats). Give the "
        "address of one: --model models:/dial2vec-calls-small@champion.\n"
    )
    (tmp_path / "dvc.yaml").unlink()
    done = CliRunner().invoke(main, words)
    assert done.output.startswith("Error: --model small is the small model of a project's corpus, and there is no ")
    assert done.output.count("\n") == 1


def test_a_model_in_a_folder_named_small_is_that_model(project, tmp_path, tiny_folder):
    asked = project("calls")
    (tmp_path / "small").symlink_to(tiny_folder)
    done = CliRunner().invoke(main, ["embed", "a.jsonl", "--output", "a.parquet", "--model", "small"])
    assert (done.exit_code, asked) == (0, []), done.output
