"""Random utilities: seeds, journals, repeats of v(∅) and v(N), errors that include the noise."""

import asyncio
import itertools
import re

import numpy as np
import pytest
from tests.engine_checks import plain

import fairshapley as fs
from fairshapley._basics import bits
from fairshapley.estimators.exact import exact_values
from fairshapley.randomness import draw_seeds
from fairshapley.semivalues import Banzhaf, Shapley
from fairshapley.testing import check_game

WORTH = np.array([1.0, 2.0, 3.0, 4.0, 5.0])


def expected(coalition):
    return float(WORTH[list(coalition)].sum() ** 1.3)


def noisy(coalition, seed, deviation=2.0):
    return expected(coalition) + deviation * np.random.default_rng(seed).normal()


def game(fn=noisy, **options):
    return fs.games.Random(fn, 5, key="noisy", **options)


TRUTH = fs.exact(fs.games.FunctionGame(expected, 5)).values


def errors(result):
    return (result.values - TRUTH) / result.standard_errors


def test_seeds_depend_on_the_seed_and_the_number_alone():
    seeds = draw_seeds(3, np.arange(100_000))
    assert len(np.unique(seeds)) > 99_990
    np.testing.assert_array_equal(draw_seeds(3, np.array([7, 5])), seeds[[7, 5]])
    assert not np.intersect1d(draw_seeds(4, np.arange(1000)), seeds[:1000]).size
    assert abs(seeds.mean() / 2**32 - 0.5) < 0.01


@pytest.mark.parametrize("method", ["mc", "adjusted", "auto"])
def test_the_same_bits_in_any_engine(method):
    options = {"method": method, "budget": 150, "seed": 3}
    here = fs.estimate(game(), **options)
    engines = [fs.SerialEngine(chunk_size=7), *(["processes:2"] if method == "mc" else [])]
    for engine in engines:
        assert plain(fs.estimate(game(), engine=engine, **options)) == plain(here)
    there = fs.estimate(game(), engine="threads:4", **options)
    busy = fs.estimate(game(), engine=fs.SerialEngine(in_flight=4), **options)
    assert plain(there) == plain(busy)
    assert here.evidence.random
    assert not here.exact
    other = fs.estimate(game(), **{**options, "seed": 4})
    assert not np.array_equal(other.values, here.values)


@pytest.mark.parametrize("method", ["mc", "kernel", "adjusted", "auto"])
def test_a_journal_keeps_every_draw_with_its_seed(method, tmp_path):
    calls = []

    def counted(coalition, seed):
        calls.append((coalition, seed))
        return noisy(coalition, seed)

    options = {"method": method, "seed": 3, "journal": tmp_path / "j.db"}
    short = fs.estimate(game(counted), budget=150, **options)
    assert short.run.computed == short.evaluations == len(calls) == len(set(calls))
    again = fs.estimate(game(counted), budget=150, **options)
    assert again.run.computed == 0
    assert plain(again) == {**plain(short), "computed": 0}
    longer = fs.estimate(game(counted), budget=300, **options)
    assert len(calls) == len(set(calls)) == longer.evaluations
    straight = fs.estimate(game(), method, budget=300, seed=3)
    np.testing.assert_array_equal(longer.values, straight.values)
    np.testing.assert_array_equal(longer.standard_errors, straight.standard_errors)
    replayed = fs.resume(tmp_path / "j.db", budget=150)
    np.testing.assert_array_equal(replayed.values, short.values)
    longer.save(tmp_path / "r.json")
    assert fs.Result.load(tmp_path / "r.json").evidence.random
    verified = fs.verify(tmp_path / "r.json", journal=tmp_path / "j.db")
    assert verified.holds, str(verified)
    with fs.Journal(tmp_path / "j.db", readonly=True) as journal:
        for key, value in journal.sample(1, longer.evaluations, np.random.default_rng(0)):
            coalition = tuple(i for i in range(5) if key[0] >> i & 1)
            assert value == noisy(coalition, int.from_bytes(key[1:], "little"))
    checked = fs.estimate(game(), method, budget=150, seed=3, journal=tmp_path / "j.db", verify=5)
    assert checked.run.computed == 5
    with pytest.raises(fs.errors.JournalError, match="is random"):
        fs.estimate(
            game(lambda c, s: 0.0), method, budget=150, seed=3, journal=tmp_path / "j.db", verify=5
        )


QUICK = ["mc", "kernel", "adjusted"]
SLOW = ["owen", "sobol", "orthogonal", "gae"]


