"""Owen values: against all permutations, closed forms, the law of splitting, and certificates."""

import itertools
import math

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.unions import OwenValue


def by_permutations(game, unions):
    """The mean marginal contributions over all permutations that keep unions together."""
    names, total, count = sorted(set(unions)), np.zeros(game.n_players), 0
    members = {name: [at for at, one in enumerate(unions) if one == name] for name in names}
    for order in itertools.permutations(names):
        for parts in itertools.product(*(itertools.permutations(members[name]) for name in order)):
            players = list(itertools.chain(*parts))
            path = np.zeros((game.n_players + 1, game.n_players), dtype=bool)
            for place, player in enumerate(players):
                path[place + 1 :, player] = True
            total[players] += np.diff(game(path))
            count += 1
    return total / count


@pytest.mark.parametrize("unions", ["aababc", "abcdef", "aaaaaa", "abbbba", "aabbcc"])
def test_exact_values_are_means_over_the_permutations_that_keep_unions_together(unions):
    table = np.random.default_rng(len(set(unions))).normal(size=64)
    game = fs.games.TableGame(table - table[0])
    result = fs.exact(game, unions=list(unions))
    np.testing.assert_allclose(result.values, by_permutations(game, list(unions)), atol=1e-12)
    assert result.exact
    assert result.evaluations == OwenValue(tuple(unions)).n_coalitions <= 64
    assert result.semivalue == "owen"


def test_closed_forms():
    additive = fs.games.Additive(np.arange(1.0, 9.0))
    values = fs.exact(additive, unions=list("aaabbcdd")).values
    np.testing.assert_allclose(values, np.arange(1.0, 9.0), atol=1e-12)
    # Unanimity of T: unions that meet T share equally, and so do their members of T.
    game = fs.games.SumOfUnanimity(16, coalitions=[[0, 1, 2, 6, 15]], weights=[6.0])
    unions = list("aaaabbbbccccdddd")
    expected = np.zeros(16)
    expected[[0, 1, 2]], expected[6], expected[15] = 6 / 3 / 3, 2.0, 2.0
    np.testing.assert_allclose(fs.exact(game, unions=unions).values, expected, atol=1e-12)


def test_with_one_union_or_single_players_they_are_shapley_values():
    game = fs.games.SumOfUnanimity(9, seed=2)
    truth = fs.exact(game).values
    for unions in (range(9), [0] * 9):
        np.testing.assert_allclose(fs.exact(game, unions=unions).values, truth, atol=1e-12)


class Made:
    """A game from a function of masks."""

    def __init__(self, utility, n_players):
        self.utility, self.n_players = utility, n_players

    def __call__(self, masks):
        return self.utility(np.asarray(masks))


