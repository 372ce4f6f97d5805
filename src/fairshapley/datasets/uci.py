"""Adult and Covertype of the UCI Machine Learning Repository."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley.datasets.dataset import Dataset
from fairshapley.datasets.entry import Wanted
from fairshapley.datasets.files import DataError, check_found, fetching
from fairshapley.datasets.parsing import (
    CellType,
    Columns,
    joined_tables,
    object_table,
    read_archive,
    read_numbers,
    read_table,
)

# --- adult --------------------------------------------------------------------------------------

_ADULT_NAMES = (
    *("age", "workclass", "fnlwgt", "education", "education_num", "marital_status", "occupation"),
    *("relationship", "race", "sex", "capital_gain", "capital_loss", "hours_per_week"),
    *("native_country", "income"),
)
_ADULT_NUMBERS = (
    *("age", "fnlwgt", "education_num"),
    *("capital_gain", "capital_loss", "hours_per_week"),
)
_ADULT_KINDS: dict[str, CellType] = {
    name: "number" if name in _ADULT_NUMBERS else "text" for name in _ADULT_NAMES
}
_ADULT_FEATURES = _ADULT_NAMES[:-1]
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
_ADULT_ORDERS = {
    "relationship": (
        *("Not-in-family", "Unmarried", "Other-relative"),
        *("Own-child", "Husband", "Wife"),
    )
}


def read_census(path: Path) -> Columns:
    """A file of the census: ``adult.data`` and ``adult.test`` have no header, the copy has one."""
    header = None if path.name.startswith("adult.csv") else _ADULT_NAMES
    # The first line of the test is a remark, and its incomes end in a full stop.
    skip = int(path.name.startswith("adult.test"))
    table = read_table(path, _ADULT_KINDS, header=header, skip=skip)
    table["income"] = np.array([income.rstrip(".") for income in table["income"]], dtype=object)
    unknown = sorted(set(table["income"].tolist()) - set(_INCOMES))
    if unknown:
        raise DataError(f"{path}: incomes must be <=50K or >50K, found {unknown[0]!r}")
    return table


def read_adult(files: tuple[Path, ...], wanted: Wanted) -> Dataset:
    """The census, its categories as codes or as text."""
    tables = [read_census(path) for path in files]
    for path, table in zip(files, tables, strict=True):
        name = "adult.test" if path.name.startswith("adult.test") else "adult.data"
        found = [int((table["income"] == income).sum()) for income in _INCOMES]
        check_found(path, "rows with the incomes <=50K, >50K", _ADULT_COUNTS[name], found)
    # The codes are those of all rows that were read, so that the two parts agree on them.
    joined = joined_tables(tables)
    coded = wanted.variant == "numeric"
    read = Dataset(
        wanted.name,
        _adult_codes(files[0], joined) if coded else object_table(joined, _ADULT_FEATURES),
        (joined["income"] == ">50K").astype(np.int64),
        _ADULT_CODED if coded else _ADULT_FEATURES,
        _INCOMES,
        (0, 1),
        split=np.repeat(["train", "test"][: len(tables)], [len(table["age"]) for table in tables]),
        notes=(_CODED_NOTE if coded else "categories are text, ? is missing",),
    )
    return read.test if wanted.part == "test" else read


def _adult_codes(path: Path, table: Columns) -> NDArray[np.float64]:
    coded = np.empty((len(table["age"]), len(_ADULT_CODED)))
    for position, name in enumerate(_ADULT_CODED):
        column = table[name]
        if _ADULT_KINDS[name] == "text":
            found = sorted(set(column.tolist()))
            codes = {value: code for code, value in enumerate(_ADULT_ORDERS.get(name, found))}
            if unknown := [value for value in found if value not in codes]:
                raise DataError(f"{path}: unknown {name} {unknown[0]!r}: copy it again")
            column = np.array([codes[value] for value in column])
        coded[:, position] = column
    return coded


# --- covertype ----------------------------------------------------------------------------------

_COVERS = (
    *("Spruce/Fir", "Lodgepole Pine", "Ponderosa Pine", "Cottonwood/Willow", "Aspen"),
    *("Douglas-fir", "Krummholz"),
)
_COVERTYPE_NAMES = (
    *("Elevation", "Aspect", "Slope", "Horizontal_Distance_To_Hydrology"),
    *("Vertical_Distance_To_Hydrology", "Horizontal_Distance_To_Roadways", "Hillshade_9am"),
    *("Hillshade_Noon", "Hillshade_3pm", "Horizontal_Distance_To_Fire_Points"),
    *(f"Wilderness_Area{number}" for number in range(1, 5)),
    *(f"Soil_Type{number}" for number in range(1, 41)),
)
_COVERTYPE_COUNTS = [211_840, 283_301, 35_754, 2_747, 9_493, 17_367, 20_510]


def read_covertype(files: tuple[Path, ...], wanted: Wanted) -> Dataset:
    """The patches of forest."""
    if wanted.kind == "compact":
        names = [f"{wanted.part}_{name}" for name in ("num", "wilderness", "soil", "y")]
        numbers, wilderness, soil, y = read_archive(files[0], names).values()
        features = np.hstack([numbers, np.eye(4)[wilderness], np.eye(40)[soil]])
    else:
        if wanted.kind == "original":
            path, table = files[0], read_numbers(files[0], 55, np.int16)
            features, y = table[:, :-1], table[:, -1]
        else:
            path, (features, y) = Path("fetch_covtype"), _covertype_download()
        found = [int((y == cover).sum()) for cover in range(1, 8)]
        check_found(path, "rows", sum(_COVERTYPE_COUNTS), len(y))
        check_found(path, "rows of the classes 1 to 7", _COVERTYPE_COUNTS, found)
        if wanted.part == "head":
            features, y = features[:10_000], y[:10_000]
    features, y = features.astype(np.float64), y.astype(np.int64)
    return Dataset(wanted.name, features, y, _COVERTYPE_NAMES, _COVERS, tuple(range(1, 8)))


def _covertype_download() -> tuple[NDArray[Any], NDArray[Any]]:
    from sklearn.datasets import fetch_covtype

    instead = "covtype.data.gz of https://archive.ics.uci.edu/dataset/31"
    with fetching("covertype", "by scikit-learn", instead):
        features, y = fetch_covtype(return_X_y=True)
    return features, y
