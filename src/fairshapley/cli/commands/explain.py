"""`fairshapley explain`: what the columns of a table do to a model's predictions."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairshapley.cli.options import AsJson, CsvOut, DataOptions, Quiet, Seed, Verbose, run_option


def explain_table(
    data: DataOptions,
    rows: int = run_option(10, "How many of the test rows, from the first on.", "N", min=1),
    budget: int | None = run_option(None, "The most coalitions for each row.", "N", min=2),
    seed: Seed = 0,
    out: CsvOut = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
    verbose: Verbose = False,
) -> None:
    """Explain predictions: what each column adds to them, row by row (P4 of the paper).

    The model is fitted to TRAIN and explained on the test rows; what is absent comes from TRAIN,
    from 100 of its rows where there are more.

    Example: fairshapley explain train.csv --target label --test test.csv --out v.csv
    """
    from sklearn.base import clone

    from fairshapley._basics.files import write_whole
    from fairshapley.cli.output import File, give_answer
    from fairshapley.cli.printing import emit, print_json
    from fairshapley.cli.setup import check_files, load_game, show_notes
    from fairshapley.explanations import explain
    from fairshapley.games.features.arguments import DEFAULT_BACKGROUND
    from fairshapley.randomness import root_seed
    from fairshapley.results.tables import csv_bytes
    from fairshapley.tables.splitting import sample_rows

    seed = root_seed(seed)
    check_files((data.train, data.test), (out, (".csv",)))
    made = load_game(data)
    show_notes(made.notes_on_rows, verbose=verbose)
    groups: dict[str, list[str]] = {}
    for column, name in zip(made.columns, made.feature_names, strict=True):
        groups.setdefault(column, []).append(name)
    background = sample_rows(len(made.features), DEFAULT_BACKGROUND, seed)
    found = explain(
        clone(made.game.model).fit(*made.game.train),
        made.test_features[:rows],
        made.features[background],
        groups=groups,
        feature_names=made.feature_names,
        budget=budget,
        seed=seed,
        progress=False if quiet else None,
    )
    found = replace(found, rows=tuple(made.test_numbers[row] for row in found.rows))
    columns: dict[str, Any] = found.to_frame("dict")
    values: File = ("values", out, lambda path: write_whole(path, csv_bytes(columns)))
    give_answer(
        [values], lambda _: print_json(columns) if as_json else emit(str(found)), quiet=quiet
    )
