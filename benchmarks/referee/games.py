"""The games: tables with every utility known, and games of other kinds, each with its truth."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import roots_legendre
from scipy.stats import hypergeom
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.tree import DecisionTreeClassifier

import fairshapley as fs
from benchmarks.efficiency import cases, truths
from benchmarks.referee.voting import WeightedVoting
from fairshapley.games import Game

Floats = NDArray[np.float64]
TRUTHS = Path(__file__).with_name("truths")
BUDGETS = (3.2, 6.0, 10.0, 30.0, 60.0, 100.0, 200.0)
TABLES, OTHERS = "tables", "others"


@dataclass(frozen=True, eq=False)
class RefereeGame:
    """One game, its true values and the ξ of its fidelity."""

    name: str
    game: Game
    truth: Floats
    source: str = "all coalitions"
    truth_mse: float = 0.0
    """The squared standard error of the truth, in units of the mean φ²; 0 where it is exact"""

    @property
    def xi(self) -> float:
        """A tenth of the mean |φ|, as utilities have no common unit."""
        return 0.1 * float(np.abs(self.truth).mean())

    def budget(self, per_player: float) -> int | None:
        """The evaluations allowed; None where they are more than half of all coalitions."""
        n_players = self.game.n_players
        budget = int(per_player * n_players)
        return budget if n_players > 30 or budget <= 2**n_players / 2 else None


@dataclass(frozen=True)
class Family:
    """Games of one kind, over which errors are averaged."""

    name: str
    title: str
    part: str
    """"tables" or "others\""""
    load: Callable[[], Sequence[RefereeGame]]


def tables(folder: Path) -> list[Family]:
    """The families of a folder of files ``NAME-n.npz``: ``utilities`` of all coalitions."""
    return [
        Family(path.stem, path.stem, TABLES, partial(_load_tables, path))
        for path in sorted(folder.glob("*.npz"))
    ]


def _load_tables(path: Path) -> list[RefereeGame]:
    with np.load(path, allow_pickle=False) as kept:
        rows = kept["utilities"].astype(np.float64)
    games = [fs.games.TableGame(row) for row in rows]
    return [
        RefereeGame(f"{path.stem}/{number}", game, fs.exact(game).values)
        for number, game in enumerate(games)
    ]


class Glove:
    """Left and right gloves, one each; a pair is worth 1: v(S) = min(left, right)."""

    def __init__(self, n_left: int, n_right: int) -> None:
        self.left = np.arange(n_left + n_right) < n_left
        self.n_players = n_left + n_right

    def __call__(self, coalitions: NDArray[np.bool_]) -> Floats:
        left = (coalitions & self.left).sum(axis=1)
        pairs: Floats = np.minimum(left, coalitions.sum(axis=1) - left).astype(np.float64)
        return pairs

    @property
    def shapley_values(self) -> Floats:
        """The chance that a glove finds more of the other hand than of its own before it."""
        n_left = int(self.left.sum())
        n_right = self.n_players - n_left
        left, right = _more_of_other(n_left - 1, n_right), _more_of_other(n_right - 1, n_left)
        return np.where(self.left, left, right)


def _more_of_other(n_own: int, n_other: int) -> float:
    """The first s of all in random order are a hypergeometric sample, and s is uniform."""
    total = 0.0
    for size in range(n_own + n_other + 1):
        own = np.arange(size + 1)
        chance = hypergeom.pmf(own, n_own + n_other, n_own, size)
        total += float(chance[own < size - own].sum())
    return total / (n_own + n_other + 1)


class SpanningTree:
    """Houses to be connected to a source: v(S) is the length of the shortest tree that does it."""

    def __init__(self, n_players: int, seed: int) -> None:
        places = np.random.default_rng(seed).random((n_players + 1, 2))
        self.lengths = np.hypot(*(places[:, None] - places[None]).transpose(2, 0, 1))
        self.n_players = n_players

    def __call__(self, coalitions: NDArray[np.bool_]) -> Floats:
        """Prim's algorithm, for all coalitions at a time; the source is the last place."""
        rows = np.arange(len(coalitions))
        total = np.zeros(len(coalitions))
        waiting = np.array(coalitions, dtype=bool)
        nearest = np.broadcast_to(self.lengths[-1, :-1], waiting.shape).copy()
        for _ in range(int(waiting.sum(axis=1).max(initial=0))):
            reach = np.where(waiting, nearest, np.inf)
            house = reach.argmin(axis=1)
            step = reach[rows, house]
            joined = np.isfinite(step)
            total[joined] += step[joined]
            waiting[rows, house] = False
            nearest = np.minimum(nearest, self.lengths[house, :-1])
        return total


class Passages:
    """Passages that answer a question together: 1 − exp(−Σ rates), and what pairs add to it."""

    def __init__(self, n_players: int, seed: int) -> None:
        rng = np.random.default_rng(seed)
        rates = rng.gamma(1.0, size=n_players)
        self.rates = 20 * rates / rates.sum()
        synergies = rng.normal(0, 0.001, (n_players, n_players))
        self.pairs = np.triu(synergies * (rng.random(synergies.shape) < 0.15), 1)
        self.n_players = n_players

    def __call__(self, coalitions: NDArray[np.bool_]) -> Floats:
        members = coalitions.astype(np.float64)
        answered = 1 - np.exp(-members @ self.rates)
        together: Floats = answered + np.einsum("ki,ij,kj->k", members, self.pairs, members)
        return together

    @property
    def shapley_values(self) -> Floats:
        """The integral of the multilinear extension's gradient; half of a pair to each."""
        nodes, weights = roots_legendre(self.n_players)
        missed = -np.expm1(-self.rates)
        left = 1 - np.outer((nodes + 1) / 2, missed)
        gradient = left.prod(axis=1, keepdims=True) / left * missed
        halves = (self.pairs.sum(axis=0) + self.pairs.sum(axis=1)) / 2
        found: Floats = weights / 2 @ gradient + halves
        return found


