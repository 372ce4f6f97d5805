"""The paper's datasets: scikit-learn's own, a synthetic one, and compact copies in a folder.

`load` reads a dataset, `available` lists what can be read now. Nothing is downloaded.
"""

from __future__ import annotations

import csv
import dataclasses
import gzip
import hashlib
import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit

from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError
from fairshapley.randomness import side_generator

ENVIRONMENT = "FAIRSHAPLEY_DATA"
BUNDLED = ("breast_cancer", "diabetes", "digits", "iris", "wine")
PAPER_MAKES = ("audi", "ford", "toyota", "vw", "bmw", "merc", "vauxhall", "skoda")
PAPER_CARD_FEATURES = ("V1", "V2", "V5", "V7", "V10", "V20", "V21", "V23")
LARGEST_CARD_AMOUNT = 1000.0
Columns: TypeAlias = dict[str, Sequence[str]]
_ARRAYS = ("X", "y", "groups", "split")


@dataclass(frozen=True, eq=False)
class Dataset:
    """The rows and targets of a dataset.

    Parameters
    ----------
    name
        The name it is loaded by.
    X
        The rows: features (m, d), images (m, height, width[, colour]) of bytes, or texts (m,).
    y
        The target of each row: a class (int64) or a number (float64).
    feature_names
        The names of the columns of X; empty for images and texts.
    classes
        The values of y in increasing order; None for a regression.
    groups
        The provider of each row (the make of a used car), where there is one.
    split
        The part that each row belongs to, such as "train" or "test", where there are parts.

    Examples
    --------
    >>> wine = load("wine")
    >>> wine.X.shape, wine.classes
    ((178, 13), (0, 1, 2))
    >>> wine.take([0, 100]).y
    array([0, 1])
    """

    name: str
    X: NDArray[Any]
    y: NDArray[Any]
    feature_names: tuple[str, ...] = ()
    classes: tuple[int, ...] | None = None
    groups: NDArray[Any] | None = None
    split: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.X)

    @property
    def train(self) -> Dataset:
        """The rows that the publisher put into the training part."""
        return self.select(split="train")

    @property
    def test(self) -> Dataset:
        """The rows that the publisher put into the test part."""
        return self.select(split="test")

    def take(self, rows: ArrayLike | slice) -> Dataset:
        """Return the dataset of some rows: row numbers, a slice or a boolean mask."""
        index = rows if isinstance(rows, slice) else np.asarray(rows)
        parts = {name: getattr(self, name) for name in _ARRAYS}
        taken: dict[str, Any] = {k: part[index] for k, part in parts.items() if part is not None}
        return dataclasses.replace(self, **taken)

    def select(self, *, split: str | None = None, group: str | None = None) -> Dataset:
        """Return the rows of one part, or of one provider, or both."""
        keep = np.ones(len(self), dtype=bool)
        for option, wanted, labels in (("split", split, self.split), ("group", group, self.groups)):
            if wanted is not None:
                if labels is None or wanted not in labels:
                    raise InputError(f"{self.name} has no {option} {wanted!r}")
                keep &= labels == wanted
        return self.take(keep)

    @cached_property
    def checksum(self) -> str:
        """The SHA-256 of the content: X, y, groups and split.

        Examples
        --------
        >>> load("iris").checksum == load("iris").take(range(149)).checksum
        False
        """
        digest = hashlib.sha256()
        for name in _ARRAYS:
            array = getattr(self, name)
            if array is None:
                continue
            # Texts by their characters: how wide numpy stores them is not their content.
            is_text = array.dtype.kind in "OU"
            kind = "objects" if is_text else array.dtype.newbyteorder("<").str
            digest.update(f"{name} {kind} {array.shape}".encode())
            if is_text:
                digest.update("\n".join(map(repr, array.ravel().tolist())).encode())
            else:
                digest.update(np.ascontiguousarray(array, dtype=kind).tobytes())
        return digest.hexdigest()


def load(name: str) -> Dataset:
    """Load a dataset by its name.

    The datasets of scikit-learn and the synthetic one are always there. The others are compact
    copies in the folder that the environment variable FAIRSHAPLEY_DATA names; their checksums
    are verified.

    Parameters
    ----------
    name
        One of `BUNDLED` or of `COPIES`, or "gaussian".

    Examples
    --------
    >>> load("iris").X.shape
    (150, 4)
    """
    if name == "gaussian":
        return _gaussian()
    if name in BUNDLED:
        return _bundled(name)
    if name not in COPIES:
        names = ", ".join(sorted((*BUNDLED, "gaussian", *COPIES)))
        raise InputError(f"there is no dataset {name!r}: choose one of {names}")
    return COPIES[name].read(copy_path(name))


