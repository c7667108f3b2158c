"""The baselines that begin with an encoder: its mean, whitening, SimCSE as it was trained, and trained here."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import CorpusError, ModelError
from dial2vec_papers.baselines import BASELINES, by_utterance, encoder_mean, simcse_trained, whitening


def test_encoder_mean_is_the_mean_over_the_tokens(tiny_folder, dialogue):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    one = dialogue("d", "a: w1 w2 w3", "b: w4")
    batch = encoder.tokens.pad(encoder.tokens.dialogues([one])).to(encoder.device)
    with torch.inference_mode():
        tokens = encoder.hidden_states(batch)[0].cpu().numpy()
    encode = encoder_mean.fit([], seed=1, start=tiny_folder)
    np.testing.assert_allclose(encode([one])[0], tokens.mean(axis=0), atol=1e-5)


def test_whitening_gives_mean_zero_and_the_identity_as_covariance():
    draws = np.random.default_rng(0)
    vectors = (draws.normal(size=(200, 5)) @ draws.normal(size=(5, 5)) + 3).astype(np.float32)
    found = whitening.fit_whitening(vectors)(vectors)
    np.testing.assert_allclose(found.mean(axis=0), 0, atol=1e-4)
    np.testing.assert_allclose(np.cov(found.T), np.eye(5), atol=1e-4)


def test_whitening_by_hand():
    # Variances 8 / 3 and 2 / 3 (n - 1 = 3) around the mean (1, 1).
    fitted = np.array([[3, 1], [-1, 1], [1, 2], [1, 0]], dtype=np.float32)
    found = whitening.fit_whitening(fitted)(np.array([[3, 2]], dtype=np.float32))
    np.testing.assert_allclose(np.abs(found), [[2 / np.sqrt(8 / 3), 1 / np.sqrt(2 / 3)]], rtol=1e-5)


def test_whitening_keeps_only_directions_that_few_dialogues_span(monkeypatch):
    draws = np.random.default_rng(0)
    few, many = draws.normal(size=(4, 16)).astype(np.float32), draws.normal(size=(9, 16)).astype(np.float32)
    # Four points span three directions; the fourth would be rounding errors scaled up to variance 1.
    found = whitening.fit_whitening(few)(many)
    assert found.shape == (9, 3)
    assert np.abs(found).max() < 20
    monkeypatch.setattr(whitening, "DIMENSIONS", 2)
    assert whitening.fit_whitening(few)(many).shape == (9, 2)


@pytest.mark.parametrize("n", [0, 1, 3])
def test_whitening_needs_two_different_dialogues(n):
    with pytest.raises(CorpusError, match=f"found {n} training dialogues"):
        whitening.fit_whitening(np.ones((n, 4), dtype=np.float32))


def test_whitening_is_fitted_to_a_seeded_lot_of_the_train_split(monkeypatch, tiny_folder, corpus):
    def of(seed):
        return whitening.fit(corpus[0], seed=seed, start=tiny_folder)(corpus[1])

    monkeypatch.setattr(encoder_mean, "MAX_DIALOGUES", 20)
    assert of(1).tolist() == of(1).tolist()
    assert not np.allclose(of(1), of(2))


def test_simcse_is_the_pretrained_model_whose_cls_vectors_of_the_utterances_are_averaged(tiny_folder, dialogue):
    one = dialogue("d", "a: w1 w2 w3", "b: w4", "a: w4")
    found = BASELINES["simcse"].fit([dialogue("t", "a: w5", "b: w6")], seed=1, start=tiny_folder)([one])
    encoder = DialogueEncoder.from_pretrained(tiny_folder)

    def cls(*words):
        ids = encoder.tokens.tokenizer.convert_tokens_to_ids(["[CLS]", *words, "[SEP]"])
        with torch.inference_mode():
            return encoder.backbone(torch.tensor([ids])).last_hidden_state[0, 0].numpy()

    np.testing.assert_allclose(found[0], (cls("w1", "w2", "w3") + 2 * cls("w4")) / 3, atol=1e-5)


def test_simcse_trained_here_without_a_step_is_the_mean_of_the_utterances_means(
    monkeypatch, tiny_folder, corpus, dialogue
):
    one = dialogue("d", "a: w1 w2 w3", "b: w4", "a: w4")
    monkeypatch.setattr(simcse_trained, "MAX_STEPS", 0)
    found = simcse_trained.fit(corpus[0], seed=1, start=tiny_folder)([one])
    alone = [dialogue("u", "a: w1 w2 w3"), dialogue("v", "a: w4"), dialogue("v", "a: w4")]
    # The tokenizer of the library closes with [SEP], so the expectation comes from the library's own pooling.
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(tiny_folder)
    expected = model.encode([turn.text for part in alone for turn in part.turns], show_progress_bar=False)
    np.testing.assert_allclose(found[0], expected.mean(axis=0), atol=1e-5)


def test_simcse_trained_here_moves_the_encoder_by_the_seed_and_leaves_the_callers_draws_alone(
    monkeypatch, tiny_folder, corpus
):
    def of(seed, steps=3):
        monkeypatch.setattr(simcse_trained, "MAX_STEPS", steps)
        return simcse_trained.fit(corpus[0], seed=seed, start=tiny_folder)(corpus[1])

    monkeypatch.setattr(simcse_trained, "BATCH", 8)
    monkeypatch.setattr(simcse_trained, "LEARNING_RATE", 1e-2)
    torch.manual_seed(5)
    expected = torch.rand(1)
    torch.manual_seed(5)
    start, first, again, other = of(1, steps=0), of(1), of(1), of(2)
    assert torch.equal(torch.rand(1), expected)
    assert np.allclose(first, again, atol=1e-6)
    assert not np.allclose(first, start, atol=1e-3)
    assert not np.allclose(first, other, atol=1e-3)


def test_simcse_trained_here_lowers_its_own_loss(monkeypatch, tiny_folder, corpus):
    """After training, two dropout views of an utterance are nearer to each other than to other utterances'."""
    from sentence_transformers.sentence_transformer.losses import MultipleNegativesRankingLoss

    texts = list({turn.text for one in corpus[0] for turn in one.turns})[:32]

    def loss(model):
        model.train()
        torch.manual_seed(0)
        tokens = model.preprocess(texts)
        with torch.no_grad():
            return float(MultipleNegativesRankingLoss(model)([dict(tokens), dict(tokens)], None))

    model = simcse_trained._load(tiny_folder)
    before = loss(model)
    torch.manual_seed(1)
    monkeypatch.setattr(simcse_trained, "BATCH", 32)
    monkeypatch.setattr(simcse_trained, "LEARNING_RATE", 1e-3)
    simcse_trained._train(model, sorted(texts) * 20)
    assert loss(model) < before


