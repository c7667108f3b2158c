from __future__ import annotations

import pickle

import numpy as np
import pytest

import dial2vec
from conversations.dialogue import Dialogue, Turn
from dial2vec.encoder.student import StudentEncoder, TokenTable
from dial2vec.encoder.student import student as module
from dial2vec.errors import CorpusError, Dial2vecError, ModelError
from tests.conftest import WORDS, make_dialogue

DIALOGUES = [
    make_dialogue("d1", "a: w1 w2 w3", "b: w4", "a: w5 w1", "c: w6 w7"),
    make_dialogue("d2", "b: w8", "b: w9 unknown w9"),
    make_dialogue("d3", "a: w1", "b: w2 w2 w2 w3"),
]
SILENT = Dialogue("silent", (Turn("a", "\t"), Turn("b", "\n")))


def slowly(student: StudentEncoder, dialogue: Dialogue) -> np.ndarray:
    """The vector in double precision, token by token."""
    total = np.zeros(student.dimension)
    for speaker in dict.fromkeys(turn.speaker for turn in dialogue.turns):
        above, below = np.zeros(student.dimension), 0.0
        for turn in dialogue.turns:
            if turn.speaker == speaker:
                for number in student.tokenizer.encode(turn.text, add_special_tokens=False).ids:
                    weight = float(student.table.weights[number])
                    above += weight * student.table.rows[number].astype(np.float64)
                    below += weight
        total += above / below if below else 0
    return total / (np.linalg.norm(total) or 1)


def many(n: int, *, seed: int = 0) -> list[Dialogue]:
    draws = np.random.default_rng(seed)
    dialogues = []
    for number in range(n):
        # Few words are common, most are rare.
        words = [WORDS[min(int(draws.pareto(0.5)), 39)] for _ in range(draws.integers(1, 60))]
        turns = [Turn("abc"[draws.integers(3)], " ".join(part)) for part in np.array_split(words, 5)]
        dialogues.append(Dialogue(str(number), tuple(turns)))
    return dialogues


def test_a_vector_is_that_of_a_plain_loop_in_double_precision(student):
    dialogues = [*DIALOGUES, SILENT, *many(300)]
    vectors = student.encode(dialogues)
    assert vectors.dtype == np.float32
    expected = [slowly(student, dialogue) for dialogue in dialogues]
    np.testing.assert_allclose(vectors, expected, atol=2e-6)


@pytest.mark.parametrize("batch_size", [1, 7, 100_000])
def test_the_batch_size_changes_nothing(student, batch_size):
    dialogues = many(100)
    for output in ("dialogue", "turns", "speakers"):
        once, again = (student.encode(dialogues, output=output, batch_size=size) for size in (512, batch_size))
        for one, other in zip(once, again, strict=True):
            np.testing.assert_allclose(one, other, atol=1e-6)


@pytest.mark.parametrize("batch_size", [0, -1])
def test_a_batch_size_below_1_is_refused(student, batch_size):
    for encode in (student.encode, student.encode_utterances):
        with pytest.raises(Dial2vecError, match=f"batch_size is {batch_size}; expected at least 1"):
            encode([], batch_size=batch_size)


def test_long_dialogues_are_read_in_blocks_of_their_own(student, monkeypatch):
    dialogues = many(20)
    whole = student.encode(dialogues)
    monkeypatch.setattr(module, "MAX_TURNS", 6)
    np.testing.assert_allclose(student.encode(dialogues), whole, atol=1e-6)


def test_a_dialogue_without_tokens_and_a_silent_speaker_give_zeros(student):
    assert not student.encode(SILENT).any()
    quiet = make_dialogue("d", "a: w1", "b:")
    speakers = student.encode(quiet, output="speakers")
    assert speakers.any(1).tolist() == [True, False]
    np.testing.assert_allclose(student.encode(quiet), speakers[0], atol=1e-6)
    assert student.encode(quiet, output="turns")[1].any() is np.False_


def test_speakers_names_and_special_tokens_do_not_count(student):
    renamed = Dialogue("d", tuple(Turn(turn.speaker + "x", turn.text) for turn in DIALOGUES[0].turns))
    np.testing.assert_array_equal(student.encode(renamed), student.encode(DIALOGUES[0]))
    # The tokenizer's own [SEP] is a token of the text if a text says so, as for the teacher.
    ids, _ = student.reader.read([["w1 [SEP] w2[CLS]"]])
    assert ids.tolist() == [6, 3, 7, 2]


def test_turns_speakers_sides_and_utterances_have_length_1_and_their_own_tokens(student):
    first = DIALOGUES[0]
    for part in (student.encode(first, output="turns"), student.encode(first, output="speakers")):
        np.testing.assert_allclose(np.linalg.norm(part, axis=1), 1, atol=1e-6)
    turns = student.encode_utterances([turn.text for turn in first.turns], roles=[0, 1, 0, 2], batch_size=2)
    np.testing.assert_allclose(turns, student.encode(first, output="turns"), atol=1e-6)
    sides = student.encode_sides(DIALOGUES)
    assert sides.any(2).tolist() == [[True, True], [True, False], [True, True]]
    np.testing.assert_allclose(sides[0, 1], slowly(student, first.side(1)), atol=1e-6)
    assert student.encode_utterances([]).shape == student.encode([]).shape == (0, 8)


