"""A constant prediction that explains much of the values is named wherever values are shown."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

import fairshapley as fs
from fairshapley.results.serialising import with_fields
from fairshapley.results.warnings import LARGEST_SHARE, constant_share

RNG = np.random.default_rng(3)
N_SUPPLIERS = 6


def market(**options):
    """Suppliers of 30 rows, 78 % of one class; the last but one has random labels, the last 30
    times one row."""
    n_rows = 30 * N_SUPPLIERS
    rows = RNG.spawn(1)[0]
    x = rows.normal(size=(n_rows + 400, 3))
    noise = rows.normal(size=len(x))
    y = (x[:, 0] + x[:, 1] + 0.5 * noise > 1.15).astype(int)
    labels = y[:n_rows].copy()
    labels[-60:-30] = rows.integers(0, 2, 30)
    x[n_rows - 30 : n_rows], labels[-30:] = x[0], 0
    train, test = (x[:n_rows], labels), (x[n_rows:], y[n_rows:])
    who = np.repeat(np.arange(N_SUPPLIERS), 30)
    return fs.games.DataGame(LogisticRegression(), train, test, groups=who, **options)


@pytest.fixture(scope="module")
def results():
    return fs.exact(market()), fs.exact(market(empty_value=0.5))


def test_what_adds_nothing_is_paid_for_the_constant_alone_by_the_old_baseline(results):
    best, half = results
    assert constant_share(best) == 0.0
    assert constant_share(half) > 0.5
    pay, old = (result.payout(10_000) for result in results)
    # With v(∅) = 1/K all are paid for the majority class, those with nothing to give too.
    assert float(pay.amounts[-1]) < 0.3 * float(old.amounts[-1])
    assert float(old.amounts[-1]) > 200


def test_the_warning_is_in_the_console_the_report_and_the_payout(results, tmp_path):
    best, half = results
    assert best.warnings == ()
    assert "warning" not in str(best)
    (said,) = half.warnings
    assert "a constant prediction alone is worth 0.7" in said
    assert f"{said[0].upper()}{said[1:]}." in str(half).splitlines()
    assert f"warning: {said}" in half.payout(100).notes
    page = half.report(tmp_path / "half.html").read_text("utf-8")
    assert "a constant prediction alone is worth" in page
    other = best.report(tmp_path / "best.html").read_text("utf-8")
    assert "a constant prediction alone" not in other
    again = fs.Result.from_dict(half.to_dict())
    assert again.warnings == half.warnings


def test_the_share_that_is_too_large_is_a_fifth():
    result = fs.exact(fs.games.TableGame([0.5, 0.7, 0.7, 1.0]))
    assert constant_share(result) is None
    assert result.warnings == ()
    below, above = (
        with_fields(result, constant_value=0.5 + 0.5 * (LARGEST_SHARE + step))
        for step in (-0.01, 0.01)
    )
    assert not below.warnings
    assert "21 %" in above.warnings[0]
    assert not with_fields(result, constant_value=0.2).warnings
    useless = with_fields(result, constant_value=1.0)
    assert "no more than a constant prediction" in useless.warnings[0]
