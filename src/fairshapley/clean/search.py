"""Which rows are probably mislabelled: `suspects`, from data to what was found."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.stats import hypergeom

from fairshapley._basics import checks
from fairshapley._basics.text import one_line, several
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.clean.cross_fitting import (
    FOLDS,
    LEAST,
    NEIGHBOURS,
    PENALTIES,
    HeldOut,
    cross_predicted,
    fitted,
    held_out,
    linear,
)
from fairshapley.clean.given import Categories, Given, read_given
from fairshapley.clean.mistakes import MOST_WRONG, SHARES, Mistakes, chance_range, true_classes
from fairshapley.clean.sources import LEAST_ROWS, Source, odd_sources
from fairshapley.clean.suspect_rows import LIKELY, LONGEST, Checks, Suspects
from fairshapley.closed_forms import knn_shapley
from fairshapley.randomness import root_seed, side_generator
from fairshapley.tables.columns import as_numbers, kind_of

# Rows for the checks, which fit all models twice more.
MOST_CHECKED = 2500
PLANTED = 0.1
MOST_REMOVED = 0.3
TENTHS = 10
# A random order of the rows finds more with this probability's rest only.
CHANCE = 0.99
# Rows that values are computed on: each takes a sort of all others.
MOST_TESTS = 500
# Columns that rows are judged without: the most categories of one, and the most columns.
MOST_CATEGORIES = 50
MOST_COLUMNS = 12
MOST_NUMBERS = 4
# Suspects whose features are named, and how many on each side.
MOST_REASONS, REASONS = 200, 2


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
    """Return the rows whose labels are probably wrong, with a calibrated probability for each.

    A mixture of models that have not seen a row says how probable its label is; which models
    count, and how much, is decided by how likely they make all labels. A model of mistakes turns
    that into the probability that the label is wrong. Beside it stand what the neighbours of the
    row say, what the row is worth to a nearest-neighbour model, and how far it is from all others.

    Parameters
    ----------
    rows
        A matrix (rows, features), or a table of any kind that `table_game` takes.
    target
        The labels, one for each row; for a table the name of their column. Texts, and whole numbers
        of at most 20 kinds, are classes; other numbers are cut into ten ranges, and a number is
        wrong if it belongs into another one.
    test
        Rows to score on: a pair (X, y), or a table. Without them, some rows are held out.
    share
        The share of wrong labels, where it is known; else it is estimated.
    names
        Names of the rows, or the name of a column of the table that has them.
    drop
        Columns to leave out.
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
    given = _without_source(read_given(rows, target, test, names, drop), seed)
    judged = _judge(given, np.arange(len(given.codes)), given.codes, share, seed)
    near = given.codes[judged.seen.neighbours[:, : NEIGHBOURS[0]]]
    votes = np.eye(len(given.classes))[near].sum(axis=1)
    away = judged.seen.distances[:, : NEIGHBOURS[0]].mean(axis=1)
    rare = np.bincount(given.codes)[given.codes] < FOLDS
    found = Suspects(
        names=given.names,
        target=given.target,
        labels=given.labels,
        classes=given.classes,
        ordered=given.ordered,
        probability=np.where(rare, np.nan, judged.probability),
        suggestions=given.classes[judged.suggestions],
        held_out=judged.held_out,
        neighbours=given.classes[votes.argmax(axis=1)],
        agreement=(near == given.codes[:, None]).mean(axis=1),
        values=_values(given, seed),
        # Half of the rows may be copies of others, at no distance.
        distance=away / (float(np.median(away)) or 1.0),
        mistakes=judged.mistakes,
        sources=judged.sources,
        weights=judged.seen.weights,
        checks=_checked(given, judged, share, seed) if checked else None,
        notes=given.notes,
        table=given.table,
    )
    return replace(found, reasons=_reasons(given, judged, found.order[:MOST_REASONS]))


@dataclass(frozen=True, eq=False)
class _Judged:
    """What models and the model of mistakes say of rows."""

    probability: FloatArray
    suggestions: IntArray
    held_out: FloatArray
    seen: HeldOut
    mistakes: Mistakes
    sources: tuple[Source, ...]


def _without_source(given: Given, seed: int) -> Given:
    """Return the rows without the column that has a category of wrong labels, if there is one.

    Models learn that one source turns its labels round if they know the source. So rows are judged
    quickly without each column of categories, and without the one that shows most wrong labels.
    """
    rng = side_generator(seed, "sources")
    sample = rng.permutation(len(given.codes))[:MOST_CHECKED]
    best, hidden = given, 0.0
    for name, kinds, codes in _category_columns(given, sample):
        without = given.without(name)
        if not without.points.size:
            continue  # no other column says anything
        seen = _seen(without, sample, given.codes[sample], rng, quick=True)
        for source in odd_sources(name, kinds, codes[sample], seen.chances, given.codes[sample]):
            wrong = source.most * source.rows.mean()
            if source.probability > LIKELY and wrong > best.hidden:
                best = replace(without, column=(name, kinds, codes), hidden=wrong)
            else:
                hidden = max(hidden, wrong)
    return best if best.column else replace(given, hidden=hidden)


