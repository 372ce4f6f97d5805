"""P3: agents valued by the information that their data hold about a Gaussian process."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.spatial.distance import cdist, pdist
from sklearn.exceptions import ConvergenceWarning
from sklearn.gaussian_process import GaussianProcessRegressor
from sklearn.gaussian_process.kernels import RBF, ConstantKernel, WhiteKernel

from fairshapley._basics import checks
from fairshapley._basics.threads import one_thread_if_small
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.errors import GameError, InputError
from fairshapley.games.game import check_coalitions, members
from fairshapley.games.player_data import Datasets, equal_datasets, read_datasets, target_vector

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
# A learnt parameter whose logarithm is this close to a bound's is the bound's choice.
_AT_BOUND = 1e-3
_PARAMETERS = "length_scale, scale and noise"


def fit_kernel(features: FloatArray, targets: FloatArray) -> tuple[FloatArray, float, float]:
    """Return length-scale, scale and noise of the highest marginal likelihood; targets are centred.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> x = rng.uniform(0, 10, (80, 1))
    >>> y = np.sin(x[:, 0]) + rng.normal(0, 0.1, 80)
    >>> round(fit_kernel(x, y)[2], 3)  # the variance that was put in is 0.01
    0.009
    """
    with np.errstate(over="ignore"):
        variance = float(targets.var())
    if not np.isfinite(variance):
        raise InputError("the targets are too large for their variance: divide them by a constant")
    # Rounding alone leaves this much of the variance of equal numbers.
    if variance <= (1e-14 * float(np.abs(targets).max())) ** 2:
        raise InputError(
            f"the targets are all the same, nothing can be learnt from them: give {_PARAMETERS}"
        )
    targets = (targets - targets.mean()) / np.sqrt(variance)
    thinned = slice(None, None, -(-len(features) // _GRID_ROWS))
    distances = pdist(features[thinned])
    distances = distances[distances > 0]
    if not len(distances) or not np.isfinite(distances).all():
        raise InputError(
            "all rows have the same features, or are too far from each other, and no length-scale "
            f"can be learnt: standardise the features, or give {_PARAMETERS}"
        )
    unit = float(np.median(distances))  # of rows that differ
    lengths = (unit * _LENGTH_SCALES[0], unit * _LENGTH_SCALES[1])
    starts = [
        ConstantKernel(1.0, _SCALES) * RBF(unit * length, lengths) + WhiteKernel(noise, _NOISES)
        for length, noise in product(_FIRST_LENGTHS, _FIRST_NOISES)
    ]

    def likelihood(kernel: Any) -> float:
        process = GaussianProcessRegressor(kernel, alpha=0.0, optimizer=None)
        process.fit(features[thinned], targets[thinned])
        return float(process.log_marginal_likelihood_value_)

    with one_thread_if_small(len(features)), warnings.catch_warnings():
        # An optimiser that stops short of its tolerance leaves as good a choice as any near it.
        warnings.simplefilter("ignore", ConvergenceWarning)
        try:
            process = GaussianProcessRegressor(max(starts, key=likelihood), alpha=0.0)
            kernel = process.fit(features, targets).kernel_
        except (np.linalg.LinAlgError, ValueError) as error:
            raise InputError(
                f"the kernel could not be learnt ({error}): give {_PARAMETERS}"
            ) from error
    if np.abs(kernel.theta[:, None] - kernel.bounds).min() <= _AT_BOUND:
        warnings.warn(
            f"the optimiser's bounds chose a parameter ({kernel}), so that it says little about "
            f"the data: look at the targets, or give {_PARAMETERS}",
            UserWarning,
            stacklevel=3,
        )
    length, scale, noise = (kernel.k1.k2.length_scale, kernel.k1.k1, kernel.k2.noise_level)
    return np.array([length]), float(scale.constant_value * variance), float(noise * variance)


# I + K/σ² has no eigenvalue below 1; rounding changes them by about rows·ε·scale/σ², and a
# hundredth leaves two digits between that and a factor that breaks down.
_LARGEST_ROUNDING = 0.01


class InformationGame:
    """The information gain of a Gaussian process from the rows of a coalition.

        v(S) = ½·log det(I + K_S/σ²),  K(x, x′) = scale·exp(−‖x − x′‖²/(2·length_scale²))

    in nats, with v(∅) = 0: how much the noisy targets of the rows tell about the function (Sim et
    al. 2020). It needs no targets itself, grows with every row, and less so the more rows there
    are (it is submodular). The kernel's three parameters are given, or learnt once from the targets
    of all agents by the marginal likelihood.

    A utility has the same bits whatever the batch around it (on one machine; above 2048 rows in
    all, also with one number of BLAS threads).

    Parameters
    ----------
    datasets
        One matrix (rows, features) per agent: a list, or a dict by name. Data frames are matched
        by column, sparse matrices are made dense. Standardise the features first: the kernel has
        one length-scale for all, unless given one for each.
    targets
        One vector per agent, in the same form. Needed where the three parameters below are not
        given. The time to learn grows with the third power of the rows: thousands take minutes.
    length_scale
        One number, or one per feature.
    scale
        The variance of the function.
    noise
        σ², the variance of the noise.
    player_names
        Names for the agents; by default the keys of a dict.

    Attributes
    ----------
    length_scale, scale, noise
        The parameters used.
    identical_players
        Pairs of agents that hold the same rows.

    Examples
    --------
    >>> near, far = [[0.0], [0.1]], [[5.0], [6.0]]
    >>> game = InformationGame([near, near, far], length_scale=1.0, scale=1.0, noise=0.1)
    >>> import fairshapley as fs
    >>> fs.exact(game).values.round(2)
    array([0.95, 0.95, 2.22])
    """

    def __init__(
        self,
        datasets: Datasets,
        targets: Datasets | None = None,
        *,
        length_scale: ArrayLike | None = None,
        scale: float | None = None,
        noise: float | None = None,
        player_names: Sequence[str] | None = None,
    ) -> None:
        self.datasets, self.player_names = read_datasets(datasets, player_names)
        self.n_players = len(self.datasets)
        self.identical_players = equal_datasets(self.datasets)
        if length_scale is not None and scale is not None and noise is not None:
            self.length_scale = _length_scale(length_scale, self.datasets[0].shape[1])
            self.scale = checks.real("scale", scale, above=0)
            self.noise = checks.real("noise", noise, above=0)
        elif targets is None or any(part is not None for part in (length_scale, scale, noise)):
            raise InputError(f"{_PARAMETERS} are all given, or all learnt from targets=")
        else:
            vectors = _targets(datasets, targets, self.datasets)
            self.length_scale, self.scale, self.noise = fit_kernel(
                np.concatenate(self.datasets), np.concatenate(vectors)
            )
        self.length_scale.flags.writeable = False
        self._check_range()

    def _check_range(self) -> None:
        """Raise InputError where double precision is not enough for the parameters."""
        n_rows = sum(map(len, self.datasets))
        lowest = n_rows * float(np.finfo(np.float64).eps) * self.scale / _LARGEST_ROUNDING
        if not self.noise >= lowest:
            raise InputError(
                f"noise = {self.noise:g} is too small for double precision with scale = "
                f"{self.scale:g} and {n_rows} rows: give a noise of at least {lowest:.1g}"
            )

    def __fingerprint_state__(self) -> object:
        return self.datasets, self.length_scale, self.scale, self.noise

    def __getstate__(self) -> dict[str, Any]:
        # Workers compute the matrices again: they are larger than the data.
        computed = ("_matrix", "value_range")
        return {name: value for name, value in vars(self).items() if name not in computed}

    @cached_property
    def value_range(self) -> tuple[float, float]:
        """From 0 to v(N): no row takes information away."""
        everybody = self(np.ones((1, self.n_players), dtype=np.bool_))
        # v(N) has rounding errors of its own.
        return 0.0, float(everybody[0]) * (1 + 1e-9)

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """Return the utility of each row of `coalitions`."""
        masks = check_coalitions(coalitions, self.n_players)
        owners = np.repeat(np.arange(self.n_players), [len(rows) for rows in self.datasets])
        gains = np.empty(len(masks))
        with one_thread_if_small(len(owners)):
            for at, mask in enumerate(masks):
                rows = np.flatnonzero(mask[owners])
                sign, log = np.linalg.slogdet(self._matrix[np.ix_(rows, rows)])
                if sign <= 0:
                    raise GameError(
                        f"the kernel matrix of coalition {members(mask)} has no positive "
                        "determinant in double precision: give a larger noise",
                        members(mask),
                    )
                gains[at] = max(log / 2, 0.0)
        return gains

    @cached_property
    def _matrix(self) -> FloatArray:
        """I + K/σ² of the rows of all players."""
        points = np.concatenate(self.datasets) / self.length_scale
        matrix = np.exp(-cdist(points, points, "sqeuclidean") / 2)
        matrix *= self.scale / self.noise
        matrix[np.diag_indices(len(points))] += 1.0
        return matrix


def _length_scale(given: ArrayLike, n_features: int) -> FloatArray:
    """Return one length-scale or one for each feature; raise InputError otherwise."""
    values = [checks.real("length_scale", value, above=0) for value in np.ravel(np.asarray(given))]
    if len(values) not in (1, n_features):
        raise InputError(
            f"length_scale has {len(values)} numbers for {n_features} features: give one number, "
            "or one for each feature"
        )
    return np.array(values)


def _targets(
    datasets: Datasets, targets: Datasets, matrices: Sequence[FloatArray]
) -> list[FloatArray]:
    """Return the targets of each agent; raise InputError otherwise."""
    if isinstance(datasets, Mapping):
        if not isinstance(targets, Mapping) or targets.keys() != datasets.keys():
            raise InputError("targets must be a dict with the same names as datasets")
        parts = {repr(name): targets[name] for name in datasets}
    elif isinstance(targets, Mapping) or not isinstance(targets, Iterable):
        raise InputError("targets must be a list with a vector for each agent, as datasets is")
    else:
        parts = {str(place): part for place, part in enumerate(targets)}
    if len(parts) != len(matrices):
        raise InputError(
            f"targets has {len(parts)} entries for {len(matrices)} agents: give one vector each"
        )
    return [
        target_vector(part, len(rows), f"the targets of agent {label}", f"dataset {label}")
        for (label, part), rows in zip(parts.items(), matrices, strict=True)
    ]
