"""Used cars and rides, from the tables on Kaggle and from compact copies."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from fairshapley.datasets.dataset import Dataset
from fairshapley.datasets.entry import Wanted
from fairshapley.datasets.files import check_found
from fairshapley.datasets.parsing import CellType, Columns, joined_tables, object_table, read_table

# --- used cars ----------------------------------------------------------------------------------

# Rows of each make, published; the names are those of the files, misspelt or short as there.
_MAKES = {
    "audi": 10_668,
    "bmw": 10_781,
    "ford": 17_965,
    "hyundi": 4_860,
    "merc": 13_119,
    "skoda": 6_267,
    "toyota": 6_738,
    "vauxhall": 13_632,
    "vw": 15_157,
}
_CAR_TEXTS = ("model", "transmission", "fuelType")
_CAR_KINDS: dict[str, CellType] = {
    name: "text" if name in _CAR_TEXTS else "number"
    for name in (
        *("model", "year", "price", "transmission", "mileage"),
        *("fuelType", "tax", "mpg", "engineSize"),
    )
}
_TAX_ALIASES = {"tax(£)": "tax", "tax(£)".encode().decode("latin-1"): "tax"}
_CAR_FEATURES = ("year", "mpg", "mileage", "tax", "engineSize")
_CAR_RAW = ("make", *(name for name in _CAR_KINDS if name != "price"))


def read_make(path: Path, make: str) -> Columns:
    """The cars of one make; hyundi's file calls the column `tax` ``tax(£)``."""
    # Latin-1 reads any bytes: only the pound sign is not ASCII, and some copies have it in UTF-8.
    table = read_table(path, _CAR_KINDS, aliases=_TAX_ALIASES, encoding="latin-1")
    return {"make": np.full(len(table["year"]), make, dtype=object), **table}


def read_used_cars(files: tuple[Path, ...], wanted: Wanted) -> Dataset:
    """The cars of all makes, the makes as groups."""
    if wanted.kind == "compact":
        table = read_table(files[0], {"make": "text", **_CAR_KINDS})
    else:
        tables = []
        for path, (make, rows) in zip(files, _MAKES.items(), strict=True):
            tables.append(read_make(path, make))
            check_found(path, "cars", rows, len(tables[-1]["year"]))
        table = joined_tables(tables)
    names = _CAR_RAW if wanted.variant == "raw" else _CAR_FEATURES
    features = object_table(table, names)
    return Dataset(
        wanted.name,
        features if wanted.variant == "raw" else features.astype(np.float64),
        table["price"],
        names,
        ("price",),
        groups=table["make"].astype(np.str_),
        notes=("one row has the year 2060; prepare.paper_used_cars drops it as the paper does",),
    )


# --- rides --------------------------------------------------------------------------------------

_RIDES, _UNPRICED = 693_071, 55_095
_RIDE_TEXTS = ("id", "cab_type", "name", "source", "destination")
_RIDE_NUMBERS = ("distance", "surge_multiplier", "price", "day", "month")
# The weather at the ride: the names in the publisher's file and in the compact copy.
_WEATHER = (
    *("temperature", "cloudCover", "pressure", "precipIntensity"),
    *("humidity", "windSpeed", "windBearing"),
)
_COMPACT_WEATHER: tuple[str, ...] = ("temp", "clouds", "pressure", "rain", "humidity", "wind")
# Of the twelve types of ride with a price the paper's code codes these; the others, Black and
# five of Lyft's, are where all six are zero.
_RIDE_TYPES = ("Black SUV", "Shared", "UberPool", "UberX", "UberXL", "WAV")


def read_rides(path: Path, weather: tuple[str, ...]) -> Columns:
    """The columns of a file of rides; a price, and in the compact copy a time, may be missing."""
    kinds: dict[str, CellType] = {
        **dict.fromkeys(_RIDE_TEXTS, "text"),
        **dict.fromkeys(_RIDE_NUMBERS + weather, "number or empty"),
    }
    return read_table(path, kinds)


def read_uber_lyft(files: tuple[Path, ...], wanted: Wanted) -> Dataset:
    """The rides: the twelve features of the paper, or all columns, raw."""
    # The paper's two weather columns, and what stands in for them in the compact copy.
    weather, used = _COMPACT_WEATHER, ("wind", "clouds")
    if wanted.kind == "original":
        weather, used = _WEATHER, ("windBearing", "cloudCover")
    table = read_rides(files[0], weather)
    price = table["price"]
    if wanted.kind == "original":
        check_found(files[0], "rides", _RIDES, len(price))
        check_found(files[0], "rides without a price", _UNPRICED, int(np.isnan(price).sum()))
    if wanted.variant == "raw":
        names = tuple(name for name in table if name != "price")
        missing = "rows as published: a Taxi has no price (NaN)"
        rows = object_table(table, names)
        return Dataset(wanted.name, rows, price, names, ("price",), notes=(missing,))
    numeric = ("distance", "surge_multiplier", "day", "month", *used)
    dummies = [table["name"] == ride for ride in _RIDE_TYPES]
    features = np.column_stack([*(table[name] for name in numeric), *dummies]).astype(np.float64)
    complete = np.isfinite(features).all(axis=1) & np.isfinite(price)
    kept = f"{int(complete.sum()):,} of {len(features):,} rides: those without a missing value"
    names = (*numeric, *(f"name={ride}" for ride in _RIDE_TYPES))
    rides = Dataset(wanted.name, features, price, names, ("price",), notes=(kept,))
    return rides.take(complete)
