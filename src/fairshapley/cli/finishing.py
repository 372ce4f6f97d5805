"""The end of a valuation: files, the printed result, the exit code."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import typer

from fairshapley.cli.exits import INTERRUPTED, NOT_CERTIFIED, say
from fairshapley.cli.options import OutputOptions
from fairshapley.cli.printing import print_json, print_result, result_object
from fairshapley.tabular.writing import write_values

if TYPE_CHECKING:
    from fairshapley.fairness.certificate import Certificate
    from fairshapley.result import Result
    from fairshapley.stopping import Fair

# Without --epsilon1 the certificate is for information.
EPSILON1, DELTA = 0.5, 0.1


def finish(
    result: Result,
    output: OutputOptions,
    *,
    wanted: Fair | None = None,
    labels: tuple[str, ...] | None = None,
    title: str | None = None,
) -> None:
    """Write and print a result; exit with a code of its own when it is not what was asked for."""
    epsilon1, delta = (EPSILON1, DELTA) if wanted is None else (wanted.epsilon1, wanted.delta)
    certificate = result.certificate(epsilon1, delta)
    files = _write(result, output, certificate, labels, title)
    if output.as_json:
        print_json(result_object(result, certificate, files))
    else:
        print_result(result, certificate)
        for what, path in files:
            say(f"{what} written to {path}")
    if not result.complete:
        raise typer.Exit(INTERRUPTED)
    if wanted is not None and not certificate.holds:
        raise typer.Exit(NOT_CERTIFIED)


def _write(
    result: Result,
    output: OutputOptions,
    certificate: Certificate,
    labels: tuple[str, ...] | None,
    title: str | None,
) -> list[tuple[str, Path]]:
    """The files asked for, by what they hold."""
    files = []
    if output.out is not None:
        write_values(result, output.out, certificate.delta)
        files.append(("values", output.out))
    if output.report is not None:
        result.report(
            output.report,
            title=title,
            epsilon1=certificate.epsilon1,
            delta=certificate.delta,
            labels=labels,
        )
        files.append(("report", output.report))
    return files
