"""Permutations from points on the sphere (Mitchell, Cooper, Frank & Holmes 2022, section 4).

A direction x in the hyperplane Σ x_i = 0 of Rⁿ gives the permutation that sorts its entries. The
n! permutations cut the sphere S^{n−2} into congruent cells, so that a uniform direction gives a
uniform permutation. Directions that are spread evenly (a Sobol sequence) or at right angles to each
other give permutations that differ where it matters.
"""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from scipy.special import betaincinv

from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.draws.permutations import RankArray, with_reverses


@lru_cache(maxsize=64)
def _sobol_cells(points: int, dimensions: int) -> IntArray:
    """Return in which of `points` equal cells of each axis the first points of the sequence lie."""
    from scipy.stats import qmc  # slow to import

    plain = qmc.Sobol(dimensions, scramble=False).random(points)
    cells: IntArray = (plain * points).astype(np.int64)
    cells.setflags(write=False)
    return cells


def scrambled_sobol(rng: np.random.Generator, points: int, dimensions: int) -> FloatArray:
    """Draw the first `points` = 2**k of a scrambled Sobol sequence in the unit cube (Owen 1995).

    On every axis the points lie in 2**k different cells, so that Owen's nested
    scrambling is this: at each node of the binary tree over the cells swap its halves or not, then
    put every point anywhere in its cell. Each single point is uniform on the cube.

    Examples
    --------
    >>> u = scrambled_sobol(np.random.default_rng(0), 4, 2)
    >>> np.sort((4 * u).astype(int), axis=0).T
    array([[0, 1, 2, 3],
           [0, 1, 2, 3]])
    """
    levels = points.bit_length() - 1
    plain = _sobol_cells(points, dimensions)
    swaps = rng.integers(0, 2, size=(max(1, points - 1), dimensions))
    cells = plain.copy()
    for level in range(levels):
        # The node of a point at this level is what its first `level` binary digits say.
        nodes = (1 << level) - 1 + (plain >> (levels - level))
        cells ^= np.take_along_axis(swaps, nodes, axis=0) << (levels - 1 - level)
    return (cells + rng.random((points, dimensions))) / points


def angle_coordinates(u: FloatArray, exponents: FloatArray) -> tuple[FloatArray, FloatArray]:
    """Return cosine and sine of the angle θ in [0, π] with density ∝ sin^m(θ), at the quantile u.

    (1 − cos θ)/2 has the distribution Beta((m + 1)/2, (m + 1)/2), whose quantile function is the
    inverse of the regularised incomplete beta function; no angle and no root search is needed.

    Examples
    --------
    >>> cosine, sine = angle_coordinates(np.array([0.25, 0.5]), np.array([1.0, 7.0]))
    >>> cosine.round(6), sine.round(6)
    (array([0.5, 0. ]), array([0.866025, 1.      ]))
    """
    shape = (exponents + 1.0) / 2.0
    half: FloatArray = np.asarray(betaincinv(shape, shape, u), dtype=np.float64)
    return 1.0 - 2.0 * half, 2.0 * np.sqrt(half * (1.0 - half))


def sphere_dimensions(n_players: int) -> int:
    """Return how many coordinates `sphere_points` needs: n − 2 angles, for two players a sign."""
    return max(1, n_players - 2)


def sphere_points(u: FloatArray, n_players: int) -> FloatArray:
    """Map points of the unit cube to the unit sphere of R^{n−1}, keeping uniformity.

    The j-th polar angle has density ∝ sin^{n−2−j} on [0, π], the last is uniform on [0, 2π). The
    product of the first j sines is the length of what is left of the vector, about √(1 − j/n):
    it cannot underflow.
    """
    if n_players == 2:  # the sphere S⁰ is two points
        return np.where(u < 0.5, -1.0, 1.0)
    cosines, sines = angle_coordinates(u[:, :-1], np.arange(n_players - 3.0, 0.0, -1.0))
    lengths = np.ones((len(u), n_players - 2))
    np.cumprod(sines, axis=1, out=lengths[:, 1:])
    last = 2.0 * np.pi * u[:, -1]
    points = np.empty((len(u), n_players - 1))
    points[:, :-2] = lengths[:, :-1] * cosines
    points[:, -2] = lengths[:, -1] * np.cos(last)
    points[:, -1] = lengths[:, -1] * np.sin(last)
    return points


def into_hyperplane(points: FloatArray) -> FloatArray:
    """Map vectors of R^{n−1} to vectors of Rⁿ with sum zero, keeping lengths and angles.

    The k-th basis vector is (1, …, 1, −k, 0, …)/√(k(k + 1)) with k ones (Helmert; Mitchell et al.
    2022, equation 11). Entry i of the image collects the ones of the basis vectors k ≥ i + 1 and a
    single −k, so that a cumulative sum does in O(n) what the matrix does in O(n²).

    Examples
    --------
    >>> into_hyperplane(np.array([[1.0, 0.0], [0.0, 1.0]])).round(4)
    array([[ 0.7071, -0.7071,  0.    ],
           [ 0.4082,  0.4082, -0.8165]])
    """
    rows, dimensions = points.shape
    k = np.arange(1.0, dimensions + 1.0)
    scaled = points / np.sqrt(k * (k + 1.0))
    vectors = np.zeros((rows, dimensions + 1))
    vectors[:, :-1] = np.cumsum(scaled[:, ::-1], axis=1)[:, ::-1]
    vectors[:, 1:] -= k * scaled
    return vectors


def ranks_of(vectors: FloatArray) -> RankArray:
    """Return the permutations that sort the rows, as ranks: entry (r, i) is the place of entry i.

    Examples
    --------
    >>> ranks_of(np.array([[0.3, -0.9, 0.6]]))
    array([[1, 0, 2]], dtype=uint16)
    """
    n_players = vectors.shape[1]
    places = np.arange(n_players, dtype=np.uint16 if n_players < 1 << 16 else np.uint32)
    ranks: RankArray = np.empty(vectors.shape, dtype=places.dtype)
    np.put_along_axis(ranks, np.argsort(vectors, axis=1), places[None], axis=1)
    return ranks


def sobol_ranks(rng: np.random.Generator, points: int, n_players: int) -> RankArray:
    """Draw `points` = 2**k permutations from a scrambled Sobol sequence on the sphere.

    The players are renamed at random: the first angles move some players more than others, and
    no player is to have a better estimate because of its number.
    """
    u = scrambled_sobol(rng, points, sphere_dimensions(n_players))
    vectors = into_hyperplane(sphere_points(u, n_players))
    return ranks_of(vectors[:, rng.permutation(n_players)])


def orthogonal_directions(rng: np.random.Generator, vectors: int, n_players: int) -> FloatArray:
    """Draw `vectors` ≤ n − 1 orthonormal rows of the hyperplane Σ x_i = 0, uniform among all such.

    Gram–Schmidt on Gaussian vectors (Mitchell et al. 2022, algorithm 3), by QR.
    """
    basis, triangle = np.linalg.qr(rng.standard_normal((n_players - 1, vectors)))
    # Householder's signs depend on the entries; with a positive diagonal each vector is uniform.
    return into_hyperplane((basis * np.copysign(1.0, np.diagonal(triangle))).T)


def orthogonal_ranks(rng: np.random.Generator, vectors: int, n_players: int) -> RankArray:
    """Draw 2·`vectors` permutations from orthogonal directions, each followed by its reverse."""
    return with_reverses(ranks_of(orthogonal_directions(rng, vectors, n_players)))
