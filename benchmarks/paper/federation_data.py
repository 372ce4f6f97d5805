"""The agents' data, the test rows and the network of a federation."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.paper.federation import Federation
from fairshapley.errors import InputError
from fairshapley.randomness import side_generator
from fairshapley_paper.datasets import Dataset, load
from fairshapley_paper.federated.data import Vocabulary, as_images, split
from fairshapley_paper.federated.networks import cifar_cnn, mnist_cnn, text_cnn

if TYPE_CHECKING:
    import torch

# The longest sentence of the two sets of texts has 64 words and signs.
TEXT_LENGTH = 64
HELD_OUT = 0.1
"""The share of the sentences of movie reviews that are the test, as the set has none"""


@dataclass(frozen=True, eq=False)
class Ready:
    """What training takes."""

    model: torch.nn.Module
    agents: Sequence[tuple[Any, Any]]
    test: tuple[Any, Any]
    sizes: NDArray[np.int64]
    """The rows of each agent"""
    checksum: str
    """The checksum of the dataset"""


def prepare(federation: Federation) -> Ready:
    """Return the data and the network of a federation, as its configuration says."""
    data = load(federation.dataset)
    train, test = _parts(data, federation.seed)
    parts = split(
        train.y,
        federation.n_agents,
        federation.split,
        rows_per_agent=federation.rows_per_agent,
        seed=federation.seed,
    )
    if federation.test_rows is not None:
        if federation.test_rows > len(test):
            raise InputError(
                f"{federation.name} asks for {federation.test_rows} test rows, {data.name} has "
                f"{len(test)}: put the whole set into the data folder"
            )
        generator = side_generator(federation.seed, "paper federation test rows")
        test = test.take(generator.choice(len(test), federation.test_rows, replace=False))
    options = dict(federation.network)
    model: torch.nn.Module
    rows: NDArray[Any]
    tests: NDArray[Any]
    if federation.dataset in ("mnist", "cifar10"):
        make = mnist_cnn if federation.dataset == "mnist" else cifar_cnn
        rows, tests = as_images(train.X, size=32), as_images(test.X, size=32)
        if federation.dataset == "cifar10":
            # From −1 to 1: with ReLU, SGD hardly leaves the start on colours from 0 to 1.
            rows, tests = 2 * rows - 1, 2 * tests - 1
        model = make(seed=federation.seed, **options)
    else:
        given = np.concatenate(parts)
        words = Vocabulary(train.X[np.sort(given)].tolist())
        rows = words.encode(train.X.tolist(), TEXT_LENGTH)
        tests = words.encode(test.X.tolist(), TEXT_LENGTH)
        classes = len(data.classes or ())
        model = text_cnn(len(words), classes, seed=federation.seed, **options)
    agents = [(rows[part], train.y[part]) for part in parts]
    sizes = np.array([len(part) for part in parts])
    return Ready(model, agents, (tests, test.y), sizes, data.checksum)


def _parts(data: Dataset, seed: int) -> tuple[Dataset, Dataset]:
    """Return the publisher's training and test rows, or a share of the rows held out."""
    if data.split is not None:
        return data.train, data.test
    order = side_generator(seed, "paper federation held out").permutation(len(data))
    held_out = round(HELD_OUT * len(data))
    return data.take(np.sort(order[held_out:])), data.take(np.sort(order[:held_out]))
