"""Sets that are always there: those that come with scikit-learn, and the synthetic one."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from scipy.special import expit

from fairshapley.datasets.dataset import Dataset
from fairshapley.datasets.entry import Wanted
from fairshapley.randomness import side_generator

_GAUSSIAN_ROWS = 50_000


def read_gaussian(_files: tuple[Path, ...], wanted: Wanted) -> Dataset:
    """The paper's synthetic set: x ~ N(0, I₅), P(y = 1) = 1 / (1 + exp(−2x₁ − x₂))."""
    points = side_generator(0, "gaussian points").standard_normal((_GAUSSIAN_ROWS, 5))
    chance = side_generator(0, "gaussian labels").random(_GAUSSIAN_ROWS)
    y = (chance < expit(2 * points[:, 0] + points[:, 1])).astype(np.int64)
    names = tuple(f"x{number}" for number in range(1, 6))
    return Dataset(wanted.name, points, y, names, ("0", "1"), (0, 1))


def read_bundled(_files: tuple[Path, ...], wanted: Wanted) -> Dataset:
    """One of scikit-learn's own sets."""
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, f"load_{wanted.name}")()
    names = tuple(str(name) for name in bunch.feature_names)
    data = np.asarray(bunch.data, dtype=np.float64)
    if wanted.name == "diabetes":
        target = ("progression of the disease after one year",)
        return Dataset(wanted.name, data, bunch.target.astype(np.float64), names, target)
    classes = tuple(str(name) for name in bunch.target_names)
    y = bunch.target.astype(np.int64)
    return Dataset(wanted.name, data, y, names, classes, tuple(range(len(classes))))
