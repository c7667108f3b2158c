"""The self-guided task: items, matching, the loss, and the plan."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.pooling import pool, role_means
from dial2vec.encoder.tokens import Batch
from dial2vec.errors import ArtifactError
from dial2vec.training.methods.dial2vec import SelfGuidedSet, dial2vec_loss, self_and_cross
from dial2vec.training.negatives import draw_samples
from tests.conftest import make_dialogue
from tests.training.methods.test_neighbours import planned
from tests.training.methods.tiny_runs import DIALOGUES
from tests.training.test_loop import SETTINGS, corpus


def test_one_dialogue_of_two_samples_gives_the_loss_by_hand():
    # One token per turn and speaker: own vector a, cross vector a (a . b), so each cosine is the sign of a . b.
    real = [[1.0, 0.0], [1.0, 0.0]]
    fake = [[1.0, 0.0], [-1.0, 0.0]]
    hidden = torch.tensor([real, fake])
    turns, roles = torch.tensor([[0, 1], [0, 1]]), torch.tensor([[0, 1], [0, 1]])
    loss = dial2vec_loss(hidden, turns, roles, n_samples=2, temperature=0.5)
    per_role = math.log(1 + math.exp(-2 / 0.5))
    assert loss.item() == pytest.approx(2 * per_role, rel=1e-5)
    # The published code: the temperature of its checkpoints, and the mean over both columns, of which one counts.
    released = dial2vec_loss(hidden, turns, roles, n_samples=2, temperature=0.05, mean="columns")
    assert released.item() == pytest.approx(math.log(1 + math.exp(-2 / 0.05)), abs=1e-9)
    halved = dial2vec_loss(hidden, turns, roles, n_samples=2, temperature=0.5, mean="columns")
    assert halved.item() == pytest.approx(per_role, rel=1e-5)


def loss_by_definition(hidden, turns, roles, *, n_samples, temperature, window, mean):
    """Equations 1 to 7 with whole n x n matrices, one dialogue, role and sample at a time."""
    total = 0.0
    for first in range(0, len(hidden), n_samples):
        speakers = sorted(set(roles[first].tolist()) - {-1})
        for role in speakers if len(speakers) > 1 else ():
            logits = []
            for j in range(first, first + n_samples):
                mine = roles[j] == role
                others = (roles[j] != role) & (roles[j] >= 0)
                own, rest = mine[:, None] * hidden[j], others[:, None] * hidden[j]
                matching = own @ rest.T
                if window is not None:
                    matching = torch.where((turns[j][:, None] - turns[j]).abs() <= window, matching, 0.0)
                cross = matching.T @ own
                # A mean over the places of the others, as in the published code.
                pair = own.sum(0) / mine.sum(), cross.sum(0) / others.sum()
                logits.append(pair[0] @ pair[1] / (pair[0].norm() * pair[1].norm()).clamp(min=1e-8) / temperature)
            labels = torch.tensor([1.0] + [0.0] * (n_samples - 1), dtype=hidden.dtype)
            total = total - (torch.stack(logits).log_softmax(0) * labels).sum()
    count = len(hidden) // n_samples
    return total / (count if mean == "dialogues" else count * n_samples)


def random_samples(*, dialogues, n_samples, speakers, seed):
    """Padded samples in double precision: who speaks when is the dialogue's, how long a turn is the sample's."""
    generator = torch.Generator().manual_seed(seed)
    rows = []
    for _ in range(dialogues):
        said_by = [*range(speakers), *torch.randint(0, speakers, (6,), generator=generator).tolist()]
        for _ in range(n_samples):
            lengths = torch.randint(1, 4, (len(said_by),), generator=generator)
            rows.append((torch.arange(len(said_by)).repeat_interleave(lengths), lengths, said_by))
    width = max(len(turns) for turns, _, _ in rows)
    turns = torch.stack([torch.nn.functional.pad(row, (0, width - len(row))) for row, _, _ in rows])
    roles = torch.stack(
        [
            torch.nn.functional.pad(torch.tensor(said_by)[row], (0, width - len(row)), value=-1)
            for row, _, said_by in rows
        ]
    )
    return torch.randn(len(rows), width, 5, generator=generator, dtype=torch.float64), turns, roles


@pytest.mark.parametrize("mean", ["dialogues", "columns"])
@pytest.mark.parametrize("temperature", [0.2, 0.05])
@pytest.mark.parametrize("window", [None, 0, 1, 10])
@pytest.mark.parametrize("speakers", [2, 3, 4])
def test_loss_and_gradient_equal_the_definition_in_double_precision(speakers, window, temperature, mean):
    options = {"n_samples": 4, "temperature": temperature, "window": window, "mean": mean}
    hidden, turns, roles = random_samples(dialogues=2, n_samples=4, speakers=speakers, seed=speakers)
    slopes, losses = [], []
    for compute in (dial2vec_loss, loss_by_definition):
        leaf = hidden.clone().requires_grad_()
        loss = compute(leaf, turns, roles, **options)
        loss.backward()
        losses.append(loss.detach())
        slopes.append(leaf.grad)
    assert losses[0].dtype == torch.float64
    torch.testing.assert_close(losses[0], losses[1], atol=1e-10, rtol=1e-10)
    torch.testing.assert_close(slopes[0], slopes[1], atol=1e-9, rtol=1e-9)
    # Only differences of turn numbers count: an input may number its turns downwards.
    downwards = torch.where(roles >= 0, 20 - turns, 0)
    torch.testing.assert_close(dial2vec_loss(hidden, downwards, roles, **options), losses[0], atol=1e-10, rtol=1e-10)


def test_equal_samples_give_the_logarithm_of_their_number_per_role():
    hidden = torch.randn(1, 6, 4, generator=torch.Generator().manual_seed(0)).expand(10, -1, -1)
    turns = torch.arange(6).expand(10, -1)
    roles = torch.tensor([0, 1, 0, 1, 0, 1]).expand(10, -1)
    assert dial2vec_loss(hidden, turns, roles, n_samples=10).item() == pytest.approx(2 * math.log(10), rel=1e-5)


def test_window_hides_tokens_of_distant_turns():
    hidden = torch.randn(2, 4, 4, generator=torch.Generator().manual_seed(1))
    turns, roles = torch.tensor([[0, 1, 2, 30]] * 2), torch.tensor([[0, 1, 0, 1]] * 2)
    moved = hidden.clone()
    moved[:, 3] += torch.randn(4)
    losses = [
        dial2vec_loss(h, turns[:, :3], roles[:, :3], n_samples=2, window=10) for h in (hidden[:, :3], moved[:, :3])
    ]
    assert losses[0] == losses[1]
    near = dial2vec_loss(hidden, turns, roles, n_samples=2, window=10)
    far = dial2vec_loss(hidden, turns, roles, n_samples=2, window=None)
    assert near != far


def test_a_role_that_the_real_dialogue_lacks_adds_no_term_and_no_nan_gradient():
    hidden = torch.randn(4, 3, 4, generator=torch.Generator().manual_seed(2)).requires_grad_()
    turns = torch.tensor([[0, 1, 2]] * 4)
    roles = torch.tensor([[0, 0, 0], [0, 0, 0], [0, 1, 0], [0, 1, 0]])
    loss = dial2vec_loss(hidden, turns, roles, n_samples=2)
    loss.backward()
    assert torch.isfinite(hidden.grad).all()
    assert hidden.grad[:2].abs().sum() == 0
    both = dial2vec_loss(hidden[2:], turns[2:], roles[2:], n_samples=2)
    assert loss.item() == pytest.approx(both.item() / 2, rel=1e-5)


def test_a_negative_that_lost_a_role_is_left_out_of_the_sum():
    hidden = torch.randn(3, 3, 4, generator=torch.Generator().manual_seed(4))
    turns = torch.tensor([[0, 1, 2]] * 3)
    roles = torch.tensor([[0, 1, 0], [0, 1, 0], [0, 0, 0]])
    assert dial2vec_loss(hidden, turns, roles, n_samples=3).item() == pytest.approx(
        dial2vec_loss(hidden[:2], turns[:2], roles[:2], n_samples=2).item(), rel=1e-5
    )


def test_padding_changes_nothing():
    generator = torch.Generator().manual_seed(5)
    hidden = torch.randn(2, 3, 4, generator=generator)
    turns, roles = torch.tensor([[0, 1, 2]] * 2), torch.tensor([[0, 1, 0]] * 2)
    padded = torch.cat([hidden, torch.full((2, 2, 4), 7.0)], dim=1)
    padded_turns, padded_roles = torch.tensor([[0, 1, 2, 0, 0]] * 2), torch.tensor([[0, 1, 0, -1, -1]] * 2)
    assert dial2vec_loss(padded, padded_turns, padded_roles, n_samples=2).item() == pytest.approx(
        dial2vec_loss(hidden, turns, roles, n_samples=2).item(), rel=1e-5
    )


def matched_by_definition(hidden, turns, roles, window):
    """The paper's n x n matching (equations 1 to 4), one dialogue and one role at a time, in loops."""
    n_roles = max(int(roles.max()), 0) + 1
    own = torch.zeros(len(hidden), n_roles, hidden.shape[2], dtype=hidden.dtype)
    cross = torch.zeros_like(own)
    for d in range(len(hidden)):
        for role in range(n_roles):
            mine = (roles[d] == role)[:, None] * hidden[d]
            rest = ((roles[d] != role) & (roles[d] >= 0))[:, None] * hidden[d]
            matching = mine @ rest.T
            if window is not None:
                far = (turns[d][:, None] - turns[d][None, :]).abs() > window
                matching = matching.masked_fill(far, 0)
            own[d, role] = mine.sum(0)
            cross[d, role] = (matching.T @ mine).sum(0)
    return own, cross


