"""The games of the benchmark, with their truths.

Each case says how its game is made and where its truth comes from: a formula, all coalitions, or a
long run whose standard error is kept beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

import fairshapley as fs
from fairshapley.games import Game
from fairshapley_paper.datasets import load

Floats = NDArray[np.float64]
TABLES = Path(__file__).parents[2] / ".benchmarks" / "tables"


@dataclass(frozen=True)
class Case:
    """A game of the benchmark."""

    name: str
    title: str
    make: Callable[[], Game]
    xi: float | None
    """None: a tenth of the mean |φ|, for utilities whose unit is not that of an accuracy"""
    truth: str
    """"formula", "exact" (all coalitions), or "long run\""""
    per_player: tuple[int, ...] = (10, 30, 60, 200)


def _standardised(train: Floats, *others: Floats) -> tuple[Floats, ...]:
    scaler = StandardScaler().fit(train)
    return tuple(scaler.transform(one) for one in (train, *others))


def _liblinear() -> LogisticRegression:
    return LogisticRegression(solver="liblinear", C=0.05)


def _balanced(y: NDArray[np.int64], rng: np.random.Generator) -> NDArray[np.int64]:
    """Row numbers in random order, with the minority class drawn again until both are as large."""
    ones, zeros = np.flatnonzero(y == 1), np.flatnonzero(y == 0)
    few, many = sorted((ones, zeros), key=len)
    rows = np.concatenate([many, few, rng.choice(few, len(many) - len(few))])
    return rng.permutation(rows)


def _one_per_class(y: NDArray[np.int64]) -> NDArray[np.int64]:
    return np.array([np.flatnonzero(y == one)[0] for one in np.unique(y)])


Points = tuple[Floats, NDArray[np.int64]]


def _split(
    x: Floats, y: NDArray[np.int64], n_players: int, *, duplicate: bool = False
) -> tuple[Points, Points, Points]:
    """Points to value, 100 to test on, and C₀ outside the game, as the paper sets them up."""
    own = n_players // 2 if duplicate else n_players
    base = _one_per_class(y[own : own + 200]) + own
    rest = np.setdiff1d(np.arange(own, len(y)), base)[:100]
    rows = np.concatenate([np.arange(own)] * (2 if duplicate else 1))
    train, c0, test = _standardised(x[rows], x[base], x[rest])
    return (train, y[rows]), (test, y[rest]), (c0, y[base])


def points(x: Floats, y: NDArray[np.int64], n_players: int, model: object) -> Game:
    train, test, base = _split(x, y, n_players)
    return fs.games.DataGame(model, train, test, base=base)


def gaussian_points(
    n_players: int = 100, *, duplicate: bool = True
) -> tuple[Points, Points, Points]:
    """Return the paper's symmetry study: 50 points of the synthetic Gaussian set, each twice."""
    data = load("gaussian")
    return _split(data.X, data.y, n_players, duplicate=duplicate)


def logistic_gaussian(n_players: int = 100, *, duplicate: bool = True) -> Game:
    train, test, base = gaussian_points(n_players, duplicate=duplicate)
    return fs.games.DataGame(_liblinear(), train, test, base=base)


def logistic_covertype() -> Game:
    data = load("covertype").select(split="rand")
    y = (np.asarray(data.y) == 1).astype(np.int64)
    rows = _balanced(y, np.random.default_rng(0))[:1000]
    return points(np.asarray(data.X, dtype=float)[rows], y[rows], 100, _liblinear())


def knn_breast_cancer() -> Game:
    x, y = load_breast_cancer(return_X_y=True)
    return fs.games.DataGame(
        KNeighborsClassifier(1), *_knn_rows(x, y), metric="accuracy", empty_value=0.0
    )


def _knn_rows(
    x: Floats, y: NDArray[np.int64]
) -> tuple[tuple[Floats, NDArray[np.int64]], tuple[Floats, NDArray[np.int64]]]:
    rows = np.random.default_rng(0).permutation(len(y))[:200]
    train, test = _standardised(x[rows[:100]], x[rows[100:]])
    return (train, y[rows[:100]]), (test, y[rows[100:]])


def knn_values() -> Floats:
    """Return the closed form of Jia et al. (2019) for the utility above."""
    (x, y), (x_test, y_test) = _knn_rows(*load_breast_cancer(return_X_y=True))
    return fs.knn_shapley(x, y, x_test, y_test, k=1).values


