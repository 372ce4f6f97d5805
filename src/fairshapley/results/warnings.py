"""What must be known before values are used: constants that explain them, copies of data."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from fairshapley._basics.text import common_rows, quoted, several
from fairshapley.results.records import Copies, Remark

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# A constant that earns more than this share of what is divided changes who gets what.
LARGEST_SHARE = 0.2
# The rows of a player stand out when they are worth this many times the median player's, even with
# a value that is two standard errors lower; of fewer players nothing is usual.
MUCH_PER_ROW, FEWEST_PLAYERS = 3.0, 4


def constant_share(result: Result) -> float | None:
    """Return the share of v(N) − v(∅) that a constant prediction explains; None if unknown.

    Above 1 where all players together do not reach the constant prediction.

    Examples
    --------
    >>> import fairshapley as fs
    >>> result = fs.exact(fs.games.TableGame([0.5, 0.8]))
    >>> constant_share(result) is None
    True
    """
    constant, ends = result.game.constant_value, result.game.endpoints
    if constant is None or ends is None:
        return None
    empty, full = ends
    if full <= constant:
        return float("inf")
    return max(0.0, (constant - empty) / (full - empty))


def baseline_warning(result: Result) -> str:
    """Warn when a constant prediction explains much of the values; else return nothing."""
    share = constant_share(result)
    if share is None or share <= LARGEST_SHARE or result.game.constant_value is None:
        return ""
    constant = f"{result.game.constant_value:.4g}"
    if share == float("inf"):
        return (
            f"all players together are worth no more than a constant prediction, {constant}: their "
            "data add nothing that this utility measures"
        )
    return (
        f"a constant prediction alone is worth {constant}, and explains {100 * share:.0f} % of "
        "what all players gain together: nobody’s data earned that share. Leave the utility of no "
        f"rows at the default, {constant}, to value what the data add"
    )


def copies_sentences(result: Result, pool: float | None = None) -> list[str]:
    """Say who holds copies, and what they earn and cost: in utility units, or as money of a pool.

    Parameters
    ----------
    result
        Whose copies to tell of.
    pool
        A sum that is divided by the values above zero; None for utility units.
    """
    names = result.names()
    sentences = []
    for found in result.game.copies:
        who = quoted([names[player] for player in found.players])
        rows = result.game.row_counts or (1,) * result.n_players
        counts = [rows[player] for player in found.players]
        what = common_rows(found.share, near=found.near, counts=counts)
        sentence = f"copies: {who} {what}"
        earned, lost, written, of_pool = found.earned, found.lost, ".4g", ""
        if pool is not None:
            earned = lost = _as_money(result, found, pool)
            written, of_pool = ",.2f", f" of {pool:,.2f}"
        if math.isfinite(earned) and math.isfinite(lost) and found.error == 0:
            got, left = (
                f"{abs(one):{written}} {'less' if one < 0 else 'more'}" for one in (earned, -lost)
            )
            sentence += (
                f". Together they get {got}{of_pool} than {names[found.players[0]]!r:.60} would "
                f"get alone, and the other players {left} than without the copies"
            )
        sentences.append(sentence + ". Merge copies, or pay for them once")
    return sentences


def remarks_of(result: Result) -> tuple[Remark, ...]:
    """Return what is odd about the data of players, with those whose rows are worth far more.

    Examples
    --------
    >>> import fairshapley as fs
    >>> from fairshapley.results.serialising import with_fields
    >>> result = fs.exact(fs.games.Additive([4.0, 4.0, 5.0, 3.0]))
    >>> remarks_of(with_fields(result, row_counts=(40, 50, 50, 6)))[0].text
    '6 rows, worth 5 times as much per row as those of the median player'
    """
    rows, few = np.array(result.game.row_counts or (1,)), result.n_players < FEWEST_PLAYERS
    if few or rows.max() == 1:
        return result.game.remarks
    tested = 0.0 if result.test_errors is None else result.test_errors
    surely = (result.values - 2 * np.hypot(result.standard_errors, tested)) / rows
    each = result.values / rows
    usual = float(np.median(each))
    said = [
        f"{several(count, 'row')}, worth {each[player] / usual:.2g} times as much per row as those "
        "of the median player"
        if usual > 0 and surely[player] >= MUCH_PER_ROW * usual
        else ""
        for player, count in enumerate(rows.tolist())
    ]
    found = [Remark(player, text) for player, text in enumerate(said) if text]
    return (*result.game.remarks, *found)


def remark_sentences(result: Result, amounts: Sequence[str] = ()) -> list[str]:
    """Say what is odd about the data of players, and what each of them gets.

    Parameters
    ----------
    result
        Whose players to tell of.
    amounts
        What each player gets of a sum, as text; empty for values.
    """
    names, values = result.names(), result.values
    return [
        f"{names[one.player]!r:.60}: {one.text}; "
        + (f"gets {amounts[one.player]}" if amounts else f"value {values[one.player]:+.4g}")
        for one in remarks_of(result)
    ]


def _as_money(result: Result, found: Copies, pool: float) -> float:
    """Return what copies earn of a pool beyond the original's share; NaN where undefined."""
    values = np.maximum(result.values, 0.0)
    together, total = float(values[list(found.players)].sum()), float(values.sum())
    total_without = total - found.earned + found.lost
    if min(total, total_without) <= 0:
        return math.nan
    return pool * (together / total - max(together - found.earned, 0.0) / total_without)
