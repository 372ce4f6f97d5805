"""What comes before a run: the facts of a game, its journal, and its evaluator."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TypeAlias

from fairshapley.errors import FingerprintError, JournalError
from fairshapley.evaluation.engines import Engine, EngineOption, SerialEngine, opened_engine
from fairshapley.evaluation.evaluator import Evaluator, JournalSlot, OnError
from fairshapley.evaluation.interrupts import InterruptGuard
from fairshapley.evaluation.journal.records import Journal
from fairshapley.evaluation.on_device import NOTE
from fairshapley.evaluation.prices import Prices
from fairshapley.games import abilities
from fairshapley.games.abilities import DeviceGame, device_form, is_random
from fairshapley.games.fingerprints import fingerprint
from fairshapley.games.game import Game
from fairshapley.results.records import Copies
from fairshapley.runs.plan import GameFacts, Plan

# For fewer players the host has better proxies, and coalitions come again: they are remembered.
LEAST_DEVICE_PLAYERS = 65

JournalOption: TypeAlias = str | os.PathLike[str] | Journal | None


def game_facts(game: Game, *, needed: bool) -> GameFacts:
    """What is known of a game; a fingerprint only where one can be had, unless it is needed."""
    n_players = abilities.number_of_players(game)
    identity = None
    try:
        # The rows of a journal are then draws, not coalitions.
        identity = f"random {fingerprint(game)}" if is_random(game) else fingerprint(game)
    except FingerprintError:
        if needed:
            raise
    return GameFacts(
        n_players,
        identity,
        abilities.player_names(game),
        abilities.value_range(game),
        abilities.active_players(game),
        abilities.identical_players(game),
        abilities.unit(game),
        abilities.constant_value(game),
        abilities.row_counts(game),
        tuple(Copies(*found) for found in abilities.copies(game)),
        is_random(game),
        abilities.same_seed(game),
        () if (prices := Prices.of(game)) is None else prices.means(),
    )


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
