"""From options to a game, its tolerance and its limits: all that is checked before a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

import numpy as np

from fairshapley._basics.checks import choice
from fairshapley._basics.files import same_place
from fairshapley._basics.text import one_line, several
from fairshapley.cli.exits import LONGEST, say
from fairshapley.cli.options import (
    DataOptions,
    FileOptions,
    OutputOptions,
    RunOptions,
    UtilityOptions,
    changed_options,
)
from fairshapley.cli.planning import KNN, LOO, check_computed, chosen_method, neighbours
from fairshapley.errors import BudgetError, InputError, JournalError
from fairshapley.estimators import Estimator
from fairshapley.evaluation.engines.choice import parse_engine
from fairshapley.fairness.levels import DELTA
from fairshapley.games.game import Price
from fairshapley.results.origin import InputFile, input_file, recorded
from fairshapley.results.payouts.amounts import units_of
from fairshapley.results.tables import VALUE_ENDINGS, check_writable
from fairshapley.runs.calls import resolve_method
from fairshapley.runs.setup import opened_journal
from fairshapley.semivalues import parse_semivalue
from fairshapley.stopping import Budget, Decided, Fair
from fairshapley.tables.decimals import Decimal

if TYPE_CHECKING:
    import pyarrow as pa

    from fairshapley.games.game import Game
    from fairshapley.results.result import Result
    from fairshapley.tables import TabularGame
    from fairshapley.tolerance import Tolerance

REPORT_ENDINGS = (".html", ".htm")
# The paper's ξ for accuracies.
XI_OF_SHARES = 1e-3
# With a certificate as the aim: most runs that can be certified at all need less than this.
CERTIFIED_EVALUATIONS_PER_PLAYER = 1000
# A nanosecond each would make it a quarter of an hour.
MOST_EVALUATIONS = 10**12
UTILITIES = ("model", "volume", "information")
# What a game of providers takes of the data options.
PROVIDER_FIELDS = {
    "--target", "--group-by", "--drop", "--delimiter", "--option decimal", "--option encoding",
    "--option max-rows", "--option max-size",
}  # fmt: skip
XI_NAMES = ("auto", "share", "mean")
LOO_NOTE = "method loo: what is lost without each player; players that replace each other get 0"
KNN_UTILITIES = {
    "classification": "the share of the right class among the {} nearest neighbours; no rows are "
    "worth 0",
    "regression": "minus the squared error of the mean of the {} nearest neighbours; no rows are "
    "worth what the mean of all rows scores",
}


@dataclass(frozen=True)
class Limits:
    """How far a run goes."""

    method: str | Estimator[Any, Any]
    budget: Budget | None
    until: Fair | Decided | None
    notes: tuple[str, ...]


def check_files(inputs: Sequence[Path | None], *outputs: tuple[Path | None, Sequence[str]]) -> None:
    """An InputError when a file could not be written, is read, or would be written twice.

    Parameters
    ----------
    inputs
        Files that are read.
    outputs
        Files to be written, each with what its name may end in.
    """
    taken = [path for path in inputs if path is not None]
    for path, endings in outputs:
        if path is not None:
            check_writable(path, endings, taken)
            taken.append(path)


def check_outputs(
    output: OutputOptions, inputs: Sequence[Path | None], journal: Path | None = None
) -> None:
    """An InputError when what the options ask for could not be written."""
    if journal is not None and any(path and same_place(journal, path) for path in inputs):
        raise InputError(f"the journal {journal} is a file that is read: give another name")
    check_files((*inputs, journal), (output.out, VALUE_ENDINGS), (output.report, REPORT_ENDINGS))
    if output.pool is not None:
        if output.report is None:
            raise InputError("--pool goes with --report: give both, or use the command payout")
        units_of(output.pool, "0.01")


def read_files(
    data: FileOptions, texts: Sequence[str | None], most_rows: int | None
) -> tuple[pa.Table, pa.Table | None]:
    """The tables of training and test rows; some columns are read as texts."""
    from fairshapley.tables import read_table

    read = partial(
        read_table,
        max_bytes=data.max_size * 2**20,
        delimiter=data.delimiter,
        decimal=cast("Decimal", data.decimal),
        encoding=data.encoding,
        texts=[name for name in texts if name is not None and name != data.target],
    )
    test = None if data.test is None else read(data.test, max_rows=data.max_rows)
    return read(data.train, max_rows=most_rows), test


def load_game(data: DataOptions) -> TabularGame:
    """The game of the data options."""
    from fairshapley.tables import table_game

    target = data.wanted_target()
    # A sample may be drawn from any number of rows.
    most = data.max_rows if data.sample is None else None
    if data.sample is not None and data.sample > data.max_rows:
        raise InputError(f"--sample {data.sample:,} is more than --option max-rows={data.max_rows}")
    train, test = read_files(data, (data.group_by, data.id_column, data.split_by), most)
    shared = {field.name for field in fields(FileOptions)}
    own = {name: value for name, value in vars(data).items() if name not in shared}
    return table_game(train, target, test=test, names=data.id_column, drop=data.drop or (), **own)


def load_providers(data: DataOptions, utility: UtilityOptions) -> tuple[Game, tuple[str, ...]]:
    """The game of the data of providers, which needs no model, with notes on what was decided."""
    from fairshapley.games.information import InformationGame
    from fairshapley.games.volume import VolumeGame
    from fairshapley.tables.providers import read_providers

    kind = choice("--utility", utility.utility, UTILITIES)
    for name in changed_options(data) - PROVIDER_FIELDS:
        raise InputError(f"--utility {kind} needs no model: leave {name} out")
    if data.group_by is None:
        raise InputError(f"--utility {kind} values providers: name their column by --group-by")
    table, _ = read_files(data, (data.group_by,), data.max_rows)
    if kind == "information":
        found = read_providers(table, data.group_by, data.wanted_target(), data.drop or ())
        note = "utility: the information gain of a Gaussian process"
        return InformationGame(found.features, found.targets), (*found.notes, note)
    left_out = [*(data.drop or ()), *([] if data.target is None else [data.target])]
    found = read_providers(table, data.group_by, None, left_out, independent=True)
    note = f"utility: the robust volume of the rows, ω = {utility.omega:g}"
    return VolumeGame(found.features, utility.omega or None), (*found.notes, note)


def computed(made: TabularGame, data: DataOptions, run: RunOptions, *, quiet: bool) -> Result:
    """The values of a method that computes them, without sampling: knn or loo."""
    from fairshapley.closed_forms import knn_shapley
    from fairshapley.leaving_out import leave_one_out_result

    check_computed(data, run)
    xi = XI_OF_SHARES if run.xi in XI_NAMES else given_xi(run.xi).xi
    game, notes = made.game, (*made.notes, LOO_NOTE)
    task: Literal["classification", "regression"] = "classification"
    if run.method == KNN:
        k = neighbours(run)
        task = task if game.classes is not None else "regression"
        said = f"method knn, in place of the model and the metric: {KNN_UTILITIES[task].format(k)}"
        notes = (*made.notes_on_rows, f"{several(game.n_players, 'player')}; {said}")
    else:
        check_places(run)
    show_notes(notes, quiet=quiet)
    with recorded(inputs=input_files(data.train, data.test), notes=notes):
        if run.method == LOO:
            return leave_one_out_result(game, engine=run.engine, journal=run.journal, xi=xi)
        (train, answers), (test, truths) = game.train, game.test
        if task == "regression":
            centre = float(np.mean(answers))
            answers, truths = answers - centre, truths - centre
        names = game.player_names
        return knn_shapley(train, answers, test, truths, k=k, task=task, player_names=names, xi=xi)


def input_files(*given: Path | None) -> tuple[InputFile, ...]:
    """The files that were read, with their hashes; a pipe is read once."""
    return tuple(input_file(path) for path in given if path is not None and path.is_file())


def run_limits(run: RunOptions, game: Game) -> Limits:
    """The budget and the stopping rule, checked, with notes on the defaults taken.

    The game gets its prices.
    """
    n_players = game.n_players
    if run.price is not None:
        vars(game).update(cost=Price(run.price, run.price_member), cost_unit=run.price_unit)
    until: Fair | Decided | None = None
    notes: tuple[str, ...] = ()
    budget = check_budget(run.budget)
    delta = DELTA if run.delta is None else run.delta
    if run.epsilon1 is not None:
        until = Fair(epsilon1=run.epsilon1, delta=delta, bound=run.bound)
    elif run.until is not None:
        until = decided(run.until, delta)
    if until is not None:
        until.check_players(n_players)
        if budget is None and run.method != "exact":
            budget = CERTIFIED_EVALUATIONS_PER_PLAYER * n_players
            notes = (
                f"no budget was given: up to {budget:,} evaluations, 1000 per player, are allowed",
            )
    limit = None
    most: dict[str, Any] = {"evaluations": budget, "seconds": run.seconds}
    most |= {"marginals": run.marginals, "cost": run.budget_cost}
    if any(one is not None for one in most.values()):
        limit = Budget(**most)
    method = chosen_method(run.method, run.method_options)
    chosen = resolve_method(method, n_players, limit, until, "raise")
    if until is not None and not chosen.traits.certifiable:
        reason = chosen.traits.not_certifiable_because
        raise InputError(
            f"{run.method} can never be certified as fair, {reason}: leave "
            f"{'--until' if run.epsilon1 is None else '--epsilon1'} out, or use --method auto"
        )
    parse_semivalue(run.semivalue)
    if run.xi not in XI_NAMES:
        given_xi(run.xi)
    if run.seed < 0:
        raise InputError(f"--seed must not be negative, it is {run.seed}")
    check_places(run)
    return Limits(method, limit, until, notes)


def decided(text: str, delta: float) -> Decided:
    """The decision that `--until` asks for.

    Examples
    --------
    >>> decided("top=3", 0.1).top
    3
    """
    name, sign, count = text.partition("=")
    if name in ("signs", "order") and not sign:
        return Decided(signs=name == "signs", order=name == "order", delta=delta)
    if name in ("top", "bottom") and count.isdecimal():
        players = {name: int(count)}
        return Decided(delta=delta, top=players.get("top"), bottom=players.get("bottom"))
    raise InputError(f"--until must be signs, order, top=K or bottom=K, not {text!r:.40}")


def check_budget(budget: int | None) -> int | None:
    """A budget that can be spent."""
    if budget is not None and not 2 <= budget <= MOST_EVALUATIONS:
        raise BudgetError(
            f"--budget must be from 2, for v(∅) and v(N), to {MOST_EVALUATIONS:,} evaluations, not "
            f"{budget if abs(budget) < 10**15 else 'that many'}"
        )
    return budget


def check_places(run: RunOptions) -> None:
    """An error when the engine has no such name, or the journal is something else."""
    parse_engine(run.engine).close()
    if run.journal is not None:
        if run.journal.is_dir():
            raise JournalError(f"the journal {run.journal} is a folder: give the name of a file")
        with opened_journal(run.journal):
            pass


def chosen_xi(game: Game, run: RunOptions, limits: Limits, *, quiet: bool) -> Tolerance:
    """ξ as the option says; `mean` runs two pilots."""
    from fairshapley.tolerance import Tolerance, equal_share, mean_value

    text = run.xi
    if text == "auto":
        if getattr(game, "value_range", None) == (0.0, 1.0):
            sentence = f"ξ = {XI_OF_SHARES:g}, the default for metrics from 0 to 1"
            return Tolerance(XI_OF_SHARES, sentence, 0)
        text = "share"
    if text == "share":
        return equal_share(game)
    if text != "mean":
        return given_xi(text)
    if not quiet:
        say("two pilot runs estimate the mean |value| for ξ …")
    # Never more than a tenth of the run, together.
    n_players = game.n_players
    pilot = 20 * n_players
    if limits.budget is not None and limits.budget.evaluations is not None:
        pilot = min(pilot, limits.budget.evaluations // 20)
    return mean_value(
        game,
        semivalue=run.semivalue,
        budget=max(pilot, 4 * n_players, 64),
        seed=run.seed,
        engine=run.engine,
        journal=run.journal,
        progress=False if quiet else None,
    )


def given_xi(text: str) -> Tolerance:
    """ξ as a number."""
    from fairshapley.tolerance import Tolerance

    try:
        xi = float(text)
    except ValueError:
        raise InputError(f"--xi must be a number, share, mean or auto, not {text!r:.40}") from None
    if not 0 < xi < float("inf"):
        raise InputError(f"--xi must be above 0 and finite, not {text:.40}")
    return Tolerance(xi, f"ξ = {xi:g}, as given", 0)


def show_notes(notes: Sequence[str], *, quiet: bool) -> None:
    """What was decided, on standard error."""
    for note in notes if not quiet else ():
        say(f"note: {one_line(note, LONGEST)}")
