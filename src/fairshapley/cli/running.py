"""The run that the options ask for: its method, limits and tolerance, and what it will take."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, cast

import numpy as np

from fairshapley._basics.checks import whole
from fairshapley._basics.text import near_miss, several
from fairshapley.cli.exits import say
from fairshapley.cli.options import (
    ADVANCED,
    DataOptions,
    OutputOptions,
    RunOptions,
    changed_options,
)
from fairshapley.cli.output import finish_run
from fairshapley.cli.setup import input_files, load_game, show_notes
from fairshapley.closed_forms import knn_shapley, leave_one_out_result
from fairshapley.errors import InputError
from fairshapley.estimators import METHODS, Estimator, from_configuration
from fairshapley.evaluation.engines import parse_engine
from fairshapley.evaluation.evaluator import OnError
from fairshapley.fairness.levels import DELTA
from fairshapley.games import abilities
from fairshapley.games.game import Game, Price
from fairshapley.games.knn import Task
from fairshapley.planning import (
    EXACT_SECONDS,
    PLANNED_SECONDS,
    Forecast,
    Tolerance,
    equal_share,
    exact_seconds,
    forecast,
)
from fairshapley.randomness import root_seed
from fairshapley.results.origin import InputFile, recorded
from fairshapley.results.result import Result
from fairshapley.runs.calls import estimate, kind_of_value, resolve_method, run_limits
from fairshapley.runs.setup import opened_journal
from fairshapley.stopping import Budget, Decided, Fair
from fairshapley.tables import TabularGame
from fairshapley.tables.building import XI_OF_SHARES

KNN, LOO = "knn", "loo"
"""The methods that sample nothing: exact values for nearest neighbours; leave-one-out"""
NEIGHBOURS = 5
LOO_NOTE = "method loo: what is lost without each player; players that replace each other get 0"
KNN_NOTE = "method knn, the {} nearest neighbours in place of the model and the metric"
BELOW_XI = "it limits what is certified near zero; payouts divide by the values as they are"
# Metrics that payments may hang on, for numbers and for classes.
OTHER_METRICS = (("r2", "mae", "rmse"), ("accuracy", "auc", "log_likelihood"))
# With a certificate as the aim: most runs that can be certified at all need less than this.
CERTIFIED_EVALUATIONS_PER_PLAYER = 1000
# Shorter runs begin without a word; longer ones are told what else there is; nobody waits for one
# of hours without having decided to.
SAID_SECONDS, ADVISED_SECONDS, MOST_SECONDS = 30.0, 120.0, 8 * 3600.0
SHORTER = "--seconds 60 stops after a minute, and says which signs and order are known by then"
SHORTER_ROWS = (
    "--method knn gives exact values for nearest neighbours in place of the model, in seconds",
    "--group-by COL values suppliers, clients or days in place of rows, --sample N values N rows",
    "fairshapley clean finds rows whose label is probably wrong, in seconds",
)
# Fewer evaluations for each player say little of single players.
FEW_PER_PLAYER = 20
# So many rows may be too many for a minute.
MANY_ROWS = 500


def run_settings(
    run: RunOptions, game: Game, unions: Sequence[str] | None = None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what `estimate` and `forecast` are given, and notes on defaults taken.

    All is checked; the game gets its prices.
    """
    n_players = game.n_players
    if run.price is not None:
        vars(game).update(cost=Price(run.price), cost_unit=run.price_unit)
    notes: tuple[str, ...] = ()
    until, evaluations = chosen_aim(run), run.budget
    if until is not None:
        until.check_players(n_players)
        if evaluations is None and run.method != "exact":
            evaluations = CERTIFIED_EVALUATIONS_PER_PLAYER * n_players
            allowed = f"up to {evaluations:,} evaluations, 1000 per player, are allowed"
            notes = (f"no budget was given: {allowed}",)
    method = chosen_method(run.method, run.method_options)
    limit = Budget(evaluations, run.marginals, run.seconds, run.budget_cost)
    if limit.limits().keys() <= {"seconds"} and method != "exact":
        limit = timed_budget(run)
    if method == "auto" and unions is None and _exact_is_quick(run, game, limit):
        method, limit = "exact", Budget()
        notes = (f"all {1 << n_players:,} coalitions are quickly evaluated: no budget is needed",)
    budget, more = run_limits(limit if limit.limits() else None, until, n_players, method)
    semivalue = kind_of_value(run.semivalue, unions, n_players)
    estimator = resolve_method(
        method, n_players, budget, until, cast("OnError", run.on_error), semivalue=semivalue
    )
    root_seed(run.seed)
    if run.xi not in ("auto", "share"):
        given_xi(run.xi)
    check_places(run)
    given: dict[str, Any] = {
        "method": estimator,
        "budget": budget,
        "until": until,
        "engine": run.engine,
        "semivalue": semivalue,
        "seed": run.seed,
        "journal": run.journal,
    }
    return given, (*notes, *more)


