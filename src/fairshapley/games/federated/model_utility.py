"""What torch models are worth on test data, many models at a time."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, get_args

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.types import FloatArray
from fairshapley.errors import GameError, InputError
from fairshapley.games.federated._torch import check_device, import_torch
from fairshapley.games.federated.layout import Layout, check_same, describe
from fairshapley.games.federated.probing import (
    check_classes,
    check_data,
    check_model,
    probe,
    why_not_vmap,
)
from fairshapley.games.federated.rounds import Round

if TYPE_CHECKING:
    import torch

ModelMetric: TypeAlias = "Literal['accuracy', 'log_likelihood'] | Callable[[Any, Any], Any]"
Precision: TypeAlias = Literal["float32", "float64", "float16"]

# Numbers in the largest layer of all models and rows that are computed at once. On a CPU 2**22
# (16 MiB) keep to its cache; on a GPU 2**28 (1 GiB) fill it and leave room for what torch adds.
_AT_ONCE = {"cpu": 1 << 22, "cuda": 1 << 28}
# Models at once share the cost of starting an operation. On a GPU that is nearly all the cost of
# a small model, and filling up a batch is free; on a CPU a single coalition pays for all of them.
_MOST_MODELS = {"cpu": 8, "cuda": 128}


class ModelUtility:
    """The utility of a model's weights on test data, for `RoundGame` and `FederatedGame`.

    Several models are evaluated at once (`torch.func.vmap` over their weights). The numbers of
    models and of rows at once are fixed when the utility is made, and a smaller batch is filled up,
    so that a utility has the same bits whatever the batch around it. Another device, another
    processor or another layout rounds differently: logits by some 1e−6 of their size in single
    precision, and an accuracy by 1/rows where two classes are that close.

    Parameters
    ----------
    model
        The torch module whose weights the agents train. It is copied and used in evaluation mode;
        its own weights do not matter. Buffers of a floating-point type, such as the running
        statistics of a batch norm, belong to the weights and are averaged with them.
    test
        The test rows and their targets: arrays or tensors. Whole numbers stay whole (tokens).
    metric
        "accuracy" (targets are classes 0, 1, …, the model has an output for each),
        "log_likelihood" (the mean log-probability of the targets, of logits), or a function of the
        outputs for all test rows and the targets, both tensors, that returns a number.
    device
        "cpu" unless given; "cuda" where there is one.
    precision
        "float32", "float64", or the coarser "float16", which is faster for some networks on a GPU.
        Weights are combined in their own precision and converted afterwards.
    models_per_batch, rows_per_batch
        How many are computed at once; by default from the size of the model's layers. 1 model at a
        time needs no vmap, which is also what a model gets that vmap cannot take.

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
        rows_per_batch: int | None = None,
    ) -> None:
        torch = import_torch("ModelUtility")
        check_model(model)
        if not (callable(metric) or metric in ("accuracy", "log_likelihood")):
            raise InputError(
                f"metric must be 'accuracy', 'log_likelihood' or a function, not {metric!r}"
            )
        checks.choice("precision", precision, get_args(Precision))
        self.device = str(check_device(device))
        self.precision = precision
        self.metric = metric
        self.rows, self.targets = check_data(test, "test")
        # Not in half precision, which numpy and so a fingerprint does not know.
        kind = torch.float64 if precision == "float64" else torch.float32
        self.model = copy.deepcopy(model).to("cpu", kind).eval().requires_grad_(False)
        shape, layer = probe(self.model, self.rows, "test")
        if not callable(metric):
            check_classes(self.targets, shape, "test", f"metric {metric!r}")
        self.value_range = (0.0, 1.0) if metric == "accuracy" else None
        # All weights come from the rounds: what the model was made with must not tell two apart.
        for entry in self.model.state_dict().values():
            entry.zero_()
        self.rows_per_batch = self._rows_at_once(layer, rows_per_batch)
        self.models_per_batch = self._models_at_once(layer, models_per_batch)
        if (fused := self._fused()) is not None:
            # Its largest layer is smaller: more rows at once.
            layer = probe(fused, self.rows, "test")[1]
            self.rows_per_batch = self._rows_at_once(layer, rows_per_batch)
        self._on_device: tuple[Any, Any, Any] | None = None

    @property
    def unit(self) -> str:
        """What a utility measures: the metric, and the number of test rows."""
        named = self.metric if isinstance(self.metric, str) else "score"
        return f"{named.replace('_', ' ')} on {len(self.targets):,} test rows"

    def __getstate__(self) -> dict[str, Any]:
        """Without what lies on the device: that is made again where it is needed."""
        return vars(self) | {"_on_device": None}

    def values(self, record: Round, coefficients: FloatArray) -> FloatArray:
        """The utilities of the models server + Σ_i c_i·Δ_i, one for each row of coefficients."""
        torch = import_torch("ModelUtility")
        names = self._match(record.layout)
        count = len(coefficients)
        if not count:
            return np.empty(0)
        device = check_device(self.device)
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
            parts = []
            # Models are combined many at a time, whatever is then computed at once.
            step = size * max(1, _MOST_MODELS[self._kind] // size)
            for first in range(0, len(padded), step):
                vectors = _combine(server, deltas, shares[first : first + step])
                vectors = vectors.to(self._dtype(torch))
                for start in range(0, len(vectors), size):
                    some = vectors[start : start + size]
                    weights = {
                        names[name]: some[:, part].reshape(size, *shape)
                        for name, (part, shape) in record.layout.slices.items()
                    }
                    parts.append(self._batch(weights, fixed))
            # The only place where the device is waited for.
            values: FloatArray = torch.cat(parts).cpu().numpy()[:count]
        return values

    def _batch(self, weights: dict[str, Any], fixed: dict[str, Any]) -> Any:
        """The utilities of one batch of models, as a tensor on the device."""
        torch = import_torch("ModelUtility")
        model, rows, targets = self._placed()
        size = self.models_per_batch

        def run(entries: dict[str, Any], chunk: Any) -> Any:
            return torch.func.functional_call(model, entries | fixed, (chunk,), tie_weights=False)

        many = torch.func.vmap(run, in_dims=(0, None)) if size > 1 else None
        alone = {name: self._laid_out(entry[0]) for name, entry in weights.items()}
        sums = torch.zeros(size, dtype=torch.float64, device=rows.device)
        finite = torch.ones(size, dtype=torch.bool, device=rows.device)
        kept = []
        for start in range(0, len(rows), self.rows_per_batch):
            chunk = slice(start, start + self.rows_per_batch)
            outputs = run(alone, rows[chunk])[None] if many is None else many(weights, rows[chunk])
            finite &= torch.isfinite(outputs).flatten(1).all(dim=1)
            if callable(self.metric):
                kept.append(outputs)
            else:
                sums += _score(torch, self.metric, outputs, targets[chunk])
        if callable(self.metric):
            sums = self._scores(torch.cat(kept, dim=1), targets)
        else:
            sums /= len(rows)
        # A model whose outputs overflow has no utility; the caller names its coalition.
        return torch.where(finite, sums, torch.nan)

    def _scores(self, outputs: Any, targets: Any) -> Any:
        """What the user's function makes of each model's outputs."""
        torch = import_torch("ModelUtility")
        assert callable(self.metric)  # noqa: S101 - the caller asked
        scores = []
        for model in outputs:
            score = self.metric(model, targets)
            try:
                scores.append(float(score))
            except (TypeError, ValueError, RuntimeError):
                raise GameError(
                    f"the metric returned {score!r}, which is not a number: return a float"
                ) from None
        return torch.tensor(scores, dtype=torch.float64, device=outputs.device)

    def _dtype(self, torch: Any) -> Any:
        return getattr(torch, self.precision)

    def _placed(self) -> tuple[Any, Any, Any]:
        """The model, the rows and the targets on the device."""
        if self._on_device is None:
            torch = import_torch("ModelUtility")
            device, dtype = check_device(self.device), self._dtype(torch)
            rows, targets = torch.tensor(self.rows), torch.tensor(self.targets)
            rows = self._laid_out(rows.to(device, dtype if rows.is_floating_point() else None))
            exact = torch.float64 if dtype == torch.float64 else torch.float32
            targets = targets.to(device, exact if targets.is_floating_point() else None)
            model = self._fused() or self.model
            self._on_device = copy.deepcopy(model).to(device, dtype), rows, targets
        return self._on_device

    def _laid_out(self, tensor: Any) -> Any:
        """Images and kernels with their channels last on a GPU, where that is the faster order.

        Measured on an H200 with the network for MNIST: "float32" 1.6 times faster; half precision
        needs it for its matrix units.
        """
        if self._kind == "cpu" or tensor.ndim != 4:
            return tensor
        return tensor.contiguous(memory_format=import_torch("ModelUtility").channels_last)

    def _fused(self) -> torch.nn.Module | None:
        """The model with its first layers in one kernel, where that can be and is faster.

        In half precision, and for models that are so large that they are computed one at a time.
        """
        if self._kind == "cpu" or self.precision != "float16" or self.models_per_batch > 1:
            return None
        try:
            from fairshapley.games.federated._first_layer import with_first_layer
        except ImportError:  # a torch without Triton
            return None
        return with_first_layer(self.model)

    def _match(self, layout: Layout) -> dict[str, str]:
        """The model's name of each entry of the rounds' weights; lists go by their order."""
        state = self.model.state_dict()
        by_order = layout.form == "list" and len(layout.names) == len(state)
        names = tuple(state) if by_order else layout.names
        found = replace(layout, form="torch" if by_order else layout.form, names=names)
        own = describe(state, "the model")
        check_same(found, own, "the weights", "give the model that was trained")
        return dict(zip(layout.names, names, strict=True))

    def _rows_at_once(self, layer: int, given: int | None) -> int:
        if given is not None:
            return min(checks.whole("rows_per_batch", given), len(self.rows))
        most = max(1, _AT_ONCE[self._kind] // layer)
        chunks = -(-len(self.rows) // most)
        return -(-len(self.rows) // chunks)  # in equal parts

    def _models_at_once(self, layer: int, given: int | None) -> int:
        size = sum(entry.numel() for entry in self.model.state_dict().values())
        room = _AT_ONCE[self._kind] // max(self.rows_per_batch * layer, size)
        most = max(1, min(_MOST_MODELS[self._kind], room))
        count = most if given is None else checks.whole("models_per_batch", given)
        reason = why_not_vmap(self.model, self.rows) if count > 1 else ""
        if reason and given is not None:
            raise InputError(
                f"several of this model cannot be computed at once ({reason}): models_per_batch=1"
            )
        return 1 if reason else count

    @property
    def _kind(self) -> str:
        return "cpu" if self.device == "cpu" else "cuda"


def _combine(server: Any, deltas: Any, shares: Any) -> Any:
    """`Round.combine` on tensors, with the same bits."""
    vectors = server.repeat(len(shares), 1)
    for place, delta in enumerate(deltas):
        vectors += shares[:, place : place + 1] * delta
    return vectors


def _score(torch: Any, metric: str, outputs: Any, targets: Any) -> Any:
    """The sum over rows of each model's score; outputs are (models, rows, classes)."""
    if metric == "accuracy":
        return (outputs.argmax(dim=-1) == targets).sum(dim=1)
    logs = torch.log_softmax(outputs.double(), dim=-1)
    return logs.gather(-1, targets.expand(len(outputs), -1)[..., None]).squeeze(-1).sum(dim=1)


@contextmanager
def _arithmetic(torch: Any, device: Any) -> Iterator[None]:
    """On a GPU: the same algorithms in every call, and no TF32."""
    if device.type != "cuda":
        yield
        return
    matmul = torch.backends.cuda.matmul
    before = matmul.allow_tf32
    matmul.allow_tf32 = False
    try:
        with torch.backends.cudnn.flags(
            enabled=True, benchmark=False, deterministic=True, allow_tf32=False
        ):
            yield
    finally:
        matmul.allow_tf32 = before
