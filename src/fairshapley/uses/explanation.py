"""Rows explained one by one: a matrix of values, for shap's plots too."""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterable
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.arguments import known_names
from fairshapley._basics.extras import extra
from fairshapley._basics.markup import block_html, sentences_html
from fairshapley._basics.text import one_line, several
from fairshapley._basics.types import FloatArray
from fairshapley.errors import FairShapleyError, InputError
from fairshapley.estimators import Estimator, Exact
from fairshapley.evaluation.engines import EngineOption, opened_engine
from fairshapley.evaluation.journal.records import Journal
from fairshapley.games.features import FeatureGame
from fairshapley.games.features.arguments import Rows, check_output
from fairshapley.randomness import root_seed, side_generator
from fairshapley.results.result import Result
from fairshapley.runs.calls import estimate
from fairshapley.runs.setup import JournalOption
from fairshapley.semivalues import Semivalue
from fairshapley.stopping import Budget, Rule

if TYPE_CHECKING:
    import pandas as pd

# Up to here all coalitions (1024) cost no more than the 100 evaluations per player that are the
# default of an estimate, give or take the last few.
EXACT_PLAYERS = 10
# What is printed: the first rows, in each the players that matter most, names cut to a length.
SHOWN_ROWS = 10
SHOWN_PLAYERS = 5
SHOWN_LETTERS = 40


@dataclass(frozen=True, eq=False, kw_only=True, repr=False)
class Attributions:
    """The values of the features in each of some rows.

    Arrays have one axis for rows, one for players and, where several outputs were asked for, one
    for outputs.
    """

    values: FloatArray
    """φ̂, (rows, players[, outputs])"""
    standard_errors: FloatArray
    """The standard error of each value, 0 where it is exact"""
    base_values: FloatArray
    """v(∅), the mean prediction over the background, (rows[, outputs])"""
    predictions: FloatArray
    """v(N), the prediction for each row (for its neighbourhood, in a conditional game)"""
    data: NDArray[Any]
    """What each player shows in each row, (rows, players)"""
    rows: tuple[int, ...]
    """The positions of the rows in X"""
    player_names: tuple[str, ...]
    output_names: tuple[str, ...]
    """The outputs explained"""
    results: tuple[tuple[Result, ...], ...]
    """The result behind each row (and output), with fidelity, certificates and provenance"""
    complete: bool = True
    """False when Ctrl-C came: then the rows are those that were finished"""

    @property
    def min_fidelity(self) -> float:
        """The lowest fidelity score of all rows, outputs and players."""
        return min(result.min_fidelity for row in self.results for result in row)

    def importance(self) -> FloatArray:
        """The mean |φ̂| over the rows, (players[, outputs]): what matters in the whole data."""
        importance: FloatArray = np.abs(self.values).mean(axis=0)
        return importance

    def __str__(self) -> str:
        title, lines = self._told()
        return "\n".join([title, *lines])

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        title, lines = self._told()
        return block_html(title, sentences_html(lines))

    def _told(self) -> tuple[str, list[str]]:
        """A title, a line for each of the first rows, and one for all; so for each output."""
        how = "exact" if all(one.exact for row in self.results for one in row) else "estimated"
        if not self.complete:
            how += "; interrupted, the rows are those that were finished"
        rows, players = several(len(self.rows), "row"), several(len(self.player_names), "player")
        lines = [
            f"row {row}{named}: {self._sum(place, output)}"
            for place, row in enumerate(self.rows[:SHOWN_ROWS])
            for output, named in self._outputs()
        ]
        if len(self.rows) > SHOWN_ROWS:
            lines.append(f"… {several(len(self.rows) - SHOWN_ROWS, 'more row')}")
        title = f"values of {players} for the predictions of {rows}, {how}"
        return title, [*lines, *self._most_important()]

    def _outputs(self) -> list[tuple[Any, str]]:
        """An index of each output in the arrays, and its name behind a row's."""
        if self.values.ndim == 2:
            return [(..., "")]
        names = [one_line(name, SHOWN_LETTERS) for name in self.output_names]
        return [((..., at), f", output {name}") for at, name in enumerate(names)]

    def _sum(self, place: int, output: Any) -> str:
        """A prediction as the sum of the base value and the players' values."""
        values = self.values[output][place]
        errors = self.standard_errors[output][place]
        order = np.argsort(-np.abs(values), kind="stable")
        shown = [
            f"{one_line(self.player_names[player], SHOWN_LETTERS)} {values[player]:+.3g}"
            + (f" ± {errors[player]:.1g}" if errors[player] > 0 else "")
            for player in order[:SHOWN_PLAYERS].tolist()
        ]
        if len(order) > SHOWN_PLAYERS:
            rest = values[order[SHOWN_PLAYERS:]]
            shown.append(f"{several(len(rest), 'other')} {rest.sum():+.3g}")
        base, prediction = self.base_values[output][place], self.predictions[output][place]
        return f"{prediction:.4g} = {base:.4g} on average, {', '.join(shown)}"

    def _most_important(self) -> list[str]:
        """The players that matter most over all rows, for each output."""
        if len(self.rows) < 2:
            return []
        found = []
        for output, named in self._outputs():
            means = self.importance()[output]
            order = np.argsort(-means, kind="stable")[:SHOWN_PLAYERS].tolist()
            names = [one_line(self.player_names[player], SHOWN_LETTERS) for player in order]
            words = [f"{name} {means[at]:.3g}" for name, at in zip(names, order, strict=True)]
            found.append(f"mean |value| over the rows{named}: {', '.join(words)}")
        return found

    def to_shap(self) -> Any:
        """The values as a `shap.Explanation`, for shap's plots (needs shap)."""
        named = {"output_names": list(self.output_names)} if self.values.ndim == 3 else {}
        return _shap().Explanation(
            values=self.values.copy(),
            base_values=self.base_values.copy(),
            data=self.data.copy(),
            feature_names=list(self.player_names),
            **named,
        )

    def to_frame(self) -> pd.DataFrame:
        """One line per row (and output), one column per player (needs pandas)."""
        with extra("report", "to_frame needs pandas", "values is a plain array"):
            import pandas as pd
        index: pd.Index[Any] = pd.Index(self.rows, name="row")
        values = self.values
        if values.ndim == 3:
            levels: list[Any] = [self.rows, self.output_names]
            index = pd.MultiIndex.from_product(levels, names=["row", "output"])
            values = np.swapaxes(values, 1, 2).reshape(-1, len(self.player_names))
        return pd.DataFrame(values, index=index, columns=list(self.player_names))


