"""Certificates: statements about the values themselves, without plugging in the estimates.

It holds when every value that is not ruled out satisfies A0, |φ̂_i − φ_i| ≤ ε1·|φ_i| + ε2, from
which A1–A3 follow. With the normal bound the tails beyond what A0 allows add up to at most δ; the
other bounds, and the intervals, give every player an equal share of δ.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy.special import lambertw, stdtrit

from fairshapley._basics import checks
from fairshapley._basics.text import block_html, sentences_html, several
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.levels import (
    LARGE_XI,
    check_delta,
    check_epsilon1,
    check_xi,
    player_level,
)
from fairshapley.fairness.tails import (
    all_equal,
    allowances,
    allowed_half_width,
    doubts,
    evaluations_for,
    fair_tails,
    skew_terms,
)

BOUNDS = ("normal", "chebyshev", "bernstein")
# A confidence sequence, which follows the spread all the time, needs this many contributions.
FEW_CONTRIBUTIONS = 100
# A confidence sequence is valid at all times; it is shortest around this many contributions.
SEQUENCE_TARGET = 1000
# The tightest ε1 is searched for between these, to 11 digits.
LEAST_EPSILON1, MOST_EPSILON1, HALVINGS = 1e-9, 1e9, 42


@dataclass(frozen=True, eq=False)
class Certificate:
    """Whether estimates are (ε1, ξ·ε1, δ)-Shapley fair, and what that rests on.

    What follows from the arguments is computed when it is first asked for.

    Parameters
    ----------
    evidence
        What is known.
    epsilon1, delta, xi
        The tolerance, the tolerated probability of failure, the tolerance near zero.
    bound
        See `half_widths`.
    level
        The level left for this statement when the run has looked before; by default all of δ.
    sequential
        Whether the run looks at will, see `half_widths`.
    test_set
        What the choice of the test rows adds to the error of estimation, where that is known.

    Examples
    --------
    >>> evidence = Evidence(
    ...     values=np.array([1.0, 2.0]), standard_errors=np.array([0.1, 0.1]),
    ...     counts=np.array([400, 400]), evaluations=500,
    ... )
    >>> certificate = Certificate(evidence, 0.5, 0.1, 0.01)
    >>> certificate.holds, round(certificate.tightest, 3)
    (True, 0.166)
    """

    evidence: Evidence
    epsilon1: float
    delta: float
    xi: float
    bound: str = "normal"
    level: float = math.nan
    sequential: bool = False
    test_set: str = ""

    def __post_init__(self) -> None:
        delta = check_delta(self.delta)
        checks.set_fields(
            self,
            epsilon1=check_epsilon1(self.epsilon1),
            delta=delta,
            xi=check_xi(self.xi),
            bound=checks.choice("bound", self.bound, BOUNDS),
            level=delta if math.isnan(self.level) else self.level,
        )
        if self.bound == "bernstein":
            _ = self.half_widths  # raises an InputError where no range is known

    @property
    def epsilon2(self) -> float:
        """The absolute tolerance, ξ·ε1."""
        return self.xi * self.epsilon1

    @cached_property
    def doubts(self) -> tuple[str, ...]:
        """Why nothing is stated with a probability; empty where something is."""
        return doubts(self.evidence, self.bound)

    @cached_property
    def half_widths(self) -> FloatArray:
        """h_i: with probability at least 1 − δ every |φ̂_i − φ_i| ≤ h_i."""
        return half_widths(
            self.evidence, self.level, self.bound, delta=self.delta, sequential=self.sequential
        )

    @cached_property
    def allowed(self) -> FloatArray:
        """The largest h_i with which A0 holds for every value in the interval."""
        return allowed_half_width(self.evidence.values, self.epsilon1, self.epsilon2)

    @cached_property
    def failure(self) -> float:
        """The sum of the tails beyond what is allowed, at most the level when it holds.

        NaN where nothing is stated, and for bounds that give equal shares of δ to all players.
        """
        if self.bound != "normal" or self.sequential or self.doubts:
            return math.nan
        return float(fair_tails(self.evidence, self.epsilon1, self.epsilon2, self.delta).sum())

    @cached_property
    def holds(self) -> bool:
        """Whether the values are certified."""
        if self.doubts:
            return False
        if not math.isnan(self.failure):
            return self.failure <= self.level
        return bool((self.half_widths <= self.allowed).all())

    @cached_property
    def tightest(self) -> float:
        """The smallest ε1 that holds at the same δ and ξ; infinite when none does."""
        low, high = math.log(LEAST_EPSILON1), math.log(MOST_EPSILON1)
        if self.evidence.exact:
            return 0.0
        if not replace(self, epsilon1=MOST_EPSILON1).holds:
            return math.inf
        for _ in range(HALVINGS):
            middle = 0.5 * (low + high)
            holds = replace(self, epsilon1=math.exp(middle)).holds
            low, high = (low, middle) if holds else (middle, high)
        return math.exp(high)

    @cached_property
    def needed(self) -> float:
        """The evaluations with which it is predicted to hold; infinite where there are doubts."""
        if self.holds:
            return float(self.evidence.evaluations)
        if self.doubts:
            return math.inf
        return evaluations_for(self.evidence, lambda then: replace(self, evidence=then).holds)

    @property
    def worst_players(self) -> IntArray:
        """The players that stand in its way, the one with the widest interval for its value first.

        Their intervals exceed what is allowed; at least one where it does not hold.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            excess = np.nan_to_num(self.half_widths / self.allowed)
        most = max(int((self.half_widths > self.allowed).sum()), 1)
        return np.argsort(-excess, kind="stable")[: 0 if self.holds else most].astype(np.int64)

    @cached_property
    def reason(self) -> str:
        """Why it does not hold; empty when it does."""
        if self.doubts or self.holds:
            return "; ".join(self.doubts)
        evidence, widths = self.evidence, self.half_widths
        if unknown := int((all_equal(evidence) & np.isinf(widths)).sum()):
            return (
                f"the sampled contributions of {several(unknown, 'player')} were all equal, which "
                "bounds no other contribution: a declared range of the utility (value_range) does"
            )
        if np.isinf(widths).any():
            return (
                f"a run that may stop at any time needs at least {FEW_CONTRIBUTIONS} contributions "
                f"for each player, and a player has only {int(evidence.counts.min())}"
            )
        worst = int(self.worst_players[0])
        return (
            f"the intervals of {len(self.worst_players)} of {evidence.n_players} players are "
            f"too wide; {evidence.named(worst)} is known to ± {widths[worst]:.3g} where "
            f"± {self.allowed[worst]:.3g} is needed"
        )

    @property
    def warning(self) -> str:
        """Why the statement says little; empty otherwise."""
        mean = float(np.abs(self.evidence.values).mean())
        if self.doubts or self.evidence.exact or not 0 < LARGE_XI * mean < self.xi:
            return ""
        return (
            f"ξ, the tolerance near zero, is {float(f'{self.xi / mean:.2g}'):,g} times the mean "
            "|value|: with a ξ so large the statement says very little"
        )

    @property
    def tolerance(self) -> str:
        """What the intervals show of all values together, in words."""
        share, widths = rounded_up(self.tightest), self.half_widths
        if np.isinf(widths).any():
            return f"no tolerance: {self.reason}"
        if share < 1:
            return (
                f"each value differs from the true value by at most {share:g} times the true "
                f"value’s size plus {share * self.xi:.3g}"
            )
        why = "no relative tolerance holds for all of them"
        if share < math.inf:
            why = "some may be zero, so that no tolerance below 100 % of their size holds"
        return f"each value is known to within ± {widths.max():.3g} ({why})"

    @cached_property
    def statement(self) -> str:
        """What is certified, or why nothing is and what holds instead."""
        evidence, chance = self.evidence, f"with a probability of at least {1 - self.delta:.6g}"
        everyone = f"Each of the {evidence.n_players} values"
        if self.reason:
            refused = f"Not certified at ε1 = {self.epsilon1:.6g}: {self.reason}."
            if np.isinf(self.half_widths).any():
                return refused
            return f"{refused} What holds instead, {chance}: {self.tolerance}. {_SCOPE}"
        if evidence.exact:
            how = "they have a closed formula"
            if evidence.evaluations:
                count = f"{evidence.evaluations:,} evaluations"
                how = f"all coalitions that count were evaluated ({count})"
            return f"{everyone} is exact for this utility: {how}. {_SCOPE}"
        share = self._headline
        asked = "" if share == self.epsilon1 else f"; the request was {self.epsilon1:.6g}"
        looks = ", allowing for the earlier checks of the run" if self.level < self.delta else ""
        looks = ", whenever the run is stopped" if self.sequential else looks
        return (
            f"{everyone} differs from the true value by at most {share:.6g} times the size of the "
            f"true value plus {share * self.xi:.6g}, for all of them together {chance}{asked}. So "
            f"a player who adds nothing is valued within ± {share * self.xi:.3g}. Identical "
            "players get the same, and who adds no less than another gets no less, up to the sum "
            f"of their tolerances (A1–A3). This rests on {evidence.evaluations:,} evaluations, "
            f"with {'independent' if evidence.independent else 'possibly dependent'} estimates"
            f"{looks}. It assumes {_ASSUMPTIONS[self.bound]}. {_SCOPE}"
        )

    @property
    def _headline(self) -> float:
        """The tightest tolerance that holds, rounded up; the one asked for is no tighter."""
        return min(rounded_up(self.tightest), self.epsilon1)

    @property
    def said(self) -> list[str]:
        """The statement, what the test set adds, and the warning, a paragraph each."""
        warned = f"Warning: {self.warning}" if self.warning else ""
        return [part for part in (self.statement, self.test_set, warned) if part]

    def __str__(self) -> str:
        return "\n".join(self.said)

    def _repr_html_(self) -> str:
        """Return the verdict and the sentences."""
        title = f"Certified: ε1 = {self._headline:g}, δ = {self.delta:g}"
        if self.evidence.exact:
            title = "Exact"
        if not self.holds:
            held = f"; ε1 = {rounded_up(self.tightest):g} holds" if self.tightest < 1 else ""
            title = f"Not certified: ε1 = {self.epsilon1:g}, δ = {self.delta:g}{held}"
        return block_html(title, sentences_html(self.said))


