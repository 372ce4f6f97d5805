"""The GPU kernels in Triton's interpreter, against float64 on numpy."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression

from fairshapley.games.learners import arrays, batch_learner

torch = pytest.importorskip("torch")
fused = pytest.importorskip("fairshapley.games.learners.fused", exc_type=ImportError)


def breast_cancer(columns):
    x, y = load_breast_cancer(return_X_y=True)
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    return x[:60, :columns], y[:60], x[100:150, :columns]


@pytest.mark.parametrize("columns", [5, 7, 11])
@pytest.mark.parametrize("solver", ["liblinear", "lbfgs"])
def test_one_kernel_gives_the_coefficients_of_float64(monkeypatch, columns, solver):
    monkeypatch.setattr(arrays.Backend, "kernels", property(lambda self: self.device is not None))
    calls, minimise = [], fused.minimise_binary
    monkeypatch.setattr(
        fused, "minimise_binary", lambda *given: calls.append(given) or minimise(*given)
    )
    x, y, x_test = breast_cancer(columns)
    model = LogisticRegression(solver=solver, C=0.05)
    rng = np.random.default_rng(columns)
    rows = rng.random((70, 60)) < rng.uniform(0.2, 1.0, (70, 1))
    rows[:, [np.argmin(y), np.argmax(y)]] = True  # one of each class
    expected = batch_learner(model, x, y, x_test).predict(rows, "decision")
    found = batch_learner(model, x, y, x_test, device="cpu", dtype="float32").predict(
        rows, "decision"
    )
    # Single precision keeps 7 digits; the sums of 60 rows cost one or two of them.
    np.testing.assert_allclose(found.numpy(), expected, atol=2e-5)
    assert calls


def test_separable_rows_take_steps_back_and_arrive():
    """A weak penalty on separated rows: full Newton steps overshoot."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(30, 3)) + 4.0 * np.array([1.0, 0.0, 0.0])
    signed = torch.tensor(x, dtype=torch.float32)
    weights = torch.ones(30, 4)
    penalties = torch.full((3,), 1e-3)
    found = fused.minimise_binary(signed, weights, penalties).double().numpy()
    wrong = 1.0 / (1.0 + np.exp(x @ found.T))
    gradient = 1e-3 * found.T - x.T @ wrong
    assert np.abs(gradient).max() < 1e-4 * np.abs(x.T @ np.ones(30)).max()
