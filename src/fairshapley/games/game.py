"""The batch protocol: a game maps a boolean array of coalitions to their utilities."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from inspect import iscoroutinefunction, signature
from typing import Any, Protocol, SupportsFloat, TypeAlias, runtime_checkable

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.frames import read_frame
from fairshapley._basics.text import one_line
from fairshapley._basics.threads import run_coroutine
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import GameError, InputError
from fairshapley.randomness import draw_seeds, root_seed

# A table of 2**25 utilities takes 256 MB.
MAX_TABLE_PLAYERS = 25
# Longer texts among the players are named by their beginning.
LONGEST_NAME = 40


@runtime_checkable
class Game(Protocol):
    """A callable with `n_players` that maps a boolean array (m, n) to m floats; m = 0 works.

    What else a game may say of itself, such as its names and its range, is in
    `fairshapley.games.abilities`. shapiq's games fit this protocol, and shapiq's approximators
    accept ours.
    """

    @property
    def n_players(self) -> int:
        """The number of players."""

    def __call__(self, coalitions: BoolArray, /) -> FloatArray:
        """Return the utility of each row of `coalitions`."""


def check_n_players(n_players: int) -> int:
    """Return the number of players as an int of at least 1; raise InputError otherwise."""
    return checks.whole("n_players", n_players, remedy="give the number of players")


def real_numbers(values: Any, what: str, error: type[InputError] = InputError) -> FloatArray:
    """Return a new array of floats, from an array, a DataFrame, a sparse matrix or a tensor.

    Text, dates and complex numbers are refused with an error that names `what`.

    Examples
    --------
    >>> real_numbers([[1, 2]], "X")
    array([[1., 2.]])
    """
    values = read_frame(values)
    if hasattr(values, "tocoo") and hasattr(values, "toarray"):
        values = values.toarray()
    elif hasattr(values, "detach"):
        values = values.detach().cpu().numpy()  # a tensor
    try:
        array = np.array(values)
        if array.dtype.kind in "USTcMm":
            raise TypeError
        # astype would also read numbers out of texts.
        if array.dtype.kind == "O" and any(isinstance(item, str | bytes) for item in array.flat):
            raise TypeError
        return array.astype(np.float64, order="C")
    except (TypeError, ValueError, OverflowError):
        raise error(
            f"{what} must hold real numbers alone, in rows of equal length: encode text and "
            "categories as numbers first, e.g. one-hot, and fill in what is missing"
        ) from None


def check_coalitions(coalitions: BoolArray, n_players: int) -> BoolArray:
    """The coalitions as they came, or an InputError when they are not boolean (m, n_players).

    One single coalition may come without the first axis, as from some of shapiq's approximators.

    Examples
    --------
    >>> check_coalitions(np.array([[True, False]]), 2)
    array([[ True, False]])
    """
    array = np.asarray(coalitions)
    if array.dtype != np.bool_:
        raise InputError(
            f"coalitions must be a boolean array, not {array.dtype}: "
            "mark the members with True, e.g. `membership.astype(bool)`"
        )
    if array.shape == (n_players,):
        array = array[None]
    if array.ndim != 2 or array.shape[1] != n_players:
        raise InputError(
            f"coalitions must have the shape (m, {n_players}), one column per player, "
            f"not {array.shape}"
        )
    return array


def members(coalition: BoolArray) -> tuple[int, ...]:
    """Return the players of one coalition, as indices in increasing order.

    Examples
    --------
    >>> members(np.array([True, False, True]))
    (0, 2)
    """
    return tuple(np.flatnonzero(coalition).tolist())


class FunctionGame:
    """A game from a plain function of one coalition.

    Parameters
    ----------
    fn
        Takes the members as a tuple of player indices in increasing order, or of `players` where
        these are given; returns a number. It may be an ``async def``: many calls are then in flight
        at a time, see `ThreadEngine`.
    n_players
        The number of players; not needed with `players`.
    players
        The players themselves, as the function takes them: a list of names or other objects, or a
        dict from each name to its object.
    key
        A name for what the function computes. It replaces the fingerprint of the function's
        code, closure and globals: give one when the function holds what cannot be hashed (a
        connection, a generator), or when a journal must outlive a change of code.
    player_names, value_range, identical_players
        Names for the players; the lowest and the highest utility, where known; pairs of players
        that are known to be identical.
    unit
        What a utility measures, in a few words for reports: "revenue in euros".
    cost, cost_unit
        What a call costs, as a function of the members, and in what unit ("euros"): for
        ``fs.Budget(cost=…)``, and so that cheap coalitions are drawn more often.
    random
        Whether the function gives another number each time, so that its expectation is meant. A
        function that takes a seed can be repeated: see `Random`.

    Examples
    --------
    >>> game = FunctionGame(lambda coalition: len(coalition) ** 2, n_players=3)
    >>> game(np.array([[True, True, False], [True, True, True]]))
    array([4., 9.])
    >>> shop = FunctionGame(lambda chosen: 5.0 * ("tea" in chosen), players=["tea", "cups"])
    >>> shop(np.array([[True, False], [False, True]]))
    array([5., 0.])
    """

    random: bool = False
    players: tuple[Any, ...] | None = None
    """What the function takes in place of indices"""

    def __init__(
        self,
        fn: Callable[[tuple[Any, ...]], float | Awaitable[float]],
        n_players: int | None = None,
        *,
        players: Iterable[Any] | None = None,
        key: str | None = None,
        player_names: Sequence[str] | None = None,
        value_range: tuple[float, float] | None = None,
        identical_players: Sequence[tuple[int, int]] = (),
        unit: str = "",
        cost: Callable[[tuple[int, ...]], float] | None = None,
        cost_unit: str = "",
        random: bool = False,
    ) -> None:
        if not callable(fn):
            raise InputError(f"fn must be callable, not {type(fn).__name__}")
        if key is not None and (not isinstance(key, str) or not key):
            raise InputError(
                f"key must be a string that says what the function computes, not {key!r}: "
                "name one, or leave it out"
            )
        self.fn = fn
        if players is not None:
            self.players, player_names = named_players(players, player_names)
            n_players = len(self.players)
        if n_players is None:
            raise InputError("the players are missing", remedy="give {n_players} or {players}")
        self.n_players = check_n_players(n_players)
        self.key = key
        self.player_names = check_names(player_names, self.n_players)
        self.value_range = value_range
        self.identical_players = tuple(identical_players)
        self.unit = unit
        if checks.flag("random", random):
            self.random = True
        if cost is not None:
            if not callable(cost):
                raise InputError(f"cost must be a function of a coalition, not {cost!r}")
            self.cost, self.cost_unit = partial(_costs, cost), cost_unit

    @property
    def is_async(self) -> bool:
        """Whether the function is an ``async def``, so that `answer` can wait for it."""
        fn = self.fn
        return iscoroutinefunction(fn) or iscoroutinefunction(getattr(fn, "__call__", None))  # noqa: B004

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """Return the utility of each row of `coalitions`."""
        return self._utilities(coalitions)

    @property
    def texts(self) -> tuple[str, ...] | None:
        """The players as texts, where they are texts that differ from their names."""
        texts = self.players or ()
        same = texts == self.player_names or not all(isinstance(text, str) for text in texts)
        return texts if texts and not same else None

    def _chosen(self, coalition: tuple[int, ...]) -> tuple[Any, ...]:
        """Return what the function takes for a coalition."""
        players = self.players
        return coalition if players is None else tuple(players[member] for member in coalition)

    def _calls(
        self, coalitions: BoolArray, *more: Sequence[int]
    ) -> Iterable[tuple[tuple[int, ...], tuple[Any, ...]]]:
        """Return each coalition with the arguments of its call."""
        rows = [members(row) for row in check_coalitions(coalitions, self.n_players)]
        return zip(rows, zip(map(self._chosen, rows), *more, strict=True), strict=True)

    def _utilities(self, coalitions: BoolArray, *more: Sequence[int]) -> FloatArray:
        if self.is_async:
            return run_coroutine(self.answer(coalitions, *more))
        values: list[float] = []
        with answers_kept(values):
            for coalition, call in self._calls(coalitions, *more):
                values.append(as_utility(self.fn(*call), coalition))
        return np.array(values, dtype=np.float64)

    async def answer(self, coalitions: BoolArray, *more: Sequence[int]) -> FloatArray:
        """Return the utilities from an ``async def``, one after the other."""
        values: list[float] = []
        with answers_kept(values):
            for coalition, call in self._calls(coalitions, *more):
                value = self.fn(*call)
                if isinstance(value, Awaitable):
                    value = await value
                values.append(as_utility(value, coalition))
        return np.array(values, dtype=np.float64)


def named_players(
    players: Iterable[Any], names: Sequence[str] | None
) -> tuple[tuple[Any, ...], tuple[str, ...]]:
    """Return the players and their names: keys of a dict, texts, ``__name__``, or numbers."""
    if isinstance(players, str) or not isinstance(players, Iterable):
        message = "must be a list of the players, or a dict from their names to them"
        raise InputError(message, parameter="players", received=players)
    if isinstance(players, Mapping):
        names = [*map(str, players)] if names is None else names
        players = players.values()
    found = tuple(players)
    if names is None:
        names = [
            one_line(str(player), LONGEST_NAME)
            if isinstance(player, str | int)
            else str(getattr(player, "__name__", at))
            for at, player in enumerate(found)
        ]
    return found, check_names(names, len(found)) or ()


GameOption: TypeAlias = Any
"""A game, or a plain function where its players are given"""


def function_game(fn: GameOption, players: Iterable[Any] | None) -> Any:
    """Return the game of a plain function of its players; a game alone as it is.

    A function whose second argument is `seed` is random.

    Examples
    --------
    >>> function_game(lambda chosen: len(chosen), ["a", "b"]).player_names
    ('a', 'b')
    """
    if players is None:
        return fn
    if hasattr(fn, "n_players"):
        message = "the game has its players already"
        raise InputError(message, remedy="leave {players} out, or give a plain function")
    try:
        seeded = [*signature(fn).parameters][1:2] == ["seed"]
    except (TypeError, ValueError):  # no function, or one without a signature
        seeded = False
    return (Random if seeded else FunctionGame)(fn, players=players)


@contextmanager
def answers_kept(values: list[float]) -> Iterator[None]:
    """Let an error carry the utilities that were computed before it: they may have been paid."""
    try:
        yield
    except Exception as error:
        with suppress(Exception):  # not every exception takes attributes
            error.answered = np.array(values)  # type: ignore[attr-defined]
        raise


@dataclass(frozen=True)
class Price:
    """What an evaluation costs: a sum, and a sum for each member; a game's ``cost``.

    Examples
    --------
    >>> Price(1.0, 0.5)(np.array([[True, True], [False, False]]))
    array([2., 1.])
    """

    each: float
    member: float = 0.0

    def __post_init__(self) -> None:
        checks.real("price", self.each, above=0)
        checks.real("price_member", self.member, least=0)

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """Return the price of each row of `coalitions`."""
        return self.each + self.member * coalitions.sum(axis=1)


def _costs(fn: Callable[[tuple[int, ...]], float], coalitions: BoolArray) -> FloatArray:
    """Return the cost of each row of `coalitions`, from a function of one coalition."""
    return np.array([fn(members(row)) for row in coalitions], dtype=np.float64)


def as_utility(value: object, coalition: tuple[int, ...], where: str = "") -> float:
    """Return a number that a function gave for a coalition; raise GameError otherwise.

    A text is no number, though float() would read one out of it.
    """
    if isinstance(value, SupportsFloat) and not isinstance(value, complex | np.complexfloating):
        with suppress(TypeError, ValueError, RuntimeError):  # the last is torch's
            return float(value)
    raise GameError(
        f"the utility of coalition {coalition}{where} is {value!r}, which is not a real number: "
        "return a float",
        coalition,
    )


class TableGame:
    """A game given by all its 2**n utilities; the index is a bit mask, player 0 the lowest bit.

    Examples
    --------
    >>> game = TableGame([0.0, 1.0, 2.0, 5.0])
    >>> game.n_players
    2
    >>> game(np.array([[False, True]]))
    array([2.])
    """

    def __init__(
        self, values: Sequence[float] | FloatArray, *, player_names: Sequence[str] | None = None
    ) -> None:
        table = real_numbers(values, "a table of utilities")
        n_players = int(table.size).bit_length() - 1
        if table.ndim != 1 or table.size < 2 or table.size != 1 << n_players:
            raise InputError(
                f"a table needs 2**n utilities (2, 4, 8, …), one per coalition, "
                f"not an array of shape {table.shape}"
            )
        if not np.isfinite(table).all():
            raise InputError(
                f"the utility of coalition {int(np.flatnonzero(~np.isfinite(table))[0])} "
                "(as a bit mask) in the table is not finite"
            )
        table.flags.writeable = False
        self.values = table
        self.n_players = n_players
        self.player_names = check_names(player_names, n_players)
        self.value_range = (float(table.min()), float(table.max()))

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """Return the utility of each row of `coalitions`."""
        rows = check_coalitions(coalitions, self.n_players)
        index = rows @ (1 << np.arange(self.n_players, dtype=np.int64))
        return self.values[index]


def check_names(player_names: Sequence[str] | None, n_players: int) -> tuple[str, ...] | None:
    """Return the players' names as a tuple of str, one per player; raise InputError otherwise."""
    if player_names is None:
        return None
    if isinstance(player_names, str) or not isinstance(player_names, Iterable):
        raise InputError(f"player_names must be a list of names, not {player_names!r}")
    names = tuple(str(name) for name in player_names)
    if len(names) != n_players:
        raise InputError(
            f"player_names has {len(names)} names for {n_players} players: give one name each"
        )
    return names


