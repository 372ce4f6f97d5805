"""`fairshapley.explain`: any model, rows of any kind, values with their errors."""

from __future__ import annotations

import time
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, TypeAlias

import numpy as np

from fairshapley._basics.text import duration, several
from fairshapley._basics.types import IntArray
from fairshapley.errors import InputError
from fairshapley.explanations.attributions import Attributions
from fairshapley.explanations.closed_forms import closed_form
from fairshapley.explanations.sampling import (
    EXACT_PLAYERS,
    INTERRUPTED,
    Limits,
    RowSampler,
    RowValues,
)
from fairshapley.fairness.evidence import Evidence
from fairshapley.fairness.levels import check_xi
from fairshapley.games.features import FeatureGame
from fairshapley.games.features.arguments import Rows, check_output, check_rows
from fairshapley.games.features.feature_game import GameKind
from fairshapley.games.features.texts import Texts
from fairshapley.randomness import root_seed, side_generator
from fairshapley.results.origin import origin_fields
from fairshapley.results.result import Result
from fairshapley.results.serialising import assembled
from fairshapley.runs.calls import DEFAULT_EVALUATIONS_PER_PLAYER
from fairshapley.runs.plan import versions
from fairshapley.runs.progress import ProgressReporter
from fairshapley.stopping import Budget, Fair, Snapshot, parse_budget

Outputs: TypeAlias = int | str | Iterable[int | str] | None
Subject: TypeAlias = FeatureGame | Texts

# With no limits a row takes so many evaluations for each player: enough for a plot.
PLOT_EVALUATIONS_PER_PLAYER = 10
# The probability that a row misses the precision asked for.
DELTA = 0.1
# Longer work is announced, once a part of it shows how long it takes.
SAID_SECONDS = 20.0
# Rows times outputs explained at a time: their utilities take some 200 MiB.
MOST_COLUMNS = 2048
# The progress bar shows no fidelity, which is that of many rows.
NO_EVIDENCE = Evidence(
    values=np.zeros(1), standard_errors=np.zeros(1), counts=np.ones(1, int), evaluations=0
)


