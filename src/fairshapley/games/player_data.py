"""What players bring to a game: matrices of numbers, read from whatever holds them."""

from __future__ import annotations

import hashlib
from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import pairwise
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from fairshapley._basics.frames import column_names, is_dataset, is_frame, read_frame
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.game import check_names, real_numbers


def equal_places(keys: Iterable[Hashable]) -> list[list[int]]:
    """Return the places of each key among the keys, in the order in which they first come.

    Examples
    --------
    >>> equal_places(["x", "y", "x"])
    [[0, 2], [1]]
    """
    places: dict[Hashable, list[int]] = {}
    for place, key in enumerate(keys):
        places.setdefault(key, []).append(place)
    return list(places.values())


def group_numbers(pairs: Sequence[tuple[int, int]], n_players: int) -> IntArray:
    """Return the group of each player, numbered by their first members; one alone is a group.

    Examples
    --------
    >>> group_numbers([(0, 2), (2, 4), (3, 5)], 6)
    array([0, 1, 0, 2, 0, 2])
    """
    ends = np.array(pairs, dtype=np.int64).reshape(-1, 2)
    shape = (n_players, n_players)
    links = csr_array((np.ones(len(ends)), (ends[:, 0], ends[:, 1])), shape=shape)
    return connected_components(links, directed=False)[1].astype(np.int64)


def identical_groups(pairs: Sequence[tuple[int, int]], n_players: int) -> list[list[int]]:
    """Return the players of each group, in order; one alone is a group.

    Examples
    --------
    >>> identical_groups([(0, 2), (2, 4), (3, 5)], 6)
    [[0, 2, 4], [1], [3, 5]]
    """
    numbers = group_numbers(pairs, n_players)
    ends = np.cumsum(np.bincount(numbers))[:-1]
    return [part.tolist() for part in np.split(np.argsort(numbers, kind="stable"), ends)]


Datasets: TypeAlias = Sequence[Any] | Mapping[str, Any]
"""One matrix per player: a list, or a dict whose keys are the players' names"""


def within_reach(
    *parts: FloatArray, axis: int | None = None, power: float = 2.0
) -> tuple[FloatArray, ...]:
    """Return arrays on one scale on which their powers neither overflow nor vanish.

    They are multiplied by a power of two, which is exact, and left alone where they need it not.
    With `axis=0` each column has a scale of its own.

    Examples
    --------
    >>> bool(np.ptp(within_reach(np.array([[1e-300], [3e-300]]))[0]) > 0.1)
    True
    """
    largest = np.max([np.abs(part).max(axis=axis) for part in parts], axis=0)
    exponents = np.frexp(largest)[1]
    exponents = np.where(np.abs(exponents) > 600 / min(power, 600.0), exponents, 0)
    return tuple(np.ldexp(part, -exponents) for part in parts) if exponents.any() else parts


def feature_matrix(features: Any, what: str) -> FloatArray:
    """Return a read-only copy as a matrix of finite floats; raise an InputError that names `what`.

    Arrays, nested lists, data frames and sparse matrices are accepted.

    Examples
    --------
    >>> feature_matrix([[1, 2], [3, 4]], "X")
    array([[1., 2.],
           [3., 4.]])
    """
    matrix = real_numbers(features, what)
    if matrix.ndim != 2:
        raise InputError(
            f"{what} must be a matrix, one row per data point, not of shape {matrix.shape}: "
            "use reshape(len(…), -1), also for a single feature"
        )
    if matrix.size == 0:
        raise InputError(f"{what} is empty (shape {matrix.shape}): leave it out, or give its rows")
    finite = np.isfinite(matrix)
    if not finite.all():
        row, column = np.argwhere(~finite)[0].tolist()
        raise InputError(
            f"{what} has a {matrix[row, column]} in row {row}, column {column}: "
            "impute or drop what is missing first"
        )
    matrix.flags.writeable = False
    return matrix


def target_vector(targets: Any, n_rows: int, what: str, beside: str) -> FloatArray:
    """Return a read-only copy as a vector of finite floats, one per row of `beside`."""
    vector = column(real_numbers(targets, what), n_rows, what, beside)
    if not np.isfinite(vector).all():
        row = int(np.flatnonzero(~np.isfinite(vector))[0])
        raise InputError(f"{what} has a {vector[row]} in row {row}: drop rows without a target")
    vector.flags.writeable = False
    return vector