@pytest.mark.parametrize("seed", range(5))
def test_the_value_of_a_union_does_not_change_when_a_member_splits(seed):
    """The split player counts when its first part is in: the second alone adds something."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=(2, 2, 2, 2, 2, 2))
    table -= table[(0,) * 6]

    def whole(masks):
        player, *others = masks.T.astype(int)
        return table[player, player, *others]

    def split(masks):
        return table[tuple(masks.T.astype(int))]

    before = fs.exact(Made(whole, 5), unions=list("aabbc")).values
    after = fs.exact(Made(split, 6), unions=list("aaabbc")).values
    assert math.isclose(before[:2].sum(), after[:3].sum(), abs_tol=1e-12)
    np.testing.assert_allclose(before[2:], after[3:], atol=1e-12)


def test_estimates_are_unbiased_and_their_errors_are_those_of_repeats():
    game, unions = fs.games.SumOfUnanimity(16, seed=3), list("aaaaaabbbbbcccdd")
    walks = fs.MonteCarlo(antithetic=True)
    truth = fs.exact(game, unions=unions).values
    scores = []
    for seed in range(60):
        result = fs.estimate(game, walks, unions=unions, budget=600, seed=seed)
        assert math.isclose(result.values.sum(), truth.sum(), rel_tol=1e-9)
        scores.append((result.values - truth) / result.standard_errors)
    covered = np.mean(np.abs(scores) < 1.96)
    assert 0.90 < covered < 0.98
    assert np.abs(np.mean(scores, axis=0)).max() < 0.6  # 4.6 standard errors


def test_auto_enumerates_where_the_budget_pays_it_and_walks_where_not():
    game = fs.games.SumOfUnanimity(30, seed=4)
    unions = [player // 5 for player in range(30)]
    exact = fs.estimate(game, unions=unions, budget=6000)
    assert exact.exact
    assert exact.evaluations == 2**6 + 6 * 2**5 * 30
    walked = fs.estimate(game, unions=unions, budget=3000, seed=0)
    assert walked.run.configuration["method"] == fs.MonteCarlo(antithetic=True).configuration()
    assert np.abs((walked.values - exact.values) / walked.standard_errors).max() < 4.5


def test_certificates_hold_as_often_as_they_say():
    """At δ = 0.1 more than 9 wrong of 40 issued would be seen once in 200 audits by chance."""
    game = fs.games.SumOfUnanimity(14, seed=7)
    unions = list("aaaabbbbccccdd")
    truth = fs.exact(game, unions=unions).values
    fair = fs.Fair(epsilon1=0.3, delta=0.1, xi=float(np.abs(truth).mean()))
    issued = wrong = 0
    for seed in range(40):
        result = fs.estimate(game, "mc", unions=unions, until=fair, budget=3000, seed=seed)
        certificate = result.certificate(0.3, 0.1, fair.xi)
        issued += certificate.holds
        tolerance = 0.3 * (np.abs(truth) + fair.xi)
        wrong += certificate.holds and bool((np.abs(result.values - truth) > tolerance).any())
    assert issued >= 25
    assert wrong <= 9


def test_null_players_get_nothing_and_twins_of_one_union_the_same():
    game = fs.games.SumOfUnanimity(6, coalitions=[[0, 1], [0, 1, 2], [3]], weights=[2.0, 3.0, 1.0])
    padded = fs.testing.with_null_players(game, 2)
    unions = list("aabbbcab")
    np.testing.assert_allclose(
        fs.exact(padded, unions=unions).values[:6], fs.exact(game, unions=unions[:6]).values
    )
    assert (fs.exact(padded, unions=unions).values[6:] == 0).all()
    game.identical_players = ((0, 1),)
    for unions, pooled in (("aabbcc", ((0, 1),)), ("abbbcc", ())):
        result = fs.estimate(game, "mc", unions=list(unions), budget=20, seed=0)
        assert result.game.identical_players == pooled


def test_a_journal_continues_a_run(tmp_path):
    game = fs.games.SumOfUnanimity(12, seed=5)
    given = {"unions": [0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 3], "seed": 1}
    whole = fs.estimate(game, "mc", budget=160, **given)
    fs.estimate(game, "mc", budget=80, journal=tmp_path / "j.db", **given)
    continued = fs.resume(tmp_path / "j.db", game, budget=160)
    assert continued.values.tobytes() == whole.values.tobytes()
    assert continued.run.configuration == whole.run.configuration


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"unions": [0, 1]}, "name the union of each of the 4 players, got 2"),
        ({"unions": "aabb"}, "must be a list"),
        ({"unions": [0, 0, 1, 1], "semivalue": "banzhaf"}, "extend Shapley values"),
        ({"unions": [0, 0, 1, 1], "method": "kernel"}, "cannot keep unions together"),
        ({"unions": [0, 0, 1, 1], "method": fs.MonteCarlo(walk=False)}, "cannot keep unions"),
    ],
)
def test_errors(given, words):
    with pytest.raises(fs.InputError, match=words):
        fs.estimate(fs.games.Additive([1.0, 2.0, 3.0, 4.0]), budget=15, **given)
