"""`fairshapley plan`: what a run would take, from a pilot."""

from __future__ import annotations

from fairshapley.cli.options import AsJson, DataOptions, Quiet, RunOptions, run_option
from fairshapley.cli.printing import emit, print_json

PLANNED = (
    "pilot", "evaluations", "needed", "needed_at_most", "allowed", "epsilon1", "seconds",
    "seconds_each", "cache_bytes", "cost", "cost_unit",
)  # fmt: skip
"""What `--json` prints of a forecast, beside ξ"""


def plan_run(
    data: DataOptions,
    run: RunOptions,
    pilot: int | None = run_option(
        None, "Evaluations of the pilot: at least 2 per player and 2; by default 10 each.", "N"
    ),
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say what a run of `value` would take: evaluations, time, memory, and the tolerance reached.

    A pilot is run for it. With --journal its utilities are kept, and `value` with the same options
    does not compute them again.

    Example: fairshapley plan train.csv --target label --epsilon1 0.5 --xi share --journal run.db
    """
    from fairshapley.cli.running import chosen_xi, run_settings
    from fairshapley.cli.setup import load_game, show_notes
    from fairshapley.planning import forecast

    made = load_game(data)
    given, notes = run_settings(run, made.game, made.unions)
    show_notes((*made.notes, *notes), verbose=not quiet)
    xi, sentence = chosen_xi(made.game, run.xi)
    planned = forecast(made.game, pilot=True if pilot is None else pilot, xi=xi, **given)
    if as_json:
        print_json({name: getattr(planned, name) for name in PLANNED} | {"xi": xi})
        return
    for line in (*planned.sentences(), sentence):
        emit(line)
