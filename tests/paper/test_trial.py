"""One trial: what is counted, when it is recorded, and what the bootstrap does."""

import numpy as np
import pytest

import fairshapley as fs
from fairshapley_paper.experiment import Ground, Setting
from fairshapley_paper.jobs import RememberingGame, run_trial
from fairshapley_paper.measures import MSE
from fairshapley_paper.methods import ALL_METHODS, PROGRAM_METHODS
from fairshapley_paper.report import measured

GAME = fs.games.SumOfUnanimity(12, seed=3)


def trial(method, setting, game=GAME, seed=5):
    return run_trial(RememberingGame(game), method, fs.Shapley(), setting, seed=seed, xi=1e-3)


@pytest.mark.parametrize("method", ALL_METHODS[:-1])
def test_both_budgets_are_kept_and_nearly_spent(method):
    setting = Setting(trials=1, marginals=400, bootstrap=10)
    one = trial(method, setting)
    limit = setting.total_evaluations(12)
    assert limit == 2 + 10 * 11 + 2 * 400
    assert 0.85 * limit < one.honest.evaluations <= limit
    if one.paper.marginals is None:
        assert one.paper.evaluations <= limit
    elif not method.startswith("kernel"):  # which spends marginals in its bootstrap alone
        assert 0.85 * 520 < one.paper.marginals <= 520
    assert np.isfinite(one.paper.values).all()
    assert (one.honest.variances > 0).all()


def test_the_count_is_that_of_the_library():
    """The same rounds, the same seed: fs.estimate gives the same bits and the same cost."""
    setting = Setting(trials=1, marginals=300, bootstrap=10)
    one = trial("gae-5", setting)
    same = fs.estimate(
        GAME,
        fs.GreedyActive(alpha=5, bootstrap=10, batch=1),
        budget=fs.Budget(marginals=10 * 12 + 300),
        seed=5,
    )
    np.testing.assert_array_equal(one.paper.values, same.values)
    np.testing.assert_allclose(np.sqrt(one.paper.variances), same.standard_errors)
    assert (one.paper.evaluations, one.paper.marginals) == (same.evaluations, same.marginals)


@pytest.mark.parametrize("method", ["mc", "sobol", "gae-2", "adjusted"])
def test_looks_are_moments_of_the_same_run(method):
    whole = trial(method, Setting(trials=1, marginals=400, bootstrap=10, looks=4))
    half = trial(method, Setting(trials=1, marginals=200, bootstrap=10, looks=1))
    assert len(whole.path) == 5
    np.testing.assert_array_equal(whole.path[2].values, half.paper.values)
    assert whole.path[-1] is whole.paper
    costs = [outcome.evaluations for outcome in whole.path]
    assert costs == sorted(costs)


def test_all_methods_share_the_bootstrap():
    setting = Setting(trials=1, marginals=100, bootstrap=10, looks=2)
    starts = [trial(method, setting).path[0] for method in ("mc", "owen", "kernel", "gae-5")]
    for start in starts[1:]:
        np.testing.assert_allclose(start.values, starts[0].values, atol=1e-14)


def test_small_games_go_on_in_the_paper_and_are_exact_in_the_honest_accounting():
    game = fs.games.SumOfUnanimity(4, coalitions=[[0, 1, 2], [1, 3], [2]], weights=[3, 2, 1])
    one = trial("mc", Setting(trials=1, marginals=100, bootstrap=5), game)
    assert one.paper.evaluations <= 16
    assert one.paper.marginals == 120
    assert (one.paper.variances > 0).any()
    assert one.honest.evaluations == 16
    np.testing.assert_allclose(one.honest.values, game.shapley_values, atol=1e-12)
    assert (one.honest.variances == 0).all()


def test_an_honest_budget_of_its_own_shrinks_the_bootstrap():
    setting = Setting(trials=1, marginals=400, bootstrap=40, evaluations=300)
    assert setting.honest_permutations(12) == 300 // 44
    one = trial("gae-5", setting)
    assert one.honest.evaluations <= 300
    assert one.paper.marginals == 880


@pytest.mark.parametrize("method", [*PROGRAM_METHODS, "kernel-nth"])
def test_the_programs_forms_run_once_and_never_at_equal_evaluations(method):
    one = trial(method, Setting(trials=1, marginals=240, bootstrap=5))
    assert one.paper is one.honest
    assert np.isfinite(one.paper.values).all()
    assert not measured(MSE, "any", [one], Ground(None, GAME.shapley_values, 1e-3))[1:]


@pytest.mark.parametrize(
    "method",
    [
        *("mc", "owen", "sobol", "stratified", "kernel"),
        *("owen-antithetic", "owen-single", "sobol-single", "kernel-paired"),
    ],
)
def test_the_mean_with_the_bootstrap_is_unbiased_and_its_errors_hold(method):
    """z of the mean over 100 runs: above 4.5 by chance for one of 40 once in 3500."""
    setting = Setting(trials=1, marginals=160, bootstrap=10, evaluations=30)
    game = fs.games.SumOfUnanimity(8, seed=2)
    runs = [trial(method, setting, game, seed=seed).paper for seed in range(100)]
    values = np.stack([run.values for run in runs])
    errors = values.mean(axis=0) - game.shapley_values
    spread = values.std(axis=0, ddof=1)
    assert np.abs(errors / (spread / np.sqrt(100))).max() < 4.5
    reported = np.sqrt(np.mean([run.variances for run in runs], axis=0))
    np.testing.assert_allclose(reported, spread, rtol=0.45)