@st.composite
def batches(draw):
    """Padded batches with uneven turns, up to four speakers and possibly a single one."""
    n_dialogues, width = draw(st.integers(1, 3)), draw(st.integers(1, 12))
    turns = torch.zeros(n_dialogues, width, dtype=torch.long)
    roles = torch.full((n_dialogues, width), -1)
    for d in range(n_dialogues):
        length = draw(st.integers(1, width))
        starts = draw(st.lists(st.booleans(), min_size=length, max_size=length))
        turn = torch.tensor(starts).cumsum(0)
        turn_roles = draw(st.lists(st.integers(0, 3), min_size=length + 1, max_size=length + 1))
        turns[d, :length] = turn
        roles[d, :length] = torch.tensor([turn_roles[t] for t in turn])
    seed = draw(st.integers(0, 10**6))
    hidden = torch.randn(n_dialogues, width, 5, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    return hidden, turns, roles


@settings(max_examples=80, deadline=None)
@given(batches(), st.one_of(st.none(), st.integers(0, 12)))
def test_linear_matching_equals_the_definition(batch, window):
    hidden, turns, roles = batch
    own, cross, present = self_and_cross(hidden, turns, roles, window=window)
    expected_own, expected_cross = matched_by_definition(hidden, turns, roles, window)
    torch.testing.assert_close(own, expected_own, atol=1e-10, rtol=1e-10)
    torch.testing.assert_close(cross, expected_cross, atol=1e-10, rtol=1e-10)
    in_fp32 = self_and_cross(hidden.float(), turns, roles, window=window)[1]
    torch.testing.assert_close(in_fp32.double(), expected_cross, atol=1e-4, rtol=1e-4)
    for d in range(len(hidden)):
        speakers = set(roles[d].tolist()) - {-1}
        for role in range(own.shape[1]):
            assert bool(present[d, role]) == (role in speakers and len(speakers) > 1)


def test_gradients_equal_those_of_the_definition():
    generator = torch.Generator().manual_seed(3)
    hidden = torch.randn(2, 9, 4, generator=generator, dtype=torch.float32, requires_grad=True)
    turns = torch.tensor([[0, 0, 1, 1, 2, 2, 3, 3, 3], [0, 1, 2, 3, 4, 0, 0, 0, 0]])
    roles = torch.tensor([[0, 0, 1, 1, 0, 0, 1, 1, 1], [0, 1, 2, 1, 0, -1, -1, -1, -1]])
    weights = torch.randn(2, 3, 4, generator=generator)
    (self_and_cross(hidden, turns, roles, window=1)[1] * weights).sum().backward()
    fast = hidden.grad.clone()
    hidden.grad = None
    (matched_by_definition(hidden, turns, roles, 1)[1] * weights).sum().backward()
    torch.testing.assert_close(fast, hidden.grad, atol=1e-4, rtol=1e-4)


def test_matching_stays_in_fp32_under_autocast():
    hidden = torch.randn(1, 4, 8)
    turns, roles = torch.tensor([[0, 1, 2, 3]]), torch.tensor([[0, 1, 0, 1]])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        own, cross, _ = self_and_cross(hidden, turns, roles, window=10)
    expected_own, expected_cross = matched_by_definition(hidden, turns, roles, 10)
    assert own.dtype == cross.dtype == torch.float32
    torch.testing.assert_close(own, expected_own)
    torch.testing.assert_close(cross, expected_cross)


def test_role_pooling_sums_the_means_of_the_speakers_and_leaves_out_an_absent_one():
    hidden = torch.tensor([[[2.0], [4.0], [10.0], [99.0]], [[1.0], [3.0], [99.0], [99.0]]])
    roles = torch.tensor([[0, 0, 1, -1], [0, 0, -1, -1]])
    assert pool(hidden, roles, torch.zeros_like(roles), how="role").tolist() == [[13.0], [2.0]]
    assert role_means(hidden, roles).tolist() == [[[3.0], [10.0]], [[2.0], [0.0]]]


def test_mean_pooling_ignores_padding():
    hidden = torch.tensor([[[2.0], [4.0], [99.0]]])
    assert pool(hidden, torch.tensor([[0, 1, -1]]), torch.zeros(1, 3), how="mean").tolist() == [[3.0]]


def test_pooling_by_turns_gives_a_long_turn_no_more_weight_than_a_short_one():
    hidden = torch.tensor([[[2.0], [4.0], [9.0], [99.0]], [[1.0], [3.0], [8.0], [0.0]]])
    roles, turns = torch.tensor([[0, 0, 1, -1], [0, 1, 0, 0]]), torch.tensor([[0, 0, 1, 0], [3, 2, 1, 1]])
    # (3 + 9) / 2, and (1 + 3 + 4) / 3 for turns that are counted down.
    assert pool(hidden, roles, turns, how="turns").flatten().tolist() == pytest.approx([6.0, 8 / 3])


def test_who_meets_nobody_within_the_window_sees_exactly_nothing():
    generator = torch.Generator().manual_seed(0)
    hidden = torch.randn(1, 40, 8, generator=generator).requires_grad_()
    turns = torch.arange(40)[None]
    # Two speakers, the second long after the first.
    roles = (turns >= 20).long()
    apart = torch.where(turns >= 20, turns + 10, turns)
    for window, where in ((0, turns), (5, apart)):
        cross = self_and_cross(hidden, where, roles, window=window)[1]
        assert (cross == 0).all()
        assert (torch.autograd.grad(cross.sum(), hidden)[0] == 0).all()


@pytest.fixture(scope="module")
def encoder(tiny_folder):
    return DialogueEncoder.from_pretrained(tiny_folder)


def self_guided(encoder, dialogues, order):
    samples = draw_samples(dialogues, negatives=3, passes=1, keep_role="random", min_turns=2, seed=1)
    return SelfGuidedSet(dialogues, samples, encoder.tokens, np.array(order))


def test_an_item_of_the_self_guided_task_is_the_dialogue_and_its_negatives(encoder):
    data = self_guided(encoder, DIALOGUES, [[0, 2], [0, 1]])
    samples, texts = data.samples, [turn.text for dialogue in DIALOGUES for turn in dialogue.turns]
    for item, (_, place) in enumerate(data.order):
        columns = slice(samples.first_turn[place], samples.first_turn[place + 1])
        expected = [[turn.text for turn in DIALOGUES[samples.dialogues[place]].turns]]
        expected += [[texts[number] for number in row] for row in samples.negatives[0][:, columns]]
        found = [encoder.tokens.tokenizer.decode(sequence.ids) for sequence in data[item]]
        assert found == ["[CLS] " + " ".join(turns) for turns in expected]


def test_a_batch_of_the_self_guided_task_keeps_a_dialogue_beside_its_negatives(encoder):
    data = self_guided(encoder, DIALOGUES, [[0, 0], [0, 1]])
    batch = data.collate([data[0], data[1]])
    assert {name: tensor.shape[:2] for name, tensor in batch.items()} == dict.fromkeys(Batch.__slots__, (2, 4))
    ids = data[1][3].ids
    assert batch["ids"][1, 3, : len(ids)].tolist() == ids.tolist()
    assert batch["roles"][1, 3, len(ids) :].eq(-1).all()


def test_a_dialogue_that_is_cut_counts_once_also_when_only_a_negative_is(encoder):
    # The only turn that a second speaker of `short` can be given is its own 70 tokens or one of those.
    long = [make_dialogue("long", "a: w1", "b: " + "w2 " * 70), make_dialogue("also", "a: w3", "b: " + "w4 " * 70)]
    assert self_guided(encoder, long, [[0, 0], [0, 0], [0, 1]]).count_cut() == 2
    assert self_guided(encoder, DIALOGUES, [[0, 0], [0, 1], [0, 2]]).count_cut() == 0
    samples = draw_samples([DIALOGUES[0], long[0]], negatives=40, passes=1, keep_role="first", min_turns=2, seed=1)
    with_negatives = SelfGuidedSet([DIALOGUES[0], long[0]], samples, encoder.tokens, np.array([[0, 0]]))
    assert with_negatives.count_cut() == 1


def test_the_self_guided_task_needs_no_vectors_and_has_no_heads(tiny_folder, tmp_path):
    encoder, found = planned(tiny_folder, corpus(), tmp_path / "v", settings=SETTINGS)
    assert isinstance(found.data, SelfGuidedSet)
    assert (found.reading, encoder.tokens.input) == (None, "text")
    assert (found.maps, found.head, found.note, encoder.head, found.neighbourhood) == ({}, None, "", None, ())
    assert len(found.data) == 2 * 12
    assert not (tmp_path / "v").exists()


def test_nothing_to_train_on_is_an_error_that_names_the_setting(tiny_folder, tmp_path):
    dialogues = corpus(3)
    none = draw_samples(dialogues, negatives=3, passes=1, keep_role="random", min_turns=50, seed=1)
    with pytest.raises(ArtifactError, match=r"none of the 3 training dialogues can train.*sample\.min_turns"):
        planned(tiny_folder, dialogues, tmp_path / "v", settings=SETTINGS, samples=none)
    assert planned(tiny_folder, dialogues, tmp_path / "v", samples=none)[1].note.endswith("and there are 0.")
