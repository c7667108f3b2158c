"""`make general`: the script that makes the general student, on tiny texts and a tiny teacher."""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import pytest

from conversations.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.config import Distil
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.student import StudentEncoder
from dial2vec.errors import CorpusError
from tests.tiny_models import WORDS, bert

sys.path.insert(0, str(Path(__file__).parents[1] / "general"))
from make import FILES, Recipe, make, write
from texts import glosses, single_turns
from vocabulary import vocabulary_of

RECIPE = Recipe({"calls": 60}, turns=40, glosses=8, tokens=40, dimension=8, options=Distil(epochs=2))
# Offset, file, part of speech, number of words (hexadecimal), words, pointers, gloss.
FOLDERS = ("first", "second")
SYNSET = "00001740 03 {part} 02 w1_w2 0 w3(p) 0 000 | w4 w5; w6  "


def texts(folder: Path) -> dict[str, Path]:
    """Write calls and a tiny WordNet; return the options of `make`."""
    rng = random.Random(1)
    calls = [
        Dialogue(f"c{n}", tuple(Turn("ab"[turn % 2], " ".join(rng.choices(WORDS, k=6))) for turn in range(4)))
        for n in range(100)
    ]
    data, wordnet = folder / "data", folder / "wordnet"
    (data / "calls").mkdir(parents=True)
    wordnet.mkdir()
    write_dialogues(data / "calls" / "calls.jsonl", calls)
    for part, letter in {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}.items():
        licence = "  1 This software and database is being provided to you\n"
        (wordnet / f"data.{part}").write_text(f"{licence}{SYNSET.format(part=letter)}\n" * 2)
    return {"data": data, "wordnet": wordnet}


@pytest.fixture
def teacher(tmp_path):
    bert(tmp_path / "teacher")
    return str(tmp_path / "teacher")


def test_the_same_seed_gives_the_same_bytes(tmp_path, teacher):
    given = texts(tmp_path)
    for run in FOLDERS:
        student = make(RECIPE, **given, work=tmp_path / run, seed=3, teacher=teacher)
        write(student, tmp_path / "out" / run)
    first, second = ({path.name: path.read_bytes() for path in (tmp_path / "out" / run).iterdir()} for run in FOLDERS)
    assert set(first) == set(FILES)
    assert first == second
    other = make(RECIPE, **given, work=tmp_path / "other", seed=4, teacher=teacher)
    assert other.fingerprint() != StudentEncoder.from_pretrained(tmp_path / "out" / "first").fingerprint()


def test_glosses_come_with_their_words_and_without_the_licence(tmp_path):
    read = glosses(texts(tmp_path)["wordnet"])
    assert [turn.text for gloss in read for turn in gloss.turns] == ["w1 w2, w3: w4 w5; w6"] * 8


def test_a_missing_wordnet_says_how_to_get_it(tmp_path):
    with pytest.raises(CorpusError, match="wordnet-base"):
        glosses(tmp_path)


def test_single_turns_are_neither_short_nor_repeated():
    said = ("one two three", "one two three four", "one two three four", "word " * 61)
    turns = single_turns([Dialogue("d", tuple(Turn("a", text) for text in said))])
    assert [dialogue.turns[0].text for dialogue in turns] == ["one two three four"]


def test_a_word_that_the_teacher_splits_gets_a_row_and_unused_tokens_lose_theirs(tmp_path):
    bert(tmp_path / "teacher")
    # The tokenizer learns pieces, so that "xa" is split into two.
    path = tmp_path / "teacher" / "tokenizer.json"
    content = json.loads(path.read_text())
    vocab = content["model"]["vocab"]
    vocab |= {"x": len(vocab), "##a": len(vocab) + 1}
    path.write_text(json.dumps(content))
    encoder = DialogueEncoder.from_pretrained(tmp_path / "teacher")
    said = [Dialogue(str(n), (Turn("a", "xa w2"),)) for n in range(5)]
    vocabulary = vocabulary_of(encoder, said, size=100)
    tokens = vocabulary.tokenizer.get_vocab()
    assert vocabulary.tokenizer.encode("xa w2").tokens == ["xa", "w2"]
    assert vocabulary.pieces[tokens["xa"]] == [vocab["x"], vocab["##a"]]
    assert not [token for token in tokens if token.startswith("[unused")]
    assert sorted(tokens.values()) == list(range(len(vocabulary.pieces)))