def _category_columns(given: Given, sample: IntArray) -> list[Categories]:
    """Return columns of few different cells, their categories and the codes of the rows.

    Many columns of numbers are measurements, such as pixels, and no codes of sources: the ones are
    taken in which a category surprises a linear model most, as it knows no other rule for a source.
    """
    texts: list[Categories] = []
    numbers: list[Categories] = []
    for name in dict.fromkeys(given.owners.tolist()):
        column = given.table[name]
        if 1 < len(column.unique()) <= MOST_CATEGORIES:
            is_number = kind_of(name, column) == "numbers"
            cells = as_numbers(column) if is_number else np.array([*map(str, column.to_pylist())])
            _, first, codes = np.unique(cells, return_index=True, return_inverse=True)
            kinds = [str(column[row].as_py()) for row in first.tolist()]
            (numbers if is_number else texts).append((name, kinds, codes))
    if len(numbers) > MOST_NUMBERS:
        labels, model = given.codes[sample], linear(PENALTIES[1], ordered=False)
        chances = cross_predicted(model, given.points[sample], labels, labels)
        own = chances[np.arange(len(labels)), np.unique(labels, return_inverse=True)[1]]
        surprise = -np.log(np.maximum(own, LEAST))
        surprise -= surprise.mean()

        def oddity(column: Categories) -> float:
            codes = column[2][sample]
            sums, counts = np.bincount(codes, surprise), np.bincount(codes)
            return float((sums / np.sqrt(np.maximum(counts, LEAST_ROWS))).max())

        numbers = sorted(numbers, key=oddity, reverse=True)[:MOST_NUMBERS]
    return texts[:MOST_COLUMNS] + numbers


def _seen(
    given: Given, rows: IntArray, codes: IntArray, rng: np.random.Generator, *, quick: bool = False
) -> HeldOut:
    n_classes = len(given.classes)
    return held_out(given.points[rows], codes, rng, n_classes, ordered=given.ordered, quick=quick)


def _judge(
    given: Given, rows: IntArray, codes: IntArray, share: float | None, seed: int
) -> _Judged:
    """Judge some rows with these labels: by models, then by the model of mistakes."""
    seen = _seen(given, rows, codes, side_generator(seed, "suspects"))
    sources: list[Source] = []
    if given.column is not None:
        name, kinds, categories = given.column
        found = odd_sources(name, kinds, categories[rows], seen.chances, codes)
        sources = [source for source in found if source.probability > LIKELY]
    odd = np.any([np.zeros(len(codes), dtype=bool), *(each.rows for each in sources)], axis=0)
    if odd.mean() > LIKELY:  # what most rows do is right
        sources, odd = [], np.zeros(len(codes), dtype=bool)
    rest, known = 1 - odd.mean(), share
    if share is not None and sources:
        known = (share - sum(source.share * source.rows.mean() for source in sources)) / rest
        known = min(max(known, SHARES[0]), MOST_WRONG)
    classes = np.zeros_like(seen.chances)
    classes[~odd], mistakes = true_classes(
        seen.chances[~odd], codes[~odd], known, ordered=given.ordered
    )
    total, upper = mistakes.share * rest, mistakes.upper * rest
    upper += 0.0 if sources else given.hidden
    for source in sources:
        weight, part = source.probability, source.rows.mean()
        right = np.eye(len(given.classes))[codes[source.rows]]
        classes[source.rows] = weight * source.classes + (1 - weight) * right
        total += weight * source.share * part
        upper += chance_range(int(source.rows.sum()), source.most, source.most)[1] * part
    # That a source differs for a good reason is never ruled out.
    mistakes = replace(mistakes, share=total, lower=mistakes.lower * rest, upper=min(1.0, upper))
    given_class = np.arange(len(codes)), codes
    wrong = 1 - classes[given_class]
    classes[given_class] = -1.0  # what is suggested is another class
    return _Judged(
        wrong, classes.argmax(axis=1), seen.chances[given_class], seen, mistakes, tuple(sources)
    )


