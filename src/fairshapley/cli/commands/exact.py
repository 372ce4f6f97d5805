"""`fairshapley exact`: the exact values, from all coalitions."""

from __future__ import annotations

from fairshapley.cli.groups import grouped
from fairshapley.cli.options import (
    DataOptions,
    Engine,
    Journal,
    OutputOptions,
    RunOptions,
    Semivalue,
)
from fairshapley.results.origin import recorded


@grouped
def exact(
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
    from fairshapley.cli.output import finish
    from fairshapley.cli.setup import (
        check_outputs,
        check_places,
        chosen_xi,
        input_files,
        load_game,
        run_limits,
        show_notes,
    )
    from fairshapley.runs.calls import estimate

    check_outputs(output, (data.train, data.test), journal)
    made = load_game(data)
    run = RunOptions(semivalue=semivalue, method="exact")
    limits = run_limits(run, made.game.n_players)
    check_places(engine, journal)
    show_notes(made.notes, quiet=output.quiet)
    tolerance = chosen_xi(made, run, limits, quiet=output.quiet)
    with recorded(inputs=input_files(data), notes=made.notes):
        result = estimate(
            made.game,
            "exact",
            semivalue=semivalue,
            xi=tolerance.xi,
            seed=run.seed,
            engine=engine,
            journal=journal,
            progress=False if output.quiet else None,
        )
    finish(result, output, labels=made.labels, title=data.train.name)
