"""The public calls: check the arguments, set up a run, give back its result."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterable
from contextvars import copy_context
from dataclasses import replace
from functools import partial, wraps
from inspect import signature
from typing import Any, ParamSpec, TypeVar

from fairshapley._basics import checks
from fairshapley._basics.text import near_miss
from fairshapley.errors import BudgetError, InputError, JournalError
from fairshapley.estimators import METHODS, Estimator, MonteCarlo, RegressionAdjusted
from fairshapley.estimators.exact import (
    MAX_EXACT_PLAYERS,
    Exact,
    check_enumerable,
    coalitions_needed,
)
from fairshapley.evaluation.engines import EngineOption
from fairshapley.evaluation.engines.threads import CALLERS_LOOP
from fairshapley.evaluation.evaluator import OnError
from fairshapley.evaluation.interrupts import Event
from fairshapley.evaluation.journal import Journal, RunRecord
from fairshapley.fairness.levels import check_xi
from fairshapley.games.abilities import is_random, rounds
from fairshapley.games.game import FunctionGame, Game, GameOption, function_game
from fairshapley.randomness import root_seed
from fairshapley.results.origin import InputFile, recorded
from fairshapley.results.result import Result
from fairshapley.results.serialising import with_fields
from fairshapley.runs.allowance import AUTOMATIC_REPEATS
from fairshapley.runs.federated_rounds import estimate_rounds
from fairshapley.runs.loop import OnInterrupt, Run
from fairshapley.runs.plan import (
    JournalOption,
    Plan,
    RunGame,
    RunLog,
    evaluating,
    game_facts,
    opened_journal,
    record_again,
)
from fairshapley.runs.progress import ProgressOption
from fairshapley.semivalues import Semivalue, Shapley, parse_semivalue
from fairshapley.stopping import Budget, Rule, parse_budget
from fairshapley.unions import MOST_LISTED, OwenValue

Arguments = ParamSpec("Arguments")
T = TypeVar("T")

# Our arguments, and their names in shap, shapiq, pyDVL, llmSHAP, ContextCite and scikit-learn.
OURS = {
    "seed": "random_state rng",
    "budget": "nsamples n_samples num_samples max_evals n_evals npermutations max_iter",
    "players": "n_players n player_names features sources",
    "method": "approximator algorithm sampler mode strategy",
    "game": "f fn func function utility value_function model",
    "semivalue": "index kind",
    "engine": "n_jobs num_workers batch_size",
    "until": "stop is_done tolerance",
    "progress": "callback verbose show_progress",
}
_OURS_OF = {theirs: ours for ours, names in OURS.items() for theirs in names.split()}

# Without a budget or a rule: enough for a first look at most games, and said in the result.
DEFAULT_EVALUATIONS_PER_PLAYER = 100
# What a continued run takes from its journal, whatever the game says of itself now.
RECORDED_FACTS = ("identical_players", "same_seed", "prices")


def answers_peers(function: Callable[Arguments, T]) -> Callable[Arguments, T]:
    """Make a function answer an argument that it does not have with the one to give instead."""
    known = list(signature(function).parameters)

    @wraps(function)
    def checked(*given: Arguments.args, **named: Arguments.kwargs) -> T:
        for name in named:
            if name not in known:
                ours = _OURS_OF.get(name)
                hint = near_miss(name, known) if ours is None else f": use {ours!r}"
                raise InputError(f"{function.__name__} has no argument {name!r}{hint}")
        return function(*given, **named)

    return checked


@answers_peers
def estimate(
    game: GameOption,
    method: str | Estimator[Any, Any] = "auto",
    *,
    players: Iterable[Any] | None = None,
    budget: int | Budget | None = None,
    until: Rule | None = None,
    semivalue: str | Semivalue = "shapley",
    unions: Iterable[object] | None = None,
    xi: float = 1e-3,
    seed: int | None = None,
    engine: EngineOption = None,
    journal: JournalOption = None,
    verify: int | None = None,
    progress: ProgressOption = None,
    on_error: OnError = "raise",
    pairs: bool = False,
    cancel: Event | None = None,
    on_interrupt: OnInterrupt = None,
) -> Result:
    """Estimate the values of the players of a game.

    A `FederatedGame` is valued round by round, each round with all evaluations of the budget and
    an equal share of its seconds and cost; `Result.run.parts` holds the rounds. Ctrl-C then gives
    no result. With a rule or unions the total is valued as one game.

    Parameters
    ----------
    game
        A callable with `n_players` that maps a boolean array (m, n) to m utilities; or, with
        `players`, a plain function, perhaps an ``async def``, that gets a tuple of the chosen ones
        and returns a number. A function with a second argument `seed` is random.
    players
        The players of a plain function: a list of names or other objects, or a dict from each name
        to its object.
    method
        "auto" (exact when 2**n coalitions fit the budget, else "adjusted"), the name of another
        method, or an estimator object.
    budget
        The most that may be spent: an int counts distinct utility evaluations. With neither a
        budget nor a rule, 100 evaluations per player.
    until
        A rule such as ``fs.Fidelity(at_least=10) | fs.Decided(signs=True)``.
    semivalue
        "shapley", "banzhaf", "beta(16,1)" or an object such as ``fs.BetaShapley(16, 1)``.
    unions
        The union of each player, such as the company of each supplier: the values are then Owen
        values, by which unions divide first, and each among its members after. Exact from the
        coalitions that keep unions together, or estimated by "mc".
    xi
        ξ = ε2/ε1, the tolerance near zero, in the unit of the utility.
    seed
        Fixes all random draws. None draws a seed, or takes up the one of the newest run of the
        same game and configuration in the journal.
    engine
        Who computes the utilities: None or "serial" for this process; "processes" for one process
        per core, or "processes:4"; a `distributed.Client`, "dask://host:port" or
        "tcp://host:port"; "ray" or "ray://host:port"; or an engine such as
        ``fs.ProcessEngine(4, timeout=60)``. The result is the same for all of these. "threads:32",
        for utilities that wait, has larger rounds, and so draws other coalitions.
    journal
        A file that keeps every utility: running again with it continues where the last run
        stopped, however it stopped.
    verify
        The number of coalitions to compute again: with a journal first, and a value that differs
        stops the run; without one at the end, within the budget: where a value differs, that is
        noted, standard errors contain the noise, and nothing is certified. By default four
        coalitions, where there is no journal and a utility of your own was computed 20 times.
    progress
        None shows a bar on a terminal, True or False always or never; a function is called with
        a snapshot ten times a second.
    on_error
        "raise" stops at the first utility that raises or is not finite; "skip" records it and
        leaves it out, and then nothing can be certified.
    pairs
        Whether to say of each pair of players what they add together beyond what they add apart,
        as `Result.run.pairs`: exact where all utilities are known, else by a model of those that
        the run has evaluated. For Shapley values of up to 40 players.
    cancel
        An event, such as ``threading.Event()``: once it is set the run ends, and its partial
        result is returned. Calls that are answered within a second are kept.
    on_interrupt
        What Ctrl-C does: "return" gives the partial result, marked as such, "raise" raises
        KeyboardInterrupt with it. By default it raises in scripts, and returns in a notebook or at
        a prompt.

    Returns
    -------
    Result
        An error, and a KeyboardInterrupt, carries what was estimated so far as ``error.partial``.

    Examples
    --------
    >>> import fairshapley as fs
    >>> game = fs.games.Airport([1.0, 2.0, 4.0])
    >>> fs.estimate(game, budget=100).values.round(3)
    array([0.333, 0.833, 2.833])
    >>> prices = {"tea": 3.0, "cups": 5.0}
    >>> def turnover(chosen):
    ...     return sum(prices[player] for player in chosen) + 2.0 * (len(chosen) == 2)
    >>> fs.estimate(turnover, players=prices.keys(), budget=100)["tea"]
    4.0
    """
    started = time.monotonic()
    game = function_game(game, players)
    checks.choice("on_error", on_error, ("raise", "skip"))
    verify = _checked(verify, on_interrupt)
    by_rounds = until is None and unions is None
    if by_rounds and len(rounds(game)) > 1:
        one_round = partial(
            estimate, method=method, semivalue=semivalue, xi=xi, verify=verify, progress=progress,
            on_error=on_error, cancel=cancel, on_interrupt=on_interrupt,
        )  # fmt: skip
        return estimate_rounds(
            game, one_round, budget=parse_budget(budget), seed=seed, engine=engine, journal=journal
        )
    facts = game_facts(game, needed=journal is not None)
    n_players = facts.n_players
    if pairs:
        _check_pairs(facts, semivalue)
    limits, notes = run_limits(parse_budget(budget), until, n_players, method)
    if seed is not None:
        seed = root_seed(seed)
    kind = kind_of_value(semivalue, unions, n_players)
    if isinstance(kind, OwenValue):
        facts = replace(facts, identical_players=kind.alike(facts.identical_players))
        notes = (*notes, kind.described())
    plan = Plan(
        game=facts,
        estimator=resolve_method(
            method, facts.n_active, limits, until, on_error, random=facts.random, semivalue=kind
        ),
        semivalue=kind,
        xi=check_xi(xi),
        budget=limits,
        until=until,
        on_error=on_error,
        repeats=0 if on_error == "skip" else planned_repeats(game, verify, journal),
        notes=notes,
    )
    _check_certifiable(plan)
    with evaluating(
        game, facts, engine=engine, journal=journal, on_error=on_error, cancel=cancel
    ) as evaluator:
        plan = plan.evaluated_by(evaluator)
        run = Run(plan, evaluator, RunLog.begin(evaluator.slot, plan, seed), started)
        return run.execute(progress, verify=verify, on_interrupt=on_interrupt, pairs=pairs)


async def estimate_async(
    game: GameOption, method: str | Estimator[Any, Any] = "auto", **options: Any
) -> Result:
    """Await what `estimate` returns; the event loop goes on meanwhile.

    The run has a thread of its own. An ``async def`` is awaited in the caller's event loop, where
    its connections are; a plain function and `progress` are called in the thread. When the task is
    cancelled, the run ends, and with a journal it can be continued.

    Parameters
    ----------
    game, method, **options
        As in `estimate`.

    Examples
    --------
    >>> import fairshapley as fs
    >>> async def turnover(chosen):
    ...     return 3.0 * ("tea" in chosen) + 5.0 * ("cups" in chosen)
    >>> async def service():
    ...     return await fs.estimate_async(turnover, players=["tea", "cups"])
    >>> asyncio.run(service())["tea"]
    3.0
    """
    cancel = options.setdefault("cancel", threading.Event())
    context, loop = copy_context(), asyncio.get_running_loop()
    context.run(CALLERS_LOOP.set, loop)
    run = loop.run_in_executor(None, partial(context.run, estimate, game, method, **options))
    try:
        return await asyncio.shield(run)
    except asyncio.CancelledError:
        cancel.set()
        await asyncio.wait([run])
        raise


@answers_peers
def exact(
    game: GameOption,
    semivalue: str | Semivalue = "shapley",
    *,
    players: Iterable[Any] | None = None,
    unions: Iterable[object] | None = None,
    pairs: bool = False,
) -> Result:
    """Return the exact values, by evaluating every coalition (up to 30 players).

    `players`, `unions` and `pairs` are as in `estimate`; with `unions`, only coalitions that keep
    unions together are evaluated.

    Examples
    --------
    >>> import fairshapley as fs
    >>> fs.exact(fs.games.TableGame([0, 0, 0, 1]), "banzhaf").values
    array([0.5, 0.5])
    >>> fs.exact(fs.games.Airport([1.0, 2.0, 4.0]), unions=["north", "north", "south"]).values
    array([0.25, 0.75, 3.  ])
    """
    return estimate(game, Exact(), players=players, semivalue=semivalue, unions=unions, pairs=pairs)


def resume(
    journal: JournalOption,
    game: Game | None = None,
    *,
    run: int | None = None,
    method: Estimator[Any, Any] | None = None,
    budget: int | Budget | None = None,
    until: Rule | None = None,
    engine: EngineOption = None,
    verify: int | None = None,
    progress: ProgressOption = None,
    cancel: Event | None = None,
    on_interrupt: OnInterrupt = None,
) -> Result:
    """Continue a run from its journal; without the game, report what the journal holds.

    Method, semivalue, ξ, seed, limits and `on_error` are those recorded with the run.

    Parameters
    ----------
    journal
        The journal of the run.
    game
        The same game again (its fingerprint is compared). None gives the result that the run
        ended with; for a run that was killed, or with other limits, the rounds whose utilities are
        journalled are replayed, and the result is that up to there.
    run
        The number of the run in the journal; by default the newest.
    method
        The estimator, when it is not one of this package.
    budget, until
        Other limits than those recorded, e.g. a larger budget.
    engine, verify, progress, cancel, on_interrupt
        As in `estimate`.
    """
    if journal is None:
        raise InputError("resume needs a journal: give the path of the file")
    verify = _checked(verify, on_interrupt)
    started = time.monotonic()
    with opened_journal(journal, readonly=game is None, create=False) as opened:
        record = _recorded_run(opened, run)
        if game is None and budget is None and until is None and record.result is not None:
            result = Result.from_dict(record.result)
            newest = record.id == opened.runs()[-1].id  # no run has changed the file since
            return with_fields(result, journal_digest=opened.digest() if newest else None)
        plan = Plan.from_record(record, budget=parse_budget(budget), until=until, estimator=method)
        if game is None and plan.budget is not None:
            # The time of a replay is not that of the run, and it knows no prices.
            rest = replace(plan.budget, seconds=None, cost=None)
            plan = replace(plan, budget=rest if rest.limits() else None)
        if game is not None:
            facts = game_facts(game, needed=True)
            if (facts.n_active, facts.fingerprint) != (record.n_players, record.fingerprint):
                raise JournalError(
                    f"run {record.id} in {opened.path} belongs to another game (fingerprint "
                    f"{record.fingerprint}, {record.n_players} players): give the same game, with "
                    "the same data, parameters and code"
                )
            kept = {name: getattr(plan.game, name) for name in RECORDED_FACTS}
            plan = replace(plan, game=replace(facts, **kept))
            _check_certifiable(plan)
        # What is only replayed was made by the command, and from the files, of the run itself.
        made: dict[str, Any] = {}
        if game is None:
            inputs = tuple(InputFile(*file) for file in record.origin.get("inputs", ()))
            made = {"command": str(record.origin.get("command", "")), "inputs": inputs}
        with (
            recorded(**made),
            evaluating(
                game, plan.game, engine=engine, journal=opened, on_error=plan.on_error,
                cancel=cancel,
            ) as evaluator,
        ):  # fmt: skip
            pairs = (record.result or {}).get("pairs") is not None
            log = RunLog.begin(evaluator.slot, plan, record.seed)
            again = Run(plan, evaluator, log, started)
            result = again.execute(progress, verify=verify, on_interrupt=on_interrupt, pairs=pairs)
        earlier = Result.from_dict(record.result).run if record.result else None
        if earlier is not None and (earlier.splits or earlier.scenarios):
            # They say something of the game, whatever the limits of the run.
            result = with_fields(result, splits=earlier.splits, scenarios=earlier.scenarios)
            result = result if opened.readonly else record_again(opened, result)
        return result


def _checked(verify: int | None, on_interrupt: OnInterrupt) -> int | None:
    """Return `verify` as a number; raise an InputError for an option that is none."""
    if on_interrupt is not None:
        checks.choice("on_interrupt", on_interrupt, ("raise", "return"))
    return None if verify is None else checks.whole("verify", verify, least=0)


def planned_repeats(game: Game, verify: int | None = None, journal: JournalOption = None) -> int:
    """Return how many calls a run makes again at its end, to look for noise."""
    if journal is not None:  # nothing is computed twice, unless asked for
        return 0
    if verify is not None:
        return verify
    # A utility that is the user's own code may be random without saying so.
    ours = type(game).__module__.startswith("fairshapley.") and not isinstance(game, FunctionGame)
    return 0 if ours or is_random(game) else AUTOMATIC_REPEATS


def _check_pairs(facts: RunGame, semivalue: str | Semivalue) -> None:
    """Raise an InputError where the pairs of a game are not known."""
    if facts.random or not isinstance(parse_semivalue(semivalue), Shapley | OwenValue):
        raise InputError(
            "goes with Shapley and Owen values, and with utilities that are not random",
            parameter="pairs",
            remedy="leave {pairs} out",
        )


def kind_of_value(
    semivalue: str | Semivalue, unions: Iterable[object] | None, n_players: int
) -> Semivalue:
    """Return the semivalue, or the Owen value of the unions."""
    parsed = parse_semivalue(semivalue)
    if unions is None:
        return parsed
    if not isinstance(parsed, Shapley):
        message = f"unions have Owen values, which extend Shapley values, not {parsed.name} values"
        raise InputError(message, remedy="leave {semivalue} or {unions} out")
    return OwenValue.of(unions, n_players)


def _check_certifiable(plan: Plan) -> None:
    """Raise an InputError when the run is to become fair and never can be."""
    traits, facts = plan.estimator.traits, plan.game
    if facts.random and not traits.noise:
        raise InputError(
            f"{plan.estimator.name} takes some utilities as known exactly, but a random game has "
            "none: use 'auto', 'adjusted', 'mc' or 'kernel'"
        )
    if isinstance(plan.semivalue, OwenValue) and not plan.estimator.takes_unions:
        raise InputError(
            f"{plan.estimator.name} cannot keep unions together",
            remedy="give {method:'auto'}, 'mc' or 'exact'",
        )
    for rule in plan.rules:
        rule.check_players(facts.n_players)
    bounds = [bound for rule in plan.rules if (bound := rule.certified_by)]
    if bounds and not traits.certifiable:
        raise InputError(
            f"{plan.estimator} can never be certified as fair: {traits.not_certifiable_because}"
        )
    for bound in bounds:
        if bound != "normal" and plan.sequential:
            raise InputError(
                f"a {bound} bound holds for planned looks only",
                remedy=(
                    "give no rule that looks at the estimates after every round",
                    "give {bound:'normal'}",
                ),
            )
        if bound == "bernstein" and (facts.value_width is None or not traits.iid):
            raise InputError(
                "'bernstein' needs i.i.d. contributions of known range",
                parameter="bound",
                remedy=(
                    "give the game a {value_range}, and use a method such as 'mc' or 'kernel'",
                    "use a {metric} of known range, and a method such as 'mc' or 'kernel'",
                ),
            )


def run_limits(
    budget: Budget | None,
    until: Rule | None,
    n_players: int,
    method: str | Estimator[Any, Any],
) -> tuple[Budget | None, tuple[str, ...]]:
    """Return the budget, by default where neither it nor a rule was given, and a note of that."""
    if until is not None and not isinstance(until, Rule):
        raise InputError(
            "must be a rule such as fs.Fidelity(at_least=10)",
            parameter="until",
            received=until,
            remedy="give a number of evaluations as {budget}",
        )
    if budget is not None and not budget.limits():
        raise BudgetError(
            "the budget is empty", remedy="give {evaluations}, {marginals}, {seconds} or {cost}"
        )
    exact_one = method == "exact" or isinstance(method, Exact)
    if budget is not None or until is not None or exact_one:
        return budget, ()
    # All coalitions of ten players are hardly more.
    evaluations = max(DEFAULT_EVALUATIONS_PER_PLAYER * n_players, 1 << min(n_players, 10))
    each = f"{evaluations / n_players:.0f} per player"
    note = f"no budget was given: {evaluations:,} evaluations, {each}, were allowed"
    return Budget(evaluations=evaluations), (note,)


def resolve_method(
    method: str | Estimator[Any, Any],
    n_players: int,
    budget: Budget | None,
    until: Rule | None,
    on_error: OnError,
    *,
    random: bool = False,
    semivalue: Semivalue | None = None,
) -> Estimator[Any, Any]:
    """Return the estimator of a name; "auto" is exact when all coalitions fit the budget.

    Not where utilities are random: all coalitions alike would spend most on those that hardly
    count, and leave eight times the noise on ten players.
    """
    limits, needed = budget or Budget(), coalitions_needed(n_players, semivalue)
    if method == "auto":
        rules = until.parts() if until is not None else ()
        # Finite-sample bounds need contributions of a known range, which a proxy does not have.
        bounded = any(rule.certified_by == "bernstein" for rule in rules)
        allowed = limits.evaluations or DEFAULT_EVALUATIONS_PER_PLAYER * n_players
        in_unions = isinstance(semivalue, OwenValue)
        most = MOST_LISTED if in_unions else 1 << MAX_EXACT_PLAYERS
        fits = needed <= min(most, allowed) and not random
        if fits and not limits.marginals and on_error != "skip":
            method = "exact"
        elif limits.marginals or bounded:
            method = "mc"
        elif in_unions:
            return MonteCarlo(antithetic=True)
        else:
            return RegressionAdjusted(model=True)
    if isinstance(method, str) and method in METHODS:
        method = METHODS[method]()
    if not isinstance(method, Estimator):
        names = ["auto", *METHODS]
        raise InputError(
            f"unknown method {method!r}: use 'auto', {', '.join(map(repr, sorted(METHODS)))}, "
            f"or an estimator object such as fs.MonteCarlo(){near_miss(str(method), names)}"
        )
    if isinstance(method, Exact):
        check_enumerable(n_players, semivalue)
        if limits.evaluations is not None and limits.evaluations < needed:
            raise BudgetError(
                f"exact values of {n_players} players take {needed:,} evaluations, the "
                f"budget is {limits.evaluations:,}",
                remedy=("give a larger budget", "give {method:'auto'}"),
            )
    return method


def _recorded_run(journal: Journal, run: int | None) -> RunRecord:
    """Return the run with a number, or the newest one."""
    records = {record.id: record for record in journal.runs()}
    if not records:
        message = f"{journal.path} holds no run"
        raise JournalError(message, remedy="give it as {journal} to a run first")
    if run is not None and run not in records:
        numbers = ", ".join(map(str, records))
        raise JournalError(f"{journal.path} holds no run {run}: it has {numbers}")
    return records[max(records) if run is None else run]
