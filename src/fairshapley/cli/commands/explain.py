"""`fairshapley explain`: what the columns of a table do to a model's predictions."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any

from fairshapley.cli.options import DataOptions, Seed, output_option, run_option

# What the encoding of a table adds to the name of a column.
_ADDED = re.compile(r" = '.*'$| is missing$| is rare$", re.DOTALL)


def explain_table(
    data: DataOptions,
    rows: Annotated[
        int, run_option(min=1, metavar="N", help="How many of the test rows, from the first on.")
    ] = 10,
    budget: Annotated[
        int | None, run_option(min=2, metavar="N", help="The most coalitions for each row.")
    ] = None,
    seed: Seed = 0,
    out: Annotated[
        Path | None,
        output_option(metavar="FILE", help="Write the values, a line for each row: .csv"),
    ] = None,
    as_json: Annotated[
        bool, output_option("--json", help="Print one JSON object instead of sentences.")
    ] = False,
    quiet: Annotated[bool, output_option("--quiet", help="No notes, no progress.")] = False,
) -> None:
    """Explain predictions: what each column adds to them, row by row (P4 of the paper).

    The model is fitted to TRAIN and explained on the test rows; what is absent is drawn from TRAIN.

    Example: fairshapley explain train.csv --target label --test test.csv --rows 3 --out columns.csv
    """
    from sklearn.base import clone

    from fairshapley._basics.files import write_whole
    from fairshapley.cli.output import Ending
    from fairshapley.cli.printing import emit, print_json
    from fairshapley.cli.setup import load_game, show_notes
    from fairshapley.results.tables import check_writable, csv_bytes
    from fairshapley.uses.explanations import explain

    if out is not None:
        check_writable(out, (".csv",), [data.train, *filter(None, [data.test])])
    made = load_game(data)
    show_notes(made.notes, quiet=quiet)
    groups: dict[str, list[str]] = {}
    for name in made.feature_names:
        groups.setdefault(_ADDED.sub("", name), []).append(name)
    found = explain(
        clone(made.game.model).fit(*made.game.train),
        made.test_features[:rows],
        made.features,
        groups=groups,
        feature_names=made.feature_names,
        budget=budget,
        seed=seed,
        progress=False if quiet else None,
    )
    outputs = found.output_names if found.values.ndim == 3 else ("",)
    columns: dict[str, Any] = {"row": [one + 1 for one in found.rows for _ in outputs]}
    if len(outputs) > 1:
        columns["output"] = [one for _ in found.rows for one in outputs]
    for at, name in enumerate(found.player_names):
        columns[name] = found.values[:, at].ravel().tolist()
    ending = Ending()
    ending.write("values", out, lambda: write_whole(out or Path(), csv_bytes(columns)))
    with ending.step():
        if as_json:
            print_json(columns)
        else:
            emit(str(found))
    ending.close(quiet=quiet)
