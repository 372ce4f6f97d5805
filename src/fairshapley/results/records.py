"""What a result keeps besides values: facts of the game, facts of the run, and its course."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from fairshapley._basics.types import FloatArray, FloatMatrix, Real
from fairshapley.results.origin import InputFile


class Checkpoint(NamedTuple):
    """The state of a run after some evaluations: an entry of `Result.run.history`."""

    evaluations: int
    min_fidelity: float
    """The lowest fidelity score of a player"""
    lower_fidelity: float
    """The lowest of the cautious estimates, see `fairness.guarantees.lower_fidelity`"""


class SizeBin(NamedTuple):
    """The utilities of coalitions of some sizes: an entry of `Result.run.profile`."""

    first: int
    """The smallest size in the bin"""
    last: int
    """The largest; the same where every size has a bin of its own"""
    coalitions: int
    """Coalitions asked for, those that were known already too"""
    size: float
    """Their mean size"""
    mean: Real
    """Their mean utility"""
    deviation: float
    """The standard deviation of their utilities"""


class PartValues(NamedTuple):
    """The values in a part of a game that is a sum of parts: an entry of `Result.run.parts`."""

    name: str
    values: FloatArray
    """Of all players, those without a role in this part too"""
    endpoints: tuple[Real, Real]
    """The utility of nobody and of everybody in this part"""


class Copies(NamedTuple):
    """Players with the same or nearly the same rows: an entry of `Result.game.copies`."""

    players: tuple[int, ...]
    """The first of them counts as the original; nothing says who copied whom"""
    share: float
    """How much of the others' rows is there too, at least"""
    near: bool
    """Whether some rows are only nearly the same"""
    earned: Real = math.nan
    """What all of them get together beyond what the first would get alone; NaN where not known"""
    lost: Real = math.nan
    """What the other players lose by it"""
    error: Real = math.nan
    """The standard error of `earned`, by a cautious rule; NaN where not known"""


class Remark(NamedTuple):
    """What is odd about the data of a player: an entry of `Result.game.remarks`."""

    player: int
    text: str


class Split(NamedTuple):
    """What becomes of a player who delivers in two names: an entry of `Result.run.splits`."""

    player: int
    earned: Real
    """What both names together get more than the player"""
    error: Real
    """The standard error of that"""


@dataclass(frozen=True, eq=False, kw_only=True)
class GameFacts:
    """What a game says of itself: `Result.game`."""

    texts: tuple[str, ...] | None = None
    """The text of each player, where players are texts"""
    unit: str = ""
    """What a utility measures, such as "accuracy on 120 test rows", where the game says so"""
    fingerprint: str | None = None
    """What identifies the content of the game; None where it could not be computed"""
    value_range: tuple[Real, Real] | None = None
    """The lowest and the highest utility there can be, where the game states them"""
    endpoints: tuple[Real, Real] | None = None
    """v(∅) and v(N), whose difference Shapley values add up to; None where not recorded"""
    constant_value: Real | None = None
    """The utility of the best constant prediction; None for games that predict nothing"""
    identical_players: tuple[tuple[int, int], ...] = ()
    """Pairs of players that the game knows to be identical, such as equal training points"""
    row_counts: tuple[int, ...] | None = None
    """How many rows each player has, where players are rows or groups of them"""
    copies: tuple[Copies, ...] = ()
    """Players who hold copies of each other's data, with what these earn and cost"""
    remarks: tuple[Remark, ...] = ()
    """What is odd about the data of players: one row many times, labels that look random"""


@dataclass(frozen=True, eq=False, kw_only=True)
class RunFacts:
    """How the values were computed, and how that is repeated: `Result.run`."""

    configuration: dict[str, Any]
    """The method with its parameters, the semivalue and ξ"""
    limits: dict[str, Any] = field(default_factory=dict)
    """The budget, the stopping rule, and what was to be done with failures"""
    sequential: bool = False
    """Whether the run could stop at any round because of what it had estimated"""
    level_share: float = 1.0
    """The share of δ that is left for a certificate, after the looks of ``until=fs.Fair(…)``"""
    skipped: int = 0
    """Evaluations that failed and were left out on request; then nothing can be certified"""
    rounds: int | None = None
    """Rounds of coalitions that the method asked for and was told; None where not recorded"""
    computed: int = 0
    """Utilities computed by this very run; the others were found in its journal"""
    cache_hits: int = 0
    """Requests for a utility that was already known"""
    cost: Real | None = None
    """What the evaluations cost, found ones too, where the game has prices"""
    cost_unit: str = ""
    """The unit of the cost, such as euros"""
    seconds: float = 0.0
    """How long the run took"""
    created: str = ""
    """When the run ended: date and time in UTC; empty where not recorded"""
    command: str = ""
    """The command line that started the run; empty for a call from Python"""
    inputs: tuple[InputFile, ...] = ()
    """The files that the command line read, with their hashes"""
    versions: dict[str, str] = field(default_factory=dict)
    """Versions of Python and of the packages behind the values, and the type of the machine"""
    journal_digest: str | None = None
    """The SHA-256 of the journal's file when the run ended; None without a journal"""
    history: tuple[Checkpoint, ...] = ()
    """The minimum fidelity as the evaluations grew; empty where it was not recorded"""
    profile: tuple[SizeBin, ...] = ()
    """Coalitions asked for and their utilities by size; empty where they were not recorded"""
    parts: tuple[PartValues, ...] = ()
    """The values in each part of a game that is a sum of parts, such as rounds; often empty"""
    replicates: FloatMatrix | None = None
    """What each value changes by without each of some groups of test rows, shape (players, groups);
    None where no test rows are known, or not enough"""

    pairs: FloatMatrix | None = None
    """The Shapley interaction of each pair of players, symmetric; None where not asked for or not
    known. Below zero they replace each other, above zero they complete each other"""
    pair_errors: FloatMatrix | None = None
    """Their standard errors; 0 where all utilities are known"""
    splits: tuple[Split, ...] = ()
    """What players would get more in two names; empty where not asked for"""
    scenarios: tuple[PartValues, ...] = ()
    """The values with another metric, or without copies: what payments hang on; empty where not
    asked for"""

    @property
    def asked(self) -> dict[str, float]:
        """The ε1, δ and ξ of ``until=fs.Fair(…)``, or the δ of another aim; empty without one."""
        rules = [self.limits.get("until")]
        found: list[dict[str, float]] = [{}, {}]
        while rules:
            rule = rules.pop(0)
            if not isinstance(rule, dict):
                continue
            given = {name: rule.get(name) for name in ("epsilon1", "delta", "xi")}
            known = {name: float(value) for name, value in given.items() if value is not None}
            place = 0 if rule.get("rule") == "Fair" else 1
            found[place] = found[place] or known
            rules += rule.get("rules", [])
        return found[0] or found[1]
