"""Payouts: the pool to the cent, equals equal, more for more, and a band that holds."""

import csv
import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from tests.results.making import made

import fairshapley as fs
from fairshapley.results.payouts.amounts import apportion

VALUES = arrays(np.float64, st.integers(1, 8), elements=st.floats(-100, 100, width=32))
POOLS = st.integers(1, 10**7).map(lambda cents: Decimal(cents) / 100)


def result(values, errors=0.0, pairs=(), **more):
    plain = {"counts": np.full(len(values), 10**6), "identical_players": pairs}
    return made(values, errors, **(plain | more))


def divided(weights, units):
    return apportion([Fraction(weight) for weight in weights], units)


@given(st.lists(st.integers(-6, 12), min_size=1, max_size=7), st.integers(1, 60))
def test_units_are_shares_rounded_equally_for_equals_and_in_order(weights, units):
    if sum(weights) <= 0:
        with pytest.raises(fs.InputError, match="positive sum"):
            divided(weights, units)
        return
    amounts, rest = divided(weights, units)
    assert rest == units - sum(amounts) >= 0
    for weight, amount in zip(weights, amounts, strict=True):
        assert abs(amount - Fraction(weight * units, sum(weights))) < 1
    paid = sorted(zip(weights, amounts, strict=True))
    assert [amount for _, amount in paid] == sorted(amounts)
    assert len(dict(paid)) == len(set(paid))
    if len(set(weights)) == len(weights):
        assert rest == 0


def test_the_largest_remainders_get_the_units_that_rounding_leaves():
    assert divided([47, 16, 15.8, 12, 6.1, 3.1], 10) == ([5, 2, 1, 1, 1, 0], 0)
    # 5 units are due as 1.75, 1.75 and 1.5: the 6 alone would get more than each 7.
    assert divided([7, 7, 6], 5) == ([2, 2, 1], 0)
    assert divided([7, 7, 6], 7) == ([2, 2, 2], 1)


@given(VALUES, POOLS, st.sampled_from(["zero", "charge"]))
def test_amounts_add_up_and_grow_with_the_values(values, pool, negative):
    values = np.append(values, 300.0 + 100.0 * len(values))  # the sum is positive
    payout = result(values).payout(pool, negative=negative)
    assert sum(payout.amounts) + payout.rest == pool
    assert payout.shares.sum() == pytest.approx(1)
    order = np.argsort(values, kind="stable")
    paid = [payout.amounts[player] for player in order]
    assert paid == sorted(paid)
    for player, amount in enumerate(payout.amounts):
        assert abs(amount - pool * Decimal(payout.shares[player])) < Decimal("0.011")
        assert payout.lower[player] <= amount <= payout.upper[player]
        assert amount == payout.amounts[int(np.flatnonzero(values == values[player])[0])]
    if negative != "charge":
        assert min(payout.amounts) >= 0
    if len(set(values)) == len(values) and negative == "charge":
        assert payout.rest == 0


@given(VALUES, POOLS, st.integers(-30, 30))
def test_the_unit_of_the_utility_does_not_matter(values, pool, exponent):
    values = np.append(values, 1.0)
    amounts = result(values).payout(pool).amounts
    assert result(values * 2.0**exponent).payout(pool).amounts == amounts
    # nor does the currency
    yen = result(values).payout(pool * 100, unit=1)
    assert [amount / 100 for amount in yen.amounts] == list(amounts)


@given(VALUES, POOLS, st.randoms(use_true_random=False))
def test_who_has_which_number_does_not_matter(values, pool, random):
    values = np.append(values, 1.0)
    order = list(range(len(values)))
    random.shuffle(order)
    moved, amounts = (result(these).payout(pool).amounts for these in (values[order], values))
    assert moved == tuple(amounts[player] for player in order)


