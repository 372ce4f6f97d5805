"""Letters: a page for each player that says what it gets and why, and no other's amount."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

from fairshapley._basics.files import write_whole
from fairshapley._basics.text import common_rows, quoted, several
from fairshapley.errors import InputError
from fairshapley.results.payouts.amounts import shown
from fairshapley.results.warnings import remarks_of
from fairshapley.results.wording import number, percent

if TYPE_CHECKING:
    from fairshapley.results.payouts.table import Payout
    from fairshapley.results.result import Result


def write_letters(result: Result, divided: Payout, folder: Path) -> list[Path]:
    """Write a page for each player into a folder, which is made where there is none.

    Examples
    --------
    >>> import fairshapley as fs, tempfile
    >>> result = fs.exact(fs.games.Additive([3.0, 1.0]))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     [page.name for page in write_letters(result, result.payout(100), Path(folder))]
    ['1-0.html', '2-1.html']
    """
    from fairshapley.results.report.page import environment, source

    template, style = environment().get_template("letter.html"), source("style.css")
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write into {folder}: {error.strerror}") from error
    pages = []
    for player, name in enumerate(divided.names):
        plain = re.sub(r"[^\w-]+", "-", name)[:60].strip("-")
        pages.append(folder / f"{player + 1}-{plain or 'player'}.html")
        parts = letter(result, divided, player)
        page = template.render(name=name, style=style, parts=parts)
        write_whole(pages[-1], page.encode("utf-8", "backslashreplace"))
    return pages


def letter(result: Result, divided: Payout, player: int) -> list[tuple[str, list[str]]]:
    """Return the parts of a player's letter, each with its sentences."""
    counts, unit = result.game.row_counts, result.game.unit or "the utility"
    amount, value = divided.amounts[player], float(divided.values[player])
    delivered = "Your data" if counts is None else several(counts[player], "row")
    share = percent(round(float(divided.shares[player]), 4))
    gets = [f"You get {shown(amount)} of {shown(divided.pool)}, {share}"]
    bands = {"Another test set of the same size": (divided.test_lower, divided.test_upper)}
    if not result.exact:
        bands["The true value"] = (divided.lower, divided.upper)
    for what, (low, high) in bands.items():
        if low is not None and high is not None:
            gets.append(f"{what} would give you {shown(low[player])} to {shown(high[player])}")
    why = [
        f"Amounts are in proportion to what the data add to {unit}, averaged over the groups of "
        "players that they could join (Shapley values)"
        if result.semivalue == "shapley"
        else f"Amounts are in proportion to {result.semivalue} values of {unit}"
    ]
    if result.game.endpoints is not None:
        empty, full = result.game.endpoints
        why.append(f"All data together move {unit} from {number(empty)} to {number(full)}")
    error = "" if result.exact else f" ± {number(float(result.standard_errors[player]))}"
    why.append(f"Your data add {number(value)}{error}")
    if value < 0:
        zero = divided.negative == "zero"
        why.append(f"That is below zero, which is {'paid nothing' if zero else 'charged'}")
    why += [
        f"Measured by {name}, you would get {shown(amounts[player])}"
        if name != "copies paid once"
        else f"If copies were paid once, you would get {shown(amounts[player])}"
        for name, amounts in divided.alternatives.items()
    ]
    found = [one.text for one in remarks_of(result) if one.player == player]
    for copies in result.game.copies:
        if player in copies.players:
            who = quoted([divided.names[one] for one in copies.players])
            rows = [(counts or (1,) * result.n_players)[one] for one in copies.players]
            found.append(f"{who} {common_rows(copies.share, near=copies.near, counts=rows)}")
    return [
        ("What you delivered", [delivered]),
        ("What you get", gets),
        ("Why", why),
        ("What was found in your data", found or ["Nothing unusual was found"]),
    ]