@known_names
def explain(
    game: FeatureGame,
    rows: Rows = None,
    *,
    outputs: str | Iterable[int | str] | None = None,
    method: str | Estimator[Any, Any] = "auto",
    budget: int | Budget | None = None,
    until: Rule | None = None,
    semivalue: str | Semivalue = "shapley",
    xi: float = 1e-3,
    seed: int | None = None,
    engine: EngineOption = None,
    journal: JournalOption = None,
) -> Attributions:
    """Explain rows one by one: the values of the features for each row's own prediction.

    Parameters
    ----------
    game
        The model, the data, the background and what else a `FeatureGame` says.
    rows
        Positions of rows in its X; by default those of the game.
    outputs
        None for the game's output, "all", or a list of numbers and names of outputs. The games
        of a row's outputs share their predictions.
    method, budget, until, semivalue, xi, engine
        As in `fairshapley.estimate`, for every row and output; a budget is for each. With
        neither a method nor limits, up to 10 players are exact.
    journal
        One file that keeps the utilities of all rows and outputs.
    seed
        Fixes all random draws. A row draws what it would if it were explained alone, and the
        same for all of its outputs.

    Returns
    -------
    Attributions
        The values with their standard errors; ``to_shap()`` for shap's plots.

    Examples
    --------
    >>> from fairshapley.games.features import FeatureGame
    >>> X = np.array([[0.0, 0.0], [2.0, 4.0]])
    >>> game = FeatureGame(lambda X: 3 * X[:, 0] - X[:, 1], X)
    >>> found = explain(game)
    >>> found.values
    array([[-3.,  2.],
           [ 3., -2.]])
    >>> found.base_values
    array([1., 1.])
    >>> print(found)
    values of 2 players for the predictions of 2 rows, exact
    row 0: 0 = 1 on average, x0 -3, x1 +2
    row 1: 2 = 1 on average, x0 +3, x1 -2
    mean |value| over the rows: x0 3, x1 2
    """
    if not isinstance(game, FeatureGame):
        raise InputError(
            "explain needs a feature game: fs.explain(fs.games.FeatureGame(predict, X), rows)"
        )
    chosen = _check_outputs(outputs, game)
    if method == "auto" and budget is None and until is None and game.n_players <= EXACT_PLAYERS:
        method = Exact()
    with ExitStack() as stack:
        if isinstance(journal, str | os.PathLike):
            journal = stack.enter_context(Journal(journal, shared=True))
        run = partial(
            estimate,
            method=method,
            budget=budget,
            until=until,
            semivalue=semivalue,
            xi=xi,
            engine=stack.enter_context(opened_engine(engine)),  # workers serve all rows
            journal=journal,
            progress=False,
        )
        finished, complete = _explain_rows(game.each_row(rows), chosen, root_seed(seed), run)
    if not finished:
        raise KeyboardInterrupt  # taken by the run of the first row; there is nothing to give
    return _gathered(game, finished, chosen, outputs is None, complete)


