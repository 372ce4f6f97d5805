"""Results on standard output: a table and sentences for people, one JSON object for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from fairshapley._basics.text import one_line
from fairshapley.cli.exits import LONGEST
from fairshapley.cli.streams import results
from fairshapley.cli.tables import print_table
from fairshapley.errors import InputError

if TYPE_CHECKING:
    from fairshapley.fairness.certificate import Certificate
    from fairshapley.results.result import Result

# More players than these are shown as the first and the last.
MOST_ROWS = 40
# Where nobody says how wide a line may be, as in a file.
WIDTH = 100


def output_console() -> Console:
    """Standard output; a file gets lines of a fixed width."""
    console = Console(file=results())
    return console if console.is_terminal else Console(file=results(), width=WIDTH)


def emit(text: str) -> None:
    """A line on standard output, as it is."""
    stream = results()
    stream.write(f"{text}\n")
    stream.flush()


def print_lines(console: Console, lines: Iterable[str]) -> None:
    """Sentences, which the terminal folds."""
    for line in lines:
        console.print(Text(line), soft_wrap=True, highlight=False)


def value_rows(result: Result) -> list[tuple[str, ...]]:
    """The players by decreasing value, with standard error, contributions and fidelity.

    Examples
    --------
    >>> import fairshapley as fs
    >>> value_rows(fs.exact(fs.games.TableGame([0, 1])))
    [('0', '+1', '0', '0', 'inf')]
    """
    names, scores = result.names(), result.fidelity()
    rows: list[tuple[str, ...]] = [
        (
            one_line(names[player], LONGEST),
            f"{result.values[player]:+.5g}",
            f"{result.standard_errors[player]:.3g}",
            f"{result.counts[player]:,}",
            f"{scores[player]:.3g}",
        )
        for player in (-result.values).argsort(kind="stable").tolist()
    ]
    if len(rows) > MOST_ROWS:
        half = MOST_ROWS // 2
        rows[half:-half] = [(f"{len(rows) - MOST_ROWS:,} more", "", "", "", "")]
    return rows


def print_result(result: Result, certificate: Certificate | None) -> None:
    """The values, what the run did, what holds, and the certificate that was asked for."""
    console = output_console()
    shown = f", {MOST_ROWS // 2} highest and lowest" if result.n_players > MOST_ROWS else ""
    headings = ("player", "value", "standard error", "contributions", "fidelity")
    print_table(console, f"{result.semivalue} values{shown}", headings, value_rows(result))
    said = str(result).split("\n")[: -len(result.notes) or None]
    print_lines(console, [*said, *(certificate_lines(certificate) if certificate else ())])


def certificate_lines(certificate: Certificate) -> list[str]:
    """The certificate in words, a paragraph."""
    target = f"ε1 = {certificate.epsilon1:g}, ε2 = {certificate.epsilon2:.3g}"
    return [f"certificate ({target}, δ = {certificate.delta:g}):", *str(certificate).split("\n")]


def print_json(data: Mapping[str, Any]) -> None:
    """One JSON object; numbers that are not finite as texts."""
    from fairshapley.results.fields import plain

    emit(json.dumps(plain(dict(data)), allow_nan=False, ensure_ascii=True, indent=1))


def result_object(
    result: Result,
    certificate: Certificate | None,
    delta: float,
    files: Sequence[tuple[str, object]],
) -> dict[str, Any]:
    """What `--json` prints of a result."""
    from fairshapley.results.tables import values_columns

    columns = values_columns(result, delta)
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
        "standing": standing_object(result, delta),
        "certificate": None if certificate is None else certificate_object(certificate),
        "warnings": list(result.warnings),
        "notes": list(result.notes),
        "files": {name: str(path) for name, path in files},
        "values": [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ],
    }


def standing_object(result: Result, delta: float) -> dict[str, Any] | None:
    """What `--json` prints of what holds; None where nothing may be said."""
    try:
        standing = result.standing(delta=delta)
    except InputError:
        return None
    names, signs = result.names(), standing.signs
    return {
        "delta": standing.delta,
        "epsilon1": standing.epsilon1,
        "xi": standing.xi,
        "positive": int((signs > 0).sum()),
        "negative": int((signs < 0).sum()),
        "settled_pairs": standing.settled_pairs,
        "highest": [names[player] for player in standing.top],
        "lowest": [names[player] for player in standing.bottom],
        "asked_epsilon1": standing.certificate.epsilon1,
        "needed_evaluations": standing.needed,
        "sentences": standing.sentences(),
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
