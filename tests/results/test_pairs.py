"""Pairs: exact where all is known, and with errors that hold where it is not."""

import os
from itertools import permutations
from pathlib import Path

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.errors import InputError
from fairshapley.results.pairs import pair_sentences, pairs_list
from fairshapley.runs.pairs import exact_pairs
from fairshapley.testing.toys import WithNullPlayers

GAMES = Path(os.environ.get("FAIRSHAPLEY_DATA", "/no/data")) / "games"


def test_exact_pairs_are_means_over_permutations():
    table = np.random.default_rng(0).normal(size=32)

    def worth(players):
        return table[sum(1 << player for player in players)]

    found = []
    for order in permutations(range(1, 5)):  # player 0 joins at the place of each other player 3
        before = order[: order.index(3)]
        found.append(
            worth({*before, 0, 3}) - worth({*before, 0}) - worth({*before, 3}) + worth(before)
        )
    assert exact_pairs(table)[0, 3] == pytest.approx(np.mean(found))
    np.testing.assert_array_equal(exact_pairs(table), exact_pairs(table).T)


def test_copies_are_said_to_replace_each_other_and_partners_to_complete_each_other():
    masks = (np.arange(256)[:, None] >> np.arange(8)) % 2 == 1
    first, second, third, fourth = masks[:, :4].T
    table = 3.0 * (first | second) + 3.0 * (third & fourth) + masks @ np.ones(8)
    game = fs.games.TableGame(table)
    for given in ({"method": "exact"}, {"budget": 120, "seed": 0}):
        result = fs.estimate(game, pairs=True, **given)
        replace, complete = sorted(pair_sentences(result), key=lambda said: "complete" in said)
        assert replace.startswith("'0' and '1' replace each other: each adds 3")
        assert complete.startswith("'2' and '3' complete each other: each adds 3")
        assert len(pairs_list(result)) == 28
        assert pair_sentences(fs.Result.from_dict(result.to_dict())) == pair_sentences(result)


@pytest.mark.skipif(not GAMES.is_dir(), reason="needs games in the folder FAIRSHAPLEY_DATA")
def test_pairs_of_real_tables_come_close_and_their_intervals_hold():
    # As published for this design: shapiq's best has .0522 at 30 for each player, on twelve tables.
    errors, held = [], []
    for name in ("adult-census-feature-selection-14", "bike-sharing-ensemble-selection-10"):
        table = np.load(GAMES / f"{name}.npz")["utilities"][0].astype(float)
        game = fs.games.TableGame(table)
        result = fs.estimate(game, "adjusted", budget=20 * game.n_players, seed=0, pairs=True)
        upper = np.triu_indices(game.n_players, 1)
        truth = exact_pairs(table)[upper]
        missed = result.run.pairs[upper] - truth
        errors.append((missed**2).sum() / (truth**2).sum())
        held += (np.abs(missed) <= 1.96 * result.run.pair_errors[upper]).tolist()
    assert max(errors) < 0.01
    assert 0.88 < np.mean(held) <= 1


def test_where_pairs_are_not_known():
    game = fs.games.SumOfUnanimity(8, seed=0)
    assert fs.estimate(game, budget=20, seed=0, pairs=True).run.pairs is None
    assert fs.exact(game).run.pairs is None
    with pytest.raises(InputError, match="goes with Shapley and Owen values"):
        fs.exact(game, "banzhaf", pairs=True)
    nulls = WithNullPlayers(game, 2)
    assert fs.exact(nulls, pairs=True).run.pairs.shape == (10, 10)


def test_a_run_continued_from_its_journal_keeps_its_pairs(tmp_path):
    game, journal = fs.games.SumOfUnanimity(6, seed=0), tmp_path / "run.db"
    first = fs.estimate(game, budget=30, seed=0, pairs=True, journal=journal)
    assert first.run.pairs is not None
    np.testing.assert_array_equal(fs.resume(journal).run.pairs, first.run.pairs)
    longer = fs.resume(journal, game, budget=64)
    exact = fs.exact(game, pairs=True)
    np.testing.assert_allclose(longer.run.pairs, exact.run.pairs, atol=1e-9)
    np.testing.assert_array_equal(fs.resume(journal).run.pairs, longer.run.pairs)


def test_the_heat_map_is_drawn():
    axes = fs.exact(fs.games.SumOfUnanimity(6, seed=0), pairs=True).plot("pairs")
    assert axes.images[0].get_array().shape == (6, 6)
