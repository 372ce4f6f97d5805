"""The result of a run: values, their errors, and everything needed to repeat it."""

from __future__ import annotations

import json
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._types import FloatArray, IntArray
from fairshapley.errors import InputError, MissingExtraError
from fairshapley.fairness.fidelity import check_xi, fidelity

if TYPE_CHECKING:
    import pandas as pd

FORMAT = "fairshapley result"
FORMAT_VERSION = 1


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """Values of the players of a game, with their standard errors and provenance.

    Examples
    --------
    >>> import fairshapley as fs
    >>> result = fs.exact(fs.games.TableGame([0, 1, 2, 5]))
    >>> result.values, result.exact
    (array([2., 3.]), True)
    >>> print(result.stopped)
    every coalition was evaluated: the values are exact
    """

    values: FloatArray
    """φ̂, one per player; NaN where nothing was sampled (only in a partial result)"""
    standard_errors: FloatArray
    """The standard error of each value; 0 only when it is proven, NaN when it is not known"""
    counts: IntArray
    """The i.i.d. contributions behind each value"""
    evaluations: int
    """Distinct utility evaluations, v(∅) and v(N) included"""
    marginals: int | None
    """Marginal contributions averaged; None for methods that do not average them"""
    stopped: str
    """Why the run stopped, in a sentence"""
    seed: int
    configuration: dict[str, Any]
    """The method with its parameters, the semivalue and ξ"""
    xi: float
    """The tolerance near zero, in the unit of the utility"""
    exact: bool = False
    """Whether the values are proven rather than estimated"""
    complete: bool = True
    """False for a partial result: interrupted, failed, or replayed from an unfinished journal"""
    skipped: int = 0
    """Evaluations that failed and were left out on request; then nothing can be certified"""
    player_names: tuple[str, ...] | None = None
    fingerprint: str | None = None
    """What identifies the content of the game; None where it could not be computed"""
    computed: int = 0
    """Utilities computed by this very run; the others were found in its journal"""
    cache_hits: int = 0
    """Requests for a utility that was already known"""
    seconds: float = 0.0
    versions: dict[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """What a reader should know besides: defaults taken, trouble recovered from"""

    def __post_init__(self) -> None:
        for name in ("values", "standard_errors", "counts"):
            array = np.array(getattr(self, name), dtype=np.int64 if name == "counts" else float)
            array.flags.writeable = False
            object.__setattr__(self, name, array)
        if not self.values.shape == self.standard_errors.shape == self.counts.shape:
            raise InputError("values, standard_errors and counts must have one entry per player")

    @property
    def n_players(self) -> int:
        """The number of players."""
        return len(self.values)

    @property
    def method(self) -> str:
        """The name of the method."""
        return str(self.configuration["method"]["name"])

    @property
    def semivalue(self) -> str:
        """The name of the semivalue."""
        return str(self.configuration["semivalue"])

    def fidelity(self, xi: float | None = None) -> FloatArray:
        """The estimated fidelity score of each player, (|φ̂| + ξ)² / se²; infinite when proven.

        Parameters
        ----------
        xi
            The tolerance near zero; by default the run's own.
        """
        tolerance = self.xi if xi is None else check_xi(xi)
        return fidelity(self.values, np.square(self.standard_errors), tolerance)

    @property
    def min_fidelity(self) -> float:
        """The lowest fidelity score, on which the guarantee rests."""
        return float(self.fidelity().min())

    @property
    def relative_xi(self) -> float:
        """ξ in units of the mean |φ̂|; above 1 the tolerance near zero says next to nothing."""
        mean = float(np.abs(self.values).mean())
        return self.xi / mean if mean > 0 else math.inf

    def names(self) -> tuple[str, ...]:
        """The players' names, or their numbers."""
        return self.player_names or tuple(str(player) for player in range(self.n_players))

    def __str__(self) -> str:
        kind = "exact" if self.exact else f"estimated by {self.method}"
        partial = "" if self.complete else " (partial result)"
        marginals = "" if self.marginals is None else f", {self.marginals:,} marginals"
        relative = f"{self.relative_xi:.2g} × mean |value|"
        lines = [
            f"{self.semivalue} values of {self.n_players} players, {kind}{partial}",
            f"{self.evaluations:,} evaluations{marginals}; seed {self.seed}",
            f"stopped: {self.stopped}",
            f"minimum fidelity {self.min_fidelity:.4g} at ξ = {self.xi:g} ({relative})",
        ]
        if self.relative_xi > 1 and not self.exact:
            lines.append("ξ exceeds the mean |value|: the tolerance is vacuous, choose a smaller ξ")
        return "\n".join([*lines, *self.notes])

    def to_frame(self) -> pd.DataFrame:
        """One row per player: value, standard error, count and fidelity (needs pandas)."""
        try:
            import pandas as pd
        except ImportError:
            raise MissingExtraError(
                "to_frame needs pandas: pip install 'fairshapley[report]'; "
                "values and standard_errors are plain arrays"
            ) from None
        columns: dict[str, NDArray[Any]] = {
            "value": self.values,
            "standard_error": self.standard_errors,
            "count": self.counts,
            "fidelity": self.fidelity(),
        }
        return pd.DataFrame(columns, index=pd.Index(self.names(), name="player"))

    def to_dict(self) -> dict[str, Any]:
        """The result as plain data that JSON can hold; numbers that are not finite as strings."""
        data: dict[str, Any] = {"format": FORMAT, "version": FORMAT_VERSION}
        for item in fields(self):
            data[item.name] = _plain(getattr(self, item.name))
        return data

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Result:
        """The result that `to_dict` described."""
        if data.get("format") != FORMAT:
            raise InputError("this is not a saved fairshapley result: save one with Result.save")
        if data.get("version", 0) > FORMAT_VERSION:
            raise InputError(
                f"the result was saved by a newer fairshapley (format {data['version']}, this one "
                f"reads up to {FORMAT_VERSION}): upgrade with pip install -U fairshapley"
            )
        known = {item.name for item in fields(cls)}
        unknown = data.keys() - known - {"format", "version"}
        missing = known - data.keys()
        if unknown or missing:
            raise InputError(
                f"the saved result is damaged, see {', '.join(sorted(unknown | missing))}: "
                "save it again"
            )
        arguments = {name: value for name, value in data.items() if name in known}
        for name in ("values", "standard_errors"):
            arguments[name] = [float(number) for number in arguments[name]]
        for name in ("xi", "seconds"):
            arguments[name] = float(arguments[name])
        for name in ("player_names", "notes"):
            if arguments.get(name) is not None:
                arguments[name] = tuple(arguments[name])
        return cls(**arguments)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the result as JSON; `load` gives it back bit for bit."""
        target = Path(path)
        text = json.dumps(self.to_dict(), allow_nan=False, indent=1, ensure_ascii=False)
        scratch = target.with_name(target.name + ".part")
        try:
            scratch.write_text(text, encoding="utf-8")
            scratch.replace(target)
        except OSError as error:
            raise InputError(f"cannot write {target}: {error.strerror}") from error

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Result:
        """Read a result written by `save`."""
        try:
            data = json.loads(Path(path).read_text(encoding="utf-8"))
        except OSError as error:
            raise InputError(f"cannot read {path}: {error.strerror}") from error
        except ValueError as error:
            raise InputError(f"{path} is not a saved result: {error}") from None
        if not isinstance(data, dict):
            raise InputError(f"{path} is not a saved result: it holds no JSON object")
        return cls.from_dict(data)


def _plain(value: Any) -> Any:
    """Arrays as lists, non-finite floats as strings: strict JSON, exact both ways."""
    if isinstance(value, np.ndarray):
        return [_plain(item) for item in value.tolist()]
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items()}
    return value
