"""Results given to other packages and taken from them: shap and shapiq."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from fairshapley._basics.extras import extra
from fairshapley.errors import InputError
from fairshapley.results.serialising import assembled

# Semivalues, and what shapiq calls them.
INDICES = {"shapley": "SV", "banzhaf": "BV"}


def shap_package() -> Any:
    """Return the package shap, without what newer versions of matplotlib warn of in its colours."""
    needed = extra("shap", "an explanation for shap's plots needs shap", "values is a plain array")
    with needed, warnings.catch_warnings(action="ignore"):
        import shap
    return shap


def _check_package(given: Any, function: str, kind: str, attributes: str) -> None:
    """Raise an InputError when what is given lacks the attributes of another package's values."""
    if not all(hasattr(given, name) for name in ("values", *attributes.split())):
        raise InputError(f"{function} needs a {kind}", received=given)


class Shared:
    """What `Result` has for other packages."""

    def to_shap(self: Any, data: Any = None) -> Any:
        """Return the values as a `shap.Explanation`, for shap's plots (needs shap).

        Parameters
        ----------
        data
            What each player shows beside its value, such as the row explained.

        Examples
        --------
        >>> import fairshapley as fs
        >>> fs.exact(fs.games.TableGame([0, 1, 2, 5])).to_shap().values
        array([2., 3.])
        """
        base, shown = self._empty_value(), None if data is None else np.asarray(data)
        names = list(self.names())
        return shap_package().Explanation(self.values.copy(), base, shown, feature_names=names)

    def to_shapiq(self: Any) -> Any:
        """Return the values as shapiq's `InteractionValues` (needs shapiq).

        Examples
        --------
        >>> import fairshapley as fs
        >>> fs.exact(fs.games.TableGame([0, 1, 2, 5])).to_shapiq()[(1,)]
        3.0
        """
        if self.semivalue not in INDICES:
            raise InputError(
                f"shapiq has no index for {self.semivalue}: use 'shapley' or 'banzhaf'"
            )
        with extra("shapiq", "to_shapiq needs shapiq", "values is a plain array"):
            from shapiq import InteractionValues
        base = self._empty_value()
        scores: dict[tuple[int, ...], float] = {(): base}
        scores.update({(player,): value for player, value in enumerate(self.values.tolist())})
        about = {"n_players": self.n_players, "estimated": not self.exact}
        about |= {"estimation_budget": self.evaluations, "baseline_value": base}
        index = INDICES[self.semivalue]
        return InteractionValues(scores, index=index, max_order=1, min_order=0, **about)

    def _empty_value(self: Any) -> float:
        if self.game.endpoints is None:
            raise InputError("the utility of nobody is not recorded: estimate the values of a game")
        return float(self.game.endpoints[0])

    @classmethod
    def from_shap(cls, explanation: Any) -> Any:
        """Return a row of a `shap.Explanation` as a result, to be reported, compared and paid out.

        The errors of its values are not known, so nothing is certified.
        """
        _check_package(explanation, "from_shap", "shap.Explanation", "base_values feature_names")
        values, names = explanation.values, explanation.feature_names
        if np.ndim(values) != 1:
            raise InputError(
                "a result has the values of one row and one output, and the explanation has the "
                f"shape {np.shape(values)}: give explanation[0] or explanation[0, :, 1]"
            )
        named = None if names is None else tuple(map(str, names))
        return cls._taken("shap", values, explanation.base_values, player_names=named)

    @classmethod
    def from_shapiq(cls, interactions: Any) -> Any:
        """Return the values of single players in shapiq's `InteractionValues` as a result."""
        wanted = "index max_order n_players baseline_value estimated estimation_budget"
        _check_package(interactions, "from_shapiq", "shapiq.InteractionValues", wanted)
        names = {index: name for name, index in INDICES.items()}
        if interactions.index not in names:
            raise InputError(
                f"{interactions.index} of order {interactions.max_order} are no values of single "
                "players: compute them with index='SV', max_order=1"
            )
        values = [interactions[(player,)] for player in range(interactions.n_players)]
        base, semivalue = interactions.baseline_value, names[interactions.index]
        exact, evaluations = not interactions.estimated, int(interactions.estimation_budget or 0)
        counted = {"exact": exact, "evaluations": evaluations}
        return cls._taken("shapiq", values, base, semivalue, **counted)

    @classmethod
    def _taken(
        cls: Any, package: str, values: Any, base: float, semivalue: str = "shapley", **fields: Any
    ) -> Any:
        found, known = np.array(values, dtype=np.float64), fields.get("exact", False)
        unknown = f"these values come from {package}, and their errors are not known"
        about = {"method": {"name": package}, "semivalue": semivalue, "xi": 1e-3}
        return assembled(
            cls,
            values=found,
            standard_errors=np.full(found.shape, 0.0 if known else np.nan),
            counts=np.ones(found.shape, dtype=np.int64),
            obstacle="" if known else unknown,
            endpoints=(float(base), float(base + found.sum())),
            configuration=about,
            stopped=f"read from {package}",
            **{"evaluations": 0, "marginals": None, "seed": 0, "xi": 1e-3, **fields},
        )
