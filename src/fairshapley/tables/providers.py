"""The rows of several providers in one table, as features (and targets) of each."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fairshapley._basics.text import quoted, several
from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError
from fairshapley.tables.columns import column_of, read_target, texts_of
from fairshapley.tables.preprocessing import Preprocessor

if TYPE_CHECKING:
    import pyarrow as pa


Rows: TypeAlias = dict[str, FloatArray]
"""What each provider holds, by its name"""


def read_providers(
    table: pa.Table,
    group_by: str,
    target: str | None = None,
    drop: Sequence[str] = (),
    *,
    independent: bool = False,
) -> tuple[Rows, Rows, list[str]]:
    """Return the features and targets of providers, in the order in which they appear, and notes.

    Numbers are standardised over all rows, texts become categories, as in `table_game`.

    Parameters
    ----------
    table
        The rows of all providers.
    group_by
        The column that names the provider.
    target
        The column of numbers to be predicted, where there is one; standardised.
    drop
        Columns to leave out.
    independent
        Leave out features that follow from others, such as the last category of a second text:
        with them every volume is 0.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"who": ["a", "b", "a"], "x": [0.0, 1.0, 2.0]})
    >>> read_providers(rows, "who")[0]["a"].round(2)
    array([[-1.22],
           [ 1.22]])
    """
    what = "training"
    owners = texts_of(table, group_by, what, "group_by=")
    for name in drop:
        column_of(table, name, what, "drop=")
    used = {group_by, target, *drop}
    fitted = Preprocessor.fit(table, [name for name in table.column_names if name not in used])
    features = fitted.encode(table, what)
    names, codes = np.unique(np.array(owners, dtype=object), return_inverse=True)
    places = {name: np.flatnonzero(codes == at) for at, name in enumerate(names)}
    places = {name: places[name] for name in dict.fromkeys(owners)}
    notes = [*fitted.notes, f"{several(len(places), 'provider')} by {group_by!r:.60}"]
    if independent:
        kept = _independent(features)
        rest = [name for at, name in enumerate(fitted.feature_names) if at not in kept]
        features = features[:, kept]
        notes += [f"left out, since they follow from the others: {quoted(rest)}"] if rest else []
    targets: Rows = {}
    if target is not None:
        numbers = read_target(table, target, what).numbers()
        if not np.ptp(numbers) > 0:
            raise InputError(
                f"the target {target!r:.60} is the same in all rows: give a column of different "
                "numbers"
            )
        answers = (numbers - numbers.mean()) / numbers.std()
        targets = {name: answers[rows] for name, rows in places.items()}
    return {name: features[rows] for name, rows in places.items()}, targets, notes


def _independent(features: FloatArray) -> list[int]:
    """Return the columns that do not follow from those before them."""
    columns = np.linalg.qr(features / np.linalg.norm(features, axis=0)).R
    kept: list[int] = []
    for at in range(columns.shape[1]):
        # Far above what rounding leaves of a column that follows from others.
        if np.linalg.matrix_rank(columns[:, [*kept, at]], tol=1e-9) > len(kept):
            kept.append(at)
    return kept
