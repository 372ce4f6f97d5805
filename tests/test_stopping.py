import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairshapley as fs
from fairshapley.fairness import Evidence
from fairshapley.stopping import Snapshot, parse_budget, rule_from_configuration


def snapshot(evaluations=100, marginals=200, seconds=3.0, variance=0.25):
    evidence = Evidence(
        values=np.array([1.0, 2.0]),
        variances=np.array([variance, 0.25]),
        counts=np.array([9, 9]),
        evaluations=evaluations,
        exact=False,
        independent=False,
    )
    return Snapshot(evaluations, marginals, seconds, evidence, xi=0.0)


def test_rules_say_why():
    now = snapshot()
    assert fs.Evaluations(at_least=100).met(now) == "100 evaluations were made, 100 asked for"
    assert fs.Marginals(at_least=200).met(now) == "200 marginals were averaged, 200 asked for"
    assert fs.Seconds(at_least=3).met(now) == "3 seconds have passed"
    assert fs.Fidelity(at_least=4).met(now) == "the minimum fidelity is 4, 4 asked for"
    for rule in (fs.Evaluations, fs.Marginals, fs.Seconds, fs.Fidelity):
        assert rule(at_least=201).met(now) is None


def test_an_unknown_fidelity_is_not_enough():
    assert fs.Fidelity(at_least=1e-9).met(snapshot(variance=np.nan)) is None


def test_marginals_mean_nothing_to_methods_without_them():
    with pytest.raises(fs.InputError, match="Evaluations"):
        fs.Marginals(at_least=5).met(snapshot(marginals=None))


rules = st.recursive(
    st.builds(fs.Evaluations, at_least=st.integers(1, 200))
    | st.builds(fs.Seconds, at_least=st.floats(0.1, 6)),
    lambda inner: (
        st.tuples(inner, inner).map(lambda two: two[0] | two[1])
        | st.tuples(inner, inner).map(lambda two: two[0] & two[1])
    ),
    max_leaves=6,
)


@given(rules, rules, st.integers(1, 200), st.floats(0.1, 6))
def test_rules_combine_like_logic_and_survive_a_journal(one, other, evaluations, seconds):
    now = snapshot(evaluations=evaluations, seconds=seconds)
    met = [rule.met(now) is not None for rule in (one, other)]
    assert ((one | other).met(now) is not None) == (met[0] or met[1])
    assert ((one & other).met(now) is not None) == (met[0] and met[1])
    assert rule_from_configuration((one | other).configuration()) == one | other


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "5", None, True])
def test_bad_thresholds_are_refused(bad):
    with pytest.raises(fs.InputError, match="positive number"):
        fs.Fidelity(at_least=bad)


@pytest.mark.parametrize("bad", [0, -5, 2.5, math.inf, "100", True])
def test_bad_budgets_are_refused(bad):
    with pytest.raises(fs.BudgetError, match="number"):
        parse_budget(bad)


@pytest.mark.parametrize("unit", ["evaluations", "marginals", "seconds"])
def test_bad_limits_are_refused(unit):
    with pytest.raises(fs.BudgetError, match=unit):
        fs.Budget(**{unit: 0})


def test_unknown_rules_are_refused():
    with pytest.raises(fs.InputError, match="Fidelity"):
        rule_from_configuration({"rule": "os.system"})
