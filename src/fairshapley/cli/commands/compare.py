"""`fairshapley compare`: several methods on one game, audited."""

from __future__ import annotations

from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import Any

from fairshapley.cli.options import (
    Anyway,
    AsJson,
    CsvOut,
    DataOptions,
    Delta,
    Quiet,
    RunOptions,
    Seed,
    Semivalue,
    Xi,
    run_option,
)
from fairshapley.cli.printing import print_json, print_shown
from fairshapley.errors import InputError


def compare_methods(
    data: DataOptions,
    methods: str = run_option(
        "adjusted,mc,kernel",
        "Methods, with commas between them.",
    ),
    budget: int | None = run_option(
        None, "Utility evaluations of each run; by default 20 for each player.", "N", min=2
    ),
    repeats: int = run_option(20, "Runs of each method, each with its own seed."),
    truth: Path | None = run_option(
        None,
        "A result (.json) to use as the truth, such as that of value with 100 times the "
        "budget. Without it, the values of up to 16 players are computed exactly.",
        "FILE",
    ),
    semivalue: Semivalue = "shapley",
    epsilon1: float = run_option(0.5, "ε1 of the certificates.", "E"),
    delta: Delta = 0.1,
    xi: Xi = "auto",
    seed: Seed = 0,
    anyway: Anyway = False,
    out: CsvOut = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compare methods at equal cost: repeat each, and compare with the true values.

    Example: fairshapley compare train.csv --target label --group-by supplier --methods mc,owen
    """
    from fairshapley.cli.output import give_answer
    from fairshapley.cli.running import announce, chosen_method, chosen_xi, run_settings
    from fairshapley.cli.setup import check_files, load_game, load_result, show_notes
    from fairshapley.comparison.audits import EXACT_TRUTH_PLAYERS
    from fairshapley.comparison.audits import compare as compared
    from fairshapley.planning import forecast
    from fairshapley.results.tables import write_rows

    check_files((data.train, data.test, truth), (out, (".csv",)))
    names = [name.strip() for name in methods.split(",") if name.strip()]
    for name in names:
        chosen_method(name, {})
    made = load_game(data)
    spent = 20 * made.game.n_players if budget is None else budget
    run = RunOptions(semivalue=semivalue, budget=spent, xi=xi, seed=seed, anyway=anyway)
    run_settings(run, made.game)
    known, sentence = None, "the truth is exact: every coalition was evaluated"
    if truth is not None:
        known, sentence = load_result(truth), f"the truth is {truth}"
        players = known.evidence.player_names or (), known.n_players, known.semivalue
        if players != (made.game.player_names or (), made.game.n_players, semivalue):
            raise InputError(
                f"{truth} holds {known.semivalue} values of other players, or another semivalue "
                f"than {semivalue}: give the result of the same game"
            )
    elif made.game.n_players > EXACT_TRUTH_PLAYERS:
        raise InputError(
            f"the true values of {made.game.n_players} players are not known: give --truth, a "
            "result of value with 100 times the budget, or make fewer players with --group-by"
        )
    single = forecast(made.game, budget=spent)
    planned = replace(single, allowed=len(names) * repeats * single.allowed)
    announce(planned, ["take fewer --repeats, or a smaller --budget"], run, quiet=quiet)
    tolerance = chosen_xi(made.game, run)
    notes = [*made.notes, sentence, tolerance.sentence]
    show_notes(notes, quiet=quiet)
    comparison = compared(
        made.game,
        names,
        budget=spent,
        repeats=repeats,
        truth=None if known is None else known.values,
        seed=seed,
        xi=tolerance.xi,
        semivalue=semivalue,
        epsilon1=epsilon1,
        delta=delta,
    )
    rows: list[dict[str, Any]] = [
        {"method": name} | audit.row() for name, audit in comparison.audits.items()
    ]
    for row in rows:  # a share of no cases is empty
        row["fair_share"] = None if isnan(row["fair_share"]) else row["fair_share"]

    def show(_written: object) -> None:
        if as_json:
            print_json({"repeats": repeats, "xi": tolerance.xi, "notes": notes, "methods": rows})
        else:
            print_shown(f"{repeats} runs of each method, budget {spent:,}", *comparison.shown())

    give_answer([("table", out, lambda path: write_rows(rows, path))], show, quiet=as_json)
