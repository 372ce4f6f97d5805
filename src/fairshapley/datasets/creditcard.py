"""Credit card payments: the publisher's table, and compact copies of a sample of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fairshapley.datasets.dataset import Dataset
from fairshapley.datasets.entry import Wanted
from fairshapley.datasets.files import check_found
from fairshapley.datasets.parsing import read_archive, read_numbers

_NAMES = ("Time", *(f"V{number}" for number in range(1, 29)), "Amount")
_ROWS, _FRAUDS = 284_807, 492
# The mean of Amount over all rows, to the published digits.
_MEAN_AMOUNT = 88.3496


def read_creditcard(files: tuple[Path, ...], wanted: Wanted) -> Dataset:
    """All features, or Time and Amount alone."""
    short = wanted.variant == "time_amount"
    if wanted.kind == "original":
        table = read_numbers(files[0], 31, np.float64, skip=1)
        features, y = table[:, [0, -2] if short else slice(-1)], table[:, -1]
        check_found(files[0], "rows", _ROWS, len(y))
        check_found(files[0], "frauds", _FRAUDS, int((y == 1).sum()))
        mean = round(float(table[:, -2].mean()), 4)
        check_found(files[0], "mean Amount", _MEAN_AMOUNT, mean)
    elif short:
        time, cents, y = read_archive(files[0], ("time", "amount_cents", "y")).values()
        features = np.column_stack([time.astype(np.float64), cents / 100])
    else:
        features, y, drawn = read_archive(files[0], ("X", "y", "part")).values()
        keep = drawn <= 1 if wanted.part == "sample" else slice(None)
        features, y = features[keep].astype(np.float64), y[keep]
        # Amounts are cents, which single precision misses by up to 0.001.
        features[:, -1] = features[:, -1].round(2)
    names = ("Time", "Amount") if short else _NAMES
    classes = ("legitimate", "fraud")
    return Dataset(wanted.name, features, y.astype(np.int64), names, classes, (0, 1))
