"""Runs give what they gave: to 1e−8, and to 1e−4 where a model is fitted to the utilities.

Where a plan could flip they are compared only on the same machine type.
"""

import numpy as np
import pytest

from tests.golden.runs import SEEDS, cases, differences, games, kept, machine, methods, run

# These look at what they were told before they draw, so that a last bit may change their draws.
PLANNING = ("GreedyActive", "RegressionAdjusted")
PLACES = list(games())
# One game and seed for each method; the others in the long form.
SHORT = {
    f"{method} · {PLACES[at % len(PLACES)]} · {SEEDS[at // len(PLACES) % len(SEEDS)]}"
    for at, method in enumerate(methods())
}


@pytest.fixture(scope="module")
def golden():
    return kept()


@pytest.mark.parametrize(
    "case",
    [case if case in SHORT else pytest.param(case, marks=pytest.mark.full) for case in cases()],
)
def test_runs_give_what_they_gave(case, golden):
    if case.startswith(PLANNING) and golden["machine"] != machine():
        pytest.skip("a plan may flip on another type of machine")
    before, now = golden["results"][case], run(case)
    for name in ("values", "standard_errors"):
        ours, theirs = (np.array(side[name], dtype=float) for side in (now, before))
        scale = np.abs(theirs[np.isfinite(theirs)]).max(initial=1e-12)
        # Fits multiply the roundings in which two linear algebra libraries differ.
        near = 1e-4 if case.startswith("RegressionAdjusted") else 1e-8
        np.testing.assert_allclose(ours, theirs, rtol=near, atol=near * scale, err_msg=name)
    exactly = {name for name in before if name not in ("values", "standard_errors")}
    assert not exactly & set(differences(before, now))


def test_the_file_holds_every_run(golden):
    assert sorted(golden["results"]) == sorted(cases())


def test_differences_are_told():
    assert differences({"values": [1.0], "counts": [2]}, {"values": [1.0], "counts": [3]}) == [
        "counts"
    ]
