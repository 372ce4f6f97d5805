"""The contract of a game."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.errors import ContractError, FairShapleyError
from fairshapley.evaluation.engines import check_answer
from fairshapley.games import abilities
from fairshapley.games.abilities import is_random
from fairshapley.games.fingerprints import fingerprint
from fairshapley.games.game import Game, members
from fairshapley.randomness import draw_seeds
from fairshapley.runs.loop import SAME


def check_game(game: Game, *, samples: int = 32, seed: int = 0) -> None:
    """Check that a game can be used everywhere in fairshapley.

    It must answer a batch with one finite number per coalition (none for an empty batch), give
    the same utility for the same coalition whatever the batch around it, leave the masks as they
    are, stay inside its `value_range`, tell no declared `identical_players` apart, and have a
    fingerprint that use does not change. With a random game the same seed must give the same
    utility, and two draws must differ.

    Parameters
    ----------
    game
        The game.
    samples
        The number of random coalitions to try; the game is called about four times with each.
    seed
        Fixes the coalitions.

    Examples
    --------
    >>> import fairshapley as fs
    >>> check_game(fs.games.Airport([1.0, 2.0, 3.0]))
    """
    before = _identity(game)
    masks = np.random.default_rng(seed).random((samples, game.n_players)) < 0.5
    masks[:1], masks[1:2] = False, True
    if is_random(game):
        values = _draws(game, masks, seed)
    else:
        values = _answers(game, masks)
        _check_identical(game, masks, values)
    _check_range(game, values)
    if _identity(game) != before:
        raise ContractError("using the game changed its fingerprint: keep caches out of its state")


def _identity(game: Game) -> str:
    """The fingerprint of a game whose attributes are as they should be."""
    if not isinstance(game, Game):
        raise ContractError("a game must be callable and have n_players")
    with _as_contract():
        abilities.player_names(game)
        return fingerprint(game)


@contextmanager
def _as_contract() -> Iterator[None]:
    """What else is wrong with a game breaks its contract too."""
    try:
        yield
    except ContractError:
        raise
    except FairShapleyError as error:
        raise ContractError(str(error)) from error


def _answers(game: Game, masks: BoolArray) -> FloatArray:
    """The utilities, asked for in several ways that must agree."""
    given = masks.copy()
    with _as_contract():
        values = check_answer(game(given), len(given))
        check_answer(game(masks[:0]), 0)
        alone = np.array([check_answer(game(mask[None].copy()), 1)[0] for mask in masks])
        turned = check_answer(game(masks[::-1].copy()), len(masks))[::-1]
    if not np.array_equal(masks, given):
        raise ContractError("the game changed the masks it was given: work on a copy")
    if not np.isfinite(values).all():
        raise ContractError("a utility is not finite: every coalition needs a number")
    for label, other in (("alone", alone), ("in another order", turned)):
        if not np.allclose(values, other, rtol=1e-9, atol=1e-12):
            at = int(np.abs(values - other).argmax())
            apart = float(np.sqrt(np.mean(np.square(values - other)) / 2.0))
            raise ContractError(
                f"coalition {members(masks[at])} is worth {float(values[at])!r} in a batch and "
                f"{float(other[at])!r} {label}: a utility must depend on the coalition alone. "
                f"Noise of standard deviation {apart:.2g} would explain that: say so with "
                "random=True, use fs.games.Random with a function of a seed, or fix the seed"
            )
    return values


def _draws(game: Game, masks: BoolArray, seed: int) -> FloatArray:
    """Draws of a random game, which its seeds must settle."""
    with _as_contract():
        values = check_answer(game(masks.copy()), len(masks))
        again = check_answer(game(masks.copy()), len(masks))
        if (draw := abilities.seeded_draw(game)) is not None:
            seeds = draw_seeds(seed, np.arange(len(masks))).astype(np.int64)
            values = check_answer(draw(masks.copy(), seeds), len(masks))
            turned = check_answer(draw(masks[::-1].copy(), seeds[::-1]), len(masks))[::-1]
            if not np.allclose(values, turned, rtol=1e-9, atol=1e-12):
                raise ContractError(
                    "two draws with the same seed differ: make all that is random depend on the "
                    "seed, or use FunctionGame(…, random=True), which promises no repetition"
                )
    if not (np.isfinite(values).all() and np.isfinite(again).all()):
        raise ContractError("a utility is not finite: every coalition needs a number")
    if np.array_equal(values, again):
        raise ContractError(
            f"two draws of each of {len(masks)} coalitions are the same: leave random=True out"
        )
    return values


def _check_identical(game: Game, masks: BoolArray, values: FloatArray) -> None:
    """Swap the players of declared pairs, one pair for each coalition, in turn."""
    with _as_contract():
        pairs = np.array(abilities.identical_players(game)).reshape(-1, 2)
    if not len(pairs):
        return
    rows = np.arange(len(masks))
    one, other = pairs[rows % len(pairs)].T
    swapped = masks.copy()
    swapped[rows, one], swapped[rows, other] = masks[rows, other], masks[rows, one]
    apart = np.abs(game(swapped) - values)
    at = int(apart.argmax())
    if apart[at] > SAME * np.ptp(values) + 1e-12 * np.abs(values).max():
        raise ContractError(
            f"players {one[at]} and {other[at]} are declared identical, but swapping them changes "
            f"the utility of {members(masks[at])} by {apart[at]:.3g}: leave the pair out of "
            "identical_players, or make the utility the same for both"
        )


def _check_range(game: Game, values: FloatArray) -> None:
    low, high = abilities.value_range(game) or (-math.inf, math.inf)
    if values.min() < low or values.max() > high:
        raise ContractError(
            f"utilities from {values.min()!r} to {values.max()!r} leave the stated value_range "
            f"({low!r}, {high!r})"
        )
