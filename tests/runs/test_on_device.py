"""Whole runs that stay on a device, here with torch on the CPU."""

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

import fairshapley as fs
from fairshapley.draws.device import DeviceUnits, SizeLaw
from fairshapley.evaluation.evaluator import Evaluator, OutOfTimeError
from fairshapley.games.abilities import device_form
from fairshapley.randomness import round_generator

BUDGET = 20_000


def rows(count, n_features=3, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(count, n_features))
    return x, (x[:, 0] + 0.5 * rng.normal(size=count) > 0).astype(int)


def game(model=None, n_players=70, metric="accuracy", *, base=True, **options):
    x, y = rows(n_players + 60)
    if metric in ("r2", "rmse"):
        y = x[:, 0] + 0.1 * y
    always = (x[-10:], y[-10:]) if base else None
    return fs.games.DataGame(
        model or LogisticRegression(solver="liblinear", C=0.1),
        (x[:n_players], y[:n_players]),
        (x[n_players:-10], y[n_players:-10]),
        metric,
        base=always,
        **{"device": "cpu", **options},
    )


@pytest.mark.parametrize(
    ("model", "metric"),
    [
        (LogisticRegression(), "accuracy"),
        (LogisticRegression(), "log_likelihood"),
        (LogisticRegression(), "auc"),
        (LogisticRegression(), "f1"),
        (KNeighborsClassifier(3), "accuracy"),
        (GaussianNB(), "log_likelihood"),
        (Ridge(), "r2"),
        (Ridge(), "rmse"),
    ],
    ids=str,
)
@pytest.mark.parametrize("base", [True, False])
def test_utilities_on_the_device_are_those_of_the_game(model, metric, base):
    """Nobody, everybody, single rows and rows of one class among them."""
    played = game(model, 30, metric, base=base)
    rng = np.random.default_rng(1)
    masks = rng.random((90, 30)) < rng.random((90, 1))
    masks[0], masks[1], masks[2:32] = False, True, np.eye(30, dtype=bool)
    there = device_form(played)(torch.as_tensor(masks.T.copy()))
    assert there.dtype == torch.float64
    np.testing.assert_allclose(there.numpy(), played(masks), rtol=1e-9, atol=1e-12)


def test_groups_of_rows_and_weights_of_test_rows():
    x, y = rows(100)
    weights = np.random.default_rng(0).random(40) + 0.5
    played = fs.games.DataGame(
        Ridge(),
        (x[:60], x[:60, 0]),
        (x[60:], x[60:, 1], weights),
        "r2",
        groups=y[:60],
        device="cpu",
    )
    masks = np.array([[False, False], [True, False], [False, True], [True, True]])
    there = device_form(played)(torch.as_tensor(masks.T.copy()))
    np.testing.assert_allclose(there.numpy(), played(masks), rtol=1e-9)


def test_no_form_without_a_device_or_for_other_utilities():
    class Other(fs.games.DataGame):
        def __call__(self, coalitions):
            return 2.0 * super().__call__(coalitions)

    x, y = rows(40)
    other = Other(LogisticRegression(), (x[:20], y[:20]), (x[20:], y[20:]), device="cpu")
    assert device_form(other) is None
    assert device_form(game(device=None)) is None
    assert device_form(fs.games.Airport([1.0, 2.0])) is None


def test_a_run_on_the_device_agrees_with_the_host():
    """z of 70 players between two runs: its standard deviation is 1 ± 0.085 or so."""
    there = fs.estimate(game(), "adjusted", budget=BUDGET, seed=1)
    again = fs.estimate(game(), budget=BUDGET, seed=1)
    host = fs.estimate(game(device=None), budget=BUDGET, seed=2)
    assert there.run.configuration["device"] == "cpu"
    assert "device" not in host.run.configuration
    assert any("stayed on cpu" in note for note in there.notes)
    np.testing.assert_array_equal(there.values, again.values)
    np.testing.assert_array_equal(there.standard_errors, again.standard_errors)
    assert BUDGET - 2 * 69 < there.evaluations <= BUDGET
    assert there.run.computed == there.evaluations
    z = (there.values - host.values) / np.hypot(there.standard_errors, host.standard_errors)
    assert 0.6 < z.std() < 1.4
    assert there.values.sum() == pytest.approx(host.values.sum(), rel=1e-6)
    assert sum(one.coalitions for one in there.run.profile) == 2
    assert fs.Result.from_dict(there.to_dict()).evaluations == there.evaluations


def test_exact_values_on_the_device():
    there = fs.exact(game(n_players=17, base=False))
    host = fs.exact(game(n_players=17, base=False, device=None))
    assert there.exact
    assert there.run.configuration["device"] == "cpu"
    assert there.evaluations == (1 << 17) + 2  # both ends twice
    np.testing.assert_allclose(there.values, host.values, atol=1e-9)


def test_a_certificate_on_the_device():
    run = fs.estimate(
        game(), "adjusted", until=fs.Fair(epsilon1=0.8, delta=0.1), budget=400_000, seed=3, xi=0.02
    )
    assert run.run.configuration["device"] == "cpu"
    assert run.certificate(0.8, 0.1) is not None
    assert "certified" in run.stopped


def test_what_needs_the_host_goes_there(tmp_path):
    small = fs.estimate(game(), "adjusted", budget=3000, seed=0)
    kept = fs.estimate(game(), "adjusted", budget=17_000, seed=0, journal=tmp_path / "run.db")
    other = fs.estimate(game(), "mc", budget=17_000, seed=0)
    few = fs.estimate(game(n_players=40), "adjusted", budget=17_000, seed=0)
    for run in (small, kept, other, few):
        assert "device" not in run.run.configuration


def test_failures_name_the_coalition():
    class Broken:
        n_players = 70
        fingerprint = "broken"

        def __call__(self, coalitions):
            return coalitions.sum(axis=1) / 70.0

        def on_device(self):
            return self.Form()

        class Form:
            n_players, device, block = 70, "cpu", 1000
            bad = float("nan")

            def __call__(self, columns):
                values = columns.double().mean(dim=0)
                return torch.where(columns[3] & ~columns[5], self.bad, values)

    with pytest.raises(fs.errors.GameError, match="returned nan") as caught:
        fs.estimate(Broken(), "adjusted", budget=BUDGET, seed=0)
    assert 3 in caught.value.coalition
    assert 5 not in caught.value.coalition


def test_a_round_on_the_device_ends_at_the_deadline():
    played = game()
    there = Evaluator(played, 70)
    there.on_device = device_form(played)
    law = SizeLaw(70).near(np.full(69, 1 / 69))
    draw = DeviceUnits.draw(round_generator(0, 0), 50, law, "cpu", paired=False)
    with pytest.raises(OutOfTimeError):
        there.evaluate(draw, deadline=0.0)
    assert there.tally.evaluations == 0
    assert len(there.evaluate(draw).values) == there.tally.evaluations == 50
