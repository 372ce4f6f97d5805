"""`fairshapley value`: what the rows of a table are worth."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from fairshapley.cli.options import DataOptions, OutputOptions, RunOptions
from fairshapley.results.origin import recorded

if TYPE_CHECKING:
    from fairshapley.evaluation.evaluator import OnError

BELOW_XI = "below ξ a value counts as zero"


def value_table(data: DataOptions, run: RunOptions, output: OutputOptions) -> None:
    """Value the rows of a table, or groups of them, by what they add to a model.

    Missing values and texts are handled in a documented way; every decision is reported.

    Example: fairshapley value train.csv --target label --test test.csv --out values.csv

    Example: fairshapley value train.csv --target label --group-by supplier --epsilon1 0.5 --xi mean
    """
    from fairshapley._basics.memory import limit_memory
    from fairshapley.cli.output import finish
    from fairshapley.cli.planning import KNN, LOO, advice, announce
    from fairshapley.cli.setup import (
        check_outputs,
        check_places,
        chosen_xi,
        computed,
        input_files,
        load_game,
        run_limits,
        show_notes,
    )
    from fairshapley.runs.calls import estimate
    from fairshapley.uses.forecasting import forecast

    check_outputs(output, (data.train, data.test), run.journal)
    if run.memory is not None:
        limit_memory(int(run.memory * 2**30))
    made = load_game(data)
    if run.method in (KNN, LOO):
        result = computed(made, data, run, quiet=output.quiet)
        finish(result, output, labels=made.labels, title=data.train.name)
        return
    limits = run_limits(run, made.game.n_players)
    check_places(run.engine, run.journal)
    show_notes((*made.notes, *limits.notes), quiet=output.quiet)
    planned = forecast(
        made.game, limits.method, budget=limits.budget, until=limits.until, engine=run.engine
    )
    announce(planned, advice(planned, data), run, quiet=output.quiet)
    tolerance = chosen_xi(made, run, limits, quiet=output.quiet)
    show_notes((f"{tolerance.sentence}; {BELOW_XI}",), quiet=output.quiet)
    notes = (*made.notes, *limits.notes, tolerance.sentence)
    with recorded(inputs=input_files(data), notes=notes):
        result = estimate(
            made.game,
            limits.method,
            budget=limits.budget,
            until=limits.until,
            semivalue=run.semivalue,
            xi=tolerance.xi,
            seed=run.seed,
            engine=run.engine,
            journal=run.journal,
            verify=run.verify,
            on_error=cast("OnError", run.on_error),
            progress=False if output.quiet else None,
        )
    finish(result, output, wanted=limits.until, labels=made.labels, title=data.train.name)
