"""Credit card payments: the publisher's table, and compact copies of a sample of it."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fairshapley.datasets.entry import Content, Entry, Source
from fairshapley.datasets.files import check_found
from fairshapley.datasets.parsing import read_archive, read_numbers

_CREDIT_NAMES = ("Time", *(f"V{number}" for number in range(1, 29)), "Amount")
_CREDIT_ROWS, _FRAUDS = 284_807, 492
# The mean of Amount over all rows, to the published digits.
_MEAN_AMOUNT = 88.3496
_CREDIT_CLASSES = ("legitimate", "fraud")


def _creditcard_original(files: tuple[Path, ...], *, short: bool) -> Content:
    table = read_numbers(files[0], 31, np.float64, skip=1)
    y = table[:, -1].astype(np.int64)
    check_found(files[0], "rows", _CREDIT_ROWS, len(y))
    check_found(files[0], "frauds", _FRAUDS, int((y == 1).sum()))
    mean = round(float(table[:, -2].mean()), 4)
    check_found(files[0], "mean Amount", _MEAN_AMOUNT, mean)
    if short:
        return Content(table[:, [0, -2]], y, ("Time", "Amount"), _CREDIT_CLASSES, (0, 1))
    return Content(table[:, :-1], y, _CREDIT_NAMES, _CREDIT_CLASSES, (0, 1))


def _creditcard_compact(files: tuple[Path, ...], part: str) -> Content:
    features, y, drawn = read_archive(files[0], ("X", "y", "part")).values()
    keep = drawn <= 1 if part == "sample" else np.ones(len(y), dtype=bool)
    sample = "compact copy: 7,658 of the 284,807 rows, a random sample"
    notes = {
        "sample": sample,
        "with_frauds": f"{sample}, and the 477 frauds outside it: not representative",
    }
    # Amounts are cents, which single precision misses by up to 0.001.
    features = features.astype(np.float64)
    features[:, -1] = features[:, -1].round(2)
    return Content(
        features[keep],
        y[keep].astype(np.int64),
        _CREDIT_NAMES,
        _CREDIT_CLASSES,
        (0, 1),
        notes=(notes[part], "V1 to V28 in single precision"),
    )


def _creditcard_compact_short(files: tuple[Path, ...], _part: str) -> Content:
    time, cents, y = read_archive(files[0], ("time", "amount_cents", "y")).values()
    features = np.column_stack([time.astype(np.float64), cents / 100])
    return Content(features, y.astype(np.int64), ("Time", "Amount"), _CREDIT_CLASSES, (0, 1))


_CREDIT_FILE = ("creditcard.csv",)

ENTRIES = (
    Entry(
        name="creditcard",
        description="Credit card fraud detection: 284 807 payments, 30 features, 492 frauds.",
        page="https://www.kaggle.com/datasets/mlg-ulb/creditcardfraud",
        licence="Database Contents License (DbCL) 1.0",
        citation="Dal Pozzolo, Caelen, Johnson & Bontempi (2015), Calibrating probability with "
        "undersampling for unbalanced classification",
        variants={
            "numeric": (
                Source(
                    "original",
                    lambda files, _part: _creditcard_original(files, short=False),
                    {"all": _CREDIT_FILE},
                ),
                Source(
                    "compact",
                    _creditcard_compact,
                    {"sample": ("creditcard.npz",), "with_frauds": ("creditcard.npz",)},
                    {
                        "creditcard.npz": "547469b0c78f40ea9e4eb7c0877b4c96"
                        "37d40f04b42c6e37fa55421276232cdc"
                    },
                ),
            ),
            "time_amount": (
                Source(
                    "original",
                    lambda files, _part: _creditcard_original(files, short=True),
                    {"all": _CREDIT_FILE},
                ),
                Source(
                    "compact",
                    _creditcard_compact_short,
                    {"all": ("creditcard_time_amount_class.npz",)},
                    {
                        "creditcard_time_amount_class.npz": "c80bd70e93e58599065fffdf9df3a69f"
                        "4ea9f48434f255d7aef6a232e19ed403"
                    },
                ),
            ),
        },
        paper="P2, Amount from eight of the features (see prepare.card_amounts)",
    ),
)
