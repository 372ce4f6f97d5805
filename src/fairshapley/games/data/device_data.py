"""The utilities of data where the learner's arrays are: from columns of players to scores."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairshapley._basics.types import FloatArray
from fairshapley.games.data.players import PlayerRows
from fairshapley.games.data.scoring import Metric
from fairshapley.games.learners.learner import Learner

# Rows or predictions of a block of coalitions: 1 GiB in double precision.
BLOCK_ENTRIES = 1 << 27


class DeviceData:
    """A vectorised data game without a way over the host.

    Parameters
    ----------
    learner, metric
        Fit and score.
    players
        Who owns which rows.
    counts
        How many rows of each class each player has, then those that are always there,
        (players + 1, classes); None for regression.
    constants
        For each class the score of a model that knows no other.
    nobody
        The utility of no rows.
    """

    def __init__(
        self,
        learner: Learner,
        metric: Metric,
        players: PlayerRows,
        counts: FloatArray | None,
        constants: FloatArray,
        nobody: float,
    ) -> None:
        where = learner.where
        assert where.device is not None  # noqa: S101 - asked before
        self.n_players, self.device = players.n_players, where.device
        self._learner, self._metric = learner, metric
        self._has_base = players.n_base > 0
        self._always_fits = self._has_base and (counts is None or (counts[-1] > 0).sum() > 1)
        predictions = len(metric.targets) * (
            metric.n_classes if metric.kind == "probability" else 1
        )
        self.block = max(1, BLOCK_ENTRIES // max(len(players.rows), predictions))
        owner = np.append(players.owner, np.full(players.n_base, players.n_players))[players.order]
        same = len(owner) == self.n_players and bool((owner == np.arange(len(owner))).all())
        self._owner = None if same else where.integers(owner)
        self._counts = None if counts is None else where.reals(counts)
        self._constants = where.xp.asarray(
            np.append(constants, nobody), dtype=where.xp.float64, device=where.device
        )

    def __call__(self, columns: Any) -> Any:
        """Return the utility of each column of a boolean tensor (players, m)."""
        import torch

        rows = columns
        if self._owner is not None:
            always = [torch.ones_like(columns[:1])] if self._has_base else []
            rows = torch.cat([columns, *always])[self._owner]
        if self._always_fits:
            return self._scores(rows)
        constant = self._constant(columns)
        fitted = constant < 0
        # All rows can be fitted: they stand in for those that cannot.
        scores = self._scores(rows | ~fitted)
        return torch.where(fitted, scores, self._constants[constant])

    def _scores(self, rows: Any) -> Any:
        return self._metric.device_scores(self._learner.predict_sets(rows, self._metric.kind))

    def _constant(self, columns: Any) -> Any:
        """The constant prediction that coalitions stand for, −1 for those that are fitted."""
        import torch

        constant = torch.full_like(columns[0], -1, dtype=torch.int64)
        if self._counts is not None:
            counts = self._counts[:-1].T @ columns.to(self._counts.dtype) + self._counts[-1:].T
            present = counts > 0
            only = present.to(torch.uint8).argmax(dim=0)
            constant = torch.where(present.sum(dim=0) == 1, only, constant)
        if self._has_base:
            return constant
        return torch.where(columns.any(dim=0), constant, len(self._constants) - 1)
