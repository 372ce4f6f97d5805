"""What a user asks of features: the rows, the output, the background, and who the players are."""

from __future__ import annotations

import numbers
import re
import warnings
from collections import Counter
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.text import listed
from fairshapley._basics.types import IntArray
from fairshapley.errors import InputError
from fairshapley.games.features.tables import Table, as_numbers, as_table
from fairshapley.randomness import root_seed, side_generator

Rows: TypeAlias = int | slice | Iterable[int] | NDArray[Any] | None
Column: TypeAlias = Hashable
Groups: TypeAlias = Mapping[str, Iterable[Column]] | Sequence[Iterable[Column]]

# The mean of 100 predictions is off by a tenth of their standard deviation, for every coalition
# alike; shap's explainers take as many by default.
DEFAULT_BACKGROUND = 100


def check_rows(rows: Rows, n_rows: int) -> IntArray:
    """Return the positions of the rows to explain.

    Examples
    --------
    >>> check_rows([-1, 0], 3), check_rows(np.array([True, False, True]), 3)
    (array([2, 0]), array([0, 2]))
    """
    chosen: Any = slice(None) if rows is None else rows
    if isinstance(rows, Iterable) and not isinstance(rows, str | np.ndarray):
        chosen = list(rows)
    try:
        found = np.atleast_1d(np.arange(n_rows)[chosen])
    except (IndexError, TypeError, ValueError):
        found = np.empty((0, 0), dtype=np.int64)
    if found.ndim != 1 or not found.size:
        message = f"must name some of the {n_rows} rows of X"
        remedy = "give positions (not index labels), a slice or a boolean mask"
        raise InputError(message, parameter="rows", received=rows, remedy=remedy)
    return found


def check_output(output: int | str | None, names: Sequence[str]) -> int:
    """Return the column of the predictions that is meant; raise InputError otherwise."""
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
    """Return the background rows, and where they are from, as the end of a sentence."""
    chosen, origin = data, ""
    if hasattr(background, "__len__") and not isinstance(background, str):
        chosen = _given_background(data, background)
    else:
        size = len(data) if kind == "mean" else min(DEFAULT_BACKGROUND, len(data))
        if background is not None:
            remedy = "give rows like X, or how many of them to draw"
            size = checks.whole("background", background, most=len(data), remedy=remedy)
        if size < len(data):
            origin = " drawn from X"
            rng = side_generator(root_seed(seed), "background")
            chosen = data.take(np.sort(rng.choice(len(data), size, replace=False)))
    return (chosen.average() if kind == "mean" else chosen), origin


def _given_background(data: Table, background: Any) -> Table:
    """Return the background rows of a user, with the columns of the data in their order."""
    table = as_table(background, "background", None)
    if table.is_frame and set(table.labels) == set(data.labels):
        table = Table(table.rows[list(data.labels)], data.labels)
        if not data.is_frame:  # the numbers of a frame, for a torch module
            table = table.as_array("a torch module")
    same = table.labels == data.labels if table.is_frame else len(table.labels) == len(data.labels)
    if table.is_frame == data.is_frame and not same:
        raise InputError(
            f"background has the columns {listed(list(map(repr, table.labels)), most=8)} and X has "
            f"{listed(list(map(repr, data.labels)), most=8)}: give the same columns"
        )
    first = np.array([0])
    data.take(first).followed_by(table.take(first))  # raises where the two do not fit together
    return table


@dataclass(frozen=True, eq=False)
class Players:
    """Who owns which columns."""

    names: tuple[str, ...]
    columns: tuple[tuple[int, ...], ...]
    """The positions of the columns of each player"""

    def __fingerprint_state__(self) -> tuple[tuple[int, ...], ...]:
        """Return the columns alone: names change no utility."""
        return self.columns

    @property
    def owners(self) -> IntArray:
        """The player of each column."""
        owners = np.empty(sum(map(len, self.columns)), dtype=np.int64)
        for player, columns in enumerate(self.columns):
            owners[list(columns)] = player
        return owners

    def data(self, table: Table) -> NDArray[Any]:
        """Return what each player shows in each row, for plots: (rows, players).

        A column shows its content. A group shows the name of its column that is 1 where the
        others are 0, as in a one-hot, and all its contents otherwise.
        """
        shown: list[NDArray[Any]] = []
        for columns in self.columns:
            contents = [table.column(at) for at in columns]
            if len(columns) == 1:
                plain = as_numbers(contents[0])
                shown.append(contents[0].astype(object) if plain is None else plain)
            else:
                names = [str(table.labels[at]) for at in columns]
                rows = zip(*(content.tolist() for content in contents), strict=True)
                shown.append(np.array([_group_text(names, row) for row in rows], dtype=object))
        return np.stack(shown, axis=1)


