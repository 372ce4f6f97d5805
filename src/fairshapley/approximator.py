"""Our methods inside shapiq's explainers."""

from __future__ import annotations

from typing import Any

from fairshapley._basics.extras import extra
from fairshapley.estimators import Estimator
from fairshapley.results.result import Result
from fairshapley.runs.calls import estimate


def shapiq_approximator(
    n_players: int, method: str | Estimator[Any, Any] = "auto", *, seed: int | None = None
) -> Any:
    """Return a method of this package as an approximator for shapiq's explainers (needs shapiq).

    It gives Shapley values (shapiq's index "SV"). After a call, `result` is the whole result, with
    standard errors and certificate.

    Parameters
    ----------
    n_players
        The number of players, which shapiq calls n.
    method
        As in `estimate`.
    seed
        Fixes the draws, until shapiq sets another random state.

    Examples
    --------
    >>> import fairshapley as fs
    >>> approximator = shapiq_approximator(3)
    >>> found = approximator.approximate(budget=8, game=fs.games.Airport([1.0, 2.0, 4.0]))
    >>> round(found[(0,)], 3), approximator.result.exact
    (0.333, True)
    """
    with extra("shapiq", "an approximator for shapiq needs shapiq"):
        from shapiq.approximator.base import Approximator

    class FairShapley(Approximator[Any]):
        """The approximator."""

        valid_indices = ("SV",)
        result: Result

        def __init__(self) -> None:
            super().__init__(n_players, max_order=1, index="SV", random_state=seed)

        def approximate(self, budget: int, game: Any, *args: Any, **kwargs: Any) -> Any:
            self.result = estimate(
                game, method, budget=budget, seed=self._random_state, progress=False
            )
            return self.result.to_shapiq()

    return FairShapley()
