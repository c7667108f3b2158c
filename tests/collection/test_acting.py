"""The dialogues of a topic reach other tools in the forms that these read."""

from __future__ import annotations

import csv
import json
from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from openai.types.evals.create_eval_jsonl_run_data_source_param import SourceFileContentContent
from pydantic import TypeAdapter

from conversations.dialogue import Turn
from dial2vec.cli import main
from dial2vec.collection import Collection
from dial2vec.collection.acting import members_of, messages_of, write_members
from dial2vec.collection.clustering import cluster
from dial2vec.collection.clustering.curation import curate
from dial2vec.collection.search import Filters
from dial2vec.encoder.nearest import unit_rows
from dial2vec.errors import ArtifactError, CorpusError
from tests.collection.made import written
from tests.conftest import make_dialogue

TICKET = "https://desk.example/tickets/7?a=b"


@pytest.fixture(scope="module")
def collection(tmp_path_factory) -> Collection:
    """Two topics of twenty; the dialogues of the first have addresses, those of the second one that is none."""
    topics = np.repeat([0, 1], 20)
    noise = np.random.default_rng(1).normal(size=(40, 12))
    vectors = unit_rows(np.eye(12)[topics] + 0.1 * noise).astype(np.float32)
    facts = [{"csat": 1, "url": TICKET}, {"csat": 5, "url": "javascript:alert(1)"}]
    dialogues = [
        replace(
            make_dialogue(f"d{at}", "bot: hello", f"customer: my card word{topic}", "Agent 7: blocked", "Agent 7: bye"),
            metadata=facts[topic],
        )
        for at, topic in enumerate(topics)
    ]
    made = written(tmp_path_factory.mktemp("acting") / "calls", dialogues, vectors)
    cluster(made, k=2)
    curate(
        made, "rename", members_of(made, filters=Filters(where=("csat == 1",)))["topic_id"][0].as_py(), to="Lost <&>"
    )
    return Collection(made.folder)


def exported(collection: Collection, form: str, path) -> list[dict]:
    """Return the records of the first topic as the command writes them."""
    arguments = ["export", str(collection.folder), "lost <&>", "--as", form, "--output", str(path)]
    result = CliRunner().invoke(main, arguments)
    assert result.output == f"20 conversations: {path}\n"
    text = path.read_text(encoding="utf-8")
    return json.loads(text) if form in ("label-studio", "argilla") else [json.loads(line) for line in text.splitlines()]


def test_the_most_typical_come_first_and_a_sample_is_the_same_by_its_seed(collection):
    members = members_of(collection, ["Lost <&>"])
    cosines = members["cosine"].to_pylist()
    assert cosines == sorted(cosines, reverse=True)
    assert {*members["dialogue_id"].to_pylist()} == {f"d{at}" for at in range(20)}
    few, same, other = (members_of(collection, sample=5, seed=seed)["dialogue_id"].to_pylist() for seed in (1, 1, 2))
    assert few == same != other
    assert len(few) == 5


def test_areas_and_filters_narrow_and_what_is_unknown_is_named(collection):
    [area] = members_of(collection, ["Lost <&>"])["area"].unique().to_pylist()
    assert set(members_of(collection, [area], area=True)["area"].to_pylist()) == {area}
    with pytest.raises(CorpusError, match=r"no topic is called 'Lost <&'; .*Did you mean 'Lost <&>'\?"):
        members_of(collection, ["Lost <&"])
    with pytest.raises(CorpusError, match="has no such conversation; expected some"):
        members_of(collection, ["Lost <&>"], filters=Filters(where=("csat == 5",)))


def test_hidden_topics_and_what_belongs_to_nothing_are_left_out(collection, tmp_path):
    copy = written(tmp_path / "c", list(collection.dialogues()), collection.vectors)
    with pytest.raises(ArtifactError, match=r"has no groups; expected those of `dial2vec cluster .*`\. Run that first"):
        members_of(copy)
    cluster(copy, k=2)
    hidden = members_of(copy)["topic_id"][0].as_py()
    curate(copy, "hide", hidden)
    members = members_of(copy)
    assert hidden not in members["topic_id"].to_pylist()
    path = copy.folder / "clusters" / "assignment.parquet"
    table = pq.read_table(path)
    outside = members["dialogue_id"][0].as_py()
    belongs = pa.compute.not_equal(table["dialogue_id"], outside)
    pq.write_table(table.set_column(table.column_names.index("belongs"), "belongs", belongs), path)
    assert members_of(copy)["dialogue_id"].to_pylist() == members["dialogue_id"].to_pylist()[1:]


