"""The preparations of the paper's experiments, each a small function of its own.

Those that change a data set give a new one, and say in its notes what they did.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray
from fairshapley.datasets.dataset import Dataset
from fairshapley.errors import InputError
from fairshapley.randomness import root_seed, side_generator

PAPER_MAKES = ("audi", "ford", "toyota", "vw", "bmw", "merc", "vauxhall", "skoda")
PAPER_CARD_FEATURES = ("V1", "V2", "V5", "V7", "V10", "V20", "V21", "V23")


def one_against_rest(dataset: Dataset, label: int = 1) -> Dataset:
    """A two-class problem: y is 1 for the class `label` and 0 for every other.

    Examples
    --------
    >>> from fairshapley.datasets import load
    >>> one_against_rest(load("iris"), 2).target_names
    ('not virginica', 'virginica')
    """
    if dataset.classes is None or label not in dataset.classes:
        known = ", ".join(map(str, dataset.classes or ())) or "none, as it is a regression"
        raise InputError(f"{dataset.name} has no class {label!r}; it has {known}")
    position = dataset.classes.index(label)
    name = dataset.target_names[position] if dataset.target_names else str(label)
    return dataclasses.replace(
        dataset,
        y=(dataset.y == label).astype(np.int64),
        classes=(0, 1),
        target_names=(f"not {name}", name),
        notes=(*dataset.notes, f"class {label} ({name}) against the rest"),
    )


def oversample(dataset: Dataset, *, seed: int = 0) -> Dataset:
    """Every class as large as the largest: rows of the smaller ones are drawn again.

    All rows stay where they are; the drawn ones follow, class by class. Split training from test
    rows first, or copies of one row fall on both sides.

    Examples
    --------
    >>> from fairshapley.datasets import load
    >>> cancer = load("breast_cancer")
    >>> np.bincount(cancer.y), np.bincount(oversample(cancer).y)
    (array([212, 357]), array([357, 357]))
    """
    if dataset.classes is None:
        raise InputError(f"{dataset.name} is a regression: it has no classes to balance")
    seed = root_seed(seed)
    generator = side_generator(seed, "oversample")
    members = [np.flatnonzero(dataset.y == label) for label in dataset.classes]
    largest = max((len(rows) for rows in members), default=0)
    drawn = [
        generator.choice(rows, largest - len(rows)) for rows in members if 0 < len(rows) < largest
    ]
    balanced = dataset.take(np.concatenate([np.arange(len(dataset)), *drawn]))
    added = len(balanced) - len(dataset)
    note = f"{added:,} rows of smaller classes drawn again to balance them, seed {seed}"
    return dataclasses.replace(balanced, notes=(*dataset.notes, note))


def standardise(rows: ArrayLike, reference: ArrayLike | None = None) -> FloatArray:
    """The columns less their mean, over their standard deviation.

    Parameters
    ----------
    rows
        Rows of numbers.
    reference
        The rows whose mean and standard deviation are taken, such as the points to be valued when
        `rows` are the validation points; `rows` itself unless given. A column that is constant in
        them is only centred.

    Examples
    --------
    >>> standardise([[1.0, 5.0], [3.0, 5.0]])
    array([[-1.,  0.],
           [ 1.,  0.]])
    >>> standardise([[5.0, 6.0]], reference=[[1.0, 5.0], [3.0, 5.0]])
    array([[3., 1.]])
    """
    rows = _finite_rows("rows", rows)
    given = rows if reference is None else _finite_rows("reference", reference)
    if len(given) == 0 or given.shape[1] != rows.shape[1]:
        raise InputError(
            f"reference has the shape {given.shape} and rows {rows.shape}: give at least one row "
            "with the same columns"
        )
    spread = given.std(axis=0)
    # A constant column has a spread of rounding errors, up to a few units in the last place.
    constant = np.ptp(given, axis=0) == 0
    standardised: FloatArray = (rows - given.mean(axis=0)) / np.where(constant, 1.0, spread)
    if reference is None:
        standardised[:, constant] = 0.0
    return standardised


def image_rows(images: NDArray[Any]) -> FloatArray:
    """Images of bytes as rows of numbers from 0 to 1, one column per pixel and colour.

    Examples
    --------
    >>> image_rows(np.array([[[0, 255], [51, 0]]], dtype=np.uint8))
    array([[0. , 1. , 0.2, 0. ]])
    """
    images = np.asarray(images)
    if images.ndim < 3 or images.dtype != np.uint8:
        raise InputError(
            f"images must be bytes of shape (m, height, width[, colour]), not {images.dtype} of "
            f"shape {images.shape}"
        )
    return images.reshape(len(images), int(np.prod(images.shape[1:]))) / 255.0


def pad_images(images: NDArray[Any], size: int = 32) -> NDArray[Any]:
    """Square images in the middle of `size` × `size` pixels, zeros around them.

    Examples
    --------
    >>> pad_images(np.ones((1, 2, 2), dtype=np.uint8), 4)[0]
    array([[0, 0, 0, 0],
           [0, 1, 1, 0],
           [0, 1, 1, 0],
           [0, 0, 0, 0]], dtype=uint8)
    """
    images = np.asarray(images)
    size = checks.whole("size", size)
    if images.ndim < 3 or size < max(images.shape[1:3]):
        raise InputError(
            f"images of shape {images.shape} do not fit in {size}×{size}: they must be "
            "(m, height, width[, colour]) and no larger"
        )
    margins = [(size - side) for side in images.shape[1:3]]
    around = [(margin // 2, margin - margin // 2) for margin in margins]
    return np.pad(images, [(0, 0), *around, *[(0, 0)] * (images.ndim - 3)])


def card_amounts(dataset: Dataset, *, limit: float = 1000.0) -> Dataset:
    """Credit card payments as in the paper: `Amount` from eight of the features.

    Rows with an Amount above `limit` are held out: their `split` is ``"held_out"``, that of the
    others ``"main"``.

    Parameters
    ----------
    dataset
        ``load("creditcard")``.
    limit
        The largest Amount that is not held out; the paper's is 1000.
    """
    if not checks.is_real(limit) or np.isnan(limit):
        raise InputError(f"limit must be a number, an Amount, not {limit!r}")
    features = _columns(dataset, (*PAPER_CARD_FEATURES, "Amount"))
    amount = features[:, -1]
    held_out = amount > limit
    note = f"Amount from {len(PAPER_CARD_FEATURES)} features; {int(held_out.sum()):,} rows with "
    return dataclasses.replace(
        dataset,
        X=features[:, :-1],
        y=amount,
        feature_names=PAPER_CARD_FEATURES,
        target_names=("Amount",),
        classes=None,
        split=np.where(held_out, "held_out", "main"),
        notes=(*dataset.notes, f"{note}Amount > {limit:g} held out"),
    )


def paper_used_cars(dataset: Dataset) -> Dataset:
    """Used cars as in the paper: eight makes in its order, without cars from after 2021.

    Parameters
    ----------
    dataset
        ``load("used_cars")``; the makes are its groups.
    """
    year = _columns(dataset, ("year",))[:, 0]
    if dataset.groups is None:
        raise InputError(f"{dataset.name} has no groups: give load('used_cars')")
    possible = np.flatnonzero(year <= 2021)
    makes = dataset.groups[possible]
    rows = np.concatenate([possible[makes == make] for make in PAPER_MAKES])
    note = "the paper's eight makes, cars from after 2021 dropped"
    return dataclasses.replace(dataset.take(rows), notes=(*dataset.notes, note))


def _columns(dataset: Dataset, names: tuple[str, ...]) -> FloatArray:
    """Columns of a numeric set, by name."""
    missing = [name for name in names if name not in dataset.feature_names]
    if missing or dataset.X.dtype == object:
        what = f"no column {missing[0]}" if missing else "columns that are not numbers"
        raise InputError(
            f"{dataset.name} has {what} here: load it anew, in its variant 'numeric', and prepare "
            "it once"
        )
    return dataset.X[:, [dataset.feature_names.index(name) for name in names]]


def _finite_rows(name: str, values: ArrayLike) -> FloatArray:
    try:
        rows = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must hold numbers alone") from None
    if rows.ndim != 2 or not np.isfinite(rows).all():
        raise InputError(f"{name} must be finite numbers of the shape (m, d), not {rows.shape}")
    return rows