@pytest.mark.parametrize(
    "method", [*QUICK, *(pytest.param(name, marks=pytest.mark.full) for name in SLOW)]
)
@pytest.mark.parametrize("semivalue", ["shapley", pytest.param("banzhaf", marks=pytest.mark.full)])
def test_errors_are_those_of_the_expected_utility(method, semivalue):
    """Of 100 runs the mean error, and its square in units of the stated variance (five players).

    The mean over runs and players of the squares is 1 ± 4·√(2/100)/√2.5, if at least half of the
    players count as independent. Student's t has the variance d/(d − 2).
    """
    if semivalue == "banzhaf" and method == "kernel":
        pytest.skip("Shapley values only")
    table = [expected(tuple(i for i in range(5) if s >> i & 1)) for s in range(32)]
    truth = exact_values(np.array(table), {"shapley": Shapley(), "banzhaf": Banzhaf()}[semivalue])
    runs = [
        fs.estimate(game(), method, budget=150, semivalue=semivalue, seed=seed)
        for seed in range(100)
    ]
    scaled = np.array([(run.values - truth) / run.standard_errors for run in runs])
    assert np.abs(scaled.mean(axis=0)).max() < 4.5 / np.sqrt(100) * 1.2
    freedom = np.maximum(np.array([run.counts for run in runs]) - 1.0, 5.0)
    assert 0.65 < np.mean(np.square(scaled) * (freedom - 2.0) / freedom) < 1.5
    stated = np.mean([run.standard_errors**2 for run in runs], axis=0)
    found = np.mean(np.square([run.values - truth for run in runs]), axis=0)
    assert 0.65 < stated.mean() / found.mean() < 1.5


def test_a_constant_end_is_not_drawn_again_and_the_others_are():
    drawn = []

    def fn(coalition, seed):
        drawn.append(coalition)
        return noisy(coalition, seed) if coalition else 0.0

    result = fs.estimate(game(fn), "mc", budget=600, seed=0)
    assert drawn.count(()) <= 4
    assert drawn.count((0, 1, 2, 3, 4)) > 30
    assert result.game.endpoints[0] == 0.0
    assert result.values.sum() == pytest.approx(result.game.endpoints[1] - result.game.endpoints[0])


def test_the_model_of_small_budgets_does_not_take_noise_for_the_game():
    """With three coalitions drawn twice the mean square was 2.3."""
    table = fs.games.SumOfUnanimity(9, seed=3)(bits.numbered(range(512), 9))
    truth = fs.exact(fs.games.TableGame(table)).values
    deviation = float(table.std())

    def fn(coalition, seed):
        noise = deviation * np.random.default_rng(seed).normal()
        return table[sum(1 << player for player in coalition)] + noise

    squares = []
    for seed in range(10):
        result = fs.estimate(fs.games.Random(fn, 9, key="table"), budget=90, seed=seed)
        squares.append(np.square((result.values - truth) / result.standard_errors))
    assert np.mean(squares) < 1.5


def test_the_noise_is_shown():
    result = fs.estimate(game(), "mc", budget=3000, seed=0)
    note = next(note for note in result.notes if "random" in note)
    # From 388 draws, with an error of 0.07.
    deviation = float(re.search(r"a standard deviation of ([0-9.]+);", note)[1])
    assert deviation == pytest.approx(2.0, abs=0.28)
    quiet = fs.estimate(game(lambda c, s: expected(c)), "mc", budget=300, seed=0)
    assert any("gave the same number both times" in note for note in quiet.notes)


@pytest.mark.parametrize("method", ["mc", "kernel", "adjusted", "owen"])
def test_the_same_seed_along_a_walk_takes_off_common_noise(method):
    def common(coalition, seed):  # the same for all coalitions
        return expected(coalition) + 10.0 * np.random.default_rng(seed).normal()

    apart, together = (
        np.mean(
            [
                fs.estimate(
                    game(common, same_seed=same), method, budget=150, seed=seed
                ).standard_errors.mean()
                for seed in range(5)
            ]
        )
        for same in (False, True)
    )
    assert together < 0.95 * apart
    runs = [
        fs.estimate(game(common, same_seed=True), method, budget=150, seed=seed)
        for seed in range(40)
    ]
    assert 0.5 < np.mean(np.square([errors(run) for run in runs])) < 1.8


