"""`fairshapley compare`: several methods on one game, audited."""

from __future__ import annotations

from dataclasses import replace
from math import isnan
from pathlib import Path
from typing import TYPE_CHECKING, Any

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

if TYPE_CHECKING:
    from fairshapley._basics.types import FloatArray
    from fairshapley.comparison.repeated_runs import Comparison
    from fairshapley.tables import TabularGame


def compare_methods(
    data: DataOptions,
    methods: str = run_option(
        "adjusted,mc,kernel",
        "Methods, with commas between them.",
    ),
    budget: int | None = run_option(
        None, "Utility evaluations of each run; by default 20 for each player.", "N"
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
    from fairshapley.cli.output import Ending
    from fairshapley.cli.planning import announce
    from fairshapley.cli.setup import (
        check_budget,
        check_files,
        chosen_xi,
        load_game,
        run_limits,
        show_notes,
    )
    from fairshapley.comparison.audits import compare as compared
    from fairshapley.planning import forecast
    from fairshapley.results.tables import write_rows

    check_files((data.train, data.test, truth), (out, (".csv",)))
    names = _method_names(methods)
    made = load_game(data)
    spent = check_budget(budget) or 20 * made.game.n_players
    if repeats < 2:
        raise InputError(f"--repeats must be at least 2, not {repeats}")
    run = RunOptions(semivalue=semivalue, budget=spent, xi=xi, seed=seed, anyway=anyway)
    limits = run_limits(run, made.game)
    known, sentence = _truth(made, truth, semivalue)
    one = forecast(made.game, budget=spent)
    planned = replace(one, allowed=len(names) * repeats * one.allowed)
    announce(planned, ["take fewer --repeats, or a smaller --budget"], run, quiet=quiet)
    show_notes((*made.notes, sentence), quiet=quiet)
    tolerance = chosen_xi(made.game, run, limits, quiet=quiet)
    comparison = compared(
        made.game,
        names,
        budget=spent,
        repeats=repeats,
        truth=known,
        seed=seed,
        xi=tolerance.xi,
        semivalue=semivalue,
        epsilon1=epsilon1,
        delta=delta,
    )
    rows = _rows(comparison)
    ending = Ending()
    ending.write("table", out, lambda path: write_rows(rows, path))
    with ending.step():
        if as_json:
            notes = [*made.notes, sentence, tolerance.sentence]
            print_json({"repeats": repeats, "xi": tolerance.xi, "notes": notes, "methods": rows})
        else:
            print_shown(f"{repeats} runs of each method, budget {spent:,}", *comparison.shown())
    ending.close(quiet=as_json)


def _method_names(text: str) -> list[str]:
    from fairshapley.estimators import METHODS

    names = [name.strip() for name in text.split(",") if name.strip()]
    unknown = [name for name in names if name not in METHODS]
    if unknown or not names:
        wrong = f"unknown method {unknown[0]!r:.40}" if unknown else "no method is given"
        raise InputError(f"{wrong}: use some of {', '.join(sorted(METHODS))}")
    return names


def _truth(made: TabularGame, file: Path | None, semivalue: str) -> tuple[FloatArray | None, str]:
    """What counts as the truth: a file, or (None) exact values."""
    from fairshapley.comparison.audits import EXACT_TRUTH_PLAYERS
    from fairshapley.results.result import Result

    players = made.game.n_players
    if file is not None:
        result = Result.load(file)
        if result.n_players != players or result.semivalue != semivalue:
            raise InputError(
                f"{file} holds {result.semivalue} values of {result.n_players} players, these are "
                f"{semivalue} values of {players}: give the result of the same game"
            )
        if result.player_names != made.game.player_names:
            raise InputError(f"{file} has other players: give the result of the same game")
        return result.values, f"the truth is {file}"
    if players > EXACT_TRUTH_PLAYERS:
        raise InputError(
            f"the true values of {players} players are not known: give --truth, a result of value "
            "with 100 times the budget, or make fewer players with --group-by"
        )
    return None, "the truth is exact: every coalition was evaluated"


def _rows(comparison: Comparison) -> list[dict[str, Any]]:
    """One row per method, plain numbers; a share of no cases is empty."""
    rows: list[dict[str, Any]] = [
        {"method": name, **one.row()} for name, one in comparison.audits.items()
    ]
    return [row | {"fair_share": None} if isnan(row["fair_share"]) else row for row in rows]
