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
    UtilityOptions,
    changed_options,
)
from fairshapley.cli.output import finish_run
from fairshapley.cli.setup import (
    check_outputs,
    input_files,
    load_game,
    load_providers,
    show_notes,
)
from fairshapley.closed_forms import knn_shapley, leave_one_out_result
from fairshapley.errors import InputError
from fairshapley.estimators import METHODS, Estimator, from_configuration
from fairshapley.evaluation.evaluator import OnError
from fairshapley.fairness.levels import DELTA, XI
from fairshapley.games import abilities
from fairshapley.games.game import Game, Price
from fairshapley.games.knn import Task
from fairshapley.planning import (
    EXACT_SECONDS,
    PLANNED_SECONDS,
    Forecast,
    equal_share,
    exact_seconds,
    forecast,
)
from fairshapley.results.origin import InputFile, recorded
from fairshapley.results.result import Result
from fairshapley.runs.calls import estimate, kind_of_value
from fairshapley.runs.plan import opened_journal, record_again
from fairshapley.stopping import Budget, Decided, Fair
from fairshapley.tables import TabularGame

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
# Shorter runs begin without a word; longer ones are told what else there is.
SAID_SECONDS, ADVISED_SECONDS = 30.0, 120.0
SHORTER = "--seconds 60 stops after a minute, and says which signs and order are known by then"
SHORTER_ROWS = (
    "--method knn gives exact values for nearest neighbours in place of the model, in seconds",
    "--group-by COL values suppliers, clients or days in place of rows, --sample N values N rows",
    "fairshapley clean finds rows whose label is probably wrong, in seconds",
)
# Fewer evaluations for each player say little of single players.
FEW_PER_PLAYER = 20
# From so many rows on a minute may be too short: it takes n²/25 evaluations to tell values of n
# rows from zero where they raise an accuracy by .5 that scatters by .01 (docs/large_games.md).
MANY_ROWS, SQUARED_ROWS = 500, 25


def run_value(
    data: DataOptions, utility: UtilityOptions, run: RunOptions, output: OutputOptions
) -> None:
    """Value the rows of a table as the options of `fairshapley value` say."""
    check_outputs(output, (data.train, data.test), run.journal)
    title = data.train.name
    if utility.utility != "model":
        game, notes = load_providers(data, utility)
        inputs = input_files(data.train)
        value_game(game, run, output, notes=notes, inputs=inputs, title=title)
        return
    made = load_game(data)
    if why := too_many_rows(data, run, made.game):
        run = replace(run, method=KNN)
        show_notes((why, *SHORTER_ROWS[1:]), verbose=not output.quiet)
    if run.method in (KNN, LOO):
        result = computed(made, data, run, verbose=output.verbose, why=why)
        finish_run(result, output, labels=made.labels, title=title)
        return
    value_game(
        made.game,
        run,
        output,
        notes=made.notes,
        inputs=input_files(data.train, data.test),
        title=title,
        labels=made.labels,
        unions=made.unions,
        shorter=() if data.group_by else SHORTER_ROWS,
        examine=None if output.pool is None or data.group_by is None else examine(made, data),
        pairs=data.group_by is not None and run.semivalue == "shapley",
    )