def test_openai_reads_items_that_end_before_the_last_answer(collection, tmp_path):
    rows = exported(collection, "openai", tmp_path / "out.jsonl")
    assert TypeAdapter(list[SourceFileContentContent]).validate_python(rows) == rows
    item = rows[0]["item"]
    assert [message["role"] for message in item["messages"]] == ["assistant", "user"]
    assert item["answer"] == "blocked bye"
    assert item["link"] == TICKET


def test_label_studio_finds_each_predicted_topic_among_its_choices(collection, tmp_path):
    """As the SDK's `LabelInterface.validate_prediction` checks it: names, types and values of the configuration."""
    tasks = exported(collection, "label-studio", tmp_path / "tasks.json")
    paragraphs, choices = ElementTree.parse(tmp_path / "tasks.xml").getroot()
    assert all(paragraphs.get("value") == f"${key}" for key in tasks[0]["data"] if key == "dialogue")
    assert {*tasks[0]["data"]["dialogue"][0]} == {paragraphs.get("nameKey"), paragraphs.get("textKey")}
    [region] = tasks[0]["predictions"][0]["result"]
    assert (region["from_name"], region["to_name"]) == (choices.get("name"), choices.get("toName"))
    assert region["to_name"] == paragraphs.get("name")
    assert region["type"] == choices.tag.lower()
    assert {*region["value"]["choices"]} < {choice.get("value") for choice in choices}


def test_argilla_reads_roles_without_blanks_and_a_suggestion_by_question(collection, tmp_path):
    """As `Record.from_dict` of its client, and `ChatFieldValue` of its server, take them."""
    records = exported(collection, "argilla", tmp_path / "records.json")
    assert {*records[0]} == {"id", "fields", "metadata", "suggestions"}
    assert {message["role"] for message in records[0]["fields"]["dialogue"]} == {"user", "assistant"}
    suggestion = records[0]["suggestions"]["topic"]
    assert {*suggestion} == {"value", "score", "agent"}
    assert 0 <= suggestion["score"] <= 1


def test_tags_have_the_address_of_the_source_and_no_formula(collection, tmp_path):
    members = members_of(collection)
    write_members(collection, members.set_column(2, "topic", pa.array(["=1+1"] * 40)), "tags", tmp_path / "tags.csv")
    with (tmp_path / "tags.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert {
        row["link"]
        for row in rows
        if row["dialogue_id"] in members_of(collection, ["Lost <&>"])["dialogue_id"].to_pylist()
    } == {TICKET}
    assert {row["link"] for row in rows} == {TICKET, ""}
    assert {row["topic"] for row in rows} == {"'=1+1"}


@pytest.mark.parametrize(
    ("speakers", "roles"),
    [
        (("Ann", "Bob", "Ann"), "uau"),
        (("Agent 7", "Ann", "bot"), "aua"),
        (("bot", "customer", "Ann"), "aua"),
        (("user", "client"), "ua"),
    ],
)
def test_users_are_known_by_their_names_else_the_first_speaker_is_one(speakers, roles):
    dialogue = replace(make_dialogue("d", "a: x"), turns=tuple(Turn(speaker, "x") for speaker in speakers))
    assert "".join(message["role"][0] for message in messages_of(dialogue)) == roles


def test_a_file_or_an_experiment_is_asked_for(collection):
    for wrong in (["--as", "tags"], ["--as", "openai", "--experiment", "e"]):
        result = CliRunner().invoke(main, ["export", str(collection.folder), *wrong])
        assert result.exit_code == 1
        assert result.output.startswith("Error: expected --output FILE, or --experiment NAME with --as mlflow or tags.")
