"""Train federations and keep their tables: ``python -m benchmarks.paper.tabulating``.

`fairshapley_paper/trained` holds what it left of the paper's federations. It is meant for a machine
with a GPU and little else: it needs torch and the data, and neither the command line's nor the
plots' packages.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from benchmarks.paper.federations import (
    FEDERATIONS,
    federation_of,
    find_table,
    table_path,
)
from fairshapley.errors import FairShapleyError
from fairshapley_paper.experiment import Size


def tabulate(
    names: Sequence[str],
    out: Path,
    *,
    size: Size = "full",
    seed: int = 0,
    device: str | None = None,
    seconds: float | None = None,
) -> list[Path]:
    """Train federations and write their tables; those that are there already are checked.

    Parameters
    ----------
    names
        Keys of `FEDERATIONS`; all of them when empty.
    out
        The folder of the tables.
    size, seed
        The size of the experiment, and its seed.
    device
        Where to train, e.g. "cuda"; the CPU unless given.
    seconds
        Start no further federation after this many seconds.
    """
    started = time.perf_counter()
    wanted = [federation_of(name, size, seed) for name in names or FEDERATIONS]
    written = []
    for federation in wanted:
        if seconds is not None and time.perf_counter() - started > seconds:
            _say(f"{federation.name}: left out, the time is up; run again for the rest")
            continue
        find_table(federation, out, device=device, say=_say)
        written.append(table_path(out, federation))
        _say(f"{federation.name}: in {written[-1]}, {time.perf_counter() - started:.0f} s in all")
    return written


def _say(line: str) -> None:
    sys.stderr.write(f"{line}\n")
    sys.stderr.flush()


def main(arguments: Sequence[str] | None = None) -> int:
    """Return the command; 2 when it could not be done."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.paper.tabulating", description=__doc__
    )
    parser.add_argument("names", nargs="*", metavar="NAME", help="federations; all unless given")
    parser.add_argument("--out", type=Path, required=True, help="the folder of the tables")
    parser.add_argument("--quick", action="store_true", help="small networks and few rounds")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--device", help='e.g. "cuda"; the CPU unless given')
    parser.add_argument("--seconds", type=float, help="start no federation after this many seconds")
    options = parser.parse_args(arguments)
    try:
        tabulate(
            options.names,
            options.out,
            size="quick" if options.quick else "full",
            seed=options.seed,
            device=options.device,
            seconds=options.seconds,
        )
    except FairShapleyError as error:
        _say(f"error: {error}")
        return 2
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
