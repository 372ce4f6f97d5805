"""Every estimator obeys every law that its traits say it does.

`make test-full` repeats the statistical laws 2000 times. Each compares at 4.5 standard errors;
over all estimators the probability of a false alarm stays below one in a thousand.
"""

import pytest

import fairshapley as fs
from fairshapley.estimators import METHODS
from fairshapley.testing import LAWS, applicable_laws

ESTIMATORS = [
    fs.Exact(),
    fs.MonteCarlo(),
    fs.MonteCarlo(antithetic=True),
    fs.MonteCarlo(walk=False),
]
CASES = [
    # The laws of one estimator share its simulated runs, so one worker takes them all.
    pytest.param(
        estimator,
        law,
        id=f"{estimator}-{law}",
        marks=pytest.mark.xdist_group(repr(estimator)),
    )
    for estimator in ESTIMATORS
    for law in applicable_laws(estimator)
    if not (estimator.name == "exact" and law not in ("exact_when_known",))
]


@pytest.mark.parametrize(("estimator", "law"), CASES)
def test_law(estimator, law):
    LAWS[law](estimator, 1000)


@pytest.mark.full
@pytest.mark.parametrize(("estimator", "law"), CASES)
def test_law_at_length(estimator, law):
    LAWS[law](estimator, 5000)


def test_every_method_is_put_to_the_laws():
    assert {estimator.name for estimator in ESTIMATORS} == set(METHODS)
