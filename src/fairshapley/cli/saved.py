"""Results from files: saved as JSON, or in a journal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from fairshapley.cli.groups import argument
from fairshapley.errors import InputError

if TYPE_CHECKING:
    from fairshapley.results.result import Result

Saved = Annotated[
    Path, argument(..., "A result saved as .json (value --out), or a journal (--journal).", "RUN")
]
SQLITE = b"SQLite format 3\x00"


def load_result(file: Path, run: int | None = None) -> Result:
    """The result in a file; of a journal the newest run, or the one of a number."""
    from fairshapley.results.result import Result
    from fairshapley.runs.calls import resume

    try:
        with file.open("rb") as stream:
            is_journal = stream.read(len(SQLITE)) == SQLITE
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    if is_journal:
        return resume(file, run=run, progress=False)
    if run is not None:
        raise InputError(f"{file} is no journal, so that it holds no runs: leave --run out")
    return Result.load(file)