def timed_budget(run: RunOptions) -> Budget:
    """Return the budget of a run that was given time alone, or nothing."""
    return Budget(seconds=run.seconds or PLANNED_SECONDS, rungs=True)


def _exact_is_quick(run: RunOptions, game: Game, limit: Budget) -> bool:
    """Whether exact values take no longer than the run would, or than a few seconds for an aim."""
    asked = run.budget or run.marginals or run.price or run.on_error == "skip"
    allowed = (limit.seconds or EXACT_SECONDS) if limit.rungs else EXACT_SECONDS
    return not asked and exact_seconds(game, run.engine) <= allowed


def too_many_rows(data: DataOptions, run: RunOptions, game: Game) -> str:
    """Return why rows are valued by nearest neighbours where nothing else was asked for, or ""."""
    ours = changed_options(run) <= {"--xi", "--seed"} and not run.method_options
    given = {"--model", "--metric", "--group-by", "--union-by", "--option weights"}
    if not ours or given & changed_options(data) or game.n_players < MANY_ROWS:
        return ""
    allowed = forecast(game, "mc", budget=timed_budget(run)).evaluations
    if allowed >= FEW_PER_PLAYER * game.n_players:
        return ""
    return (
        f"a minute allows about {allowed:,} evaluations of the model, too few for "
        f"{game.n_players:,} rows: these values belong to nearest neighbours; --seconds or "
        "--budget values the model"
    )


def chosen_aim(run: RunOptions) -> Fair | Decided | None:
    """The rule of `--epsilon1` or `--until`.

    Examples
    --------
    >>> chosen_aim(RunOptions(until="top=3")).top
    3
    """
    delta = DELTA if run.delta is None else run.delta
    if run.epsilon1 is not None:
        return Fair(epsilon1=run.epsilon1, delta=delta, bound=run.bound)
    if run.until is None:
        return None
    name, sign, count = run.until.partition("=")
    if name in ("signs", "order") and not sign:
        return Decided(signs=name == "signs", order=name == "order", delta=delta)
    if name in ("top", "bottom") and count.isdecimal():
        players = {name: int(count)}
        return Decided(delta=delta, top=players.get("top"), bottom=players.get("bottom"))
    raise InputError(f"--until must be signs, order, top=K or bottom=K, not {run.until!r:.40}")


def chosen_method(name: str, options: dict[str, Any]) -> str | Estimator[Any, Any]:
    """The method: its name, or where it has options, the estimator with these.

    Examples
    --------
    >>> chosen_method("mc", {"antithetic": True})
    MonteCarlo(walk=True, antithetic=True)
    >>> chosen_method("mc", {})
    'mc'
    """
    if name in (KNN, LOO):
        raise InputError(f"--method {name} is for the command value: it samples nothing to plan")
    if name not in ("auto", *METHODS):
        known = ["auto", *sorted(METHODS), KNN, LOO]
        raise InputError(
            f"unknown method {name!r:.40}: use {', '.join(known)}{near_miss(name, known)}"
        )
    if not options:
        return name
    if name == "auto":
        wrong = next(iter(options))
        raise InputError(
            f"--option {wrong:.40} goes with a method that has it, not with auto: name the method "
            f"by --method{near_miss(wrong, sorted(ADVANCED))}"
        )
    return from_configuration({"name": name, **options})


def check_places(run: RunOptions) -> None:
    """Raise an error when the engine has no such name, or the journal is something else."""
    parse_engine(run.engine).close()
    if run.journal is not None:
        with opened_journal(run.journal):
            pass


def given_xi(text: str) -> Tolerance:
    """ξ as a number."""
    try:
        xi = float(text)
    except ValueError:
        raise InputError(f"--xi must be a number, share or auto, not {text!r:.40}") from None
    if not 0 < xi < math.inf:
        raise InputError(f"--xi must be above 0 and finite, not {text:.40}")
    return Tolerance(xi, f"ξ = {xi:g}, as given")


def chosen_xi(game: Game, run: RunOptions) -> Tolerance:
    """Return ξ as the option says."""
    if run.xi not in ("auto", "share"):
        return given_xi(run.xi)
    if run.xi == "share" or abilities.value_range(game) != (0.0, 1.0):
        return equal_share(game)
    sentence = f"ξ = {XI_OF_SHARES:g}, the default for metrics from 0 to 1"
    return Tolerance(XI_OF_SHARES, sentence)


def announce(
    planned: Forecast, run: RunOptions, *, quiet: bool, shorter: Sequence[str] = ()
) -> None:
    """Say what a run will take and what is shorter; raise InputError when it is hopeless."""
    continued = run.journal is not None and run.journal.exists()
    shorter = (*shorter, *([SHORTER] if planned.time_limit is None else []))
    if planned.seconds > MOST_SECONDS and not (run.anyway or continued):
        raise InputError(
            f"{planned}. {'; '.join(shorter)}; start it with --option anyway=yes, best with "
            "--journal"
        )
    if quiet or (planned.seconds < SAID_SECONDS and planned.cost is None and not planned.rungs):
        return
    most = "at most " if run.epsilon1 is not None or run.until is not None else ""
    changed = " (--seconds changes it)" if planned.rungs and run.seconds is None else ""
    say(f"plan: {most}{planned}{changed}")
    if planned.evaluations < planned.n_players:
        say("plan: the budget is below one evaluation per player: the values will be mostly noise")
    few = planned.evaluations < FEW_PER_PLAYER * planned.n_players
    if few or planned.seconds > ADVISED_SECONDS:
        for sentence in shorter:
            say(f"plan: quicker: {sentence}")