def _values(given: Given, seed: int) -> FloatArray:
    """Return closed-form values for nearest neighbours; test rows of all classes count alike.

    Without test rows, each half of the rows is valued by rows of the other half.
    """
    rng = side_generator(seed, "values")
    order, values = rng.permutation(len(given.codes)), np.zeros(len(given.codes))
    parts = [(order[::2], order[1::2]), (order[1::2], order[::2])]
    for rows, others in parts if given.test is None else [(order, order)]:
        points, targets = given.test or (given.points[others], given.targets[others])
        # As many of each class, so that no class is worth less for being rare.
        kinds = np.zeros(len(targets)) if given.ordered else targets
        most = max(1, MOST_TESTS // len(np.unique(kinds)))
        picks = np.concatenate(
            [rng.permutation(np.flatnonzero(kinds == kind))[:most] for kind in np.unique(kinds)]
        )
        centre = given.targets.mean() if given.ordered else 0
        values[rows] = knn_shapley(
            given.points[rows],
            given.targets[rows] - centre,
            points[picks],
            targets[picks] - centre,
            k=NEIGHBOURS[0],
            task="regression" if given.ordered else "classification",
        ).values
    return values


def _reasons(given: Given, judged: _Judged, rows: IntArray) -> dict[int, tuple[str, str]]:
    """Name the columns that speak against the label of each row, and those that speak for it.

    By a logistic regression of the rows whose labels are probably right: what each column adds to
    the log-odds of the suggested label against the given one.
    """
    right = judged.probability <= LIKELY
    if len(np.unique(given.codes[right])) < 2:
        return {}
    model = fitted(linear(PENALTIES[1], ordered=False), given.points[right], given.codes[right])
    known = model.coef_ if len(model.coef_) > 1 else np.vstack([-model.coef_, model.coef_])
    slopes = np.zeros((len(given.classes), given.points.shape[1]))
    slopes[model.classes_] = known
    columns, places = np.unique(given.owners, return_inverse=True)
    found = {}
    for row in rows.tolist():
        shift = slopes[judged.suggestions[row]] - slopes[given.codes[row]]
        parts = np.bincount(places, weights=shift * given.points[row])
        order = np.argsort(-parts, kind="stable")
        against = [columns[place] for place in order[:REASONS] if parts[place] > 0]
        speaking = [columns[place] for place in order[::-1][:REASONS] if parts[place] < 0]
        found[row] = _cells(given, row, against), _cells(given, row, speaking)
    return found


def _cells(given: Given, row: int, columns: Sequence[str]) -> str:
    cells = [given.table[name][row].as_py() for name in columns]
    texts = [f"{cell:.4g}" if isinstance(cell, float) else str(cell) for cell in cells]
    return ", ".join(
        f"{name} = {one_line(text, LONGEST)}" for name, text in zip(columns, texts, strict=True)
    )


def _checked(given: Given, judged: _Judged, share: float | None, seed: int) -> Checks | None:
    """Score a model without the suspects, and make labels wrong on purpose."""
    shuffled = side_generator(seed, "checks").permutation(len(given.codes))[:MOST_CHECKED]
    held, rows = np.split(shuffled, [len(shuffled) // FOLDS])
    if (np.bincount(given.codes[rows]) >= FOLDS).sum() < 2:
        return None
    test, used, part = given.test, np.arange(len(given.codes)), judged
    if test is None:  # rows are judged again without the ones that the model is scored on
        test, used = (given.points[held], given.targets[held]), rows
        part = _judge(given, rows, given.codes[rows], share, seed)
    points, targets = given.points[used], given.targets[used]
    weights = part.seen.weights
    best = max(PENALTIES, key=lambda penalty: weights[f"linear C={penalty:g}"])
    model = linear(best, ordered=given.ordered)

    def score(keep: BoolArray) -> float:
        if np.ptp(targets[keep]) == 0:
            return float((test[1] == targets[keep][0]).mean())
        return float(fitted(model, points[keep], targets[keep]).score(*test))

    rank = np.argsort(np.argsort(-part.probability, kind="stable"))
    n_removed = max(1, int(min(part.mistakes.share, MOST_REMOVED) * len(used)))
    right = np.zeros(len(given.codes), dtype=bool)
    right[used] = part.probability <= LIKELY
    return Checks(
        f"{'R²' if given.ordered else 'accuracy'} of {model} on {several(len(test[1]), 'row')}",
        len(used),
        n_removed,
        score(rank >= 0),
        score(rank >= n_removed),
        *_plant(given, rows, right[rows], share, seed),
    )


def _plant(
    given: Given, rows: IntArray, right: BoolArray, share: float | None, seed: int
) -> tuple[int, int, int, FloatArray]:
    """Make labels wrong that are probably right, and count how many are found."""
    rng, codes = side_generator(seed, "planted"), given.codes[rows].copy()
    # A label that hardly any row has would be found at once, and nobody makes such mistakes.
    usual = np.flatnonzero(np.bincount(codes) >= FOLDS)
    able = np.isin(codes, usual)
    candidates = np.flatnonzero(able & right if right.mean() > PLANTED else able)
    planted = max(1, int(PLANTED * len(candidates)))
    hit = rng.choice(candidates, planted, replace=False)
    moved = np.searchsorted(usual, codes[hit]) + rng.integers(1, len(usual), size=planted)
    codes[hit] = usual[moved % len(usual)]
    both = None if share is None else min(share + PLANTED, 0.99 * MOST_WRONG)
    suspect = _judge(given, rows, codes, both, seed).probability[candidates]
    wrong = np.isin(candidates, hit)
    order = np.argsort(-suspect, kind="stable")
    parts = np.array_split(order, TENTHS)
    tenths = np.array([[suspect[part].mean(), wrong[part].mean()] for part in parts])
    by_chance = int(hypergeom.ppf(CHANCE, len(candidates), planted, planted))
    found = int(wrong[order[:planted]].sum())
    return planted, found, by_chance, tenths
