"""Audits: arithmetic by hand, honest methods pass, dishonest ones are found out."""

from dataclasses import replace

import matplotlib as mpl
import numpy as np
import pytest
from scipy.stats import spearmanr

import fairshapley as fs
from fairshapley.comparison.audits import audit_runs
from fairshapley.comparison.measures import inversions
from fairshapley.results.serialising import assembled

mpl.use("Agg")


def result(values, errors, counts=1000):
    n = len(values)
    return assembled(
        fs.Result,
        values=np.array(values, dtype=float),
        standard_errors=np.array(errors, dtype=float),
        counts=np.full(n, counts),
        evaluations=100,
        marginals=None,
        stopped="",
        seed=0,
        configuration={"method": {"name": "mine"}, "semivalue": "shapley", "xi": 0.0},
        xi=0.0,
    )


def test_by_hand():
    """Two players with values 1 and 0, two runs, ξ = 0.5, ε1 = 0.5: tolerances 0.75 and 0.25."""
    runs = [result([1.2, 0.1], [0.2, 0.1]), result([0.6, -0.3], [0.1, 0.1])]
    audit = audit_runs(runs, np.array([1.0, 0.0]), xi=0.5, epsilon1=0.5)
    np.testing.assert_allclose(audit.mse, [(0.04 + 0.16) / 2, (0.01 + 0.09) / 2])
    np.testing.assert_allclose(audit.bias, [-0.1, -0.1])
    np.testing.assert_allclose(audit.true_fidelity, [1.5**2 / 0.1, 0.25 / 0.05])
    assert audit.min_true_fidelity == pytest.approx(5)
    np.testing.assert_allclose(audit.reported[0], [1.7**2 / 0.04, 0.6**2 / 0.01])
    np.testing.assert_array_equal(audit.covered, [[True, True], [False, False]])
    # 0.3 exceeds 0.25 for the second player of the second run, a null player: A0 and A1 fail
    np.testing.assert_array_equal(audit.within, [True, False])
    np.testing.assert_array_equal(audit.fair, [True, False])
    assert audit.fair_share == audit.coverage == 0.5
    assert "mine: 2 runs\nevaluations: 100" in str(audit)


def test_a_method_that_understates_its_errors_is_found_out():
    rng = np.random.default_rng(0)
    truth = np.linspace(-1, 1, 5)
    noise = rng.normal(size=(400, 5))
    honest = audit_runs([result(truth + 0.1 * x, [0.1] * 5) for x in noise], truth, xi=0.1)
    boasting = audit_runs([result(truth + 0.1 * x, [0.02] * 5) for x in noise], truth, xi=0.1)
    # 2000 intervals: 4.5 standard deviations of the share are 2.2 %
    assert abs(honest.coverage - 0.95) < 0.022
    assert boasting.coverage < 0.4
    ratio = np.median(boasting.reported, axis=0) / boasting.true_fidelity
    assert (ratio > 10).all()
    assert boasting.row()["certificates"] == 400
    assert boasting.row()["certificate_failures"] > 100
    assert honest.row()["certificate_failures"] <= 0.1 * 400


def test_monte_carlo_stands_its_audit():
    audit = fs.audit(fs.games.SumOfUnanimity(12, seed=1), "mc", budget=600, repeats=300, xi=0.05)
    assert np.abs(audit.bias_in_errors).max() < 4.5
    assert 0.92 < audit.coverage < 0.975
    assert 0.7 < np.median(np.median(audit.reported, axis=0) / audit.true_fidelity) < 1.4
    assert audit.promised.mean() <= audit.fair_share + 0.05


def test_methods_are_compared_at_equal_cost():
    game = fs.games.SumOfUnanimity(12, seed=1)
    methods = ["mc", fs.MonteCarlo(walk=False), fs.MonteCarlo(antithetic=True)]
    comparison = fs.compare(game, methods, budgets=400, repeats=30)
    frame = comparison.to_frame()
    assert frame.index.tolist() == ["mc", str(methods[1]), str(methods[2])]
    assert (frame["evaluations"] <= 400).all()
    assert frame.loc["mc", "mse"] < frame.loc[str(methods[1]), "mse"]
    assert "[mc]" in str(comparison)


