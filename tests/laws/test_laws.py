"""Every estimator obeys every law that its traits say it does.

The laws of one estimator look at the same simulated runs, so one test holds them all.
A law compares at 4.5 standard errors, whatever the repeats; over all estimators the probability of
a false alarm stays below one in a hundred. 100 repeats find a bias of .45 standard deviations every
other time, and standard errors that are off by a third. The 500 and 1000 of `make test-full` find a
bias of a fifth and of a seventh, and errors that are off by a seventh and by a tenth.
"""

import pytest

from fairshapley.estimators import METHODS
from fairshapley.testing import LAWS, applicable_laws
from tests.laws.estimators import ESTIMATORS, MORE


def check(estimator, repeats, subtests):
    laws = applicable_laws(estimator)
    assert "any_chunk_size" in laws
    for law in laws:
        with subtests.test(law):
            LAWS[law](estimator, repeats)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_laws(estimator, subtests):
    check(estimator, 100, subtests)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_laws_at_length(estimator, subtests):
    check(estimator, 1000, subtests)


@pytest.mark.full
@pytest.mark.timeout(1800)
@pytest.mark.parametrize("estimator", MORE, ids=str)
def test_laws_of_other_settings(estimator, subtests):
    check(estimator, 500, subtests)


def test_every_method_is_put_to_the_laws():
    """Exact values have tests of their own: nothing of them is sampled."""
    assert {estimator.name for estimator in ESTIMATORS} == METHODS.keys() - {"exact"}
