"""Exports by address: what is named is fetched, nothing else, and no secret of an address is shown or written."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path
from types import ModuleType

import fsspec
import pytest
from click.testing import CliRunner
from huggingface_hub import constants

from conversations.errors import CorpusError
from conversations.formats.addresses import as_address, without_secrets
from conversations.formats.formats import stem
from conversations.options import Options
from conversations.reading import read, read_export
from conversations.writing import nothing_usable
from dial2vec.cli import main

TABLE = "call_id,speaker,text\nc{0},agent,Hello\nc{0},customer,Hi\n"


def ids(source: str) -> list[str]:
    return [dialogue.dialogue_id for dialogue in read(source)]


@pytest.fixture
def memory():
    """A file system in memory, as fsspec has it."""
    system = fsspec.filesystem("memory")
    system.store.clear()
    system.pipe({"/box/may.csv": TABLE.format(1).encode(), "/box/more/june.csv": TABLE.format(2).encode()})
    yield system
    system.store.clear()


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """A cache of the Hugging Face hub that holds one data set with two splits and a subset."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    data_set = tmp_path / "hub" / "datasets--ann--kites"
    for revision, first in (("old", 7), ("new", 1)):
        for at, name in enumerate(("data/train-00000-of-00001.csv", "data/test.csv", "es/train.csv"), start=first):
            (data_set / "snapshots" / revision / name).parent.mkdir(parents=True, exist_ok=True)
            (data_set / "blobs" / f"{at}").parent.mkdir(exist_ok=True)
            (data_set / "blobs" / f"{at}").write_text(TABLE.format(at))
            (data_set / "snapshots" / revision / name).symlink_to(data_set / "blobs" / f"{at}")
        (data_set / "snapshots" / revision / "README.md").write_text("# Kites\nann: hello\n")
        (data_set / "snapshots" / revision / "dataset_infos.json").write_text("{}")
    (data_set / "refs").mkdir()
    (data_set / "refs" / "main").write_text("new")
    return data_set


def test_a_file_a_folder_and_an_archive_are_read_from_any_file_system(memory, tmp_path):
    assert ids("memory://box/may.csv") == ["c1"]
    assert ids("memory://box") == ["c2", "c1"]
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        archive.writestr("may.csv", TABLE.format(3))
    memory.put(str(tmp_path / "all.zip"), "/box/all.zip")
    assert ids("memory://box/all.zip") == ids("zip://may.csv::memory://box/all.zip") == ["c3"]
    assert ids(f"file://{tmp_path}/all.zip") == ["c3"]


