"""What comes before a run: the facts of a game, its journal, and its evaluator."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TypeAlias

from fairshapley._basics import checks
from fairshapley.errors import FingerprintError, InputError, JournalError
from fairshapley.evaluation.engines import Engine, EngineOption, SerialEngine, opened_engine
from fairshapley.evaluation.evaluator import Evaluator, JournalSlot, OnError
from fairshapley.evaluation.interrupts import InterruptGuard
from fairshapley.evaluation.journal.records import Journal
from fairshapley.evaluation.on_device import NOTE
from fairshapley.evaluation.prices import Prices
from fairshapley.games.fingerprints import fingerprint
from fairshapley.games.game import Game, check_n_players, check_names, is_random
from fairshapley.games.on_device import DeviceGame, device_form
from fairshapley.results.copies import Copies
from fairshapley.runs.plan import GameFacts, Plan

# For fewer players the host has better proxies, and coalitions come again: they are remembered.
LEAST_DEVICE_PLAYERS = 65

JournalOption: TypeAlias = str | os.PathLike[str] | Journal | None


def check_game(game: Game) -> int:
    """The number of players of a game, or an InputError when it is none."""
    if not callable(game) or not hasattr(game, "n_players"):
        raise InputError(
            "a game is a callable with n_players that maps a boolean array (m, n) to m numbers; "
            "wrap a function of one coalition in fs.games.FunctionGame(fn, n_players)"
        )
    return check_n_players(game.n_players)


def game_facts(game: Game, *, needed: bool) -> GameFacts:
    """What is known of a game; a fingerprint only where one can be had, unless it is needed."""
    n_players = check_game(game)
    identity = None
    try:
        # The rows of a journal are then draws, not coalitions.
        identity = f"random {fingerprint(game)}" if is_random(game) else fingerprint(game)
    except FingerprintError:
        if needed:
            raise
    names = check_names(getattr(game, "player_names", None), n_players)
    n_active = getattr(game, "n_active", n_players)
    pairs = checks.pairs(getattr(game, "identical_players", ()), n_players)
    identical = tuple((int(i), int(j)) for i, j in pairs)
    unit = getattr(game, "unit", "")
    return GameFacts(
        n_players,
        identity,
        names,
        _value_range(game),
        n_active,
        identical,
        unit if isinstance(unit, str) else "",
        getattr(game, "constant_value", None),
        _row_counts(game, n_players),
        tuple(Copies(*found) for found in getattr(game, "copies", ())),
        is_random(game),
        bool(getattr(game, "same_seed", False)),
        () if (prices := Prices.of(game)) is None else prices.means(),
    )


def _row_counts(game: Game, n_players: int) -> tuple[int, ...] | None:
    """The rows of each player, where the game says so in a way that can be kept."""
    counts = getattr(game, "row_counts", None)
    if not isinstance(counts, tuple) or len(counts) != n_players:
        return None
    return counts if all(isinstance(count, int) for count in counts) else None


def _value_range(game: Game) -> tuple[float, float] | None:
    """The lowest and the highest utility, where the game states them."""
    stated = getattr(game, "value_range", None)
    return None if stated is None else checks.value_range(stated)


@contextmanager
def opened_journal(
    journal: str | os.PathLike[str] | Journal, *, readonly: bool = False, create: bool = True
) -> Iterator[Journal]:
    """The journal, closed afterwards when it was opened here."""
    if isinstance(journal, Journal):
        if journal.readonly and not readonly:
            raise JournalError(
                f"the journal {journal.path} is open for reading only: give its path instead"
            )
        yield journal
        return
    with Journal(journal, readonly=readonly, create=create) as opened:
        yield opened


@contextmanager
def evaluating(
    game: Game | None,
    facts: GameFacts,
    *,
    engine: EngineOption = None,
    journal: JournalOption = None,
    on_error: OnError = "raise",
    on_device: DeviceGame | None = None,
) -> Iterator[Evaluator]:
    """An evaluator of the game, with its journal and engine; what it opened is closed afterwards.

    Without the game it replays what the journal holds.
    """
    with ExitStack() as stack:
        guard = stack.enter_context(InterruptGuard())
        slot = None
        if journal is not None and facts.fingerprint is not None:
            opened = stack.enter_context(opened_journal(journal, readonly=game is None))
            slot = JournalSlot(opened, opened.open_game(facts.fingerprint, facts.n_active))
        yield stack.enter_context(
            Evaluator(
                game,
                facts.n_players,
                engine=stack.enter_context(opened_engine(engine, game)),
                slot=slot,
                on_error=on_error,
                guard=guard,
                n_active=facts.n_active,
                replicates=True,
                on_device=on_device,
                noise=facts.noise(),
                remember_all=bool(facts.copies),
                value_range=facts.value_range,
            )
        )


def staying_on_device(
    game: Game, plan: Plan, *, engine: Engine, journal: JournalOption
) -> tuple[Plan, DeviceGame | None]:
    """The plan, and the game's form on its device, where the whole run can stay there.

    Utilities that are to be journalled, skipped or sent to workers go over the host, and so do
    those of methods without a form of their own, few players and small budgets.
    """
    facts, least = plan.game, plan.estimator.min_device_budget
    limit = None if plan.budget is None else plan.budget.evaluations
    if (
        least is None
        or (limit is not None and limit < least)
        or facts.n_players < LEAST_DEVICE_PLAYERS
        or facts.n_nulls
        or facts.random
        or journal is not None
        or plan.on_error == "skip"
        or not isinstance(engine, SerialEngine)
        or (form := device_form(game)) is None
    ):
        return plan, None
    notes = (*plan.notes, NOTE.format(device=form.device))
    return replace(plan, device=form.device, notes=notes), form
