"""What a run is to do, the evaluator that it does it with, and its row in the journal."""

from __future__ import annotations

import functools
import os
import platform
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from importlib import metadata
from typing import Any, TypeAlias

from fairshapley import __version__
from fairshapley.errors import FairShapleyError, FingerprintError, JournalError
from fairshapley.estimators import Estimator, from_configuration
from fairshapley.estimators.exact import Exact
from fairshapley.evaluation.engines import EngineOption, SerialEngine, opened_engine
from fairshapley.evaluation.evaluator import Evaluator, JournalSlot, OnError
from fairshapley.evaluation.interrupts import Event, InterruptGuard
from fairshapley.evaluation.journal import Journal, RunRecord, RunStatus
from fairshapley.evaluation.noise import Noise
from fairshapley.evaluation.on_device import EXACT_NOTE, NOTE
from fairshapley.evaluation.prices import Prices
from fairshapley.games import abilities
from fairshapley.games.abilities import device_form, is_random
from fairshapley.games.fingerprints import fingerprint
from fairshapley.games.game import Game, check_names
from fairshapley.randomness import root_seed
from fairshapley.results.origin import InputFile, current_origin
from fairshapley.results.records import Copies, GameFacts, Remark
from fairshapley.results.result import Result
from fairshapley.results.serialising import sealed, with_fields
from fairshapley.semivalues import Semivalue, parse_semivalue
from fairshapley.stopping import Budget, Rule, rule_from_configuration
from fairshapley.unions import OwenValue

# For fewer players the host has better proxies, and coalitions come again: they are remembered.
# Of exact values of fewer players, the host is quick enough to keep the test-set error too.
LEAST_DEVICE_PLAYERS, LEAST_DEVICE_EXACT = 65, 17

JournalOption: TypeAlias = str | os.PathLike[str] | Journal | None


