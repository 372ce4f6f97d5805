"""The result of a run: values, their errors, and everything needed to repeat it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.files import as_path, write_whole
from fairshapley._basics.frames import make_frame
from fairshapley._basics.text import block_html, names_table_html, near_miss, sentences_html
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.fairness.certificate import BOUNDS, Certificate
from fairshapley.fairness.decisions import Aim, Decisions
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.findings import Findings
from fairshapley.fairness.guarantees import Guarantee, fidelity, guarantee
from fairshapley.fairness.levels import (
    DELTA,
    EPSILON1,
    check_delta,
    check_epsilon1,
    check_xi,
)
from fairshapley.results import payouts
from fairshapley.results.console import heat_map_html, overview, summary
from fairshapley.results.payouts import Money
from fairshapley.results.records import GameFacts, RunFacts
from fairshapley.results.serialising import Stored
from fairshapley.results.sharing import Shared
from fairshapley.results.tables import BOTTOM_ROWS, TOP_ROWS, shown_table
from fairshapley.results.test_set import both_errors, jackknife_errors
from fairshapley.results.warnings import baseline_warning, copies_sentences, remark_sentences

if TYPE_CHECKING:
    from matplotlib.axes import Axes


Record = TypeVar("Record", Evidence, RunFacts)


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Result(Stored, Shared):
    """Values of the players of a game, with their standard errors and provenance.

    Examples
    --------
    >>> import fairshapley as fs
    >>> result = fs.exact(fs.games.TableGame([0, 1, 2, 5]))
    >>> result.values, result.exact
    (array([2., 3.]), True)
    >>> result["1"]
    3.0
    >>> print(result)
    Shapley values of 2 players, exact
      1  +3
      0  +2
    All values are exact.
    4 evaluations; seed ...; stopped: every coalition was evaluated: the values are exact
    """

    evidence: Evidence
    """The estimates with their errors, and what is known of them: what statements rest on"""
    game: GameFacts
    """What the game says of itself"""
    run: RunFacts
    """How the values were computed"""
    marginals: int | None
    """Marginal contributions averaged; None for methods that do not average them"""
    stopped: str
    """Why the run stopped, in a sentence"""
    seed: int
    xi: float
    """The tolerance near zero, in the unit of the utility"""
    complete: bool = True
    """False for a partial result: interrupted, failed, or replayed from an unfinished journal"""
    notes: tuple[str, ...] = ()
    """What a reader should know besides: defaults taken, trouble recovered from"""

    def __post_init__(self) -> None:
        """Own the arrays; data from elsewhere are checked by `from_dict`."""
        object.__setattr__(self, "evidence", _owned(self.evidence))
        object.__setattr__(self, "run", _owned(self.run))

    @property
    def values(self) -> FloatArray:
        """The value of each player; NaN where nothing was sampled (only in a partial result)."""
        return self.evidence.values

    @property
    def standard_errors(self) -> FloatArray:
        """The standard error of each value; 0 only when it is proven, NaN when it is not known."""
        return self.evidence.standard_errors

    @property
    def counts(self) -> IntArray:
        """The number of contributions behind each value."""
        return self.evidence.counts

    @property
    def evaluations(self) -> int:
        """The number of distinct utility evaluations, v(∅) and v(N) included."""
        return self.evidence.evaluations

    @property
    def exact(self) -> bool:
        """Whether the values are proven rather than estimated."""
        return self.evidence.exact

    @property
    def n_players(self) -> int:
        """The number of players."""
        return self.evidence.n_players

    @property
    def method(self) -> str:
        """The name of the method."""
        return str(self.run.configuration["method"]["name"])

    @property
    def semivalue(self) -> str:
        """The name of the semivalue."""
        return str(self.run.configuration["semivalue"])

    def fidelity(self, xi: float | None = None) -> FloatArray:
        """Return the estimated fidelity scores, (|φ̂| + ξ)² / se²; infinite when proven.

        Parameters
        ----------
        xi
            The tolerance near zero; by default the run's own.
        """
        tolerance = self.xi if xi is None else check_xi(xi)
        return fidelity(self.values, self.evidence.variances, tolerance)

    @property
    def min_fidelity(self) -> float:
        """The lowest fidelity score, on which the guarantee rests."""
        return float(self.fidelity().min())

    def guarantee(
        self, epsilon1: float, xi: float | None = None, bound: str = "chebyshev"
    ) -> Guarantee:
        """Return the fairness that the fidelity scores promise (Proposition 1 of the paper).

        The scores are plugged in for the true ones; `certificate` does without that.

        Parameters
        ----------
        epsilon1
            The tolerated share of a value.
        xi
            The tolerance near zero; by default the run's own.
        bound
            "chebyshev" as in the paper, or "normal".
        """
        tolerance = self.xi if xi is None else check_xi(xi)
        scores, independent = self.fidelity(tolerance), self.evidence.independent
        return guarantee(scores, epsilon1, xi=tolerance, independent=independent, bound=bound)

    def certificate(
        self, epsilon1: float, delta: float, xi: float | None = None, bound: str = "normal"
    ) -> Certificate:
        """Return whether the values are (ε1, ξ·ε1, δ)-Shapley fair, with what that rests on.

        After a run with ``until=fs.Fair(…)`` the level that was left at the last look is used.

        Parameters
        ----------
        epsilon1, delta
            The tolerated share of a value, and the tolerated probability of failure.
        xi
            The tolerance near zero; by default the run's own.
        bound
            "normal", "chebyshev", or "bernstein" for finite samples.
        """
        return self.findings(epsilon1, delta, xi, bound).certificate

    def decisions(self, delta: float = DELTA, bound: str = "normal") -> Decisions:
        """Return signs, differences, orders and the top k that hold together at level 1 − δ."""
        findings = self.findings(delta=delta, bound=bound)
        if findings.doubts:
            raise InputError(f"nothing can be said with confidence: {'; '.join(findings.doubts)}")
        return findings.decisions

    def decided(
        self,
        *,
        signs: bool = False,
        top: int | None = None,
        bottom: int | None = None,
        order: bool = False,
        delta: float = DELTA,
    ) -> bool:
        """Return whether a decision is settled at level 1 − δ, as ``until=fs.Decided(…)`` asks.

        It may be where `decisions`, whose statements hold all together, leaves it open.
        """
        aim = Aim(signs=signs, top=top, bottom=bottom, order=order)
        aim.check_players(self.n_players)
        findings = self.findings(delta=delta)
        if findings.doubts:
            return False
        if self.run.sequential:
            return aim.settled_by(findings.decisions)
        stated = findings.certificate
        return aim.failure(self.evidence, self.xi, stated.delta) <= stated.level

    def findings(
        self,
        epsilon1: float | None = None,
        delta: float | None = None,
        xi: float | None = None,
        bound: str = "normal",
    ) -> Findings:
        """Return what may be said of all values together: doubts, certificate, decisions.

        It is computed once for the same arguments.

        Parameters
        ----------
        epsilon1
            The tolerance of the certificate; by default the one asked for, or 0.5.
        delta, xi
            The tolerated probability of failure, and the tolerance near zero; by default those
            asked for, or 0.1 and the run's own.
        bound
            As in `certificate`.
        """
        asked = self.run.asked
        known = (
            asked.get("epsilon1", EPSILON1) if epsilon1 is None else check_epsilon1(epsilon1),
            check_delta(asked.get("delta", DELTA) if delta is None else delta),
            asked.get("xi", self.xi) if xi is None else check_xi(xi),
            checks.choice("bound", bound, BOUNDS),
        )
        kept: dict[Any, Findings] = self.__dict__.setdefault("_findings", {})
        if known not in kept:
            found, sequential = self.evidence, self.run.sequential
            if sequential and bound != "normal" and not (found.obstacle or found.exact):
                reason = "the run looked at its estimates after every round; use the normal bound"
                found = replace(found, obstacle=reason)
            level, test_set = self.run.level_share * known[1], both_errors(self, known[1])
            certificate = Certificate(
                found, known[0], known[1], known[2], bound, level, sequential, test_set
            )
            kept[known] = Findings(certificate)
        return kept[known]

    def names(self) -> tuple[str, ...]:
        """Return the players' names, or their numbers."""
        return self.evidence.player_names or tuple(str(player) for player in range(self.n_players))

    @cached_property
    def test_errors(self) -> FloatArray | None:
        """The standard error of each value that comes from the choice of the test rows.

        It is apart from `standard_errors`, which come from estimation: exact values have it too.
        None where the game has no test rows, or its metric does not tell.
        """
        return None if self.run.replicates is None else jackknife_errors(self.run.replicates)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must be known before values are used, in sentences; empty when all is well."""
        said = (baseline_warning(self), *copies_sentences(self), *remark_sentences(self))
        return tuple(filter(None, said))

    def __getitem__(self, player: str | int) -> float:
        """The value of a player, by its name or its number."""
        names = self.names()
        if isinstance(player, int | np.integer) and 0 <= player < self.n_players:
            return float(self.values[player])
        if names.count(str(player)) != 1:
            many = "no player" if str(player) not in names else "several players"
            message = f"{many} with the name {player!r:.60}{near_miss(str(player), names)}"
            raise InputError(message, remedy="give a name of result.names(), or a number")
        return float(self.values[names.index(str(player))])

    def __str__(self) -> str:
        return "\n".join(overview(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        title, *said = summary(self)
        table = names_table_html(*shown_table(self, TOP_ROWS, BOTTOM_ROWS))
        return block_html(title, table, heat_map_html(self), sentences_html([*said, *self.notes]))

    payout = payouts.payout

    def plot(
        self,
        kind: str = "values",
        axes: Axes | None = None,
        *,
        most: int = 40,
        simultaneous: bool = False,
        epsilon1: float = EPSILON1,
        delta: float = DELTA,
    ) -> Axes:
        """Draw the result (needs matplotlib); nothing is shown or saved.

        Parameters
        ----------
        kind
            "values" with intervals; "fidelity" of all players with the one needed; "convergence"
            of the minimum fidelity; "pairs", a heat map of a run with ``pairs=True``.
        axes
            Where to draw; by default a new figure.
        most, simultaneous
            How many players to draw, of values and of pairs; whether intervals hold together.
        epsilon1, delta
            The fairness asked for; for values δ is the probability that an interval misses.
        """
        from fairshapley.results import plots

        if checks.choice("kind", kind, ("values", "fidelity", "convergence", "pairs")) == "pairs":
            return plots.plot_pairs(self, axes, most=most)
        if kind == "values":
            return plots.plot_values(self, axes, most=most, simultaneous=simultaneous, delta=delta)
        draw = plots.plot_fidelity if kind == "fidelity" else plots.plot_convergence
        return draw(self, axes, epsilon1=epsilon1, delta=delta)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        epsilon1: float | None = None,
        delta: float | None = None,
        labels: Sequence[Any] | None = None,
        pool: Money | None = None,
    ) -> Path:
        """Write an HTML report: one file that works offline (needs jinja2 and plotly).

        Parameters
        ----------
        path
            The file to write.
        title
            The title of the page.
        epsilon1
            The tolerance of the certificate. By default that of ``until=fs.Fair(…)``; without one
            the page says what holds, and what 0.5 would take.
        delta
            The probability that any statement about all players is wrong; by default that of
            ``until=…``, or 0.1.
        labels
            A class or group for each player.
        pool
            A sum of money: the page then shows what each player gets of it, see `payout`.

        Returns
        -------
        Path
            The file.

        Examples
        --------
        >>> import fairshapley as fs, tempfile
        >>> result = fs.exact(fs.games.Airport([1.0, 2.0, 4.0]))
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     page = result.report(Path(folder) / "report.html", title="Runway")
        ...     "<title>Runway</title>" in page.read_text(encoding="utf-8")
        True
        """
        from fairshapley.results.report import report_html

        page = report_html(
            self, title=title, epsilon1=epsilon1, delta=delta, labels=labels, pool=pool
        )
        write_whole(as_path(path), page.encode("utf-8"))
        return Path(path)

    def to_frame(self, kind: Any = "pandas", *, parts: bool = False) -> Any:
        """Return a table with a row per player: value, standard error, count and fidelity.

        Parameters
        ----------
        kind
            "pandas", where the players are the index; "polars", "pyarrow", "datasets" (Hugging
            Face) or "dict"; or a table, for one of its kind.
        parts
            True gives the value in each part of the game instead, such as the rounds of a
            federated run, in a column each.

        Examples
        --------
        >>> import fairshapley as fs
        >>> result = fs.exact(fs.games.TableGame([0, 1, 2, 5]))
        >>> result.to_frame("polars").columns
        ['player', 'value', 'standard_error', 'count', 'fidelity']
        """
        if parts:
            each = {part.name: part.values for part in self.run.parts}
            return make_frame({"player": self.names(), **each}, kind)
        return make_frame(
            {
                "player": self.names(),
                "value": self.values,
                "standard_error": self.standard_errors,
                "count": self.counts,
                "fidelity": self.fidelity(),
            },
            kind,
        )


def _owned(record: Record) -> Record:
    """Return the record with arrays of its own that cannot be changed."""
    arrays: dict[str, Any] = {}
    for name, value in vars(record).items():
        if isinstance(value, np.ndarray):
            arrays[name] = value.copy()
            arrays[name].flags.writeable = False
    return replace(record, **arrays)
