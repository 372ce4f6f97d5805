"""What a game may say of itself: an attribute for each answer, a function for each question.

A game needs `n_players` and its call alone, see `Game`. All attributes of `Abilities` are optional;
no other attribute of a game is ever looked at.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Protocol, TypeGuard, cast

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.game import Game, check_n_players, check_names


class Abilities(Protocol):
    """The optional attributes of a game."""

    player_names: Sequence[str] | None
    """A name for each player"""
    texts: Sequence[str] | None
    """The text of each player, where players are texts"""
    value_range: tuple[float, float] | None
    """The lowest and the highest utility"""
    identical_players: Sequence[tuple[int, int]]
    """Pairs of players that no utility tells apart"""
    n_active: int
    """All players from this number on are null: they change no utility"""
    unit: str
    """What a utility measures, in a few words for reports"""
    cost: Callable[[BoolArray], FloatArray]
    """The price of each coalition"""
    cost_unit: str
    """The unit of the prices"""
    fingerprint: str
    """A text that identifies what the game computes, see `fairshapley.games.fingerprint`"""
    random: bool
    """Whether each call gives a new draw; values then belong to the expected utility"""
    draw: Callable[[BoolArray, IntArray], FloatArray]
    """One draw for each coalition and seed, of a random game that can be repeated"""
    same_seed: bool
    """Whether coalitions that are compared with each other get the same seed"""
    is_async: bool
    """Whether utilities can be awaited, from `answer`"""
    answer: Callable[..., Awaitable[FloatArray]]
    """The utilities (of coalitions and, with `draw`, seeds) from an ``async def``"""
    batch_size: int
    """Coalitions that take no longer together than one alone"""
    n_replicates: int
    """The number of groups of test rows that `with_replicates` leaves out"""
    with_replicates: Callable[[BoolArray], FloatArray]
    """Utilities, then those without each group of test rows, shape (m, 1 + `n_replicates`)"""
    on_device: Callable[[], DeviceGame | None]
    """The form of the game that computes on a device of torch; None where it has none"""
    constant_value: float | None
    """The utility of the best constant prediction that was tried"""
    row_counts: tuple[int, ...]
    """The number of rows of each player"""
    copies: Sequence[tuple[tuple[int, ...], float, bool]]
    """Groups of players with common rows: players, share, and whether some are only nearly equal"""
    remarks: Sequence[tuple[int, str]]
    """What is odd about the data of a player: its number, and a sentence"""
    rounds: Sequence[Any]
    """The games of which this one is the sum, to be valued one by one"""
    shapley_values: FloatArray
    """The true values, for audits"""
    null_players: Sequence[int]
    """Players that change no utility, for audits"""
    dominated_pairs: Sequence[tuple[int, int]]
    """Pairs of players (stronger, weaker), for audits"""


class DeviceGame(Protocol):
    """The utilities of coalitions that are columns of a tensor."""

    n_players: int
    device: str
    """As torch names it"""
    block: int
    """How many coalitions fit the memory at a time"""

    def __call__(self, columns: Any, /) -> Any:
        """The utility of each column of a boolean tensor (players, m): a float64 tensor (m,)."""


class ReplicatedGame(Game, Protocol):
    """A game that also gives its utilities without one group of test rows after the other."""

    n_replicates: int
    with_replicates: Callable[[BoolArray], FloatArray]


def number_of_players(game: object) -> int:
    """Return `game.n_players`; raise InputError if `game` is not a game."""
    if not callable(game) or not hasattr(game, "n_players"):
        raise InputError(
            "a game is a callable with n_players that maps a boolean array (m, n) to m numbers; "
            "give the players of a plain function, fs.estimate(function, players=[…])"
        )
    return check_n_players(game.n_players)


def player_names(game: Game) -> tuple[str, ...] | None:
    """Return the players' names, where the game has any."""
    return check_names(getattr(game, "player_names", None), check_n_players(game.n_players))


def texts(game: Game) -> tuple[str, ...]:
    """Return the players' texts; empty where players are no texts."""
    return check_names(getattr(game, "texts", None), check_n_players(game.n_players)) or ()


def value_range(game: object) -> tuple[float, float] | None:
    """Return the lowest and the highest utility, where the game states them."""
    stated = getattr(game, "value_range", None)
    return None if stated is None else checks.utility_range(stated)


