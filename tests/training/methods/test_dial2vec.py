from __future__ import annotations

import math

import pytest
import torch

from dial2vec.objectives.dial2vec import dial2vec_loss


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
