"""`fairshapley value`: what the rows of a table are worth."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, cast

from fairshapley.cli.options import DataOptions, OutputOptions, RunOptions, UtilityOptions
from fairshapley.results.origin import InputFile, recorded

if TYPE_CHECKING:
    from fairshapley.evaluation.evaluator import OnError
    from fairshapley.games.game import Game
    from fairshapley.planning import Forecast

BELOW_XI = "below ξ a value counts as zero"


def value_table(
    data: DataOptions, utility: UtilityOptions, run: RunOptions, output: OutputOptions
) -> None:
    """Value the rows of a table, or groups of them, by what they add to a model.

    Missing values and texts are handled in a documented way; every decision is reported.

    Example: fairshapley value train.csv --target label --test test.csv --out values.csv

    Example: fairshapley value train.csv --target label --group-by supplier --epsilon1 0.5 --xi mean

    Example: fairshapley value train.csv --utility volume --group-by supplier --drop label
    """
    from fairshapley.cli.output import finish
    from fairshapley.cli.planning import KNN, LOO, advice
    from fairshapley.cli.setup import (
        check_outputs,
        computed,
        input_files,
        load_game,
        load_providers,
    )

    check_outputs(output, (data.train, data.test), run.journal)
    title = data.train.name
    if utility.utility != "model":
        game, notes = load_providers(data, utility)
        inputs = input_files(data.train)
        value_game(game, run, output, notes=notes, inputs=inputs, title=title)
        return
    made = load_game(data)
    if run.method in (KNN, LOO):
        result = computed(made, data, run, quiet=output.quiet)
        finish(result, output, labels=made.labels, title=title)
        return
    value_game(
        made.game,
        run,
        output,
        notes=made.notes,
        inputs=input_files(data.train, data.test),
        title=title,
        labels=made.labels,
        advise=lambda planned: advice(planned, data),
    )


def value_game(
    game: Game,
    run: RunOptions,
    output: OutputOptions,
    *,
    notes: Sequence[str],
    inputs: tuple[InputFile, ...],
    title: str,
    labels: tuple[str, ...] | None = None,
    advise: Callable[[Forecast], Sequence[str]] = lambda _planned: (),
) -> None:
    """Run a game as the options say, and write and print what was found.

    Parameters
    ----------
    game, run, output
        What is valued, how far, and where the result goes.
    notes, inputs, title, labels
        What was decided on the way to the game, the files behind it, and what the report shows.
    advise
        What to do instead of a long run.
    """
    from fairshapley.cli.output import finish
    from fairshapley.cli.planning import announce
    from fairshapley.cli.setup import chosen_xi, run_limits, show_notes
    from fairshapley.planning import forecast
    from fairshapley.runs.calls import estimate

    limits = run_limits(run, game)
    show_notes((*notes, *limits.notes), quiet=output.quiet)
    planned = forecast(
        game, limits.method, budget=limits.budget, until=limits.until, engine=run.engine
    )
    announce(planned, advise(planned), run, quiet=output.quiet)
    tolerance = chosen_xi(game, run, limits, quiet=output.quiet)
    show_notes((f"{tolerance.sentence}; {BELOW_XI}",), quiet=output.quiet)
    with recorded(inputs=inputs, notes=(*notes, *limits.notes, tolerance.sentence)):
        result = estimate(
            game,
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
    finish(result, output, wanted=limits.until, labels=labels, title=title)
