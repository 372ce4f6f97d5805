"""One run of a method, recorded when the paper's budget and when the honest one are spent.

The library's own loop stops as soon as every coalition is known, for then the values are exact. The
paper's runs go on: 1300 marginals of a game with 16 coalitions. So the rounds are asked and told
here, and both accountings are read off.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from fairshapley._types import BoolArray, FloatArray
from fairshapley.draws import AllCoalitions, Draw
from fairshapley.estimators.base import Estimator, Problem
from fairshapley.estimators.exact import exact_values
from fairshapley.paper.experiment import Outcome, Setting, Trial
from fairshapley.paper.memo import Memo, coalition_keys
from fairshapley.paper.methods import METHODS
from fairshapley.randomness import round_generator
from fairshapley.semivalues import Semivalue

# A method that asks so often, in multiples of all coalitions, for what is known has stalled.
STALL = 50
ENUMERATED_AT_ONCE = 1 << 16


class Rounds:
    """The rounds of one estimator on one game, with what they have cost."""

    def __init__(
        self, memo: Memo, estimator: Estimator[Any], semivalue: Semivalue, xi: float, seed: int
    ) -> None:
        n_players = memo.n_players
        ends = np.stack([np.zeros(n_players, dtype=bool), np.ones(n_players, dtype=bool)])
        keys = coalition_keys(ends)
        empty, full = memo.look_up(keys, ends).tolist()
        self.memo = memo
        self.estimator = estimator
        self.seed = seed
        self.semivalue = semivalue
        self.state = estimator.start(Problem(n_players, semivalue, empty, full, xi))
        self.known = set(keys)
        self.marginals: int | None = None
        self.requests = 2
        self._index = 0
        self._asked: Draw | None = None

    def ask(self) -> Draw | None:
        """The next round; the same again until it is told."""
        if self._asked is None:
            self._asked = self.estimator.ask(self.state, round_generator(self.seed, self._index))
        return self._asked

    def tell(self, keys: list[bytes], masks: BoolArray) -> None:
        """Evaluate the round that was asked for and fold it in."""
        draw, self._asked = self._asked, None
        assert draw is not None  # noqa: S101 - asked for before
        self.estimator.tell(self.state, draw, self.memo.look_up(keys, masks))
        self.known.update(keys)
        self.requests += len(draw)
        self._index += 1
        if draw.marginals is not None:
            self.marginals = (self.marginals or 0) + draw.marginals

    def outcome(self) -> Outcome:
        """What is known now."""
        now = self.estimator.estimate(self.state)
        return Outcome(now.values, now.variances, len(self.known), self.marginals)

    def exact_outcome(self) -> Outcome:
        """The values when every coalition is known."""
        values = enumerated_values(self.memo, self.semivalue)
        return Outcome(values, np.zeros_like(values), len(self.known), self.marginals)


def enumerated_values(memo: Memo, semivalue: Semivalue) -> FloatArray:
    """The exact values, from all 2**n utilities; those of a large game are not remembered."""
    everything = AllCoalitions(memo.n_players)
    game = memo if len(everything) <= ENUMERATED_AT_ONCE else memo.game
    table = np.concatenate(
        [
            game(everything.masks(start, min(start + ENUMERATED_AT_ONCE, len(everything))))
            for start in range(0, len(everything), ENUMERATED_AT_ONCE)
        ]
    )
    return exact_values(table, semivalue, 0)


def run_trial(
    memo: Memo,
    *,
    scenario: str,
    method: str,
    semivalue: Semivalue,
    setting: Setting,
    number: int,
    seed: int,
    xi: float,
) -> Trial:
    """One trial of a method.

    Parameters
    ----------
    memo
        The game.
    scenario, number
        For the record.
    method
        A key of `METHODS`.
    semivalue, setting, seed, xi
        What is estimated, for how long, with which draws, and ξ.
    """
    started = time.process_time()
    n_players = memo.n_players
    if method == "exact":
        values = enumerated_values(memo, semivalue)
        known = Outcome(values, np.zeros_like(values), 1 << n_players, None)
        path: tuple[Outcome, ...] = (known,)
        paper = honest = known
    else:
        estimator = METHODS[method].make(setting.permutations(n_players))
        rounds = Rounds(memo, estimator, semivalue, xi, seed)
        path = tuple(_paper_path(rounds, setting))
        paper = path[-1]
        if setting.evaluations is not None or setting.share is not None:
            estimator = METHODS[method].make(setting.honest_permutations(n_players))
            rounds = Rounds(memo, estimator, semivalue, xi, seed)
        honest = run_to(rounds, setting.total_evaluations(n_players))
    seconds = time.process_time() - started
    return Trial(scenario, method, number, seed, paper, honest, path, seconds)


def _paper_path(rounds: Rounds, setting: Setting) -> Iterator[Outcome]:
    """The outcome when each of the looks' budgets is spent.

    A method without marginals is charged for requests, repeated ones too: what so many marginals
    request at most, n − 1 for a permutation and two for a single marginal.
    """
    n_players = rounds.memo.n_players
    permutations = setting.permutations(n_players)
    # With one look only the end is asked for; a curve starts where the bootstrap ends.
    for look in range(setting.looks + 1) if setting.looks > 1 else (1,):
        share = setting.marginals * look // setting.looks
        marginals = permutations * n_players + share
        requests = 2 + permutations * (n_players - 1) + 2 * share
        while (draw := rounds.ask()) is not None:
            if draw.marginals is None:
                spent = rounds.requests + len(draw) > requests
            else:
                spent = (rounds.marginals or 0) + draw.marginals > marginals
            if spent:
                break
            masks = draw.masks(0, len(draw))
            rounds.tell(coalition_keys(masks), masks)
        yield rounds.outcome()


def run_to(rounds: Rounds, evaluations: int) -> Outcome:
    """Go on until so many distinct utilities are known, or all of them."""
    n_players = rounds.memo.n_players
    coalitions = 1 << min(n_players, 40)
    while rounds.requests < STALL * coalitions:
        if len(rounds.known) >= coalitions:
            return rounds.exact_outcome()
        draw = rounds.ask()
        if draw is None:
            break
        masks = draw.masks(0, len(draw))
        keys = coalition_keys(masks)
        new = len(set(keys) - rounds.known)
        if len(rounds.known) + new > evaluations:
            break
        rounds.tell(keys, masks)
    return rounds.outcome()