def available() -> tuple[str, ...]:
    """Return the names of the datasets that `load` can read now.

    Examples
    --------
    >>> "iris" in available()
    True
    """
    folder = os.environ.get(ENVIRONMENT)
    found = [name for name in COPIES if folder and Path(folder, COPIES[name].file).is_file()]
    return (*BUNDLED, "gaussian", *found)


def copy_path(name: str) -> Path:
    """Return the path of the compact copy `name`; raise InputError if it is missing or changed."""
    copy, folder = COPIES[name], os.environ.get(ENVIRONMENT)
    path = Path(folder or "", copy.file)
    if not folder or not path.is_file():
        raise InputError(
            f"{name} is not there: put {copy.file} into a folder, and name the folder in the "
            f"environment variable {ENVIRONMENT} (docs/paper/datasets.md)"
        )
    with path.open("rb") as stream:
        found = hashlib.file_digest(stream, "sha256").hexdigest()
    if found != copy.sha256:
        raise InputError(
            f"{path} was changed or cut off: its SHA-256 is {found}, expected {copy.sha256}; copy "
            "it again"
        )
    return path


# --- preparations -----------------------------------------------------------------------------


def standardise(rows: ArrayLike, reference: ArrayLike | None = None) -> FloatArray:
    """Return the columns less their mean, over their standard deviation.

    Parameters
    ----------
    rows
        Rows of numbers.
    reference
        The rows whose mean and standard deviation are taken; by default `rows` itself. A column
        that is constant in them is only centred.

    Examples
    --------
    >>> standardise([[1.0, 5.0], [3.0, 5.0]])
    array([[-1.,  0.],
           [ 1.,  0.]])
    >>> standardise([[5.0, 6.0]], reference=[[1.0, 5.0], [3.0, 5.0]])
    array([[3., 1.]])
    """
    rows = np.asarray(rows, dtype=np.float64)
    given = rows if reference is None else np.asarray(reference, dtype=np.float64)
    # A constant column has a spread of rounding errors, up to a few units in the last place.
    constant = np.ptp(given, axis=0) == 0
    spread = np.where(constant, 1.0, given.std(axis=0))
    standardised: FloatArray = (rows - given.mean(axis=0)) / spread
    if reference is None:
        standardised[:, constant] = 0.0
    return standardised


def image_rows(images: NDArray[Any]) -> FloatArray:
    """Return images of bytes as rows of numbers from 0 to 1, a column for each pixel and colour.

    Examples
    --------
    >>> image_rows(np.array([[[0, 255], [51, 0]]], dtype=np.uint8))
    array([[0. , 1. , 0.2, 0. ]])
    """
    return images.reshape(len(images), int(np.prod(images.shape[1:]))) / 255.0


def card_amounts(payments: Dataset) -> Dataset:
    """Return credit card payments as in the paper: `Amount` from eight of the features.

    Payments above 1000 are in the part "held_out", the others in "main".
    """
    places = [payments.feature_names.index(name) for name in PAPER_CARD_FEATURES]
    amount = payments.X[:, -1]
    return dataclasses.replace(
        payments,
        X=payments.X[:, places],
        y=amount,
        feature_names=PAPER_CARD_FEATURES,
        classes=None,
        split=np.where(amount > LARGEST_CARD_AMOUNT, "held_out", "main"),
    )


def paper_used_cars(cars: Dataset) -> Dataset:
    """Return used cars as in the paper: eight makes in its order, no cars from after 2021."""
    possible = np.flatnonzero(cars.X[:, cars.feature_names.index("year")] <= 2021)
    makes = np.asarray(cars.groups)[possible]
    return cars.take(np.concatenate([possible[makes == make] for make in PAPER_MAKES]))


# --- datasets that are always there -----------------------------------------------------------


def _gaussian() -> Dataset:
    """Draw the paper's synthetic dataset: x ~ N(0, I₅), P(y = 1) = 1 / (1 + exp(−2x₁ − x₂))."""
    points = side_generator(0, "gaussian points").standard_normal((50_000, 5))
    chance = side_generator(0, "gaussian labels").random(len(points))
    y = (chance < expit(2 * points[:, 0] + points[:, 1])).astype(np.int64)
    return Dataset("gaussian", points, y, tuple(f"x{place}" for place in range(1, 6)), (0, 1))


