"""Curves that test values: the utility as players join or leave in order of their values."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from fairshapley._basics import checks
from fairshapley._basics.frames import make_frame
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import GameError, InputError
from fairshapley.evaluation.engines import check_answer
from fairshapley.games.game import Game, members
from fairshapley.results.plots.canvas import legend_label, new_axes
from fairshapley.results.result import Result

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Action: TypeAlias = Literal["add", "remove"]
First: TypeAlias = Literal["high", "low"]


@dataclass(frozen=True, eq=False)
class Curve:
    """The utility while players are added or removed in the order of their values.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.Additive([1.0, 3.0, 2.0])
    >>> best_first = fs.curve(game, fs.exact(game))
    >>> best_first.utilities
    array([0., 3., 5., 6.])
    >>> best_first.area > fs.curve(game, fs.exact(game), first="low").area
    True
    """

    counts: IntArray
    """How many players have joined or left, from 0 on"""
    utilities: FloatArray
    """The utility at that point"""
    action: Action
    """"add" starts from nobody, "remove" from all players"""
    first: First
    """Whether the highest or the lowest values come first"""

    @property
    def area(self) -> float:
        """The mean height of the curve (trapezoids), in the unit of the utility.

        Good values make it large when the best join first or the worst leave first, and small
        in the opposite cases.
        """
        return float(np.trapezoid(self.utilities, self.counts) / self.counts[-1])

    def to_frame(self, kind: Any = "pandas") -> Any:
        """Return a row per point: players moved, and utility; `kind` as in `Result.to_frame`."""
        moved = "added" if self.action == "add" else "removed"
        return make_frame({moved: self.counts, "utility": self.utilities}, kind)

    def plot(self, axes: Axes | None = None, *, label: str | None = None) -> Axes:
        """Draw the curve (needs matplotlib); several curves may share axes.

        Parameters
        ----------
        axes
            Where to draw; by default a new figure.
        label
            What the legend calls the curve; by default which values came first.
        """
        axes = new_axes(axes)
        # With many points marks would hide the line.
        mark = "o" if len(self.counts) <= 50 else ""
        name = f"{self.first}est value first" if label is None else legend_label(label)
        axes.plot(self.counts, self.utilities, marker=mark, markersize=4, label=name)
        axes.set_xlabel("players added" if self.action == "add" else "players removed")
        axes.set_ylabel("utility")
        axes.legend()
        return axes


def curve(
    game: Game | Callable[[BoolArray], ArrayLike],
    values: Result | ArrayLike,
    *,
    action: Action = "add",
    first: First = "high",
    steps: int | None = None,
) -> Curve:
    """Return the utility as players join or leave in the order of their values.

    The usual test of data values (`fig:add-remove` of the paper): adding the best first should
    raise the utility early, removing the best first should lower it early. Among equal values the
    lower player number comes first.

    Parameters
    ----------
    game
        A game, or any callable that maps a boolean array (m, n) to m utilities. It is called
        once, with all coalitions. It need not be the game that was valued: a game on fresh test
        data shows whether the values carry over.
    values
        A result, or one number per player.
    action
        "add": from the empty coalition to all players. "remove": from all players to none.
    first
        "high" or "low": who is added or removed first.
    steps
        Into how many steps to divide the players; by default one player a step, n + 1 utilities.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.Airport([1.0, 2.0, 4.0])
    >>> fs.curve(game, fs.exact(game), action="remove").utilities
    array([4., 2., 1., 0.])
    >>> fs.curve(game, [1.0, 1.0, 1.0], action="remove", first="low", steps=1).utilities
    array([4., 0.])
    """
    checks.choice("action", action, ("add", "remove"))
    checks.choice("first", first, ("high", "low"))
    phi = checks.vector(values.values if isinstance(values, Result) else values, "the values")
    n_players = int(getattr(game, "n_players", phi.size))
    if phi.size != n_players:
        raise InputError(
            f"there are {phi.size} values for the {n_players} players of the game: give one each"
        )
    number = n_players if steps is None else checks.whole("steps", steps)
    ends = np.linspace(0, n_players, min(number, n_players) + 1)
    counts = np.unique(ends.round().astype(np.int64))
    rank = np.argsort(np.argsort(-phi if first == "high" else phi, kind="stable"))
    moved = rank < counts[:, None]
    coalitions = moved if action == "add" else ~moved
    utilities = check_answer(game(coalitions), len(coalitions))
    wrong = np.flatnonzero(~np.isfinite(utilities))
    if wrong.size:
        value, coalition = utilities[wrong[0]], members(coalitions[wrong[0]])
        raise GameError(
            f"the utility of coalition {coalition} is {value}: return a finite number", coalition
        )
    return Curve(counts, utilities, action, first)
