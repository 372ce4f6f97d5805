"""When to stop: a budget that is never exceeded, and rules that end a run early.

Rules are pure predicates over a snapshot of the run, combined with ``|`` (any) and ``&`` (all).
They are asked after each round. A `Budget` is hard: a round that would exceed it is not started.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairshapley.errors import InputError
from fairshapley.stopping.planned import Decided, Fair
from fairshapley.stopping.rules import (
    AllOf,
    AnyOf,
    Budget,
    Fidelity,
    Rule,
    Snapshot,
    parse_budget,
    rungs,
)

__all__ = [
    "AllOf",
    "AnyOf",
    "Budget",
    "Decided",
    "Fair",
    "Fidelity",
    "Rule",
    "Snapshot",
    "parse_budget",
    "rule_from_configuration",
    "rungs",
]

RULES: dict[str, type[Rule]] = {
    rule.__name__: rule for rule in (Fidelity, Fair, Decided, AnyOf, AllOf)
}


def rule_from_configuration(configuration: Mapping[str, Any]) -> Rule:
    """Return the rule that `Rule.configuration` described.

    Examples
    --------
    >>> rule_from_configuration({"rule": "Fidelity", "at_least": 5})
    Fidelity(at_least=5.0)
    """
    arguments = dict(configuration)
    name = arguments.pop("rule", None)
    if name not in RULES:
        raise InputError(f"unknown stopping rule {name!r}: use {', '.join(RULES)}")
    if "rules" in arguments:
        arguments["rules"] = tuple(map(rule_from_configuration, arguments["rules"]))
    return RULES[name](**arguments)