def test_functions_without_a_seed_and_async_ones(tmp_path):
    stream = np.random.default_rng(0)
    plain_one = fs.games.FunctionGame(
        lambda c: expected(c) + stream.normal(), 5, random=True, key="no seed"
    )
    result = fs.estimate(plain_one, "mc", budget=400, seed=0, journal=tmp_path / "j.db")
    assert result.evidence.random
    assert np.abs(errors(result)).max() < 5
    again = fs.estimate(plain_one, "mc", budget=400, seed=0, journal=tmp_path / "j.db")
    assert again.run.computed == 0
    np.testing.assert_array_equal(again.values, result.values)
    with pytest.raises(fs.InputError, match="takes no seed"):
        fs.estimate(plain_one, "mc", budget=400, seed=0, journal=tmp_path / "j.db", verify=3)

    async def waiting(coalition, seed):
        await asyncio.sleep(0)
        return noisy(coalition, seed)

    options = {"method": "mc", "budget": 100, "seed": 0}
    assert plain(fs.estimate(game(waiting), **options)) == plain(
        fs.estimate(game(), engine=fs.SerialEngine(in_flight=32), **options)
    )


def test_what_cannot_be_random():
    for method in ("stratified", "exact"):
        with pytest.raises(fs.InputError, match="known exactly"):
            fs.estimate(game(), method, budget=200)
    with pytest.raises(fs.InputError, match="seeds would be lost"):
        fs.testing.Affine(game(), 2.0)


def test_nulls_are_zero_and_pools_share():
    nulls = fs.games.Random(lambda c, s: noisy([i for i in c if i < 5], s), 8, key="nulls")
    nulls.n_active = 5
    result = fs.estimate(nulls, "mc", budget=600, seed=0)
    assert (result.values[5:] == 0).all()
    assert np.abs(result.values[:5] - TRUTH).max() < 5 * result.standard_errors.max()
    alike = game(lambda c, s: noisy([min(i, 3) for i in c], s), identical_players=[(3, 4)])
    shared = fs.estimate(alike, "adjusted", budget=300, seed=0)
    assert shared.values[3] == shared.values[4]


def test_certificates_about_random_utilities_are_rarely_wrong():
    wrong = issued = 0
    fair = fs.Fair(epsilon1=0.6, delta=0.2, xi=2.0)
    for seed, method in itertools.product(range(15), ("mc", "adjusted")):
        result = fs.estimate(game(), method, budget=3000, until=fair, seed=seed)
        certificate = result.certificate(epsilon1=0.6, delta=0.2, xi=2.0)
        if certificate.holds:
            issued += 1
            off = np.abs(result.values - TRUTH) > 0.6 * (np.abs(TRUTH) + 2.0)
            wrong += bool(off.any())
    assert issued > 20
    assert wrong <= 8  # of 30 at δ = 0.2 more than 12 have probability 1e−3; in truth far fewer


def test_noise_in_a_game_that_is_called_deterministic_is_noticed(tmp_path):
    stream, calls = np.random.default_rng(0), []

    def hidden(coalition):
        calls.append(coalition)
        return expected(coalition) + stream.normal()

    wide = fs.games.FunctionGame(lambda c: hidden([i for i in c if i < 5]), 12, key="hidden")
    kept = fs.estimate(wide, "mc", budget=400, seed=0, journal=tmp_path / "j.db")
    assert len(calls) == kept.run.computed
    assert not kept.notes
    calls.clear()
    result = fs.estimate(wide, "mc", budget=400, seed=0)
    assert len(calls) == result.run.computed == result.evaluations + 4
    found = next(note for note in result.notes if "not reproducible" in note)
    assert "4 of 4 coalitions" in found
    assert "random=True" in found
    assert not result.certificate(epsilon1=0.9, delta=0.5, xi=50.0).holds
    fewer = fs.estimate(wide, "mc", budget=90, seed=0, verify=0)
    assert not fewer.notes  # nothing is computed again, and the certificate says what it takes
    for epsilon1 in (0.5, 50.0):
        stated = str(fewer.certificate(epsilon1=epsilon1, delta=0.1, xi=50.0, bound="chebyshev"))
        assert "is taken to have the same utility each time" in " ".join(stated.split())
    with pytest.raises(fs.errors.JournalError, match="say random=True"):
        fs.estimate(wide, "mc", budget=400, seed=0, journal=tmp_path / "j.db", verify=3)
    sound = fs.games.FunctionGame(expected, 5)
    assert not fs.estimate(sound, "mc", budget=30, seed=0, verify=5).notes


def test_the_contract_of_games_knows_random_ones():
    check_game(game())
    stream = np.random.default_rng(0)
    hidden = fs.games.FunctionGame(lambda c: expected(c) + stream.normal(), 5, key="hidden")
    with pytest.raises(
        fs.errors.ContractError, match=r"Noise of standard deviation [01]\.\d+ would"
    ):
        check_game(hidden)
    with pytest.raises(fs.errors.ContractError, match="same seed differ"):
        check_game(game(lambda c, s: expected(c) + stream.normal()))