def value_game(
    game: Game,
    run: RunOptions,
    output: OutputOptions,
    *,
    notes: Sequence[str],
    inputs: tuple[InputFile, ...],
    title: str,
    labels: tuple[str, ...] | None = None,
    unions: Sequence[str] | None = None,
    shorter: Sequence[str] = (),
    pairs: bool = False,
    examine: Callable[..., Result] | None = None,
) -> None:
    """Run a game as the options say, and write and print what was found.

    Parameters
    ----------
    game, run, output
        What is valued, how far, and where the result goes.
    notes, inputs, title, labels
        What was decided on the way to the game, the files behind it, and what the report shows.
    unions
        The union of each player, for Owen values.
    shorter
        What to do instead of a long run, a sentence each.
    pairs
        Whether to say what pairs of players add together, where the values are Shapley values.
    examine
        What adds to the result on what payments hang.
    """
    given, taken = run_settings(run, game, unions)
    notes = (*notes, *taken)
    show_notes(notes, verbose=output.verbose)
    announce(forecast(game, **given), run, quiet=output.quiet, shorter=shorter)
    tolerance = chosen_xi(game, run)
    show_notes((f"{tolerance.sentence}; {BELOW_XI}",), verbose=output.verbose)
    with recorded(inputs=inputs, notes=(*notes, tolerance.sentence)):
        result = estimate(
            game,
            xi=tolerance.xi,
            verify=run.verify,
            on_error=cast("OnError", run.on_error),
            progress=False if output.quiet else None,
            pairs=pairs,
            on_interrupt="return",
            **given,
        )
        if examine is not None and result.complete:
            same = {name: given[name] for name in ("method", "semivalue", "seed", "engine")}
            result = examine(result, **same)
    finish_run(result, output, wanted=given["until"], labels=labels, title=title)


def examine(made: TabularGame, data: DataOptions) -> Callable[..., Result]:
    """Return what adds to a result on what payments hang: two names, other metrics, copies."""
    from fairshapley.market import examined

    others = {}
    for metric in OTHER_METRICS[made.game.classes is not None]:
        if metric != made.metric:
            with suppress(InputError):  # a model without probabilities has no log likelihood
                others[metric] = load_game(replace(data, metric=metric)).game
    return partial(examined, game=made.game, others=others)


def computed(
    made: TabularGame, data: DataOptions, run: RunOptions, *, verbose: bool, why: str = ""
) -> Result:
    """The values of a method that computes them, without sampling: knn or loo."""
    _check_computed(data, run)
    xi = XI_OF_SHARES if run.xi in ("auto", "share") else given_xi(run.xi).xi
    game, inputs = made.game, input_files(data.train, data.test)
    if run.method == LOO:
        notes = (*made.notes, LOO_NOTE)
        check_places(run)
        show_notes(notes, verbose=verbose)
        with recorded(inputs=inputs, notes=notes):
            return leave_one_out_result(game, engine=run.engine, journal=run.journal, xi=xi)
    k = whole("--option k", run.method_options.get("k", NEIGHBOURS))
    (train, answers), (test, truths) = game.train, game.test
    names = game.player_names
    task: Task = "regression" if game.classes is None else "classification"
    worth = "0" if game.classes is not None else "what the mean of all rows scores"
    said = f"{KNN_NOTE.format(k)}; no rows are worth {worth}"
    because = (why,) if why else ()
    notes = (*made.notes_on_rows, f"{several(game.n_players, 'player')}; {said}", *because)
    show_notes(notes, verbose=verbose)
    with recorded(inputs=inputs, notes=notes):
        if task == "regression":
            centre = float(np.mean(answers))
            answers, truths = answers - centre, truths - centre
        return knn_shapley(train, answers, test, truths, k=k, task=task, player_names=names, xi=xi)


def _check_computed(data: DataOptions, run: RunOptions) -> None:
    """Raise an InputError for an option that a method without sampling cannot follow."""
    usable = {"--method", "--xi", "--seed", "--engine", "--option anyway"}
    what, more = "leaves each player out", "--journal"
    refused = changed_options(run) | {f"--option {name}" for name in run.method_options}
    if run.method == KNN:
        what, more = "values single rows in closed form", "--option k"
        refused |= {"--group-by"} if data.group_by is not None else set()
    for name in sorted(refused - usable - {more}):
        raise InputError(f"--method {run.method} {what}: leave {name} out")
