from __future__ import annotations

import asyncio
import subprocess
import sys
from pathlib import Path
from shutil import copytree

import httpx
import pytest

from accessibility import axe_findings, keyboard_findings, sideways
from dial2vec.collection import Collection
from dial2vec.collection.lenses.asking import Questions, application
from dial2vec.collection.lenses.examples import examples_file, read_examples
from dial2vec.errors import CorpusError
from tests.collection.explorer.conftest import EVIL, grow, served
from tests.collection.explorer.conftest import collection as collection
from tests.collection.explorer.conftest import encoder as encoder

grow = grow
WIDTHS = (360, 768, 1024, 1440)
JSON = {"content-type": "application/json"}


@pytest.fixture
def questions(collection: Collection, tmp_path: Path) -> Questions:
    """Three questions, with two labels and none."""
    path = examples_file(tmp_path, "outcome")
    return Questions(collection, ["booked", "failed"], {"d1": "booked"}, path, n=3, seed=0)


def sent(questions: Questions, ended: list[bool], **options: object) -> httpx.Response:
    """Send an answer."""
    app = application(questions, "outcome", lambda: ended.append(True))

    async def call() -> httpx.Response:
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8050") as client:
            return await client.post("/answer", **options)

    return asyncio.run(call())


def test_an_answer_is_kept_at_once_and_can_be_taken_back(questions):
    first, second = (each.dialogue_id for each in questions.dialogues[:2])
    questions.answer(0, "failed")
    questions.answer(1, "none")
    assert read_examples(questions.path) == {"d1": "booked", first: "failed", second: "none"}
    questions.answer(0, None)
    assert read_examples(questions.path) == {"d1": "booked", second: "none"}


def test_more_labels_than_keys_are_refused(collection, tmp_path):
    for labels in ([], [f"l{n}" for n in range(10)]):
        with pytest.raises(CorpusError, match=f"found {len(labels)} labels to ask about; expected 1 to 9"):
            Questions(collection, labels, {}, tmp_path / "x.csv", n=3, seed=0)


def test_answers_come_by_requests_of_the_page_alone(questions):
    ended: list[bool] = []
    assert sent(questions, ended, json={"place": 0, "label": "failed"}).status_code == 200
    assert read_examples(questions.path)[questions.dialogues[0].dialogue_id] == "failed"
    form = {"content": '{"place": 1, "label": "failed"}', "headers": {"content-type": "text/plain"}}
    assert "expected a JSON object of this page" in sent(questions, ended, **form).json()["message"]
    assert len(read_examples(questions.path)) == 2
    assert sent(questions, ended, json={"done": True}).status_code == 200
    assert ended == [True]


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("no", "the body is not JSON; expected a JSON object"),
        ("[]", "expected a JSON object of this page"),
        ('{"place": 3, "label": "failed"}', "found the place 3; expected 0 to 2"),
        ('{"place": true, "label": "failed"}', "found the place True; expected 0 to 2"),
        ('{"place": 0, "label": "other"}', "found a label that is not asked about; expected booked, failed, none"),
    ],
)
def test_another_answer_is_refused_in_a_sentence(questions, body, message):
    answer = sent(questions, [], content=body, headers=JSON)
    assert answer.status_code == 400
    assert message in answer.json()["message"]


@pytest.mark.services("chromium")
def test_a_person_answers_by_keys_alone_and_the_command_goes_on(collection, tmp_path, chromium):
    questions = Questions(collection, ["booked", "failed"], {}, examples_file(tmp_path, "outcome"), n=40, seed=0)
    with served(application(questions, "outcome", lambda: None)) as address:
        chromium.look()
        chromium.complaints.clear()
        chromium.open(address)
        chromium.until("document.getElementById('place').textContent.startsWith('1 of 40')")
        for key, place in (("1", 2), ("2", 3), ("s", 4), ("0", 5), ("u", 4)):
            chromium.key(key)
            chromium.until(f"document.getElementById('place').textContent.startsWith('{place} of 40')")
        names = [each.dialogue_id for each in questions.dialogues]
        assert read_examples(questions.path) == {names[0]: "booked", names[1]: "failed"}
        place = next(at for at, each in enumerate(questions.dialogues) if each.dialogue_id == "d3")
        for n in range(4, place + 1):
            chromium.key("s")
            chromium.until(f"document.getElementById('place').textContent.startsWith('{n + 1} of 40')")
        assert EVIL in chromium.value("document.getElementById('turns').textContent")
        for width in WIDTHS:
            for dark in (False, True):
                chromium.look((width, 800), dark=dark)
                assert [*sideways(chromium), *axe_findings(chromium), *keyboard_findings(chromium)] == []
        chromium.key("q")
        chromium.until("document.getElementById('place').textContent.startsWith('Labels kept: 2')")
        assert chromium.complaints == []


@pytest.mark.services("chromium")
def test_the_command_goes_on_when_the_person_is_done(collection, tmp_path, chromium):
    copytree(collection.folder, calls := tmp_path / "calls")
    command = [sys.executable, "-m", "dial2vec", "lens", calls, "--name", "outcome", "--page"]
    command += ["--is", "booked: w1 w2", "--is", "failed: w21 w22"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        chromium.open(process.stdout.readline().split()[1])
        chromium.until("document.querySelectorAll('#keys button').length === 6")
        chromium.click("#keys button")
        chromium.until("document.getElementById('place').textContent.startsWith('2 of 20')")
        chromium.click("#keys button:last-child")
        chromium.until("document.getElementById('place').textContent.startsWith('Labels kept: 1')")
        said = process.communicate(timeout=120)[0]
    assert process.returncode == 0
    assert "booked" in said
    assert list(read_examples(examples_file(calls, "outcome")).values()) == ["booked"]
