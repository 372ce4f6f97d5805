"""`fairshapley value`: what the rows of a table are worth."""

from __future__ import annotations

from dataclasses import replace

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
    from fairshapley.cli.output import finish_run
    from fairshapley.cli.running import (
        KNN,
        LOO,
        SHORTER_ROWS,
        computed,
        examine,
        too_many_rows,
        value_game,
    )
    from fairshapley.cli.setup import (
        check_outputs,
        input_files,
        load_game,
        load_providers,
        show_notes,
    )

    check_outputs(output, (data.train, data.test), run.journal)
    title = data.train.name
    if utility.utility != "model":
        game, notes = load_providers(data, utility)
        inputs = input_files(data.train)
        value_game(game, run, output, notes=notes, inputs=inputs, title=title)
        return
    made = load_game(data)
    if why := too_many_rows(data, run, made.game):
        run = replace(run, method=KNN)
        show_notes((why, *SHORTER_ROWS[1:]), verbose=not output.quiet)
    if run.method in (KNN, LOO):
        result = computed(made, data, run, verbose=output.verbose, why=why)
        finish_run(result, output, labels=made.labels, title=title)
        return
    value_game(
        made.game,
        run,
        output,
        notes=made.notes,
        inputs=input_files(data.train, data.test),
        title=title,
        labels=made.labels,
        unions=made.unions,
        shorter=() if data.group_by else SHORTER_ROWS,
        examine=None if output.pool is None or data.group_by is None else examine(made, data),
        pairs=data.group_by is not None and run.semivalue == "shapley",
    )
