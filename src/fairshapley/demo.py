"""The embedded example: fourteen clinics deliver rows, one of them copies, one of them guesses."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np
from sklearn.datasets import load_breast_cancer

from fairshapley._basics.files import write_whole
from fairshapley.randomness import side_generator

CLINICS = (
    "Ashby", "Bolton", "Corby", "Derby", "Epsom", "Fleet", "Goole",
    "Hexham", "Ilkley", "Jarrow", "Kendal", "Ludlow", "Marlow", "Norton",
)  # fmt: skip
COPIED, COPY, GUESSES = "Ashby", "Marlow", "Norton"
ROWS_EACH = 20
# The mean measurements; the others are their errors and extremes.
MEASURED = 10


def write_clinics(folder: Path) -> tuple[Path, Path]:
    """Write clinics.csv, the rows to be valued, and test.csv, the rows to score on.

    The rows are scikit-learn's breast cancer data, dealt out at random. One clinic sends the rows
    of another, and one sends labels drawn at random.

    Examples
    --------
    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as place:
    ...     train, test = write_clinics(Path(place))
    ...     len(train.read_text().splitlines()), len(test.read_text().splitlines())
    (281, 290)
    """
    data = load_breast_cancer()
    names = [str(name).replace("mean ", "").replace(" ", "_") for name in data.feature_names]
    draw = side_generator(0, "clinics")
    order = draw.permutation(len(data.target))
    diagnoses = data.target_names[data.target]
    parts = {name: order[ROWS_EACH * at :][:ROWS_EACH] for at, name in enumerate(CLINICS)}
    parts[COPY] = parts[COPIED]
    guessed = draw.permutation(np.repeat(data.target_names, ROWS_EACH // 2))

    def rows(name: str, chosen: Iterable[int]) -> list[list[object]]:
        measured = [[*data.data[row][:MEASURED], diagnoses[row]] for row in chosen]
        if name == GUESSES:
            measured = [[*row[:-1], label] for row, label in zip(measured, guessed, strict=True)]
        return [[name, *row] if name else row for row in measured]

    header = [*names[:MEASURED], "diagnosis"]
    valued = [row for name, chosen in parts.items() for row in rows(name, chosen)]
    scored = rows("", order[ROWS_EACH * len(CLINICS) :])
    train, test = folder / "clinics.csv", folder / "test.csv"
    _write(train, [["clinic", *header], *valued])
    _write(test, [header, *scored])
    return train, test


def _write(path: Path, rows: Sequence[Sequence[object]]) -> None:
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(rows)
    write_whole(path, text.getvalue().encode("utf-8"))