@given(VALUES, POOLS)
def test_identical_players_get_the_same_cent_for_the_mean_of_their_values(values, pool):
    values = np.concatenate([[1.0, 2.0, 3.0], values])
    payout = result(values, pairs=[(0, 1), (2, 1)]).payout(pool)
    assert len(set(payout.amounts[:3])) == 1
    np.testing.assert_allclose(payout.values, [2, 2, 2, *values[3:]])
    assert sum(payout.amounts) + payout.rest == pool
    assert "3 players are identical to another (1 group)" in " ".join(payout.notes)
    same = result([2.0, 2.0, 2.0, *values[3:]]).payout(pool)
    assert payout.amounts == same.amounts


def test_by_hand():
    values = [3.0, -1.0, 1.0]
    assert result(values).payout(8).amounts == (6, 0, 2)
    assert "1 player with a negative value gets nothing" in result(values).payout(8).notes[0]
    charged = result(values).payout(9, negative="charge")
    assert charged.amounts == (9, -3, 3)
    assert "is charged" in charged.notes[0]
    thirds = result([1.0, 1.0, 1.0]).payout(100)
    assert thirds.amounts == (Decimal("33.33"),) * 3
    assert thirds.rest == Decimal("0.01")
    assert "0.01 is left over" in " ".join(thirds.notes)


@pytest.mark.parametrize("pool", [0.1, "0.1", Decimal("0.10"), np.float64(0.1)])
def test_a_pool_is_what_is_written(pool):
    payout = result([1.0, 1.0]).payout(pool)
    assert payout.pool == Decimal("0.1")
    assert [str(amount) for amount in payout.amounts] == ["0.05", "0.05"]


def test_large_units_and_pools_are_exact():
    payout = result([1.0, 2.0]).payout(10**29 * 3, unit=1000)
    assert [f"{amount:f}" for amount in payout.amounts] == [f"{10**29}", f"{2 * 10**29}"]
    assert str(payout.unit) == "1000"


# The band


@given(
    arrays(np.float64, 5, elements=st.floats(-1, 1, width=32)),
    arrays(np.float64, 5, elements=st.floats(0, 0.125, width=32)),
    arrays(np.float64, 5, elements=st.floats(-1, 1, width=32)),
    st.sampled_from(["zero", "charge"]),
    st.booleans(),
)
def test_any_truth_within_the_intervals_is_paid_within_the_band(
    values, errors, moves, negative, paired
):
    """The estimates of identical players differ, their true values do not."""
    values[0] += 3.0
    pairs = [(1, 2)] if paired else []
    if paired:
        errors[2], moves[2], values[2] = errors[1], moves[1], values[1]
    estimate = result(values, errors, pairs)
    if negative == "charge" and 2 * values.sum() < np.abs(values).sum():
        return
    payout = estimate.payout(1000, negative=negative, delta=0.1)
    truth = values + moves * estimate.certificate(0.5, 0.1).half_widths
    if payout.lower is None:
        assert negative == "charge"
        assert (values - estimate.certificate(0.5, 0.1).half_widths).sum() <= 0
        return
    true = result(truth, 0.0, pairs).payout(1000, negative=negative)
    for least, amount, largest in zip(payout.lower, true.amounts, payout.upper, strict=True):
        assert least <= amount <= largest


@given(
    arrays(np.float64, 4, elements=st.floats(0, 0.5, width=32)),
    arrays(np.float64, 4, elements=st.floats(-1, 1, width=32)),
)
def test_a_known_sum_makes_the_band_of_charges_exact(errors, moves):
    values = np.array([4.0, -1.0, 0.5, 2.0])
    unknown = result(values, errors)
    widths = unknown.certificate(0.5, 0.1).half_widths
    truth = values + moves * widths
    gain = float(truth.sum())
    if gain <= 0.01:
        return
    known = result(values, errors, endpoints=(1.0, 1.0 + gain)).payout(1000, negative="charge")
    for least, share, largest in zip(known.lower, truth / gain, known.upper, strict=True):
        assert float(least) - 1e-6 <= 1000 * share <= float(largest) + 1e-6
    expected = 2000 * widths / gain
    np.testing.assert_allclose(
        [float(b - a) for a, b in zip(known.lower, known.upper, strict=True)], expected, atol=0.03
    )


