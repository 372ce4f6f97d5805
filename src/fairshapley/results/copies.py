"""Players who hold copies of each other's data: what the copies earn, and what others lose."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from fairshapley._basics.text import common_rows, quoted

if TYPE_CHECKING:
    from fairshapley.results.result import Result


class Copies(NamedTuple):
    """Players with the same or nearly the same rows: an entry of `Result.copies`."""

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


def copies_sentences(result: Result) -> list[str]:
    """Who holds copies, with what they earn and cost."""
    names = result.names()
    said = []
    for found in result.copies:
        who = quoted([names[player] for player in found.players])
        rows = result.row_counts or (1,) * result.n_players
        counts = [rows[player] for player in found.players]
        what = common_rows(found.share, near=found.near, counts=counts)
        sentence = f"copies: {who} {what}"
        if math.isfinite(found.earned) and math.isfinite(found.lost):
            about = "" if result.exact else "about "
            first = names[found.players[0]]
            sentence += (
                f". Together they get {about}{_changed(found.earned)} than {first!r:.60} would get "
                f"alone, and the other players {about}{_changed(-found.lost)} than without the "
                "copies"
            )
        said.append(sentence + ". Merge copies, or pay for them once")
    return said


def _changed(amount: float) -> str:
    return f"{abs(amount):.4g} {'less' if amount < 0 else 'more'}"
