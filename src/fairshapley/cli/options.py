"""The options of the commands, in groups; their help is the reference in docs/cli.md."""

from __future__ import annotations

import re
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Annotated

import typer

from fairshapley._basics.files import DEFAULT_MAX_ROWS, MAX_BYTES
from fairshapley.cli import completion
from fairshapley.errors import InputError

DATA, RUN, OUTPUT = "Data", "Run", "Output"


@dataclass(frozen=True)
class DataOptions:
    """The rows, the model and the metric."""

    train: Annotated[
        Path,
        typer.Argument(
            metavar="TRAIN",
            help="The rows to be valued: a CSV or Parquet file, or - for standard input.",
        ),
    ]
    target: Annotated[
        str, typer.Option(metavar="COL", help="The column to be predicted.", rich_help_panel=DATA)
    ]
    test: Annotated[
        Path | None,
        typer.Option(
            metavar="TEST",
            help="The rows to score on. Without it, some rows of TRAIN are scored, not valued.",
            rich_help_panel=DATA,
        ),
    ] = None
    model: Annotated[
        str,
        typer.Option(
            autocompletion=completion.models,
            help="logistic, ridge, knn, svc, random-forest, or a scikit-learn estimator "
            "as package:estimator (its code is run). auto: logistic for classes, ridge for "
            "numbers.",
            rich_help_panel=DATA,
        ),
    ] = "auto"
    task: Annotated[
        str,
        typer.Option(
            help="classification, regression, or auto: by the model and the target.",
            rich_help_panel=DATA,
        ),
    ] = "auto"
    metric: Annotated[
        str | None,
        typer.Option(
            autocompletion=completion.metrics,
            help="The utility: accuracy, log_likelihood, f1, auc, r2, neg_mse, or the name of a "
            "scorer of scikit-learn. By default accuracy, or r2 for numbers.",
            rich_help_panel=DATA,
        ),
    ] = None
    group_by: Annotated[
        str | None,
        typer.Option(
            metavar="COL",
            help="Rows with the same value here (a supplier, a client) are one player.",
            rich_help_panel=DATA,
        ),
    ] = None
    id_column: Annotated[
        str | None,
        typer.Option(
            "--id", metavar="COL", help="A column that names the rows.", rich_help_panel=DATA
        ),
    ] = None
    drop: Annotated[
        list[str] | None,
        typer.Option(
            metavar="COL", help="A column to leave out; may be repeated.", rich_help_panel=DATA
        ),
    ] = None
    sample: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="Value N of the rows, drawn at random by --split-seed.",
            rich_help_panel=DATA,
        ),
    ] = None
    max_rows: Annotated[
        int,
        typer.Option(
            min=1, metavar="N", help="Files with more rows are refused.", rich_help_panel=DATA
        ),
    ] = DEFAULT_MAX_ROWS
    max_size: Annotated[
        int,
        typer.Option(
            min=1,
            metavar="MIB",
            help="Files with more MiB, unpacked, are refused; a cell counts at least 8 bytes.",
            rich_help_panel=DATA,
        ),
    ] = MAX_BYTES // 2**20
    test_size: Annotated[
        float,
        typer.Option(
            help="Without --test: the share, or the number, of rows to score on.",
            rich_help_panel=DATA,
        ),
    ] = 0.2
    split_seed: Annotated[
        int, typer.Option(help="Fixes which rows are drawn.", rich_help_panel=DATA)
    ] = 0
    delimiter: Annotated[
        str,
        typer.Option(
            help="What separates the cells of a CSV file; \\t is a tab.", rich_help_panel=DATA
        ),
    ] = ","
    decimal: Annotated[
        str,
        typer.Option(
            help="The decimal sign of a CSV file: a point, a comma, or auto, which finds out.",
            rich_help_panel=DATA,
        ),
    ] = "auto"
    encoding: Annotated[
        str, typer.Option(help="The encoding of a CSV file, such as latin-1.", rich_help_panel=DATA)
    ] = "utf-8"
    empty_value: Annotated[
        float | None,
        typer.Option(
            help="The utility of no rows, which a scorer of scikit-learn needs.",
            rich_help_panel=DATA,
        ),
    ] = None
    unfittable: Annotated[
        str,
        typer.Option(
            help="When a model cannot be fitted to some of the rows: raise an error, or constant, "
            "to score their constant prediction.",
            rich_help_panel=DATA,
        ),
    ] = "raise"
    precision: Annotated[
        str,
        typer.Option(
            help="double, or single: about twice as fast where coalitions are fitted together.",
            rich_help_panel=DATA,
        ),
    ] = "double"