def explain(
    model: Any,
    X: Any = None,  # noqa: N803 - as everywhere in machine learning
    background: Any = None,
    *,
    rows: Rows = None,
    outputs: Outputs = None,
    kind: GameKind = "marginal",
    groups: Any = None,
    feature_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    budget: int | Budget | None = None,
    until: Fair | None = None,
    precision: float | None = None,
    xi: float | None = None,
    seed: int | None = None,
    max_rows: int | None = None,
    progress: bool | None = None,
) -> Attributions:
    """Explain the predictions of a model: the values of the features for each row.

    Values are exact up to 10 players, where all coalitions fit the budget, and where a linear model
    or trees (with shap) have a closed form. Otherwise rows are explained jointly: they share one
    draw of coalitions, whose mixtures are stacked into few calls of the model, and a row that is
    done leaves its evaluations to the others. For another method or semivalue, an engine or a
    journal, explain one row with `fairshapley.estimate` and a `FeatureGame`.

    Parameters
    ----------
    model
        A function of rows, a fitted model (scikit-learn, a pipeline, xgboost, lightgbm, catboost:
        the first of predict_proba, decision_function and predict is taken), a torch module, or a
        function of a list of texts. Or a `FeatureGame`, with positions of rows as `X`.
    X
        The rows: a 2-d array or a DataFrame, or a list of texts.
    background
        What stands in for absent features: rows like X, or how many to draw from X (100
        by default, the same whatever the seed). For texts the text that replaces an absent word,
        by default none.
    rows
        Positions of rows in X; all by default.
    outputs
        A name (the class as text) or number of an output; a list of them; "all". By default the
        only one, the second of two classes, and all otherwise.
    kind
        What absence means: "marginal", "mean" or a function, see
        `FeatureGame`.
    groups
        What is one player. Columns: ``{"colour": ["red", "blue"]}``, or "one-hot" to find the
        columns of categories. Texts: "words", "sentences" or a function that splits.
    feature_names, output_names, max_rows
        As for a `FeatureGame`.
    budget
        Evaluations for each row: coalitions, of which each takes as many predictions as there are
        background rows. With `until`, the mean over the rows. By default 10 for each player, which
        is enough for a plot; ± in its text are standard errors.
    until
        ``fs.Fair(epsilon1=0.5, delta=0.1)``: the certificate that each row is to reach.
    precision
        The share of itself, and of the row's mean |value|, to which each value of a row is to be
        known, with a probability of 0.9: 0.05 is a twentieth. At most 100 evaluations for each
        player are made for it.
    xi
        The tolerance near zero; by default the mean |value| of each row.
    seed
        Fixes all random draws.
    progress
        None shows a bar on a terminal, True or False always or never.

    Returns
    -------
    Attributions
        The values with their standard errors and plots. Ctrl-C gives the rows that have values.

    Examples
    --------
    >>> X = np.array([[0.0, 0.0], [2.0, 4.0]])
    >>> found = explain(lambda X: 3 * X[:, 0] - X[:, 1], X)
    >>> found.values
    array([[-3.,  2.],
           [ 3., -2.]])
    >>> print(found)
    values of 2 players for the predictions of 2 rows, exact
    mean |value| over the rows: x0 3, x1 2
    row 0: 0 = 1 on average, x0 -3, x1 +2
    row 1: 2 = 1 on average, x0 +3, x1 -2
    """
    started = time.monotonic()
    if until is not None and not isinstance(until, Fair):
        raise InputError(
            "must be a certificate such as fs.Fair(epsilon1=0.5, delta=0.1)",
            parameter="until",
            received=until,
            remedy="give a number of evaluations as {budget}",
        )
    if precision is not None:
        if budget is not None or until is not None:
            remedy = "leave {budget} and {until} out, or {precision}"
            raise InputError("precision is a limit of its own", remedy=remedy)
        until = Fair(epsilon1=precision, delta=DELTA)
    given = isinstance(model, FeatureGame)
    subject: Subject = model
    if given:
        rows = X if rows is None else rows
        rows = list(model.rows) if rows is None else rows
    else:
        subject = _subject(
            model, X, kind, feature_names, background=background, groups=groups,
            max_rows=max_rows, output_names=output_names,
        )  # fmt: skip
    chosen, single = _check_outputs(outputs, subject, given=given)
    per_player: int | None = PLOT_EVALUATIONS_PER_PLAYER
    if until is not None:
        per_player = None if precision is None else DEFAULT_EVALUATIONS_PER_PLAYER
    request = _Request(
        subject=subject,
        rows=check_rows(rows, subject.n_rows),
        outputs=chosen,
        budget=_check_budget(budget),
        per_player=per_player,
        until=until,
        xi=None if xi is None else check_xi(xi),
        seed=root_seed(seed),
        started=started,
    )
    found, complete = request.explained(progress)
    done = np.flatnonzero(~np.isnan(found.values[:, 0, 0]))
    if not len(done):
        raise KeyboardInterrupt  # it came before any row had values
    explained, last = request.rows[done], 0 if single else slice(None)
    fields = {**origin_fields(subject.notes), "versions": versions()}
    n_players = int(subject.counts[explained].max())
    return Attributions(
        values=found.values[done, :n_players, last],
        standard_errors=found.errors[done, :n_players, last],
        base_values=found.ends[0, done, last],
        predictions=found.ends[1, done, last],
        data=subject.shown(explained)[:, :n_players],
        rows=tuple(explained.tolist()),
        player_names=subject.player_names[:n_players],
        output_names=tuple(subject.output_names[output] for output in chosen),
        results=tuple(request.results(found, place, fields) for place in done.tolist()),
        kind=subject.shape,
        complete=complete,
    )


def _subject(
    model: Any,
    X: Any,  # noqa: N803
    kind: GameKind,
    feature_names: Sequence[str] | None,
    **options: Any,
) -> Subject:
    """Return what is explained: columns or texts."""
    if X is None:
        raise InputError("explain needs rows: fs.explain(model, X)")
    if hasattr(X, "detach"):
        X = X.detach().cpu().numpy()  # noqa: N806
    if _are_texts(X):
        return Texts(model, X, **options)
    if options["background"] is None and len(X) == 1:
        raise InputError(
            "one row alone has nothing to be compared with: give background=, rows that are "
            "typical, such as those that the model was trained on"
        )
    return FeatureGame(model, X, output=0, kind=kind, feature_names=feature_names, **options)


def _are_texts(X: Any) -> bool:  # noqa: N803
    """Return whether the rows are texts: one string each."""
    if isinstance(X, str):
        raise InputError("X is one text: give a list of texts, [text]")
    shape = getattr(X, "shape", None)
    first = X[0] if isinstance(X, list | tuple) and X else None
    if shape is not None and len(shape) == 1 and shape[0]:
        first = np.asarray(X, dtype=object)[0]
    return isinstance(first, str)


def _check_budget(budget: int | Budget | None) -> int | None:
    parsed = parse_budget(budget) or Budget()
    if parsed != Budget(parsed.evaluations):
        raise InputError(
            f"a row has a budget of evaluations, not of {parsed}", remedy="give {budget:1000}"
        )
    return parsed.evaluations


def _check_outputs(
    outputs: Outputs, subject: Subject, *, given: bool
) -> tuple[tuple[int, ...], bool]:
    """Return the numbers of the outputs to explain, and whether there is no axis for them."""
    names = subject.output_names
    if outputs is None and given and isinstance(subject, FeatureGame):
        return (subject.output,), True
    if outputs is None and len(names) <= 2:
        return (len(names) - 1,), True
    if outputs is None or (isinstance(outputs, str) and outputs == "all" and "all" not in names):
        return tuple(range(len(names))), False
    if isinstance(outputs, str) or not isinstance(outputs, Iterable):
        return (check_output(outputs, names),), True
    chosen = tuple(check_output(output, names) for output in outputs)
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError("outputs must name at least one output, and each of them once")
    return chosen, False


