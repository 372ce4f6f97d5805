"""The options of the commands, in groups; their help is the reference in docs/cli.md."""

from __future__ import annotations

from dataclasses import MISSING, dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from fairshapley._basics.files import DEFAULT_MAX_ROWS
from fairshapley.cli.groups import advanced, advanced_fields, argument, option
from fairshapley.errors import InputError

# An option under one of the headings of the help.
data_option = partial(option, rich_help_panel="Data")
run_option = partial(option, rich_help_panel="Run")
output_option = partial(option, rich_help_panel="Output")


@dataclass(frozen=True, kw_only=True)
class FileOptions:
    """The rows, what their columns are, and how files are read."""

    train: Path = argument(..., "The rows to be valued: a CSV or Parquet file.", "TRAIN")
    target: str | None = data_option(None, "The column to be predicted.", "COL")
    test: Path | None = data_option(
        None, "The rows to score on; without it, some of TRAIN are scored on, not valued.", "TEST"
    )
    id_column: str | None = data_option(None, "A column that names the rows.", "COL", name="--id")
    drop: list[str] | None = data_option(None, "A column to leave out; may be repeated.", "COL")
    delimiter: str = data_option(",", "What separates the cells of a CSV file; \\t is a tab.")
    decimal: str = advanced("auto", "The decimal sign of a CSV file: a point, a comma, or auto.")
    encoding: str = advanced("utf-8", "The encoding of a CSV file, such as latin-1.")
    texts: str | None = advanced(None, "Columns that are text in any case, with commas between.")
    max_rows: int = advanced(DEFAULT_MAX_ROWS, "Files with more rows are refused.")

    def wanted_target(self) -> str:
        """Return the target; raise InputError where none was given."""
        if self.target is None:
            raise InputError("--target is missing: name the column to be predicted")
        return self.target


@dataclass(frozen=True, kw_only=True)
class DataOptions(FileOptions):
    """The rows, the model and the metric: its own fields are arguments of `table_game`."""

    model: str = data_option(
        "auto",
        "logistic, ridge, knn, svc, random-forest, auto (logistic for classes, ridge for numbers), "
        "or a scikit-learn estimator as package:estimator (its code is run).",
    )
    metric: str | None = data_option(
        None,
        "For classes accuracy (default), log_loss, f1 or auc; for numbers r2 (default), rmse, mae "
        "or neg_mse, errors with a minus; a scikit-learn scorer; or a function of (y, predictions) "
        "as package:function (its code is run).",
    )
    group_by: str | None = data_option(
        None, "Rows with the same value here (a supplier, a client) are one player.", "COL"
    )
    union_by: str | None = data_option(
        None, "Players with the same value here are a union: Owen values. It is no feature.", "COL"
    )
    sample: int | None = data_option(None, "Value N of the rows, drawn at random.", "N")
    task: str = advanced("auto", "classification, regression, or auto: by the model and target.")
    merge_identical: bool = advanced(False, "yes: players with the same rows become one.")
    test_size: float = advanced(0.2, "Without --test: the share or number of rows to score on.")
    split_seed: int = advanced(0, "Fixes which rows are drawn, for scoring or as the sample.")
    split_by: str | None = advanced(
        None, "A column; without --test, rows alike in it stay on one side."
    )
    split_time: str | None = advanced(
        None, "A column; without --test, its latest rows are scored on."
    )
    weights: str | None = advanced(None, "A column with the weight of each row.")
    empty_value: float | None = advanced(
        None, "The utility of no rows; by default the score of the best constant prediction."
    )
    unfittable: str = advanced(
        "raise", "When rows cannot be fitted: raise, or constant (predict one)."
    )
    precision: str = advanced("double", "double, or single: faster where fits are made together.")
    device: str | None = advanced(None, "A device of torch for these fits, such as cuda.")


@dataclass(frozen=True)
class UtilityOptions:
    """What a set of rows is worth."""

    utility: str = data_option(
        "model",
        "model: what the metric says of a model fitted to the rows. Of providers (--group-by), "
        "without a model: volume, what their rows span (P2 of the paper); information, what they "
        "tell a Gaussian process of the target (P3).",
    )
    omega: float = advanced(
        0.1,
        "With --utility volume: ω, the edge of the cubes in which copies fall together, in "
        "standard deviations; 0 for the plain volume.",
    )


# Options that several commands share.
_run, _output = (partial(typer.Option, rich_help_panel=panel) for panel in ("Run", "Output"))
Seed = Annotated[int, _run(help="Fixes all random draws.")]
Engine = Annotated[
    str | None,
    _run(
        help="Who computes: serial, processes, processes:4, threads:32, dask://host:port, ray, "
        "ray://host:port. The result is the same, except with threads, whose rounds are larger."
    ),
]
Saved = Annotated[
    Path,
    typer.Argument(
        help="A result saved as .json (value --out), or a journal (--journal).", metavar="RUN"
    ),
]
Pool = Annotated[
    str | None,
    _output(help="Divide this sum; with --group-by also say what that hangs on.", metavar="SUM"),
]
CsvOut = Annotated[
    Path | None, _output(help="Write all that is printed, and more: .csv.", metavar="FILE")
]
Report = Annotated[Path | None, _output(help="Write a report: one HTML file.", metavar="FILE")]
AsJson = Annotated[bool, _output("--json", help="Print nothing but one JSON object.")]
Quiet = Annotated[bool, _output("--quiet", help="No notes, no progress.")]
Verbose = Annotated[bool, _output("--verbose", help="Print notes and terms too.")]


