"""What a constant prediction explains of the sum of the values: it is nobody's merit."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from fairshapley.results.result import Result

# A constant that earns more than this share of what is divided changes who gets what.
LARGEST_SHARE = 0.2


def constant_share(result: Result) -> float | None:
    """The share of v(N) − v(∅) that the best constant prediction explains; None where unknown.

    Above 1 where all players together do not reach the constant prediction.

    Examples
    --------
    >>> import fairshapley as fs
    >>> result = fs.exact(fs.games.TableGame([0.5, 0.8]))
    >>> constant_share(result) is None
    True
    """
    constant, ends = result.game.constant_value, result.game.endpoints
    if constant is None or ends is None:
        return None
    empty, full = ends
    if full <= constant:
        return float("inf")
    return max(0.0, (constant - empty) / (full - empty))


def baseline_warning(result: Result) -> str:
    """What must be said when a constant prediction explains much of the values; else empty."""
    share = constant_share(result)
    if share is None or share <= LARGEST_SHARE or result.game.constant_value is None:
        return ""
    constant = f"{result.game.constant_value:.4g}"
    if share == float("inf"):
        return (
            f"all players together are worth no more than a constant prediction, {constant}: their "
            "data add nothing that this utility measures"
        )
    return (
        f"a constant prediction alone is worth {constant}, and explains {100 * share:.0f} % of "
        f"v(N) − v(∅): that much is paid for what nobody’s data are needed for. Leave the utility "
        f"of no rows to the default, {constant}, to value what the data add"
    )
