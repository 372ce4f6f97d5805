"""Sets that are always there: those that come with scikit-learn, and the synthetic one."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
from scipy.special import expit

from fairshapley._basics import checks
from fairshapley.datasets.dataset import Dataset
from fairshapley.datasets.entry import CATALOGUE, Wanted
from fairshapley.randomness import root_seed, side_generator

_GAUSSIAN_ROWS = 50_000


def gaussian(n_rows: int = _GAUSSIAN_ROWS, *, seed: int = 0) -> Dataset:
    """The paper's synthetic set: x ~ N(0, I₅), P(y = 1) = 1 / (1 + exp(−2x₁ − x₂)).

    Parameters
    ----------
    n_rows
        How many points; the first ones are the same whatever their number.
    seed
        The seed of the draw; `load("gaussian")` has seed 0.

    Examples
    --------
    >>> points = gaussian(1000, seed=3)
    >>> points.X.shape, points.classes
    ((1000, 5), (0, 1))
    >>> bool((points.X[:10] == gaussian(10, seed=3).X).all())
    True
    """
    number = checks.whole("n_rows", n_rows)
    seed = root_seed(seed)
    about = CATALOGUE["gaussian"]
    return dataclasses.replace(
        _draw(number, seed),
        description=about.description,
        source=f"synthetic, seed {seed}",
        licence=about.licence,
        citation=about.citation,
    )


def _draw(n_rows: int, seed: int) -> Dataset:
    """Points from one stream and labels from another, so that more rows keep the first ones."""
    points = side_generator(seed, "gaussian points").standard_normal((n_rows, 5))
    chance = side_generator(seed, "gaussian labels").random(n_rows)
    y = (chance < expit(2 * points[:, 0] + points[:, 1])).astype(np.int64)
    names = tuple(f"x{number}" for number in range(1, 6))
    return Dataset("gaussian", points, y, names, target_names=("0", "1"), classes=(0, 1))


def read_gaussian(_files: tuple[Path, ...], _wanted: Wanted) -> Dataset:
    """The synthetic set as `load` gives it."""
    return _draw(_GAUSSIAN_ROWS, 0)


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
