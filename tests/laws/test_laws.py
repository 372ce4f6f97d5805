"""Every estimator obeys every law that its traits say it does.

The laws of one estimator look at the same simulated runs, so one test holds them all.
`make test-full` repeats the statistical laws 2000 times. Each compares at 4.5 standard errors; over
all estimators the probability of a false alarm stays below one in a hundred.
"""

import pytest

from fairshapley.estimators import METHODS
from fairshapley.testing import LAWS, applicable_laws
from tests.laws.estimators import ESTIMATORS, MORE


def check(estimator, repeats, subtests, fewer=()):
    laws = applicable_laws(estimator)
    assert "any_chunk_size" in laws
    for law in laws:
        with subtests.test(law):
            LAWS[law](estimator, 100 if law in fewer else repeats)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_laws(estimator, subtests):
    # The short version still finds a bias of a third of a standard deviation and standard errors
    # that are off by a fifth; the full version repeats all laws 2000 times.
    check(estimator, 200, subtests, fewer=("unbiased_semivalues", "relabelling", "later_stages"))


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("estimator", ESTIMATORS + MORE, ids=str)
def test_laws_at_length(estimator, subtests):
    check(estimator, 2000, subtests)


def test_every_method_is_put_to_the_laws():
    """Exact values have tests of their own: nothing of them is sampled."""
    assert {estimator.name for estimator in ESTIMATORS} == METHODS.keys() - {"exact"}
