"""Find harmed rows by all methods, and write what was found.

Examples
--------
``python -m benchmarks.bad_rows run``
``python -m benchmarks.bad_rows run --sets adult --owners fairshapley``
``python -m benchmarks.bad_rows calibration``
``python -m benchmarks.bad_rows audit``
``python -m benchmarks.bad_rows report``
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence

from benchmarks.bad_rows import audit, calibration, report, runner
from benchmarks.bad_rows.data import SETS


def main(arguments: Sequence[str] | None = None) -> None:
    """The command line."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.bad_rows", description=__doc__)
    parser.add_argument("what", choices=["run", "calibration", "audit", "report"])
    parser.add_argument("--sets", nargs="+", choices=list(SETS), default=list(SETS))
    parser.add_argument("--owners", nargs="+", default=[], help="fairshapley, cleanlab, …")
    parser.add_argument("--seeds", type=int, default=audit.SEEDS, help="of the audit")
    options = parser.parse_args(arguments)
    if options.what == "run":
        runner.run(options.sets, options.owners)
    elif options.what == "calibration":
        calibration.run()
    elif options.what == "audit":
        audit.write(options.seeds)
    report.write()


if __name__ == "__main__":
    main()
