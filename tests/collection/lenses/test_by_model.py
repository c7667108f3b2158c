from __future__ import annotations

import json
from itertools import count

import pytest
from click.testing import CliRunner

from conversations.dialogue import Dialogue, Turn
from conversations.redaction import COUNTRIES, Masks
from dial2vec.cli import main
from dial2vec.collection.describing.chat import AnswerError
from dial2vec.collection.lenses import LensLabel
from dial2vec.collection.lenses.by_model import BEGINNING, END, answers_of, label_questions, unanswered
from dial2vec.collection.lenses.examples import examples_file, read_examples, write_examples
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL, resolve
from tests.collection.describing.conftest import Reply, server  # noqa: F401
from tests.collection.lenses.made import BOOKED, FAILED, calls
from tests.collection.made import indexed

LABELS = [LensLabel("booked", ("it is reserved",)), LensLabel("failed")]
MASKS = Masks(countries=COUNTRIES)


@pytest.fixture(scope="module")
def collection(tmp_path_factory):
    """60 calls, one that tells an address, and one that is long."""
    made, _ = calls(60)
    said = [Turn("user", "mail me at olga@example.com"), Turn("system", "sorry , that did not work")]
    many = [Turn("user", f"word{number} and so on and on") for number in range(400)]
    more = [Dialogue("told", tuple(said)), Dialogue("long", (*many, Turn("system", "all set")))]
    folder = tmp_path_factory.mktemp("model") / "calls"
    return indexed(folder, [*made, *more], load_encoder(resolve(GENERAL)))


def end_of(text):
    ends = [end for end, said in (("booked", BOOKED), ("failed", FAILED)) if any(each in text for each in said)]
    return Reply(f'Here it is: {{"label": "{[*ends, "none"][0]}"}}')


@pytest.fixture
def labeller(server):  # noqa: F811
    server.usual = end_of
    return server


def test_a_question_names_the_labels_and_masks_the_text(collection):
    one, long = label_questions(collection, LABELS, [collection.row("told"), collection.row("long")], MASKS)
    rules, text = (message["content"] for message in one.messages)
    assert rules.endswith("- booked: it is reserved\n- failed\n- none: none of the other labels")
    assert "sorry , that did not work" in text
    assert "olga@example.com" not in text
    text = long.messages[1]["content"]
    assert len(text) == BEGINNING + END + 5
    assert text.startswith("user: word0")
    assert text.endswith("all set")


def test_answers_are_kept_so_that_no_question_is_asked_twice(collection, labeller):
    questions = label_questions(collection, LABELS, range(6), MASKS)
    settings = labeller.settings()
    assert unanswered(collection, settings, questions) == questions
    steps = count()
    answered, failures = answers_of(collection, settings, LABELS, questions, lambda: next(steps))
    assert list(answered.values()) == ["booked", "failed", "none"] * 2
    assert (failures, next(steps), len(labeller.got)) == ([], 6, 6)
    assert unanswered(collection, settings, questions) == []
    assert answers_of(collection, settings, LABELS, questions)[0] == answered
    assert len(labeller.got) == 6
    assert len(unanswered(collection, labeller.settings(model="other"), questions)) == 6


def test_an_answer_in_another_form_is_asked_again_and_then_told(collection, labeller):
    questions = label_questions(collection, LABELS, range(6, 10), MASKS)
    labeller.replies = [Reply(said) for said in ("I think it was booked.", '{"label": "none"}', '{"label": "x"}', "no")]
    answered, failures = answers_of(collection, labeller.settings(), LABELS, questions)
    assert list(answered.values()) == ["none", "none", "booked"]
    assert len(failures) == 1
    assert "expected JSON with one of the labels booked, failed, none" in failures[0]


def test_after_a_refusal_no_further_question_is_asked(collection, labeller):
    labeller.always = Reply(status=401, raw=b"no")
    with pytest.raises(AnswerError):
        answers_of(collection, labeller.settings(), LABELS, label_questions(collection, LABELS, range(20, 26), MASKS))
    assert len(labeller.got) == 1


def test_the_command_says_what_it_sends_and_how_often_the_model_agrees(collection, labeller, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    block = json.dumps({"address": labeller.address, "model": "small", "key_variable": "A_KEY"})
    (tmp_path / "operation.yaml").write_text(f"language_model: {block}\n")
    _, ends = calls(60)
    # A person's four answers, one of them wrong.
    own = {name: ends[name] for name in list(ends)[:3]} | {"call-0-3": "none"}
    write_examples(examples_file(collection.folder, "end"), own)
    words = ["lens", str(collection.folder), "--name", "end", "--is", "booked: it is reserved", "--is", "failed: no"]
    asked = CliRunner().invoke(main, [*words, "--by-model", "40"], input="n\n")
    assert asked.exit_code == 1
    assert "masked dialogues, about" in asked.stderr
    assert "nothing was sent" in asked.stderr
    assert labeller.got == []
    done = CliRunner().invoke(main, [*words, "--by-model", "40", "--yes"])
    assert done.exit_code == 0, done.output
    assert "The language model agrees with 3 of 4 examples" in done.stderr
    found = read_examples(examples_file(collection.folder, "end"))
    # The person's answer stays.
    assert (len(found), found["call-0-3"]) == (44, "none")
    assert "AUROC" in done.stdout
    assert "masked dialogues, about" in done.stderr
    # What the model labelled before is no example of a person, and a correction of it is one.
    named = next(name for name, label in found.items() if name not in own and label != "none")
    write_examples(examples_file(collection.folder, "end"), found | {named: "none"})
    again = CliRunner().invoke(main, [*words, "--by-model", "10", "--yes"])
    assert "The language model agrees with 3 of 5 examples" in again.stderr
    assert len(read_examples(examples_file(collection.folder, "end"))) == 54


def test_three_failures_in_a_row_end_the_questions_and_single_ones_do_not(collection, labeller):
    settings = labeller.settings(model="third", concurrency=1)
    no = [Reply("no"), Reply("no")]
    labeller.replies = [reply for _ in range(4) for reply in (*no, Reply('{"label": "none"}'))]
    answered, _ = answers_of(collection, settings, LABELS, label_questions(collection, LABELS, range(8), MASKS))
    assert (len(answered), len(labeller.got)) == (4, 12)
    labeller.replies = no * 3
    questions = label_questions(collection, LABELS, range(8, 20), MASKS)
    with pytest.raises(AnswerError):
        answers_of(collection, settings, LABELS, questions)
    assert len(labeller.got) == 18
