"""`fairshapley value`: what the rows of a table are worth."""

from __future__ import annotations

from fairshapley.cli.options import DataOptions, OutputOptions, RunOptions, UtilityOptions


def value_table(
    data: DataOptions, utility: UtilityOptions, run: RunOptions, output: OutputOptions
) -> None:
    """Value the rows of a table, or groups of them, by what they add to a model.

    Missing values and texts are handled in a documented way; columns that are dropped are named.

    Example: fairshapley value train.csv --target label --test test.csv --out values.csv

    Example: fairshapley value train.csv --target label --group-by supplier --epsilon1 0.5

    Example: fairshapley value train.csv --utility volume --group-by supplier --drop label
    """
    from fairshapley.cli.running import run_value

    run_value(data, utility, run, output)
