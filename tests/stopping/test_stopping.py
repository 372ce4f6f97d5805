import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fairshapley as fs
from fairshapley.fairness import Evidence
from fairshapley.runs.progress import describe
from fairshapley.stopping import Rule, Snapshot, parse_budget, rule_from_configuration


def snapshot(evaluations=100, marginals=200, seconds=3.0, variance=0.25):
    evidence = Evidence(
        values=np.array([1.0, 2.0]),
        standard_errors=np.sqrt([variance, 0.25]),
        counts=np.array([9, 9]),
        evaluations=evaluations,
        exact=False,
        independent=False,
    )
    return Snapshot(evaluations, marginals, seconds, evidence, xi=0.0)


def test_a_rule_says_why_and_an_unknown_fidelity_is_not_enough():
    now = snapshot()
    assert fs.Fidelity(at_least=4).met(now) == "the minimum fidelity is 4, 4 asked for"
    assert fs.Fidelity(at_least=5).met(now) is None
    assert fs.Fidelity(at_least=1e-9).met(snapshot(variance=np.nan)) is None


rules = st.recursive(
    st.builds(fs.Fidelity, at_least=st.floats(0.1, 8)),
    lambda inner: (
        st.tuples(inner, inner).map(lambda two: two[0] | two[1])
        | st.tuples(inner, inner).map(lambda two: two[0] & two[1])
    ),
    max_leaves=6,
)


@given(rules, rules, st.floats(0.1, 1))
def test_rules_combine_like_logic_and_survive_a_journal(one, other, variance):
    now = snapshot(variance=variance)
    met = [rule.met(now) is not None for rule in (one, other)]
    assert ((one | other).met(now) is not None) == (met[0] or met[1])
    assert ((one & other).met(now) is not None) == (met[0] and met[1])
    assert rule_from_configuration((one | other).configuration()) == one | other


@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, "5", None, True])
def test_bad_thresholds_are_refused(bad):
    with pytest.raises(fs.InputError, match="finite number above 0"):
        fs.Fidelity(at_least=bad)


@pytest.mark.parametrize("bad", [0, -5, 2.5, math.inf, "100", True])
def test_bad_budgets_are_refused(bad):
    with pytest.raises(fs.errors.BudgetError, match="number"):
        parse_budget(bad)
    for unit in ("marginals", "seconds"):
        with pytest.raises(fs.errors.BudgetError, match=unit):
            fs.Budget(**{unit: 0})


def test_unknown_rules_are_refused():
    with pytest.raises(fs.InputError, match="Fidelity"):
        rule_from_configuration({"rule": "os.system"})


