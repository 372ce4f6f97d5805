"""Federated averaging, step by step."""

import numpy as np
import pytest
import torch
from torch import nn

import fairshapley as fs
from fairshapley.errors import InputError
from fairshapley.games.federated import FederatedGame, ModelUtility
from fairshapley_paper.datasets import load
from fairshapley_paper.federated.data import as_images, split
from fairshapley_paper.federated.networks import mnist_cnn
from fairshapley_paper.federated.training import train
from tests.data_folder import needs

ROWS = np.array([[1.0], [2.0], [3.0]])
TARGETS = np.array([[2.0], [4.0], [6.0]])


def line():
    """y = w·x with w = 0."""
    model = nn.Linear(1, 1, bias=False)
    nn.init.zeros_(model.weight)
    return model


squared = nn.functional.mse_loss


def test_two_rounds_by_hand():
    """All rows in one batch: the gradient of the mean of (w·x − 2x)² is 2(w − 2)·mean x²."""
    agents = [(ROWS[:1], TARGETS[:1]), (ROWS, TARGETS)]
    records = list(train(line(), agents, rounds=2, lr=0.05, decay=0.5, batch_size=10, loss=squared))
    w = 0.0
    for record, lr in zip(records, (0.05, 0.025), strict=True):
        steps = [-lr * 2 * (w - 2) * mean for mean in (1.0, 14 / 3)]
        np.testing.assert_allclose(record.server, [w], rtol=1e-6)
        np.testing.assert_allclose(record.deltas[:, 0], steps, rtol=1e-6)
        np.testing.assert_array_equal(record.sizes, [1.0, 3.0])
        w += (1 * steps[0] + 3 * steps[1]) / 4
    np.testing.assert_allclose(records[-1].next_server()["weight"], [[w]], rtol=1e-6)


def test_epochs_and_batches_are_steps():
    """With equal rows the order does not matter: 2 epochs of 3 batches are 6 steps of plain SGD."""
    agents = [(np.ones((5, 1)), np.ones((5, 1)))]
    record = next(train(line(), agents, rounds=1, epochs=2, batch_size=2, lr=0.1, loss=squared))
    w = 0.0
    for _ in range(6):
        w -= 0.1 * 2 * (w - 1)
    np.testing.assert_allclose(record.deltas, [[w]], rtol=1e-6)


def classes(n_agents=3):
    generator = np.random.default_rng(1)
    return [
        (generator.standard_normal((20, 4)), generator.integers(0, 2, 20)) for _ in range(n_agents)
    ]


def droppy():
    torch.manual_seed(3)
    return nn.Sequential(nn.Linear(4, 8), nn.Dropout(0.5), nn.Linear(8, 2))


def test_a_seed_fixes_everything_and_leaves_torchs_generator_alone():
    model, agents = droppy(), classes()
    torch.manual_seed(11)
    before = torch.random.get_rng_state()
    runs = [list(train(model, agents, rounds=2, seed=seed)) for seed in (1, 1, 2)]
    assert torch.equal(torch.random.get_rng_state(), before)
    for one, again in zip(runs[0], runs[1], strict=True):
        np.testing.assert_array_equal(one.deltas, again.deltas)
        assert one.agents == again.agents
    assert not np.array_equal(runs[0][0].deltas, runs[2][0].deltas)


def test_an_agents_update_does_not_depend_on_who_else_takes_part():
    model, agents = droppy(), classes()
    together, alone = (
        next(train(model, agents, rounds=1, participation=who)) for who in ([[0, 1, 2]], [[1]])
    )
    np.testing.assert_array_equal(together.deltas[1], alone.deltas[0])


def test_the_model_given_is_left_alone_and_is_the_start():
    model = droppy().eval()
    weights = [entry.clone() for entry in model.parameters()]
    records = list(train(model, classes(), rounds=1))
    assert not model.training
    assert all(map(torch.equal, weights, model.parameters()))
    np.testing.assert_array_equal(
        records[0].server, torch.cat([entry.ravel() for entry in weights]).detach().numpy()
    )


def test_who_takes_part():
    records = list(train(droppy(), classes(), rounds=2, participation=[[2, 0], [1]]))
    assert [record.agents for record in records] == [(0, 2), (1,)]
    assert [len(record.deltas) for record in records] == [2, 1]


def test_batch_norm_statistics_travel_with_the_weights():
    model = nn.Sequential(nn.Linear(4, 3), nn.BatchNorm1d(3), nn.Linear(3, 2))
    records = list(train(model, classes(), rounds=2, batch_size=10))
    part, _ = records[0].layout.slices["1.running_mean"]
    assert (records[0].deltas[:, part] != 0).all()
    assert (records[1].server[part] != 0).all()
    assert records[1].fixed["1.num_batches_tracked"] == 0


def test_what_cannot_be_trained_is_named():
    with pytest.raises(InputError, match="round 0, agent 0: entry 'weight' is not finite"):
        list(train(line(), [(ROWS, TARGETS)], rounds=1, lr=1e30, epochs=5, loss=squared))


@pytest.mark.full
@needs("mnist")
def test_the_papers_network_learns_mnist():
    """The paper's settings with 5 agents and 4 rounds; who has mislabelled rows is worth least."""
    data = load("mnist")
    images, labels = as_images(data.train.X[:3000], size=32), data.train.y[:3000].copy()
    parts = split(labels, 5, rows_per_agent=600)
    labels[parts[3]] = 9 - labels[parts[3]]
    agents = [(images[rows], labels[rows]) for rows in parts]
    rounds = train(mnist_cnn(), agents, rounds=4, lr=0.25, decay=0.977)
    test = as_images(data.test.X[:200], size=32), data.test.y[:200]
    game = FederatedGame(rounds, ModelUtility(mnist_cnn(), test))
    values = fs.exact(game).values
    assert game.rounds[-1](np.ones((1, 5), dtype=bool))[0] > 0.7
    assert values.argmin() == 3