def column(values: NDArray[Any], n_rows: int, what: str, beside: str) -> NDArray[Any]:
    """Return the entries of a vector, or of a matrix of one column, one per row of `beside`."""
    if values.ndim == 2 and values.shape[1] == 1:
        values = values[:, 0]
    if values.shape != (n_rows,):
        raise InputError(
            f"{what} must have one entry for each of the {n_rows} rows of {beside}, "
            f"not the shape {values.shape}"
        )
    return values


def label_codes(
    labels: Any, test_labels: Any, n_players: int, n_tests: int
) -> tuple[IntArray, IntArray]:
    """Return labels of any kind as numbers, equal where the labels are.

    Examples
    --------
    >>> label_codes(["cat", "dog"], ["dog", "emu"], 2, 2)
    (array([0, 1]), array([1, 2]))
    """
    train = column(read_targets(labels, "y"), n_players, "y", "X")
    test = column(read_targets(test_labels, "y_test"), n_tests, "y_test", "X_test")
    if (train.dtype.kind == "U") != (test.dtype.kind == "U"):
        raise InputError("y and y_test must both hold text, or both numbers: convert one of them")
    _, codes = np.unique(np.concatenate([train, test]), return_inverse=True)
    return codes[:n_players].astype(np.int64), codes[n_players:].astype(np.int64)


def missing_objects(array: NDArray[Any]) -> BoolArray:
    """Return where an array of objects holds None, NaN or pandas' NA, which is equal to nothing.

    Examples
    --------
    >>> missing_objects(np.array(["a", None, float("nan")], dtype=object))
    array([False,  True,  True])
    """
    missing = [
        # The comparison of pandas' NA is NA, which is neither true nor false.
        value is None or type(value).__name__ == "NAType" or bool(value != value)
        for value in array.ravel().tolist()
    ]
    return np.array(missing, dtype=bool).reshape(array.shape)