def test_no_band_where_nothing_is_certain():
    assert result([1.0, 2.0], np.nan).payout(10).lower is None
    unfinished = result([1.0, 2.0], 0.1, obstacle="the method is biased")
    payout = unfinished.payout(10)
    assert payout.lower is None
    assert payout.upper is None
    assert "no tolerance band: the method is biased" in payout.notes
    doubtful = result([1.0, -0.5], 1.0).payout(10, negative="charge")
    assert doubtful.lower is None
    assert "may sum to zero or less" in doubtful.notes[-1]


# What people read and machines


def test_text_and_data():
    values = np.arange(1.0, 31.0)
    payout = result(values, 0.1).payout("1234567.89")
    text = str(payout)
    assert text.startswith("1,234,567.89 divided among 30 players")
    assert "10 others together" in text
    data = json.loads(json.dumps(payout.to_dict()))
    assert sum(Decimal(row["amount"]) for row in data["players"]) == Decimal("1234567.89")
    assert data["players"][0].keys() == {"player", "value", "share", "amount", "lower", "upper"}
    frame = payout.to_frame()
    assert frame["amount"].sum() == Decimal("1234567.89")
    assert frame.index.tolist() == [str(player) for player in range(30)]
    bare = result(values, np.nan).payout(1)
    assert list(bare.to_frame().columns) == ["value", "share", "amount"]


def test_csv_has_no_formulas(tmp_path):
    names = ("=cmd()", "+1", "@x", " =y", "plain, with comma", "-5", "a\nb", "\ud800")
    payout = result([-1.0, *range(2, 9)], player_names=names).payout(10, negative="charge")
    path = tmp_path / "payout.csv"
    payout.to_csv(path)
    with path.open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert [row["player"] for row in rows] == [
        *("'=cmd()", "'+1", "'@x", "' =y", "plain, with comma", "'-5", "a\nb", "\\ud800")
    ]
    assert sum(Decimal(row["amount"]) for row in rows) == 10
    assert Decimal(rows[0]["amount"]) < 0  # a number stays a number
    with pytest.raises(fs.InputError, match="cannot write"):
        payout.to_csv(tmp_path / "no" / "where.csv")


@pytest.mark.parametrize(
    ("values", "arguments", "words"),
    [
        ([1.0], {"pool": "10.005"}, "not a whole number of units of 0.01"),
        ([1.0], {"pool": 0}, "positive"),
        ([1.0], {"pool": float("nan")}, "positive"),
        ([1.0], {"pool": True}, "amount of money"),
        ([1.0], {"pool": "1e999"}, "sensible"),
        ([1.0], {"unit": 0}, "positive"),
        ([1.0], {"unit": "1e-40", "pool": 1}, "larger unit"),
        ([1.0], {"negative": "ignore"}, "'charge'"),
        ([1.0, np.nan], {}, "1 players have no value yet"),
        ([0.0, 0.0], {}, "no player has a positive value"),
        ([-1.0, 0.0], {}, "nothing to pay for"),
        ([1.0, -1.0], {"negative": "charge"}, "give negative='zero'"),
    ],
)
def test_what_cannot_be_divided_is_refused(values, arguments, words):
    with pytest.raises(fs.InputError, match=words):
        result(values).payout(**({"pool": 10} | arguments))


@pytest.mark.parametrize("rest", [1.0 - 1e-12, 0.51])
def test_charges_above_the_pool_are_an_error(rest):
    """A pool of 10 divided by values that nearly cancel out would be billions."""
    with pytest.raises(fs.InputError, match=r"charged [\d,.]+ in all, more than the pool of 10"):
        result([1.0, -rest, 0.0]).payout(10, negative="charge")
    assert result([2.0, -1.0]).payout(10, negative="charge").amounts == (20, -10)


def test_other_semivalues_and_partial_results_are_said():
    table = fs.games.TableGame([0, 1, 2, 5])
    assert "banzhaf values do not add up" in " ".join(fs.exact(table, "banzhaf").payout(1).notes)
    partial = result([1.0], complete=False, obstacle="the run did not finish").payout(1)
    assert "a run that did not finish" in " ".join(partial.notes)