def run_settings(
    run: RunOptions, game: Game, unions: Sequence[str] | None = None
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what `estimate` and `forecast` are given, and notes on defaults taken.

    The game gets its prices.
    """
    n_players = game.n_players
    if run.price is not None:
        vars(game).update(cost=Price(run.price), cost_unit=run.price_unit)
    notes: tuple[str, ...] = ()
    until, evaluations = chosen_aim(run), run.budget
    if until is not None and evaluations is None and run.method != "exact":
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
    given: dict[str, Any] = {
        "method": method,
        "budget": limit if limit.limits() else None,
        "until": until,
        "engine": run.engine,
        "semivalue": kind_of_value(run.semivalue, unions, n_players),
        "seed": run.seed,
        "journal": run.journal,
    }
    return given, notes


def timed_budget(run: RunOptions) -> Budget:
    """Return the budget of a run that was given time alone, or nothing."""
    return Budget(seconds=run.seconds or PLANNED_SECONDS, rungs=True)


def _exact_is_quick(run: RunOptions, game: Game, limit: Budget) -> bool:
    """Return whether exact values take no longer than the run, or than seconds for an aim."""
    asked = run.budget or run.marginals or run.price or run.on_error == "skip"
    allowed = (limit.seconds or EXACT_SECONDS) if limit.rungs else EXACT_SECONDS
    return not asked and exact_seconds(game, run.engine) <= allowed


def too_many_rows(data: DataOptions, run: RunOptions, game: Game) -> str:
    """Return why rows are valued by nearest neighbours where nothing else was asked for, or ""."""
    ours = changed_options(run) <= {"--xi", "--seed"} and not run.method_options
    given = {"--model", "--metric", "--group-by", "--union-by", "--option weights"}
    n_rows = game.n_players
    if not ours or given & changed_options(data) or n_rows < MANY_ROWS:
        return ""
    allowed = forecast(game, "mc", budget=timed_budget(run)).evaluations
    if allowed >= n_rows**2 / SQUARED_ROWS:
        return ""
    return (
        f"a minute allows about {allowed:,} evaluations of the model, too few for {n_rows:,} rows: "
        "these values belong to nearest neighbours; --seconds or --budget values the model"
    )


def chosen_aim(run: RunOptions) -> Fair | Decided | None:
    """Return the rule of `--epsilon1` or `--until`.

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
    """Return the method's name, or where it has options, the estimator with these.

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
        wrong = next(iter(options)).replace("_", "-")
        known = [name.replace("_", "-") for name in sorted(ADVANCED)]
        raise InputError(
            f"--option {wrong:.40} goes with a method that has it, not with auto: name the method "
            f"by --method{near_miss(wrong, known)}"
        )
    return from_configuration({"name": name, **options})


def given_xi(text: str) -> float | None:
    """Return ξ as a number; None where it is chosen by the game."""
    if text in ("auto", "share"):
        return None
    xi = math.nan
    with suppress(ValueError):
        xi = float(text)
    if not 0 < xi < math.inf:
        raise InputError(f"--xi must be a number above 0, share or auto, not {text!r:.40}")
    return xi


def chosen_xi(game: Game, text: str) -> tuple[float, str]:
    """Return ξ as the option says, and the sentence that says where it comes from."""
    if (xi := given_xi(text)) is not None:
        return xi, f"ξ = {xi:g}, as given"
    if text == "auto" and abilities.value_range(game) == (0.0, 1.0):
        return XI, f"ξ = {XI:g}, the default for metrics from 0 to 1"
    xi = equal_share(game)
    return xi, f"ξ = {xi:.6g} is an equal share of |v(N) − v(∅)| = {xi * game.n_players:.6g}"


def announce(
    planned: Forecast, run: RunOptions, *, quiet: bool, shorter: Sequence[str] = ()
) -> None:
    """Say what a run will take, and what is quicker where it is long or short of evaluations."""
    if quiet or (planned.seconds < SAID_SECONDS and planned.cost is None and not planned.rungs):
        return
    most = "at most " if run.epsilon1 is not None or run.until is not None else ""
    changed = " (--seconds changes it)" if planned.rungs and run.seconds is None else ""
    say(f"plan: {most}{planned}{changed}")
    if planned.evaluations < planned.n_players:
        say("plan: the budget is below one evaluation per player: the values will be mostly noise")
    few = planned.evaluations < FEW_PER_PLAYER * planned.n_players
    if few or planned.seconds > ADVISED_SECONDS:
        for sentence in (*shorter, *([SHORTER] if planned.time_limit is None else [])):
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
    xi, sentence = chosen_xi(game, run.xi)
    notes = (*notes, *taken)
    show_notes((*notes, f"{sentence}; {BELOW_XI}"), verbose=output.verbose)
    announce(forecast(game, **given), run, quiet=output.quiet, shorter=shorter)
    with recorded(inputs=inputs, notes=(*notes, sentence)):
        result = estimate(
            game,
            xi=xi,
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
            if run.journal is not None:
                with opened_journal(run.journal) as journal:
                    result = record_again(journal, result)
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
    """Return the values of a method that computes them, without sampling: knn or loo."""
    _check_computed(data, run)
    xi = given_xi(run.xi) or XI
    game, inputs = made.game, input_files(data.train, data.test)
    if run.method == LOO:
        notes = (*made.notes, LOO_NOTE)
        show_notes(notes, verbose=verbose)
        with recorded(inputs=inputs, notes=notes):
            return leave_one_out_result(game, engine=run.engine, journal=run.journal, xi=xi)
    k = whole("--option k", run.method_options.get("k", NEIGHBOURS))
    (train, answers), (test, truths) = game.train, game.test
    task: Task = "regression" if game.classes is None else "classification"
    worth = "0"
    if task == "regression":
        worth, centre = "what the mean of all rows scores", float(np.mean(answers))
        answers, truths = answers - centre, truths - centre
    said = f"{several(game.n_players, 'player')}; {KNN_NOTE.format(k)}; no rows are worth {worth}"
    notes = (*made.notes_on_rows, said, *([why] if why else []))
    show_notes(notes, verbose=verbose)
    names = game.player_names
    with recorded(inputs=inputs, notes=notes):
        return knn_shapley(train, answers, test, truths, k=k, task=task, player_names=names, xi=xi)


def _check_computed(data: DataOptions, run: RunOptions) -> None:
    """Raise an InputError for an option that a method without sampling cannot follow."""
    usable = {"--method", "--xi", "--seed", "--engine"}
    what, more = "leaves each player out", "--journal"
    refused = changed_options(run) | {f"--option {name}" for name in run.method_options}
    if run.method == KNN:
        what, more = "values single rows in closed form", "--option k"
        refused |= {"--group-by"} if data.group_by is not None else set()
    for name in sorted(refused - usable - {more}):
        raise InputError(f"--method {run.method} {what}: leave {name} out")