def test_games_and_budgets_are_compared_side_by_side():
    """The measures of the field, ratios to the best, a table for a paper and a picture."""
    games = {"a_b": fs.games.SumOfUnanimity(8, seed=1), "c": fs.games.SumOfUnanimity(7, seed=2)}
    methods = {"walks": "mc", "singles": fs.MonteCarlo(walk=False)}
    comparison = fs.compare(games, methods, [20, 60], repeats=4)
    rows = comparison.rows()
    assert len(rows) == len({comparison.labels[at] for at in range(8)}) == 8
    for at in range(0, 8, 2):
        assert min(rows[at]["ratio"], rows[at + 1]["ratio"]) == 1.0
    first = next(iter(comparison.audits.values()))
    errors = np.square(first.values - first.truth).mean(axis=1)
    assert rows[0]["mse_error"] == pytest.approx(errors.std(ddof=1) / 2)
    order = [spearmanr(values, first.truth).statistic for values in first.values]
    assert rows[0]["spearman"] == pytest.approx(np.mean(order))
    assert rows[0]["n_inv"] == np.mean([inversions(one, first.truth) for one in first.values])
    lines = comparison.to_latex().splitlines()
    assert sum(line == r"\midrule" for line in lines) == 4
    assert lines[2].count("&") == 4
    assert any(r"a\_b" in line and r"\textbf{" in line for line in lines)
    axes = comparison.plot()
    assert [text.get_text() for text in axes.get_legend().get_texts()] == list(methods)
    assert comparison.plot(axes) is axes
    mpl.pyplot.close("all")


def test_truths_come_from_where_they_can():
    table = fs.games.TableGame(np.random.default_rng(0).random(16))
    audit = fs.audit(table, "mc", budget=10, repeats=3, semivalue="banzhaf")
    np.testing.assert_allclose(audit.truth, fs.exact(table, "banzhaf").values)
    large = fs.games.FunctionGame(len, 20)
    with pytest.raises(fs.InputError, match="give truth="):
        fs.audit(large, "mc", budget=100, repeats=3)
    assert fs.audit(large, "mc", np.ones(20), budget=100, repeats=3).mse.max() < 1e-20


def test_cases_of_the_axioms_are_found_by_enumeration():
    """v = |C ∩ {0, 1}|² + 10·[3 ∈ C]: 2 is null, 0 and 1 are equal, 3 dominates all."""
    masks = (np.arange(16)[:, None] >> np.arange(4)) & 1
    game = fs.games.TableGame(masks[:, :2].sum(axis=1) ** 2 + 10.0 * masks[:, 3])
    audit = fs.audit(game, "mc", budget=12, repeats=5, xi=0.1)
    assert audit.premises.null_players == (2,)
    assert audit.premises.symmetric_pairs == ((0, 1),)
    assert audit.premises.desirable_pairs == ((0, 2), (1, 2), (3, 0), (3, 1), (3, 2))
    assert str(audit.premises) == "1 null player, 1 pair of equal value, 5 dominated pairs"
    # A truth that is given changes nothing.
    given = fs.audit(game, "mc", audit.truth, budget=12, repeats=5, xi=0.1)
    assert given.premises == audit.premises
    padded = fs.audit(fs.testing.with_null_players(game, 2), "mc", budget=12, repeats=3)
    assert padded.premises.null_players == (2, 4, 5)


def test_a_game_without_cases_is_not_called_fair():
    game = fs.games.TableGame(np.random.default_rng(5).normal(size=32))
    audit = fs.audit(game, "mc", budget=20, repeats=4)
    assert audit.premises.counts == (0, 0, 0)
    assert np.isnan(audit.fair_share)
    assert "fair runs: no case to check" in str(audit)
    comparison = fs.compare(game, ["mc"], budgets=20, repeats=4)
    assert "no case to check" in comparison._repr_html_()


def test_larger_games_declare_their_cases():
    game = fs.testing.PlantedGame(24, n_null=2, n_duplicates=1, n_dominated=2, seed=3)
    audit = fs.audit(game, "mc", budget=200, repeats=3)
    assert audit.premises.null_players == game.null_players
    assert set(game.dominated_pairs) == set(audit.premises.desirable_pairs)
    assert {tuple(sorted(pair)) for pair in game.duplicate_pairs} <= set(
        audit.premises.symmetric_pairs
    )


def test_the_minimum_fidelity_has_a_standard_error():
    """One player with normal errors: the deviation of its score over many audits."""
    rng = np.random.default_rng(2)
    first = audit_runs([result([1.0], [0.1])] * 2, np.ones(1), xi=0.0)
    minima, errors = [], []
    for _ in range(400):
        audit = replace(first, repeats=100, values=1.0 + 0.1 * rng.normal(size=(100, 1)))
        minima.append(audit.min_true_fidelity)
        errors.append(audit.min_true_fidelity_error)
    # The deviation of 400 scores is known to 4 %.
    assert 0.85 < np.mean(errors) / np.std(minima) < 1.15
    assert f"±: {errors[-1]:.4g}" in str(audit)
    exact = audit_runs([result([1.0], [0.0])] * 2, np.ones(1), xi=0.0)
    assert exact.min_true_fidelity == np.inf
    assert np.isnan(exact.min_true_fidelity_error)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"repeats": 1}, "at least 2"),
        ({"truth": np.ones(3)}, "12 and 3"),
        ({"truth": np.full(12, np.nan)}, "finite"),
    ],
)
def test_bad_input_is_refused(arguments, words):
    game = fs.games.SumOfUnanimity(12, seed=1)
    with pytest.raises(fs.InputError, match=words):
        fs.audit(game, "mc", **({"budget": 100, "repeats": 2} | arguments))
