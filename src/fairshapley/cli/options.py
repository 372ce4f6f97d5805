"""The options of the commands, in groups; their help is the reference in docs/cli.md."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated

from fairshapley._basics.files import DEFAULT_MAX_ROWS, MAX_BYTES
from fairshapley.cli.groups import argument, option
from fairshapley.errors import InputError

# An option under one of the headings of the help.
data_option = partial(option, rich_help_panel="Data")
run_option = partial(option, rich_help_panel="Run")
output_option = partial(option, rich_help_panel="Output")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a file is read."""

    drop: list[str] | None = data_option(None, "A column to leave out; may be repeated.", "COL")
    max_rows: int = data_option(DEFAULT_MAX_ROWS, "Files with more rows are refused.", "N", min=1)
    max_size: int = data_option(
        MAX_BYTES // 2**20,
        "Files with more MiB, unpacked, are refused; a cell counts at least 8 bytes.",
        "MIB",
        min=1,
    )
    delimiter: str = data_option(",", "What separates the cells of a CSV file; \\t is a tab.")
    decimal: str = data_option("auto", "The decimal sign of a CSV file: a point, a comma, or auto.")
    encoding: str = data_option("utf-8", "The encoding of a CSV file, such as latin-1.")


@dataclass(frozen=True, kw_only=True)
class _Providers:
    table: Path = argument(..., "The rows of all providers: a CSV or Parquet file.", "TABLE")
    group_by: str = data_option(..., "Rows with the same value here are of one provider.", "COL")


@dataclass(frozen=True, kw_only=True)
class _Rows:
    train: Path = argument(
        ..., "The rows to be valued: a CSV or Parquet file, or - for standard input.", "TRAIN"
    )
    target: str = data_option(..., "The column to be predicted.", "COL")
    test: Path | None = data_option(
        None, "The rows to score on. Without it, some rows of TRAIN are scored, not valued.", "TEST"
    )
    id_column: str | None = data_option(None, "A column that names the rows.", "COL", name="--id")


# The fields of the second base come first.
@dataclass(frozen=True, kw_only=True)
class ProviderOptions(Reading, _Providers):
    """The rows of several providers."""


@dataclass(frozen=True, kw_only=True)
class FileOptions(Reading, _Rows):
    """The rows, and what their columns are."""


@dataclass(frozen=True, kw_only=True)
class DataOptions(FileOptions):
    """The rows, the model and the metric: its own fields are arguments of `table_game`."""

    model: str = data_option(
        "auto",
        "logistic, ridge, knn, svc, random-forest, or a scikit-learn estimator as "
        "package:estimator (its code is run). auto: logistic for classes, ridge for numbers.",
    )
    task: str = data_option(
        "auto", "classification, regression, or auto: by the model and the target."
    )
    metric: str | None = data_option(
        None,
        "The utility: accuracy, log_loss, f1 or auc for classes; r2, rmse, mae, neg_mse "
        "or pinball(0.9) for numbers, errors with a minus; or the name of a scorer of "
        "scikit-learn. By default accuracy, or r2 for numbers.",
    )
    group_by: str | None = data_option(
        None, "Rows with the same value here (a supplier, a client) are one player.", "COL"
    )
    merge_identical: bool = data_option(
        False,
        "Players with the same rows become one, which has these rows once.",
        name="--merge-identical",
    )
    sample: int | None = data_option(
        None, "Value N of the rows, drawn at random by --split-seed.", "N"
    )
    test_size: float = data_option(
        0.2, "Without --test: the share, or the number, of rows to score on."
    )
    split_seed: int = data_option(0, "Fixes which rows are drawn.")
    split_by: str | None = data_option(
        None,
        "Without --test: rows with the same value here (a patient, a shop) are all "
        "valued, or all scored on.",
        "COL",
    )
    split_time: str | None = data_option(
        None, "Without --test: the latest rows by this are scored on.", "COL"
    )
    weights: str | None = data_option(
        None, "How much each row counts, in training and in scoring.", "COL"
    )
    empty_value: float | None = data_option(
        None,
        "The utility of no rows. By default the score of the best constant prediction on "
        "the test rows, so that players are paid for what their data add to it.",
        "V",
    )
    unfittable: str = data_option(
        "raise",
        "When a model cannot be fitted to some of the rows: raise an error, or constant, "
        "to score their constant prediction.",
    )
    precision: str = data_option(
        "double",
        "double, or single: about twice as fast where coalitions are fitted together, "
        "far faster on a GPU.",
    )
    device: str | None = data_option(
        None,
        "Fit coalitions together on this device of torch, such as cuda, and keep draws "
        "and sums there; best with --precision single.",
        "NAME",
    )


