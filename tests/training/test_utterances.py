"""DSE, DialogueCSE and DialAug: what they read, what they lose, and that training goes on where it was killed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch

from conftest import make_dialogue
from dial2vec.config import DialAug, DialogueCse, Dse, IntentAugmentation, Settings, Train
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.pooling import pool
from dial2vec.encoder.tokens import Batch
from dial2vec.errors import ArtifactError, Dial2vecError
from dial2vec.objectives.dialoguecse import dialoguecse_loss
from dial2vec.objectives.dse import dse_loss
from dial2vec.objectives.siamese import siamese_loss
from dial2vec.training.loop import train
from dial2vec.training.methods import METHODS
from dial2vec.training.negatives import draw_samples

TRAIN = Train(frozen_share=0.0, log_steps=1, checkpoint_steps=2, precision="fp32", warmup_share=0.0)
SETTINGS = {
    "dse": Settings(train=replace(TRAIN, method="dse"), dse=Dse(batch_size=6, min_words=1, learning_rate=3e-3)),
    "dialoguecse": Settings(
        train=replace(TRAIN, method="dialoguecse"),
        dialoguecse=DialogueCse(
            negatives=2, batch_size=6, learning_rate=3e-3, aggregation="attention", frozen_share=0.0
        ),
    ),
    "dialaug": Settings(
        train=replace(TRAIN, method="dialaug"), dialaug=DialAug(batch_size=6, learning_rate=3e-3, answering="any")
    ),
}

VARIANTS = Settings(
    train=replace(TRAIN, method="intent_augmentation"),
    intent_augmentation=IntentAugmentation(ways=("shuffling",), batch_size=2, learning_rate=3e-3),
)

LINES = [f"{'ab'[t % 2]}: w{t}" for t in range(4)]


def corpus(n=8):
    """Dialogues of four turns, which share words within a dialogue."""
    return [
        make_dialogue(
            f"d{i}",
            *(f"{'ab'[t % 2]}: w{(5 * i + t) % 40} w{5 * i % 40} w{(5 * i + 1) % 40}" for t in range(4)),
        )
        for i in range(n)
    ]


def plan(folder, method, *, settings=None, dialogues=None, seed=1, vectors=None):
    encoder = DialogueEncoder.from_pretrained(folder)
    dialogues = dialogues or corpus()
    # Of the samples, which are of long dialogues here, methods on utterances take nothing.
    least = 2 if method == "intent_augmentation" else 50
    samples = draw_samples(dialogues, negatives=1, passes=1, keep_role="random", min_turns=least, seed=1)
    settings = settings or SETTINGS[method]
    return encoder, METHODS[method](encoder, dialogues, samples, settings=settings, seed=seed, vectors=vectors)


def run(encoder, found, folder):
    return train(
        encoder,
        found.data,
        settings=found.train,
        seed=1,
        checkpoints=folder,
        fingerprint="x",
        beside_rate=found.beside_rate,
        schedule=found.schedule,
        names=found.names,
    )


def flat_batch(data, items):
    collated = data.collate([data[item] for item in items])
    return Batch(*(collated[name].flatten(0, 1) for name in Batch.__slots__))


def test_a_query_and_what_was_said_next_are_read_alone(tiny_folder):
    options = replace(SETTINGS["dse"], dse=replace(SETTINGS["dse"].dse, pairs="2-1", batch_size=2))
    encoder, found = plan(tiny_folder, "dse", settings=options, dialogues=corpus(2))
    words = [encoder.tokens.tokenizer.convert_ids_to_tokens(sequence.ids) for sequence in found.data[0]]
    row = found.data.rows[found.data.order[0, 1]]
    texts = [turn.text for dialogue in corpus(2) for turn in dialogue.turns]
    assert words[0] == f"[CLS] {texts[row[0]]} [SEP] {texts[row[1]]} [SEP]".split()
    assert words[1] == f"[CLS] {texts[row[3]]} [SEP]".split()
    assert row[2] == -1


def test_the_dse_loss_of_a_batch_is_that_of_its_utterances_behind_the_head(tiny_folder):
    encoder, found = plan(tiny_folder, "dse")
    data, items = found.data, [0, 1, 2, 3]
    texts = [turn.text for dialogue in corpus() for turn in dialogue.turns]
    rows = data.rows[data.order[items, 1]]
    said = [torch.from_numpy(encoder.encode_utterances([texts[n] for n in rows[:, column]])) for column in (0, 3)]
    expected = dse_loss(*(data.beside(vectors) for vectors in said), temperature=0.05)
    loss = data.loss(encoder.eval(), TRAIN, flat_batch(data, items), {})
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-5)


def test_a_context_turn_that_the_dialogue_lacks_counts_for_nothing(tiny_folder):
    encoder, found = plan(tiny_folder, "dialoguecse")
    data = found.data
    first = next(item for item in range(len(data)) if data.rows[data.order[item, 1]][1] == -1)
    batch = flat_batch(data, [first])
    assert (batch.roles[0] == -1).all()
    hidden = encoder.eval().sequence_states(batch).detach()
    there = (batch.roles >= 0).long()[None]
    expected = data.loss(encoder, TRAIN, batch, {})
    hidden[0] = 1e4
    again = dialoguecse_loss(hidden[None, :3], there[:, :3], hidden[None, 3:], there[:, 3:], attention=data.beside)
    torch.testing.assert_close(again, expected)


def test_the_true_response_comes_first_and_the_foreign_ones_are_of_other_dialogues(tiny_folder):
    rows = plan(tiny_folder, "dialoguecse")[1].data.rows
    assert rows.shape == (8 * 4, 1 + 3 + 2)
    assert (rows[:, 4:] // 4 != rows[:, :1] // 4).all()
    before = rows[:, 1] >= 0
    assert (rows[before, 1] + 1 == rows[before, 0]).all()


def guided(guidance, **options):
    changed = replace(
        SETTINGS["dialoguecse"].dialoguecse, guidance=guidance, aggregation="mean", mlm_epochs=0.0, **options
    )
    return replace(SETTINGS["dialoguecse"], dialoguecse=changed)


@pytest.mark.parametrize(("guidance", "turns"), [("siamese_single", 1), ("siamese_multi", 3)])
def test_a_siamese_loss_is_that_of_the_utterances_read_alone(tiny_folder, guidance, turns):
    encoder, found = plan(tiny_folder, "dialoguecse", settings=guided(guidance))
    data, items = found.data, [0, 1, 2, 3]
    assert data.beside is None
    assert data.context_turns == turns
    texts = [turn.text for dialogue in corpus() for turn in dialogue.turns]
    rows = data.rows[data.order[items, 1]]
    said = torch.from_numpy(encoder.encode_utterances(["w0" if n < 0 else texts[n] for n in rows.ravel()]))
    said = said.reshape(*rows.shape, 1, -1)
    there = torch.from_numpy(rows >= 0)[..., None]
    context, responses = slice(1, 1 + turns), [0, *range(1 + turns, rows.shape[1])]
    expected = siamese_loss(said[:, context], there[:, context], said[:, responses], there[:, responses])
    loss = data.loss(encoder.eval(), TRAIN, flat_batch(data, items), {})
    torch.testing.assert_close(loss, expected, rtol=1e-4, atol=1e-5)


def test_a_siamese_pair_trains_and_its_context_is_the_turn_before(tiny_folder, tmp_path):
    encoder, found = plan(tiny_folder, "dialoguecse", settings=guided("siamese_single", epochs=8))
    response, neighbour = found.data.rows[:, :2].T
    assert (neighbour == np.where(response % 4, response - 1, response + 1)).all()
    losses = [entry["loss"] for entry in run(encoder, found, tmp_path / "c").history]
    assert np.mean(losses[-4:]) < np.mean(losses[:4]) - 0.05


def test_a_response_without_any_turn_around_it_does_not_train(tiny_folder):
    rows = plan(tiny_folder, "dialoguecse", settings=guided("matching", context_turns=1))[1].data.rows
    assert len(rows) == 8 * 3
    assert (rows[:, 1] + 1 == rows[:, 0]).all()


@pytest.mark.parametrize("method", SETTINGS)
def test_training_lowers_the_loss_and_trains_what_stands_beside(tiny_folder, tmp_path, method):
    longer = replace(SETTINGS[method], **{method: replace(getattr(SETTINGS[method], method), epochs=8)})
    encoder, found = plan(tiny_folder, method, settings=longer)
    beside = {name: value.clone() for name, value in found.data.beside.named_parameters()}
    losses = [entry["loss"] for entry in run(encoder, found, tmp_path / "c").history]
    assert np.mean(losses[-4:]) < np.mean(losses[:4]) - 0.05
    assert any(not torch.equal(beside[name], value) for name, value in found.data.beside.named_parameters())


@pytest.mark.parametrize("method", [*SETTINGS, "intent_augmentation"])
def test_a_run_that_was_killed_goes_on_to_the_same_weights(tiny_folder, tmp_path, method, monkeypatch):
    options = {"settings": (SETTINGS | {"intent_augmentation": VARIANTS})[method], "vectors": tmp_path / "vectors"}
    encoder, found = plan(tiny_folder, method, **options)
    run(encoder, found, tmp_path / "whole")
    cut, interrupted = plan(tiny_folder, method, **options)
    steps, loss = [], interrupted.data.loss

    def killed(*given):
        steps.append(1)
        if len(steps) > 3:
            raise KeyboardInterrupt
        return loss(*given)

    monkeypatch.setattr(interrupted.data, "loss", killed)
    with pytest.raises(KeyboardInterrupt):
        run(cut, interrupted, tmp_path / "cut")
    again, rest = plan(tiny_folder, method, **options)
    assert run(again, rest, tmp_path / "cut").resumed_from == 2
    assert all(torch.equal(again.state_dict()[name], value) for name, value in encoder.state_dict().items())


def test_a_context_is_the_last_turns_that_fit_and_every_turn_is_closed(tiny_folder):
    long = make_dialogue("d", *(f"{'ab'[t % 2]}: w{t} w{t} w{t}" for t in range(6)))
    options = replace(SETTINGS["dialaug"], dialaug=replace(SETTINGS["dialaug"].dialaug, max_length=10))
    encoder, found = plan(tiny_folder, "dialaug", settings=options, dialogues=[long])
    read = {}
    for item in range(len(found.data)):
        texts = [" ".join(encoder.tokens.tokenizer.convert_ids_to_tokens(one.ids)) for one in found.data[item]]
        read[found.data.answers[found.data.order[item, 1], 1]] = texts
    assert read[1] == ["[CLS] w0 w0 w0 [SEP]", "[CLS] w1 w1 w1 [SEP]"]
    # Two turns are 1 + 2 x 4 tokens, a third would be 13.
    assert read[5] == ["[CLS] w3 w3 w3 [SEP] w4 w4 w4 [SEP]", "[CLS] w5 w5 w5 [SEP]"]
    assert found.data.count_cut() == 0


def test_without_a_limit_95_of_100_contexts_fit(tiny_folder):
    # Contexts of n turns are 1 + 2 n tokens, n from 1 to 20: the percentile is between the last two, and all may fit.
    long = make_dialogue("d", *(f"{'ab'[t % 2]}: w{t}" for t in range(21)))
    # Of even numbers all train in whole batches.
    unlimited = replace(SETTINGS["dialaug"].dialaug, max_responses=None, batch_size=2)
    options = replace(SETTINGS["dialaug"], dialaug=unlimited)
    _, found = plan(tiny_folder, "dialaug", settings=options, dialogues=[long])
    lengths = sorted(len(found.data[item][0].ids) for item in range(len(found.data)))
    assert found.data.longest == np.percentile([1 + 2 * n for n in range(1, 21)], 95, method="higher") == 41
    assert lengths == [1 + 2 * n for n in range(1, 21)]
    # Two of 102 are longer, and are read without their first turns.
    many = [make_dialogue(f"e{i}", "a: w1", "b: w2") for i in range(99)]
    _, found = plan(tiny_folder, "dialaug", settings=options, dialogues=[*many, make_dialogue("x", *LINES)])
    assert found.data.longest == 3
    assert max(len(sequence.ids) for item in range(len(found.data)) for sequence in found.data[item]) == 3


def test_without_a_limit_the_encoders_own_holds_and_responses_are_not_cut_by_short_contexts(tiny_folder):
    dialogues = [make_dialogue(f"d{i}", "a: w1", f"b: {'w2 ' * 9}", "a: w3") for i in range(4)]
    options = replace(SETTINGS["dialaug"], dialaug=replace(SETTINGS["dialaug"].dialaug, answering="second"))
    _, found = plan(tiny_folder, "dialaug", settings=options, dialogues=dialogues)
    assert (found.data.longest, found.data.count_cut()) == (11, 0)
    endless = [make_dialogue("d", *(f"{'ab'[t % 2]}: {'w2 ' * 30}" for t in range(9)))]
    assert plan(tiny_folder, "dialaug", dialogues=endless)[1].data.longest == 64


def deleting(token):
    return replace(
        SETTINGS["dialaug"], dialaug=replace(SETTINGS["dialaug"].dialaug, augmentation="deletion", deleted=token)
    )


def test_a_token_for_deleted_words_is_added_where_there_is_none_and_damages_contexts(tiny_folder):
    encoder, found = plan(tiny_folder, "dialaug", settings=deleting("[DEL]"))
    table = encoder.backbone.get_input_embeddings().weight
    assert (found.added, table.shape, found.data.vocabulary.deleted) == ("[DEL]", (46, 16), 45)
    torch.testing.assert_close(table[45], table[:45].mean(0))
    assert found.data.loss(encoder.eval(), TRAIN, flat_batch(found.data, [0, 1, 2]), {}).isfinite()
    encoder, found = plan(tiny_folder, "dialaug", settings=deleting("w7"))
    assert (found.added, len(encoder.tokens.tokenizer), found.data.vocabulary.deleted) == (None, 45, 12)


def test_other_damage_adds_no_token(tiny_folder):
    encoder, found = plan(tiny_folder, "dialaug")
    assert (found.added, len(encoder.tokens.tokenizer)) == (None, 45)


def test_a_context_is_damaged_anew_at_each_step_and_the_generator_decides_how(tiny_folder):
    encoder, found = plan(tiny_folder, "dialaug")
    batch = flat_batch(found.data, [0, 1, 2, 3])
    losses = []
    for seed in (1, 1, 2):
        torch.manual_seed(seed)
        losses.append(found.data.loss(encoder.eval(), TRAIN, batch, {}).item())
    assert losses[0] == losses[1] != losses[2]


def test_without_damage_the_loss_is_that_of_the_plain_bi_encoder(tiny_folder):
    options = replace(SETTINGS["dialaug"], dialaug=replace(SETTINGS["dialaug"].dialaug, augmentation="none"))
    encoder, found = plan(tiny_folder, "dialaug", settings=options)
    batch = flat_batch(found.data, [0, 1, 2, 3])
    states = encoder.eval().sequence_states(batch).detach()
    contexts, answers = pool(states, batch.roles, batch.turns, how="mean").unflatten(0, (4, 2)).unbind(1)
    expected = torch.nn.functional.cross_entropy(contexts @ answers.T, torch.arange(4))
    torch.testing.assert_close(found.data.loss(encoder, TRAIN, batch, {}), expected)


@pytest.mark.parametrize(("method", "items"), [("dse", "pairs"), ("dialaug", "responses")])
def test_no_batch_holds_an_item_twice_however_few_there_are(tiny_folder, tmp_path, method, items):
    few = replace(SETTINGS[method], **{method: replace(getattr(SETTINGS[method], method), epochs=3, batch_size=4)})
    encoder, found = plan(tiny_folder, method, settings=few, dialogues=corpus(1))
    assert found.train.batch_size == 3
    seen, loss = [], found.data.loss

    def watch(encoder, settings, batch, extra):
        seen.append(sorted(tuple(row) for row in batch.ids[1::2].tolist()))
        return loss(encoder, settings, batch, extra)

    found.data.loss = watch
    result = run(encoder, found, tmp_path / "c")
    # A dialogue of four turns has three pairs, and three turns that answer others.
    assert (result.steps, result.items, result.items_are) == (3, 3, items)
    assert [len(set(rows)) for rows in seen] == [3, 3, 3]


def test_what_an_epoch_has_beyond_its_last_whole_batch_is_not_counted_as_trained(tiny_folder, tmp_path):
    options = replace(SETTINGS["dse"], dse=replace(SETTINGS["dse"].dse, batch_size=5))
    encoder, found = plan(tiny_folder, "dse", settings=options)
    result = run(encoder, found, tmp_path / "c")
    # 8 x 3 pairs.
    assert (result.steps, result.items) == (4, 20)


def test_dse_trains_every_layer_at_a_constant_rate_from_the_first_step_on(tiny_folder, tmp_path):
    defaults = Settings(train=replace(Train(log_steps=1, precision="fp32"), method="dse"), dse=Dse(batch_size=6))
    options = replace(defaults, dse=replace(defaults.dse, min_words=1, learning_rate=3e-3))
    start = DialogueEncoder.from_pretrained(tiny_folder)
    encoder, found = plan(tiny_folder, "dse", settings=options)
    result = run(encoder, found, tmp_path / "c")
    assert {entry["learning_rate"] for entry in result.history} == {3e-3}
    moved = [name for name, value in start.state_dict().items() if not torch.equal(encoder.state_dict()[name], value)]
    assert {"backbone.embeddings.word_embeddings.weight", "backbone.encoder.layer.0.output.dense.weight"} <= set(moved)


@pytest.mark.parametrize("method", SETTINGS)
def test_every_method_freezes_as_its_own_block_says(tiny_folder, method):
    half = {method: replace(getattr(SETTINGS[method], method), frozen_share=0.25)}
    other = replace(SETTINGS[method], train=replace(SETTINGS[method].train, frozen_share=0.9), **half)
    assert plan(tiny_folder, method, settings=other)[1].train.frozen_share == 0.25


@pytest.mark.parametrize("method", SETTINGS)
def test_a_training_that_diverges_names_the_settings_of_its_own_method(tiny_folder, tmp_path, method, monkeypatch):
    encoder, found = plan(tiny_folder, method)
    monkeypatch.setattr(found.data, "loss", lambda encoder, *_: next(encoder.parameters()).sum() * float("nan"))
    with pytest.raises(Dial2vecError, match=rf"Lower {method}\.learning_rate or raise {method}\.temperature"):
        run(encoder, found, tmp_path / "c")


def test_a_monologue_does_not_train(tiny_folder):
    alone = make_dialogue("alone", "a: w1", "a: w2", "a: w3", "a: w4")
    for method, count in (("dse", 24), ("dialoguecse", 32), ("dialaug", 24)):
        data = plan(tiny_folder, method, dialogues=[alone, *corpus()])[1].data
        assert len(data.answers if method == "dialaug" else data.rows) == count


def test_too_little_to_learn_from_is_an_error_that_names_the_setting(tiny_folder):
    short = [make_dialogue(f"d{i}", "a: w1", "b: w2") for i in range(3)]
    options = replace(SETTINGS["dse"], dse=replace(SETTINGS["dse"].dse, min_words=9))
    with pytest.raises(ArtifactError, match=r"3 dialogues .+ have 0 pairs .+ 9 words and more.+Lower dse\.min_words"):
        plan(tiny_folder, "dse", settings=options, dialogues=short)
    with pytest.raises(ArtifactError, match=r"0 of the 3 dialogues .+ have 4 turns .+Lower dialoguecse\.min_turns"):
        plan(tiny_folder, "dialoguecse", dialogues=short)
    options = replace(SETTINGS["dialaug"], dialaug=replace(SETTINGS["dialaug"].dialaug, answering="first"))
    with pytest.raises(ArtifactError, match=r"3 dialogues .+ have 0 turns that answer.+Set dialaug\.answering to any"):
        plan(tiny_folder, "dialaug", settings=options, dialogues=short)


@pytest.mark.parametrize("method", SETTINGS)
def test_the_same_seed_draws_the_same_and_another_something_else(tiny_folder, method):
    one, same, other = (plan(tiny_folder, method, seed=seed)[1].data for seed in (1, 1, 2))
    assert np.array_equal(one.order, same.order)
    assert not np.array_equal(one.order, other.order)
    weights = [next(data.beside.parameters()) for data in (one, same, other)]
    assert torch.equal(weights[0], weights[1])
    assert not torch.equal(weights[0], weights[2])
