"""What comes before a run: the facts of a game, its journal, and its evaluator."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from typing import TypeAlias

from fairshapley.errors import FingerprintError, JournalError
from fairshapley.estimators.exact import Exact
from fairshapley.evaluation.engines import Engine, EngineOption, SerialEngine, opened_engine
from fairshapley.evaluation.evaluator import Evaluator, JournalSlot, OnError
from fairshapley.evaluation.interrupts import Event, InterruptGuard
from fairshapley.evaluation.journal import Journal
from fairshapley.evaluation.noise import Noise
from fairshapley.evaluation.on_device import EXACT_NOTE, NOTE
from fairshapley.evaluation.prices import Prices
from fairshapley.games import abilities
from fairshapley.games.abilities import DeviceGame, device_form, is_random
from fairshapley.games.fingerprints import fingerprint
from fairshapley.games.game import Game
from fairshapley.results.records import Copies, Remark
from fairshapley.runs.plan import Plan, RunGame

# For fewer players the host has better proxies, and coalitions come again: they are remembered.
# Of exact values of fewer players, the host is quick enough to keep the test-set error too.
LEAST_DEVICE_PLAYERS, LEAST_DEVICE_EXACT = 65, 17

JournalOption: TypeAlias = str | os.PathLike[str] | Journal | None


def game_facts(game: Game, *, needed: bool) -> RunGame:
    """Return what is known of a game; a fingerprint only if one can be had, unless it is needed."""
    n_players, random, identity = abilities.number_of_players(game), is_random(game), None
    try:
        # The rows of a journal are then draws, not coalitions.
        identity = f"random {fingerprint(game)}" if random else fingerprint(game)
    except FingerprintError:
        if needed:
            raise
    prices = Prices.of(game)
    return RunGame(
        n_players=n_players,
        n_active=abilities.active_players(game),
        fingerprint=identity,
        player_names=abilities.player_names(game),
        value_range=abilities.value_range(game),
        identical_players=abilities.identical_players(game),
        texts=abilities.texts(game) or None,
        unit=abilities.unit(game),
        constant_value=abilities.constant_value(game),
        row_counts=abilities.row_counts(game),
        copies=tuple(Copies(*found) for found in abilities.copies(game)),
        remarks=tuple(Remark(*said) for said in abilities.remarks(game)),
        random=random,
        same_seed=abilities.same_seed(game),
        prices=() if prices is None else prices.means(),
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
    facts: RunGame,
    *,
    engine: EngineOption = None,
    journal: JournalOption = None,
    on_error: OnError = "raise",
    on_device: DeviceGame | None = None,
    cancel: Event | None = None,
) -> Iterator[Evaluator]:
    """An evaluator of the game, with its journal and engine; what it opened is closed afterwards.

    Without the game it replays what the journal holds.
    """
    with ExitStack() as stack:
        guard = stack.enter_context(InterruptGuard(cancel))
        slot = None
        if journal is not None and facts.fingerprint is not None:
            opened = stack.enter_context(opened_journal(journal, readonly=game is None))
            slot = JournalSlot(opened, opened.open_game(facts.fingerprint, facts.n_active))
        noise = None
        if facts.random:
            noise = Noise(facts.n_players, facts.n_active, same_seed=facts.same_seed)
        evaluator = Evaluator(
            game,
            facts.n_players,
            engine=stack.enter_context(opened_engine(engine, game)),
            slot=slot,
            on_error=on_error,
            guard=guard,
            n_active=facts.n_active,
            replicates=True,
            on_device=on_device,
            noise=noise,
            value_range=facts.value_range,
        )
        stack.callback(evaluator.close)
        yield evaluator


def staying_on_device(
    game: Game, plan: Plan, *, engine: Engine, journal: JournalOption
) -> tuple[Plan, DeviceGame | None]:
    """The plan, and the game's form on its device, where the whole run can stay there.

    Utilities that are to be journalled, skipped or sent to workers go over the host, and so do
    those of methods without a form of their own, few players and small budgets.
    """
    facts, least = plan.game, plan.estimator.min_device_budget
    exact = isinstance(plan.estimator, Exact)
    limit = None if plan.budget is None else plan.budget.evaluations
    if (
        least is None
        or (limit is not None and limit < least)
        or facts.n_players < (LEAST_DEVICE_EXACT if exact else LEAST_DEVICE_PLAYERS)
        or facts.n_nulls
        or facts.random
        or plan.unions
        or journal is not None
        or plan.on_error == "skip"
        or not isinstance(engine, SerialEngine)
        or (form := device_form(game)) is None
    ):
        return plan, None
    note = (EXACT_NOTE if exact else NOTE).format(device=form.device)
    notes = (*plan.notes, note)
    return replace(plan, device=form.device, notes=notes), form
