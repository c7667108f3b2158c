"""A candidate reads dialogues and utterances as its method trained it to, whatever encoder it began with."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from conversations.dialogue import Dialogue, Turn
from dial2vec.config import DialAug, DialogueCse, Dse, Settings, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.head import Head
from dial2vec.encoder.inputs import STYLES, apart_input, joined_input
from dial2vec.encoder.names import SHORT_NAMES
from dial2vec.encoder.reading import Reading
from dial2vec.encoder.tokens import Batch
from dial2vec.errors import ModelError, SettingsError
from dial2vec.training.candidates import (
    START,
    Candidate,
    apply_candidate,
    read_candidates,
    save_weights,
    write_candidates,
)
from dial2vec.training.methods import METHODS
from dial2vec.training.negatives import draw_samples
from dial2vec.training.plan import Given, prepare
from tests.conftest import make_dialogue
from tests.tiny_models import build

KINDS = ("bert", "roberta", "t5", "tod-bert", "blender", "plato")
TRAIN = Train(precision="fp32")
SETTINGS = {
    "dse": Settings(train=replace(TRAIN, method="dse"), dse=Dse(min_words=1, batch_size=6, max_length=100)),
    "dialoguecse": Settings(
        train=replace(TRAIN, method="dialoguecse"), dialoguecse=DialogueCse(mlm_epochs=0, negatives=2)
    ),
    "dialaug": Settings(train=replace(TRAIN, method="dialaug"), dialaug=DialAug(answering="any")),
}
LONG = "w1 w2 w3 w4 w5 w6 w7 w8 w9 w0 w1 w2 w3 w4"


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return {name: build(name, tmp_path_factory.mktemp("tiny") / name) for name in KINDS}


def corpus():
    """Dialogues of 4 turns, one of 20, which is more than PLATO numbers, and one turn that no encoder takes whole."""
    short = [make_dialogue(f"d{i}", *(f"{'ab'[t % 2]}: w{t + i} w{t}" for t in range(4))) for i in range(4)]
    return [
        *short,
        make_dialogue("many", *(f"{'ab'[t % 2]}: w{t % 10}" for t in range(20))),
        make_dialogue("long", "a: w1", f"b: {LONG}", "a: w2", "b: w3"),
    ]


def loaded(folders, name, **options):
    return DialogueEncoder.from_pretrained(folders[name], input=SHORT_NAMES[name].input, max_length=24, **options)


def planned(encoder, method, *, settings=None):
    dialogues = corpus()
    samples = draw_samples(dialogues, negatives=1, passes=1, keep_role="random", min_turns=2, seed=1)
    ours = settings or SETTINGS[method]
    plan = METHODS[method](Given(encoder, dialogues, samples, replace(ours, seed=1), None))
    prepare(encoder, plan)
    return plan


def as_candidate(start, encoder, found, folder):
    """The encoder that `from_pretrained` loads once the trained one was a candidate, chosen and saved."""
    generator = torch.Generator().manual_seed(3)
    for weights in encoder.parameters():
        weights.data += 0.05 * torch.randn(weights.shape, generator=generator)
    (folder / "c").mkdir()
    save_weights(encoder, folder / "c" / "weights-1.safetensors")
    write_candidates(folder / "candidates", checkpoints=folder / "c", like=replace(START, reading=found.reading))
    [first, last] = read_candidates(folder / "candidates")
    assert (first, last.reading) == (START, found.reading)
    apply_candidate(start, last, folder / "candidates").save_pretrained(folder / "model")
    return DialogueEncoder.from_pretrained(folder / "model")


def pooled(encoder, data, monkeypatch):
    """What the loss of the whole data gets of its contexts, and of its answers: two lists of vectors."""
    seen = []

    def dse_loss(first, second, **_):
        seen.extend([first, second])
        return first.sum()

    def dialoguecse_loss(contexts, _, responses, there, **__):
        weights = there.float()[..., None]
        seen.extend([None, ((responses * weights).sum(2) / weights.sum(2)).flatten(0, 1)])
        return responses.sum()

    def dialaug_loss(contexts, _, responses, **__):
        seen.extend([contexts, responses])
        return contexts.sum()

    monkeypatch.setattr("dial2vec.training.methods.dse.dse_loss", dse_loss)
    monkeypatch.setattr("dial2vec.training.methods.dialoguecse.dialoguecse_loss", dialoguecse_loss)
    monkeypatch.setattr("dial2vec.training.methods.dialaug.dialaug_loss", dialaug_loss)
    data.auxiliary = torch.nn.Identity()
    collated = data.collate([data[item] for item in range(len(data))])
    batch = Batch(*(collated[name].flatten(0, 1) for name in Batch.__slots__))
    with torch.no_grad():
        data.loss(encoder.eval(), TRAIN, batch, {})
    return seen


def said():
    """All utterances of the corpus with their roles."""
    pairs = [(turn.text, role) for one in corpus() for turn, role in zip(one.turns, one.roles, strict=True)]
    return [text for text, _ in pairs], np.array([role for _, role in pairs])


@pytest.mark.parametrize("name", KINDS)
@pytest.mark.parametrize("method", ["dse", "dialoguecse"])
def test_an_utterance_has_the_vector_that_its_loss_pooled_and_a_dialogue_their_mean(
    folders, tmp_path, monkeypatch, name, method
):
    encoder = loaded(folders, name)
    found = planned(encoder, method)
    again = as_candidate(loaded(folders, name), encoder, found, tmp_path)
    assert found.reading == Reading(apart_input(SHORT_NAMES[name].input), "turns")
    assert (again.tokens.input, again.pooling) == (found.reading.input, "turns")
    _, vectors = pooled(encoder, found.data, monkeypatch)
    rows = found.data.rows[found.data.order[:, 1]]
    numbers = rows[:, 3] if method == "dse" else np.delete(rows, [1, 2, 3], axis=1).ravel()
    texts, roles = said()
    alone = again.encode_utterances(texts, roles=roles)
    np.testing.assert_allclose(alone[numbers], vectors, atol=1e-4)
    first = 0
    for dialogue, vector in zip(corpus(), again.encode(corpus()), strict=True):
        # An utterance that no encoder takes whole is cut, a dialogue that holds one is read in windows.
        if not again.count_long([dialogue]):
            np.testing.assert_allclose(vector, alone[first : first + len(dialogue.turns)].mean(0), atol=1e-4)
        first += len(dialogue.turns)


@pytest.mark.parametrize(
    ("name", "pooling"), [*((name, "mean") for name in KINDS), ("bert", "cls"), ("roberta", "cls"), ("tod-bert", "cls")]
)
def test_a_dialogue_has_the_vector_of_a_context_and_an_utterance_that_of_an_answer(
    folders, tmp_path, monkeypatch, name, pooling
):
    options = DialAug(answering="any", pooling=pooling, max_length=512, max_response_length=512, batch_size=2)
    ours = replace(SETTINGS["dialaug"], dialaug=options)
    encoder = loaded(folders, name)
    if name in ("roberta", "blender"):
        # Their vocabulary is of letters, and DialAug wants one whole word.
        encoder.tokens.tokenizer.add_tokens(["Ġx"])
    found = planned(encoder, "dialaug", settings=ours)
    again = as_candidate(loaded(folders, name), encoder, found, tmp_path)
    assert found.reading == Reading(joined_input(SHORT_NAMES[name].input), pooling)
    assert (again.tokens.input, again.pooling) == (found.reading.input, pooling)
    contexts, answers = pooled(encoder, found.data, monkeypatch)
    dialogues, order = corpus(), found.data.answers[found.data.order[:, 1]]
    spoken = [dialogues[place].turns[turn].text for place, turn in order]
    roles = [dialogues[place].roles[turn] for place, turn in order]
    np.testing.assert_allclose(again.encode_utterances(spoken, roles=roles), answers, atol=1e-4)
    # The longest contexts are read without their first turns, which a dialogue is not.
    whole = [place for place, (_, turn) in enumerate(order) if turn < 5]
    heard = [Dialogue("c", dialogues[order[place][0]].turns[: order[place][1]]) for place in whole]
    fits = [place for place, one in enumerate(heard) if not again.count_long([one])]
    assert len(fits) > 12
    np.testing.assert_allclose(again.encode([heard[p] for p in fits]), contexts[[whole[p] for p in fits]], atol=1e-4)


@pytest.mark.parametrize("way", ["conmix", "truncation", "deletion", "reordering", "replacement", "none"])
def test_contexts_of_any_length_are_damaged_within_what_plato_numbers(folders, way):
    encoder = loaded(folders, "plato")
    options = DialAug(answering="any", augmentation=way, deleted="[DEL]", max_length=512)
    found = planned(encoder, "dialaug", settings=replace(SETTINGS["dialaug"], dialaug=options))
    collated = found.data.collate([found.data[item] for item in range(len(found.data))])
    batch = Batch(*(collated[name].flatten(0, 1) for name in Batch.__slots__))
    assert 1 <= batch.turns[batch.attention > 0].min() < batch.turns.max() <= 15
    assert found.data.loss(encoder.eval(), TRAIN, batch, {}).isfinite()
    assert found.data.vocabulary.fixed[encoder.tokens.tokenizer.convert_tokens_to_ids("[unused1]")]


def test_a_token_that_ends_turns_stands_for_no_deleted_words(folders):
    options = DialAug(answering="any", augmentation="deletion")
    with pytest.raises(SettingsError, match=r"deleted is \[unused1\], which marks the turns of input plato; .* Set it"):
        planned(loaded(folders, "plato"), "dialaug", settings=replace(SETTINGS["dialaug"], dialaug=options))


@pytest.mark.parametrize(
    ("name", "one", "two"),
    [
        ("bert", "[CLS] w1 [SEP]", "[CLS] w1 [SEP] w2 [SEP]"),
        ("roberta", "<s> w 1 </s>", "<s> w 1 </s> </s> w 2 </s>"),
        ("t5", "▁w1 </s>", "▁w1 </s> ▁w2 </s>"),
        ("tod-bert", "[CLS] [usr] w1 [SEP]", "[CLS] [usr] w1 [sys] w2 [SEP]"),
        ("blender", "Ġ w 1 </s>", "Ġ w 1 </s> Ġ w 2 </s>"),
        ("plato", "w1 [unused1]", "w1 [unused1] w2 [unused1]"),
    ],
)
def test_utterances_have_the_tokens_around_them_that_dialogues_have(folders, name, one, two):
    tokens = loaded(folders, name).tokens.for_utterances()
    words = tokens.utterances(["w1", "w2"])
    for expected, sequence in (
        (one, tokens.assemble([words[0]], [1])),
        (two, tokens.assemble([words[0], words[1]], [1, 0])),
    ):
        assert tokens.tokenizer.convert_ids_to_tokens(sequence.ids) == expected.split()
    # Counted from 0 up, and down to 1.
    assert sequence.turns[[0, -1]].tolist() == ([2, 1] if name == "plato" else [0, 1])
    assert tokens.length([len(words[0]), len(words[1])]) == len(sequence.ids)


def test_every_input_has_one_for_utterances_together_and_apart():
    assert {(joined_input(name), apart_input(name)) for name in ("text", "separators", "closed", "turns")} == {
        ("closed", "turns")
    }
    for name in ("t5", "blender", "tod_bert", "plato"):
        apart = f"{name}_turns"
        assert (joined_input(name), apart_input(name)) == (joined_input(apart), apart_input(apart)) == (name, apart)
        assert replace(STYLES[apart], apart=False, between=False) == replace(
            STYLES[name], between=False, last_turns=None
        )


def test_a_start_reads_as_before_once_it_is_no_candidate_with_another_reading(folders, tmp_path):
    encoder, expected = loaded(folders, "plato"), loaded(folders, "plato").encode(corpus())
    apply_candidate(encoder, Candidate("other", 0, reading=Reading("plato_turns", "turns")), tmp_path)
    assert not np.allclose(encoder.encode(corpus()), expected)
    apply_candidate(encoder, START, tmp_path)
    np.testing.assert_array_equal(encoder.encode(corpus()), expected)
    with pytest.raises(ModelError, match="reads dialogues in its own way only"):
        apply_candidate(encoder, Candidate("other", 0, reading=Reading("turns", "turns")), tmp_path)


@pytest.mark.parametrize(
    ("name", "input"), [("t5", "t5"), ("blender", "blender"), ("plato", "plato"), ("bert", "turns")]
)
def test_a_start_token_that_dialogues_lack_is_not_pooled(folders, name, input):
    with pytest.raises(
        ModelError, match=rf"encoder\.pooling is cls, but with input {input} the first token .* to mean"
    ):
        DialogueEncoder.from_pretrained(folders[name], input=input, pooling="cls")


def test_dialaug_pools_no_start_token_that_contexts_lack(folders):
    options = DialAug(answering="any", pooling="cls")
    with pytest.raises(ModelError, match=r"dialaug\.pooling is cls, but with input t5 .* Set dialaug\.pooling to mean"):
        planned(loaded(folders, "t5"), "dialaug", settings=replace(SETTINGS["dialaug"], dialaug=options))
    # Turns read alone have one each, but contexts are one sequence.
    encoder = DialogueEncoder.from_pretrained(folders["bert"], input="turns", max_length=24)
    found = planned(encoder, "dialaug", settings=replace(SETTINGS["dialaug"], dialaug=options))
    assert found.reading == Reading("closed", "cls")


def test_weights_that_were_trained_without_a_head_get_none_from_the_start(folders, tmp_path):
    first = loaded(folders, "bert")
    first.head = Head(torch.zeros(16), torch.randn(16, 16, generator=torch.Generator().manual_seed(1)))
    first.save_pretrained(tmp_path / "start")
    (tmp_path / "c").mkdir()
    save_weights(first, tmp_path / "c" / "weights-1.safetensors")
    write_candidates(tmp_path / "candidates", checkpoints=tmp_path / "c")
    start, last = read_candidates(tmp_path / "candidates")
    encoders = [
        apply_candidate(DialogueEncoder.from_pretrained(tmp_path / "start"), one, tmp_path / "candidates")
        for one in (start, last)
    ]
    assert [one.head is None for one in encoders] == [False, True]
    np.testing.assert_array_equal(encoders[1].encode(corpus()), loaded(folders, "bert").encode(corpus()))


def test_a_role_counts_for_an_utterance_where_the_input_tells_roles_apart(folders):
    encoder = loaded(folders, "tod-bert")
    texts = ["w1 w2", "w3"]
    np.testing.assert_array_equal(encoder.encode_utterances(texts), encoder.encode_utterances(texts, roles=[0, 0]))
    assert not np.allclose(encoder.encode_utterances(texts), encoder.encode_utterances(texts, roles=[1, 1]))
    alone = [Dialogue(text, (Turn("a", text),)) for text in texts]
    encoder.read_as(Reading("tod_bert", "mean"))
    np.testing.assert_allclose(encoder.encode(alone), encoder.encode_utterances(texts), atol=1e-6)


def test_queries_are_cut_utterance_by_utterance(folders):
    encoder = loaded(folders, "bert")
    ours = replace(SETTINGS["dse"], dse=Dse(pairs="3-1", min_words=1, batch_size=2, max_length=4))
    data = planned(encoder, "dse", settings=ours).data
    place = next(item for item in range(len(data)) if said()[0][data.rows[data.order[item, 1], 1]] == LONG)
    query, answer = (" ".join(encoder.tokens.tokenizer.convert_ids_to_tokens(one.ids)) for one in data[place])
    assert (query, answer) == ("[CLS] w1 [SEP] w1 w2 [SEP] w2 [SEP]", "[CLS] w3 [SEP]")
    assert [one.cut for one in data[place]] == [12, 0]


def test_of_a_query_that_is_too_long_for_the_encoder_the_nearest_utterances_are_read(folders):
    encoder = DialogueEncoder.from_pretrained(folders["bert"], max_length=17)
    ours = replace(SETTINGS["dse"], dse=Dse(pairs="3-1", min_words=1, batch_size=2, max_length=100))
    data = planned(encoder, "dse", settings=ours).data
    place = next(item for item in range(len(data)) if said()[0][data.rows[data.order[item, 1], 1]] == LONG)
    # With the long one there would be 1 + 15 + 2 tokens.
    assert encoder.tokens.tokenizer.convert_ids_to_tokens(data[place][0].ids) == ["[CLS]", "w2", "[SEP]"]
