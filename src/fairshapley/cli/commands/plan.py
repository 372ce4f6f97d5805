"""`fairshapley plan`: what a run would take, from a pilot."""

from __future__ import annotations

from typing import Annotated

from fairshapley.cli.options import DataOptions, RunOptions, output_option, run_option
from fairshapley.cli.printing import emit, print_json


def plan_run(
    data: DataOptions,
    run: RunOptions,
    pilot: Annotated[
        int | None,
        run_option(
            metavar="N",
            help="Evaluations of the pilot, at least 2 for each player and 2; 10 for each by "
            "default.",
        ),
    ] = None,
    as_json: Annotated[
        bool, output_option("--json", help="Print one JSON object instead.")
    ] = False,
    quiet: Annotated[bool, output_option("--quiet", help="No notes.")] = False,
) -> None:
    """Say what a run of `value` would take: evaluations, time, memory, and the tolerance reached.

    A pilot is run for it. With --journal its utilities are kept, and `value` with the same options
    does not compute them again.

    Example: fairshapley plan train.csv --target label --epsilon1 0.5 --xi share --journal run.db
    """
    from fairshapley.cli.setup import check_places, chosen_xi, load_game, run_limits, show_notes
    from fairshapley.fairness.levels import DELTA
    from fairshapley.uses.forecasting import forecast

    made = load_game(data)
    limits = run_limits(run, made.game.n_players)
    check_places(run.engine, run.journal)
    show_notes((*made.notes, *limits.notes), quiet=quiet)
    tolerance = chosen_xi(made.game, run, limits, quiet=quiet)
    planned = forecast(
        made.game,
        limits.method,
        budget=limits.budget,
        until=limits.until,
        engine=run.engine,
        pilot=True if pilot is None else pilot,
        delta=DELTA if run.delta is None else run.delta,
        semivalue=run.semivalue,
        xi=tolerance.xi,
        seed=run.seed,
        journal=run.journal,
    )
    if not as_json:
        for sentence in (*planned.sentences(), tolerance.sentence):
            emit(sentence)
        return
    print_json(
        {
            "pilot": planned.pilot,
            "evaluations": planned.evaluations,
            "needed": planned.needed,
            "allowed": planned.allowed,
            "epsilon1": planned.epsilon1,
            "xi": tolerance.xi,
            "seconds": planned.seconds,
            "seconds_each": planned.seconds_each,
            "cache_bytes": planned.cache_bytes,
        }
    )
