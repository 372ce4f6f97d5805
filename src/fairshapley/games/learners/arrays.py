"""Where the arrays of a learner live, and how sets of rows become chunks of work."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.extras import extra
from fairshapley._basics.threads import one_thread_if_small
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.errors import InputError
from fairshapley.games.learners.learner import Array, Predicted

# A matrix product rounds the last few columns of an odd width in another way. Widths are made a
# multiple of this, so that with OpenBLAS a set's prediction does not depend on its neighbours.
QUANTUM = 32
# On a CPU each array of a chunk should stay in the second-level cache; on a GPU chunks are as
# large as memory allows, for about as many arrays as a step of Newton's method holds at a time.
CACHE_BYTES = 512 * 1024
MEMORY_BYTES = 1024**3
ARRAYS = 8
# glibc hands the memory of arrays to the system and takes it anew, page by page, for every
# temporary: that was half of the time of a fit. It keeps blocks up to the size of the largest that
# it has handed back so far, at most 32 MB. So one of this size is taken and handed back, untouched.
KEPT_BYTES = 16 * 1024**2


@dataclass(frozen=True)
class Backend:
    """A namespace of the array API, a device and a floating-point type, by their names.

    Names, not modules: a learner that holds them can be pickled.
    """

    device: str | None = None
    dtype: str = "float64"

    @property
    def xp(self) -> Any:
        """The namespace: numpy without a device, else torch."""
        if self.device is None:
            from array_api_compat import numpy

            return numpy
        from array_api_compat import torch

        return torch

    @property
    def real(self) -> Any:
        """The floating-point type, of the namespace."""
        return getattr(self.xp, self.dtype)

    @property
    def epsilon(self) -> float:
        """The distance from 1 to the next number of this type."""
        return float(np.finfo(self.dtype).eps)

    @property
    def kernels(self) -> bool:
        """Whether the kernels of `fused` serve: single precision on a GPU that Triton knows."""
        on_gpu = self.device is not None and self.device.startswith("cuda")
        return on_gpu and self.dtype == "float32" and find_spec("triton") is not None

    @property
    def coarse(self) -> AbstractContextManager[object]:
        """Within it, products of single precision on a GPU may be rounded to TF32.

        For sums that decide on the speed of an iteration, not on where it ends.
        """
        return _tf32() if self.kernels else nullcontext()

    @property
    def free_bytes(self) -> int:
        """The memory that one batch may take."""
        if self.device is None or not self.device.startswith("cuda"):
            return MEMORY_BYTES
        import torch

        free: int = torch.cuda.mem_get_info(self.device)[0]
        return free // 4

    @property
    def quiet(self) -> AbstractContextManager[object]:
        """Within it, numpy does not warn that an exponential is too large or a logarithm −∞."""
        if self.device is not None:
            return nullcontext()
        return np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore")

    def reals(self, array: NDArray[Any]) -> Array:
        """A copy of a numpy array in floating point, on the device."""
        return self.xp.asarray(np.asarray(array), dtype=self.real, device=self._where, copy=True)

    def integers(self, array: NDArray[Any]) -> Array:
        """A copy of a numpy array as indices, on the device."""
        return self.xp.asarray(array, dtype=self.xp.int64, device=self._where, copy=True)

    def booleans(self, array: BoolArray) -> Array:
        """A copy of a boolean numpy array, on the device."""
        return self.xp.asarray(array, dtype=self.xp.bool, device=self._where, copy=True)

    def columns(self, rows: BoolArray) -> Array:
        """A boolean numpy array on the device, turned so that its rows are columns."""
        if self.device is None:
            return np.ascontiguousarray(rows.T)
        return self.xp.permute_dims(self.booleans(rows), (1, 0))  # a GPU turns it faster

    def zeros(self, *shape: int) -> Array:
        """Zeros in floating point, on the device."""
        return self.xp.zeros(shape, dtype=self.real, device=self._where)

    @property
    def _where(self) -> str | None:
        return "cpu" if self.device is None else self.device


@contextmanager
def _tf32() -> Iterator[None]:
    import torch

    before = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision("high")
    try:
        yield
    finally:
        torch.set_float32_matmul_precision(before)


def backend(device: str | None, dtype: str | None) -> Backend:
    """The place for a learner's arrays, checked.

    Examples
    --------
    >>> backend(None, None)
    Backend(device=None, dtype='float64')
    """
    name = "float64" if dtype is None else str(getattr(dtype, "__name__", dtype))
    name = name.removeprefix("torch.")
    if name not in ("float64", "float32"):
        raise InputError(f"dtype must be 'float64' or 'float32', not {dtype!r}")
    if device is None:
        return Backend(None, name)
    with extra(
        "torch", f"device={device!r} needs torch", "without a device the learners run on numpy"
    ):
        import torch
    try:
        place = torch.device(device)
        torch.zeros(1, device=place)
    except (RuntimeError, AssertionError, TypeError, ValueError) as error:
        reason = str(error).strip().split("\n")[0]
        raise InputError(
            f"device={device!r} cannot be used ({reason}): give 'cpu', 'cuda' or 'cuda:1', "
            "or None for numpy"
        ) from None
    if place.type == "mps" and name == "float64":
        raise InputError("device='mps' has no float64: give dtype='float32'")
    return Backend(str(place), name)


def largest_array(
    X: FloatArray,  # noqa: N803
    X_test: FloatArray,  # noqa: N803
    n_classes: int,
    statistics: int,
) -> int:
    """What `Batched` should take as the largest array of one set, for a learner with classes.

    The rows, the statistics, or a quarter of the scores of all test rows for all classes.
    """
    return max(len(X), len(X_test) * max(n_classes // 4, 1), statistics)


class Batched(ABC):
    """What all learners share: checks, chunks, and the shapes that leave.

    Inside, sets of rows are columns: arrays of shape (…, sets), so that every step is one large
    matrix product or runs along contiguous memory.
    """

    def __init__(self, where: Backend, n_rows: int, largest: int) -> None:
        """Keep what all need; `largest` is the size of the largest array that one set takes."""
        self.where = where
        self._n_rows = n_rows
        on_device = where.device is not None and not where.device.startswith("cpu")
        budget = where.free_bytes // ARRAYS if on_device else CACHE_BYTES
        self._chunk = max(budget // (8 * largest * QUANTUM), 1) * QUANTUM

    @property
    @abstractmethod
    def kinds(self) -> frozenset[Predicted]:
        """What it can predict."""

    @abstractmethod
    def _predict(self, sets: Array, kind: Predicted) -> Array:
        """The predictions for sets of rows, boolean (rows, sets), with the sets as first axis."""

    def predict(self, rows: BoolArray, kind: Predicted) -> Array:
        """The predictions for the test rows of the models fitted to each set of training rows.

        See `Learner.predict`. On numpy, with its own OpenBLAS, a set gets the same bits in
        whatever company it comes; on torch they may differ from batch to batch by rounding,
        about 1e−10 of the value in float64.
        """
        rows = self._checked(rows, kind)
        np.empty(KEPT_BYTES, dtype=np.uint8)
        with self.where.quiet, self._threads():
            return self._in_chunks(rows, kind)

    def predict_sets(self, sets: Array, kind: Predicted) -> Array:
        """The same for sets that are columns on the learner's device, boolean (rows, sets).

        All of them can be fitted.
        """
        parts = [
            self._predict(sets[:, start : start + self._chunk], kind)
            for start in range(0, sets.shape[1], self._chunk)
        ]
        return parts[0] if len(parts) == 1 else self.where.xp.concat(parts, axis=0)

    def _threads(self) -> AbstractContextManager[None]:
        return nullcontext() if self.where.device else one_thread_if_small(self._n_rows)

    def _in_chunks(self, rows: BoolArray, kind: Predicted) -> Array:
        count = rows.shape[0]
        parts = []
        for start in range(0, max(count, 1), self._chunk):
            chunk = rows[start : start + self._chunk]
            padding = -chunk.shape[0] % QUANTUM or (QUANTUM if count == 0 else 0)
            # The set of all rows is one that can be fitted.
            full = np.ones((padding, self._n_rows), dtype=np.bool_)
            sets = self.where.columns(np.concatenate([chunk, full]))
            part = self._predict(sets, kind)
            parts.append(part[: chunk.shape[0], ...])
        return parts[0] if len(parts) == 1 else self.where.xp.concat(parts, axis=0)

    def _checked(self, rows: BoolArray, kind: Predicted) -> BoolArray:
        if kind not in self.kinds:
            known = ", ".join(sorted(self.kinds))
            raise InputError(f"{type(self).__name__} predicts {known}, not {kind!r}")
        rows = np.asarray(rows)
        if rows.dtype != np.bool_ or rows.ndim != 2 or rows.shape[1] != self._n_rows:
            raise InputError(
                f"rows must be boolean of shape (m, {self._n_rows}), one column per training row, "
                f"not {rows.dtype} {rows.shape}"
            )
        if not rows.any(axis=1).all():
            raise InputError("a set without rows cannot be fitted: leave it out")
        return rows

    def _require_two(self, present: Array) -> Array:
        """How many classes each set holds, from (classes, sets); an error if fewer than two."""
        xp = self.where.xp
        n_present = xp.sum(xp.astype(present, xp.int64), axis=0)
        if bool(xp.any(n_present < 2)):
            raise InputError("a set of rows with one class only cannot be fitted: leave it out")
        return n_present
