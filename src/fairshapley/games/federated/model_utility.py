"""What torch models are worth on test data, many models at a time."""

from __future__ import annotations

import copy
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics import checks
from fairshapley._basics.extras import import_torch, torch_device
from fairshapley._basics.types import FloatArray
from fairshapley.errors import GameError, InputError
from fairshapley.games.federated.rounds import Layout, Round, as_numbers, check_same, describe

if TYPE_CHECKING:
    import torch

ModelMetric: TypeAlias = "Literal['accuracy', 'log_likelihood'] | Callable[[Any, Any], Any]"
Precision: TypeAlias = Literal["float32", "float64"]

# Models at once share the cost of starting an operation. On a GPU that is nearly all the cost of
# a small model, and filling up a batch is free; on a CPU a single coalition pays for all of them.
_MODELS_AT_ONCE = {"cpu": 8, "cuda": 128}
_ROWS_AT_ONCE = 1000


class ModelUtility:
    """The utility of a model's weights on test data, for `RoundGame` and `FederatedGame`.

    Several models are evaluated at once (`torch.func.vmap` over their weights). The numbers of
    models and of rows at once are fixed when the utility is made, and a smaller batch is filled up.
    So a utility has the same bits whatever the batch around it. Another device, another processor
    or another layout rounds differently: logits by some 1e−6 of their size in single precision, and
    an accuracy by 1/rows where two classes are that close.

    Parameters
    ----------
    model
        The torch module whose weights the agents train. It is copied and used in evaluation mode;
        its own weights do not matter. Buffers of a floating-point type, such as the running
        statistics of a batch norm, belong to the weights and are averaged with them.
    test
        The test rows and their targets: arrays or tensors. Whole numbers stay whole (tokens).
    metric
        "accuracy" (targets are classes 0, 1, …, the model has an output for each) or
        "log_likelihood" (the mean log-probability of the targets, of logits). A function takes the
        outputs for all test rows and the targets, both tensors, and returns a number.
    device
        "cpu" unless given; "cuda" where there is one.
    precision
        "float32" or "float64". Weights are combined in their own precision and converted
        afterwards.
    models_per_batch
        How many are computed at once, on 1000 rows: by default 8 on a CPU, 128 on a GPU. Take fewer
        where memory is short. A model that vmap cannot take is computed one at a time.

    Examples
    --------
    >>> import torch
    >>> from fairshapley.games.federated import RoundGame, read_round
    >>> model = torch.nn.Linear(1, 2, bias=False)
    >>> utility = ModelUtility(model, (np.array([[1.0], [2.0], [-1.0]]), [0, 1, 1]))
    >>> record = read_round({0: {"weight": np.array([[-1.0], [1.0]])}}, given="weights",
    ...                     server={"weight": np.array([[1.0], [-1.0]])})
    >>> RoundGame(record, utility)(np.array([[False], [True]])).round(3)
    array([0.667, 0.333])
    """

    def __init__(
        self,
        model: torch.nn.Module,
        test: tuple[Any, Any],
        metric: ModelMetric = "accuracy",
        *,
        device: str | None = None,
        precision: Precision = "float32",
        models_per_batch: int | None = None,
    ) -> None:
        torch = import_torch("ModelUtility")
        check_model(model)
        if not (callable(metric) or metric in ("accuracy", "log_likelihood")):
            raise InputError(
                f"metric must be 'accuracy', 'log_likelihood' or a function, not {metric!r}"
            )
        checks.choice("precision", precision, get_args(Precision))
        self.device = str(torch_device(device))
        self.precision = precision
        self.metric = metric
        self.rows, self.targets = check_data(test, "test")
        # Not in half precision, which numpy and so a fingerprint does not know.
        self.model = copy.deepcopy(model).to("cpu", self._dtype(torch)).eval().requires_grad_(False)
        shape = output_shape(self.model, self.rows, "test")
        if not callable(metric):
            check_classes(self.targets, shape, "test", f"metric {metric!r}")
        self.value_range = (0.0, 1.0) if metric == "accuracy" else None
        # All weights come from the rounds: what the model was made with must not tell two apart.
        for entry in self.model.state_dict().values():
            entry.zero_()
        self.models_per_batch = self._models_at_once(models_per_batch)
        self._on_device: tuple[Any, Any, Any] | None = None

    @property
    def unit(self) -> str:
        """What a utility measures: the metric, and the number of test rows."""
        named = self.metric if isinstance(self.metric, str) else "score"
        return f"{named.replace('_', ' ')} on {len(self.targets):,} test rows"

    def __getstate__(self) -> dict[str, Any]:
        """Leave out what lies on the device: it is made again where it is needed."""
        return vars(self) | {"_on_device": None}

    def values(self, record: Round, coefficients: FloatArray) -> FloatArray:
        """The utilities of the models server + Σ_i c_i·Δ_i, one for each row of coefficients."""
        torch = import_torch("ModelUtility")
        names = self._match(record.layout)
        count = len(coefficients)
        if not count:
            return np.empty(0)
        device = torch_device(self.device)
        size = self.models_per_batch
        # Filled up with what is there: any other model might have no utility.
        filled = np.minimum(np.arange(-(-count // size) * size), count - 1)
        padded = coefficients[filled]
        with torch.no_grad(), _arithmetic(torch, device):
            # Copies: the arrays of a worker process may be read-only.
            server = torch.tensor(record.server, device=device)
            deltas = torch.tensor(record.deltas, device=device)
            shares = torch.tensor(padded, device=device).to(server.dtype)
            fixed = {
                names[name]: torch.tensor(entry, device=device)
                for name, entry in record.fixed.items()
            }
            slices = {names[name]: place for name, place in record.layout.slices.items()}
            parts = []
            for start in range(0, len(padded), size):
                vectors = _combine(server, deltas, shares[start : start + size])
                weights = {
                    name: vectors[:, part].reshape(size, *shape).to(self._dtype(torch))
                    for name, (part, shape) in slices.items()
                }
                parts.append(self._batch(weights, fixed))
            # The only place where the device is waited for.
            values: FloatArray = torch.cat(parts).cpu().numpy()[:count]
        return values

    def _batch(self, weights: dict[str, Any], fixed: dict[str, Any]) -> Any:
        """Return the utilities of one batch of models, as a tensor on the device."""
        torch = import_torch("ModelUtility")
        model, rows, targets = self._placed()
        outputs = _outputs(model, weights, fixed, rows)
        # A model whose outputs overflow has no utility; the caller names its coalition.
        finite = torch.isfinite(outputs).flatten(1).all(dim=1)
        return torch.where(finite, self._scores(torch, outputs, targets), torch.nan)

    def _scores(self, torch: Any, outputs: Any, targets: Any) -> Any:
        """Return the score of each model, from outputs (models, rows, …)."""
        if self.metric == "accuracy":
            return (outputs.argmax(dim=-1) == targets).double().mean(dim=1)
        if self.metric == "log_likelihood":
            logs = torch.log_softmax(outputs.double(), dim=-1)
            return logs.gather(-1, targets.expand(len(outputs), -1)[..., None])[..., 0].mean(dim=1)
        assert callable(self.metric)  # noqa: S101 - checked when the utility was made
        scores = [self.metric(model, targets) for model in outputs]
        try:
            return torch.tensor(list(map(float, scores)), dtype=torch.float64).to(outputs.device)
        except (TypeError, ValueError, RuntimeError):
            raise GameError(
                f"the metric returned {scores[0]!r}, which is not a number: return a float"
            ) from None

    def _dtype(self, torch: Any) -> Any:
        return getattr(torch, self.precision)

    def _placed(self) -> tuple[Any, Any, Any]:
        """Return the model, the rows and the targets on the device."""
        if self._on_device is None:
            torch = import_torch("ModelUtility")
            device, dtype = torch_device(self.device), self._dtype(torch)
            rows, targets = torch.tensor(self.rows), torch.tensor(self.targets)
            rows = rows.to(device, dtype if rows.is_floating_point() else None)
            targets = targets.to(device, dtype if targets.is_floating_point() else None)
            self._on_device = copy.deepcopy(self.model).to(device), rows, targets
        return self._on_device

    def _match(self, layout: Layout) -> dict[str, str]:
        """Return the model's name of each entry of the rounds' weights; lists go by their order."""
        state = self.model.state_dict()
        by_order = layout.form == "list" and len(layout.names) == len(state)
        names = tuple(state) if by_order else layout.names
        found = replace(layout, form="torch" if by_order else layout.form, names=names)
        own = describe(state, "the model")
        check_same(found, own, "the weights", "give the model that was trained")
        return dict(zip(layout.names, names, strict=True))

    def _models_at_once(self, given: int | None) -> int:
        """Return the number of models in a batch; 1 where vmap cannot take the model."""
        count = _MODELS_AT_ONCE["cpu" if self.device == "cpu" else "cuda"]
        if given is not None:
            count = checks.whole("models_per_batch", given)
        return count if count > 1 and takes_vmap(self.model, self.rows) else 1


def _outputs(model: Any, weights: dict[str, Any], fixed: dict[str, Any], rows: Any) -> Any:
    """Return the outputs (models, rows, …) of several sets of weights, together or of one alone."""
    torch = import_torch("ModelUtility")

    def run(entries: dict[str, Any], chunk: Any) -> Any:
        return torch.func.functional_call(model, entries | fixed, (chunk,), tie_weights=False)

    chunks = rows.split(_ROWS_AT_ONCE)
    if len(next(iter(weights.values()))) > 1:
        many = torch.func.vmap(run, in_dims=(0, None))
        return torch.cat([many(weights, chunk) for chunk in chunks], dim=1)
    alone = {name: entry[0] for name, entry in weights.items()}
    return torch.cat([run(alone, chunk) for chunk in chunks])[None]


def _combine(server: Any, deltas: Any, shares: Any) -> Any:
    """Return what `Round.combine` does, on tensors, with the same bits."""
    vectors = server.repeat(len(shares), 1)
    for place, delta in enumerate(deltas):
        vectors += shares[:, place : place + 1] * delta
    return vectors


def _arithmetic(torch: Any, device: Any) -> AbstractContextManager[object]:
    """Keep to the same algorithms in every call on a GPU, without TF32."""
    if device.type != "cuda":
        return nullcontext()
    flags = torch.backends.cudnn.flags
    context: AbstractContextManager[object] = flags(
        enabled=True, benchmark=False, deterministic=True, allow_tf32=False
    )
    return context


def check_model(model: Any) -> None:
    """Raise InputError unless `model` is a torch module with weights."""
    torch = import_torch("a model")
    if not isinstance(model, torch.nn.Module):
        raise InputError(f"model must be a torch.nn.Module, not a {type(model).__name__}")
    lazy = torch.nn.parameter.UninitializedTensorMixin
    if any(isinstance(entry, lazy) for entry in model.state_dict().values()):
        raise InputError("the model has lazy layers without a size yet: run one batch through it")
    if not any(entry.is_floating_point() for entry in model.state_dict().values()):
        raise InputError("the model has no weights to average")


def check_data(data: Any, what: str) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return rows and targets as arrays of the same length, of finite floats or of int64."""
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
    array = as_numbers(part)
    if array is None:
        raise InputError(
            f"{what} must hold numbers alone: encode labels as 0, 1, …, e.g. with "
            "np.unique(labels, return_inverse=True), and texts as the numbers of their words"
        )
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InputError(f"{what} holds numbers that are not finite: remove or replace them")
    # A copy: later changes of the caller's data must not change a utility.
    kind = array.dtype.newbyteorder("=") if array.dtype.kind == "f" else np.dtype(np.int64)
    return np.array(array, dtype=kind, order="C")


def check_classes(targets: NDArray[Any], outputs: tuple[int, ...], what: str, needed: str) -> None:
    """Raise InputError unless the targets are classes for which the model has outputs.

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
    """Return rows as a tensor of the model's own precision, or of whole numbers."""
    torch = import_torch("a model")
    tensor = torch.from_numpy(rows)
    if not tensor.is_floating_point():
        return tensor
    kinds = (entry.dtype for entry in model.state_dict().values() if entry.is_floating_point())
    return tensor.to(next(kinds))


def output_shape(model: torch.nn.Module, rows: NDArray[Any], what: str) -> tuple[int, ...]:
    """Return the shape of the model's output for a row; InputError if the two do not fit.

    The model is on the CPU and in evaluation mode. Of whole numbers the rows with the extremes are
    tried too: a token outside an embedding is then found here; on a GPU it would end the process.
    """
    torch = import_torch("a model")
    width = max(1, rows[0].size)
    tried = [0, -1, int(rows.argmin()) // width, int(rows.argmax()) // width] if rows.size else [0]
    few = as_tensor(rows[tried], model)
    try:
        with torch.no_grad():
            outputs, again = model(few), model(few)
    except Exception as error:  # the user's code may raise anything
        raise InputError(
            f"the model cannot take {what} of the shape {tuple(few.shape)} and {few.dtype} "
            f"({type(error).__name__}: {error}); images are floats of the shape (rows, channels, "
            "height, width), tokens whole numbers"
        ) from error
    if not isinstance(outputs, torch.Tensor) or outputs.ndim < 1 or len(outputs) != len(few):
        raise InputError("the model must return one tensor with a row for each row it is given")
    if not torch.equal(outputs.nan_to_num(), again.nan_to_num()):
        raise InputError(
            "the model answers differently when asked again: in evaluation mode it must not draw "
            "random numbers"
        )
    return tuple(outputs.shape[1:])


def takes_vmap(model: torch.nn.Module, rows: NDArray[Any]) -> bool:
    """Return whether several of the model can be computed at once."""
    torch = import_torch("a model")
    state = model.state_dict()
    floats = {name for name, entry in state.items() if entry.is_floating_point()}
    pairs = {name: torch.stack([state[name], state[name]]) for name in floats}
    rest = {name: entry for name, entry in state.items() if name not in floats}
    try:
        # torch warns of operations that it would compute one model at a time.
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("error")
            _outputs(model, pairs, rest, as_tensor(rows[:1], model))
    except Exception:  # whatever a model does that vmap cannot follow
        return False
    return True