def _group_text(names: Sequence[str], row: Sequence[Any]) -> str:
    plain = all(isinstance(item, numbers.Real) for item in row)
    if plain and sorted(row) == [0] * (len(row) - 1) + [1]:
        return names[row.index(1)]
    return ", ".join(f"{item:.4g}" if isinstance(item, float) else str(item) for item in row)


def make_players(labels: Sequence[Hashable], groups: Groups | str | None) -> Players:
    """Return the players in the order of their first columns; columns in no group are on their own.

    Examples
    --------
    >>> players = make_players(["size", "red", "blue"], {"colour": ["red", "blue"]})
    >>> players.names, players.columns
    (('size', 'colour'), ((0,), (1, 2)))
    """
    named = _named_groups(groups, labels)
    taken: dict[int, str] = {}
    for name, columns in named:
        for at in columns:
            if at in taken:
                raise InputError(
                    f"column {labels[at]!r} is in the groups {taken[at]!r} and {name!r}: "
                    "a column has one player"
                )
            taken[at] = name
    alone = [(_name(label), (at,)) for at, label in enumerate(labels) if at not in taken]
    players = sorted(alone + named, key=lambda player: player[1][0])
    names = tuple(name for name, _ in players)
    name, count = Counter(names).most_common(1)[0]
    if count > 1:
        raise InputError(f"two players have the name {name!r}: rename the group or the column")
    return Players(names, tuple(columns for _, columns in players))


def one_hot_groups(table: Table) -> dict[str, list[int]]:
    """Return the columns that are dummies of one category, by the beginning of their names.

    They hold 0 and 1, or booleans, and at most one of them is 1 in every row: none is where the
    category is missing, or where its dummy was dropped. Columns whose names begin alike, but of
    which several are 1 in a row, are named in a warning, as is a table without any group.

    Examples
    --------
    >>> from fairshapley.games.features.tables import as_table
    >>> rows = np.array([[3.0, 1, 0], [4.0, 0, 1]])
    >>> one_hot_groups(as_table(rows, "X", ["size", "colour_red", "colour_blue"]))
    {'colour': [1, 2]}
    """
    alike: dict[str, list[int]] = {}
    for at, label in enumerate(table.labels):
        start = re.split(r"[_=](?=[^_=]*$)", str(label))
        if len(start) == 2 and np.isin(table.column(at).astype(object), (0, 1)).all():
            alike.setdefault(start[0], []).append(at)
    alike = {name: columns for name, columns in alike.items() if len(columns) > 1}
    found = {
        name: columns
        for name, columns in alike.items()
        if np.sum([table.column(at).astype(np.float64) for at in columns], axis=0).max() <= 1
    }
    apart = [name for name in alike if name not in found]
    if apart or not found:
        finding = "found no columns to join"
        if apart:
            finding = f"leaves the columns that begin with {listed(apart)} on their own"
        warnings.warn(
            f"groups='one-hot' {finding}: it joins columns of 0 and 1 called colour_red and "
            "colour_blue, with one 1 in a row; give groups={name: columns}",
            UserWarning,
            stacklevel=4,
        )
    return found


def _named_groups(
    groups: Groups | str | None, labels: Sequence[Hashable]
) -> list[tuple[str, tuple[int, ...]]]:
    """Return each group with its name and the positions of its columns in increasing order."""
    if groups is None:
        return []
    if isinstance(groups, str) or not isinstance(groups, Iterable):
        raise InputError(
            "groups must be a dictionary of names and lists of columns, or a list of lists of "
            f"columns, not {groups!r}"
        )
    places = {label: at for at, label in enumerate(labels)}
    named = []
    for key, wanted in groups.items() if isinstance(groups, Mapping) else enumerate(groups):
        if isinstance(wanted, str) or not isinstance(wanted, Iterable):
            raise InputError(f"group {key!r} must be a list of columns, not {wanted!r}")
        columns = tuple(sorted({_position(label, places) for label in wanted}))
        if not columns:
            raise InputError(f"group {key!r} has no columns: leave it out, or name its columns")
        joined = " + ".join(_name(labels[at]) for at in columns)
        named.append((str(key) if isinstance(groups, Mapping) else joined, columns))
    return named


def _position(label: Any, places: Mapping[Hashable, int]) -> int:
    """Return the position of a column that is given by its name or by its number."""
    known = isinstance(label, Hashable) and not isinstance(label, bool)
    if known and label in places:
        return places[label]
    if known and isinstance(label, int | np.integer) and -len(places) <= label < len(places):
        return int(label) % len(places)
    raise InputError(
        f"groups name the column {label!r}, which X has not; it has "
        + listed([repr(one) for one in places], most=8)
    )


def _name(label: Hashable) -> str:
    """Return the name of a player; a column of an array is known by its number."""
    return f"x{label}" if type(label) is int else str(label)