def rounded_up(share: float) -> float:
    """Return three digits, never below: a tolerance that is rounded down may not hold.

    Examples
    --------
    >>> rounded_up(0.12341), rounded_up(0.0)
    (0.124, 0.0)
    """
    if not 0 < share < math.inf:
        return share
    step = 10.0 ** (math.floor(math.log10(share)) - 2)
    return float(f"{math.ceil(share / step) * step:.3g}")


def cost_text(needed: float, coalitions: float) -> str:
    """Return a predicted number of evaluations in words.

    Examples
    --------
    >>> cost_text(1234.5, 2.0**20), cost_text(64.0, 64.0), cost_text(2.0**800, 2.0**800)
    ('about 1,230 evaluations', 'all 64 coalitions', 'more than 10^15 evaluations')
    """
    if needed == coalitions == math.inf:
        return "more evaluations than can be predicted"
    if min(needed, coalitions) > 1e15:  # nobody makes so many, or reads so many digits
        return "more than 10^15 evaluations"
    if needed < coalitions:
        return f"about {float(f'{needed:.3g}'):,.0f} evaluations"
    return f"all {coalitions:,.0f} coalitions"


def half_widths(
    evidence: Evidence,
    level: float,
    bound: str = "normal",
    *,
    delta: float | None = None,
    together: bool = True,
    sequential: bool = False,
) -> FloatArray:
    """Return half-widths of intervals that cover all players together with probability 1 − level.

    Parameters
    ----------
    evidence
        What is known.
    level
        The probability of failure, all players together.
    bound
        "normal": Student's t on the contributions. "chebyshev": any distribution whose variance
        is the estimated one. "bernstein": empirical Bernstein (Maurer & Pontil 2009), for finite
        samples; needs the range of the contributions.
    delta
        The level at which draws may have missed something; by default `level`.
    together
        Whether all values are covered together, or each by itself. What holds for all together
        rests on the sampling alone; the interval of one value is as good as the model of the game,
        where one has a say.
    sequential
        Valid at all times at once (an asymptotic confidence sequence), for a run that looks as
        often as it likes; with the normal bound only.

    Returns
    -------
    array
        One half-width a player; infinite where nothing may be said.
    """
    if evidence.exact:
        return np.zeros(evidence.n_players)
    if doubts(evidence, bound):
        return np.full(evidence.n_players, np.inf)
    share = level
    if together:
        share = player_level(level, evidence.n_players, independent=evidence.independent)
    if not together:
        evidence = replace(evidence, sampling_errors=None, shift=None)
    widths = _widths(evidence, share, bound, sequential=sequential)
    widths = widths + evidence.shift_or_zero
    if bound != "bernstein":
        widths = widths + allowances(evidence, level if delta is None else delta)
    # Without variation there is no quantile to go by. An unseen kind of contribution of probability
    # p stays unseen m times with probability (1 − p)^m, so p ≤ log(1/share)/m at this level, and
    # it moves the value by at most p times the range.
    width = evidence.contribution_width
    reach = math.inf if width is None else width * math.log(1.0 / share)
    widths = np.where(all_equal(evidence), reach / np.maximum(evidence.counts, 1), widths)
    if nulls := evidence.n_nulls:
        widths[-nulls:] = np.abs(evidence.values[-nulls:])
    return widths


