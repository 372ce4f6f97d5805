"""Results on standard output: a table and sentences for people, one JSON object for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from fairshapley._basics.text import one_line
from fairshapley.cli.exits import LONGEST
from fairshapley.cli.streams import results

if TYPE_CHECKING:
    from fairshapley.fairness.certificate import Certificate
    from fairshapley.results.result import Result

# More players than these are shown as the first and the last.
MOST_ROWS = 40
# What `--json` prints of a result and of a certificate, as they are.
FACTS = (
    "semivalue", "method", "n_players", "evaluations", "seconds", "seed", "xi", "exact", "complete",
    "stopped", "min_fidelity", "cost", "cost_unit", "warnings", "notes",
)  # fmt: skip
OF_THE_RUN = ("seconds", "cost", "cost_unit")
CERTIFIED = ("holds", "epsilon1", "epsilon2", "delta", "bound", "statement", "warning")
# Where nobody says how wide a line may be, as in a file.
WIDTH = 100


def emit(text: str) -> None:
    """A line on standard output, as it is."""
    stream = results()
    stream.write(f"{text}\n")
    stream.flush()


def print_shown(
    title: str,
    headings: Sequence[str],
    rows: Sequence[Sequence[str]],
    said: Iterable[str] = (),
    *,
    texts: bool = False,
) -> None:
    """Print a table, and under it sentences; the terminal folds both.

    The first cell of a row is a name, the others are numbers, or `texts` too.
    """
    console = Console(file=results())
    if not console.is_terminal:
        console = Console(file=results(), width=WIDTH)
    table = Table(title=Text(title))
    for place, heading in enumerate(headings):
        justify: Literal["left", "right"] = "left" if texts or not place else "right"
        table.add_column(Text(heading), justify=justify, overflow="fold")
    for row in rows:
        # Names come from the data.
        table.add_row(*(Text(one_line(cell, LONGEST)) for cell in row))
    console.print(table, highlight=False)
    for line in said:
        console.print(Text(line), soft_wrap=True, highlight=False)


def print_result(result: Result, certificate: Certificate | None, *, verbose: bool = False) -> None:
    """The values, what the run did, what holds, and the certificate that was asked for."""
    from fairshapley.results.console import summary
    from fairshapley.results.tables import shown_table

    shown = f", {MOST_ROWS // 2} highest and lowest" if result.n_players > MOST_ROWS else ""
    table = shown_table(result, MOST_ROWS // 2, MOST_ROWS // 2, terms=verbose)
    said = summary(result, terms=verbose)
    if certificate is not None:
        target = f"ε1 = {certificate.epsilon1:g}, ε2 = {certificate.epsilon2:.3g}"
        if not result.exact:  # exact values need no tolerances
            said.append(f"certificate ({target}, δ = {certificate.delta:g}):")
        said.append(certificate.statement)
        if certificate.warning:
            said.append(f"Warning: {certificate.warning}")
    if verbose and not result.exact:
        said += WORDS
    print_shown(f"{result.semivalue.capitalize()} values{shown}", *table, said)


# What `--verbose` says of the terms that it uses.
WORDS = (
    "contributions: the samples that a value is the average of, each what the player added once",
    "fidelity: (size of the value + ξ)² over its squared standard error; 4 is two standard errors",
    "ξ: the size below which a value counts as zero; ε1: the tolerated share of a value; δ: the "
    "probability that a statement may be wrong",
    "A1–A3: who adds nothing gets nothing; identical players get the same; who adds no less than "
    "another gets no less; estimates do so up to the certified tolerance",
)


def print_json(data: Mapping[str, Any]) -> None:
    """Print one JSON object; what JSON has no form for (dates, decimals, NaN) becomes a text."""
    from fairshapley.results.fields import plain

    emit(json.dumps(plain(dict(data)), allow_nan=False, ensure_ascii=True, indent=1, default=str))


def result_object(
    result: Result,
    certificate: Certificate,
    delta: float,
    files: Mapping[str, object],
) -> dict[str, Any]:
    """What `--json` prints of a result."""
    from fairshapley.results.tables import values_columns

    columns = values_columns(result, delta)
    facts = {name: getattr(result.run if name in OF_THE_RUN else result, name) for name in FACTS}
    return facts | {
        "findings": findings_object(result, delta),
        "test_set": certificate.test_set,
        "certificate": {name: getattr(certificate, name) for name in CERTIFIED},
        "files": {name: str(path) for name, path in files.items()},
        "values": [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ],
    }


def findings_object(result: Result, delta: float) -> dict[str, Any]:
    """What `--json` prints of what holds, with the doubts where nothing does."""
    findings = result.findings(delta=delta)
    said: dict[str, Any] = {"doubts": list(findings.doubts), "sentences": findings.sentences()}
    if findings.doubts:
        return said
    names, decisions = result.names(), findings.decisions
    signs = decisions.signs()
    return said | {
        "delta": findings.delta,
        "epsilon1": findings.tightest,
        "xi": findings.xi,
        "positive": int((signs > 0).sum()),
        "negative": int((signs < 0).sum()),
        "ordered_pairs": decisions.settled_pairs(),
        "highest": [names[player] for player in decisions.top(1).candidates],
        "lowest": [names[player] for player in decisions.bottom(1).candidates],
        "asked_epsilon1": findings.epsilon1,
        "needed_evaluations": findings.needed,
    }