class TestFair:
    game = fs.games.SumOfUnanimity(14, seed=0)
    easy = fs.Fair(epsilon1=0.9, delta=0.1, xi=1.0)

    def test_it_stops_when_certified_and_the_certificate_agrees(self):
        result = fs.estimate(self.game, "mc", until=self.easy, budget=10_000, seed=0)
        assert result.stopped == "certified as (0.9, 0.9, 0.1)-Shapley fair"
        assert result.evaluations < 10_000
        assert 0 < result.run.level_share < 1
        assert result.certificate(0.9, 0.1, xi=1.0).holds

    def test_looks_are_the_same_without_a_budget(self):
        result = fs.estimate(self.game, "mc", until=self.easy, seed=0)
        bounded = fs.estimate(self.game, "mc", until=self.easy, budget=10_000, seed=0)
        assert not result.run.sequential
        assert (result.evaluations, result.run.level_share) == (
            bounded.evaluations,
            bounded.run.level_share,
        )
        assert result.certificate(0.9, 0.1, xi=1.0).holds

    def test_a_target_out_of_reach_is_said_and_given_up_where_asked(self):
        hard = fs.Fair(epsilon1=0.001, delta=0.1)
        game = fs.games.SumOfUnanimity(30, seed=0)
        result = fs.estimate(game, "mc", until=hard, budget=9000, seed=0)
        assert "used up" in result.stopped
        assert "the target is out of reach: to be (0.001, 1e-06, 0.1)" in result.stopped
        assert result.evaluations > 9000 - 29
        asked = replace(hard, give_up=True)
        early = fs.estimate(game, "mc", until=asked, budget=9000, seed=0)
        assert early.stopped.startswith("the target is out of reach: to be (0.001, 1e-06, 0.1)")
        assert early.evaluations < 4500

    def test_the_end_of_the_budget_is_the_last_look(self):
        """A budget that ends between two looks still gets an answer."""
        loose = fs.Fair(epsilon1=1.2, delta=0.1, xi=1.0)
        result = fs.estimate(self.game, "mc", until=loose, budget=280, seed=0)
        assert "budget of 280 evaluations used up" in result.stopped
        assert result.stopped.endswith("Shapley fair at the last look")
        assert result.certificate(1.2, 0.1, xi=1.0).holds
        tight = fs.Fair(epsilon1=0.6, delta=0.1, xi=1.0)
        result = fs.estimate(self.game, "mc", until=tight, budget=280, seed=0)
        assert "not certified: the intervals of" in result.stopped
        assert not result.certificate(0.6, 0.1, xi=1.0).holds

    def test_the_looks_spend_the_level_once(self):
        """Over all looks of a run and its end the shares add up to at most 1."""
        base = snapshot()
        rng = np.random.default_rng(0)
        for _ in range(50):
            stops = np.unique(rng.integers(2, 1001, 40))
            spent, look = 0.0, 0
            for evaluations in stops.tolist():
                now = replace(base, evaluations=evaluations, last_look=look)
                if now.level_share > 0 and rng.random() < 0.7:  # some are not ready to look
                    spent += now.level_share
                    look = evaluations
            last = replace(base, evaluations=1000, last_look=look)
            assert spent + last.unspent_share == pytest.approx(1)

    def test_methods_that_cannot_be_certified_are_refused_before_anything_is_spent(self):
        calls = []
        game = fs.games.FunctionGame(lambda s: calls.append(s) or 1.0, 12, key="c")
        with pytest.raises(fs.InputError, match="keeps sampling whoever looks worst"):
            fs.estimate(game, "gae", until=self.easy, budget=1000)
        assert not calls

    def test_skipped_evaluations_end_the_hope(self):
        game = fs.games.FunctionGame(
            lambda s: math.nan if s == (0,) else float(len(s)), 12, key="skip"
        )
        options = {"on_error": "skip", "seed": 0}
        for early in ({"until": self.easy}, {"until": replace(self.easy, give_up=True)}):
            result = fs.estimate(game, "mc", **early, **options)
            assert "can no longer be certified" in result.stopped
        whole = fs.estimate(game, "mc", until=self.easy, budget=3000, **options)
        assert "not certified: 1 evaluations failed and were skipped" in whole.stopped
        assert whole.evaluations > result.evaluations

    def test_progress_tells_the_predicted_cost(self):
        now = replace(snapshot(), evidence=replace(snapshot().evidence, counts=np.array([99, 99])))
        assert "fair after about" in describe(now, None, self.easy)

    def test_one_word_for_a_run_that_also_stops_by_its_fidelity(self):
        """Then the whole run is held to a confidence sequence, by the rule and the result."""
        rule = self.easy | fs.Fidelity(at_least=1e9)
        result = fs.estimate(self.game, "mc", until=rule, budget=10_000, seed=0)
        assert result.run.sequential
        assert result.stopped.startswith("certified as")
        assert result.certificate(0.9, 0.1, xi=1.0).holds

    def test_a_rule_of_ones_own_is_not_trusted_to_look_away(self):
        class Mine(Rule):
            def met(self, snapshot):
                return "enough" if snapshot.evidence.values[0] > 0 else None

            def configuration(self):
                return {"rule": "mine"}

        result = fs.estimate(self.game, "mc", until=Mine(), budget=500, seed=0)
        assert result.run.sequential

    @pytest.mark.parametrize("bound", ["chebyshev", "bernstein"])
    def test_fixed_bounds_need_planned_looks(self, bound):
        rule = fs.Fair(epsilon1=0.9, delta=0.1, bound=bound) | fs.Fidelity(at_least=9)
        with pytest.raises(fs.InputError, match="planned looks"):
            fs.estimate(self.game, "mc", until=rule, budget=fs.Budget(seconds=5))

    def test_a_value_of_zero_without_tolerance_is_out_of_reach(self):
        rule = fs.Fair(epsilon1=0.5, delta=0.1, xi=0)
        game = fs.testing.PlantedGame(14, seed=3)
        result = fs.estimate(game, "mc", until=rule, budget=6000, seed=0, progress=True)
        assert "all 16,384 coalitions" in result.stopped
