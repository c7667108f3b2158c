import gzip
from pathlib import Path

from conversations.dialogue import Dialogue, Turn
from dial2vec_papers.corpora.amazon_qa import AmazonQa
from tests.papers.corpora.upstream import QA, read


def test_question_and_answer_are_a_dialogue_of_the_files_category(tmp_path: Path):
    dialogues, quarantine = read("amazon_qa", tmp_path)
    assert dialogues == [
        Dialogue(
            "Appliances/1",
            (Turn("asker", "Does it's cord reach?"), Turn("answerer", "Yes, 2 m.")),
            ("Appliances",),
        ),
        Dialogue("Baby/1", (Turn("asker", "Is it soft?"), Turn("answerer", "Very.")), ("Baby",)),
    ]
    assert quarantine == []


def test_gzip_files_as_upstream_has_them_are_read(tmp_path: Path):
    (tmp_path / "qa_Baby.json.gz").write_bytes(
        gzip.compress(f"{QA | {'question': 'Soft?', 'answer': 'Yes.'}}\n".encode())
    )
    assert [d.dialogue_id for d in AmazonQa().read(tmp_path, quarantine=[])] == ["Baby/1"]


def test_file_that_parlai_makes_is_read_without_labels(tmp_path: Path):
    lines = "text:Is it\\nsoft?\tlabels:Very.\tepisode_done:True\ntext:Odd\tepisode_done:True\n"
    changes = {"qa_Appliances.json": None, "qa_Baby.json": None, "amazonqa.txt": lines}
    dialogues, quarantine = read("amazon_qa", tmp_path, changes)
    assert dialogues == [Dialogue("amazonqa/1", (Turn("asker", "Is it\nsoft?"), Turn("answerer", "Very.")))]
    assert [(found.dialogue_id, found.reason) for found in quarantine] == [
        ("amazonqa/2", "the key 'labels' is missing")
    ]


def test_lines_are_values_and_never_run(tmp_path: Path):
    lines = ["__import__('os').abort()", "{'question': 'A?'", "[1]", "{'question': 'A?', 'answer': ' '}"]
    _, quarantine = read("amazon_qa", tmp_path, {"qa_Tools.json": "\n".join(lines)})
    assert [(found.dialogue_id, found.reason) for found in quarantine] == [
        ("Tools/1", "neither a dictionary of Python nor JSON"),
        ("Tools/2", "neither a dictionary of Python nor JSON"),
        ("Tools/3", "the line must be an object, found a list"),
        ("Tools/4", "its question or its answer is blank"),
    ]
