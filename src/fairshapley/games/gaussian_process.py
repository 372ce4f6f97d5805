"""The parameters of a Gaussian process's kernel, learnt by the marginal likelihood."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
from scipy.spatial.distance import pdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from fairshapley._basics import checks
from fairshapley._basics.threads import one_thread_if_small
from fairshapley._basics.types import FloatArray
from fairshapley.errors import InputError
from fairshapley.randomness import root_seed, side_generator

# Bounds of the optimiser, for targets of variance 1 and distances of median 1. scale/noise stays
# below 1e10, where the factor of thousands of rows is still exact to a few digits.
_LENGTH_SCALES = (1e-3, 1e3)
_SCALES = (1e-3, 1e4)
_NOISES = (1e-6, 10.0)
# The likelihood can have several maxima: one that explains the targets by the features, one that
# calls everything noise, one with a length-scale so short that no row knows of another. The
# optimiser starts at the best point of this grid, in the same units.
_FIRST_LENGTHS = (0.3, 1.0, 3.0, 10.0)
_FIRST_NOISES = (0.01, 0.1, 0.4, 0.8)
# The grid, and the median distance, look at this many rows.
_GRID_ROWS = 500
# A learnt parameter this close to a bound is the bound's choice.
_AT_BOUND = 1.001


@dataclass(frozen=True, eq=False)
class Kernel:
    """The parameters of scale·exp(−‖x − x′‖²/(2·length_scale²)) + noise; None is unknown."""

    length_scale: FloatArray | None
    scale: float | None
    noise: float | None

    @property
    def unknown(self) -> tuple[str, ...]:
        """The names of the parameters that are not known."""
        return tuple(name for name, value in vars(self).items() if value is None)

    def known(self) -> tuple[FloatArray, float, float]:
        """All parameters, of a kernel that has them."""
        if self.length_scale is None or self.scale is None or self.noise is None:
            raise InputError(f"{', '.join(self.unknown)} must be given")
        self.length_scale.flags.writeable = False
        return self.length_scale, self.scale, self.noise


def fit_kernel(
    kernel: Kernel,
    features: FloatArray,
    targets: FloatArray,
    *,
    fit_rows: int | None = None,
    seed: int = 0,
) -> Kernel:
    """The kernel with its unknown parameters learnt; the mean of the targets is taken off.

    Parameters
    ----------
    kernel
        What is known stays as it is.
    features, targets
        The rows of all agents.
    fit_rows
        The number of rows to learn from, drawn without replacement; None takes all.
    seed
        The seed of that draw.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 10, (80, 1))
    >>> y = np.sin(x[:, 0]) + rng.normal(0, 0.1, 80)
    >>> learnt = fit_kernel(Kernel(None, None, None), x, y)
    >>> round(learnt.noise, 3)  # the variance that was put in is 0.01
    0.009
    """
    rng = side_generator(root_seed(seed), "fit_kernel")
    rows = _drawn_rows(len(features), fit_rows, rng)
    features, targets = features[rows], targets[rows]
    with np.errstate(over="ignore"):
        variance = float(targets.var())
    if not np.isfinite(variance):
        raise InputError("the targets are too large for their variance: divide them by a constant")
    # Rounding alone leaves this much of the variance of equal numbers.
    if variance <= (1e-14 * float(np.abs(targets).max())) ** 2:
        raise InputError(
            "the targets are all the same, nothing can be learnt from them: give length_scale, "
            "scale and noise"
        )
    targets = (targets - targets.mean()) / np.sqrt(variance)
    starts = _starts(kernel, _typical_distance(_thinned(features)), variance)
    with one_thread_if_small(len(features)), warnings.catch_warnings():
        # Bounds are looked at below. An optimiser that stops short of its tolerance leaves
        # parameters that are as good a choice as any near them.
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            process = GaussianProcessRegressor(
                _most_likely(starts, _thinned(features), _thinned(targets)),
                alpha=0.0,
            ).fit(features, targets)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise InputError(
                f"the kernel could not be learnt ({error}): give length_scale, scale and noise"
            ) from error
    _warn_of_bounds(process.kernel_)
    found = process.kernel_.get_params()
    return Kernel(
        np.atleast_1d(np.array(found["k1__k2__length_scale"], dtype=np.float64))
        if kernel.length_scale is None
        else kernel.length_scale,
        float(found["k1__k1__constant_value"]) * variance if kernel.scale is None else kernel.scale,
        float(found["k2__noise_level"]) * variance if kernel.noise is None else kernel.noise,
    )


def _drawn_rows(n_rows: int, fit_rows: int | None, rng: np.random.Generator) -> Any:
    if fit_rows is None or checks.whole("fit_rows", fit_rows, least=2) >= n_rows:
        return slice(None)
    return np.sort(rng.choice(n_rows, size=fit_rows, replace=False))


def _thinned(rows: FloatArray) -> FloatArray:
    return rows[:: -(-len(rows) // _GRID_ROWS)]


def _typical_distance(features: FloatArray) -> float:
    """The median distance of rows that differ, the unit of length-scales."""
    distances = pdist(features)
    distances = distances[distances > 0]
    if len(distances) == 0 or not np.isfinite(distances).all():
        finding = "have the same features" if len(distances) == 0 else "are too far from each other"
        raise InputError(
            f"all rows {finding}, no length-scale can be learnt: standardise the features, or give "
            "length_scale, scale and noise"
        )
    return float(np.median(distances))


def _starts(kernel: Kernel, unit: float, variance: float) -> Iterator[Any]:
    """Kernels with first values of what is unknown, and its bounds; the known is fixed."""
    bounds = (unit * _LENGTH_SCALES[0], unit * _LENGTH_SCALES[1])
    lengths: Iterable[Any] = (unit * length for length in _FIRST_LENGTHS)
    if kernel.length_scale is not None:
        lengths = [kernel.length_scale if kernel.length_scale.size > 1 else kernel.length_scale[0]]
    noises = _FIRST_NOISES if kernel.noise is None else (kernel.noise / variance,)
    scale = 1.0 if kernel.scale is None else kernel.scale / variance
    for length, noise in product(lengths, noises):
        yield ConstantKernel(scale, _SCALES if kernel.scale is None else "fixed") * RBF(
            length, bounds if kernel.length_scale is None else "fixed"
        ) + WhiteKernel(noise, _NOISES if kernel.noise is None else "fixed")


def _most_likely(kernels: Iterable[Any], features: FloatArray, targets: FloatArray) -> Any:
    """The kernel under which the targets are most likely."""

    def likelihood(kernel: Any) -> float:
        process = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None)
        return float(process.fit(features, targets).log_marginal_likelihood_value_)

    return max(kernels, key=likelihood)


def _warn_of_bounds(kernel: Any) -> None:
    """Say which parameters the bounds chose, not the data."""
    names = {"constant_value": "scale", "length_scale": "length_scale", "noise_level": "noise"}
    free = [item for item in kernel.hyperparameters if not item.fixed]
    for item, value, (low, high) in zip(
        free, np.exp(kernel.theta), np.exp(kernel.bounds), strict=True
    ):
        if value <= low * _AT_BOUND or value >= high / _AT_BOUND:
            name = names[item.name.rpartition("__")[2]]
            side = "small" if value <= low * _AT_BOUND else "large"
            warnings.warn(
                f"the targets ask for as {side} a {name} as the optimiser may choose, so that it "
                f"says little about the data: look at the targets, or give {name}=",
                UserWarning,
                stacklevel=4,
            )