def identical_players(game: Game) -> tuple[tuple[int, int], ...]:
    """Return the declared pairs of identical players."""
    pairs = checks.pairs(getattr(game, "identical_players", ()), game.n_players)
    return tuple((int(i), int(j)) for i, j in pairs)


def active_players(game: Game) -> int:
    """Return the number of players in front of the declared null players."""
    return int(getattr(game, "n_active", game.n_players))


def unit(game: object) -> str:
    """Return what a utility measures; empty where the game does not say it."""
    return _text(game, "unit")


def cost(game: object) -> Callable[[BoolArray], FloatArray] | None:
    """Return the function that prices coalitions, where the game has one."""
    function = getattr(game, "cost", None)
    return function if callable(function) else None


def cost_unit(game: object) -> str:
    """Return the unit of the prices; empty where the game does not say it."""
    return _text(game, "cost_unit")


def _text(game: object, name: str) -> str:
    stated = getattr(game, name, "")
    return stated if isinstance(stated, str) else ""


def is_random(game: object) -> bool:
    """Return whether a game says that its utility is random."""
    return bool(getattr(game, "random", False))


def seeded_draw(game: object) -> Callable[[BoolArray, IntArray], FloatArray] | None:
    """Return the function of coalitions and seeds of a random game, where it has one."""
    return getattr(game, "draw", None)


def same_seed(game: object) -> bool:
    """Return whether coalitions that are compared with each other get the same seed."""
    return bool(getattr(game, "same_seed", False))


def is_async(game: object) -> bool:
    """Whether a game's utilities can be awaited: it then has ``async def answer(coalitions)``."""
    return bool(getattr(game, "is_async", False))


def batch_size(game: object) -> int:
    """Return how many coalitions take no longer together than one alone."""
    return int(getattr(game, "batch_size", 1))


def has_replicates(game: object) -> TypeGuard[ReplicatedGame]:
    """Return whether a game gives replicates of what it computes."""
    return bool(getattr(game, "n_replicates", 0)) and _is_of_call(game, "with_replicates")


def device_form(game: object) -> DeviceGame | None:
    """Return the form of a game on its device; None where it has none."""
    return cast("Any", game).on_device() if _is_of_call(game, "on_device") else None


def _is_of_call(game: object, name: str) -> bool:
    """Return whether a method belongs to the class that computes the utilities, or to one below.

    A subclass may compute other utilities than its parent: then the parent's method is of no use.
    """
    kinds = type(game).__mro__
    owner, caller = (
        next((kind for kind in kinds if one in vars(kind)), object) for one in (name, "__call__")
    )
    return owner is not object and issubclass(owner, caller)


def constant_value(game: object) -> float | None:
    """Return the utility of the best constant prediction, where the game has one."""
    return getattr(game, "constant_value", None)


def row_counts(game: Game) -> tuple[int, ...] | None:
    """Return the number of rows of each player, if the game gives a tuple of them."""
    counts = getattr(game, "row_counts", None)
    if not isinstance(counts, tuple) or len(counts) != game.n_players:
        return None
    return counts if all(isinstance(count, int) for count in counts) else None


def copies(game: object) -> tuple[tuple[tuple[int, ...], float, bool], ...]:
    """Return the groups of players with common rows."""
    return tuple(getattr(game, "copies", ()))


def remarks(game: object) -> tuple[tuple[int, str], ...]:
    """Return what is odd about the data of players."""
    return tuple(getattr(game, "remarks", ()))


def rounds(game: object) -> tuple[Any, ...]:
    """Return the games of which a game is the sum, where it says so."""
    return tuple(getattr(game, "rounds", ()))


def known_values(game: object) -> FloatArray | None:
    """Return the true Shapley values, where the game knows them."""
    values = getattr(game, "shapley_values", None)
    return None if values is None else np.asarray(values, dtype=np.float64)


def null_players(game: Game) -> tuple[int, ...]:
    """Return the players that are declared to change no utility, those behind `n_active` too."""
    stated = checks.players(getattr(game, "null_players", ()), game.n_players).tolist()
    return tuple(sorted({*stated, *range(active_players(game), game.n_players)}))


def dominated_pairs(game: Game) -> tuple[tuple[int, int], ...]:
    """Return the declared pairs of players (stronger, weaker)."""
    pairs = checks.pairs(getattr(game, "dominated_pairs", ()), game.n_players)
    return tuple((int(i), int(j)) for i, j in pairs)
