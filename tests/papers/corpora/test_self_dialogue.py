import csv
import io
from pathlib import Path

import pytest

from conversations.dialogue import Dialogue, Quarantined, Turn
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.self_dialogue import TOPICS, SelfDialogue
from tests.data.corpora.archives import read_corpus, write_archive

# As Mechanical Turk writes them: 1, 10, 11, 12, 2, 3, ...
SENTENCES = sorted(f"Answer.sentence{n}" for n in range(1, 13))
HEADER = ["HITId", "AssignmentId", "WorkerId", "AssignmentStatus", *SENTENCES, "Approve", "Reject"]


def row(assignment: str, *said: str, worker: str = "W1", reject: str = "") -> dict[str, str]:
    answers = {f"Answer.sentence{n}": said[n - 1] if n <= len(said) else "{}" for n in range(1, 13)}
    return {"AssignmentId": assignment, "WorkerId": worker, "AssignmentStatus": "Rejected", "Reject": reject, **answers}


def table(*rows: dict[str, str]) -> str:
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, HEADER, quoting=csv.QUOTE_ALL, lineterminator="\r\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def pack(folder: Path, files: dict[str, str | bytes], *, blocked: str | None = "BAD1\nBAD2\n") -> Path:
    whole = {**files, "blocked_workers.txt": blocked}
    return write_archive(folder / "self_dialogue_corpus-main.zip", whole, top="self_dialogue_corpus-main")


def read(folder: Path) -> tuple[list[Dialogue], list[Quarantined]]:
    return read_corpus(SelfDialogue(), folder)


def test_row_is_a_dialogue_labelled_by_its_topic_folder(tmp_path: Path):
    dialogues, quarantine = read(
        pack(tmp_path / "s", {"corpus/star_wars/one.csv": table(row("A1", " Yoda? ", "Yes."))})
    )
    assert dialogues == [Dialogue("A1", (Turn("user", "Yoda?"), Turn("system", "Yes.")), ("star_wars",), None)]
    assert quarantine == []


def test_sentences_stand_in_the_order_of_their_numbers(tmp_path: Path):
    said = [f"sentence {n}" for n in range(1, 13)]
    assert SENTENCES[1] == "Answer.sentence10"
    [dialogue], _ = read(pack(tmp_path / "s", {"corpus/pop/one.csv": table(row("A1", *said))}))
    assert [turn.text for turn in dialogue.turns] == said


def test_speakers_alternate_over_the_sentences_that_are_kept(tmp_path: Path):
    [dialogue], _ = read(pack(tmp_path / "s", {"corpus/pop/one.csv": table(row("A1", "a", "{}", "b", "  ", "c"))}))
    assert dialogue.turns == (Turn("user", "a"), Turn("system", "b"), Turn("user", "c"))


def test_quoted_cell_may_hold_lines_commas_and_quotes(tmp_path: Path):
    cell = 'He said:\r\n"no, never"\nand left'
    dialogues, _ = read(pack(tmp_path / "s", {"corpus/pop/one.csv": table(row("A1", cell, "Oh."), row("A2", "Next"))}))
    assert [[turn.text for turn in d.turns] for d in dialogues] == [[cell, "Oh."], ["Next"]]


def test_rejected_blocked_empty_and_repeated_rows_are_quarantined(tmp_path: Path):
    rows = [
        row("A1", "kept, although its AssignmentStatus says Rejected"),
        row("A2", "x", reject="too short"),
        row("A3", "x", worker="BAD2"),
        row("A4"),
        row("A1", "again"),
        row("", "nameless"),
    ]
    dialogues, quarantine = read(pack(tmp_path / "s", {"corpus/pop/one.csv": table(*rows)}))
    assert [d.dialogue_id for d in dialogues] == ["A1"]
    assert [(s.origin.line, s.dialogue_id, s.reason) for s in quarantine] == [
        (2, "A2", "rejected upstream (its column 'Reject' is filled)"),
        (3, "A3", "written by a worker listed in blocked_workers.txt"),
        (4, "A4", "it has no turns"),
        (5, "A1", "the id 'A1' came before"),
        (6, "", "'dialogue_id' must be a non-empty string, found the string ''"),
    ]
    assert quarantine[0].origin.source.endswith("-main.zip/self_dialogue_corpus-main/corpus/pop/one.csv")


def test_dialogue_with_a_single_sentence_is_kept(tmp_path: Path):
    [dialogue], _ = read(pack(tmp_path / "s", {"corpus/pop/one.csv": table(row("A1", "alone"))}))
    assert dialogue.n_speakers == 1


def test_row_cut_short_keeps_what_it_has(tmp_path: Path):
    text = "AssignmentId,WorkerId,Reject,Answer.sentence1,Answer.sentence2\r\nA1,W1,,Hi\r\n"
    [dialogue], _ = read(pack(tmp_path / "s", {"corpus/pop/one.csv": text}))
    assert dialogue.turns == (Turn("user", "Hi"),)


def test_archive_without_blocked_workers_is_refused(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"holds no <top folder>/blocked_workers.txt"):
        read(pack(tmp_path / "s", {"corpus/pop/one.csv": table(row("A1", "Hi"))}, blocked=None))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("AssignmentId,WorkerId,Answer.sentence1\r\n", "has no column Reject"),
        ("AssignmentId,WorkerId,Reject\r\n", "has no column Answer.sentence1"),
        ("", "has no column AssignmentId"),
        (b"AssignmentId,WorkerId,Reject,Answer.sentence1\r\nA1,W1,,\xff\r\n", r"is not UTF-8 \(byte 54\)"),
        (table(row("A1", "x" * 140_000)), r"one.csv:\d+: not a CSV table \(field larger"),
    ],
)
def test_batch_that_is_no_table_of_answers_is_refused_by_name(tmp_path: Path, content: str | bytes, message: str):
    with pytest.raises(CorpusError, match=message) as raised:
        read(pack(tmp_path / "s", {"corpus/pop/one.csv": content}))
    assert "corpus/pop/one.csv" in str(raised.value)


def test_archive_of_something_else_is_refused(tmp_path: Path):
    with pytest.raises(CorpusError, match=r"holds no usable <top folder>/corpus/<topic>/\*.csv"):
        read(pack(tmp_path / "self_dialogue", {"README.md": "hello"}))


def test_missing_names_absent_topics_and_the_blocked_workers(tmp_path: Path):
    every: dict[str, str | bytes] = {f"corpus/{topic}/one.csv": "" for topic in TOPICS}
    assert len(TOPICS) == 23
    assert SelfDialogue().missing(pack(tmp_path / "whole", every)) == []
    del every["corpus/action/one.csv"], every["corpus/thriller/one.csv"]
    absent = ["corpus/action", "corpus/thriller", "blocked_workers.txt"]
    assert SelfDialogue().missing(pack(tmp_path / "part", every, blocked=None)) == absent
