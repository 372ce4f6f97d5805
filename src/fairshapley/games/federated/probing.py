"""Does a model fit its data, and can many of it be computed at once? Found out on a few rows."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairshapley.errors import InputError
from fairshapley.games.federated._torch import import_torch
from fairshapley.games.federated.layout import as_numbers

if TYPE_CHECKING:
    import torch


def check_model(model: Any) -> None:
    """An InputError unless it is a torch module with weights."""
    torch = import_torch("a model")
    if not isinstance(model, torch.nn.Module):
        raise InputError(f"model must be a torch.nn.Module, not a {type(model).__name__}")
    lazy = torch.nn.parameter.UninitializedTensorMixin
    if any(isinstance(entry, lazy) for entry in model.state_dict().values()):
        raise InputError("the model has lazy layers without a size yet: run one batch through it")
    if not any(entry.is_floating_point() for entry in model.state_dict().values()):
        raise InputError("the model has no weights to average")


def check_data(data: Any, what: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Rows and targets as arrays of the same length, of finite floats or of int64."""
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise InputError(f"{what} must be a pair (rows, targets), not a {type(data).__name__}")
    rows, targets = (_numbers(part, what) for part in data)
    if rows.ndim == 0 or targets.ndim == 0 or len(rows) != len(targets):
        raise InputError(
            f"{what}: rows of the shape {rows.shape} have targets of the shape {targets.shape}: "
            "give one target for each row"
        )
    if not len(rows):
        raise InputError(f"{what} has no rows: give at least one")
    return rows, targets


def _numbers(part: Any, what: str) -> NDArray[Any]:
    if hasattr(part, "tocoo") and hasattr(part, "toarray"):
        part = part.toarray()
    array = as_numbers(part)
    if array is None:
        raise InputError(
            f"{what} must hold numbers alone: encode labels as 0, 1, …, e.g. with "
            "np.unique(labels, return_inverse=True), and texts with a Vocabulary"
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{what} holds numbers that are not finite: remove or replace them")
    # A copy: later changes of the caller's data must not change a utility.
    kind = array.dtype.newbyteorder("=") if array.dtype.kind == "f" else np.dtype(np.int64)
    return np.array(array, dtype=kind, order="C")


def check_classes(targets: NDArray[Any], outputs: tuple[int, ...], what: str, needed: str) -> None:
    """An InputError unless the targets are classes for which the model has outputs.

    Parameters
    ----------
    targets, outputs
        The targets, and the shape of the model's output for a row.
    what, needed
        Whose targets they are, and what needs classes.
    """
    if len(outputs) != 1:
        raise InputError(
            f"{needed} needs a model with one output per class, not outputs of the shape "
            f"{outputs}: give a function in its place"
        )
    if targets.ndim != 1 or targets.dtype.kind != "i":
        raise InputError(
            f"{what}: targets must be classes 0, 1, …, one for each row, not {targets.dtype} of "
            f"the shape {targets.shape}"
        )
    if targets.min() < 0 or targets.max() >= outputs[0]:
        raise InputError(
            f"{what}: the classes go from {targets.min()} to {targets.max()}, the model has "
            f"{outputs[0]} outputs: number the classes from 0, and give the model one output each"
        )


def as_tensor(rows: NDArray[Any], model: torch.nn.Module) -> Any:
    """Rows as a tensor of the model's own precision, or of whole numbers."""
    torch = import_torch("a model")
    tensor = torch.from_numpy(rows)
    if not tensor.is_floating_point():
        return tensor
    kinds = (entry.dtype for entry in model.state_dict().values() if entry.is_floating_point())
    return tensor.to(next(kinds))


def probe(model: torch.nn.Module, rows: NDArray[Any], what: str) -> tuple[tuple[int, ...], int]:
    """The shape of the model's output for a row, and the numbers in its largest layer.

    The model is on the CPU and in evaluation mode.
    """
    torch = import_torch("a model")
    few = as_tensor(_telling(rows), model)
    largest = [math.prod(few.shape[1:])]

    def watch(_module: Any, _inputs: Any, output: Any) -> None:
        if isinstance(output, torch.Tensor):
            largest.append(-(-output.numel() // len(few)))

    hooks = [module.register_forward_hook(watch) for module in model.modules()]
    try:
        with torch.no_grad():
            outputs, again = model(few), model(few)
    except Exception as error:  # the user's code may raise anything
        raise InputError(
            f"the model cannot take {what} of the shape {tuple(few.shape)} and {few.dtype} "
            f"({type(error).__name__}: {error}); images are floats of the shape (rows, channels, "
            "height, width), see `as_images`, tokens whole numbers"
        ) from error
    finally:
        for hook in hooks:
            hook.remove()
    if not isinstance(outputs, torch.Tensor) or outputs.ndim < 1 or len(outputs) != len(few):
        raise InputError("the model must return one tensor with a row for each row it is given")
    if not torch.equal(outputs.nan_to_num(), again.nan_to_num()):
        raise InputError(
            "the model answers differently when asked again: in evaluation mode it must not draw "
            "random numbers"
        )
    return tuple(outputs.shape[1:]), max(largest)


def _telling(rows: NDArray[Any]) -> NDArray[Any]:
    """Two rows: the first ones, or of whole numbers those with the extremes.

    A token outside an embedding is then found here; on a GPU it would end the process.
    """
    if rows.dtype.kind == "f" or rows.ndim < 2 or not rows[0].size:
        return rows[:2]
    width = rows[0].size
    return rows[[int(rows.argmin()) // width, int(rows.argmax()) // width]]


def why_not_vmap(model: torch.nn.Module, rows: NDArray[Any]) -> str:
    """Why several of the model cannot be computed at once; empty when they can."""
    torch = import_torch("a model")
    few = as_tensor(rows[:1], model)
    state = model.state_dict()
    pairs = {
        name: torch.stack([entry, entry])
        for name, entry in state.items()
        if entry.is_floating_point()
    }
    rest = {name: entry for name, entry in state.items() if name not in pairs}

    def run(weights: dict[str, Any], chunk: Any) -> Any:
        return torch.func.functional_call(model, weights | rest, (chunk,), tie_weights=False)

    try:
        # torch warns of operations that it would compute one model at a time.
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error")
            torch.func.vmap(run, in_dims=(0, None))(pairs, few)
    except Exception as error:  # whatever a model does that vmap cannot follow
        return f"{type(error).__name__}: {error}"
    return ""
