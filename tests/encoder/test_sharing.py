from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.head import Head
from dial2vec.encoder.vector_cache import model_fingerprint
from tests.tiny_models import build

from .test_encoder import some_dialogues

sentence_transformers = pytest.importorskip("sentence_transformers")


def with_head(encoder):
    drawn = torch.Generator().manual_seed(3)
    width = encoder.dimension
    encoder.head = Head(0.1 * torch.randn(width, generator=drawn), torch.randn(width, width, generator=drawn))
    return encoder


def loaded(folder):
    return sentence_transformers.SentenceTransformer(str(folder), device="cpu", local_files_only=True)


@pytest.mark.parametrize("head", [False, True], ids=["plain", "linear map"])
@pytest.mark.parametrize("pooling", ["mean", "cls"])
def test_sentence_transformers_gives_the_vectors_of_the_encoder(tiny_folder, tmp_path, pooling, head):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, pooling=pooling, device="cpu")
    encoder = with_head(encoder) if head else encoder
    encoder.save_pretrained(tmp_path / "m")
    dialogues = some_dialogues()
    found = loaded(tmp_path / "m").encode([dialogue.text for dialogue in dialogues])
    np.testing.assert_allclose(found, encoder.encode(dialogues), atol=1e-5)


def test_role_pooling_is_opened_as_the_mean_of_all_tokens(tiny_folder, tmp_path):
    with_head(DialogueEncoder.from_pretrained(tiny_folder, device="cpu")).save_pretrained(tmp_path / "m")
    dialogues = some_dialogues()
    expected = DialogueEncoder.from_pretrained(tmp_path / "m", pooling="mean", device="cpu").encode(dialogues)
    found = loaded(tmp_path / "m").encode([dialogue.text for dialogue in dialogues])
    np.testing.assert_allclose(found, expected, atol=1e-5)


def test_berts_own_tokenizer_gives_the_same_tokens_cut_at_the_same_place(tmp_path):
    encoder = DialogueEncoder.from_pretrained(build("bert", tmp_path / "bert"), max_length=9, device="cpu")
    encoder.save_pretrained(tmp_path / "m")
    model = loaded(tmp_path / "m")
    assert model.max_seq_length == 9
    for dialogue in some_dialogues():
        ids = model.preprocess([dialogue.text])["input_ids"][0].tolist()
        assert ids == encoder.tokens.dialogues([dialogue])[0].ids.tolist()


@pytest.mark.parametrize(
    ("name", "options"),
    [
        ("bert", {"turn_embeddings": True}),
        ("bert", {"hierarchy": "hssa"}),
        ("bert", {"input": "closed"}),
        ("bert", {"last_turns": 2}),
        ("bert", {"pooling": "turns"}),
        ("roberta", {}),
        ("t5", {}),
        ("blender", {}),
        ("plato", {}),
    ],
)
def test_what_the_library_cannot_say_is_not_written(tmp_path, name, options):
    encoder = DialogueEncoder.from_pretrained(build(name, tmp_path / name), device="cpu", **options)
    encoder.save_pretrained(tmp_path / "m")
    assert not (tmp_path / "m" / "modules.json").exists()
    assert "DialogueEncoder.from_pretrained" in (tmp_path / "m" / "README.md").read_text()


def test_bertopic_takes_a_saved_encoder(tiny_folder, tmp_path):
    bertopic = pytest.importorskip("bertopic")
    with_head(DialogueEncoder.from_pretrained(tiny_folder, device="cpu")).save_pretrained(tmp_path / "m")
    texts = [dialogue.text for dialogue in some_dialogues() * 8]
    model = loaded(tmp_path / "m")
    topics, _ = bertopic.BERTopic(
        embedding_model=model, umap_model=PCA(2), hdbscan_model=KMeans(2, n_init=1, random_state=0)
    ).fit_transform(texts)
    # Equal texts have equal vectors, and so one topic.
    assert len(set(topics)) == 2
    assert all(len({topic for topic, other in zip(topics, texts, strict=True) if other == text}) == 1 for text in texts)


def test_a_saved_encoder_is_the_one_that_was_saved(tiny_folder, tmp_path):
    encoder = DialogueEncoder.from_pretrained(tiny_folder, device="cpu")
    known = model_fingerprint(encoder)
    for name in ("first", "second"):
        encoder.save_pretrained(tmp_path / name)
        encoder = DialogueEncoder.from_pretrained(tmp_path / name, device="cpu")
        assert model_fingerprint(encoder) == known
