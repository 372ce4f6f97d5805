"""`fairshapley compare`: several methods on one game, audited."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from fairshapley.cli.options import (
    AsJson,
    CsvOut,
    DataOptions,
    Quiet,
    RunOptions,
    ValueOptions,
    run_option,
)
from fairshapley.cli.printing import print_json, print_shown
from fairshapley.errors import InputError


def compare_methods(
    data: DataOptions,
    values: ValueOptions,
    methods: str = run_option("adjusted,mc,kernel", "Methods, with commas between them."),
    budget: int | None = run_option(
        None, "Utility evaluations of each run; by default 20 for each player.", "N", min=2
    ),
    repeats: int = run_option(20, "Runs of each method, each with its own seed."),
    truth: Path | None = run_option(
        None,
        "A result (.json) with the true values; they are computed for up to 16 players.",
        "FILE",
    ),
    out: CsvOut = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare methods at equal cost: repeat each, and compare with the true values.

    Example: fairshapley compare train.csv --target label --group-by supplier --methods mc,owen
    """
    from fairshapley._basics.files import write_whole
    from fairshapley.cli.output import File, give_answer
    from fairshapley.cli.running import announce, chosen_method, chosen_xi
    from fairshapley.cli.setup import check_files, load_game, load_result, show_notes
    from fairshapley.comparison.audits import compare as compared
    from fairshapley.planning import forecast
    from fairshapley.results.tables import csv_bytes

    check_files((data.train, data.test, truth), (out, (".csv",)))
    names = [name.strip() for name in methods.split(",") if name.strip()]
    for name in names:
        chosen_method(name, {})
    made = load_game(data)
    game = made.game
    spent = 20 * game.n_players if budget is None else budget
    run = RunOptions(**vars(values), budget=spent)
    known = None if truth is None else load_result(truth)
    if known is not None and (known.names(), known.semivalue) != (game.player_names, run.semivalue):
        raise InputError(
            f"{truth} holds {known.semivalue} values of other players, or another semivalue than "
            f"{run.semivalue}: give the result of the same game"
        )
    single = forecast(game, budget=spent)
    planned = replace(single, allowed=len(names) * repeats * single.allowed)
    announce(planned, run, quiet=quiet, shorter=["take fewer --repeats, or a smaller --budget"])
    xi, sentence = chosen_xi(game, run.xi)
    comparison = compared(
        game,
        names,
        spent,
        repeats=repeats,
        truth=None if known is None else known.values,
        seed=run.seed,
        xi=xi,
        semivalue=run.semivalue,
    )
    exact = "the truth is exact: every coalition was evaluated"
    notes = [*made.notes, exact if truth is None else f"the truth is {truth}", sentence]
    show_notes(notes, verbose=not quiet)
    rows = comparison.rows()

    def show(_written: object) -> None:
        if as_json:
            print_json({"repeats": repeats, "xi": xi, "notes": notes, "methods": rows})
        else:
            print_shown([f"{repeats} runs of each method, budget {spent:,}"], *comparison.shown())

    columns = {name: [row[name] for row in rows] for name in rows[0]}
    table: File = ("table", out, lambda path: write_whole(path, csv_bytes(columns)))
    give_answer([table], show, quiet=as_json)
