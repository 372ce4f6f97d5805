"""Results on standard output: a table and sentences for people, one JSON object for machines."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from fairshapley.cli.exits import one_line
from fairshapley.result_fields import plain
from fairshapley.tabular.writing import values_columns

if TYPE_CHECKING:
    from fairshapley.fairness.certificate import Certificate
    from fairshapley.result import Result

# More players than these are shown as the first and the last.
MOST_ROWS = 40
# Where nobody says how wide a line may be, as in a file.
WIDTH = 100


def output_console() -> Console:
    """Standard output; a file gets lines of a fixed width."""
    console = Console()
    return console if console.is_terminal else Console(width=WIDTH)


def values_table(result: Result) -> Table:
    """The players by decreasing value, with standard error, contributions and fidelity.

    Examples
    --------
    >>> import fairshapley as fs
    >>> values_table(fs.exact(fs.games.TableGame([0, 1]))).row_count
    1
    """
    shown = f", {MOST_ROWS // 2} highest and lowest" if result.n_players > MOST_ROWS else ""
    table = Table(title=escape(f"{result.semivalue} values{shown}"))
    table.add_column("player", overflow="fold")
    for column in ("value", "standard error", "contributions", "fidelity"):
        table.add_column(column, justify="right", no_wrap=True)
    names, scores = result.names(), result.fidelity()
    order = (-result.values).argsort(kind="stable").tolist()
    cut = MOST_ROWS // 2
    for rank, player in enumerate(order):
        if result.n_players > MOST_ROWS and cut <= rank < result.n_players - cut:
            if rank == cut:
                table.add_row("…", *["…"] * 4)
            continue
        table.add_row(
            escape(one_line(names[player])),
            f"{result.values[player]:+.5g}",
            f"{result.standard_errors[player]:.3g}",
            f"{result.counts[player]:,}",
            f"{scores[player]:.3g}",
        )
    return table


def print_result(result: Result, certificate: Certificate) -> None:
    """The values, what the run did, and the certificate in words."""
    console = output_console()
    console.print(values_table(result))
    said = str(result).split("\n")[: -len(result.notes) or None]
    for line in [*said, *certificate_lines(certificate)]:
        console.print(escape(line), soft_wrap=True, highlight=False)


def certificate_lines(certificate: Certificate) -> list[str]:
    """The certificate in words, a paragraph."""
    target = f"ε1 = {certificate.epsilon1:g}, ε2 = {certificate.epsilon2:.3g}"
    return [f"certificate ({target}, δ = {certificate.delta:g}):", *str(certificate).split("\n")]


def print_json(data: Mapping[str, Any]) -> None:
    """One JSON object; numbers that are not finite as texts."""
    typer.echo(json.dumps(plain(dict(data)), allow_nan=False, ensure_ascii=True, indent=1))


def result_object(
    result: Result, certificate: Certificate, files: Sequence[tuple[str, object]]
) -> dict[str, Any]:
    """What `--json` prints of a result."""
    columns = values_columns(result, certificate.delta)
    return {
        "semivalue": result.semivalue,
        "method": result.method,
        "n_players": result.n_players,
        "evaluations": result.evaluations,
        "seconds": result.seconds,
        "seed": result.seed,
        "xi": result.xi,
        "exact": result.exact,
        "complete": result.complete,
        "stopped": result.stopped,
        "min_fidelity": result.min_fidelity,
        "certificate": certificate_object(certificate),
        "notes": list(result.notes),
        "files": {name: str(path) for name, path in files},
        "values": [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ],
    }


def certificate_object(certificate: Certificate) -> dict[str, Any]:
    """What `--json` prints of a certificate."""
    return {
        "holds": certificate.holds,
        "epsilon1": certificate.epsilon1,
        "epsilon2": certificate.epsilon2,
        "delta": certificate.delta,
        "bound": certificate.bound,
        "statement": certificate.statement,
        "warnings": list(certificate.warnings),
    }