@dataclass(frozen=True)
class ValueOptions:
    """What kind of values, however they are computed."""

    semivalue: str = run_option("shapley", "shapley, banzhaf, or beta(16,1) and the like.")
    xi: str = run_option(
        "auto",
        "ξ, the tolerance near zero, in the unit of the utility: a number; share, which is "
        "|v(N) − v(∅)|/n; auto: 0.001 for metrics from 0 to 1, else share.",
        "X",
    )
    seed: Seed = 0


@dataclass(frozen=True)
class RunOptions(ValueOptions):
    """What is computed, how, and how far."""

    method: str = run_option(
        "auto",
        "auto, or a method as in docs/methods.md; exact: all coalitions of up to 30 players; knn: "
        "exact values for nearest neighbours in place of the model; loo: what is lost without "
        "each player.",
    )
    budget: int | None = run_option(
        None,
        "The most utility evaluations; by default what a minute allows, for an aim 1000 a player.",
        "N",
        min=2,  # v(∅) and v(N)
        max=10**12,  # a nanosecond each would make it a quarter of an hour
    )
    seconds: float | None = run_option(
        None, "Stop after S seconds; without --budget they are planned for, 60 by default.", "S"
    )
    epsilon1: float | None = run_option(
        None, "Run until the values are certified: each within E times its size plus E·ξ.", "E"
    )
    until: str | None = run_option(
        None, "Run until this is known: signs, order (of all players), top=K or bottom=K.", "AIM"
    )
    delta: float | None = run_option(
        None, "With --epsilon1 or --until: the tolerated probability of error; by default 0.1.", "D"
    )
    journal: Path | None = run_option(
        None, "Keep every utility in this file; running the same command again continues.", "FILE"
    )
    engine: Engine = None
    marginals: int | None = advanced(None, "The most marginal contributions, as the paper counts.")
    price: float | None = advanced(None, "What an evaluation costs: plan and result say the money.")
    price_unit: str = advanced("", "The unit of prices, such as euros or tokens.")
    budget_cost: float | None = advanced(None, "With price: the most that a run may cost.")
    bound: str = advanced("normal", "What certificates rest on: normal, chebyshev or bernstein.")
    on_error: str = advanced("raise", "When a fit fails: raise; or skip, and certify nothing.")
    verify: int = advanced(0, "Compute N utilities of the journal again; stop when one differs.")
    method_options: dict[str, Any] = field(default_factory=dict, metadata={"advanced": None})

    def __post_init__(self) -> None:
        aim = self.until if self.epsilon1 is None else self.epsilon1
        for name, asks, needed, given in (
            ("--option verify", self.verify, "--journal", self.journal),
            ("--option price-unit", self.price_unit, "--option price", self.price),
            ("--option budget-cost", self.budget_cost, "--option price", self.price),
            ("--option bound", self.bound != "normal", "--epsilon1", self.epsilon1),
            ("--delta", self.delta is not None, "--epsilon1 or --until", aim),
        ):
            if asks and given is None:
                raise InputError(f"{name} goes with {needed}: give both, or neither")
        if self.epsilon1 is not None and self.until is not None:
            raise InputError("--epsilon1 and --until are two aims: give one of them")


@dataclass(frozen=True)
class OutputOptions:
    """Where results go."""

    out: Path | None = output_option(
        None, "Write the values: .csv, .parquet, or .json with everything (for payout).", "FILE"
    )
    report: Report = None
    pool: Pool = None
    as_json: AsJson = False
    quiet: Quiet = False
    verbose: Verbose = False


def changed_options(group: Any) -> set[str]:
    """Return the options of a group that are not as by default, as they are typed."""
    return {
        option_name(given.name)
        for given in fields(group)
        if given.default is not MISSING and getattr(group, given.name) != given.default
    }


# Parameters of `read_table` and `table_game` whose options have other names.
_RENAMED = {"names": "id", "id_column": "id"}
ADVANCED = {given.name for group in (DataOptions, RunOptions) for given in advanced_fields(group)}
_PARAMETERS = {
    *(field.name for group in (DataOptions, RunOptions) for field in fields(group)[1:]),
    *("method", "negative", "share", "truth", *_RENAMED),
}


def option_name(parameter: str) -> str:
    """Return a parameter of the Python interface, or a field of a group, as it is typed.

    Examples
    --------
    >>> option_name("group_by"), option_name("split_by")
    ('--group-by', '--option split-by')
    """
    typed = _RENAMED.get(parameter, parameter).replace("_", "-")
    return f"--option {typed}" if typed.replace("-", "_") in ADVANCED else f"--{typed}"


def given_as(parameter: str, value: str | None) -> str:
    """Return how a parameter of the Python interface is given in the shell.

    A LookupError says that there is no option for it.

    Examples
    --------
    >>> given_as("group_by", "'who'"), given_as("split_by", None)
    ("--group-by 'who'", '--option split-by')
    """
    if parameter not in _PARAMETERS:
        raise LookupError(parameter)
    name = option_name(parameter)
    if value is None:
        return name
    return f"{name}{'=' if parameter in ADVANCED else ' '}{value}"
