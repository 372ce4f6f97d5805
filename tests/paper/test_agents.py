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


@needs("uber_lyft")
def test_columns_that_stand_in_are_named():
    notes = agents.uber_lyft(Setup("tiny", 3)).notes
    assert any("windBearing" in note for note in notes)
