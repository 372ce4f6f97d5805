"""A reference to run beside ours: a plain Gaussian process on masks, the extremes first.

Shapley values see only the odd part of a game, u(S) = (v(S) − v(N ∖ S))/2. Its prior covariance is
σ²·[½(r^h − r^(n−h)) + c·⟨±S, ±T⟩/n + noise where S = T], with h the number of players in whom S and
T differ and ±S the memberships as signs. Decay r, linear part c and noise maximise the marginal
likelihood under weak priors; σ² is profiled out.

The values of the posterior mean are exact for any number of players. As a function of S, r^h is a
product over players, and so is its multilinear extension: with a = p + (1 − p)r and b = pr + 1 − p,
each of the t players of T gets (1 − r)·∫ a^(t−1)·b^(n−t) dp and each player outside
−(1 − r)·∫ a^t·b^(n−t−1) dp; the integrands are polynomials of degree n − 1, and Gauss–Legendre
quadrature is exact for them. r^(n−h), the kernel at the complement of T, gives the same with the
other sign.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import roots_legendre

from fairshapley.games import Game

Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]
# Logarithms of −log r, of c and of the noise: the means and the variances of their priors.
CENTRE = np.array([-2.0, -1.0, -9.0])
SPREAD = np.array([4.0, 4.0, 9.0])
STARTS = ((-1.0, -1.0, -9.0), (-3.0, -1.0, -9.0))
# Keeps the covariance positive definite when the noise vanishes.
FLOOR = 1e-9
# 240 Cholesky factors of so many pairs take about ten seconds.
MOST_PAIRS = 600


def extremes_first(n_players: int, n_pairs: int, rng: np.random.Generator) -> Masks:
    """One coalition of each pair: ∅, the singletons, then others with sizes ∝ 1/√(s(n − s))."""
    chosen = [np.zeros(n_players, dtype=bool), *np.eye(n_players, dtype=bool)]
    known = {one.tobytes() for mask in chosen for one in (mask, ~mask)}
    sizes = np.arange(2, n_players - 1)
    law = 1 / np.sqrt(sizes * (n_players - sizes))
    while len(chosen) < n_pairs:
        mask = np.zeros(n_players, dtype=bool)
        mask[rng.choice(n_players, rng.choice(sizes, p=law / law.sum()), replace=False)] = True
        if mask.tobytes() not in known:
            known |= {mask.tobytes(), (~mask).tobytes()}
            chosen.append(mask)
    return np.array(chosen[:n_pairs])


def posterior_values(masks: Masks, odd: Floats) -> Floats:
    """The Shapley values of the posterior mean, given the odd part at the masks."""
    signs = np.where(masks, 1.0, -1.0)
    n_players = masks.shape[1]
    product = signs @ signs.T
    apart = (n_players - product) / 2

    def factor(parameters: Floats) -> Floats:
        rate, linear, noise = np.exp(parameters)
        covariance = 0.5 * (np.exp(-rate * apart) - np.exp(-rate * (n_players - apart)))
        covariance += linear / n_players * product
        covariance[np.diag_indices_from(covariance)] += FLOOR + noise
        lower: Floats = cholesky(covariance, lower=True, overwrite_a=True, check_finite=False)
        return lower

    def loss(parameters: Floats) -> float:
        try:
            lower = factor(parameters)
        except np.linalg.LinAlgError:
            return 1e10
        white = solve_triangular(lower, odd, lower=True, check_finite=False)
        scale = max(float(white @ white) / len(odd), 1e-300)
        prior = float((np.square(parameters - CENTRE) / SPREAD).sum()) / 2
        return float(len(odd) / 2 * np.log(scale) + np.log(np.diag(lower)).sum() + prior)

    fits = [
        minimize(loss, start, method="Nelder-Mead", options={"maxiter": 120}) for start in STARTS
    ]
    best: Floats = min(fits, key=lambda fit: float(fit.fun)).x
    lower = factor(best)
    white = solve_triangular(lower, odd, lower=True, check_finite=False)
    weights = solve_triangular(lower.T, white, lower=False, check_finite=False)
    rate, linear, _ = np.exp(best)
    members, others = _kernel_values(n_players, float(np.exp(-rate)))
    size = masks.sum(axis=1)
    values = np.where(masks, members[size, None], others[size, None])
    found: Floats = weights @ (values + 2 * linear / n_players * signs)
    return found


def _kernel_values(n_players: int, decay: float) -> tuple[Floats, Floats]:
    """The values of r^h with T of each size: of a member of T, and of a player outside."""
    nodes, weights = roots_legendre(-(-n_players // 2))
    p = (nodes + 1) / 2
    inside, outside = p + (1 - p) * decay, p * decay + 1 - p
    sizes = np.arange(n_players + 1)[:, None]
    # What a size has not got (a member of ∅, a player outside N) is never looked up.
    member = inside ** np.maximum(sizes - 1, 0) * outside ** (n_players - sizes)
    other = inside**sizes * outside ** np.maximum(n_players - sizes - 1, 0)
    gain = (1 - decay) / 2 * weights
    return member @ gain, -(other @ gain)


def estimate(game: Game, budget: int, seed: int) -> Floats:
    """Values from at most `budget` distinct evaluations, an even number of them."""
    masks = extremes_first(game.n_players, budget // 2, np.random.default_rng(seed))
    utilities = np.asarray(game(np.concatenate([masks, ~masks])), dtype=np.float64)
    return posterior_values(masks, (utilities[: len(masks)] - utilities[len(masks) :]) / 2)