def read_targets(y: Any, what: str) -> NDArray[Any]:
    """Return a copy as a vector of numbers or of texts; raise an InputError that names `what`.

    Examples
    --------
    >>> read_targets(["a", "b"], "y")
    array(['a', 'b'], dtype='<U1')
    """
    array = as_labels(y, what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim != 1:
        raise InputError(f"{what} must be one target for each row, not {described(y)}")
    if array.dtype.kind in "OT":
        missing = missing_objects(array)
        if missing.any():
            _refuse_target(missing, what)
        kinds = {type(value) for value in array.tolist()}
        numbers = all(issubclass(kind, int | float | np.number | np.bool_) for kind in kinds)
        if not numbers and any(not issubclass(kind, str) for kind in kinds):
            raise InputError(
                f"{what} holds {', '.join(sorted(kind.__name__ for kind in kinds))}: give "
                "texts alone, or numbers alone"
            )
        array = np.array(array.tolist())
    if array.dtype.kind not in "fiubU":
        raise InputError(f"{what} must hold numbers or texts, not {array.dtype}")
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        _refuse_target(~np.isfinite(array), what)
    return array


def _refuse_target(missing: BoolArray, what: str) -> None:
    row = int(np.flatnonzero(missing)[0])
    raise InputError(
        f"row {row} of {what} has no target (missing, NaN or infinite): leave out all "
        f"such rows ({missing.sum():,})"
    )


def as_labels(values: Any, what: str) -> NDArray[Any]:
    """Return a copy as an array; a list keeps its objects: numpy would turn numbers into texts.

    Examples
    --------
    >>> as_labels(["a", 1], "y")
    array(['a', 1], dtype=object)
    """
    if isinstance(values, list | tuple):
        try:
            return np.array(values, dtype=object)
        except ValueError:
            raise InputError(f"{what} must be one label for each row") from None
    return as_array(values, what)


def as_array(values: Any, what: str) -> NDArray[Any]:
    """Return a copy as an array; entries under a mask are NaN."""
    try:
        if isinstance(values, np.ma.MaskedArray):
            return np.ma.filled(values.astype(np.float64), np.nan)
        return np.array(values)
    except (TypeError, ValueError, RuntimeError):
        raise InputError(
            f"{what} cannot be read as an array: its rows must have the same length and type"
        ) from None


def described(value: Any) -> str:
    """Return the shape of an array, or the beginning of what else a value is."""
    shape = getattr(value, "shape", None)
    return f"{type(value).__name__} of shape {shape}" if shape is not None else repr(value)[:60]


def read_datasets(
    datasets: Datasets, player_names: Sequence[str] | None
) -> tuple[tuple[FloatArray, ...], tuple[str, ...] | None]:
    """Return the players' matrices, with equal columns, and the players' names where there are any.

    Examples
    --------
    >>> matrices, names = read_datasets({"north": [[1, 2]], "south": [[3, 4], [5, 6]]}, None)
    >>> [matrix.shape for matrix in matrices], names
    ([(1, 2), (2, 2)], ('north', 'south'))
    """
    if isinstance(datasets, Mapping):
        player_names = list(datasets) if player_names is None else player_names
        labels = [repr(key) for key in datasets]
        parts: list[Any] = list(datasets.values())
    else:
        if is_dataset(datasets) or is_frame(datasets) or not isinstance(datasets, Iterable):
            raise InputError("datasets must be a list of matrices, or a dict of names and matrices")
        parts = list(datasets)
        labels = [str(number) for number in range(len(parts))]
    if not parts:
        raise InputError("datasets is empty: give one matrix per player")
    matrices = tuple(
        feature_matrix(part, f"dataset {label}")
        for part, label in zip(_aligned(parts, labels), labels, strict=True)
    )
    for matrix, label in zip(matrices, labels, strict=True):
        if matrix.shape[1] != matrices[0].shape[1]:
            raise InputError(
                f"dataset {label} has {matrix.shape[1]} columns and dataset {labels[0]} "
                f"{matrices[0].shape[1]}: give every player the same features"
            )
    return matrices, check_names(player_names, len(parts))


def _aligned(parts: list[Any], labels: list[str]) -> list[Any]:
    """Data frames with their columns in the order of the first frame; the rest as it came."""
    parts = [read_frame(part) for part in parts]
    frames = [is_frame(part) for part in parts]
    if not any(frames):
        return parts
    columns = column_names(parts[frames.index(True)])
    aligned = []
    for part, label, named in zip(parts, labels, frames, strict=True):
        own = column_names(part) if named else columns
        if len(set(own)) < len(own):
            twice = next(name for name in own if own.count(name) > 1)
            raise InputError(f"dataset {label} has the column {twice!r} twice: rename one of them")
        if set(own) != set(columns):
            odd = sorted(map(repr, set(columns) ^ set(own)))
            raise InputError(
                f"the columns of dataset {label} differ from the others' columns, see "
                f"{', '.join(odd)}: give every player the same features"
            )
        aligned.append(np.array(part)[:, [own.index(name) for name in columns]] if named else part)
    return aligned


def equal_content(keys: Iterable[bytes]) -> tuple[tuple[int, int], ...]:
    """Return pairs of neighbours among the players with the same content.

    Three of a kind make two pairs: to be identical is transitive, and n of a kind would make
    n(n−1)/2.

    Examples
    --------
    >>> equal_content([b"x", b"y", b"x", b"x"])
    ((0, 2), (2, 3))
    """
    groups = equal_places(hashlib.blake2b(key, digest_size=16).digest() for key in keys)
    return tuple(sorted(pair for same in groups for pair in pairwise(same)))


def equal_datasets(matrices: Sequence[FloatArray]) -> tuple[tuple[int, int], ...]:
    """Return the players with the same rows, in whatever order.

    Examples
    --------
    >>> equal_datasets([np.eye(2), np.ones((2, 2)), np.eye(2)[::-1]])
    ((0, 2),)
    """
    # Adding 0 makes −0 and 0 the same bytes.
    sorted_rows = (matrix[np.lexsort(matrix.T)] + 0.0 for matrix in matrices)
    return equal_content(str(rows.shape).encode() + rows.tobytes() for rows in sorted_rows)