# Parameters of `read_table` and `table_game` whose options have other names.
_RENAMED = {"names": "id", "max_bytes": "max-size"}
_PARAMETERS = [field.name for field in fields(DataOptions)[1:]] + [*_RENAMED]
_NAMED = re.compile(
    rf"(?<![\w'\"-])({'|'.join(_PARAMETERS)})"
    r"(?:(=)(?=[\w'\"])|=|(?= must be)|(?<=empty_value)\b)"
)


def in_options(message: str) -> str:
    """A message of the Python interface to tables, with options in place of its parameters.

    Examples
    --------
    >>> in_options("leave names= out, or value them together with group_by='who'")
    "leave --id out, or value them together with --group-by 'who'"
    """

    def option(found: re.Match[str]) -> str:
        name, has_value = found.groups()
        return f"--{_RENAMED.get(name, name.replace('_', '-'))}{' ' if has_value else ''}"

    return _NAMED.sub(option, message)


Semivalue = Annotated[
    str,
    typer.Option(
        autocompletion=completion.semivalues,
        help="shapley, banzhaf, or beta(16,1) and the like.",
        rich_help_panel=RUN,
    ),
]
Seed = Annotated[int, typer.Option(help="Fixes all random draws.", rich_help_panel=RUN)]
Xi = Annotated[
    str,
    typer.Option(
        metavar="X",
        autocompletion=completion.tolerances,
        help="ξ, the tolerance near zero, in the unit of the utility: a number; share, an equal "
        "share |v(N) − v(∅)|/n, which is never above the mean |Shapley value|; mean, the mean "
        "|value| or a little less, from two pilot runs. All are fixed before the run starts. "
        "auto: 0.001 for metrics from 0 to 1, else share.",
        rich_help_panel=RUN,
    ),
]
Journal = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="Keep every utility in this file; running the same command again continues.",
        rich_help_panel=RUN,
    ),
]
Engine = Annotated[
    str | None,
    typer.Option(
        autocompletion=completion.engines,
        help="Who computes: serial, processes, processes:4, dask://host:port, ray, "
        "ray://host:port. The result is the same.",
        rich_help_panel=RUN,
    ),
]


KeyFile = Annotated[
    Path | None,
    typer.Option(
        metavar="FILE",
        help="A file with a secret of 16 bytes or more, which signs a .json result. Only those "
        "who have it can check the signature, or forge one.",
        rich_help_panel=OUTPUT,
    ),
]


@dataclass(frozen=True)
class RunOptions:
    """What is computed, how, and how far."""

    semivalue: Semivalue = "shapley"
    method: Annotated[
        str,
        typer.Option(
            autocompletion=completion.methods,
            help="auto, or a method as in docs/methods.md.",
            rich_help_panel=RUN,
        ),
    ] = "auto"
    budget: Annotated[
        int | None,
        typer.Option(
            metavar="N",
            help="The most utility evaluations. By default 100 for each player; 1000 with "
            "--epsilon1, of which a run takes what it needs.",
            rich_help_panel=RUN,
        ),
    ] = None
    epsilon1: Annotated[
        float | None,
        typer.Option(
            metavar="E",
            help="Run until the values are certified: each within E times its size plus E·ξ.",
            rich_help_panel=RUN,
        ),
    ] = None
    delta: Annotated[
        float | None,
        typer.Option(
            metavar="D",
            help="With --epsilon1: the probability of failure that is tolerated, 0.1 by default.",
            rich_help_panel=RUN,
        ),
    ] = None
    xi: Xi = "auto"
    seed: Seed = 0
    journal: Journal = None
    verify: Annotated[
        int,
        typer.Option(
            min=0,
            metavar="N",
            help="With --journal: first compute N of its utilities again, and stop when one "
            "differs.",
            rich_help_panel=RUN,
        ),
    ] = 0
    engine: Engine = None

    def __post_init__(self) -> None:
        if self.verify and self.journal is None:
            raise InputError("--verify goes with --journal: give both, or neither")
        if self.delta is not None and self.epsilon1 is None:
            raise InputError("--delta goes with --epsilon1: give both, or neither")


@dataclass(frozen=True)
class OutputOptions:
    """Where results go."""

    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write the values: .csv, .parquet, or .json with everything (for the commands "
            "report and payout).",
            rich_help_panel=OUTPUT,
        ),
    ] = None
    report: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write a report: one HTML file.", rich_help_panel=OUTPUT),
    ] = None
    key_file: KeyFile = None
    as_json: Annotated[
        bool,
        typer.Option(
            "--json", help="Print one JSON object instead of tables.", rich_help_panel=OUTPUT
        ),
    ] = False
    quiet: Annotated[
        bool,
        typer.Option("--quiet", help="No notes, no progress.", rich_help_panel=OUTPUT),
    ] = False
