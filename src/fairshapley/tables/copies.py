"""Copies among the rows of players: by content first, then by the nearest neighbour."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components
from scipy.stats import binom

from fairshapley._basics.text import common_rows, quoted
from fairshapley._basics.types import FloatArray, IntArray

if TYPE_CHECKING:
    import pyarrow as pa

# A player is named when this share of its rows is among those of another player, and this much more
# than chance brings: where rows have few different values, some are equal by chance.
MIN_SHARE, MIN_EXCESS = 0.5, 0.3
# Twins are nearer to each other than this share of the distance to any other row. Players with so
# many of them are named, where that is less probable than `FALSE_ALARM` among honest players.
NEAR, MIN_NEAR, FALSE_ALARM = 0.6, 0.25, 1e-3
# Labels are compared with those of so many neighbours; differences of so many standard deviations
# are no chance. Test rows among a player's rows are told of from this share on.
NEIGHBOURS, FAR, MIN_LEAKED = 10, 4.0, 0.1
# Labels that vary less than this share of all labels' variance cannot be told from random ones: of
# 83 household workers in the census of 1994 one earned more than $50,000.
MIN_VARIED = 0.25
# Fewer rows tell no near copies; among so many players every pair is compared.
FEWEST_ROWS, FEW_PLAYERS = 5, 12
# So many rows in common, or more, must be less probable than this if they were by chance.
BY_CHANCE = 0.05
# Rows of each player that are looked for among the others', and players beyond which only equal
# rows are: a search among 100 players of 200 rows each takes seconds.
MAX_SOUGHT, MAX_PLAYERS = 200, 200


Copies: TypeAlias = tuple[tuple[tuple[int, ...], float, bool], ...]
"""Players, the least share of common rows, and whether some are only nearly the same"""


def find_copies(
    features: FloatArray, targets: NDArray[Any], owners: Sequence[str]
) -> tuple[Copies, list[str]]:
    """Find players who hold copies of each other's rows.

    Parameters
    ----------
    features, targets
        Of the rows; features on one scale.
    owners
        The player of each row.

    Returns
    -------
    tuple
        Groups of players, numbered in the order of their names, and notes.

    Examples
    --------
    >>> x = np.array([[0.1], [0.7], [0.1], [0.7], [2.0], [5.0]])
    >>> find_copies(x, np.zeros(6), "aabbcc")
    ((((0, 1), 1.0, False),), ["'a' and 'b' have the same rows"])
    """
    members, owner = np.unique(list(owners), return_inverse=True)
    names = members.tolist()
    codes = _answers(targets)
    content = _contents(features, codes)
    counts = np.bincount(owner, minlength=len(names))
    rows = csr_array((np.ones(len(owner)), (owner, content)))
    held, different = rows.copy(), np.diff(rows.indptr)
    held.data[:] = 1.0  # a row that is there twice is there
    # The share of the rows of i that j has too.
    equal = (rows @ held.T).toarray() / counts[:, None]
    np.fill_diagonal(equal, 0.0)
    near = np.zeros_like(equal)
    if 1 < len(names) <= MAX_PLAYERS:
        near = _near_shares(features, owner, counts)
    groups = _groups(equal, near, 1 - different / counts, counts)
    notes = [
        f"{quoted([names[player] for player in players])} "
        + common_rows(share, near=only_near, counts=counts[list(players)].tolist())
        for players, share, only_near in groups
    ]
    return groups, notes


def find_remarks(
    features: FloatArray,
    targets: NDArray[Any],
    owners: Sequence[str],
    test: tuple[FloatArray, NDArray[Any]],
) -> tuple[tuple[int, str], ...]:
    """Say which players send a row many times, rows of the test set, or labels that look random.

    Labels look random where the nearest rows of other players tell no more of them than of the same
    labels in random order, though they tell far more of the typical player's labels.

    Examples
    --------
    >>> x = np.array([[0.1], [0.1], [0.1], [0.1], [2.0], [5.0]])
    >>> find_remarks(x, np.zeros(6), "aaaabb", (x[5:], np.zeros(1)))
    ((0, '4 rows, of which 1 is distinct'),)
    """
    members, owner = np.unique(list(owners), return_inverse=True)
    counts, n_rows = np.bincount(owner), len(owner)
    content = _contents(
        np.concatenate([features, test[0]]), _answers(np.concatenate([targets, test[1]]))
    )
    distinct = np.bincount(np.unique(np.column_stack([owner, content[:n_rows]]), axis=0)[:, 0])
    known = np.isin(content[:n_rows], content[n_rows:])
    scored = np.bincount(owner, weights=known, minlength=len(members)).astype(np.int64)
    informed, roots = _label_information(features, targets, owner), np.sqrt(counts)
    found = []
    for player, (count, of_test) in enumerate(zip(counts.tolist(), scored.tolist(), strict=True)):
        if count >= 4 and distinct[player] <= MIN_SHARE * count:
            are = "is" if distinct[player] == 1 else "are"
            found.append((player, f"{count:,} rows, of which {distinct[player]:,} {are} distinct"))
        # Rows that have few different values are there again by chance, for all players alike.
        usual = (scored.sum() - of_test + 1) / (n_rows - count + 1)
        if of_test >= MIN_LEAKED * count and binom.sf(of_test - 1, count, usual) < FALSE_ALARM:
            found.append((player, f"{of_test:,} of its {count:,} rows are test rows too"))
        others = np.delete(informed / roots, player)
        others = others[~np.isnan(others)]
        wanted = float(np.median(others)) * roots[player] if len(others) > 1 else 0.0
        if informed[player] < min(wanted - FAR, FAR / 2):
            found.append((player, f"the labels of its {count:,} rows look random"))
    return tuple(found)


def _label_information(features: FloatArray, targets: NDArray[Any], owner: IntArray) -> FloatArray:
    """Return how much better than by chance others' nearest rows tell each player's labels.

    The unit is the standard deviation that labels in random order give; NaN where nothing is told.
    """
    from sklearn.neighbors import NearestNeighbors

    numeric = targets.dtype.kind == "f"
    truths = targets[:, None] if numeric else np.eye(len(set(targets.tolist())))[_answers(targets)]
    informed, varied = np.full(int(owner.max()) + 1, np.nan), MIN_VARIED * truths.var(axis=0).sum()
    first = np.unique(np.column_stack([features, owner]), axis=0, return_index=True)[1]
    for player in range(len(informed)):
        rows, base = first[owner[first] == player], first[owner[first] != player]
        rows = rows[:: -(-len(rows) // MAX_SOUGHT)]
        few = len(rows) < FEWEST_ROWS or len(base) < NEIGHBOURS
        if few or truths[rows].var(axis=0).sum() < varied:
            continue
        tree = NearestNeighbors(n_neighbors=NEIGHBOURS).fit(features[base])
        told = truths[base[tree.kneighbors(features[rows])[1]]].mean(axis=1)
        # How well the neighbours of each row tell the label of each row, its own on the diagonal.
        fits = told @ truths[rows].T
        apart = fits - fits.mean(axis=0) - fits.mean(axis=1)[:, None] + fits.mean()
        spread = float(np.sqrt(np.square(apart).sum() / (len(rows) - 1)))
        informed[player] = np.trace(apart) / spread if spread > 0 else np.nan
    return informed


def merged_players(
    table: pa.Table, players: Sequence[str], but: Collection[str]
) -> tuple[IntArray, list[str], list[str]]:
    """Keep one of several players with the same rows, under the names of all of them.

    Parameters
    ----------
    table, players
        The rows, and the player of each.
    but
        Columns that do not count: names of players, and what is left out.

    Returns
    -------
    tuple
        The rows that are kept, the player of each of them, and notes.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"x": [1, 2, 2, 1, 3], "y": [0, 1, 1, 0, 1], "who": list("aabbc")})
    >>> merged_players(rows, list("aabbc"), {"who"})[1]
    ['a = b', 'a = b', 'c']
    """
    compared = [name for name in table.column_names if name not in but]
    content = zip(*table.select(compared).to_pydict().values(), strict=True)
    held: dict[str, Counter[Any]] = {}
    for player, row in zip(players, content, strict=True):
        held.setdefault(player, Counter())[row] += 1
    alike: dict[Any, list[str]] = {}
    for player, rows in held.items():
        alike.setdefault(frozenset(rows.items()), []).append(player)
    merged = [same for same in alike.values() if len(same) > 1]
    notes = [f"merged, since they have the same rows: {quoted(same)}" for same in merged]
    notes = notes or ["no two players have the same rows: none were merged"]
    renamed = {same[0]: " = ".join(same) for same in merged}
    gone = {player for same in merged for player in same[1:]}
    kept = np.array([at for at, player in enumerate(players) if player not in gone])
    return kept, [renamed.get(players[at], players[at]) for at in kept], notes


def copied_rows(features: FloatArray, targets: NDArray[Any], names: Sequence[str]) -> list[str]:
    """Return a note on rows that are copies of earlier ones, where rows are the players.

    Examples
    --------
    >>> copied_rows(np.array([[1.0], [2.0], [1.0]]), np.zeros(3), ["row 1", "row 2", "row 3"])
    ["1 row is a copy of another one with the same target, such as 'row 3' of 'row 1'"]
    """
    content = _contents(features, _answers(targets))
    _, first, inverse = np.unique(content, return_index=True, return_inverse=True)
    earlier = first[inverse.reshape(-1)]
    copies = np.flatnonzero(earlier < np.arange(len(content)))
    if not len(copies):
        return []
    are = "row is a copy of another one" if len(copies) == 1 else "rows are copies of others"
    return [
        f"{len(copies):,} {are} with the same target, such as {names[copies[0]]!r:.60} of "
        f"{names[earlier[copies[0]]]!r:.60}"
    ]


def _answers(targets: NDArray[Any]) -> IntArray:
    return np.unique(targets, return_inverse=True)[1].reshape(-1).astype(np.int64)


def _contents(features: FloatArray, codes: IntArray) -> IntArray:
    """Return a number for each row, equal where features and targets are."""
    whole = np.column_stack([features + 0.0, codes])
    return np.unique(whole, axis=0, return_inverse=True)[1].reshape(-1)


def _near_shares(features: FloatArray, owner: IntArray, counts: IntArray) -> FloatArray:
    """Return the share of the rows of i that have a twin of their own among the rows of j.

    Twins are each other's nearest neighbours, and much nearer than any other row of the two
    players. If nobody copied, a row's twin is as often of its own player as the counts say.
    """
    from sklearn.neighbors import NearestNeighbors

    n_players, shares = len(counts), np.zeros((len(counts), len(counts)))
    # A row that a player sends many times counts once.
    first = np.unique(np.column_stack([features, owner]), axis=0, return_index=True)[1]
    features, owner = features[first], owner[first]
    members = [np.flatnonzero(owner == player) for player in range(n_players)]
    sought = [rows[:: -(-len(rows) // MAX_SOUGHT)] for rows in members]
    closest = np.ones((n_players, n_players))
    if n_players > FEW_PLAYERS:
        # Of many players only those who have the nearest neighbours of many rows are compared.
        whole = NearestNeighbors(n_neighbors=2).fit(features)
        for player, rows in enumerate(sought):
            found = owner[whole.kneighbors(features[rows])[1]].ravel()
            closest[player] = np.bincount(found, minlength=n_players) / len(rows)
    for player, source in np.argwhere((closest >= MIN_NEAR) & ~np.eye(n_players, dtype=bool)):
        n_own, n_others = len(members[player]), len(members[source])
        if min(n_own, n_others) < FEWEST_ROWS:
            continue
        rows = np.concatenate([members[player], members[source]])
        tree = NearestNeighbors(n_neighbors=3).fit(features[rows])
        at = np.searchsorted(members[player], sought[player])
        distances, nearest = _neighbours(tree, features[rows], at)
        back, returned = _neighbours(tree, features[rows], nearest[:, 0])
        reach = NEAR * np.minimum(distances[:, 1], back[:, 1])
        twins = (returned[:, 0] == at) & (distances[:, 0] < reach)
        count, across = int(twins.sum()), int((twins & (nearest[:, 0] >= n_own)).sum())
        by_chance = binom.sf(across - 1, count, n_others / (n_own + n_others - 1))
        if across >= MIN_NEAR * len(at) and by_chance < FALSE_ALARM:
            shares[player, source] = across / len(at)
    return shares


def _neighbours(tree: Any, points: FloatArray, at: IntArray) -> tuple[FloatArray, IntArray]:
    """Return the distances and places of the two nearest other rows."""
    distances, places = tree.kneighbors(points[at])
    # Among equal rows the row itself may come later.
    distances = np.where(places == at[:, None], -1.0, distances)
    order = np.argsort(distances, axis=1, kind="stable")[:, -2:]
    return np.take_along_axis(distances, order, 1), np.take_along_axis(places, order, 1)


def _groups(equal: FloatArray, near: FloatArray, inside: FloatArray, counts: IntArray) -> Copies:
    """Find players whose common rows are many, and more than chance brings.

    `inside` is the share of a player's rows that are there before in its own.
    """
    shares = np.maximum(equal, near)
    # The overlap to expect by chance: the median over the other players, where there are several.
    n_players, typical = len(equal), np.zeros(len(equal))
    if n_players >= 4:
        others = equal[~np.eye(n_players, dtype=bool)].reshape(n_players, -1)
        typical = np.median(others, axis=1)
    by_chance = np.maximum(typical, inside)
    linked = (equal >= MIN_SHARE) & (equal - by_chance[:, None] >= MIN_EXCESS)
    # One row of one is there again by chance where rows have few different values.
    again = (inside @ counts + 1) / (counts.sum() + 1)
    linked &= binom.sf(np.rint(equal * counts[:, None]) - 1, counts[:, None], again) < BY_CHANCE
    linked |= near > 0
    count, group = connected_components(linked.astype(np.float64), directed=False)
    found = []
    for number in range(count):
        players = np.flatnonzero(group == number)
        if len(players) > 1:
            inner = np.ix_(players, players)
            pairs = np.where(linked[inner], shares[inner], np.inf)
            exact = np.where(linked[inner], equal[inner], np.inf)
            least = float(pairs.min())
            found.append((tuple(players.tolist()), least, bool(exact.min() < least)))
    return tuple(found)