def ridge_diabetes() -> Game:
    x, y = load_diabetes(return_X_y=True)
    rows = np.random.default_rng(0).permutation(len(y))
    x, y = x[rows], (y[rows] - y.mean()) / y.std()
    train, c0, test = _standardised(x[:50], x[50:51], x[51:151])
    return fs.games.DataGame(
        Ridge(alpha=1.0), (train, y[:50]), (test, y[51:151]), metric="neg_mse", base=(c0, y[50:51])
    )


def svc_breast_cancer() -> Game:
    x, y = load_breast_cancer(return_X_y=True)
    rows = _balanced(y, np.random.default_rng(1))[:400]
    return tabulated("svc-breast-cancer", lambda: points(x[rows], y[rows], 16, SVC(C=1.0)))


def forest() -> Game:
    x, y = load_breast_cancer(return_X_y=True)
    rows = _balanced(y, np.random.default_rng(2))[:400]
    model = RandomForestClassifier(10, random_state=0)
    return tabulated("random-forest", lambda: points(x[rows], y[rows], 14, model))


def features() -> Game:
    """The mean of a forest's prediction over rows whose other features come from a background."""
    x, y = load_breast_cancer(return_X_y=True)
    chosen = x[:, :12]
    model = RandomForestClassifier(30, random_state=0, max_depth=5).fit(chosen, y)
    return tabulated(
        "features",
        lambda: fs.games.FeatureGame(
            model.predict_proba, chosen, kind="marginal", rows=[19], output=1, background=60, seed=0
        ),
    )


def volume() -> Game:
    """Return ten providers of 100 rows of the wine-like breast cancer features."""
    x, _ = load_breast_cancer(return_X_y=True)
    (scaled,) = _standardised(x[:, [0, 1, 4, 5]])
    datasets = [scaled[start * 50 : start * 50 + 50 + 5 * start] for start in range(10)]
    return tabulated("volume", lambda: fs.games.VolumeGame(datasets, omega=0.1))


def tabulated(name: str, make: Callable[[], Game]) -> Game:
    """Return the game as a table of all its utilities, computed once and kept."""
    game = make()
    path = TABLES / f"{name}-{fs.games.fingerprint(game)[:16]}.npy"
    if not path.exists():
        n_players = game.n_players
        numbers = np.arange(1 << n_players)
        masks = (numbers[:, None] >> np.arange(n_players) & 1).astype(bool)
        path.parent.mkdir(parents=True, exist_ok=True)
        np.save(path, game(masks))
    return fs.games.TableGame(np.load(path, allow_pickle=False))


CASES = {
    case.name: case
    for case in (
        Case(
            "logistic-gaussian",
            "logistic regression, Gaussian, n = 100 (50 points, each twice)",
            logistic_gaussian,
            1e-3,
            "long run",
        ),
        Case(
            "logistic-covertype",
            "logistic regression, Covertype, n = 100",
            logistic_covertype,
            1e-3,
            "long run",
        ),
        Case(
            "knn-breast-cancer",
            "1-NN, breast cancer, n = 100",
            knn_breast_cancer,
            1e-3,
            "formula",
        ),
        Case(
            "ridge-diabetes",
            "ridge, diabetes, negative MSE, n = 50",
            ridge_diabetes,
            None,
            "long run",
        ),
        Case(
            "svc-breast-cancer",
            "SVC, breast cancer, n = 16",
            svc_breast_cancer,
            1e-3,
            "exact",
        ),
        Case(
            "random-forest",
            "random forest, breast cancer, n = 14",
            forest,
            1e-3,
            "exact",
        ),
        Case(
            "unanimity",
            "sum of 60 unanimity games, n = 40",
            lambda: fs.games.SumOfUnanimity(40, n_terms=60, seed=1),
            None,
            "formula",
        ),
        Case("features", "features of a random forest, n = 12", features, None, "exact"),
        Case("volume", "robust volume, n = 10", volume, None, "exact"),
        Case(
            "logistic-1000",
            "logistic regression, Gaussian, n = 1000",
            lambda: logistic_gaussian(1000, duplicate=False),
            1e-3,
            "long run",
            per_player=(10, 30),
        ),
    )
}
