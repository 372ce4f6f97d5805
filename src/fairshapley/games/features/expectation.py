"""Any prediction function, checked, and utilities that are means of its predictions."""

from __future__ import annotations

import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.text import several
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import GameError, InputError
from fairshapley.games.features.arguments import Players
from fairshapley.games.features.tables import Table, as_numbers
from fairshapley.games.fingerprints import fingerprint

# What a fitted model is asked, the first that it has.
_METHODS = ("predict_proba", "decision_function", "inplace_predict", "predict")
# Entries of a mixture of rows or of its predictions: 2**22 doubles are 32 MiB.
_ENTRIES = 1 << 22
# More rows in a call do not make them cheaper, but delay Ctrl-C.
_MAX_ROWS = 1 << 16
# A GPU is busy with 2**26 entries, 256 MiB in single precision; hidden layers take some times that.
_CUDA_ENTRIES = 1 << 26
# Rows predicted twice when a game is made.
_PROBE = 8
# Single precision has 1.2e-7; a sum of many terms in another order may be off by some tens of it.
_SAME = 1e-5
# Means kept at a time, one per coalition, explained row and output: 2**20 doubles are 8 MiB.
_MEANS = 1 << 20


class ModulePredict:
    """A torch module, fed with tensors of its own dtype and device."""

    def __init__(self, module: Any) -> None:
        self.module = module

    def __call__(self, rows: Any) -> Any:
        """Return what the module says of some rows."""
        import torch

        with torch.no_grad():
            return self.module(torch.as_tensor(rows, **self.place()))

    def place(self) -> dict[str, Any]:
        """Return the dtype and the device of the module's weights."""
        import torch

        weight = next(self.module.parameters(), torch.empty(0))
        return {"dtype": weight.dtype, "device": weight.device}


def as_function(predict: Any) -> Callable[[Any], Any]:
    """Return what to call for a prediction: a function as it is, a model by its best method."""
    torch = sys.modules.get("torch")  # a module cannot come from a torch that is not loaded
    if torch is not None and isinstance(predict, torch.nn.Module):
        return ModulePredict(predict)
    ways = [predict] if callable(predict) else [getattr(predict, name, None) for name in _METHODS]
    found: Callable[[Any], Any] | None = next((way for way in ways if callable(way)), None)
    if found is None or isinstance(predict, type):
        raise InputError(
            f"predict must be a function of rows or a fitted model, not {predict!r:.60}: "
            "give e.g. model.predict_proba"
        )
    return found


