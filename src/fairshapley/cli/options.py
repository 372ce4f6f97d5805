"""The options of the commands, in groups; their help is the reference in docs/cli.md."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from fairshapley._basics.files import DEFAULT_MAX_ROWS, MAX_BYTES
from fairshapley.cli import completion
from fairshapley.errors import InputError

# An option under one of the headings of the help.
data_option = partial(typer.Option, rich_help_panel="Data")
run_option = partial(typer.Option, rich_help_panel="Run")
output_option = partial(typer.Option, rich_help_panel="Output")


@dataclass(frozen=True, kw_only=True)
class Reading:
    """How a file is read."""

    drop: Annotated[
        list[str] | None, data_option(metavar="COL", help="A column to leave out; may be repeated.")
    ] = None
    max_rows: Annotated[
        int, data_option(min=1, metavar="N", help="Files with more rows are refused.")
    ] = DEFAULT_MAX_ROWS
    max_size: Annotated[
        int,
        data_option(
            min=1,
            metavar="MIB",
            help="Files with more MiB, unpacked, are refused; a cell counts at least 8 bytes.",
        ),
    ] = MAX_BYTES // 2**20
    delimiter: Annotated[
        str, data_option(help="What separates the cells of a CSV file; \\t is a tab.")
    ] = ","
    decimal: Annotated[
        str, data_option(help="The decimal sign of a CSV file: a point, a comma, or auto.")
    ] = "auto"
    encoding: Annotated[str, data_option(help="The encoding of a CSV file, such as latin-1.")] = (
        "utf-8"
    )


@dataclass(frozen=True, kw_only=True)
class _Providers:
    table: Annotated[
        Path,
        typer.Argument(metavar="TABLE", help="The rows of all providers: a CSV or Parquet file."),
    ]
    group_by: Annotated[
        str, data_option(metavar="COL", help="Rows with the same value here are of one provider.")
    ]


@dataclass(frozen=True, kw_only=True)
class _Rows:
    train: Annotated[
        Path,
        typer.Argument(
            metavar="TRAIN",
            help="The rows to be valued: a CSV or Parquet file, or - for standard input.",
        ),
    ]
    target: Annotated[str, data_option(metavar="COL", help="The column to be predicted.")]
    test: Annotated[
        Path | None,
        data_option(
            metavar="TEST",
            help="The rows to score on. Without it, some rows of TRAIN are scored, not valued.",
        ),
    ] = None
    id_column: Annotated[
        str | None, data_option("--id", metavar="COL", help="A column that names the rows.")
    ] = None


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

    model: Annotated[
        str,
        data_option(
            autocompletion=completion.models,
            help="logistic, ridge, knn, svc, random-forest, or a scikit-learn estimator "
            "as package:estimator (its code is run). auto: logistic for classes, ridge for "
            "numbers.",
        ),
    ] = "auto"
    task: Annotated[
        str, data_option(help="classification, regression, or auto: by the model and the target.")
    ] = "auto"
    metric: Annotated[
        str | None,
        data_option(
            autocompletion=completion.metrics,
            help="The utility: accuracy, log_loss, f1 or auc for classes; r2, rmse, mae, neg_mse "
            "or pinball(0.9) for numbers, errors with a minus; or the name of a scorer of "
            "scikit-learn. By default accuracy, or r2 for numbers.",
        ),
    ] = None
    group_by: Annotated[
        str | None,
        data_option(
            metavar="COL",
            help="Rows with the same value here (a supplier, a client) are one player.",
        ),
    ] = None
    merge_identical: Annotated[
        bool,
        data_option(
            "--merge-identical",
            help="Players with the same rows become one, which has these rows once.",
        ),
    ] = False
    sample: Annotated[
        int | None,
        data_option(metavar="N", help="Value N of the rows, drawn at random by --split-seed."),
    ] = None
    test_size: Annotated[
        float, data_option(help="Without --test: the share, or the number, of rows to score on.")
    ] = 0.2
    split_seed: Annotated[int, data_option(help="Fixes which rows are drawn.")] = 0
    split_by: Annotated[
        str | None,
        data_option(
            metavar="COL",
            help="Without --test: rows with the same value here (a patient, a shop) are all "
            "valued, or all scored on.",
        ),
    ] = None
    split_time: Annotated[
        str | None,
        data_option(metavar="COL", help="Without --test: the latest rows by this are scored on."),
    ] = None
    weights: Annotated[
        str | None,
        data_option(metavar="COL", help="How much each row counts, in training and in scoring."),
    ] = None
    empty_value: Annotated[
        float | None,
        data_option(
            metavar="V",
            help="The utility of no rows. By default the score of the best constant prediction on "
            "the test rows, so that players are paid for what their data add to it.",
        ),
    ] = None
    unfittable: Annotated[
        str,
        data_option(
            help="When a model cannot be fitted to some of the rows: raise an error, or constant, "
            "to score their constant prediction."
        ),
    ] = "raise"
    precision: Annotated[
        str,
        data_option(
            help="double, or single: about twice as fast where coalitions are fitted together, "
            "far faster on a GPU."
        ),
    ] = "double"
    device: Annotated[
        str | None,
        data_option(
            metavar="NAME",
            help="Fit coalitions together on this device of torch, such as cuda, and keep draws "
            "and sums there; best with --precision single.",
        ),
    ] = None


Semivalue = Annotated[
    str,
    run_option(
        autocompletion=completion.semivalues, help="shapley, banzhaf, or beta(16,1) and the like."
    ),
]
Seed = Annotated[int, run_option(help="Fixes all random draws.")]
Xi = Annotated[
    str,
    run_option(
        metavar="X",
        autocompletion=completion.tolerances,
        help="ξ, the tolerance near zero, in the unit of the utility: a number; share, an equal "
        "share |v(N) − v(∅)|/n, which is never above the mean |Shapley value|; mean, the mean "
        "|value| or a little less, from two pilot runs. All are fixed before the run starts. "
        "auto: 0.001 for metrics from 0 to 1, else share.",
    ),
]
Journal = Annotated[
    Path | None,
    run_option(
        metavar="FILE",
        help="Keep every utility in this file; running the same command again continues.",
    ),
]
Engine = Annotated[
    str | None,
    run_option(
        autocompletion=completion.engines,
        help="Who computes: serial, processes, processes:4, threads:32, dask://host:port, ray, "
        "ray://host:port. The result is the same, except with threads, whose rounds are larger.",
    ),
]


# Of commands that judge values: the run has its own.
Epsilon1 = Annotated[
    float | None,
    run_option(metavar="E", help="ε1, the tolerated share of a value; by default that of the run."),
]
Delta = Annotated[
    float, run_option(metavar="D", help="δ, the probability that a statement may be wrong.")
]
Pool = Annotated[
    str | None,
    output_option(metavar="SUM", help="A sum: the report shows what each player gets of it."),
]
CsvOut = Annotated[
    Path | None, output_option(metavar="FILE", help="Write all that is printed, and more: .csv.")
]
Report = Annotated[
    Path | None, output_option(metavar="FILE", help="Write a report: one HTML file.")
]
AsJson = Annotated[bool, output_option("--json", help="Print one JSON object and nothing else.")]
Quiet = Annotated[bool, output_option("--quiet", help="No notes, no progress.")]
KeyFile = Annotated[
    Path | None,
    output_option(
        metavar="FILE",
        help="A file with a secret of 16 bytes or more, which signs a .json result. Only those "
        "who have it can check the signature, or forge one.",
    ),
]


Anyway = Annotated[
    bool, run_option("--anyway", help="Start also when the run is expected to take very long.")
]


@dataclass(frozen=True)
class RunOptions:
    """What is computed, how, and how far."""

    semivalue: Semivalue = "shapley"
    method: Annotated[
        str,
        run_option(
            autocompletion=completion.methods,
            help="auto, or a method as in docs/methods.md; knn: the exact values of rows for "
            "nearest neighbours in place of the model, of tens of thousands in seconds; loo: what "
            "is lost without each player, one fit for each.",
        ),
    ] = "auto"
    option: Annotated[
        list[str] | None,
        run_option(
            metavar="NAME=VALUE",
            help="An option of the method, such as alpha=5 of gae or k=10 of knn; may be repeated.",
        ),
    ] = None
    budget: Annotated[
        int | None,
        run_option(
            metavar="N",
            help="The most utility evaluations. By default 100 for each player; 1000 with "
            "--epsilon1 or --until-…, of which a run takes what it needs.",
        ),
    ] = None
    marginals: Annotated[
        int | None,
        run_option(
            metavar="N",
            min=1,
            help="The most marginal contributions, as the paper counts; for methods with such.",
        ),
    ] = None
    seconds: Annotated[
        float | None,
        run_option(
            metavar="S",
            help="Stop after so many seconds, with what is known by then. Without --budget, time "
            "alone is the limit.",
        ),
    ] = None
    price: Annotated[
        float | None,
        run_option(
            metavar="P",
            help="What an evaluation costs; plan, result and report then speak of money too.",
        ),
    ] = None
    price_member: Annotated[
        float, run_option(metavar="P", help="What each member of a coalition costs on top.")
    ] = 0.0
    price_unit: Annotated[
        str, run_option(metavar="UNIT", help="The unit of prices, such as euros or tokens.")
    ] = ""
    budget_cost: Annotated[
        float | None,
        run_option(metavar="C", help="With --price: the most that all evaluations may cost."),
    ] = None
    memory: Annotated[
        float | None,
        run_option(
            metavar="GIB",
            help="The most GiB of memory; a run that needs more is refused or ends with an error.",
        ),
    ] = None
    anyway: Anyway = False
    epsilon1: Annotated[
        float | None,
        run_option(
            metavar="E",
            help="Run until the values are certified: each within E times its size plus E·ξ.",
        ),
    ] = None
    until_top: Annotated[
        int | None,
        run_option(metavar="K", help="Run until the K most valuable players are known."),
    ] = None
    until_bottom: Annotated[
        int | None,
        run_option(metavar="K", help="Run until the K least valuable players are known."),
    ] = None
    until_signs: Annotated[
        bool, run_option("--until-signs", help="Run until all signs are known.")
    ] = False
    until_order: Annotated[
        bool, run_option("--until-order", help="Run until the order of all players is known.")
    ] = False
    delta: Annotated[
        float | None,
        run_option(
            metavar="D",
            help="With --epsilon1 or --until-…: the probability of failure that is tolerated, for "
            "all players together; 0.1 by default.",
        ),
    ] = None
    bound: Annotated[
        str,
        run_option(
            metavar="NAME",
            help="With --epsilon1, what a certificate rests on: normal, averages of many samples; "
            "chebyshev, estimated variances; bernstein, the range of the metric alone.",
        ),
    ] = "normal"
    xi: Xi = "auto"
    seed: Seed = 0
    on_error: Annotated[
        str,
        run_option(
            metavar="NAME",
            help="When a fit fails: raise an error, or skip it; then nothing is certified.",
        ),
    ] = "raise"
    journal: Journal = None
    verify: Annotated[
        int,
        run_option(
            min=0,
            metavar="N",
            help="With --journal: first compute N of its utilities again, and stop when one "
            "differs.",
        ),
    ] = 0
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

    out: Annotated[
        Path | None,
        output_option(
            metavar="FILE",
            help="Write the values: .csv, .parquet, or .json with everything (for the commands "
            "report and payout).",
        ),
    ] = None
    report: Report = None
    pool: Pool = None
    key_file: KeyFile = None
    as_json: AsJson = False
    quiet: Quiet = False
    verbose: Annotated[
        bool,
        output_option(
            "--verbose", help="Print the paper's terms too (fidelity, contributions), explained."
        ),
    ] = False


# Parameters of `read_table` and `table_game` whose options have other names.
_RENAMED = {"names": "id", "max_bytes": "max-size"}
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