class Random(FunctionGame):
    """A game whose utility is the expectation of a random function.

    Every evaluation is a new draw with a seed of its own, which a journal keeps with it. Values,
    standard errors and certificates are about the expectation.

    Parameters
    ----------
    fn
        Takes the members as for a `FunctionGame`, and a `seed`, a whole
        number below 2**32; returns a number. The same seed must give the same number. It may be an
        ``async def``.
    n_players
        The number of players.
    same_seed
        Whether coalitions that are compared with each other, as in a walk or a pair, get the
        same seed (common random numbers). It lowers the noise where a seed does the same to all
        coalitions: the same test questions, the same initial weights.
    **options
        The players, key, player_names, value_range, identical_players, unit, cost and cost_unit of
        a `FunctionGame`.

    Examples
    --------
    >>> import fairshapley as fs
    >>> def noisy(coalition, seed):
    ...     return len(coalition) + np.random.default_rng(seed).normal()
    >>> result = fs.estimate(Random(noisy, 3), budget=3000, seed=0)
    >>> bool((abs(result.values - 1.0) < 4 * result.standard_errors).all()), result.evidence.random
    (True, True)
    """

    def __init__(
        self,
        fn: Callable[..., float | Awaitable[float]],
        n_players: int | None = None,
        *,
        same_seed: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(fn, n_players, random=True, **options)
        self.same_seed = checks.flag("same_seed", same_seed)

    def draw(self, coalitions: BoolArray, seeds: IntArray) -> FloatArray:
        """Return one draw for each row of `coalitions`, with these seeds."""
        return self._utilities(coalitions, seeds.tolist())

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """Return one draw for each row of `coalitions`, with new seeds."""
        numbers = np.arange(len(coalitions))
        return self.draw(coalitions, draw_seeds(root_seed(None), numbers).astype(np.int64))
