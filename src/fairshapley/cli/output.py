"""The end of a run: files, the printed answer, the exit code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

import typer

from fairshapley._basics.text import several
from fairshapley.cli.exits import INTERRUPTED, NOT_CERTIFIED, failed, say
from fairshapley.cli.options import OutputOptions
from fairshapley.cli.printing import print_json, print_payout, print_shown
from fairshapley.errors import InputError
from fairshapley.fairness.certificate import Certificate
from fairshapley.fairness.levels import DELTA, EPSILON1
from fairshapley.results.console import answer, summary
from fairshapley.results.pairs import pair_sentences, pairs_list
from fairshapley.results.payouts import Payout
from fairshapley.results.result import Result
from fairshapley.results.tables import shown_table, values_columns, write_values
from fairshapley.stopping import Decided, Fair

# Of more than 15 players the first and the last are shown; with --verbose of more than 40.
FIRST, LAST, HALF = 10, 4, 20
# What `--verbose` says of the terms that it uses.
WORDS = (
    "contributions: the samples that a value is the average of, each what the player added once",
    "fidelity: (size of the value + ξ)² over its squared standard error; 4 is two standard errors",
    "ξ: the size below which a tolerance no longer shrinks; ε1: the tolerated share of a value; δ: "
    "the probability that a statement may be wrong",
    "A1–A3: who adds nothing gets nothing; identical players get the same; who adds no less than "
    "another gets no less; estimates do so up to the certified tolerance",
)
# What `--json` prints of a result, of its run and of a certificate, as they are.
FACTS = (
    "semivalue", "method", "n_players", "evaluations", "seed", "xi", "exact", "complete",
    "stopped", "min_fidelity", "warnings", "notes",
)  # fmt: skip
RUN_FACTS = ("seconds", "cost", "cost_unit")
CERTIFIED = ("holds", "epsilon1", "epsilon2", "delta", "bound", "statement", "warning")

File = tuple[str, Path | None, Callable[[Path], object]]
"""What is written, where, and what writes it"""


def give_answer(
    files: Sequence[File], show: Callable[[Mapping[str, Path]], None], *, quiet: bool
) -> None:
    """Write the files that are asked for, then print.

    What a run has found is never thrown away: each step is tried whatever became of the others,
    also after Ctrl-C, and what failed is said at the end.

    Parameters
    ----------
    files
        The files; those without a path are not asked for.
    show
        Prints, and is given the paths that were written.
    quiet
        Whether not to say what was written, unless something failed.

    Examples
    --------
    >>> def refuse(path):
    ...     raise ValueError(f"no room for {path}")
    >>> files = [("report", Path("page.html"), refuse), ("values", Path("v.csv"), print)]
    >>> give_answer(files, lambda written: print(list(written)), quiet=True)
    Traceback (most recent call last):
    ...
    ValueError: no room for page.html
    """
    errors: list[BaseException] = []
    written = {
        what: path
        for what, path, write in files
        if path is not None and _tried(partial(write, path), errors)
    }
    _tried(partial(show, written), errors)
    if errors or not quiet:
        for what, path in written.items():
            say(f"{what} written to {path}")
    for error in errors[1:]:
        if isinstance(error, Exception):
            failed(error)
    if errors:
        raise errors[0]


def _tried(step: Callable[[], object], errors: list[BaseException]) -> bool:
    """Return whether a step was done; keep its error unless an earlier one had the same reason."""
    try:
        step()
    except (Exception, KeyboardInterrupt) as error:
        if str(error) not in map(str, errors):
            errors.append(error)
        return False
    return True


def finish_run(
    result: Result,
    output: OutputOptions,
    *,
    wanted: Fair | Decided | None = None,
    labels: tuple[str, ...] | None = None,
    title: str | None = None,
) -> None:
    """Write and print a result; exit with a code of its own when it is not what was asked for."""
    fair = wanted if isinstance(wanted, Fair) else None
    epsilon1, bound = (EPSILON1, "normal") if fair is None else (fair.epsilon1, fair.bound)
    delta = DELTA if wanted is None else wanted.delta

    def report(path: Path) -> None:
        asked = None if fair is None else epsilon1
        result.report(
            path, epsilon1=asked, delta=delta, title=title, labels=labels, pool=output.pool
        )

    def show(written: Mapping[str, Path]) -> None:
        divided = _divided(result, output.pool, epsilon1, delta)
        certificate = result.certificate(epsilon1, delta, bound=bound)
        if output.as_json:
            found = result_object(result, certificate, written)
            payout = divided if isinstance(divided, str) else divided.to_dict()
            print_json(found | {"payout": payout})
            return
        asked = None if fair is None else certificate
        print_result(result, asked, [certificate.statement], verbose=output.verbose)
        print_payout(divided, verbose=output.verbose)

    values: File = ("values", output.out, lambda path: write_values(result, path, delta))
    give_answer([values, ("report", output.report, report)], show, quiet=output.as_json)
    if not result.complete:
        raise typer.Exit(INTERRUPTED)
    reached = fair is None or result.certificate(epsilon1, delta, bound=bound).holds
    if isinstance(wanted, Decided):
        aim = asdict(wanted)
        del aim["give_up"]  # it ends runs, and settles nothing
        reached = result.decided(**aim)
    if not reached:
        raise typer.Exit(NOT_CERTIFIED)


def _divided(result: Result, pool: str | None, epsilon1: float, delta: float) -> Payout | str:
    """Return a sum divided by the values; why it cannot be, or nothing where none was given."""
    if pool is None:
        return ""
    try:
        return result.payout(pool, epsilon1=epsilon1, delta=delta)
    except InputError as error:
        return f"no payout: {error}"


def print_result(
    result: Result, asked: Certificate | None, stated: Sequence[str], *, verbose: bool
) -> None:
    """Print the answer, then the values, then how they were made; the rest where it is wanted."""
    first, last = (HALF, HALF) if verbose else (FIRST, LAST)
    table = shown_table(result, first, last, terms=verbose)
    title, made, stopped, *rest = summary(result)
    said = [f"{title}; {made}; {stopped}"]
    said += [f"warning: {warning}" for warning in result.warnings[1:]]
    said += [] if verbose else pair_sentences(result)
    if verbose:
        said += [*rest, *stated, *(() if result.exact else WORDS)]
    else:
        notes = several(len(result.notes), "note")
        said.append(f"--verbose shows {notes}, all that is certain, and the paper's terms")
    print_shown(answer(result, asked), *table, said)


def result_object(
    result: Result, certificate: Certificate, files: Mapping[str, object]
) -> dict[str, Any]:
    """Return what `--json` prints of a result."""
    columns = values_columns(result, certificate.delta)
    return {
        **{name: getattr(result, name) for name in FACTS},
        **{name: getattr(result.run, name) for name in RUN_FACTS},
        "findings": findings_object(result, certificate.delta),
        "pairs": pairs_list(result),
        "test_set": certificate.test_set,
        "certificate": {name: getattr(certificate, name) for name in CERTIFIED},
        "files": {name: str(path) for name, path in files.items()},
        "values": [
            dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)
        ],
    }


def findings_object(result: Result, delta: float) -> dict[str, Any]:
    """Return what `--json` prints of what holds, with the doubts where nothing does."""
    findings = result.findings(delta=delta)
    said: dict[str, Any] = {"doubts": list(findings.doubts), "sentences": findings.sentences()}
    if findings.doubts:
        return said
    names, decisions, stated = result.names(), findings.decisions, findings.certificate
    signs = decisions.signs()
    return said | {
        "delta": stated.delta,
        "epsilon1": stated.tightest,
        "xi": stated.xi,
        "positive": int((signs > 0).sum()),
        "negative": int((signs < 0).sum()),
        "ordered_pairs": decisions.settled_pairs(),
        "highest": [names[player] for player in decisions.top(1).candidates],
        "lowest": [names[player] for player in decisions.bottom(1).candidates],
        "asked_epsilon1": stated.epsilon1,
        "needed_evaluations": stated.needed,
    }
