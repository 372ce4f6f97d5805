"""The run that the options ask for: its method, limits and tolerance, and what it will take."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from fairshapley._basics.checks import real, whole
from fairshapley._basics.text import duration, near_miss, several
from fairshapley.cli.exits import say
from fairshapley.cli.options import (
    ADVANCED,
    DataOptions,
    OutputOptions,
    RunOptions,
    changed_options,
)
from fairshapley.cli.output import finish
from fairshapley.cli.setup import input_files, show_notes
from fairshapley.closed_forms import knn_shapley, leave_one_out_result
from fairshapley.errors import InputError, JournalError
from fairshapley.estimators import METHODS, Estimator, from_configuration
from fairshapley.evaluation.engines.choice import parse_engine
from fairshapley.evaluation.evaluator import OnError
from fairshapley.fairness.levels import DELTA
from fairshapley.games.data.data_game import CHUNK_BYTES
from fairshapley.games.game import Game, Price
from fairshapley.games.knn import Task
from fairshapley.planning import Forecast, Tolerance, equal_share, forecast
from fairshapley.randomness import root_seed
from fairshapley.results.origin import InputFile, recorded
from fairshapley.results.result import Result
from fairshapley.runs.calls import estimate, resolve_method, run_limits
from fairshapley.runs.setup import opened_journal
from fairshapley.semivalues import parse_semivalue
from fairshapley.stopping import Budget, Decided, Fair
from fairshapley.tables import TabularGame

KNN, LOO = "knn", "loo"
"""The methods that sample nothing: exact values for nearest neighbours; leave-one-out"""
NEIGHBOURS = 5
LOO_NOTE = "method loo: what is lost without each player; players that replace each other get 0"
KNN_UTILITIES = {
    "classification": "the share of the right class among the {} nearest neighbours; no rows are "
    "worth 0",
    "regression": "minus the squared error of the mean of the {} nearest neighbours; no rows are "
    "worth what the mean of all rows scores",
}
XI_NAMES = ("auto", "share")
# The paper's ξ for accuracies.
XI_OF_SHARES = 1e-3
BELOW_XI = "below ξ a value counts as zero"
# With a certificate as the aim: most runs that can be certified at all need less than this.
CERTIFIED_EVALUATIONS_PER_PLAYER = 1000
# Shorter runs begin without a word; longer ones are told what else there is; nobody waits for one
# of hours without having decided to. What is advised aims at GOOD_SECONDS.
SAID_SECONDS, ADVISED_SECONDS, MOST_SECONDS, GOOD_SECONDS = 30.0, 120.0, 8 * 3600.0, 300.0


@dataclass(frozen=True)
class RunSettings:
    """The estimator and the limits of a run, with notes on the defaults taken."""

    estimator: Estimator[Any, Any]
    budget: Budget | None
    until: Fair | Decided | None
    notes: tuple[str, ...]


def run_settings(run: RunOptions, game: Game) -> RunSettings:
    """The settings of the options, checked. The game gets its prices."""
    n_players = game.n_players
    if run.price is not None:
        vars(game).update(cost=Price(run.price, run.price_member), cost_unit=run.price_unit)
    notes: tuple[str, ...] = ()
    until, budget = chosen_aim(run), run.budget
    if until is not None:
        until.check_players(n_players)
        if budget is None and run.method != "exact":
            budget = CERTIFIED_EVALUATIONS_PER_PLAYER * n_players
            notes = (
                f"no budget was given: up to {budget:,} evaluations, 1000 per player, are allowed",
            )
    most: dict[str, Any] = {"evaluations": budget, "seconds": run.seconds}
    most |= {"marginals": run.marginals, "cost": run.budget_cost}
    given = Budget(**most) if any(one is not None for one in most.values()) else None
    method = chosen_method(run.method, run.method_options)
    limits, more = run_limits(given, until, n_players, method)
    estimator = resolve_method(method, n_players, limits, until, cast("OnError", run.on_error))
    if until is not None and not estimator.traits.certifiable:
        reason = estimator.traits.not_certifiable_because
        raise InputError(
            f"{run.method} can never be certified as fair, {reason}: leave "
            f"{'--until' if run.epsilon1 is None else '--epsilon1'} out, or use --method auto"
        )
    parse_semivalue(run.semivalue)
    root_seed(run.seed)
    if run.xi not in XI_NAMES:
        given_xi(run.xi)
    check_places(run)
    return RunSettings(estimator, limits, until, (*notes, *more))


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
        if run.journal.is_dir():
            raise JournalError(f"the journal {run.journal} is a folder: give the name of a file")
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
    from fairshapley.games import abilities

    of_shares = abilities.value_range(game) == (0.0, 1.0)
    if run.xi == "auto" and of_shares:
        sentence = f"ξ = {XI_OF_SHARES:g}, the default for metrics from 0 to 1"
        return Tolerance(XI_OF_SHARES, sentence)
    if run.xi in ("auto", "share"):
        return equal_share(game)
    return given_xi(run.xi)


def announce(planned: Forecast, instead: Sequence[str], run: RunOptions, *, quiet: bool) -> None:
    """Say what a run will take and what to do instead; an InputError when it is hopeless."""
    if run.memory is not None:
        needed = planned.cache_bytes + CHUNK_BYTES
        if needed > real("memory", run.memory, above=0) * 2**30:
            raise InputError(
                f"the run will take about {needed / 2**30:.2g} GiB, --option memory allows "
                f"{run.memory:g}: allow more, or value fewer rows (--sample) or groups of them "
                "(--group-by)"
            )
    continued = run.journal is not None and run.journal.exists()
    if planned.seconds > MOST_SECONDS and not (run.anyway or continued):
        raise InputError(
            f"{planned}. {'; '.join([*instead, 'start it with --anyway, best with --journal'])}"
        )
    if quiet or (planned.seconds < SAID_SECONDS and planned.cost is None):
        return
    most = "at most " if run.epsilon1 is not None or run.until is not None else ""
    say(f"plan: {most}{planned}")
    if planned.evaluations < planned.n_players:
        say("plan: the budget is below one evaluation per player: the values will be mostly noise")
    if planned.all_seconds > ADVISED_SECONDS and instead:
        say(f"plan: shorter: {'; '.join(instead)}")


def advice(planned: Forecast, data: DataOptions) -> list[str]:
    """What else would answer the question, sooner."""
    found = []
    if data.group_by is None:
        # A fit takes about as many times longer as there are rows, and there are as many more.
        shorter = math.sqrt(GOOD_SECONDS / max(planned.all_seconds, GOOD_SECONDS))
        rows = planned.n_players * shorter / (1.0 if data.test else 1.0 - min(data.test_size, 0.5))
        few = max(10, int(float(f"{rows:.1g}")))
        found = [
            "--group-by COL values suppliers, clients or days in place of rows",
            f"--sample {few} values {few:,} rows, drawn at random",
            "--method knn gives exact values of all rows for nearest neighbours",
        ]
    found.append(
        f"--seconds {GOOD_SECONDS:.0f} stops after {duration(GOOD_SECONDS)}, and the signs and the "
        "order that are settled by then are said"
    )
    return found


def value_game(
    game: Game,
    run: RunOptions,
    output: OutputOptions,
    *,
    notes: Sequence[str],
    inputs: tuple[InputFile, ...],
    title: str,
    labels: tuple[str, ...] | None = None,
    advise: Callable[[Forecast], Sequence[str]] = lambda _planned: (),
) -> None:
    """Run a game as the options say, and write and print what was found.

    Parameters
    ----------
    game, run, output
        What is valued, how far, and where the result goes.
    notes, inputs, title, labels
        What was decided on the way to the game, the files behind it, and what the report shows.
    advise
        What to do instead of a long run.
    """
    settings = run_settings(run, game)
    limits: dict[str, Any] = {"budget": settings.budget, "until": settings.until}
    show_notes((*notes, *settings.notes), quiet=output.quiet)
    planned = forecast(game, settings.estimator, engine=run.engine, **limits)
    announce(planned, advise(planned), run, quiet=output.quiet)
    tolerance = chosen_xi(game, run)
    show_notes((f"{tolerance.sentence}; {BELOW_XI}",), quiet=output.quiet)
    with recorded(inputs=inputs, notes=(*notes, *settings.notes, tolerance.sentence)):
        result = estimate(
            game,
            settings.estimator,
            semivalue=run.semivalue,
            xi=tolerance.xi,
            seed=run.seed,
            engine=run.engine,
            journal=run.journal,
            verify=run.verify,
            on_error=cast("OnError", run.on_error),
            progress=False if output.quiet else None,
            **limits,
        )
    finish(result, output, wanted=settings.until, labels=labels, title=title)


def computed(made: TabularGame, data: DataOptions, run: RunOptions, *, quiet: bool) -> Result:
    """The values of a method that computes them, without sampling: knn or loo."""
    _check_computed(data, run)
    xi = XI_OF_SHARES if run.xi in XI_NAMES else given_xi(run.xi).xi
    game, inputs = made.game, input_files(data.train, data.test)
    if run.method == LOO:
        notes = (*made.notes, LOO_NOTE)
        check_places(run)
        show_notes(notes, quiet=quiet)
        with recorded(inputs=inputs, notes=notes):
            return leave_one_out_result(game, engine=run.engine, journal=run.journal, xi=xi)
    k = whole("--option k", run.method_options.get("k", NEIGHBOURS))
    (train, answers), (test, truths) = game.train, game.test
    names = game.player_names
    said = f"{several(game.n_players, 'player')}; method knn, in place of the model and the metric"
    task: Task = "regression" if game.classes is None else "classification"
    notes = (*made.notes_on_rows, f"{said}: {KNN_UTILITIES[task].format(k)}")
    show_notes(notes, quiet=quiet)
    with recorded(inputs=inputs, notes=notes):
        if task == "regression":
            centre = float(np.mean(answers))
            answers, truths = answers - centre, truths - centre
        return knn_shapley(train, answers, test, truths, k=k, task=task, player_names=names, xi=xi)


def _check_computed(data: DataOptions, run: RunOptions) -> None:
    """Raise an InputError for an option that a method without sampling cannot follow."""
    usable = {"--method", "--xi", "--seed", "--engine", "--anyway"}
    refused = changed_options(run) - usable
    options = set(run.method_options)
    if run.method == KNN:
        what = "values single rows in closed form"
        refused |= {"--group-by"} if data.group_by is not None else set()
        options.discard("k")
    else:
        what = "leaves each player out"
        refused.discard("--journal")
    for name in sorted(refused | {f"--option {option}" for option in options}):
        raise InputError(f"--method {run.method} {what}: leave {name} out")
