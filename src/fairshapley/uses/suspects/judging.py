"""Which rows are probably mislabelled: `suspects`, from data to what was found."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.arguments import known_names
from fairshapley._basics.text import quoted, several
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.game import check_names
from fairshapley.games.player_data import column, feature_matrix, label_codes, target_vector
from fairshapley.randomness import root_seed, side_generator
from fairshapley.tabular.building import encode_table
from fairshapley.tabular.models import TASKS, Task
from fairshapley.tabular.target import Target
from fairshapley.uses.nearest_neighbours import knn_shapley
from fairshapley.uses.selecting import Selection, better_than_chance
from fairshapley.uses.suspects.found import LIKELY, Planted, Removal, Suspects
from fairshapley.uses.suspects.held_out import (
    FOLDS,
    NEIGHBOURS,
    PENALTIES,
    fitted,
    held_out,
    logistic,
)
from fairshapley.uses.suspects.wrong_labels import MOST_WRONG, Mistakes, true_classes
from fairshapley.uses.suspects.wrong_numbers import predicted_numbers, wrong_numbers

# Rows for the checks, which fit all models twice more.
MOST_CHECKED = 2500
PLANTED = 0.1
STEPS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
DRAWS = 5
CHANCE_DRAWS = 19
# Rows that values are computed on: each takes a sort of all others.
MOST_TESTS = 500
LEAST_ROWS = 20


@known_names
def suspects(
    rows: Any,
    target: Any,
    *,
    test: Any = None,
    task: Literal["auto", "classification", "regression"] = "auto",
    share: float | None = None,
    names: Sequence[str] | str | None = None,
    drop: Sequence[str] = (),
    checked: bool = True,
    seed: int = 0,
) -> Suspects:
    """Rows whose labels are probably wrong, with a calibrated probability for each.

    A mixture of models that have not seen a row says how probable its label is; which models
    count, and how much, is decided by how likely they make all labels. A model of mistakes turns
    that into the probability that the label is wrong. Beside it stand what the neighbours of the
    row say, what the row is worth to a nearest-neighbour model, and how far it is from all others.

    Parameters
    ----------
    rows
        A matrix (rows, features), or a table of `read_table`.
    target
        The labels, one for each row; for a table the name of their column.
    test
        Rows to score on: a pair (X, y), or a table. Without them, some rows are held out.
    task
        "classification", "regression", or "auto": by the target.
    share
        The share of wrong labels, where it is known; else it is estimated.
    names
        Names of the rows; for a table the name of a column, which is no feature.
    drop
        Columns of a table to leave out.
    checked
        Whether to plant wrong labels and count how many are found, and to score a model without
        the suspects. Takes two thirds of the time.
    seed
        Fixes all random choices.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> y[[3, 60]] = [2, 0]
    >>> found = suspects(X, y, checked=False)
    >>> sorted(found.order[:2].tolist()), found.suggestions[[3, 60]].tolist()
    ([3, 60], [0, 1])
    """
    seed = root_seed(seed)
    if share is not None:
        share = checks.real("share", share, above=0, below=MOST_WRONG)
    data = _read(rows, target, test, task, names, drop)
    judged = _judge(data.points, data.targets, data.n_classes, share, seed)
    k = min(NEIGHBOURS[0], judged.neighbours.shape[1])
    near = data.targets[judged.neighbours[:, :k]]
    usual, agree = _neighbours_say(near, data.targets, data.n_classes, judged.width)
    away = judged.distances[:, :k].mean(axis=1)
    typical = float(np.median(away))
    removal = chance = planted = None
    if checked:
        removal, chance, planted = _check(data, judged, share, seed)
    return Suspects(
        names=data.names,
        labels=data.labels,
        probability=data.spread(judged.probability),
        suggestions=data.named(judged.suggestions),
        held_out=data.spread(judged.held_out),
        neighbours=data.named(usual),
        agreement=data.spread(agree),
        values=data.spread(_values(data, seed)),
        distance=data.spread(away / typical if typical > 0 else np.ones(len(away))),
        mistakes=judged.mistakes,
        weights=judged.weights,
        removal=removal,
        chance=chance,
        planted=planted,
        notes=data.notes,
        table=data.table,
    )


@dataclass(frozen=True, eq=False)
class _Data:
    """Rows that can be judged, standardised, and where they stand among all rows."""

    points: FloatArray
    targets: NDArray[Any]
    """Codes of classes, or numbers"""
    test: tuple[FloatArray, NDArray[Any]] | None
    classes: NDArray[Any] | None
    """The label of each code; None for numbers"""
    labels: NDArray[Any]
    """Those of all rows, as given"""
    kept: IntArray
    names: tuple[str, ...]
    notes: tuple[str, ...]
    table: Any

    @property
    def n_classes(self) -> int | None:
        return None if self.classes is None else len(self.classes)

    def spread(self, found: FloatArray) -> FloatArray:
        """Numbers of judged rows among all rows; NaN for the others."""
        every = np.full(len(self.labels), np.nan)
        every[self.kept] = found
        return every

    def named(self, found: NDArray[Any]) -> NDArray[Any]:
        """The labels of codes for all rows; a row that is not judged keeps its own."""
        every = self.labels.copy()
        every[self.kept] = found if self.classes is None else self.classes[found]
        return every


@dataclass(frozen=True, eq=False)
class _Judged:
    """What models and the model of mistakes say of rows."""

    probability: FloatArray
    suggestions: NDArray[Any]
    held_out: FloatArray
    weights: dict[str, float]
    mistakes: Mistakes
    neighbours: IntArray
    distances: FloatArray
    width: float
    """Of numbers: the usual residual"""


def _read(rows: Any, target: Any, test: Any, task: str, names: Any, drop: Sequence[str]) -> _Data:
    """The rows as a standardised matrix with numbered labels."""
    if task not in ("auto", *TASKS):
        raise InputError(f"task must be auto, {' or '.join(TASKS)}, not {task!r:.40}")
    notes: tuple[str, ...] = ()
    table = None
    if isinstance(target, str):
        if names is not None and not isinstance(names, str):
            raise InputError("names= of a table is the name of a column: give a text")
        found = encode_table(rows, target, test=test, task=task, names=names, drop=drop)
        X, labels, others = found.features, found.targets, found.test  # noqa: N806
        named, notes, table, kind = found.names, found.notes, found.table, found.task
    else:
        if drop:
            raise InputError("drop= is for tables: give target= as the name of a column")
        X = feature_matrix(rows, "X")  # noqa: N806
        labels = column(np.asarray(target), len(X), "y", "X")
        others = None if test is None else _pair(test, X.shape[1])
        if isinstance(names, str):
            raise InputError("names= are the names of the rows, one each: give a list")
        given = check_names(names, len(X))
        named = given or tuple(f"row {number}" for number in range(1, len(X) + 1))
        kind = cast("Task", _guessed(labels) if task == "auto" else task)
    return _prepared(X, labels, others, kind, named, notes, table)


def _guessed(labels: NDArray[Any]) -> Task:
    """Classes or numbers: as in tables."""
    if labels.dtype.kind not in "iuf":
        return "classification"
    return Target("y", labels).guessed_task()


def _pair(test: Any, width: int) -> tuple[FloatArray, NDArray[Any]]:
    try:
        features, targets = test
    except (TypeError, ValueError):
        raise InputError("test must be a pair (X, y), or a table when target is a name") from None
    matrix = feature_matrix(features, "X_test")
    if matrix.shape[1] != width:
        raise InputError(
            f"X has {width} columns and X_test {matrix.shape[1]}: give both the same features"
        )
    return matrix, column(np.asarray(targets), len(matrix), "y_test", "X_test")


def _prepared(
    X: FloatArray,  # noqa: N803 - as everywhere in the field
    labels: NDArray[Any],
    test: tuple[FloatArray, NDArray[Any]] | None,
    task: Task,
    names: tuple[str, ...],
    notes: tuple[str, ...],
    table: Any,
) -> _Data:
    from sklearn.preprocessing import StandardScaler

    if len(X) < LEAST_ROWS:
        raise InputError(f"{several(len(X), 'row')} tell nothing: give at least {LEAST_ROWS}")
    if not (np.ptp(X, axis=0) > 0).any():
        raise InputError(
            "all rows have the same features, so that no row differs from its neighbours: give "
            "columns that differ"
        )
    classes: NDArray[Any] | None = None
    kept = np.arange(len(X))
    if task == "regression":
        targets: NDArray[Any] = target_vector(labels, len(X), "y", "X")
        labels = targets
        if not np.ptp(targets) > 0:
            raise InputError("all rows have the same target: give rows with different targets")
    else:
        codes, _ = label_codes(labels, labels[:1], len(X), 1)
        sizes = np.bincount(codes)
        large = np.flatnonzero(sizes >= FOLDS)
        _check_classes(sizes, large)
        kept = np.flatnonzero(np.isin(codes, large))
        every = np.unique(labels)
        classes, targets = every[large], np.searchsorted(large, codes[kept])
        if len(large) < len(sizes):
            small = [str(one) for one in np.delete(every, large)]
            notes = (
                *notes,
                f"classes of fewer than {FOLDS} rows cannot be judged: {quoted(small)}",
            )
    scaler = StandardScaler().fit(X[kept])
    scored: tuple[FloatArray, NDArray[Any]] | None = None
    if test is not None:
        features, truths = test
        if classes is None:
            scored = scaler.transform(features), target_vector(truths, len(features), "y_test", "X")
        else:
            known = np.isin(truths, classes)
            if not known.any():
                raise InputError("no test row has a class of the rows: give other test rows")
            scored = scaler.transform(features[known]), np.searchsorted(classes, truths[known])
    return _Data(
        scaler.transform(X[kept]), targets, scored, classes, labels, kept, names, notes, table
    )


def _check_classes(sizes: IntArray, large: IntArray) -> None:
    if len(sizes) == 1:
        raise InputError("all rows have the same label: give rows of two classes or more")
    if len(large) < 2:
        raise InputError(
            f"{len(sizes):,} classes for {sizes.sum():,} rows, of which {len(large)} with {FOLDS} "
            "rows or more: join classes, or give task='regression' for numbers"
        )


def _judge(
    points: FloatArray, targets: NDArray[Any], n_classes: int | None, share: float | None, seed: int
) -> _Judged:
    """Models, then the model of mistakes."""
    rng = side_generator(seed, "suspects")
    if n_classes is None:
        seen = predicted_numbers(points, targets, rng)
        wrong, mistakes, width = wrong_numbers(targets, seen.chances, share)
        near = np.exp(-0.5 * ((targets - seen.chances) / width) ** 2)
        return _Judged(
            wrong,
            seen.chances,
            near,
            seen.weights,
            mistakes,
            seen.neighbours,
            seen.distances,
            width,
        )
    seen = held_out(points, targets, rng, n_classes)
    classes, mistakes = true_classes(seen.chances, targets, share)
    own = np.arange(len(targets)), targets
    others = classes.copy()
    others[own] = -1.0
    return _Judged(
        1 - classes[own],
        others.argmax(axis=1),
        seen.chances[own],
        seen.weights,
        mistakes,
        seen.neighbours,
        seen.distances,
        0.0,
    )


def _neighbours_say(
    near: NDArray[Any], targets: NDArray[Any], n_classes: int | None, width: float
) -> tuple[NDArray[Any], FloatArray]:
    """The usual label of neighbours, and the share that agrees with the row's own."""
    if n_classes is None:
        return np.median(near, axis=1), (np.abs(near - targets[:, None]) <= 2 * width).mean(axis=1)
    counts = np.stack([(near == one).sum(axis=1) for one in range(n_classes)], axis=1)
    return counts.argmax(axis=1), (near == targets[:, None]).mean(axis=1)