def _bundled(name: str) -> Dataset:
    """Read one of scikit-learn's own datasets."""
    import sklearn.datasets

    bunch = getattr(sklearn.datasets, f"load_{name}")()
    rows, names = np.asarray(bunch.data, dtype=np.float64), tuple(map(str, bunch.feature_names))
    if name == "diabetes":
        return Dataset(name, rows, bunch.target.astype(np.float64), names)
    y = bunch.target.astype(np.int64)
    return Dataset(name, rows, y, names, tuple(range(len(bunch.target_names))))


# --- compact copies ---------------------------------------------------------------------------

_ADULT_NAMES = (
    *("age", "workclass", "education_num", "marital_status", "occupation", "relationship"),
    *("race", "sex", "capital_gain", "capital_loss", "hours_per_week", "native_country"),
)
_ADULT_NUMBERS = ("age", "education_num", "capital_gain", "capital_loss", "hours_per_week")
# The order in which shap codes this column; every other one is coded in alphabetical order.
_RELATIONSHIPS = (
    *("Not-in-family", "Unmarried", "Other-relative"),
    *("Own-child", "Husband", "Wife"),
)
_COVERTYPE_NAMES = (
    *("Elevation", "Aspect", "Slope", "Horizontal_Distance_To_Hydrology"),
    *("Vertical_Distance_To_Hydrology", "Horizontal_Distance_To_Roadways", "Hillshade_9am"),
    *("Hillshade_Noon", "Hillshade_3pm", "Horizontal_Distance_To_Fire_Points"),
    *(f"Wilderness_Area{number}" for number in range(1, 5)),
    *(f"Soil_Type{number}" for number in range(1, 41)),
)
_CARD_NAMES = ("Time", *(f"V{number}" for number in range(1, 29)), "Amount")
_CAR_NAMES = ("year", "mpg", "mileage", "tax", "engineSize")
_RIDE_NAMES = ("distance", "surge_multiplier", "day", "month", "wind", "clouds")
# Of the twelve types of ride with a price the paper's code codes these; the others, Black and
# five of Lyft's, are where all six are zero.
_RIDE_TYPES = ("Black SUV", "Shared", "UberPool", "UberX", "UberXL", "WAV")


def _columns(path: Path, *, delimiter: str = ",", quoted: bool = True) -> Columns:
    """Read the columns of a packed table as lists of texts."""
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        names, *rows = csv.reader(
            stream, delimiter=delimiter, quoting=csv.QUOTE_MINIMAL if quoted else csv.QUOTE_NONE
        )
    columns = zip(*(map(str.strip, row) for row in rows if row), strict=True)
    return dict(zip(names, columns, strict=True))


def _numbers(cells: Sequence[str]) -> FloatArray:
    return np.array([float(cell or "nan") for cell in cells])


def _read_adult(path: Path) -> Dataset:
    """Read the census, its categories as numbers as in `shap.datasets.adult`."""
    table = _columns(path)
    coded = np.empty((len(table["age"]), len(_ADULT_NAMES)))
    for place, name in enumerate(_ADULT_NAMES):
        if name in _ADULT_NUMBERS:
            coded[:, place] = _numbers(table[name])
        else:
            order = _RELATIONSHIPS if name == "relationship" else sorted(set(table[name]))
            codes = {value: code for code, value in enumerate(order)}
            coded[:, place] = [codes[value] for value in table[name]]
    y = np.array([income == ">50K" for income in table["income"]]).astype(np.int64)
    split = np.full(len(y), "train")
    return Dataset("adult", coded, y, _ADULT_NAMES, (0, 1), split=split)


def _read_covertype(path: Path) -> Dataset:
    """Read a random 16 % of the patches, part "rand", and the first 10,000, part "head"."""
    features, y, split = [], [], []
    with np.load(path, allow_pickle=False) as archive:
        for part in ("rand", "head"):
            numbers, area, soil = (archive[f"{part}_{k}"] for k in ("num", "wilderness", "soil"))
            features.append(np.hstack([numbers, np.eye(4)[area], np.eye(40)[soil]]))
            y.append(archive[f"{part}_y"].astype(np.int64))
            split.append(np.full(len(soil), part))
    return Dataset(
        "covertype",
        np.concatenate(features),
        np.concatenate(y),
        _COVERTYPE_NAMES,
        tuple(range(1, 8)),
        split=np.concatenate(split),
    )


def _read_creditcard(path: Path) -> Dataset:
    with np.load(path, allow_pickle=False) as archive:
        sample = archive["part"] <= 1
        features = archive["X"][sample].astype(np.float64)
        y = archive["y"][sample].astype(np.int64)
    # Amounts are cents, which single precision misses by up to 0.001.
    features[:, -1] = features[:, -1].round(2)
    return Dataset("creditcard", features, y, _CARD_NAMES, (0, 1))


