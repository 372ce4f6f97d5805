"""The data sets of the scoreboard as features and labels, and the harm that is done to them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from benchmarks.peers.environment import ENVIRONMENTS
from fairshapley_paper.datasets import copy_path
from fairshapley_paper.datasets import load as load_dataset

Rows = tuple[NDArray[np.float64], NDArray[np.int64]]
# Kept because pictures take a minute to become features.
FEATURES = ENVIRONMENTS.parent / "features"
# OpenDataVal's numbers of rows; where a set has fewer, each part has its share.
SIZES = (1000, 100, 500)
HARMS = ("labels 10 %", "labels 20 %", "features 20 %")


def _adult() -> Rows:
    from fairshapley.tables import Preprocessor, read_table

    table = read_table(copy_path("adult"), max_rows=None)
    names = [name for name in table.column_names if name != "income"]
    y = np.array(table.column("income").to_pylist()) == ">50K"
    return Preprocessor.fit(table, names).encode(table, "all"), y.astype(np.int64)


def _standardised(X: NDArray[Any]) -> NDArray[np.float64]:  # noqa: N803
    from sklearn.preprocessing import StandardScaler

    # Ten wilderness and soil columns of Covertype are nearly constant; a few stay at zero.
    scaled: NDArray[np.float64] = StandardScaler().fit_transform(np.asarray(X, dtype=np.float64))
    return scaled


def _plain(name: str) -> Callable[[], Rows]:
    def rows() -> Rows:
        found = load_dataset(name)
        if name == "covertype":
            found = found.select(split="rand")
        return _standardised(found.X), np.unique(found.y, return_inverse=True)[1]

    return rows


def _mnist() -> Rows:
    from sklearn.decomposition import PCA

    found = load_dataset("mnist")
    pixels = found.X.reshape(len(found.X), -1) / 255.0
    return PCA(50, random_state=0).fit_transform(pixels), found.y.astype(np.int64)


def _cifar10() -> Rows:
    """Features learnt without labels: patches by the nearest centres (Coates, Lee, Ng 2011)."""
    from sklearn.cluster import MiniBatchKMeans
    from sklearn.decomposition import PCA

    found = load_dataset("cifar10")
    images = found.X.astype(np.float32) / 255
    rng = np.random.default_rng(0)
    size, n_centres = 6, 256
    windows = np.lib.stride_tricks.sliding_window_view(images, (size, size), axis=(1, 2))
    windows = windows[:, ::2, ::2]
    picks = rng.integers(0, (len(images), *windows.shape[1:3]), size=(50_000, 3)).T
    patches, mean, whiten = _whitened(windows[tuple(picks)].reshape(50_000, -1))
    centres = MiniBatchKMeans(n_centres, random_state=0, n_init=3, batch_size=4096).fit(patches)
    middle = centres.cluster_centers_.astype(np.float32)
    features = []
    for image in windows:
        flat = _contrast(image.reshape(-1, 3 * size * size)) - mean
        away = np.sqrt(
            np.maximum(
                ((flat @ whiten) ** 2).sum(1)[:, None]
                + (middle**2).sum(1)
                - 2 * (flat @ whiten) @ middle.T,
                0,
            )
        )
        near = np.maximum(away.mean(1, keepdims=True) - away, 0)
        grid = near.reshape(*image.shape[:2], n_centres)
        half = grid.shape[0] // 2
        parts = [
            grid[a, b].sum((0, 1))
            for a in (slice(half), slice(half, None))
            for b in (slice(half), slice(half, None))
        ]
        features.append(np.concatenate(parts))
    found_features = _standardised(np.array(features))
    reduced = PCA(100, whiten=True, random_state=0).fit_transform(found_features)
    return reduced, found.y.astype(np.int64)


def _contrast(patches: NDArray[Any]) -> NDArray[Any]:
    spread = np.sqrt(patches.var(axis=1, keepdims=True) + 10 / 255**2)
    normal: NDArray[Any] = (patches - patches.mean(axis=1, keepdims=True)) / spread
    return normal


def _whitened(patches: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    normal = _contrast(patches)
    mean = normal.mean(axis=0)
    values, vectors = np.linalg.eigh(np.cov(normal.T))
    whiten = ((vectors / np.sqrt(values + 0.1)) @ vectors.T).astype(np.float32)
    return (normal - mean) @ whiten, mean, whiten


def _texts(name: str) -> Callable[[], Rows]:
    def rows() -> Rows:
        from sklearn.decomposition import TruncatedSVD
        from sklearn.feature_extraction.text import TfidfVectorizer

        found = load_dataset(name)
        texts, y = np.asarray(found.X), np.asarray(found.y)
        if name == "sst5":
            texts, y = texts[y != 2], (y[y != 2] > 2).astype(np.int64)
        words = TfidfVectorizer(min_df=2, ngram_range=(1, 2), sublinear_tf=True)
        reduce = TruncatedSVD(100, random_state=0)
        return _standardised(reduce.fit_transform(words.fit_transform(texts))), y

    return rows


SETS: dict[str, Callable[[], Rows]] = {
    "adult": _adult,
    "breast_cancer": _plain("breast_cancer"),
    "covertype": _plain("covertype"),
    "mnist": _mnist,
    "cifar10": _cifar10,
    "mr": _texts("mr"),
    "sst2": _texts("sst5"),
    "hotel_reviews": _plain("hotel_reviews"),
}


def load(name: str, folder: Path = FEATURES) -> Rows:
    """All rows of a set as features and labels from 0 on; they are kept in a folder."""
    file = folder / f"{name}.npz"
    if not file.exists():
        X, y = SETS[name]()  # noqa: N806
        file.parent.mkdir(parents=True, exist_ok=True)
        np.savez(file, X=X, y=y)
    with np.load(file) as kept:
        return kept["X"], kept["y"]


@dataclass(frozen=True, eq=False)
class Case:
    """Rows to be judged, some of which are harmed, and rows to judge by."""

    name: str
    harm: str
    seed: int
    train: Rows
    valid: Rows
    test: Rows
    harmed: NDArray[np.bool_]
    """Which training rows were harmed"""


def case(
    name: str,
    harm: str,
    seed: int,
    sizes: tuple[int, int, int] = SIZES,
    folder: Path = FEATURES,
) -> Case:
    """The rows of one repetition, as OpenDataVal makes them.

    Labels of a share of training and validation rows become other ones, all others alike; or
    features of a share of both get noise of standard deviation 1, that of the features. Test rows
    stay as they are.
    """
    X, y = load(name, folder)  # noqa: N806
    rng = np.random.default_rng([seed, *name.encode(), *harm.encode()])
    wanted = np.array(sizes)
    if wanted.sum() > len(y):
        wanted = wanted * len(y) // wanted.sum()
    order = rng.permutation(len(y))[: wanted.sum()]
    train, valid, test = (
        (X[part], y[part].copy()) for part in np.split(order, np.cumsum(wanted)[:-1])
    )
    kind, share = harm.split()[0], float(harm.split()[1]) / 100
    n_classes = int(y.max()) + 1
    harmed = []
    for rows, targets in (train, valid):
        hit = np.zeros(len(rows), dtype=bool)
        hit[rng.choice(len(rows), round(share * len(rows)), replace=False)] = True
        harmed.append(hit)
        if kind == "labels":
            shift = rng.integers(1, n_classes, size=hit.sum())
            targets[hit] = (targets[hit] + shift) % n_classes
        else:
            rows[hit] += rng.normal(size=(int(hit.sum()), rows.shape[1])) * X.std(axis=0)
    return Case(name, harm, seed, train, valid, test, harmed[0])