Semivalue = Annotated[
    str,
    run_option(..., "shapley, banzhaf, or beta(16,1) and the like."),
]
Seed = Annotated[int, run_option(..., "Fixes all random draws.")]
Xi = Annotated[
    str,
    run_option(
        ...,
        "ξ, the tolerance near zero, in the unit of the utility: a number; share, an equal "
        "share |v(N) − v(∅)|/n, which is never above the mean |Shapley value|; mean, the mean "
        "|value| or a little less, from two pilot runs. All are fixed before the run starts. "
        "auto: 0.001 for metrics from 0 to 1, else share.",
        "X",
    ),
]
Journal = Annotated[
    Path | None,
    run_option(
        ..., "Keep every utility in this file; running the same command again continues.", "FILE"
    ),
]
Engine = Annotated[
    str | None,
    run_option(
        ...,
        "Who computes: serial, processes, processes:4, threads:32, dask://host:port, ray, "
        "ray://host:port. The result is the same, except with threads, whose rounds are larger.",
    ),
]


# Of commands that judge values: the run has its own.
Epsilon1 = Annotated[
    float | None,
    run_option(..., "ε1, the tolerated share of a value; by default that of the run.", "E"),
]
Delta = Annotated[float, run_option(..., "δ, the probability that a statement may be wrong.", "D")]
DeltaOfRun = Annotated[
    float | None,
    run_option(
        ...,
        "δ, the probability that a statement may be wrong; by default that of the run, or 0.1.",
        "D",
    ),
]
Pool = Annotated[
    str | None, output_option(..., "A sum: the report shows what each player gets of it.", "SUM")
]
CsvOut = Annotated[
    Path | None, output_option(..., "Write all that is printed, and more: .csv.", "FILE")
]
Report = Annotated[Path | None, output_option(..., "Write a report: one HTML file.", "FILE")]
AsJson = Annotated[
    bool, output_option(..., "Print one JSON object and nothing else.", name="--json")
]
Quiet = Annotated[bool, output_option(..., "No notes, no progress.", name="--quiet")]
Anyway = Annotated[
    bool, run_option(..., "Start also when the run is expected to take very long.", name="--anyway")
]


@dataclass(frozen=True)
class RunOptions:
    """What is computed, how, and how far."""

    semivalue: Semivalue = "shapley"
    method: str = run_option(
        "auto",
        "auto, or a method as in docs/methods.md; knn: the exact values of rows for "
        "nearest neighbours in place of the model, of tens of thousands in seconds; loo: what "
        "is lost without each player, one fit for each.",
    )
    option: list[str] | None = run_option(
        None,
        "An option of the method, such as alpha=5 of gae or k=10 of knn; may be repeated.",
        "NAME=VALUE",
    )
    budget: int | None = run_option(
        None,
        "The most utility evaluations. By default 100 for each player; 1000 with "
        "--epsilon1 or --until-…, of which a run takes what it needs.",
        "N",
    )
    marginals: int | None = run_option(
        None,
        "The most marginal contributions, as the paper counts; for methods with such.",
        "N",
        min=1,
    )
    seconds: float | None = run_option(
        None,
        "Stop after so many seconds, with what is known by then. Without --budget, time "
        "alone is the limit.",
        "S",
    )
    price: float | None = run_option(
        None, "What an evaluation costs; plan, result and report then speak of money too.", "P"
    )
    price_member: float = run_option(0.0, "What each member of a coalition costs on top.", "P")
    price_unit: str = run_option("", "The unit of prices, such as euros or tokens.", "UNIT")
    budget_cost: float | None = run_option(
        None, "With --price: the most that all evaluations may cost.", "C"
    )
    memory: float | None = run_option(
        None,
        "The most GiB of memory; a run that needs more is refused or ends with an error.",
        "GIB",
    )
    anyway: Anyway = False
    epsilon1: float | None = run_option(
        None, "Run until the values are certified: each within E times its size plus E·ξ.", "E"
    )
    until_top: int | None = run_option(
        None, "Run until the K most valuable players are known.", "K"
    )
    until_bottom: int | None = run_option(
        None, "Run until the K least valuable players are known.", "K"
    )
    until_signs: bool = run_option(False, "Run until all signs are known.", name="--until-signs")
    until_order: bool = run_option(
        False, "Run until the order of all players is known.", name="--until-order"
    )
    delta: float | None = run_option(
        None,
        "With --epsilon1 or --until-…: the probability of failure that is tolerated, for "
        "all players together; 0.1 by default.",
        "D",
    )
    bound: str = run_option(
        "normal",
        "With --epsilon1, what a certificate rests on: normal, averages of many samples; "
        "chebyshev, estimated variances; bernstein, the range of the metric alone.",
        "NAME",
    )
    xi: Xi = "auto"
    seed: Seed = 0
    on_error: str = run_option(
        "raise", "When a fit fails: raise an error, or skip it; then nothing is certified.", "NAME"
    )
    journal: Journal = None
    verify: int = run_option(
        0,
        "With --journal: first compute N of its utilities again, and stop when one differs.",
        "N",
        min=0,
    )
    engine: Engine = None

    def aims(self) -> dict[str, bool]:
        """The options that a run may go on until."""
        return {
            "--epsilon1": self.epsilon1 is not None,
            "--until-top": self.until_top is not None,
            "--until-bottom": self.until_bottom is not None,
            "--until-signs": self.until_signs,
            "--until-order": self.until_order,
        }

    def __post_init__(self) -> None:
        if self.verify and self.journal is None:
            raise InputError("--verify goes with --journal: give both, or neither")
        if self.price is None and (self.price_member or self.price_unit or self.budget_cost):
            raise InputError("--price-member, --price-unit and --budget-cost go with --price")
        aims = [name for name, given in self.aims().items() if given]
        if len(aims) > 1:
            raise InputError(f"{' and '.join(aims)} are two aims: give one of them")
        if self.delta is not None and not aims:
            raise InputError(
                "--delta goes with --epsilon1, or with --until-top and the like: give both, or "
                "neither"
            )
        if self.bound != "normal" and self.epsilon1 is None:
            raise InputError("--bound goes with --epsilon1: give both, or neither")


