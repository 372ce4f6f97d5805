"""`fairshapley payout`: divide a sum of money by the values of a result."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Literal, cast

from fairshapley.cli.groups import option
from fairshapley.cli.options import AsJson, CsvOut, Saved, Verbose, output_option
from fairshapley.cli.printing import print_json, print_payout

NEGATIVE = ("zero", "charge")


def divide_sum(
    run: Saved,
    pool: str = option(..., "What is divided, such as 1000.", "SUM"),
    negative: str = option(
        "zero", "Players with negative values: zero pays them nothing, charge takes from them."
    ),
    unit: str = option("0.01", "Amounts are multiples of it: 0.01 for cents.", "U"),
    out: CsvOut = None,
    letters: Path | None = output_option(
        None, "Write a page for each player into this folder, without the others' amounts.", "DIR"
    ),
    as_json: AsJson = False,
    verbose: Verbose = False,
) -> None:
    """Divide a sum by the values of a saved result, to the cent.

    Example: fairshapley payout values.json --pool 1000 --out amounts.csv
    """
    from fairshapley._basics.checks import choice
    from fairshapley.cli.output import File, give_answer
    from fairshapley.cli.setup import check_files, load_result
    from fairshapley.results.payouts.letters import write_letters

    choice("--negative", negative, NEGATIVE)
    check_files((run,), (out, (".csv",)))
    result = load_result(run)
    kind = cast("Literal['zero', 'charge']", negative)
    divided = result.payout(pool, negative=kind, unit=unit)

    def show(_written: object) -> None:
        if as_json:
            print_json(divided.to_dict())
        else:
            print_payout(divided, verbose=verbose)

    write = partial(write_letters, result, divided)
    files: list[File] = [("amounts", out, divided.to_csv), ("letters", letters, write)]
    give_answer(files, show, quiet=as_json)
