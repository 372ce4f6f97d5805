"""The result of a run: values, their errors, and everything needed to repeat it."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from fairshapley._basics import checks
from fairshapley._basics.files import as_path, write_whole
from fairshapley._basics.frames import make_frame
from fairshapley._basics.markup import block_html, names_table_html, sentences_html
from fairshapley._basics.text import several
from fairshapley._basics.types import FloatArray, FloatMatrix, Real
from fairshapley.errors import InputError
from fairshapley.fairness.aims import Aim
from fairshapley.fairness.axioms import AxiomCheck, check_fairness
from fairshapley.fairness.certificate import Certificate, certify
from fairshapley.fairness.decisions import Decisions, decide
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.guarantees import (
    Guarantee,
    Prediction,
    guarantee,
    predict,
    required_fidelity,
)
from fairshapley.fairness.levels import DELTA, EPSILON1, LARGE_XI, check_delta, check_xi
from fairshapley.fairness.scores import fidelity, lower_fidelity
from fairshapley.fairness.standing import Standing, stand
from fairshapley.fairness.tails import interval_doubts
from fairshapley.results import payouts
from fairshapley.results.another_test_set import both_errors, jackknife_errors
from fairshapley.results.baseline import baseline_warning
from fairshapley.results.checkpoints import Checkpoint, PartValues, SizeBin
from fairshapley.results.copies import Copies, copies_sentences
from fairshapley.results.origin import InputFile
from fairshapley.results.payouts import Money
from fairshapley.results.serialising import Stored
from fairshapley.results.sharing import Shared
from fairshapley.results.tables import BOTTOM_ROWS, TOP_ROWS, shown_table
from fairshapley.results.wording import number

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fairshapley.results.report import Labels


@dataclass(frozen=True, eq=False, kw_only=True)
class Result(Stored, Shared, Evidence):
    """Values of the players of a game, with their standard errors and provenance.

    Examples
    --------
    >>> import fairshapley as fs
    >>> result = fs.exact(fs.games.TableGame([0, 1, 2, 5]))
    >>> result.values, result.exact
    (array([2., 3.]), True)
    >>> print(result.stopped)
    every coalition was evaluated: the values are exact
    """

    marginals: int | None
    """Marginal contributions averaged; None for methods that do not average them"""
    stopped: str
    """Why the run stopped, in a sentence"""
    seed: int
    configuration: dict[str, Any]
    """The method with its parameters, the semivalue and ξ"""
    limits: dict[str, Any] = field(default_factory=dict)
    """The budget, the stopping rule, and what was to be done with failures"""
    xi: float
    """The tolerance near zero, in the unit of the utility"""
    sequential: bool = False
    """Whether the run could stop at any round because of what it had estimated"""
    level_share: float = 1.0
    """The share of δ that is left for a certificate, after the looks of ``until=fs.Fair(…)``"""
    complete: bool = True
    """False for a partial result: interrupted, failed, or replayed from an unfinished journal"""
    skipped: int = 0
    """Evaluations that failed and were left out on request; then nothing can be certified"""
    identical_players: tuple[tuple[int, int], ...] = ()
    """Pairs of players that the game knows to be identical, such as equal training points"""
    copies: tuple[Copies, ...] = ()
    """Players who hold copies of each other's data, with what these earn and cost"""
    endpoints: tuple[float, float] | None = None
    """v(∅) and v(N), whose difference Shapley values add up to; None where not recorded"""
    fingerprint: str | None = None
    """What identifies the content of the game; None where it could not be computed"""
    computed: int = 0
    """Utilities computed by this very run; the others were found in its journal"""
    cache_hits: int = 0
    """Requests for a utility that was already known"""
    cost: Real | None = None
    """What the evaluations cost, found ones too, where the game has prices"""
    cost_unit: str = ""
    """The unit of the cost, such as euros"""
    seconds: float = 0.0
    created: str = ""
    """When the run ended: date and time in UTC; empty where not recorded, as all that follows"""
    command: str = ""
    """The command line that started the run; empty for a call from Python"""
    inputs: tuple[InputFile, ...] = ()
    """The files that the command line read, with their hashes"""
    unit: str = ""
    """What a utility measures, such as "accuracy on 120 test rows", where the game says so"""
    constant_value: Real | None = None
    """The utility of the best constant prediction; None for games that predict nothing"""
    replicates: FloatMatrix | None = None
    """What each value changes by without each of some groups of test rows, shape (players, groups);
    None where no test rows are known, or not enough"""
    row_counts: tuple[int, ...] | None = None
    """How many rows each player has, where players are rows or groups of them"""
    parts: tuple[PartValues, ...] = ()
    """The values in each part of a game that is a sum of parts, such as rounds; often empty"""
    versions: dict[str, str] = field(default_factory=dict)
    """Of Python, of the packages that the values depend on, and the type of the machine"""
    notes: tuple[str, ...] = ()
    """What a reader should know besides: defaults taken, trouble recovered from"""
    rounds: int | None = None
    """Rounds of coalitions that the method asked for and was told; None where not recorded"""
    value_range: tuple[float, float] | None = None
    """The lowest and the highest utility there can be, where the game states them"""
    journal_digest: str | None = None
    """The SHA-256 of the journal's file when the run ended; None without a journal"""
    history: tuple[Checkpoint, ...] = ()
    """The minimum fidelity as the evaluations grew; empty where it was not recorded"""
    profile: tuple[SizeBin, ...] = ()
    """Coalitions asked for and their utilities by size; empty where they were not recorded"""
    n_nulls: int = field(init=False, default=0)
    """How many players, the last ones, are declared null, as the configuration says"""

    def __post_init__(self) -> None:
        """Own the arrays; data from elsewhere are checked by `from_dict`."""
        for name in ("values", "standard_errors", "counts", "extremes", "replicates"):
            if getattr(self, name) is not None:
                own = np.array(getattr(self, name))
                own.flags.writeable = False
                object.__setattr__(self, name, own)
        nulls = self.configuration.get("null_players", 0)
        object.__setattr__(self, "n_nulls", nulls if isinstance(nulls, int) else 0)

    @property
    def method(self) -> str:
        """The name of the method."""
        return str(self.configuration["method"]["name"])

    @property
    def semivalue(self) -> str:
        """The name of the semivalue."""
        return str(self.configuration["semivalue"])

    def fidelity(self, xi: float | None = None) -> FloatArray:
        """The estimated fidelity score of each player, (|φ̂| + ξ)² / se²; infinite when proven.

        Parameters
        ----------
        xi
            The tolerance near zero; by default the run's own.
        """
        tolerance = self.xi if xi is None else check_xi(xi)
        return fidelity(self.values, self.variances, tolerance)

    @property
    def min_fidelity(self) -> float:
        """The lowest fidelity score, on which the guarantee rests."""
        return float(self.fidelity().min())

    def lower_fidelity(self, xi: float | None = None) -> FloatArray:
        """A cautious estimate of each fidelity score, with |φ̂| − se in place of |φ̂|."""
        tolerance = self.xi if xi is None else check_xi(xi)
        return lower_fidelity(self.values, self.variances, tolerance)

    def invariability(self, xi: float | None = None) -> FloatArray:
        """r_i = f_i/m_i, the fidelity of a single contribution; NaN without contributions."""
        counts = np.where(self.counts > 0, self.counts, np.nan)
        return self.fidelity(xi) / counts

    def _evidence_for(self, bound: str) -> Evidence:
        """The evidence for intervals, with an obstacle where the run's looks forbid a bound."""
        if self.sequential and bound != "normal" and not (self.obstacle or self.exact):
            reason = "the run looked at its estimates after every round; use bound='normal'"
            return replace(self, obstacle=reason)
        return self

    def guarantee(
        self, epsilon1: float, xi: float | None = None, bound: str = "chebyshev"
    ) -> Guarantee:
        """The fairness that the estimated fidelity scores promise (Proposition 1 of the paper).

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
        scores = self.fidelity(tolerance)
        found = guarantee(scores, epsilon1, xi=tolerance, independent=self.independent, bound=bound)
        return replace(found, player_names=self.player_names)

    def certificate(
        self, epsilon1: float, delta: float, xi: float | None = None, bound: str = "normal"
    ) -> Certificate:
        """Whether the values are (ε1, ξ·ε1, δ)-Shapley fair, with what that rests on.

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
        found = certify(
            self._evidence_for(bound),
            epsilon1,
            delta,
            xi=self.xi if xi is None else xi,
            bound=bound,
            level=self.level_share * check_delta(delta),
            sequential=self.sequential,
        )
        return replace(found, test_set=both_errors(self, delta))

    def check_axioms(
        self, epsilon1: float, xi: float | None = None
    ) -> tuple[AxiomCheck, AxiomCheck, AxiomCheck]:
        """A1–A3 on what is known of the game: its declared null and its identical players.

        The values are unknown, so the tolerances are those of the estimates; `certificate` speaks
        of all players and needs no such knowledge.
        """
        return check_fairness(
            self.values,
            epsilon1=epsilon1,
            xi=self.xi if xi is None else xi,
            null_players=tuple(range(self.n_players - self.n_nulls, self.n_players)),
            symmetric_pairs=self.identical_players,
        )

    def decisions(self, delta: float = DELTA, bound: str = "normal") -> Decisions:
        """Signs, differences, orders and the top k that hold together at level 1 − δ."""
        return decide(
            self._evidence_for(bound),
            delta,
            bound,
            level=self.level_share * check_delta(delta),
            sequential=self.sequential,
        )

    def decided(
        self,
        *,
        signs: bool = False,
        top: int | None = None,
        bottom: int | None = None,
        order: bool = False,
        delta: float = DELTA,
    ) -> bool:
        """Whether one decision is settled at level 1 − δ, as ``until=fs.Decided(…)`` asks it.

        It may be where `decisions`, whose statements hold all together, leaves it open.
        """
        aim = Aim(signs=signs, top=top, bottom=bottom, order=order)
        aim.check_players(self.n_players)
        if self.sequential:
            return aim.settled_by(self.decisions(delta))
        if self.obstacle or np.isnan(self.standard_errors).any():
            return False
        return aim.failure(self, self.xi) <= self.level_share * check_delta(delta)

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

    def standing(
        self,
        epsilon1: float | None = None,
        delta: float | None = None,
        xi: float | None = None,
        bound: str = "normal",
    ) -> Standing:
        """What holds, asked for or not: the tightest ε1, signs and order, jointly at level 1 − δ.

        Parameters
        ----------
        epsilon1
            The tolerance whose cost is predicted; by default the one asked for, or 0.5.
        delta, xi
            The tolerated probability of failure, and the tolerance near zero; by default those
            asked for, or 0.1 and the run's own.
        bound
            As in `certificate`.
        """
        asked = self.asked
        failure = check_delta(asked.get("delta", DELTA) if delta is None else delta)
        return stand(
            self._evidence_for(bound),
            asked.get("epsilon1", EPSILON1) if epsilon1 is None else epsilon1,
            failure,
            xi=asked.get("xi", self.xi) if xi is None else xi,
            bound=bound,
            level=self.level_share * failure,
            sequential=self.sequential,
        )

    def predict(
        self, epsilon1: float, delta: float, xi: float | None = None, bound: str = "chebyshev"
    ) -> Prediction:
        """What (ε1, ξ·ε1, δ)-Shapley fairness would cost, by Corollary 1 and by this run."""
        target = required_fidelity(
            self.n_players, epsilon1, delta, independent=self.independent, bound=bound
        )
        return predict(self.fidelity(xi), self.counts, self.evaluations, target)

    @property
    def relative_xi(self) -> float:
        """ξ in units of the mean |φ̂|; well above 1 the tolerance near zero says very little."""
        mean = float(np.abs(self.values).mean())
        return self.xi / mean if mean > 0 else math.inf

    def names(self) -> tuple[str, ...]:
        """The players' names, or their numbers."""
        return self.player_names or tuple(str(player) for player in range(self.n_players))

    @property
    def test_errors(self) -> FloatArray | None:
        """The standard error of each value that comes from the choice of the test rows.

        It is apart from `standard_errors`, which come from estimation: exact values have it too.
        None where the game has no test rows, or its metric does not tell.
        """
        return None if self.replicates is None else jackknife_errors(self.replicates)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What must be known before values are used, in sentences; empty when all is well."""
        return tuple(said for said in (baseline_warning(self), *copies_sentences(self)) if said)

    @property
    def doubts(self) -> tuple[str, ...]:
        """Why intervals of single values are not to be trusted yet; empty when they are."""
        return interval_doubts(self)

    def summary(self, *, terms: bool = True) -> list[str]:
        """What the run did and what holds, a sentence each; `terms` says it in the paper's too."""
        kind = "exact" if self.exact else f"estimated by {self.method}"
        players = several(self.n_players, "player")
        partial = "" if self.complete else " (partial result)"
        marginals = "" if self.marginals is None else f", {self.marginals:,} marginals"
        paid = f", for {self.money(self.evaluations)}" if self.cost is not None else ""
        relative = f"{self.relative_xi:.2g} × mean |value|"
        lines = [
            f"{self.semivalue.capitalize()} values of {players}, {kind}{partial}",
            f"{self.evaluations:,} evaluations{marginals}{paid}; seed {self.seed}",
            f"stopped: {self.stopped}",
        ]
        if terms and not self.exact:
            lines.append(
                f"minimum fidelity {self.min_fidelity:.4g}, the least (size + ξ)²/error² of all, "
                f"cautious estimate {self.lower_fidelity().min():.4g}, at ξ = {self.xi:g} "
                f"({relative})"
            )
        if LARGE_XI < self.relative_xi < math.inf and not self.exact:
            lines.append("ξ exceeds the mean |value|, so the tolerance says very little: lower ξ")
        lines.extend(f"warning: {said}" for said in self.warnings)
        try:
            lines += [*self._standing_lines(), both_errors(self, self.asked.get("delta", DELTA))]
        except InputError as error:
            lines.append(str(error))
        return [line for line in lines if line]

    def _standing_lines(self) -> list[str]:
        if self.exact:
            return []
        standing = self.standing()
        open_question = not (standing.certificate.holds or self.modelled)
        more = self.money(standing.needed) if open_question else ""
        return [*standing.sentences(), f"so many evaluations cost about {more}" if more else ""]

    def money(self, evaluations: float) -> str:
        """What so many evaluations cost, at the prices of this run; empty without any."""
        if self.cost is None or evaluations == math.inf:
            return ""
        total = self.cost * evaluations / max(self.evaluations, 1)
        return f"{number(total, 4)} {self.cost_unit}".strip()

    def __str__(self) -> str:
        return "\n".join([*self.summary(), *self.notes])

    def _repr_html_(self) -> str:
        title, *summary = str(self).splitlines()
        table = names_table_html(*shown_table(self, TOP_ROWS, BOTTOM_ROWS))
        return block_html(title, sentences_html(summary), table)

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
        bound: str = "normal",
    ) -> Axes:
        """Draw the result (needs matplotlib); nothing is shown or saved.

        Parameters
        ----------
        kind
            "values" with intervals; "fidelity" of all players with the one needed; "convergence"
            of the minimum fidelity.
        axes
            Where to draw; by default a new figure.
        most, simultaneous
            For values: how many players to draw, and whether the intervals hold together.
        epsilon1, delta, bound
            The fairness asked for; for values δ is the probability that an interval misses.
        """
        from fairshapley.results import plots

        sure: dict[str, Any] = {"delta": delta, "bound": bound}
        drawn: dict[str, Callable[[Result, Axes | None], Axes]] = {
            "values": partial(plots.plot_values, most=most, simultaneous=simultaneous, **sure),
            "fidelity": partial(plots.plot_fidelity, epsilon1=epsilon1, **sure),
            "convergence": partial(plots.plot_convergence, epsilon1=epsilon1, **sure),
        }
        return drawn[checks.choice("kind", kind, tuple(drawn))](self, axes)

    def report(
        self,
        path: str | os.PathLike[str],
        *,
        title: str | None = None,
        epsilon1: float | None = None,
        delta: float | None = None,
        labels: Labels | None = None,
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
            A class or group for each player: a sequence, or a mapping of names or numbers.
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

    def to_frame(self, kind: Any = "pandas") -> Any:
        """One row per player: value, standard error, count and fidelity.

        Parameters
        ----------
        kind
            "pandas", where the players are the index; "polars", "pyarrow", "datasets" (Hugging
            Face) or "dict"; or a table, for one of its kind.

        Examples
        --------
        >>> import fairshapley as fs
        >>> result = fs.exact(fs.games.TableGame([0, 1, 2, 5]))
        >>> result.to_frame("polars").columns
        ['player', 'value', 'standard_error', 'count', 'fidelity']
        """
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