def _explain_rows(
    games: Iterable[FeatureGame], chosen: tuple[int, ...], seed: int, run: Callable[..., Result]
) -> tuple[list[_Row], bool]:
    """The rows one after the other, and whether all were finished before Ctrl-C came."""
    finished: list[_Row] = []
    for one in games:
        row = one.rows[0]
        row_seed = int(side_generator(seed, f"row {row}").integers(2**62))
        # What was predicted is remembered by `one`, for all its outputs.
        outputs = [one.for_output(output) for output in chosen]
        results = []
        try:
            for each in outputs:
                results.append(run(each, seed=row_seed))
                if not results[-1].complete:
                    return finished, False
            finished.append(_Row(row, one.player_data, tuple(results), _ends(outputs)))
        except KeyboardInterrupt:
            return finished, False
        except FairShapleyError as error:
            error.add_note(f"It was raised while row {row} was explained.")
            raise
    return finished, True


@dataclass(frozen=True, eq=False)
class _Row:
    """What is kept of an explained row: not its game, whose memory is large."""

    row: int
    data: NDArray[Any]
    results: tuple[Result, ...]
    ends: FloatArray
    """v(∅) and v(N) of each output"""


def _ends(games: list[FeatureGame]) -> FloatArray:
    ends = np.zeros((2, games[0].n_players), dtype=bool)
    ends[1] = True
    return np.stack([each(ends) for each in games])


def _gathered(
    game: FeatureGame,
    finished: list[_Row],
    chosen: tuple[int, ...],
    single: bool,
    complete: bool,
) -> Attributions:
    """The results of all rows as arrays, without the axis of outputs where there is only one."""
    last: Any = 0 if single else slice(None)
    values = [np.stack([one.values for one in row.results], axis=1) for row in finished]
    errors = [np.stack([one.standard_errors for one in row.results], axis=1) for row in finished]
    ends = np.stack([row.ends for row in finished])
    return Attributions(
        values=np.stack(values)[:, :, last],
        standard_errors=np.stack(errors)[:, :, last],
        base_values=ends[:, :, 0][:, last],
        predictions=ends[:, :, 1][:, last],
        data=np.concatenate([row.data for row in finished]),
        rows=tuple(row.row for row in finished),
        player_names=game.player_names,
        output_names=tuple(game.output_names[output] for output in chosen),
        results=tuple(row.results for row in finished),
        complete=complete,
    )


def shap_explanation(game: FeatureGame, result: Result) -> Any:
    """The result of one feature game as a `shap.Explanation` with one value per player.

    For the mean over rows, whose values have no row to show beside them, ``data`` is None.

    Examples
    --------
    >>> import fairshapley as fs
    >>> from fairshapley.games.features import FeatureGame
    >>> game = FeatureGame(lambda X: X[:, 0], [[1.0], [2.0]], rows=1)
    >>> shap_explanation(game, fs.exact(game)).values
    array([0.5])
    """
    if result.n_players != game.n_players:
        raise InputError(
            f"the result has {result.n_players} players and the game {game.n_players}: give the "
            "result of this game"
        )
    empty = np.zeros((1, game.n_players), dtype=bool)
    return _shap().Explanation(
        values=result.values.copy(),
        base_values=float(game(empty)[0]),
        data=game.player_data[0] if len(game.rows) == 1 else None,
        feature_names=list(game.player_names),
    )


def _check_outputs(outputs: str | Iterable[int | str] | None, game: FeatureGame) -> tuple[int, ...]:
    """The numbers of the outputs to explain."""
    if outputs is None:
        return (game.output,)
    if isinstance(outputs, str) and outputs == "all":
        return tuple(range(game.n_outputs))
    if isinstance(outputs, str) or not isinstance(outputs, Iterable):
        raise InputError(
            f"outputs must be None, 'all' or a list of outputs, not {outputs!r}: a single one "
            "goes into output= of the game"
        )
    chosen = tuple(check_output(output, game.output_names) for output in outputs)
    if not chosen or len(set(chosen)) < len(chosen):
        raise InputError("outputs must name at least one output, and each of them once")
    return chosen


def _shap() -> Any:
    needed = extra("shap", "an explanation for shap's plots needs shap", "values is a plain array")
    with needed, warnings.catch_warnings():
        # shap sets up its colours in a way that newer versions of matplotlib warn about.
        warnings.simplefilter("ignore")
        import shap
    return shap
