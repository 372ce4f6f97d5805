"""The contract suites find what is broken: each law fails on an estimator made to break it.

Without the defect the estimator is Monte Carlo, which `test_laws.py` puts to every law.
"""

from dataclasses import dataclass, replace

import numpy as np
import pytest

import fairshapley as fs
from fairshapley.testing import LAWS, check_game


@dataclass(frozen=True, kw_only=True)
class Broken(fs.MonteCarlo):
    """Monte Carlo with a defect."""

    defect: str = "none"

    def estimate(self, state):
        good = super().estimate(state)
        ramp = np.linspace(0.0, 1.0, len(good.values))
        if self.defect == "bias":
            return replace(good, values=good.values + 0.2)
        if self.defect == "errors":
            return replace(good, variances=good.variances * 2.5)
        if self.defect == "labels":
            return replace(good, values=good.values * (1 + 0.3 * ramp))
        if self.defect == "square":
            return replace(good, values=good.values + good.values**2)
        if self.defect == "memory":
            object.__setattr__(self, "_calls", getattr(self, "_calls", 0) + 1)
            return replace(good, values=good.values + self._calls)
        return good


class BadSeed(fs.MonteCarlo):
    def ask(self, state, rng):
        return super().ask(state, np.random.default_rng(0))


@pytest.mark.parametrize(
    ("law", "defect"),
    [
        ("unbiased", "bias"),
        ("unbiased_semivalues", "bias"),
        ("null_player", "bias"),
        ("efficiency", "bias"),
        ("affine_scaling", "bias"),
        ("standard_errors", "errors"),
        ("later_stages", "errors"),
        ("later_stages", "bias"),
        ("relabelling", "labels"),
        ("linearity", "square"),
        ("same_seed", "memory"),
        ("continuing", "memory"),
        ("any_chunk_size", "memory"),
    ],
)
def test_a_law_fails_on_a_broken_estimator(law, defect):
    with pytest.raises(fs.errors.ContractError):
        LAWS[law](Broken(defect=defect), 80)


def test_one_seed_for_all_is_found():
    with pytest.raises(fs.errors.ContractError, match="another seed"):
        LAWS["same_seed"](BadSeed(), 1)


def test_exactness_is_demanded():
    class Lazy(fs.MonteCarlo):
        def ask(self, state, rng):
            return None if state.moments.counts.any() else super().ask(state, rng)

    with pytest.raises(fs.errors.ContractError, match="did not give exact"):
        LAWS["exact_when_known"](Lazy(), 1)


class Custom:
    n_players = 3

    def __init__(self, fn, **attributes):
        self.fn = fn
        self.__dict__.update(attributes)

    def __call__(self, coalitions):
        return self.fn(coalitions)


def sizes(masks):
    return masks.sum(axis=1).astype(float)


def spoils(masks):
    masks[:] = True
    return np.zeros(len(masks))


def test_a_good_game_passes():
    check_game(Custom(sizes, value_range=(0.0, 3.0), player_names=("a", "b", "c")))
    check_game(fs.games.FunctionGame(len, 4))


@pytest.mark.parametrize(
    ("game", "message"),
    [
        (sizes, "n_players"),
        (Custom(lambda masks: 1.0), "shape"),
        (Custom(lambda masks: masks.sum(axis=1) * 1j), "complex"),
        (Custom(lambda masks: np.full(len(masks), np.nan)), "finite"),
        (Custom(lambda masks: np.arange(len(masks))), "coalition alone"),
        (Custom(spoils), "changed the masks"),
        (Custom(sizes, value_range=(0.0, 1.0)), "value_range"),
        (Custom(sizes, player_names=("a",)), "names"),
    ],
)
def test_a_broken_game_is_found(game, message):
    with pytest.raises(fs.errors.ContractError, match=message):
        check_game(game)


def test_a_fingerprint_that_changes_with_use_is_found():
    class Counting(Custom):
        calls = 0

        def __call__(self, coalitions):
            self.calls += 1
            return sizes(coalitions)

    with pytest.raises(fs.errors.ContractError, match="fingerprint"):
        check_game(Counting(None))
