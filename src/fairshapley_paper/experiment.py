"""The shapes of the paper's experiments: everything here is data, nothing runs.

An experiment has scenarios (the games of its tables and panels), methods, settings for its three
sizes, and measures. `fairshapley_paper.runner` runs any of them; `published/NAME.csv` holds the
paper's numbers for it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

from fairshapley._basics.types import FloatArray
from fairshapley.games.game import Game

Size: TypeAlias = Literal["full", "quick", "tiny"]
"""The paper's settings; within two minutes on two cores; for the tests"""
SIZES: tuple[Size, ...] = ("full", "quick", "tiny")

Accounting: TypeAlias = Literal["paper", "honest"]
"""Marginals counted and the estimator's own score; equal evaluations and audited scores"""

Reading: TypeAlias = Literal["text", "program", "guess"]

ACCOUNTINGS: tuple[Accounting, ...] = ("paper", "honest")


@dataclass(frozen=True)
class Setup:
    """What a scenario is built with."""

    size: Size
    seed: int
    """Chooses the rows, the splits, the flipped labels: everything but the estimators' draws"""
    reading: Reading = "text"


@dataclass(frozen=True, eq=False)
class ScenarioGame:
    """A scenario made ready: the game, and what the measures must know about it."""

    game: Game
    facts: Mapping[str, Any] = field(default_factory=dict)
    """By name: "pairs" of identical players, "noisy" labels, a "scored" game of held-out rows …"""
    notes: tuple[str, ...] = ()
    """What differs from the paper, in sentences that go into the report"""


@dataclass(frozen=True)
class Scenario:
    """One game of an experiment: a panel of a figure, a table, or a column of one."""

    name: str
    """Short, of letters, digits, "-" and "_": part of file names and of ``--only``"""
    title: str
    shows: str
    """The table or figure as the paper labels it in its source, several with ", " between them"""
    build: Callable[[Setup], ScenarioGame]
    """A function of a module (or a partial of one), so that processes can be given it"""
    needs: str = ""
    """The dataset that must be there, by its name in `fairshapley_paper.datasets`"""
    semivalue: str = "shapley"
    form_of: str = ""
    """Where it is another reading of a published scenario: the name of that"""
    version: str = ""
    """Of one that is not in this package: a fingerprint of its source"""


@dataclass(frozen=True, kw_only=True)
class Setting:
    """How long an experiment of one size runs."""

    trials: int
    marginals: int
    """m: marginal contributions after the bootstrap"""
    bootstrap: int = 20
    """m': permutations before them, each a marginal of everybody, for every method of the paper"""
    greedy_bootstrap: int | None = None
    """m' of GAE, where it is another than that of the other methods"""
    evaluations: int | None = None
    """The budget of the honest accounting; by default what the marginals may cost at most.

    Where it is given, the honest runs are runs of their own, whose bootstrap takes a quarter.
    """
    share: float | None = None
    """In place of `evaluations`, for games of few players: this part of all 2**n coalitions"""
    truth: Truth | None = None
    """How the true values are found where they are not known; None enumerates"""
    looks: int = 1
    """At how many equally spaced m the state is recorded, for curves against m"""
    methods: tuple[str, ...] = ()
    """Where the time is short: these methods of the experiment alone"""

    def permutations(self, *, greedy: bool = False) -> int:
        """Return the bootstrap's permutations, for GAE or for another method."""
        return (self.greedy_bootstrap if greedy else None) or self.bootstrap

    def honest_permutations(self, n_players: int) -> int:
        """Return the bootstrap of the honest accounting: at most a quarter of its evaluations."""
        quarter = self.total_evaluations(n_players) // (4 * max(1, n_players - 1))
        return max(2, min(self.bootstrap, quarter))

    def total_evaluations(self, n_players: int) -> int:
        """Return the budget of the honest accounting.

        v(∅) and v(N), n − 1 for each bootstrap permutation, two for each further marginal: what
        the paper's budget costs when no two coalitions are the same.
        """
        if self.evaluations is not None:
            return self.evaluations
        if self.share is not None:
            return round(self.share * (1 << n_players))
        return 2 + self.bootstrap * (n_players - 1) + 2 * self.marginals


@dataclass(frozen=True, kw_only=True)
class Truth:
    """True values as the mean of independent long runs, whose spread gives its standard error."""

    method: str
    """A key of `fairshapley_paper.methods.METHODS`"""
    evaluations: int
    """Of each run"""
    parts: int = 10


@dataclass(frozen=True, eq=False)
class Outcome:
    """What one run knew at one moment."""

    values: FloatArray
    variances: FloatArray
    evaluations: int
    """Distinct utilities so far, v(∅) and v(N) included"""
    marginals: int | None


@dataclass(frozen=True, eq=False)
class Trial:
    """One run of one method on one scenario."""

    method: str
    path: tuple[Outcome, ...]
    """At each look, the last of them when the paper's budget was spent"""
    honest: Outcome
    """When the budget of evaluations was spent"""
    seconds: float
    """CPU time"""

    @property
    def paper(self) -> Outcome:
        """When the paper's budget was spent."""
        return self.path[-1]

    def outcome(self, accounting: Accounting) -> Outcome:
        """Return the outcome by one of the accountings."""
        return self.paper if accounting == "paper" else self.honest


@dataclass(frozen=True, eq=False)
class Ground:
    """What outcomes are measured against."""

    played: ScenarioGame
    truth: FloatArray
    xi: float


Points: TypeAlias = Mapping[float, float | tuple[float, float]]
"""A curve: y by x, or y and its standard error"""


@dataclass(frozen=True)
class Measure:
    """A number, or a curve, for each trial or for all trials of a method together."""

    name: str
    """As in the column `measure` of the results and of the published numbers"""
    label: str
    better: Literal["higher", "lower", ""] = ""
    each: Callable[[Outcome, Ground], float | Points] | None = None
    """For the outcome of every trial …"""
    together: Callable[[Sequence[Outcome], Ground], float | Points] | None = None
    """… or for the outcomes of all trials of a method …"""
    whole: Callable[[Trial, Ground], float] | None = None
    """… or for every trial with all that it recorded"""
    path: bool = False
    """Whether it is a curve of the number at every look of a trial"""
    accountings: tuple[Accounting, ...] = ACCOUNTINGS
    x: str = ""
    """What the x of a curve is; empty for a number"""
    of_truth: bool = False
    """Whether the report says what the true values themselves have"""


@dataclass(frozen=True, kw_only=True)
class Experiment:
    """Tables or figures of the paper that are computed in the same way."""

    name: str
    title: str
    scenarios: tuple[Scenario, ...]
    methods: tuple[str, ...]
    """Keys of `fairshapley_paper.methods.METHODS`"""
    settings: Mapping[Size, Setting]
    measures: tuple[Measure, ...]
    xi: float = 1e-3
    notes: tuple[str, ...] = ()
    """How the paper's text was read, for the report"""
    reading: Reading = "text"
    """What was followed: the text, the authors' program, or a guess that is being tested"""
    reads: str = ""
    """Where it is another reading: the experiment with the paper's numbers"""

    @property
    def shows(self) -> tuple[str, ...]:
        """The tables and figures it recomputes, each once."""
        labels = [label for scenario in self.scenarios for label in scenario.shows.split(", ")]
        return tuple(label for label in dict.fromkeys(labels) if label)
