"""The end of a run: files, the printed result, the exit code.

What a run has found is never thrown away: each step is tried whatever became of the others, files
come first, and what failed is said at the end.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from fairshapley.cli.exits import INTERRUPTED, NOT_CERTIFIED, failed, say
from fairshapley.cli.options import OutputOptions
from fairshapley.cli.printing import print_json, print_result, result_object
from fairshapley.errors import InputError
from fairshapley.fairness.levels import DELTA, EPSILON1
from fairshapley.results.tables import write_values
from fairshapley.stopping import Decided, Fair

if TYPE_CHECKING:
    from fairshapley.fairness.certificate import Certificate
    from fairshapley.results.result import Result


class Ending:
    """The steps after a run, each of which is tried.

    Attributes
    ----------
    files
        What was written, with its path.

    Examples
    --------
    >>> ending = Ending()
    >>> with ending.step():
    ...     raise ValueError("first")
    >>> ending.write("values", Path("values.csv"), print)
    values.csv
    >>> ending.files
    [('values', PosixPath('values.csv'))]
    >>> ending.close()
    Traceback (most recent call last):
    ...
    ValueError: first
    """

    def __init__(self) -> None:
        self.files: list[tuple[str, Path]] = []
        self._errors: list[BaseException] = []

    @contextmanager
    def step(self) -> Iterator[None]:
        """Keep an error until the end; Ctrl-C skips the step, and what follows is still done."""
        try:
            yield
        except (Exception, KeyboardInterrupt) as error:
            # Two steps may fail for one reason.
            if str(error) not in map(str, self._errors):
                self._errors.append(error)

    def write(self, what: str, path: Path | None, write: Callable[[Path], object]) -> None:
        """Write a file, where one is asked for."""
        if path is not None:
            with self.step():
                write(path)
                self.files.append((what, path))

    def close(self, *, quiet: bool = False) -> None:
        """Say what was written, and raise the first error; the others are said before it."""
        if self._errors or not quiet:
            for what, path in self.files:
                say(f"{what} written to {path}")
        for error in self._errors[1:]:
            if isinstance(error, Exception):
                failed(error)
        if self._errors:
            raise self._errors[0]


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
    certificate: Certificate | None = None
    ending = Ending()
    ending.write("values", output.out, lambda path: write_values(result, path, delta))
    asked = None if fair is None else epsilon1
    about: dict[str, Any] = {"title": title, "labels": labels, "pool": output.pool}
    report = partial(result.report, epsilon1=asked, delta=delta, **about)
    ending.write("report", output.report, report)
    # What holds is said anyway, also that too little is known for a certificate.
    with ending.step(), suppress(InputError):
        certificate = result.certificate(epsilon1, delta, bound=bound)
    with ending.step():
        if output.as_json:
            print_json(result_object(result, certificate, delta, ending.files))
        else:
            told = certificate is not None and certificate.holds and fair is not None
            shown = certificate if told or output.verbose else None
            print_result(result, shown, verbose=output.verbose)
    ending.close(quiet=output.as_json)
    if not result.complete:
        raise typer.Exit(INTERRUPTED)
    reached = certificate is not None and certificate.holds
    if isinstance(wanted, Decided):
        reached = result.decided(**asdict(wanted))
    if wanted is not None and not reached:
        raise typer.Exit(NOT_CERTIFIED)
