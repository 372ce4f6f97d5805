"""Adult and Covertype of the UCI Machine Learning Repository."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley.datasets.entry import Content, Entry, Source
from fairshapley.datasets.files import DataError, MissingDataError, check_found
from fairshapley.datasets.parsing import (
    CellType,
    Columns,
    object_table,
    read_archive,
    read_numbers,
    read_table,
)

# --- adult --------------------------------------------------------------------------------------

_ADULT_KINDS: dict[str, CellType] = {
    "age": "number",
    "workclass": "text",
    "fnlwgt": "number",
    "education": "text",
    "education_num": "number",
    "marital_status": "text",
    "occupation": "text",
    "relationship": "text",
    "race": "text",
    "sex": "text",
    "capital_gain": "number",
    "capital_loss": "number",
    "hours_per_week": "number",
    "native_country": "text",
    "income": "text",
}
_ADULT_FEATURES = tuple(name for name in _ADULT_KINDS if name != "income")
# `education` says in words what `education_num` says; `fnlwgt` is a weight of the survey.
_ADULT_CODED = tuple(name for name in _ADULT_FEATURES if name not in ("education", "fnlwgt"))
_INCOMES = ("<=50K", ">50K")
# Rows of each income, published.
_ADULT_COUNTS = {"adult.data": [24_720, 7_841], "adult.test": [12_435, 3_846]}
_CODED_NOTE = (
    "categories are numbers as in shap.datasets.adult; code 0 of workclass, occupation and "
    "native_country is missing"
)
# The order in which shap codes this column; every other one is coded in alphabetical order.
_RELATIONSHIPS = ("Not-in-family", "Unmarried", "Other-relative", "Own-child", "Husband", "Wife")


def read_adult(path: Path) -> Columns:
    """A file of the census: ``adult.data`` and ``adult.test`` have no header, the copy has one."""
    if path.name.startswith("adult.csv"):
        table = read_table(path, _ADULT_KINDS)
    elif path.name.startswith("adult.test"):
        # Its first line is a remark, and its incomes end in a full stop.
        table = read_table(path, _ADULT_KINDS, header=tuple(_ADULT_KINDS), skip=1)
    else:
        table = read_table(path, _ADULT_KINDS, header=tuple(_ADULT_KINDS))
    table["income"] = np.array([income.rstrip(".") for income in table["income"]], dtype=object)
    unknown = sorted(set(table["income"].tolist()) - set(_INCOMES))
    if unknown:
        raise DataError(f"{path}: incomes must be <=50K or >50K, found {unknown[0]!r}")
    return table


def _adult(files: tuple[Path, ...], part: str, *, coded: bool) -> Content:
    tables = [read_adult(path) for path in files]
    for path, table in zip(files, tables, strict=True):
        name = "adult.test" if path.name.startswith("adult.test") else "adult.data"
        found = [int((table["income"] == income).sum()) for income in _INCOMES]
        check_found(path, "rows with the incomes <=50K, >50K", _ADULT_COUNTS[name], found)
    joined = {name: np.concatenate([table[name] for table in tables]) for name in _ADULT_KINDS}
    split = np.repeat(["train", "test"][: len(tables)], [len(table["age"]) for table in tables])
    # The codes are those of all rows that were read, so that the two parts agree on them.
    names = _ADULT_CODED if coded else _ADULT_FEATURES
    features = _adult_codes(files[0], joined) if coded else object_table(joined, names)
    keep = slice(None) if part != "test" else split == "test"
    y = (joined["income"] == ">50K").astype(np.int64)
    return Content(
        features[keep],
        y[keep],
        names,
        _INCOMES,
        (0, 1),
        split=split[keep],
        notes=(_CODED_NOTE if coded else "categories are text, ? is missing",),
    )


def _adult_codes(path: Path, table: Columns) -> NDArray[np.float64]:
    coded = np.empty((len(table["age"]), len(_ADULT_CODED)))
    for position, name in enumerate(_ADULT_CODED):
        column = table[name]
        if name == "relationship":
            codes = {value: code for code, value in enumerate(_RELATIONSHIPS)}
            unknown = sorted(set(column.tolist()) - set(codes))
            if unknown:
                raise DataError(f"{path}: unknown relationship {unknown[0]!r}: copy it again")
            coded[:, position] = [codes[value] for value in column]
        elif _ADULT_KINDS[name] == "text":
            coded[:, position] = np.unique(column.astype(np.str_), return_inverse=True)[1]
        else:
            coded[:, position] = column
    return coded


def _adult_sources(*, coded: bool) -> tuple[Source, ...]:
    def read(files: tuple[Path, ...], part: str) -> Content:
        return _adult(files, part, coded=coded)

    both = ("adult.data", "adult.test")
    return (
        Source("original", read, {"train": ("adult.data",), "test": both, "all": both}),
        Source(
            "compact",
            read,
            {"train": ("adult.csv.gz",)},
            {"adult.csv.gz": "a833df349bf96e939cb2de65a084d3a21cd64c4781a95551430453ac6892bb3b"},
        ),
    )


# --- covertype ----------------------------------------------------------------------------------

_COVERS = (
    "Spruce/Fir",
    "Lodgepole Pine",
    "Ponderosa Pine",
    "Cottonwood/Willow",
    "Aspen",
    "Douglas-fir",
    "Krummholz",
)
_COVERTYPE_NAMES = (
    "Elevation",
    "Aspect",
    "Slope",
    "Horizontal_Distance_To_Hydrology",
    "Vertical_Distance_To_Hydrology",
    "Horizontal_Distance_To_Roadways",
    "Hillshade_9am",
    "Hillshade_Noon",
    "Hillshade_3pm",
    "Horizontal_Distance_To_Fire_Points",
    *(f"Wilderness_Area{number}" for number in range(1, 5)),
    *(f"Soil_Type{number}" for number in range(1, 41)),
)
_COVERTYPE_COUNTS = [211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510]
_HEAD = 10_000
_HEAD_NOTE = (
    "part head: the first 10,000 rows, nearly balanced by class, unlike the whole set; "
    "it overlaps with part rand"
)


def _covertype(features: NDArray[Any], y: NDArray[Any], *notes: str) -> Content:
    classes = tuple(range(1, 8))
    features, y = features.astype(np.float64), y.astype(np.int64)
    return Content(features, y, _COVERTYPE_NAMES, _COVERS, classes, notes=notes)


def _covertype_rows(path: Path, features: NDArray[Any], y: NDArray[Any], part: str) -> Content:
    """The whole set, checked, or its head."""
    found = [int((y == cover).sum()) for cover in range(1, 8)]
    check_found(path, "rows", sum(_COVERTYPE_COUNTS), len(y))
    check_found(path, "rows of the classes 1 to 7", _COVERTYPE_COUNTS, found)
    if part == "head":
        return _covertype(features[:_HEAD], y[:_HEAD], _HEAD_NOTE)
    return _covertype(features, y)


def _covertype_original(files: tuple[Path, ...], part: str) -> Content:
    table = read_numbers(files[0], 55, np.int16)
    return _covertype_rows(files[0], table[:, :-1], table[:, -1], part)


def _covertype_compact(files: tuple[Path, ...], part: str) -> Content:
    names = [f"{part}_{name}" for name in ("num", "wilderness", "soil", "y")]
    numbers, wilderness, soil, y = read_archive(files[0], names).values()
    features = np.hstack([numbers, np.eye(4)[wilderness], np.eye(40)[soil]])
    rand = "part rand: 92,962 of the 581,012 rows, a random 16 %; it overlaps with part head"
    return _covertype(features, y, _HEAD_NOTE if part == "head" else rand)


def _covertype_download(_files: tuple[Path, ...], part: str) -> Content:
    from sklearn.datasets import fetch_covtype

    try:
        with warnings.catch_warnings():
            # scikit-learn warns before it tries again; the failure is reported below.
            warnings.simplefilter("ignore")
            features, y = fetch_covtype(return_X_y=True)
    except (OSError, ValueError) as error:
        raise MissingDataError(
            f"covertype could not be fetched by scikit-learn ({error}): try again, or put "
            "covtype.data.gz of https://archive.ics.uci.edu/dataset/31 in the folder that "
            "FAIRSHAPLEY_DATA names"
        ) from None
    return _covertype_rows(Path("fetch_covtype"), features, y, part)


ENTRIES = (
    Entry(
        name="adult",
        description="Adult (census income): 32 561 people, 12 coded or 14 raw features, income "
        "above 50 000 dollars or not; 16 281 more in adult.test.",
        page="https://archive.ics.uci.edu/dataset/2",
        licence="CC BY 4.0 (UCI)",
        citation="Becker & Kohavi (1996), UCI Machine Learning Repository",
        variants={"numeric": _adult_sources(coded=True), "raw": _adult_sources(coded=False)},
        paper="P4, with a random forest, the first 2000 rows",
    ),
    Entry(
        name="covertype",
        description="Covertype: 581 012 patches of forest, 54 features, 7 classes.",
        page="https://archive.ics.uci.edu/dataset/31",
        licence="CC BY 4.0 (UCI)",
        citation="Blackard (1998), UCI Machine Learning Repository",
        variants={
            "numeric": (
                Source(
                    "original",
                    _covertype_original,
                    {"all": ("covtype.data",), "head": ("covtype.data",)},
                ),
                Source(
                    "compact",
                    _covertype_compact,
                    {"rand": ("covertype.npz",), "head": ("covertype.npz",)},
                    {
                        "covertype.npz": "71087cfe0e21d50fbb5520dbe34d8f8d"
                        "7a5a0d8910b0c5ccca98c9f1afab55be"
                    },
                ),
                Source(
                    "download",
                    _covertype_download,
                    {"all": (), "head": ()},
                    title="fetch_covtype",
                ),
            )
        },
        paper="P1, class 1 against the rest, and P4, with an MLP, the first 2000 rows",
    ),
)
