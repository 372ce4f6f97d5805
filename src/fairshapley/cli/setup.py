"""From options to files and games: all that is checked and read before a run."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from fairshapley._basics.checks import choice
from fairshapley._basics.files import same_place
from fairshapley._basics.text import one_line
from fairshapley.cli.exits import say
from fairshapley.cli.options import (
    DataOptions,
    FileOptions,
    OutputOptions,
    UtilityOptions,
    changed_options,
    option_name,
)
from fairshapley.cli.printing import LONGEST
from fairshapley.errors import InputError
from fairshapley.results.origin import InputFile, input_file
from fairshapley.results.payouts.amounts import units_of
from fairshapley.results.result import Result
from fairshapley.results.tables import VALUE_ENDINGS, check_writable
from fairshapley.runs.calls import resume

if TYPE_CHECKING:
    import pyarrow as pa

    from fairshapley.games.game import Game
    from fairshapley.tables import TabularGame
    from fairshapley.tables.reading import Decimal

REPORT_ENDINGS = (".html", ".htm")
UTILITIES = ("model", "volume", "information")
SQLITE = b"SQLite format 3\x00"


def check_files(inputs: Sequence[Path | None], *outputs: tuple[Path | None, Sequence[str]]) -> None:
    """Raise an InputError when a file cannot be written, is read, or would be written twice.

    Parameters
    ----------
    inputs
        Files that are read.
    outputs
        Files to be written, each with what its name may end in.
    """
    taken = [path for path in inputs if path is not None]
    for path, endings in outputs:
        if path is not None:
            check_writable(path, endings, taken)
            taken.append(path)


def check_outputs(
    output: OutputOptions, inputs: Sequence[Path | None], journal: Path | None
) -> None:
    """Raise an InputError when what the options ask for cannot be written."""
    if journal is not None and any(path and same_place(journal, path) for path in inputs):
        raise InputError(f"the journal {journal} is a file that is read: give another name")
    check_files((*inputs, journal), (output.out, VALUE_ENDINGS), (output.report, REPORT_ENDINGS))
    if output.pool is not None:
        units_of(output.pool, "0.01")


def read_files(
    data: FileOptions, texts: Sequence[str | None], most_rows: int | None
) -> tuple[pa.Table, pa.Table | None]:
    """Return the tables of training and test rows; some columns are read as texts."""
    from fairshapley.tables import read_table

    read = partial(
        read_table,
        delimiter=data.delimiter,
        decimal=cast("Decimal", data.decimal),
        encoding=data.encoding,
        texts=[
            *(name for name in texts if name is not None and name != data.target),
            *(name.strip() for name in (data.texts or "").split(",") if name.strip()),
        ],
    )
    test = None if data.test is None else read(data.test, max_rows=data.max_rows)
    return read(data.train, max_rows=most_rows), test


def load_game(data: DataOptions) -> TabularGame:
    """Return the game of the data options."""
    from fairshapley.tables import table_game

    target = data.wanted_target()
    # A sample may be drawn from any number of rows.
    most = data.max_rows if data.sample is None else None
    if data.sample is not None and data.sample > data.max_rows:
        raise InputError(f"--sample {data.sample:,} is more than --option max-rows={data.max_rows}")
    train, test = read_files(
        data, (data.group_by, data.union_by, data.id_column, data.split_by), most
    )
    shared = {field.name for field in fields(FileOptions)}
    given = {name: value for name, value in vars(data).items() if name not in shared}
    return table_game(train, target, test=test, names=data.id_column, drop=data.drop or (), **given)


def load_providers(data: DataOptions, utility: UtilityOptions) -> tuple[Game, tuple[str, ...]]:
    """Return the game of providers' data, which needs no model, with notes on what was decided."""
    from fairshapley.games.information import InformationGame
    from fairshapley.games.volume import VolumeGame
    from fairshapley.tables.providers import read_providers

    kind = choice("--utility", utility.utility, UTILITIES)
    usable = {option_name(field.name) for field in fields(FileOptions)} - {"--test", "--id"}
    for name in changed_options(data) - usable - {"--group-by"}:
        raise InputError(f"--utility {kind} needs no model: leave {name} out")
    if data.group_by is None:
        raise InputError(f"--utility {kind} values providers: name their column by --group-by")
    table, _ = read_files(data, (data.group_by,), data.max_rows)
    drop = data.drop or []
    if kind == "information":
        x, y, notes = read_providers(table, data.group_by, data.wanted_target(), drop)
        note = "utility: the information gain of a Gaussian process"
        return InformationGame(x, y), (*notes, note)
    left_out = drop if data.target is None else [*drop, data.target]
    x, _, notes = read_providers(table, data.group_by, None, left_out, independent=True)
    note = f"utility: the robust volume of the rows, ω = {utility.omega:g}"
    return VolumeGame(x, utility.omega or None), (*notes, note)


def input_files(*given: Path | None) -> tuple[InputFile, ...]:
    """Return the files that were read, with their hashes."""
    return tuple(input_file(path) for path in given if path is not None)


def load_result(file: Path, run: int | None = None) -> Result:
    """Return the result in a file; of a journal the newest run, or the one with a number."""
    try:
        with file.open("rb") as stream:
            is_journal = stream.read(len(SQLITE)) == SQLITE
    except OSError as error:
        raise InputError(f"cannot read {file}: {error.strerror}") from error
    if is_journal:
        return resume(file, run=run, progress=False)
    if run is not None:
        raise InputError(f"{file} is no journal and holds no runs: leave --run out")
    return Result.load(file)


def show_notes(notes: Sequence[str], *, verbose: bool) -> None:
    """Print what was decided on standard error."""
    for note in notes if verbose else ():
        say(f"note: {one_line(note, LONGEST)}")