def _read_hotel_reviews(path: Path) -> Dataset:
    with np.load(path, allow_pickle=False) as archive:
        features, y = archive["X"].astype(np.float64), archive["y"].ravel().astype(np.int64)
    names = tuple(f"unit{number}" for number in range(1, 9))
    return Dataset("hotel_reviews", features, y, names, tuple(range(1, 6)))


def _read_images(path: Path) -> Dataset:
    with np.load(path, allow_pickle=False) as archive:
        train, test = archive["y_train"], archive["y_test"]
        return Dataset(
            path.stem,
            np.concatenate([archive["x_train"], archive["x_test"]]),
            np.concatenate([train, test]).astype(np.int64),
            classes=tuple(range(10)),
            split=np.repeat(["train", "test"], [len(train), len(test)]),
        )


def _read_sentences(path: Path) -> Dataset:
    """Read sentences with a shade each, in the publisher's parts where there are any."""
    table = _columns(path, delimiter="\t", quoted=False)
    y = np.array(table["label"], dtype=np.int64)
    split = np.array(table["split"]) if "split" in table else None
    texts = np.array(table["text"], dtype=object)
    name = path.name.partition(".")[0]
    return Dataset(name, texts, y, classes=tuple(range(int(y.max()) + 1)), split=split)


def _read_uber_lyft(path: Path) -> Dataset:
    """Read the rides without a missing value, as the twelve features of the paper."""
    table = _columns(path)
    types = np.array(table["name"])
    features = [_numbers(table[name]) for name in _RIDE_NAMES]
    features += [(types == ride).astype(np.float64) for ride in _RIDE_TYPES]
    rows, price = np.column_stack(features), _numbers(table["price"])
    names = (*_RIDE_NAMES, *(f"name={ride}" for ride in _RIDE_TYPES))
    complete = np.isfinite(rows).all(axis=1) & np.isfinite(price)
    return Dataset("uber_lyft", rows[complete], price[complete], names)


def _read_used_cars(path: Path) -> Dataset:
    table = _columns(path)
    features = np.column_stack([_numbers(table[name]) for name in _CAR_NAMES])
    makes = np.array(table["make"])
    return Dataset("used_cars", features, _numbers(table["price"]), _CAR_NAMES, groups=makes)


class Copy(NamedTuple):
    """A compact copy: its file, the file's SHA-256, and the function that reads it."""

    file: str
    sha256: str
    read: Callable[[Path], Dataset]


COPIES = {
    "adult": Copy(
        "adult.csv.gz",
        "a833df349bf96e939cb2de65a084d3a21cd64c4781a95551430453ac6892bb3b",
        _read_adult,
    ),
    "cifar10": Copy(
        "cifar10.npz",
        "897863afe7a7dc68ecb1ce320f1b0ad1cbe0d9f5e1077decf2fafd807d634ce0",
        _read_images,
    ),
    "mnist": Copy(
        "mnist.npz",
        "54ca82af9a85d893d0f7ecda76008599f22f051d06366c52c6bee7cc7a07942f",
        _read_images,
    ),
    "covertype": Copy(
        "covertype.npz",
        "71087cfe0e21d50fbb5520dbe34d8f8d7a5a0d8910b0c5ccca98c9f1afab55be",
        _read_covertype,
    ),
    "creditcard": Copy(
        "creditcard.npz",
        "547469b0c78f40ea9e4eb7c0877b4c9637d40f04b42c6e37fa55421276232cdc",
        _read_creditcard,
    ),
    "hotel_reviews": Copy(
        "hotel_reviews_features.npz",
        "06fcc898433f52c0e89bc8af2153e938447a70b4ecfc06cacd38524ba0dd1fbc",
        _read_hotel_reviews,
    ),
    "mr": Copy(
        "mr.tsv.gz",
        "b6a1bcf975e17cdd009514f05c0f456584a40931847e685e4b9dfd36a9568859",
        _read_sentences,
    ),
    "sst5": Copy(
        "sst5.tsv.gz",
        "4672df5d24c614a30a7cde596e00589a5b7c2eeeb62c1903a71960a83c4ea3fb",
        _read_sentences,
    ),
    "uber_lyft": Copy(
        "uber_lyft.csv.gz",
        "b042052a1fb18980e0fd6b50ac03306c99c7fbe8a7ac7a71c52e92874cff44f1",
        _read_uber_lyft,
    ),
    "used_cars": Copy(
        "used_cars.csv.gz",
        "d69a5cfea96800d8a430b70915ec38906ef75a67980fe940245ef97ecf6032f4",
        _read_used_cars,
    ),
}
