"""The rows, the outputs and the background that a user asks for, checked."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.text import listed
from fairshapley._basics.types import IntArray
from fairshapley.errors import InputError
from fairshapley.games.features.tables import Table, as_table
from fairshapley.randomness import root_seed, side_generator

Rows: TypeAlias = int | slice | Iterable[int] | NDArray[Any] | None

# The mean of 100 predictions is off by a tenth of their standard deviation, for every coalition
# alike; shap's explainers take as many by default.
DEFAULT_BACKGROUND = 100


def check_rows(rows: Rows, n_rows: int) -> IntArray:
    """The positions of the rows to explain, or an InputError."""
    if rows is None or isinstance(rows, slice):
        given: list[Any] = list(range(n_rows)[rows or slice(None)])
    elif isinstance(rows, str) or not isinstance(rows, Iterable):
        given = [rows]
    else:
        given = np.atleast_1d(rows).tolist() if isinstance(rows, np.ndarray) else list(rows)
    if not given:
        raise InputError("rows names no row: give at least one")
    if all(isinstance(row, bool | np.bool_) for row in given):
        if len(given) != n_rows:
            raise InputError(f"a mask of rows must have the {n_rows} of X, not {len(given)}")
        return np.flatnonzero(given)
    remedy = "give positions (not index labels), a slice or a boolean mask"
    found = [
        checks.whole("rows", row, least=-n_rows, most=n_rows - 1, remedy=remedy) for row in given
    ]
    return np.array(found) % n_rows


def check_output(output: int | str | None, names: Sequence[str]) -> int:
    """The column of the predictions that is meant, or an InputError."""
    choices = listed(names, most=8)
    if output is None and len(names) > 1:
        raise InputError(
            f"predict has {len(names)} outputs ({choices}): say which one with output=, a "
            f"number from 0 to {len(names) - 1} or a name"
        )
    if isinstance(output, str):
        if output not in names:
            raise InputError(f"there is no output {output!r}; there are {choices}")
        return list(names).index(output)
    remedy, count = f"by name: {choices}", len(names)
    return checks.whole("output", output or 0, least=-count, most=count - 1, remedy=remedy) % count


def choose_background(
    data: Table, background: Any, kind: Any, seed: int | None
) -> tuple[Table, str]:
    """The background rows, and where they are from, as the end of a sentence."""
    rng, origin = side_generator(root_seed(seed), "background"), ""
    if isinstance(background, str) and background.startswith("kmeans:"):
        chosen = _centres(data, _size(background.removeprefix("kmeans:"), data), rng)
        origin = " (centres of clusters of X, each with the weight of its rows)"
    elif hasattr(background, "__len__") and not isinstance(background, str):
        chosen = _given_background(data, background)
    else:
        chosen = data
        size = len(data) if kind == "mean" else DEFAULT_BACKGROUND
        size = min(size, len(data)) if background is None else _size(background, data)
        if size < len(data):
            origin = " drawn from X"
            chosen = data.take(np.sort(rng.choice(len(data), size, replace=False)))
    if chosen.weights is not None and callable(kind):
        raise InputError("a background with weights is for kind='marginal' or 'mean': give rows")
    return (chosen.average() if kind == "mean" else chosen), origin


def _size(given: Any, data: Table) -> int:
    number = int(given) if isinstance(given, str) and given.isdecimal() else given
    remedy = "give rows like those of X, how many of them to draw, or 'kmeans:20'"
    return checks.whole("background", number, most=len(data), remedy=remedy)


def _centres(data: Table, count: int, rng: np.random.Generator) -> Table:
    """Centres of clusters of the rows; each column has the nearest of its own contents there."""
    from sklearn.cluster import KMeans  # a second, which those who do not cluster need not wait

    points = data.as_array("k-means").rows.astype(np.float64)
    means = np.nan_to_num(np.nanmean(points, axis=0))
    points = np.where(np.isnan(points), means, points)
    scales = points.std(axis=0)
    points = (points - means) / np.where(scales > 0, scales, 1.0)
    found = KMeans(count, n_init=1, random_state=int(rng.integers(2**31))).fit(points)
    nearest = [np.abs(points - centre).argmin(axis=0) for centre in found.cluster_centers_]
    centres = Table(data.picked(np.array(nearest)), data.labels)
    centres.weights = np.bincount(found.labels_, minlength=count) / len(data)
    return centres


def _given_background(data: Table, background: Any) -> Table:
    """The background rows of a user, with the columns of the data in their order."""
    weights = None
    if isinstance(background, tuple) and len(background) == 2 and np.ndim(background[0]) == 2:
        background, weights = background
    table = as_table(background, "background", None)
    if table.is_frame and set(table.labels) == set(data.labels):
        table = Table(table.rows[list(data.labels)], data.labels)
        if not data.is_frame:  # the numbers of a frame, for a torch module
            table = table.as_array("a torch module")
    elif table.is_frame and data.is_frame:
        wrong = sorted(map(repr, set(table.labels) ^ set(data.labels)))
        raise InputError(
            f"background and X must have the same columns; in one alone are {', '.join(wrong[:8])}"
        )
    elif table.is_frame == data.is_frame and len(table.labels) != len(data.labels):
        raise InputError(
            f"background has {len(table.labels)} columns and X has {len(data.labels)}: give the "
            "same columns"
        )
    one = np.array([0])
    data.take(one).followed_by(table.take(one))  # refuses what does not fit together
    if weights is not None:
        shares = np.asarray(weights, dtype=np.float64)
        if (
            shares.shape != (len(table),)
            or not (shares >= 0).all()
            or not 0 < shares.sum() < np.inf
        ):
            raise InputError(
                f"background has {len(table)} rows: give (rows, weights) with one weight for each, "
                "none negative"
            )
        table.weights = shares / shares.sum()
    return table