@dataclass(frozen=True)
class OutputOptions:
    """Where results go."""

    out: Path | None = output_option(
        None,
        "Write the values: .csv, .parquet, or .json with everything (for the commands "
        "report and payout).",
        "FILE",
    )
    report: Report = None
    pool: Pool = None
    as_json: AsJson = False
    quiet: Quiet = False
    verbose: bool = output_option(
        False, "Print the paper's terms too (fidelity, contributions), explained.", name="--verbose"
    )


# Parameters of `read_table` and `table_game` whose options have other names.
_RENAMED = {
    "names": "id",
    "max_bytes": "max-size",
    "top": "until-top",
    "bottom": "until-bottom",
}
_PARAMETERS = [
    *(field.name for group in (DataOptions, RunOptions) for field in fields(group)[1:]),
    "method",
    "negative",
    "share",
    *_RENAMED,
]
_NAMED = re.compile(
    rf"(?<![\w'\"-])({'|'.join(_PARAMETERS)})"
    r"(?:(=)(?=[\w'\"])|=|(?= must be)|(?<=empty_value)\b)"
)


# Advice for Python, and what the command line has in its place.
_ADVICE = (
    (r",? or an (estimator )?object such as fs\.\w+\([^)]*\)", ""),
    (
        r"a scorer of sklearn\.metrics\.get_scorer_names\(\), or a function scorer\(model, X, y\)",
        "or the name of a scorer of scikit-learn",
    ),
    (r"give some that are always there \(base=\)(, or )?", ""),
    (
        r"give the game a value_range(, which bounds them)?",
        "use a metric of known range, as accuracy",
    ),
    (r"Result\.save and Result\.to_dict need neither", "--out values.json needs neither"),
    (r"save one with Result\.save", "value --out values.json saves one"),
    (r"give it to estimate\(journal=…\) first", "give it to value --journal first"),
    (r"with fs\.estimate\(game, …, journal=…\)", "with value --journal"),
    (r", or a function whose closure [^)]*\)", ")"),
    (r", or Journal\(path, shared=True\) to keep several games in one file", ""),
    (r"None, ('serial'.*), a distributed\.Client or an engine such as SerialEngine\(\)", r"\1"),
)


def in_options(message: str) -> str:
    """A message of the Python interface, with options in place of its parameters.

    Examples
    --------
    >>> in_options("leave names= out, or value them together with group_by='who'")
    "leave --id out, or value them together with --group-by 'who'"
    """

    def option(found: re.Match[str]) -> str:
        name, has_value = found.groups()
        return f"--{_RENAMED.get(name, name.replace('_', '-'))}{' ' if has_value else ''}"

    for advice, instead in _ADVICE:
        message = re.sub(advice, instead, message)
    return _NAMED.sub(option, message)