class BoostedFeatures(fs.games.FeatureGame):
    """The features of one row for a sum of trees; shap's algorithm knows their values."""

    @property
    def shapley_values(self) -> Floats:
        model, rows = self.predictor.function.__self__, [BOOSTED_ROW]  # type: ignore[attr-defined]
        found = fs.explain(model, boosted_rows()[0], rows=rows, background=60, seed=0)
        return np.asarray(found.values, dtype=np.float64).ravel()


BOOSTED_ROW = 500


def boosted_rows() -> tuple[Floats, Floats]:
    """Twenty features of breast cancer, and the labels as numbers."""
    x, y = load_breast_cancer(return_X_y=True)
    return x[:, :20], y.astype(np.float64)


def boosting_features() -> Game:
    x, y = boosted_rows()
    model = GradientBoostingRegressor(random_state=0).fit(x[:400], y[:400])
    return BoostedFeatures(
        model.predict, x, kind="marginal", rows=[BOOSTED_ROW], background=60, seed=0
    )


def airport() -> Game:
    return fs.games.Airport(np.random.default_rng(0).gamma(2.0, size=100))


def voting() -> Game:
    weights = np.random.default_rng(0).integers(1, 100, size=50)
    return WeightedVoting(weights, quota=int(weights.sum()) // 2 + 1)


def _explained(model: object, x: Floats, row: int) -> Game:
    return fs.games.FeatureGame(
        model.predict_proba,  # type: ignore[attr-defined]
        x,
        kind="marginal",
        rows=[row],
        output=1,
        background=60,
        seed=0,
    )


def network_features() -> Game:
    x, y = load_breast_cancer(return_X_y=True)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    model = MLPClassifier((32, 16), max_iter=1000, random_state=0).fit(x[:400], y[:400])
    return _explained(model, x, 500)


def forest_features_13() -> Game:
    x, y = load_wine(return_X_y=True)
    model = RandomForestClassifier(50, random_state=0).fit(x, y)
    return cases.tabulated("forest-features-13", lambda: _explained(model, x, 19))


def forest_features_30() -> Game:
    x, y = load_breast_cancer(return_X_y=True)
    model = RandomForestClassifier(50, random_state=0).fit(x[:400], y[:400])
    return _explained(model, x, 500)


def tree_points() -> Game:
    x, y = load_breast_cancer(return_X_y=True)
    rows = np.random.default_rng(3).permutation(len(y))[:400]
    model = DecisionTreeClassifier(max_depth=3, random_state=0)
    return cases.tabulated("tree-points", lambda: cases.points(x[rows], y[rows], 14, model))


def _own(name: str, title: str, make: Callable[[], Game], truth: str) -> cases.Case:
    return cases.Case(name, title, make, None, truth, per_player=(60,))


OWN = (
    _own("airport", "airport (a maximum), n = 100", airport, "formula"),
    _own("voting", "weighted voting, n = 50", voting, "formula"),
    _own("spanning-tree", "minimum spanning tree, n = 40", lambda: SpanningTree(40, 0), "long run"),
    _own("glove", "gloves, 20 left and 30 right", lambda: Glove(20, 30), "formula"),
    _own("network-features", "features of a network, n = 30", network_features, "long run"),
    _own("forest-features-13", "features of a forest, n = 13", forest_features_13, "exact"),
    _own("forest-features-30", "features of a forest, n = 30", forest_features_30, "long run"),
    _own("boosting-features", "features of boosting, n = 20", boosting_features, "formula"),
    _own("passages", "passages of an answer, n = 24", lambda: Passages(24, 0), "formula"),
    _own("tree-points", "points of a decision tree, n = 14", tree_points, "exact"),
)
# Of the efficiency benchmark, with the truths kept there.
SHARED = ("logistic-gaussian", "knn-breast-cancer", "ridge-diabetes", "unanimity")
KINDS = {case.name: (case, TRUTHS) for case in OWN}
KINDS |= {name: (cases.CASES[name], truths.TRUTHS) for name in SHARED}


def _load_other(name: str) -> list[RefereeGame]:
    case, folder = KINDS[name]
    game = case.make()
    known = truths.truth_of(case, game, folder=folder)
    errors = float(np.square(known.standard_errors).mean() / np.square(known.values).mean())
    return [RefereeGame(name, game, known.values, known.source, errors)]


def others() -> list[Family]:
    """Games of other kinds, one each."""
    return [
        Family(name, case.title, OTHERS, partial(_load_other, name))
        for name, (case, _) in KINDS.items()
    ]


def families() -> list[Family]:
    """All families; the tables only where ``FAIRSHAPLEY_DATA`` has them."""
    folder = Path(os.environ.get("FAIRSHAPLEY_DATA", "")) / "games"
    found = tables(folder) if folder.is_dir() else []
    if not found:
        print("no tables of games: set FAIRSHAPLEY_DATA to the folder that holds games/*.npz")
    return [*found, *others()]
