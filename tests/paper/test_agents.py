"""P3, collaborative: agents with rows of their own, one kernel for all."""

import numpy as np
import pytest

from fairshapley.draws import AllCoalitions
from fairshapley_paper.experiment import Setup
from fairshapley_paper.scenarios import agents
from tests.data_folder import needs


@needs("hotel_reviews", "uber_lyft")
@pytest.mark.parametrize("build", [agents.hotel_reviews, agents.uber_lyft])
def test_information_grows_and_saturates(build):
    played = build(Setup("tiny", 0))
    values, coalitions = played.game.values, AllCoalitions(10).masks(0, 1 << 10)
    assert values[0] == 0
    one = np.flatnonzero(coalitions[:, 0])
    gains = values[one] - values[one ^ 1]
    assert gains.min() > 0
    # Submodular: an agent adds most to nobody, least to all others.
    assert gains[0] == gains.max()
    assert gains[-1] == gains.min()
    assert any("learnt: length-scale" in note for note in played.notes)


def test_the_kernel_after_some_steps_is_that_of_torch():
    """Adam on log(1 + exp(·)) of the parameters, from log 2 on, as GPyTorch has them."""
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    features, targets = rng.normal(size=(12, 2)), rng.normal(size=12)
    moved = torch.zeros(4, dtype=torch.float64, requires_grad=True)
    optimiser = torch.optim.Adam([moved], lr=0.05)
    distances = torch.cdist(torch.tensor(features), torch.tensor(features)) ** 2
    for _ in range(30):
        optimiser.zero_grad()
        length, scale, noise = torch.nn.functional.softplus(moved[:3])
        kernel = scale * torch.exp(-0.5 * distances / length**2)
        kernel = kernel + (noise + agents.LEAST_NOISE) * torch.eye(12, dtype=torch.float64)
        apart = torch.tensor(targets) - moved[3]
        loss = 0.5 * (apart @ torch.linalg.solve(kernel, apart) + torch.logdet(kernel)) / 12
        loss.backward()
        optimiser.step()
    found = agents.kernel_after_steps(features, targets, 30)
    known = torch.nn.functional.softplus(moved[:3]).detach().numpy()
    known[2] += agents.LEAST_NOISE
    np.testing.assert_allclose([found[name] for name in ("length_scale", "scale", "noise")], known)
