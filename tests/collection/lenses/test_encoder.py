from __future__ import annotations

import numpy as np
import pytest
from scipy.special import expit, logsumexp

from conversations.dialogue import Dialogue, Turn
from dial2vec.collection.lenses.encoder import LensEncoder, LensModel
from dial2vec.collection.lenses.model import COLUMNS, TurnReader
from dial2vec.encoder import DialogueEncoder, load_encoder
from dial2vec.encoder.folder import LENS_FILE
from dial2vec.errors import ModelError

READER = TurnReader()
V = READER.sentences(["x"]).tokens.shape[1]
CALL = Dialogue("a", (Turn("user", "book it"), Turn("system", "sorry"), Turn("user", "thanks")))


def model(*weights):
    """Return a model that gives the word "sorry" these weights, one per label, wherever it is said and by whom."""
    table = np.zeros((V, len(weights), COLUMNS), dtype=np.float32)
    table[READER.sentences(["sorry"]).tokens.indices[0]] = np.array(weights)[:, None]
    return LensModel(np.ones(V, dtype=np.float32), table, np.array([[2.0, -1.0]] * len(weights)))


@pytest.fixture(scope="module")
def encoder():
    mean = np.array([0.25, 0.75, 0.5, 0.25, 0.25], dtype=np.float32)
    return LensEncoder(("failed", "end"), [model(4), model(1, -1)], mean)


def test_a_vector_is_the_probabilities_less_their_means(encoder):
    # "sorry" is in the second turn, and in what stands before the third one.
    odds = 2 * (logsumexp([0, 4, 4]) - np.log(3)) - 1
    vector = encoder.encode(CALL)
    np.testing.assert_allclose(vector[:2], [expit(odds) - 0.25, 1 - expit(odds) - 0.75], atol=1e-6)
    two = np.exp([2 * (logsumexp([0, side, side]) - np.log(3)) - 1 for side in (1, -1)] + [0])
    np.testing.assert_allclose(vector[2:], two / two.sum() - [0.5, 0.25, 0.25], atol=1e-6)
    assert (encoder.dimension, encoder.name) == (5, "lens failed, end")


def test_turns_are_read_with_those_before_them_and_speakers_by_their_turns(encoder):
    turns = encoder.encode(CALL, output="turns")
    assert turns.shape == (3, 5)
    np.testing.assert_allclose(turns[:, 0], expit(2 * np.array([0, 4, 4]) - 1) - 0.25, atol=1e-6)
    user, system = encoder.encode([CALL, CALL], output="speakers")[1]
    np.testing.assert_allclose(user[0], expit(2 * (logsumexp([0, 4]) - np.log(2)) - 1) - 0.25, atol=1e-6)
    np.testing.assert_allclose(system, turns[1], atol=1e-6)


def test_utterances_are_dialogues_of_one_turn(encoder):
    vectors = encoder.encode_utterances(["sorry", "hello"])
    np.testing.assert_allclose(vectors[0], encoder.encode(Dialogue("b", (Turn("user", "sorry"),))), atol=1e-6)
    np.testing.assert_allclose(encoder.encode_utterances(["sorry", "hello"], roles=[1, 0]), vectors, atol=1e-6)
    assert encoder.encode_utterances([]).shape == encoder.encode([]).shape == (0, 5)
    assert encoder.encode([], output="turns") == []


def test_shares_of_turns_sum_to_the_cosine_and_are_largest_where_it_is_told(encoder):
    assert encoder.turn_shares(CALL).sum() == pytest.approx(1, abs=1e-5)
    other = encoder.encode_utterances(["sorry"])[0]
    shares = encoder.turn_shares(CALL, towards=3 * other)
    assert shares.sum() == pytest.approx(float(encoder.similarity(encoder.encode(CALL), other)[0, 0]), abs=1e-5)
    assert shares[0] == shares.min()


def test_a_saved_encoder_is_loaded_by_its_folder_and_a_damaged_one_is_refused(encoder, tmp_path):
    encoder.save_pretrained(folder := tmp_path / "lens")
    loaded = load_encoder(folder)
    assert isinstance(loaded, LensEncoder)
    assert loaded.fingerprint() == encoder.fingerprint()
    assert loaded.fingerprint() != LensEncoder(("failed", "end"), encoder.models, encoder.mean + 1).fingerprint()
    np.testing.assert_array_equal(loaded.encode([CALL]), encoder.encode([CALL]))
    with pytest.raises(ModelError, match="is no transformer"):
        DialogueEncoder.from_pretrained(folder)
    (folder / LENS_FILE).write_text("{")
    with pytest.raises(ModelError, match=r"dialogue_lens\.json"):
        load_encoder(folder)
