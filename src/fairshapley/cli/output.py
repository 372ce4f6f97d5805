"""The end of a run: files, the printed answer, the exit code."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path

import typer

from fairshapley.cli.exits import INTERRUPTED, NOT_CERTIFIED, failed, say
from fairshapley.cli.options import OutputOptions
from fairshapley.cli.printing import print_json, print_result, result_object
from fairshapley.fairness.levels import DELTA, EPSILON1
from fairshapley.results.result import Result
from fairshapley.results.tables import write_values
from fairshapley.stopping import Decided, Fair

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
    """Whether a step was done; its error is kept, unless an earlier one had the same reason."""
    try:
        step()
    except (Exception, KeyboardInterrupt) as error:
        if str(error) not in map(str, errors):
            errors.append(error)
        return False
    return True


def finish(
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
        certificate = result.certificate(epsilon1, delta, bound=bound)
        if output.as_json:
            print_json(result_object(result, certificate, delta, written))
            return
        told = output.verbose or (fair is not None and certificate.holds)
        print_result(result, certificate if told else None, verbose=output.verbose)

    values: File = ("values", output.out, lambda path: write_values(result, path, delta))
    give_answer([values, ("report", output.report, report)], show, quiet=output.as_json)
    if not result.complete:
        raise typer.Exit(INTERRUPTED)
    reached = fair is None or result.certificate(epsilon1, delta, bound=bound).holds
    if isinstance(wanted, Decided):
        reached = result.decided(**asdict(wanted))
    if not reached:
        raise typer.Exit(NOT_CERTIFIED)