def test_what_is_shown_and_written_names_the_address(memory, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    memory.pipe("/box/may.csv", (TABLE.format(1) + "x,,Who?\n").encode())
    command = ["import", "memory://box/may.csv", "--output", "calls.jsonl"]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 0, done.output
    assert done.output.startswith("may.csv: csv, UTF-8")
    [unusable] = map(json.loads, Path("calls.quarantine.jsonl").read_text().splitlines())
    assert unusable["source"] == "memory://box/may.csv"
    # The same address may be imported again, another one may not take its place.
    assert CliRunner().invoke(main, command).exit_code == 0
    done = CliRunner().invoke(main, ["import", "memory://box/more/june.csv", "--output", "calls.jsonl"])
    assert "was imported from memory://box/may.csv" in done.output
    several = ["import", "memory://box/may.csv", "memory://box/more/june.csv", "--output", "both.jsonl"]
    assert "dialogues    2 can be used" in CliRunner().invoke(main, several).output


def test_a_data_set_is_read_from_the_cache_whole_or_by_a_split_or_subset(hub):
    assert ids("hf:ann/kites") == ["c2", "c1", "c3"]
    assert ids("hf:ann/kites:test") == ["c2"]
    assert ids("hf:ann/kites:train") == ["c1", "c3"]
    assert ids("hf:ann/kites:es") == ["c3"]
    (hub / "refs" / "main").unlink()
    assert len(ids("hf:ann/kites")) == 3


def test_a_signed_address_may_be_longer_than_a_file_name(memory, tmp_path, monkeypatch, tiny_folder):
    monkeypatch.chdir(tmp_path)
    signed = f"memory://box/signed.csv?sig={'x' * 400}"
    memory.pipe(signed.removeprefix("memory:/"), TABLE.format(4).encode())
    model = ("--model", tiny_folder)
    assert ids(signed) == ["c4"]
    for command in (
        ("import", signed, "--output", "calls.jsonl"),
        ("look", signed, *model, "--static", "map.html"),
        ("embed", signed, *model, "--output", "v.parquet"),
        ("explain", signed, "c4", *model),
    ):
        done = CliRunner().invoke(main, command)
        assert done.exit_code == 0, done.output
        assert "sig=" not in done.output
    written = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert not [path for path in written if b"sig=" in path.read_bytes()]


@pytest.mark.parametrize(
    ("source", "message"),
    [
        (
            "hf:ann/boats",
            r"no file of the data set ann/boats .*\. Fetch it: hf download ann/boats --repo-type dataset\.",
        ),
        ("hf:ann/kites:dev", r"has 'dev' in its name; expected a split or subset out of data/test\.csv, "),
        ("s3://box/may.csv", r"^s3://box/may\.csv is an address of s3, .* pip install 's3fs'\."),
        ("memory://box/july.csv", r"memory://box/july\.csv cannot be fetched \(FileNotFoundError"),
        ("parrot://box/may.csv", r"^parrot://box/may\.csv does not exist, and parrot is no scheme .* hf:, mlflow:, "),
    ],
)
@pytest.mark.usefixtures("hub", "memory")
def test_what_cannot_be_fetched_is_one_sentence_with_the_next_step(monkeypatch, source, message):
    monkeypatch.setitem(sys.modules, "s3fs", None)
    with pytest.raises(CorpusError, match=message):
        read_export(Path(source), Options())


def test_the_traces_of_an_experiment_are_fetched_by_the_registry(monkeypatch):
    def fetch_traces(experiment: str, to: Path) -> Path:
        (to / "traces.csv").write_text(TABLE.format(experiment))
        return to / "traces.csv"

    traces = ModuleType("dial2vec.registry.traces")
    traces.fetch_traces = fetch_traces
    monkeypatch.setitem(sys.modules, "dial2vec.registry.traces", traces)
    assert ids("mlflow:shop") == ["cshop"]
    # Databricks names experiments by paths.
    assert ids("mlflow:/Users/ann/shop") == ["c/Users/ann/shop"]


def test_a_path_of_this_machine_is_no_address(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "hf:notes").write_text("Ann: Hi\nBo: Hello\n")
    for name in ("calls.csv", "./a/b", "C:/calls.csv", "12:30.txt", "hf:notes", "notes: may.txt"):
        assert as_address(Path(name)) is None
    assert as_address(Path("s3://box/may.csv")) == "s3://box/may.csv"
    assert as_address(Path("zip://a.csv::file:///x/b.zip")) == "zip://a.csv::file:///x/b.zip"


def test_the_secrets_of_an_address_are_no_part_of_its_name():
    assert without_secrets("https://ann:pw@host.example/may.csv?sig=x") == "https://host.example/may.csv"
    assert without_secrets("github://ann:kites@main/may.csv") == "github://ann:kites@main/may.csv"
    assert stem(Path("https://host.example/may.csv?sig=x")) == "may"
    assert stem(Path("hf:ann/kites:train")) == "kites-train"


def test_a_warning_or_error_of_read_names_no_secret(memory):
    memory.pipe("/box/may.csv?sig=pw", (TABLE.format(1) + "x,,Who?\n").encode())
    with pytest.warns(UserWarning, match=r"1 dialogues or records of memory://box/may\.csv cannot be used") as told:
        read("memory://box/may.csv?sig=pw")
    refused = nothing_usable(Path("memory://box/may.csv?sig=pw"), [])
    assert str(refused).startswith("no dialogue of memory://box/may.csv can be used")
    assert "pw" not in f"{told[0].message}"
