"""Points on the sphere: each map keeps uniformity, lengths and angles."""

from itertools import pairwise, permutations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.integrate import quad

from fairshapley.draws.sphere import (
    angle_coordinates,
    into_hyperplane,
    orthogonal_directions,
    orthogonal_ranks,
    scrambled_sobol,
    sobol_ranks,
    sphere_dimensions,
    sphere_points,
)


@given(st.integers(0, 6), st.integers(1, 40), st.integers(0, 99))
def test_every_axis_has_one_point_in_each_cell(k, dimensions, seed):
    points = 1 << k
    u = scrambled_sobol(np.random.default_rng(seed), points, dimensions)
    cells = np.sort(np.floor(u * points), axis=0)
    np.testing.assert_array_equal(cells, np.tile(np.arange(points)[:, None], dimensions))


def test_every_single_scrambled_point_is_uniform():
    """Kolmogorov–Smirnov for 4 points × 3 axes at 1e−5 each: false alarm 1.2e−4."""
    rng = np.random.default_rng(1)
    sample = np.array([scrambled_sobol(rng, 4, 3) for _ in range(2000)]).reshape(2000, -1)
    assert min(stats.kstest(column, "uniform").pvalue for column in sample.T) > 1e-5


@pytest.mark.parametrize("exponent", [1, 2, 7, 98, 997])
def test_angles_have_the_density_of_the_sphere(exponent):
    """∫₀^θ sin^m = u·∫₀^π sin^m, by numerical integration."""
    u = np.array([1e-6, 0.1, 0.37, 0.5, 0.8, 1 - 1e-6])
    cosine, sine = angle_coordinates(u, np.full(u.shape, float(exponent)))
    np.testing.assert_allclose(cosine**2 + sine**2, 1.0, rtol=1e-12)
    assert (np.diff(cosine) < 0).all()  # θ grows with u
    points = np.arccos(cosine)
    inner = [np.pi / 2 + offset / np.sqrt(exponent) for offset in (-3, 3)]

    def mass(end):
        # Nearly all of sin^997 lies in a narrow peak: quad is told where.
        cuts = sorted([0.0, *[cut for cut in (*inner, np.pi / 2) if 0 < cut < end], end])
        return sum(
            quad(lambda t: np.sin(t) ** exponent, a, b, epsabs=1e-15)[0] for a, b in pairwise(cuts)
        )

    np.testing.assert_allclose([mass(theta) / mass(np.pi) for theta in points], u, rtol=1e-6)


@pytest.mark.parametrize("n", [2, 3, 4, 9, 1000])
def test_points_are_uniform_on_the_sphere(n):
    """Each coordinate has mean 0 and mean square 1/(n−1).

    A coordinate's square has variance below 2/(n−1)². 5.5 standard errors of both for up to 999
    coordinates: false alarm below 1e−4.
    """
    rng, rows = np.random.default_rng(2), 2000
    points = sphere_points(rng.random((rows, sphere_dimensions(n))), n)
    np.testing.assert_allclose(np.linalg.norm(points, axis=1), 1.0, rtol=1e-9)
    error = 5.5 / np.sqrt(rows * (n - 1.0))
    assert np.abs(points.mean(axis=0)).max() < error
    assert np.abs((points**2).mean(axis=0) - 1 / (n - 1)).max() < error * np.sqrt(2 / (n - 1))


@pytest.mark.parametrize("n", [2, 3, 4, 17, 300])
def test_the_basis_of_the_hyperplane_is_orthonormal(n):
    basis = into_hyperplane(np.eye(n - 1))
    np.testing.assert_allclose(basis @ basis.T, np.eye(n - 1), atol=1e-13)
    np.testing.assert_allclose(basis.sum(axis=1), 0.0, atol=1e-13)


@settings(max_examples=30)
@given(st.integers(2, 25), st.integers(0, 99), st.data())
def test_orthogonal_directions_are_orthonormal_and_add_to_zero(n, seed, data):
    vectors = data.draw(st.integers(1, n - 1))
    directions = orthogonal_directions(np.random.default_rng(seed), vectors, n)
    np.testing.assert_allclose(directions @ directions.T, np.eye(vectors), atol=1e-12)
    np.testing.assert_allclose(directions.sum(axis=1), 0.0, atol=1e-12)


ORDERS = {order: at for at, order in enumerate(permutations(range(4)))}


@pytest.mark.parametrize("place", [0, 1, 5, 7])
@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: sobol_ranks(rng, 8, 4),
        lambda rng: np.vstack([orthogonal_ranks(rng, 3, 4), orthogonal_ranks(rng, 1, 4)]),
    ],
    ids=["sobol", "orthogonal"],
)
def test_every_permutation_of_a_group_is_uniform(draw, place):
    """χ² over the 24 permutations of 4 players, 4000 independent groups; false alarm 1e−4 each."""
    rng = np.random.default_rng(place)
    found = [ORDERS[tuple(draw(rng)[place].tolist())] for _ in range(4000)]
    assert stats.chisquare(np.bincount(found, minlength=24)).pvalue > 1e-4