def test_an_encoder_that_is_not_there_is_named(corpus):
    with pytest.raises(ModelError, match="not a folder with a model"):
        simcse_trained.fit(corpus[0], seed=1, start="/no/such/folder")


def test_on_the_tasks_the_encoders_read_contexts_with_separators_and_their_last_turns(tiny_folder, dialogue, caplog):
    encoder = DialogueEncoder.from_pretrained(tiny_folder)
    context = dialogue("d", "a: w1 w2", "b: w3")
    long = dialogue("e", f"a: {'w5 ' * 62}", "b: w1 w2", "a: w3")
    encode = encoder_mean.fit([], seed=1, start=tiny_folder, contexts=True)
    expected = encoder.encode_contexts([["w1 w2", "w3"]])
    np.testing.assert_allclose(encode([context, long]), np.repeat(expected, 2, axis=0), atol=1e-5)
    assert "1 of 2 contexts do not fit" in caplog.text
    train = [dialogue(str(n), f"a: w{n} w{n + 1}", f"b: w{n + 2}") for n in range(8)]
    whole, read = (whitening.fit(train, seed=1, start=tiny_folder, contexts=contexts) for contexts in (False, True))
    assert not np.allclose(whole([context]), read([context]), atol=1e-3)


def test_read_by_utterance_a_dialogue_is_the_mean_of_means_or_of_start_tokens(tiny_folder, dialogue):
    talk = dialogue("d", "a: w1 w2 w3", "b: w4", "a: w4")
    texts = [turn.text for turn in talk.turns]
    for pooling in ("mean", "cls"):
        encoder = DialogueEncoder.from_pretrained(tiny_folder, pooling=pooling)
        expected = encoder.encode_utterances(texts).mean(axis=0)
        found = by_utterance.fit([], seed=1, start=tiny_folder, pooling=pooling)([talk])
        np.testing.assert_allclose(found[0], expected, atol=1e-5)