def _widths(evidence: Evidence, share: float, bound: str, *, sequential: bool) -> FloatArray:
    """Return half-widths at a level for each player, from the spread of its contributions."""
    errors, width = evidence.statement_errors, evidence.contribution_width
    counts = evidence.counts.astype(np.float64)
    if bound == "normal" and sequential:
        # With few contributions their own spread is too uncertain to be followed all the time.
        factor = _sequence_factor(np.maximum(counts, 1.0), share)
        return np.where(counts >= FEW_CONTRIBUTIONS, errors * factor, np.inf)
    if bound == "normal":
        quantiles = -np.asarray(stdtrit(counts - 1, share / 2), dtype=np.float64)
        return errors * (quantiles + skew_terms(evidence) * (2.0 * np.square(quantiles) + 1.0))
    if bound == "chebyshev":
        return errors / math.sqrt(share)
    if width is None or not evidence.identically_distributed:
        raise InputError(
            "a finite-sample bound needs i.i.d. contributions of known range",
            remedy="declare its {value_range}, and use a method such as 'mc' or 'kernel'",
        )
    log = math.log(4.0 / share)
    return errors * math.sqrt(2.0 * log) + 7.0 * width * log / (3.0 * (counts - 1))


def _sequence_factor(counts: FloatArray, alpha: float) -> FloatArray:
    """Return h_t/se_t of the confidence sequence of Waudby-Smith et al. 2024 (their equation 10).

    h_t = s·√(2(tρ²+1)/(t²ρ²)·log(√(tρ²+1)/α)); ρ² makes it shortest at t = SEQUENCE_TARGET.
    """
    argument = float(lambertw(-(alpha**2) / math.e, -1).real)
    rho2 = (-argument - 1.0) / SEQUENCE_TARGET
    scaled = counts * rho2 + 1.0
    return np.sqrt(2.0 * scaled / (counts * rho2) * np.log(np.sqrt(scaled) / alpha))


_ASSUMPTIONS = {
    "normal": "that averages of contributions, samples of what a player adds, are close to "
    "normally distributed but for their skewness. It also assumes that coalitions which were not "
    "drawn deviate no more than the largest of these: the drawn ones, those next to none and to "
    "all players, and a tenth of what all players add together",
    "chebyshev": "that the variances of the contributions are as estimated",
    "bernstein": "nothing but the stated range of the utility",
}
_SCOPE = (
    "It covers the error of estimation for this utility. It does not cover the choice of the test "
    "set behind it, and does not say whether the utility is a good measure. A coalition is taken "
    "to have the same utility each time, unless the game is declared random."
)
