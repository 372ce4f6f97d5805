"""Players who hold copies of each other's data: what the copies earn, and what others lose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fairshapley._basics.text import common_rows, quoted

if TYPE_CHECKING:
    from fairshapley.results.result import Result


class Copies(NamedTuple):
    """Players with the same or nearly the same rows: an entry of `Result.game.copies`."""

    players: tuple[int, ...]
    """The first of them counts as the original; nothing says who copied whom"""
    share: float
    """How much of the others' rows is there too, at least"""
    near: bool
    """Whether some rows are only nearly the same"""
    earned: float = math.nan
    """What all of them get together beyond what the first would get alone; NaN where not known"""
    lost: float = math.nan
    """What the other players lose by it"""
    error: float = math.nan
    """The standard error of `earned`, by a cautious rule; NaN where not known"""


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
        if math.isfinite(found.earned) and math.isfinite(found.lost):
            earned, error = found.earned, found.error
            if pool is not None:
                earned, error = _as_money(result, found, pool)
            lost = found.lost if pool is None else earned
            about = "" if result.exact and error == 0 else "about "
            of_pool = "" if pool is None else f" of {pool:,.2f}"
            first = names[found.players[0]]
            sentence += (
                f". Together they get {about}{_changed(earned, error, pool)}{of_pool} than "
                f"{first!r:.60} would get alone, and the other players "
                f"{about}{_changed(-lost, error, pool)} than without the copies"
            )
        sentences.append(sentence + ". Merge copies, or pay for them once")
    return sentences


def _as_money(result: Result, found: Copies, pool: float) -> tuple[float, float]:
    """What copies earn of a pool beyond the original's share without them, and its error."""
    values = np.maximum(result.values, 0.0)
    together, total = float(values[list(found.players)].sum()), float(values.sum())
    total_without = total - found.earned + found.lost
    if min(total, total_without) <= 0:
        return math.nan, math.nan
    alone = max(together - found.earned, 0.0)
    earned = pool * (together / total - alone / total_without)
    return earned, pool * found.error / total


def _changed(amount: float, error: float, pool: float | None) -> str:
    way = "less" if amount < 0 else "more"
    if pool is not None:
        return f"{abs(amount):,.2f}{f' ± {error:,.2f}' if error > 0 else ''} {way}"
    return f"{abs(amount):.4g}{f' ± {error:.2g}' if error > 0 else ''} {way}"
