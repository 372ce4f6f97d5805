"""The weights of a model as one vector, whatever form they came in.

A federated run hands out weights as a state dict of torch tensors, as a dict of numpy arrays or, as
Flower does, as a list of numpy arrays. All are read into one flat vector of floating-point
numbers, and written back in the form in which they came.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.extras import import_torch
from fairshapley.errors import InputError

Weights: TypeAlias = Any
"""A state dict of torch tensors, a dict of numpy arrays or a list of numpy arrays"""
Form: TypeAlias = Literal["torch", "dict", "list"]
Vector: TypeAlias = NDArray[np.floating[Any]]
Fixed: TypeAlias = dict[str, NDArray[Any]]
"""The entries that are not averaged, such as a counter of batches"""


@dataclass(frozen=True)
class Layout:
    """Which entries the weights of a model have; `dtypes` of those that are averaged are floats."""

    form: Form
    names: tuple[str, ...]
    shapes: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...]

    @property
    def averaged(self) -> tuple[int, ...]:
        """The positions of the floating-point entries, which make up the vector."""
        return tuple(at for at, kind in enumerate(self.dtypes) if np.dtype(kind).kind == "f")

    @property
    def dtype(self) -> np.dtype[np.floating[Any]]:
        """The type of the vector: the widest of its entries."""
        kinds = [np.dtype(self.dtypes[at]) for at in self.averaged]
        return np.result_type(*kinds)

    @property
    def slices(self) -> dict[str, tuple[slice, tuple[int, ...]]]:
        """Where each floating-point entry lies in the vector, and its shape."""
        places, start = {}, 0
        for at in self.averaged:
            end = start + math.prod(self.shapes[at])
            places[self.names[at]] = slice(start, end), self.shapes[at]
            start = end
        return places


def describe(weights: Weights, where: str) -> Layout:
    """The layout of some weights, or an InputError when they are none."""
    return _layout(*_arrays(weights, where), where)


def _layout(form: Form, arrays: dict[str, NDArray[Any]], where: str) -> Layout:
    shapes = tuple(array.shape for array in arrays.values())
    layout = Layout(form, tuple(arrays), shapes, tuple(one.dtype.str for one in arrays.values()))
    if not layout.averaged:
        raise InputError(f"{where}: no entry is of a floating-point type, so that none is averaged")
    return layout


def check_same(found: Layout, wanted: Layout, where: str, remedy: str) -> None:
    """An InputError where the entries of weights differ from those of others; any order will do."""
    odd = sorted(set(found.names) ^ set(wanted.names))
    if odd or (found.form == "list") != (wanted.form == "list"):
        raise InputError(
            f"{where}: a {found.form} of {len(found.names)} entries against a {wanted.form} of "
            f"{len(wanted.names)} (only in one of them: {odd[:5]}): {remedy}"
        )
    kinds = dict(zip(wanted.names, zip(wanted.shapes, wanted.dtypes, strict=True), strict=True))
    for name, shape, kind in zip(found.names, found.shapes, found.dtypes, strict=True):
        other_shape, other_kind = kinds[name]
        if shape != other_shape or (np.dtype(kind).kind == "f") != (
            np.dtype(other_kind).kind == "f"
        ):
            raise InputError(
                f"{where}: entry {name!r} is of {np.dtype(kind)} with the shape {shape}, elsewhere "
                f"of {np.dtype(other_kind)} with the shape {other_shape}: {remedy}"
            )


def read(weights: Weights, layout: Layout, where: str) -> tuple[Vector, Fixed]:
    """The vector and the other entries of some weights; an InputError when the layout differs."""
    form, arrays = _arrays(weights, where)
    check_same(_layout(form, arrays, where), layout, where, "all agents must train the same model")
    slices = layout.slices
    for name in slices:
        if not np.isfinite(arrays[name]).all():
            raise InputError(
                f"{where}: entry {name!r} is not finite: the training has diverged; leave this "
                "agent out of the round, or train with a smaller step"
            )
    fixed = {name: array.copy() for name, array in arrays.items() if name not in slices}
    with np.errstate(over="ignore"):  # too large for the server's type: the caller reports it
        vector = np.concatenate([arrays[name].ravel() for name in slices])
        return vector.astype(layout.dtype, copy=False), fixed


def write(vector: Vector, fixed: Fixed, layout: Layout) -> Weights:
    """The weights in the form in which they came; nothing is shared with other weights."""
    arrays: dict[str, NDArray[Any]] = {}
    slices = layout.slices
    for name, kind in zip(layout.names, layout.dtypes, strict=True):
        if name in slices:
            part, shape = slices[name]
            arrays[name] = vector[part].reshape(shape).astype(kind)
        else:
            arrays[name] = fixed[name].copy()
    if layout.form == "list":
        return list(arrays.values())
    if layout.form == "torch":
        torch = import_torch("a state dict")
        return {name: torch.from_numpy(array) for name, array in arrays.items()}
    return arrays


def _arrays(weights: Weights, where: str) -> tuple[Form, dict[str, NDArray[Any]]]:
    """The form of some weights and their entries as numpy arrays."""
    if isinstance(weights, Mapping):
        entries = {str(name): value for name, value in weights.items()}
        tensors = bool(entries) and all(_is_tensor(value) for value in entries.values())
        form: Form = "torch" if tensors else "dict"
    elif isinstance(weights, list | tuple):
        entries = {str(place): value for place, value in enumerate(weights)}
        form = "list"
    else:
        raise InputError(
            f"{where}: a {type(weights).__name__} holds no weights: give a state dict, or a "
            "dict or list of numpy arrays (Flower's parameters_to_ndarrays)"
        )
    if not entries:
        raise InputError(f"{where}: there are no entries")
    return form, {name: _array(value, name, where) for name, value in entries.items()}


def _is_tensor(value: object) -> bool:
    return type(value).__module__.partition(".")[0] == "torch" or hasattr(value, "detach")


def _array(value: Any, name: str, where: str) -> NDArray[Any]:
    """One entry as a numpy array; half precision is too coarse to be summed and becomes single."""
    array = as_numbers(value)
    if array is None:
        raise InputError(
            f"{where}: entry {name!r} is not an array of real numbers, but a {type(value).__name__}"
        )
    native = np.dtype(np.float32) if array.dtype == np.float16 else array.dtype.newbyteorder("=")
    return array.astype(native, copy=False)


def as_numbers(value: Any) -> NDArray[Any] | None:
    """An array, a tensor or a list of real numbers as a numpy array; None where it is none."""
    try:
        if _is_tensor(value):
            # One of a GPU or with a gradient does not turn into an array by itself.
            value = value.detach().cpu()
            value = value.float() if value.is_floating_point() and value.itemsize < 4 else value
        array = np.asarray(value)
    except (TypeError, ValueError, RuntimeError, AttributeError):
        return None
    return array if array.dtype.kind in "fiub" else None
