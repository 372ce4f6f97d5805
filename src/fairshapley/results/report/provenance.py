"""Where the numbers come from, and the call that gives them again."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import fairshapley
from fairshapley import estimators
from fairshapley.errors import FairShapleyError
from fairshapley.stopping import AllOf, AnyOf, Rule, rule_from_configuration

if TYPE_CHECKING:
    from fairshapley.results.result import Result


def readable_time(moment: str) -> str:
    """Return a date and time in UTC as people read it, still in the order of ISO 8601.

    Examples
    --------
    >>> readable_time("2026-11-15T22:53:22Z"), readable_time("")
    ('2026-11-15 22:53:22 UTC', 'not recorded')
    """
    return moment.replace("T", " ").replace("Z", " UTC") if moment else "not recorded"


def limits_text(limits: dict[str, Any]) -> str:
    """Return how far the run was allowed to go."""
    parts = []
    if budget := limits.get("budget"):
        given = [f"{limit:,} {unit}" for unit, limit in budget.items() if limit is not None]
        parts.append("at most " + " and ".join(given))
    if until := limits.get("until"):
        rule = _rule(until)
        parts.append(f"until {rule!r}" if rule is not None else "until a rule was met")
    return ", ".join(parts)


def snippet(result: Result) -> str:
    """Return the Python call that repeats the run, given the same game."""
    if result.method == "knn_shapley":
        return _knn_snippet(result)
    same, known = "the same game", result.game.fingerprint
    same += f", with fs.games.fingerprint(game) == {known!r}" if known else ""
    if result.method == "leave_one_out":
        game = f"game = …  # {same}"
        return f"import fairshapley as fs\n\n{game}\nvalues = fs.leave_one_out(game)"
    method, extra = _method(result.run.configuration["method"])
    unions = result.run.configuration.get("unions")
    arguments = ["game", method]
    if budget := result.run.limits.get("budget"):
        given = [f"{unit}={limit!r}" for unit, limit in budget.items() if limit is not None]
        arguments.append(f"budget=fs.Budget({', '.join(given)})")
    if until := result.run.limits.get("until"):
        arguments.append(f"until={_rule(until) or '…'}")
    arguments += [
        f"unions={unions!r}" if unions else f"semivalue={result.semivalue!r}",
        f"xi={result.xi!r}",
        f"seed={result.seed!r}",
    ]
    if result.run.limits.get("on_error") == "skip":
        arguments.append("on_error='skip'")
    lines = ["import fairshapley as fs", "", *extra]
    lines.append(f"game = …  # {same}")
    lines += ["result = fs.estimate(", *(f"    {item}," for item in arguments), ")"]
    return "\n".join(lines)


def _knn_snippet(result: Result) -> str:
    method = result.run.configuration["method"]
    options = [f"{name}={value!r}" for name, value in method.items() if name != "name"]
    call = ", ".join(["X, y, X_test, y_test", *options, f"xi={result.xi!r}"])
    return f"import fairshapley as fs\n\nresult = fs.knn_shapley({call})"


def _method(configuration: dict[str, Any]) -> tuple[str, list[str]]:
    """Return the expression for an estimator, and lines that it needs before."""
    try:
        found = estimators.from_configuration(configuration)
        where = "fs" if type(found).__name__ in fairshapley.__all__ else "fs.estimators"
        return f"{where}.{found}", []
    except (FairShapleyError, TypeError, ValueError):
        name = ascii(str(configuration.get("name")))
        return "method", [f"method = …  # the estimator {name}, with its parameters"]


def _rule(configuration: dict[str, Any]) -> str | None:
    """Return the expression for a stopping rule; None for one that is not of this package."""
    try:
        return _expression(rule_from_configuration(configuration))
    except (FairShapleyError, KeyError, TypeError, ValueError):
        return None


def _expression(rule: Rule) -> str:
    if isinstance(rule, AnyOf | AllOf):
        sign = " | " if isinstance(rule, AnyOf) else " & "
        return sign.join(f"({_expression(part)})" for part in rule.rules)
    return f"fs.{rule!r}"
