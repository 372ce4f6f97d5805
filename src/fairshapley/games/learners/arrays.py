"""Where the arrays of a learner live, and which class the scores in them stand for."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.extras import torch_device
from fairshapley._basics.types import BoolArray
from fairshapley.errors import InputError

# An array of numpy or torch: the namespaces share no type that could be named.
Array: TypeAlias = Any

# What one batch may take where the device does not say how much is free.
MEMORY_BYTES = 1024**3


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
        """Return a copy of a numpy array in floating point, on the device."""
        return self.xp.asarray(np.asarray(array), dtype=self.real, device=self._where, copy=True)

    def integers(self, array: NDArray[Any]) -> Array:
        """Return a copy of a numpy array as indices, on the device."""
        return self.xp.asarray(array, dtype=self.xp.int64, device=self._where, copy=True)

    def booleans(self, array: BoolArray) -> Array:
        """Return a copy of a boolean numpy array, on the device."""
        return self.xp.asarray(array, dtype=self.xp.bool, device=self._where, copy=True)

    def columns(self, rows: BoolArray) -> Array:
        """Return a boolean numpy array on the device, turned so that its rows are columns."""
        if self.device is None:
            return np.ascontiguousarray(rows.T)
        return self.xp.permute_dims(self.booleans(rows), (1, 0))  # a GPU turns it faster

    def zeros(self, *shape: int) -> Array:
        """Return zeros in floating point, on the device."""
        return self.xp.zeros(shape, dtype=self.real, device=self._where)

    @property
    def _where(self) -> str | None:
        return "cpu" if self.device is None else self.device


def backend(device: str | None, dtype: str | None) -> Backend:
    """Return the place for a learner's arrays, checked.

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
    return Backend(str(torch_device(device, name)), name)


# Two classes that are equally likely get scores that differ by rounding alone, and rounding differs
# between processors: the order of a sum depends on the width of their vector units. So a class wins
# only when its score is higher by more than rounding can explain, and else the lower class does, as
# in scikit-learn, whose classifiers take the first of equal scores.
def tolerance(where: Backend) -> float:
    """Return how far apart two scores may be, over the size of their terms, and still be a tie.

    ε^(3/4) is 1.8e−12 in double and 6e−6 in single precision: the error that `newton.minimise`
    leaves, and about ε^(−1/4) times that of one rounding, which is more than what sums over
    thousands of rows gather in double precision. A score is that close to a tie by chance about
    as often: once in 10^11 predictions, or in 10^5.
    """
    return float(where.epsilon**0.75)


def label(where: Backend, scores: Array, size: Array) -> Array:
    """Return the class of each test row: the lowest of those whose score is the highest.

    Parameters
    ----------
    where
        Where the arrays live.
    scores
        One per class, on the last axis; −∞ for a class that is not there.
    size
        The size of the terms that the scores are sums of, of a shape that broadcasts to theirs.

    Examples
    --------
    >>> label(Backend(), np.array([[0.3, 0.1 + 0.2], [0.2, 0.3]]), np.array(0.2))
    array([0, 1])
    """
    xp = where.xp
    error = tolerance(where) * size
    highest = scores + error >= xp.max(scores - error, axis=-1, keepdims=True)
    # The first of several maxima is the lowest class.
    return xp.argmax(xp.astype(highest, xp.uint8), axis=-1)


def label_of_two(where: Backend, scores: Array, size: Array) -> Array:
    """Return the same for two classes, from the score of the second less that of the first.

    Examples
    --------
    >>> label_of_two(Backend(), np.array([-1.0, 0.3 - (0.1 + 0.2), 1e-17, 0.1]), np.array(0.2))
    array([0, 0, 0, 1])
    """
    return where.xp.astype(scores > tolerance(where) * size, where.xp.int64)


def chances(xp: Any, scores: Array) -> Array:
    """Return the probabilities of the classes, on the last axis, from the logarithms of their odds.

    Examples
    --------
    >>> chances(np, np.array([[0.0, 0.0, -np.inf]]))
    array([[0.5, 0.5, 0. ]])
    """
    odds = xp.exp(scores - xp.max(scores, axis=-1, keepdims=True))
    return odds / xp.sum(odds, axis=-1, keepdims=True)


def lengths(xp: Any, vectors: Array, axis: int) -> Array:
    """Return the lengths ‖w‖ of vectors: ‖w‖·‖x‖ is the size of the terms of w·x, or more.

    It is also how an error of the coefficients shows in a score: δw·x is at most ‖δw‖·‖x‖.
    """
    return xp.sqrt(xp.sum(vectors**2, axis=axis))