@dataclass(frozen=True, eq=False, kw_only=True)
class _Request:
    """The rows to explain, and how far."""

    subject: Subject
    rows: IntArray
    outputs: tuple[int, ...]
    budget: int | None
    per_player: int | None
    """Evaluations for each player without a budget; None for as many as a rule takes"""
    until: Fair | None
    xi: float | None
    seed: int
    started: float

    def explained(self, progress: bool | None) -> tuple[RowValues, bool]:
        """Return the values of the rows, and whether Ctrl-C left all of them explained."""
        subject, counts = self.subject, self.subject.counts[self.rows]
        found = RowValues(len(counts), int(counts.max()), len(self.outputs))
        if isinstance(subject, FeatureGame):
            closed = closed_form(subject, self.rows, self.outputs)
            if closed is not None:
                found.ends, values, how = closed
                found.set_exact(np.arange(len(counts)), values, 2, how)
                return found, True
        step = max(1, MOST_COLUMNS // len(self.outputs))
        blocks = [
            (count, places[at : at + step])
            for count in np.unique(counts).tolist()
            for places in [np.flatnonzero(counts == count)]
            for at in range(0, len(places), step)
        ]
        planned = sum(
            len(places) * (self._limits(count).evaluations or 0) for count, places in blocks
        )
        computed, ends = 0, list[float]()

        def report(count: int) -> None:
            nonlocal computed
            computed += count
            seconds = time.monotonic() - self.started
            ends.append(seconds)
            if len(ends) == 2:  # the first part holds v(∅) and v(N) alone
                left = (seconds - ends[0]) / count * (planned - computed)
                if left > SAID_SECONDS:
                    bar.say(
                        f"{several(len(counts), 'row')} take about {duration(left)}: fewer rows, "
                        "a smaller budget or fewer background rows take less"
                    )
            bar.show(lambda: Snapshot(computed, None, seconds, NO_EVIDENCE, xi=0.0))

        with ProgressReporter(progress, "explain", Budget(planned) if planned else None) as bar:
            try:
                for number, (count, places) in enumerate(blocks):
                    rows = self.rows[places]
                    RowSampler(
                        found=found,
                        places=places,
                        rows=rows,
                        expectation=subject.expectation(rows),
                        n_players=count,
                        outputs=self.outputs,
                        limits=self._limits(count),
                        rng=side_generator(self.seed, f"rows {number}"),
                        report=report,
                    ).run()
            except KeyboardInterrupt:
                return found, False
        return found, True

    def _limits(self, n_players: int) -> Limits:
        if self.budget is None and n_players <= EXACT_PLAYERS:
            return Limits(evaluations=None, until=None, xi=self.xi)
        evaluations = self.budget
        if evaluations is None and self.per_player is not None:
            evaluations = self.per_player * n_players
        return Limits(evaluations=evaluations, until=self.until, xi=self.xi)

    def results(self, found: RowValues, place: int, fields: dict[str, Any]) -> tuple[Result, ...]:
        """Return one result for each output of a row; `fields` are what all have in common."""
        n_players = int(self.subject.counts[self.rows[place]])
        exact, limits = bool(found.exact[place]), self._limits(n_players)
        kept = {
            "budget": limits.evaluations and asdict(Budget(limits.evaluations)),
            "until": limits.until and limits.until.configuration(),
            "on_error": "raise",
        }
        done = found.stopped[place] != INTERRUPTED
        method = {"name": "exact" if exact else "joint sampling"}
        results = []
        for output in range(len(self.outputs)):
            values = found.values[place, :n_players, output]
            xi = limits.near_zero(values)
            results.append(
                assembled(
                    Result,
                    values=values,
                    standard_errors=found.errors[place, :n_players, output],
                    counts=np.full(n_players, found.draws[place]),
                    evaluations=int(found.evaluations[place]),
                    exact=exact,
                    identically_distributed=False,
                    obstacle="" if done else "the run did not finish",
                    player_names=self.subject.player_names[:n_players],
                    marginals=None,
                    stopped=found.stopped[place],
                    configuration={"method": method, "semivalue": "shapley", "xi": xi},
                    limits=kept,
                    xi=xi,
                    seed=self.seed,
                    sequential=False,
                    level_share=float(found.level_shares[place]),
                    complete=done,
                    endpoints=tuple(found.ends[:, place, output].tolist()),
                    computed=int(found.evaluations[place]),
                    seconds=time.monotonic() - self.started,
                    **fields,
                )
            )
        return tuple(results)