def test_encode_takes_what_the_teacher_takes(student):
    messages = [{"role": "user", "content": "w1 w2"}, {"role": "assistant", "content": "w3"}]
    assert student.encode(messages).shape == (8,)
    np.testing.assert_array_equal(student.encode([messages, messages])[1], student.encode(messages))
    with pytest.raises(CorpusError, match="dialogue 'e' has no turns"):
        student.encode([Dialogue("e", ())])
    with pytest.raises(ModelError, match=r"output is 'turn'\. Did you mean 'turns'"):
        student.encode(DIALOGUES, output="turn")
    assert (student.count_long(DIALOGUES), student.reads_whole, student.max_length) == (0, True, None)


def test_shares_sum_to_one_or_to_the_cosine(student):
    other = student.encode(DIALOGUES[1])
    for dialogue in (DIALOGUES[0], *many(10)):
        vector = student.encode(dialogue)
        assert student.turn_shares(dialogue).sum() == pytest.approx(1, abs=1e-6)
        shares = student.turn_shares(dialogue, towards=3 * other)
        assert (shares.shape, shares.dtype) == ((len(dialogue.turns),), np.float32)
        assert shares.sum() == pytest.approx(vector @ other, abs=1e-6)
        tokens = student.token_shares(dialogue, towards=other)
        np.testing.assert_allclose([sum(token.share for token in turn) for turn in tokens], shares, atol=1e-6)
        pairs = zip(dialogue.turns, tokens, strict=True)
        words = [turn.text[token.start : token.end] for turn, own in pairs for token in own]
        assert words == dialogue.text.split()
    assert student.turn_shares(SILENT).tolist() == [0, 0]


def test_a_turns_share_is_what_its_tokens_add_to_the_vector(student):
    dialogue, other = DIALOGUES[0], student.encode(DIALOGUES[2])
    ids = student.tokenizer.encode(dialogue.turns[1].text).ids
    weights, rows = student.table.weights[ids], student.table.rows[ids]
    unnormalised = sum(
        student.table.weights[own] @ student.table.rows[own] / student.table.weights[own].sum()
        for texts in (["w1 w2 w3", "w5 w1"], ["w4"], ["w6 w7"])
        for own in [[number for text in texts for number in student.tokenizer.encode(text).ids]]
    )
    expected = (weights @ rows / weights.sum()) @ other / np.linalg.norm(unnormalised)
    assert student.turn_shares(dialogue, towards=other)[1] == pytest.approx(expected, abs=1e-6)


def test_a_tokenizer_with_more_tokens_than_the_table_is_refused(student):
    small = TokenTable(student.table.rows[:40], student.table.weights[:40])
    with pytest.raises(ModelError, match="a tokenizer with 45 tokens for a table with 40 rows"):
        StudentEncoder(small, student.tokenizer, name="start")


def test_the_fingerprint_changes_with_the_table_only(student):
    table = student.table
    same = StudentEncoder(TokenTable(table.rows.copy(), table.weights), student.tokenizer, name="other", teacher="x")
    assert same.fingerprint() == student.fingerprint()
    moved = StudentEncoder(TokenTable(table.rows + 1, table.weights), student.tokenizer, name="start")
    assert moved.fingerprint() != student.fingerprint()


def test_a_student_can_be_pickled(student):
    expected = student.encode(DIALOGUES)
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(student)).encode(DIALOGUES), expected)


def test_the_package_offers_the_student(tiny_folder, student, tmp_path):
    student.save_pretrained(tmp_path / "student", rows="fp32")
    loaded = dial2vec.load_encoder(tmp_path / "student")
    assert type(loaded) is dial2vec.StudentEncoder
    np.testing.assert_array_equal(loaded.encode(DIALOGUES), student.encode(DIALOGUES))
    assert type(dial2vec.load_encoder(tiny_folder, device="cpu")) is dial2vec.DialogueEncoder
    with pytest.raises(ModelError, match=r"is no transformer, .* dial2vec\.load_encoder"):
        dial2vec.DialogueEncoder.from_pretrained(tmp_path / "student")
    with pytest.raises(ModelError, match=r"holds no student: .* dial2vec\.load_encoder"):
        StudentEncoder.from_pretrained(tiny_folder)


def test_the_teacher_has_the_same_two_methods(tiny_folder):
    encoder = dial2vec.DialogueEncoder.from_pretrained(tiny_folder, device="cpu")
    assert encoder.turn_shares(DIALOGUES[0]).sum() == pytest.approx(1, abs=1e-5)
    assert encoder.fingerprint() == dial2vec.load_encoder(tiny_folder, device="cpu").fingerprint()