@dataclass(frozen=True, eq=False, kw_only=True)
class RunGame(GameFacts):
    """What a run needs to know of a game besides its utilities; a part goes into its result."""

    n_players: int
    n_active: int
    """The players that matter, when those behind them are declared null"""
    player_names: tuple[str, ...] | None = None
    random: bool = False
    """Whether the utility is random"""
    same_seed: bool = False
    """Whether draws that belong together have one seed"""
    prices: tuple[float, ...] = ()
    """The mean prices of coalitions of some sizes, where the game has prices"""

    @classmethod
    def from_record(cls, record: RunRecord) -> RunGame:
        """Return what the journal knows of a game."""
        said, names = record.configuration, record.origin.get("player_names")
        n_players = record.n_players + int(said.get("null_players", 0))
        return cls(
            n_players=n_players,
            n_active=record.n_players,
            fingerprint=record.fingerprint,
            player_names=check_names(names, n_players),
            identical_players=tuple((int(i), int(j)) for i, j in said.get("identical_players", ())),
            unit=str(record.origin.get("unit", "")),
            random="random" in said,
            same_seed=bool(said.get("random", {}).get("same_seed", False)),
            prices=tuple(map(float, said.get("prices", ()))),
        )

    @property
    def n_nulls(self) -> int:
        """Declared null players behind the others; a journal knows only the others."""
        return self.n_players - self.n_active

    @property
    def value_width(self) -> float | None:
        """The highest minus the lowest utility, where the game states them."""
        return None if self.value_range is None else self.value_range[1] - self.value_range[0]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run is to do; with the seed and the game it determines the result."""

    game: RunGame
    estimator: Estimator[Any, Any]
    semivalue: Semivalue
    xi: float
    budget: Budget | None = None
    until: Rule | None = None
    on_error: OnError = "raise"
    repeats: int = 0
    """Calls of the budget that are made again at the end, to look for noise"""
    notes: tuple[str, ...] = ()
    in_flight: int = 1
    """Coalitions that a round should hold, for an engine that waits for many at a time"""
    device: str | None = None
    """Where draws and sums stay; None is the host"""

    @property
    def rules(self) -> tuple[Rule, ...]:
        """The rules that `until` is made of."""
        return () if self.until is None else self.until.parts()

    @property
    def sequential(self) -> bool:
        """Whether the run may stop at any round because of what was estimated."""
        return any(rule.looks_freely for rule in self.rules)

    @property
    def unions(self) -> list[str] | None:
        """The union of each player, for Owen values."""
        return list(self.semivalue.unions) if isinstance(self.semivalue, OwenValue) else None

    def evaluated_by(self, evaluator: Evaluator) -> Plan:
        """Return the plan for an evaluator, which computes on the game's device where it can.

        Utilities that are to be journalled, skipped or sent to workers go over the host. So do
        methods without a form on devices, few players and small budgets.
        """
        plan = replace(self, in_flight=evaluator.engine.in_flight)
        facts, least = self.game, self.estimator.min_device_budget
        exact = isinstance(self.estimator, Exact)
        limit = None if self.budget is None else self.budget.evaluations
        if (
            least is None
            or (limit is not None and limit < least)
            or facts.n_players < (LEAST_DEVICE_EXACT if exact else LEAST_DEVICE_PLAYERS)
            or facts.n_nulls
            or facts.random
            or self.unions
            or evaluator.slot is not None
            or self.on_error == "skip"
            or not isinstance(evaluator.engine, SerialEngine)
            or (form := device_form(evaluator.game)) is None
        ):
            return plan
        evaluator.on_device = form
        note = (EXACT_NOTE if exact else NOTE).format(device=form.device)
        return replace(plan, device=form.device, notes=(*self.notes, note))

    def configuration(self) -> dict[str, Any]:
        """Return what the estimate depends on, as plain data."""
        game = self.game
        unusual = {
            "device": self.device,
            "null_players": game.n_nulls,
            "identical_players": [list(pair) for pair in game.identical_players],
            "in_flight": self.in_flight if self.in_flight > 1 else None,
            "prices": list(game.prices),
            "unions": self.unions,
            "random": {"same_seed": game.same_seed} if game.random else None,
        }
        return {
            "method": self.estimator.configuration(),
            "semivalue": self.semivalue.name,
            "xi": self.xi,
            **{name: value for name, value in unusual.items() if value},
        }

    def limits(self) -> dict[str, Any]:
        """Return how far the run goes and what it does with failures, as plain data."""
        budget = None
        if self.budget is not None:
            later = ("cost", "rungs")  # journals of earlier versions do not have them
            fields = asdict(self.budget).items()
            budget = {name: limit for name, limit in fields if limit or name not in later}
        return {
            "budget": budget,
            "until": self.until.configuration() if self.until is not None else None,
            "on_error": self.on_error,
        }

    @classmethod
    def from_record(
        cls,
        record: RunRecord,
        *,
        budget: Budget | None,
        until: Rule | None,
        estimator: Estimator[Any, Any] | None,
    ) -> Plan:
        """Return the plan of a journalled run, with other limits or another estimator if given."""
        try:
            if budget is None and until is None:
                if (stored := record.limits["budget"]) is not None:
                    budget = Budget(**stored)
                if (rule := record.limits["until"]) is not None:
                    until = rule_from_configuration(rule)
            if estimator is None:
                estimator = from_configuration(record.configuration["method"])
            return cls(
                game=RunGame.from_record(record),
                estimator=estimator,
                semivalue=OwenValue(tuple(map(str, record.configuration["unions"])))
                if "unions" in record.configuration
                else parse_semivalue(record.configuration["semivalue"]),
                xi=float(record.configuration["xi"]),
                budget=budget,
                until=until,
                on_error="skip" if record.limits["on_error"] == "skip" else "raise",
                in_flight=int(record.configuration.get("in_flight", 1)),
            )
        except FairShapleyError:
            raise
        except (KeyError, TypeError, ValueError) as error:
            raise JournalError(
                f"run {record.id} of the journal is damaged ({type(error).__name__}: {error})",
                remedy="start a new run with the {journal}",
            ) from error


@dataclass(frozen=True, eq=False)
class RunLog:
    """The run's own row in the journal; without a journal it only carries the seed."""

    journal: Journal | None
    row: int
    seed: int

    @classmethod
    def begin(cls, slot: JournalSlot | None, plan: Plan, seed: int | None) -> RunLog:
        """Start a row; without a seed, with that of the newest run of the same configuration."""
        if slot is None or slot.journal.readonly:
            return cls(None, 0, root_seed(seed))
        journal = slot.journal
        if seed is None and (known := journal.find_run(slot.game, plan.configuration())):
            seed = known.seed
        chosen = root_seed(seed)
        row = journal.start_run(
            *(slot.game, plan.configuration(), plan.limits(), chosen, versions()),
            origin=described(plan.game.player_names, plan.game.unit, *current_origin()[:2]),
        )
        return cls(journal, row, chosen)

    def end(self, status: RunStatus, result: Result) -> Result:
        """Write how the run ended; the result, with the digest of the journal it ends with."""
        if self.journal is None:
            return result
        self.journal.end_run(
            self.row, status=status, evaluations=result.evaluations, result=sealed(result)
        )
        return with_fields(result, journal_digest=self.journal.digest())


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
    """Open a journal, and close it afterwards when it was opened here."""
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
    cancel: Event | None = None,
) -> Iterator[Evaluator]:
    """Make an evaluator of the game, with journal and engine; close afterwards what it opened.

    Without the game it replays what the journal holds.
    """
    with ExitStack() as stack:
        guard = stack.enter_context(InterruptGuard(cancel))
        computing = stack.enter_context(opened_engine(engine, game))
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
            engine=computing,
            slot=slot,
            on_error=on_error,
            guard=guard,
            n_nulls=facts.n_nulls,
            replicating=True,
            noise=noise,
            value_range=facts.value_range,
        )
        stack.callback(evaluator.close)
        yield evaluator


def record_again(journal: Journal, result: Result) -> Result:
    """Record the result of the newest run anew, and return it with the journal's new digest.

    Something was added to it after the run, such as what players would get in two names.
    """
    newest, content = journal.runs()[-1], sealed(with_fields(result, journal_digest=None))
    journal.end_run(newest.id, status=newest.status, evaluations=newest.evaluations, result=content)
    return with_fields(result, journal_digest=journal.digest())


def described(
    player_names: Sequence[str] | None, unit: str, command: str, inputs: Sequence[InputFile]
) -> dict[str, Any]:
    """Return what a journal records of a run beside its numbers, as plain data."""
    names = None if player_names is None else list(player_names)
    files = [list(file) for file in inputs]
    return {"player_names": names, "unit": unit, "command": command, "inputs": files}


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions that a result depends on, and the type of the machine."""
    own = {"python": platform.python_version(), "fairshapley": __version__}
    found = {name: metadata.version(name) for name in ("numpy", "scipy", "scikit-learn")}
    # The last bits of a result may depend on the type of the machine.
    machine = f"{platform.system()} {platform.machine()}".strip()
    return {**own, **found, "machine": machine}
