"""When to stop: a budget that is never exceeded, and rules that end a run early.

Rules are pure predicates over a snapshot of the run, combined with ``|`` (any) and ``&`` (all).
They are asked after each round. A `Budget` is hard: a round that would exceed it is not started.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairshapley.errors import InputError
from fairshapley.stopping.decided import Decided
from fairshapley.stopping.fair import Fair
from fairshapley.stopping.rules import AllOf, AnyOf, Budget, Rule, Snapshot, parse_budget
from fairshapley.stopping.thresholds import Evaluations, Fidelity, Marginals, Seconds

__all__ = [
    "AllOf",
    "AnyOf",
    "Budget",
    "Decided",
    "Evaluations",
    "Fair",
    "Fidelity",
    "Marginals",
    "Rule",
    "Seconds",
    "Snapshot",
    "parse_budget",
    "rule_from_configuration",
]

RULES: dict[str, type[Evaluations | Marginals | Seconds | Fidelity | Fair | Decided]] = {
    rule.__name__: rule for rule in (Evaluations, Marginals, Seconds, Fidelity, Fair, Decided)
}
COMBINATIONS: dict[str, type[AnyOf] | type[AllOf]] = {"AnyOf": AnyOf, "AllOf": AllOf}


def rule_from_configuration(configuration: Mapping[str, Any]) -> Rule:
    """The rule that `Rule.configuration` described.

    Examples
    --------
    >>> rule_from_configuration({"rule": "Seconds", "at_least": 5})
    Seconds(at_least=5)
    """
    name = configuration.get("rule")
    if name in COMBINATIONS:
        parts = tuple(rule_from_configuration(part) for part in configuration["rules"])
        return COMBINATIONS[name](parts)
    if name in RULES:
        arguments = {key: value for key, value in configuration.items() if key != "rule"}
        return RULES[name](**arguments)
    raise InputError(f"unknown stopping rule {name!r}: use {', '.join(RULES | COMBINATIONS)}")
