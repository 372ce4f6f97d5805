"""Results on standard output: a table and sentences for people, one JSON object for machines."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rich.console import Console
from rich.text import Text

from fairshapley._basics.text import one_line
from fairshapley.cli.exits import LONGEST
from fairshapley.cli.options import in_options
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


def value_columns(result: Result, *, verbose: bool = False) -> dict[str, list[str]]:
    """The players by decreasing value, with the standard errors of estimation and of the test set.

    `verbose` adds contributions and fidelity.

    Examples
    --------
    >>> import fairshapley as fs
    >>> value_columns(fs.exact(fs.games.TableGame([0, 1])))
    {'player': ['0'], 'value': ['+1']}
    """
    order = (-result.values).argsort(kind="stable").tolist()
    names, scores = result.names(), result.fidelity()
    columns = {
        "player": [one_line(names[player], LONGEST) for player in order],
        "value": [f"{result.values[player]:+.5g}" for player in order],
    }
    counts = result.row_counts
    if counts is not None and max(counts) > 1:
        columns["rows"] = [f"{counts[player]:,}" for player in order]
    if not result.exact:
        columns["standard error"] = [f"{result.standard_errors[player]:.3g}" for player in order]
        if verbose:
            columns["contributions"] = [f"{result.counts[player]:,}" for player in order]
            columns["fidelity"] = [f"{scores[player]:.3g}" for player in order]
    if (of_test := result.test_errors) is not None:
        columns["test set error"] = [f"{of_test[player]:.3g}" for player in order]
    if len(order) > MOST_ROWS:
        half = MOST_ROWS // 2
        for name, cells in columns.items():
            more = f"{len(order) - MOST_ROWS:,} more" if name == "player" else ""
            cells[half:-half] = [more]
    return columns


def print_result(result: Result, certificate: Certificate | None, *, verbose: bool = False) -> None:
    """The values, what the run did, what holds, and the certificate that was asked for."""
    console = output_console()
    shown = f", {MOST_ROWS // 2} highest and lowest" if result.n_players > MOST_ROWS else ""
    columns = value_columns(result, verbose=verbose)
    rows = list(zip(*columns.values(), strict=True))
    print_table(console, f"{result.semivalue} values{shown}", list(columns), rows)
    said = result.summary(terms=verbose)
    if certificate is not None:
        said += certificate_lines(certificate, exact=result.exact)
    if verbose and not result.exact:
        said += WORDS
    print_lines(console, [in_options(line) for line in said])


# What `--verbose` says of the terms that it uses.
WORDS = (
    "contributions: the samples that a value is the average of, each what the player added once",
    "fidelity: (size of the value + ξ)² over its squared standard error; 4 is two standard errors",
    "ξ: the size below which a value counts as zero; ε1: the tolerated share of a value; δ: the "
    "probability that a statement may be wrong",
    "A1–A3: who adds nothing gets nothing; identical players get the same; who adds no less than "
    "another gets no less",
)


def certificate_lines(certificate: Certificate, *, exact: bool = False) -> list[str]:
    """The certificate in words, a paragraph; exact values need no tolerances."""
    if exact:
        return str(certificate).split("\n")
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
        "test_set": certificate.test_set if certificate is not None else "",
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
