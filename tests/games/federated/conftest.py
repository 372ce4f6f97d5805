"""A small federation on digits, trained once."""

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from sklearn.datasets import load_digits

from fairshapley.games.federated import ModelUtility
from fairshapley_paper.federated.data import as_images, split
from fairshapley_paper.federated.networks import mnist_cnn
from fairshapley_paper.federated.training import train


@pytest.fixture(autouse=True)
def _one_thread():
    """The tests share their cores: more threads than cores would only wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


@pytest.fixture(scope="session")
def digits():
    """A small network and a federation of five; agents 1 and 3 sit out round 1, 0 and 2 round 2."""
    torch.set_num_threads(1)
    data = load_digits()
    images, labels = as_images(data.images / 16.0, size=12), data.target
    parts = split(labels[:500], 5, "powerlaw", seed=1)
    agents = [(images[rows], labels[rows]) for rows in parts]
    model = mnist_cnn(image=(1, 12, 12), channels=(6, 8), kernels=(3, 2), hidden=24)
    options = {
        "lr": 0.5,
        "epochs": 3,
        "batch_size": 16,
        "participation": [range(5), [0, 2, 4], [1, 3, 4]],
    }
    rounds = list(train(model, agents, rounds=3, **options))
    test = images[500:750], labels[500:750]
    return SimpleNamespace(
        model=model,
        agents=agents,
        options=options,
        rounds=rounds,
        test=test,
        utility=ModelUtility(model, test),
    )


@pytest.fixture(scope="session")
def coalitions():
    """All 32 coalitions of five agents."""
    return (np.arange(32)[:, None] >> np.arange(5) & 1).astype(bool)
