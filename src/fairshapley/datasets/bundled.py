"""Sets that are always there: those that come with scikit-learn, and the synthetic one."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
from scipy.special import expit

from fairshapley._basics import checks
from fairshapley.datasets.dataset import Dataset
from fairshapley.datasets.entry import Content, Entry, Source
from fairshapley.randomness import root_seed, side_generator

_UCI = "CC BY 4.0 (UCI); comes with scikit-learn"
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
    content = _draw(number, seed)
    return Dataset(
        name="gaussian",
        X=content.X,
        y=content.y,
        feature_names=content.feature_names,
        target_names=content.target_names,
        classes=content.classes,
        description=GAUSSIAN.description,
        source=f"synthetic, seed {seed}",
        licence=GAUSSIAN.licence,
        citation=GAUSSIAN.citation,
    )


def _draw(n_rows: int, seed: int) -> Content:
    """Points from one stream and labels from another, so that more rows keep the first ones."""
    points = side_generator(seed, "gaussian points").standard_normal((n_rows, 5))
    chance = side_generator(seed, "gaussian labels").random(n_rows)
    y = (chance < expit(2 * points[:, 0] + points[:, 1])).astype(np.int64)
    names = tuple(f"x{number}" for number in range(1, 6))
    return Content(points, y, names, target_names=("0", "1"), classes=(0, 1))


def _bundled(loader: str, _files: tuple[Path, ...], _part: str) -> Content:
    """One of scikit-learn's own sets, by the name of its loader."""
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, loader)()
    names = tuple(str(name) for name in bunch.feature_names)
    data = np.asarray(bunch.data, dtype=np.float64)
    if loader == "load_diabetes":
        target = "progression of the disease after one year"
        return Content(data, np.asarray(bunch.target, dtype=np.float64), names, (target,))
    classes = tuple(range(len(bunch.target_names)))
    notes = (
        ("the paper reports 2000 rows of wine; this set has 178",) if loader == "load_wine" else ()
    )
    return Content(
        data,
        np.asarray(bunch.target, dtype=np.int64),
        names,
        target_names=tuple(str(name) for name in bunch.target_names),
        classes=classes,
        notes=notes,
    )


def _entry(
    name: str, description: str, page: str, citation: str, paper: str, licence: str = _UCI
) -> Entry:
    loader = f"load_{name}"
    source = Source(
        "scikit-learn",
        functools.partial(_bundled, loader),
        title=loader,
    )
    return Entry(name, description, page, licence, citation, {"numeric": (source,)}, paper)


GAUSSIAN = Entry(
    name="gaussian",
    description="50 000 points x ~ N(0, I₅) with P(y = 1) = 1 / (1 + exp(−2x₁ − x₂)).",
    page="none: it is drawn, in the paper too",
    licence="none needed",
    citation="Kwon & Zou (2022), Beta Shapley, AISTATS",
    variants={
        "numeric": (
            Source(
                "synthetic",
                lambda _files, _part: _draw(_GAUSSIAN_ROWS, 0),
                title="synthetic, seed 0",
            ),
        )
    },
    paper="P1, with logistic regression, kNN and SVC",
)

ENTRIES = (
    _entry(
        "breast_cancer",
        "Breast cancer Wisconsin (diagnostic): 569 tumours, 30 features, malignant or benign.",
        "https://archive.ics.uci.edu/dataset/17",
        "Wolberg, Mangasarian, Street & Street (1993), UCI Machine Learning Repository",
        "P1, with logistic regression, kNN and SVC",
    ),
    _entry(
        "diabetes",
        "Diabetes: 442 patients, 10 scaled features, progression of the disease.",
        "https://www4.stat.ncsu.edu/~boos/var.select/diabetes.html",
        "Efron, Hastie, Johnstone & Tibshirani (2004), Least angle regression",
        "P1, with ridge regression",
        licence="none stated by the authors; comes with scikit-learn",
    ),
    _entry(
        "digits",
        "Optical recognition of handwritten digits: 1797 images of 8×8 pixels as 64 features.",
        "https://archive.ics.uci.edu/dataset/80",
        "Alpaydin & Kaynak (1998), UCI Machine Learning Repository",
        "",
    ),
    GAUSSIAN,
    _entry(
        "iris",
        "Iris: 150 flowers, 4 features, 3 species.",
        "https://archive.ics.uci.edu/dataset/53",
        "Fisher (1936), The use of multiple measurements in taxonomic problems",
        "P4, with kNN",
    ),
    _entry(
        "wine",
        "Wine recognition: 178 wines, 13 features, 3 cultivars.",
        "https://archive.ics.uci.edu/dataset/109",
        "Aeberhard & Forina (1991), UCI Machine Learning Repository",
        "P4, with a random forest",
    ),
)