class Predictor:
    """A prediction function with what was learnt when it was first called.

    Parameters
    ----------
    function
        Takes an array or a DataFrame, gives one number or a vector of them for each row.
    table
        Some rows to try it on.
    max_rows
        The most rows to hand it at a time; None for up to 32 MiB.
    """

    def __init__(
        self, function: Callable[[Any], Any], table: Table, max_rows: int | None = None
    ) -> None:
        self.function = function
        self.handed = table.kind
        self.n_outputs = int(self._probe(table).shape[1])
        widest = max(self.n_outputs, len(table.labels))
        self.max_rows = max_rows or max(1, min(_MAX_ROWS, _ENTRIES // widest))
        if self.place and self.place["device"].type == "cuda":
            self.max_rows = max_rows or max(1, _CUDA_ENTRIES // widest)

    @property
    def place(self) -> dict[str, Any]:
        """The dtype and the device of a torch module, where mixtures are made fastest."""
        return self.function.place() if isinstance(self.function, ModulePredict) else {}

    def output_names(self, given: Sequence[str] | None) -> tuple[str, ...]:
        """Return the names of the outputs: those given, the model's classes, or numbers."""
        if given is not None:
            return checks.different_names("output_names", given, self.n_outputs)
        classes = getattr(getattr(self.function, "__self__", None), "classes_", ())
        # A list of arrays belongs to a model of several targets.
        known = isinstance(classes, np.ndarray) and classes.shape == (self.n_outputs,)
        return tuple(str(name) for name in (classes if known else range(self.n_outputs)))

    def __fingerprint_state__(self) -> str:
        """Return the function alone: how many rows it is handed at a time is no part of a game."""
        return fingerprint(self.function)

    def _probe(self, table: Table) -> FloatArray:
        """Predictions of a few rows, or an InputError when they cannot be used.

        They are asked for twice, the second time without the first row: randomness, and answers
        that depend on the rows beside, show as a difference.
        """
        rows = np.arange(max(2, min(_PROBE, len(table)))) % len(table)
        try:
            first = self._call(table.handed(rows), len(rows))
            again = self._call(table.handed(rows[1:]), len(rows) - 1)
        except GameError as error:
            raise InputError(str(error)) from None
        except Exception as error:
            raise InputError(
                f"predict raised {type(error).__name__}: {error}. It was called with "
                f"{self.handed}, {len(rows)} rows of {len(table.labels)} columns"
            ) from error
        if not np.isfinite(first).all():
            raise InputError(
                "predict returned NaN or an infinite number: it must be finite for every row"
            )
        off = np.abs(first[1:] - again).max(initial=0.0)
        if not off <= _SAME * np.abs(first).max():
            raise InputError(
                f"predict answered the same rows differently when called again with fewer rows (by "
                f"{off:.3g}): switch its randomness off (module.eval(), a fixed random_state), and "
                "let no row depend on the rows beside it"
            )
        return first

    def __call__(self, rows: Any) -> FloatArray:
        """Return the predictions for some rows as a float array (rows, outputs)."""
        try:
            answer = self._call(rows, len(rows))
        except GameError:
            raise
        except Exception as error:
            raise GameError(
                f"predict raised {type(error).__name__}: {error}. It was called with "
                f"{several(len(rows), 'row')} made from X and the background"
            ) from error
        if answer.shape[1] != self.n_outputs:
            raise GameError(
                f"predict returned {answer.shape[1]} outputs where it had returned "
                f"{self.n_outputs}: return as many for every row"
            )
        return answer

    def _call(self, rows: Any, count: int) -> FloatArray:
        answer = self.function(rows)
        if hasattr(answer, "detach"):
            answer = answer.detach().cpu().numpy()
        try:
            array = np.asarray(answer)
            plain = array.dtype.kind in "fiub"
            # Labels such as "1" are no numbers, although they can be read as such.
            if not plain and as_numbers(array.ravel()) is None:
                raise TypeError
            values = array.astype(np.float64)
        except (TypeError, ValueError):
            raise GameError(
                "predict returned what is not real numbers (labels, perhaps): give predict_proba "
                "or decision_function, or a function that returns floats"
            ) from None
        if values.ndim == 1:
            values = values[:, None]
        if values.ndim != 2 or len(values) != count or not values.shape[1]:
            raise GameError(
                f"predict returned an array of shape {array.shape} for {count} rows: return one "
                f"number for each row, shape ({count},), or one for each output, ({count}, outputs)"
            )
        return values


class Expectation(ABC):
    """Utilities of all outputs for some explained rows, which have the same players.

    They are means of the predictions of mixtures, in which something stands in for what is absent.
    A *unit* is one coalition with one explained row: as many mixtures as there are background
    rows. Units share calls of predict as far as its rows allow; a unit with more rows than that
    is cut, at the same places whatever the coalitions beside it.

    Parameters
    ----------
    predictor
        The prediction function.
    n_explained, n_background
        The rows to explain, and the mixtures of each with a coalition.
    """

    def __init__(self, predictor: Predictor, n_explained: int, n_background: int) -> None:
        self.predictor = predictor
        self.n_explained, self.n_background = n_explained, n_background
        self.n_outputs = predictor.n_outputs

    @abstractmethod
    def mixed(self, coalitions: BoolArray, rows: IntArray, others: slice) -> Any:
        """What to predict for pairs of a coalition and a row: the mixtures of a pair together."""

    def values(self, coalitions: BoolArray) -> FloatArray:
        """Return the utilities, (coalitions, outputs): means over the explained rows."""
        rows = np.arange(self.n_explained)
        step = max(1, _MEANS // (self.n_explained * self.n_outputs))
        means = [np.empty((0, self.n_outputs))]
        for start in range(0, len(coalitions), step):
            each = self.each(coalitions[start : start + step], rows)
            means.append(_mean(each.transpose(2, 0, 1)).T)
        return np.concatenate(means)

    def each(self, coalitions: BoolArray, rows: IntArray) -> FloatArray:
        """Return the utilities of some of the explained rows, (coalitions, rows, outputs)."""
        units = len(coalitions) * len(rows)
        means = np.empty((self.n_outputs, units))
        at_once = max(1, self.predictor.max_rows // self.n_background)
        for start in range(0, units, at_once):
            unit = np.arange(start, min(units, start + at_once))
            coalition, row = np.divmod(unit, len(rows))
            means[:, unit] = self._unit_means(coalitions[coalition], rows[row])
        return means.reshape(self.n_outputs, len(coalitions), len(rows)).transpose(1, 2, 0)

    def _unit_means(self, coalitions: BoolArray, rows: IntArray) -> FloatArray:
        """Return the mean prediction of each unit, (outputs, units)."""
        step = self.predictor.max_rows
        pieces = [
            self.predictor(self.mixed(coalitions, rows, slice(at, at + step)))
            for at in range(0, self.n_background, step)
        ]
        # With more than one piece there is one unit, so that pieces follow each other.
        predictions = np.concatenate(pieces).T
        shape = self.n_outputs, len(rows), self.n_background
        return _mean(predictions.reshape(shape))


def _mean(values: FloatArray) -> FloatArray:
    """Return the mean over the last axis, with the same bits whatever the other axes hold."""
    with np.errstate(invalid="ignore"):  # infinite predictions of both signs: NaN, reported later
        mean: FloatArray = np.ascontiguousarray(values).mean(axis=-1)
    return mean


class MarginalExpectation(Expectation):
    """Utilities with absent features as they are in background rows, or as a function gives them.

    Parameters
    ----------
    predictor
        The prediction function.
    explained, background
        The rows to explain, and the rows that stand in for absent features.
    players
        Who owns which columns.
    absence
        A function of (rows, masks of columns) that gives the rows to predict; the first background
        row alone is then used, to check that the columns fit.
    """

    def __init__(
        self,
        predictor: Predictor,
        explained: Table,
        background: Table,
        players: Players,
        absence: Callable[[Any, BoolArray], Any] | None = None,
    ) -> None:
        if absence is not None:
            background = background.take(np.array([0]))
        super().__init__(predictor, len(explained), len(background))
        self.rows = explained.followed_by(background, predictor.place)
        self.players, self.absence = players, absence

    def mixed(self, coalitions: BoolArray, rows: IntArray, others: slice) -> Any:
        """Return the rows with something else where a feature is absent."""
        masks = coalitions[:, self.players.owners]
        if self.absence is None:
            background = self.n_explained + np.arange(self.n_background)[others]
            return self.rows.mixed(masks, rows, background)
        filled = self.absence(self.rows.handed(rows), masks)
        if len(filled) != len(masks):
            raise GameError(
                f"kind= gave {len(filled)} rows for {len(masks)} pairs of a row and a mask: it "
                "must give one row for each"
            )
        return filled