def _values(data: _Data, seed: int) -> FloatArray:
    """Closed-form values for nearest neighbours; test rows of all classes count alike.

    Without test rows, each half of the rows is valued by rows of the other half.
    """
    rng = side_generator(seed, "values")
    if data.test is not None:
        return _valued(data, np.arange(len(data.points)), *data.test, rng)
    order = rng.permutation(len(data.points))
    halves = order[::2], order[1::2]
    values = np.zeros(len(order))
    for part, other in (halves, halves[::-1]):
        values[part] = _valued(data, part, data.points[other], data.targets[other], rng)
    return values


def _valued(
    data: _Data, rows: IntArray, points: FloatArray, truths: NDArray[Any], rng: np.random.Generator
) -> FloatArray:
    picks = rng.permutation(len(truths))
    targets: NDArray[Any] = data.targets[rows]
    task: Task = "classification"
    if data.n_classes is None:
        picks, task = picks[:MOST_TESTS], "regression"
        centre = float(targets.mean())
        targets, truths = targets - centre, truths - centre
    else:
        # As many of each class, so that no class is worth less for being rare.
        each = max(1, MOST_TESTS // data.n_classes)
        order = picks[np.argsort(truths[picks], kind="stable")]
        starts = np.searchsorted(truths[order], truths[order])
        picks = order[np.arange(len(order)) - starts < each]
    k = min(NEIGHBOURS[0], len(rows))
    return knn_shapley(
        data.points[rows], targets, points[picks], truths[picks], k=k, task=task
    ).values


def _check(
    data: _Data, judged: _Judged, share: float | None, seed: int
) -> tuple[Removal | None, Selection | None, Planted | None]:
    """A model without the suspects, and labels made wrong on purpose."""
    rng = side_generator(seed, "checks")
    some = rng.permutation(len(data.points))[:MOST_CHECKED]
    test, rows, judging = data.test, np.arange(len(data.points)), judged
    if test is None:
        rows, scored = some[len(some) // FOLDS :], some[: len(some) // FOLDS]
        test = data.points[scored], data.targets[scored]
        some = rows
    if data.n_classes is not None and (np.bincount(data.targets[some]) >= FOLDS).sum() < 2:
        return None, None, None
    if data.test is None:
        # Rows are judged again, without those that the model is scored on.
        judging = _judge(data.points[rows], data.targets[rows], data.n_classes, share, seed)
    removal, chance = _removal(data, rows, judging, test, seed)
    planted = None
    if data.n_classes is not None:
        known = np.zeros(len(data.points))
        known[rows] = judging.probability
        planted = _plant(data, some, known[some] <= LIKELY, share, seed)
    return removal, chance, planted


def _removal(
    data: _Data, rows: IntArray, judged: _Judged, test: tuple[FloatArray, NDArray[Any]], seed: int
) -> tuple[Removal, Selection]:
    """Scores of a model as suspects are removed or relabelled, and a test against chance."""
    points, targets = data.points[rows], data.targets[rows]
    model = _model(judged.weights, numbers=data.n_classes is None)
    n_rows, order = len(rows), np.argsort(-judged.probability, kind="stable")
    better = targets.astype(np.float64 if data.n_classes is None else np.int64)
    better[order] = judged.suggestions[order]
    rng = side_generator(seed, "removal")

    def score(keep: BoolArray, labels: NDArray[Any]) -> float:
        if data.n_classes is not None and np.ptp(labels[keep]) == 0:
            return float((test[1] == labels[keep][0]).mean())  # one class is left
        return float(fitted(model(), points[keep], labels[keep]).score(*test))

    counts = np.unique([int(step * n_rows) for step in STEPS])
    scores = np.zeros((3, len(counts)))
    every = np.ones(n_rows, dtype=bool)
    for place, count in enumerate(counts.tolist()):
        gone = order[:count]
        drawn = [rng.choice(n_rows, count, replace=False) for _ in range(DRAWS)]
        relabelled = targets.astype(better.dtype)
        relabelled[gone] = better[gone]
        without = [score(~_mask(n_rows, one), targets) for one in (gone, *drawn)]
        scores[:, place] = without[0], score(every, relabelled), np.mean(without[1:])
    likely = int(np.clip(judged.mistakes.share, STEPS[1], STEPS[-1]) * n_rows)
    chance = better_than_chance(
        lambda groups: [score(group, targets) for group in groups],
        -judged.probability,
        keep=n_rows - max(likely, 1),
        draws=CHANCE_DRAWS,
        seed=seed,
    )
    what = "R²" if data.n_classes is None else "accuracy"
    kind = "test rows" if data.test is not None else "rows held out"
    metric = f"{what} of {model()} on {len(test[1]):,} {kind}"
    return Removal(counts, scores[0], scores[1], scores[2], n_rows, metric), chance


def _model(weights: dict[str, float], *, numbers: bool) -> Callable[[], Any]:
    """The linear model of the mixture that counts most: it is fitted in no time."""
    if numbers:
        from sklearn.linear_model import Ridge

        return lambda: Ridge()
    best = max(PENALTIES, key=lambda one: weights[f"logistic C={one:g}"])
    return lambda: logistic(best)


def _mask(length: int, rows: IntArray) -> BoolArray:
    mask = np.zeros(length, dtype=bool)
    mask[rows] = True
    return mask


def _plant(
    data: _Data, rows: IntArray, right: BoolArray, share: float | None, seed: int
) -> Planted | None:
    """Make some labels wrong that are probably right, and see how many of them are found."""
    from sklearn.metrics import roc_auc_score

    rng = side_generator(seed, "planted")
    candidates = np.flatnonzero(right)
    n_planted = int(PLANTED * len(candidates))
    if not n_planted:
        return None
    hit = rng.choice(candidates, n_planted, replace=False)
    labels, n_classes = data.targets[rows].copy(), int(data.targets.max()) + 1
    labels[hit] = (labels[hit] + rng.integers(1, n_classes, size=n_planted)) % n_classes
    both = None if share is None else min(share + PLANTED, MOST_WRONG)
    judged = _judge(data.points[rows], labels, n_classes, both, seed)
    wrong, suspect = _mask(len(rows), hit)[candidates], judged.probability[candidates]
    first = np.argsort(-suspect, kind="stable")[:n_planted]
    return Planted(n_planted, int(wrong[first].sum()), float(roc_auc_score(wrong, suspect)))
