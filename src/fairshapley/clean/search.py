"""Which rows are probably mislabelled: `suspects`, from data to what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.text import quoted, several
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.clean.cross_fitting import (
    FOLDS,
    NEIGHBOURS,
    PENALTIES,
    HeldOut,
    fitted,
    held_out,
    logistic,
)
from fairshapley.clean.mistakes import (
    MOST_WRONG,
    SHARES,
    Mistakes,
    chance_range,
    true_classes,
)
from fairshapley.clean.sources import Source, odd_sources
from fairshapley.clean.suspect_rows import LIKELY, Checks, Suspects
from fairshapley.closed_forms import knn_shapley
from fairshapley.errors import InputError
from fairshapley.games.game import check_names
from fairshapley.games.player_data import column, feature_matrix, label_codes, within_reach
from fairshapley.randomness import root_seed, side_generator
from fairshapley.tables.columns import Target, as_texts, column_of, kind_of, read_target
from fairshapley.tables.preprocessing import Preprocessor
from fairshapley.tables.reading import arrow_table, check_typos, row_labels

# Rows for the checks, which fit all models twice more.
MOST_CHECKED = 2500
PLANTED = 0.1
STEPS = (0.0, 0.01, 0.02, 0.05, 0.1, 0.2, 0.3)
CHANCE_DRAWS = 19
# Rows that values are computed on: each takes a sort of all others.
MOST_TESTS = 500
LEAST_ROWS = 20
# Columns that rows are judged without: those of so many categories at most, and so many of them.
MOST_CATEGORIES = 50
MOST_COLUMNS = 12
MOST_NUMBERS = 6


def suspects(
    rows: Any,
    target: Any,
    *,
    test: Any = None,
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
        A matrix (rows, features), or a table of any kind that `table_game` takes.
    target
        The labels, one for each row; for a table the name of their column. Labels are classes:
        numbers of more than 20 kinds are refused, unless they are given as texts.
    test
        Rows to score on: a pair (X, y), or a table. Without them, some rows are held out.
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
    data = _read(rows, target, test, names, drop)
    if data.table is not None:
        data = _without_source(data, rows, target, test, names, drop, seed)
    judged = _judge(data, np.arange(len(data.codes)), data.codes, share, seed)
    near = data.codes[judged.seen.neighbours[:, : NEIGHBOURS[0]]]
    votes = np.stack([(near == code).sum(axis=1) for code in range(len(data.classes))], axis=1)
    away = judged.seen.distances[:, : NEIGHBOURS[0]].mean(axis=1)
    rare = np.bincount(data.codes)[data.codes] < FOLDS
    return Suspects(
        names=data.names,
        labels=data.labels,
        classes=data.classes,
        probability=np.where(rare, np.nan, judged.probability),
        suggestions=data.classes[judged.suggestions],
        held_out=judged.held_out,
        neighbours=data.classes[votes.argmax(axis=1)],
        agreement=(near == data.codes[:, None]).mean(axis=1),
        values=_values(data, seed),
        # Half of the rows may be copies of others, at no distance.
        distance=away / (float(np.median(away)) or 1.0),
        mistakes=judged.mistakes,
        sources=judged.sources,
        weights=judged.seen.weights,
        checks=_checked(data, judged, share, seed) if checked else None,
        notes=data.notes,
        table=data.table,
    )


@dataclass(frozen=True, eq=False)
class _Data:
    """Rows as standardised points with numbered labels."""

    points: FloatArray
    codes: IntArray
    classes: NDArray[Any]
    """The label of each code"""
    test: tuple[FloatArray, IntArray] | None
    labels: NDArray[Any]
    names: tuple[str, ...]
    notes: tuple[str, ...]
    table: Any
    column: tuple[str, list[str], IntArray] | None = None
    """The column of categories that the points leave out: its name, its categories, their codes"""
    hidden: float = 0.0
    """The largest share of labels that may be wrong in one category"""


@dataclass(frozen=True, eq=False)
class _Judged:
    """What models and the model of mistakes say of rows."""

    probability: FloatArray
    suggestions: IntArray
    held_out: FloatArray
    seen: HeldOut
    mistakes: Mistakes
    sources: tuple[Source, ...]


def _read(rows: Any, target: Any, test: Any, names: Any, drop: Sequence[str]) -> _Data:
    """The rows, checked."""
    from sklearn.preprocessing import StandardScaler

    if isinstance(target, str):
        if not isinstance(names, str | None):
            raise InputError(
                "must be the name of a column of the table", parameter="names", received=names
            )
        table, notes, named, pairs = _from_table(rows, target, test, names, drop)
    elif drop or isinstance(names, str) or (test is not None and len(test) != 2):
        raise InputError(
            "is a pair (X, y) where no table is given",
            parameter="test",
            remedy="give {names} as a list, and no {drop}",
        )
    else:
        table, notes, named = None, (), names
        given = [(rows, target, "")] if test is None else [(rows, target, ""), (*test, "_test")]
        pairs = [_arrays(*part) for part in given]
    X, labels = pairs[0]  # noqa: N806
    codes, _ = label_codes(labels, labels[:1], len(X), 1)
    classes, sizes = np.unique(labels), np.bincount(codes)
    _check(X, labels, sizes)
    if (sizes < FOLDS).any():
        small = quoted([str(name) for name in classes[sizes < FOLDS]])
        notes = (*notes, f"classes of fewer than {FOLDS} rows cannot be judged: {small}")
    known = None
    for features, truths in pairs[1:]:
        seen = np.isin(truths, classes)
        if features.shape[1] != X.shape[1] or not seen.any():
            raise InputError("the test rows have other columns or other classes: give such rows")
        known = features[seen], np.searchsorted(classes, truths[seen])
    X, *others = within_reach(X, *([] if known is None else [known[0]]), axis=0)  # noqa: N806
    scaler = StandardScaler().fit(X)
    if known is not None:
        known = scaler.transform(others[0]), known[1]
    named = check_names(named, len(X)) or tuple(f"row {number}" for number in range(1, len(X) + 1))
    return _Data(scaler.transform(X), codes, classes, known, labels, named, notes, table)


def _arrays(features: Any, labels: Any, part: str) -> tuple[FloatArray, NDArray[Any]]:
    matrix = feature_matrix(features, f"X{part}")
    return matrix, column(np.asarray(labels), len(matrix), f"y{part}", f"X{part}")


def _from_table(
    rows: Any, target: str, test: Any, names: str | None, drop: Sequence[str]
) -> tuple[Any, tuple[str, ...], Any, list[tuple[FloatArray, NDArray[Any]]]]:
    """A table as it is, notes, names of rows, and features and classes of rows and test rows."""
    table = arrow_table(rows, "training rows")
    used = [target, *drop, *([] if names is None else [names])]
    for name in used:
        column_of(table, name, "training", "a parameter names it")
    encoder = Preprocessor.fit(
        table, [column for column in table.column_names if column not in used]
    )
    pairs = []
    for part, what in ((table, "training"), (test, "test")):
        if part is not None:
            found = arrow_table(part, f"{what} rows")
            check_typos(found, {*drop, names}, what)
            given = read_target(found, target, what)
            whole = given.guessed_task() == "classification"
            labels = given.classes(text=given.is_text) if whole else given.values
            if kind_of(target, found.column(target)) == "yes/no":
                labels = labels.astype(bool)  # as the table has them
            pairs.append((encoder.encode(found, what), labels))
    named: Any = row_labels(rows)
    if names is not None:
        named = [name or "" for name in as_texts(table.column(names))]
    return table, encoder.notes, named, pairs


def _check(X: FloatArray, labels: NDArray[Any], sizes: IntArray) -> None:  # noqa: N803
    """An InputError for rows that nothing can be told of."""
    if len(X) < LEAST_ROWS:
        raise InputError(f"{several(len(X), 'row')} tell nothing: give at least {LEAST_ROWS}")
    if not (np.ptp(X, axis=0) > 0).any():
        raise InputError("all rows have the same features: give columns that differ")
    if len(sizes) == 1:
        raise InputError("all rows have the same label: give rows of two classes or more")
    if labels.dtype.kind in "iuf" and Target("y", labels).guessed_task() == "regression":
        raise InputError(
            f"the labels are {len(sizes):,} different numbers: cut numbers into classes, such as "
            "low and high; give classes as texts"
        )
    if (sizes >= FOLDS).sum() < 2:
        raise InputError(
            f"{len(sizes):,} classes for {len(X):,} rows, and fewer than two of them have {FOLDS} "
            "rows or more: join classes, or give more rows"
        )


def _without_source(
    data: _Data, rows: Any, target: str, test: Any, names: Any, drop: Sequence[str], seed: int
) -> _Data:
    """Return the data without the column that has a category of wrong labels, if there is one.

    Models learn that one source turns its labels round if they know the source. So rows are judged
    quickly without each column of categories, and without the one that shows most wrong labels.
    """
    rng = side_generator(seed, "sources")
    sample = rng.permutation(len(data.codes))[:MOST_CHECKED]
    best, hidden = data, 0.0
    for name, categories in _category_columns(data.table, {target, names}):
        try:
            found = _read(data.table, target, None, None, (*drop, name))
        except InputError:
            continue  # no other column says anything
        kinds, codes = np.unique(categories, return_inverse=True)
        seen = held_out(
            found.points[sample], found.codes[sample], rng, len(found.classes), quick=True
        )
        for source in odd_sources(
            name, kinds.tolist(), codes[sample], seen.chances, data.codes[sample]
        ):
            wrong = source.most * source.rows.mean()
            if source.probability > LIKELY and wrong > best.hidden:
                best = replace(best, column=(name, kinds.tolist(), codes), hidden=wrong)
            else:
                hidden = max(hidden, wrong)
    if best.column is None:
        return replace(data, hidden=hidden)
    found = _read(rows, target, test, names, (*drop, best.column[0]))
    return replace(found, column=best.column, hidden=best.hidden, notes=data.notes)


def _category_columns(table: Any, used: set[str | None]) -> list[tuple[str, NDArray[Any]]]:
    """Return the columns of texts, and those of whole numbers if there are few, as texts."""
    texts, numbers = [], []
    for name, given in zip(table.column_names, table.columns, strict=True):
        if name in used or not 1 < len(given.unique()) <= MOST_CATEGORIES:
            continue
        cells = np.array([str(cell) for cell in given.to_pylist()])
        if kind_of(name, given) == "numbers":
            numbers.append((name, cells))
        else:
            texts.append((name, cells))
    # Many are measurements, such as pixels, and no codes of sources.
    return texts[:MOST_COLUMNS] + (numbers if len(numbers) <= MOST_NUMBERS else [])


def _judge(data: _Data, rows: IntArray, codes: IntArray, share: float | None, seed: int) -> _Judged:
    """Judge some rows with these labels: by models, then by the model of mistakes."""
    n_classes = len(data.classes)
    seen = held_out(data.points[rows], codes, side_generator(seed, "suspects"), n_classes)
    sources: list[Source] = []
    if data.column is not None:
        name, kinds, categories = data.column
        found = odd_sources(name, kinds, categories[rows], seen.chances, codes)
        sources = [source for source in found if source.probability > LIKELY]
    odd = np.zeros(len(codes), dtype=bool)
    for source in sources:
        odd |= source.rows
    # What most rows do is right.
    if odd.mean() > LIKELY:
        sources, odd = [], np.zeros(len(codes), dtype=bool)
    known = share
    if share is not None and sources:
        known = (share - sum(source.share * source.rows.mean() for source in sources)) / (
            1 - odd.mean()
        )
        known = min(max(known, SHARES[0]), MOST_WRONG)
    classes = np.zeros_like(seen.chances)
    classes[~odd], mistakes = true_classes(seen.chances[~odd], codes[~odd], known)
    rest = 1 - odd.mean()
    total, upper = mistakes.share * rest, mistakes.upper * rest
    upper += 0.0 if sources else data.hidden
    for source in sources:
        right = np.eye(n_classes)[codes[source.rows]]
        classes[source.rows] = (
            source.probability * source.classes + (1 - source.probability) * right
        )
        total += source.probability * source.share * source.rows.mean()
        upper += (
            chance_range(int(source.rows.sum()), source.most, source.most)[1] * source.rows.mean()
        )
    # That a source differs for a good reason is never ruled out.
    mistakes = replace(mistakes, share=total, lower=mistakes.lower * rest, upper=min(1.0, upper))
    given = np.arange(len(codes)), codes
    wrong = 1 - classes[given]
    classes[given] = -1.0  # what is suggested is another class
    return _Judged(
        wrong, classes.argmax(axis=1), seen.chances[given], seen, mistakes, tuple(sources)
    )


def _values(data: _Data, seed: int) -> FloatArray:
    """Closed-form values for nearest neighbours; test rows of all classes count alike.

    Without test rows, each half of the rows is valued by rows of the other half.
    """
    rng = side_generator(seed, "values")
    order, values = rng.permutation(len(data.codes)), np.zeros(len(data.codes))
    parts = [(order[::2], order[1::2]), (order[1::2], order[::2])]
    for rows, others in parts if data.test is None else [(order, order)]:
        points, codes = data.test or (data.points[others], data.codes[others])
        picks = rng.permutation(len(codes))
        picks = picks[np.argsort(codes[picks], kind="stable")]
        # As many of each class, so that no class is worth less for being rare.
        ranks = np.arange(len(picks)) - np.searchsorted(codes[picks], codes[picks])
        picks = picks[ranks < max(1, MOST_TESTS // len(data.classes))]
        found = knn_shapley(
            data.points[rows], data.codes[rows], points[picks], codes[picks], k=NEIGHBOURS[0]
        )
        values[rows] = found.values
    return values


def _checked(data: _Data, judged: _Judged, share: float | None, seed: int) -> Checks | None:
    """A model without the suspects, and labels made wrong on purpose."""
    shuffled = side_generator(seed, "checks").permutation(len(data.codes))[:MOST_CHECKED]
    held, rows = shuffled[: len(shuffled) // FOLDS], shuffled[len(shuffled) // FOLDS :]
    if (np.bincount(data.codes[rows]) >= FOLDS).sum() < 2:
        return None
    test = data.test or (data.points[held], data.codes[held])
    # Without test rows, rows are judged again without those that the model is scored on.
    part = _judge(data, rows, data.codes[rows], share, seed) if data.test is None else judged
    used = rows if data.test is None else np.arange(len(data.codes))
    points, codes = data.points[used], data.codes[used]
    best = max(PENALTIES, key=lambda penalty: part.seen.weights[f"logistic C={penalty:g}"])

    def score(keep: BoolArray, labels: IntArray) -> float:
        if np.ptp(labels[keep]) == 0:
            return float((test[1] == labels[keep][0]).mean())
        return float(fitted(logistic(best), points[keep], labels[keep]).score(*test))

    counts = np.unique([int(step * len(used)) for step in STEPS])
    rank = np.argsort(np.argsort(-part.probability, kind="stable"))
    n_removed = max(1, int(min(part.mistakes.share, STEPS[-1]) * len(used)))
    rng = side_generator(seed, "removed")
    random = [score(rng.permutation(len(used)) >= n_removed, codes) for _ in range(CHANCE_DRAWS)]
    right = np.zeros(len(data.codes), dtype=bool)
    right[used] = part.probability <= LIKELY
    planted, found, auc = _plant(data, rows, right[rows], share, seed)
    return Checks(
        f"accuracy of {logistic(best)} on {several(len(test[1]), 'other row')}",
        len(used),
        counts,
        np.array([score(rank >= count, codes) for count in counts]),
        np.array(
            [score(rank >= 0, np.where(rank < count, part.suggestions, codes)) for count in counts]
        ),
        n_removed,
        score(rank >= n_removed, codes),
        np.array(random),
        planted,
        found,
        auc,
    )


def _plant(
    data: _Data, rows: IntArray, right: BoolArray, share: float | None, seed: int
) -> tuple[int, int, float]:
    """Make labels wrong that are probably right: how many, how many are found, and the AUC."""
    from sklearn.metrics import roc_auc_score

    rng, codes = side_generator(seed, "planted"), data.codes[rows].copy()
    # A label that hardly any row has would be found at once, and nobody makes such mistakes.
    usual = np.flatnonzero(np.bincount(codes) >= FOLDS)
    able = np.isin(codes, usual)
    candidates = np.flatnonzero(able & right if right.mean() > PLANTED else able)
    planted = max(1, int(PLANTED * len(candidates)))
    hit = rng.choice(candidates, planted, replace=False)
    moved = np.searchsorted(usual, codes[hit]) + rng.integers(1, len(usual), size=planted)
    codes[hit] = usual[moved % len(usual)]
    both = None if share is None else min(share + PLANTED, 0.99 * MOST_WRONG)
    suspect = _judge(data, rows, codes, both, seed).probability[candidates]
    wrong = np.isin(candidates, hit)
    first = np.argsort(-suspect, kind="stable")[:planted]
    return planted, int(wrong[first].sum()), float(roc_auc_score(wrong, suspect))
