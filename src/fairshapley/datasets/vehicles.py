"""Used cars and rides, from the tables on Kaggle and from compact copies."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np

from fairshapley.datasets.entry import Content, Entry, Source
from fairshapley.datasets.files import check_found
from fairshapley.datasets.parsing import CellType, Columns, object_table, read_table


def _sources(
    original: Callable[[tuple[Path, ...]], Content],
    files: tuple[str, ...],
    compact: Callable[[tuple[Path, ...]], Content],
    copy: str,
    sha256: str,
) -> tuple[Source, ...]:
    """The publisher's files and the small copy, each read as a whole."""
    return (
        Source("original", lambda found, _part: original(found), {"all": files}),
        Source("compact", lambda found, _part: compact(found), {"all": (copy,)}, {copy: sha256}),
    )


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
_CAR_KINDS: dict[str, CellType] = {
    "model": "text",
    "year": "number",
    "price": "number",
    "transmission": "text",
    "mileage": "number",
    "fuelType": "text",
    "tax": "number",
    "mpg": "number",
    "engineSize": "number",
}
_TAX_ALIASES = {"tax(£)": "tax", "tax(£)".encode().decode("latin-1"): "tax"}
_CAR_FEATURES = ("year", "mpg", "mileage", "tax", "engineSize")
_CAR_RAW = ("make", *(name for name in _CAR_KINDS if name != "price"))


def read_make(path: Path, make: str) -> Columns:
    """The cars of one make; hyundi's file calls the column `tax` ``tax(£)``."""
    # Latin-1 reads any bytes: only the pound sign is not ASCII, and some copies have it in UTF-8.
    table = read_table(path, _CAR_KINDS, aliases=_TAX_ALIASES, encoding="latin-1")
    return {"make": np.full(len(table["year"]), make, dtype=object), **table}


def _cars(table: Columns, *, raw: bool) -> Content:
    names = _CAR_RAW if raw else _CAR_FEATURES
    numeric = [] if raw else [table[name] for name in names]
    return Content(
        X=object_table(table, names) if raw else np.column_stack(numeric),
        y=table["price"],
        feature_names=names,
        target_names=("price",),
        groups=table["make"].astype(np.str_),
        notes=("one row has the year 2060; prepare.paper_used_cars drops it as the paper does",),
    )


def _cars_original(files: tuple[Path, ...], *, raw: bool) -> Content:
    tables = []
    for path, (make, rows) in zip(files, _MAKES.items(), strict=True):
        tables.append(read_make(path, make))
        check_found(path, "cars", rows, len(tables[-1]["year"]))
    return _cars(
        {name: np.concatenate([table[name] for table in tables]) for name in tables[0]}, raw=raw
    )


def _cars_compact(files: tuple[Path, ...], *, raw: bool) -> Content:
    return _cars(read_table(files[0], {"make": "text", **_CAR_KINDS}), raw=raw)


def _car_sources(*, raw: bool) -> tuple[Source, ...]:
    return _sources(
        partial(_cars_original, raw=raw),
        tuple(f"{make}.csv" for make in _MAKES),
        partial(_cars_compact, raw=raw),
        "used_cars.csv.gz",
        "d69a5cfea96800d8a430b70915ec38906ef75a67980fe940245ef97ecf6032f4",
    )


# --- rides --------------------------------------------------------------------------------------

_RIDES, _UNPRICED = 693_071, 55_095
_RIDE_TEXTS = ("id", "cab_type", "name", "source", "destination")
_RIDE_NUMBERS = ("distance", "surge_multiplier", "price", "day", "month")
# The weather at the ride: the names in the publisher's file and in the compact copy.
_WEATHER = (
    "temperature",
    "cloudCover",
    "pressure",
    "precipIntensity",
    "humidity",
    "windSpeed",
    "windBearing",
)
_COMPACT_WEATHER = ("temp", "clouds", "pressure", "rain", "humidity", "wind")
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


def _rides(table: Columns, weather: tuple[str, str], raw: tuple[str, ...], *notes: str) -> Content:
    """The twelve features of the paper with these two weather columns, or all columns, raw."""
    price = ("price",)
    if raw:
        missing = "rows as published: a Taxi has no price (NaN)"
        return Content(
            object_table(table, raw), table["price"], raw, price, notes=(*notes, missing)
        )
    numeric = ("distance", "surge_multiplier", "day", "month", *weather)
    dummies = [table["name"] == ride for ride in _RIDE_TYPES]
    features = np.column_stack([*(table[name] for name in numeric), *dummies]).astype(np.float64)
    complete = np.isfinite(features).all(axis=1) & np.isfinite(table["price"])
    kept = f"{int(complete.sum()):,} of {len(features):,} rides: those without a missing value"
    return Content(
        features[complete],
        table["price"][complete],
        (*numeric, *(f"name={ride}" for ride in _RIDE_TYPES)),
        price,
        notes=(*notes, kept),
    )


def _rides_original(files: tuple[Path, ...], *, raw: bool) -> Content:
    table = read_rides(files[0], _WEATHER)
    check_found(files[0], "rides", _RIDES, len(table["price"]))
    unpriced = int(np.isnan(table["price"]).sum())
    check_found(files[0], "rides without a price", _UNPRICED, unpriced)
    names = _raw_names(_WEATHER) if raw else ()
    return _rides(table, ("windBearing", "cloudCover"), names)


def _rides_compact(files: tuple[Path, ...], *, raw: bool) -> Content:
    names = _raw_names(_COMPACT_WEATHER) if raw else ()
    return _rides(
        read_rides(files[0], _COMPACT_WEATHER),
        ("wind", "clouds"),
        names,
        "compact copy: 9,999 of the 693,071 rides",
        "wind (its speed) and clouds, from the nearest weather record, stand in for the paper's "
        "windBearing and cloudCover",
        "time is coarse: about 3 % of the days may be off by one; 3,714 of Lyft's rides have "
        "neither day nor weather",
    )


def _raw_names(weather: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(name for name in _RIDE_TEXTS + _RIDE_NUMBERS if name != "price") + weather


def _ride_sources(*, raw: bool) -> tuple[Source, ...]:
    return _sources(
        partial(_rides_original, raw=raw),
        ("rideshare_kaggle.csv",),
        partial(_rides_compact, raw=raw),
        "uber_lyft.csv.gz",
        "b042052a1fb18980e0fd6b50ac03306c99c7fbe8a7ac7a71c52e92874cff44f1",
    )


ENTRIES = (
    Entry(
        name="uber_lyft",
        description="Uber and Lyft rides in Boston, November and December 2018: 693 071 rides, "
        "price from 12 features.",
        page="https://www.kaggle.com/datasets/brllrb/uber-and-lyft-dataset-boston-ma",
        licence="CC0; the compact copy stems from an earlier edition with terms of its own",
        citation="Uber and Lyft dataset Boston, MA (BM on Kaggle, 2019)",
        variants={"numeric": _ride_sources(raw=False), "raw": _ride_sources(raw=True)},
        paper="P3, collaborative learning",
    ),
    Entry(
        name="used_cars",
        description="100,000 UK used cars: 99 187 cars of nine makes, price from 5 features.",
        page="https://www.kaggle.com/datasets/adityadesai13/used-car-dataset-ford-and-mercedes",
        licence="CC0",
        citation="100,000 UK used car data set (Aditya on Kaggle, 2020)",
        variants={"numeric": _car_sources(raw=False), "raw": _car_sources(raw=True)},
        paper="P2, eight makes (see prepare.paper_used_cars)",
    ),
)
