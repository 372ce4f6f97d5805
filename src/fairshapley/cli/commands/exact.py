"""`fairshapley exact`: the exact values, from all coalitions."""

from __future__ import annotations

from fairshapley.cli.commands.value import value_table
from fairshapley.cli.options import (
    DataOptions,
    Engine,
    Journal,
    OutputOptions,
    RunOptions,
    Semivalue,
)


def exact_values(
    data: DataOptions,
    output: OutputOptions,
    semivalue: Semivalue = "shapley",
    journal: Journal = None,
    engine: Engine = None,
) -> None:
    """Compute exact values by evaluating every coalition of up to 25 rows or groups.

    All 2ⁿ coalitions are evaluated: a thousand for 10 players, a million for 20.

    Example: fairshapley exact train.csv --target label --group-by supplier --test test.csv
    """
    run = RunOptions(semivalue=semivalue, method="exact", journal=journal, engine=engine)
    value_table(data, run, output)
