"""The value of data: how well a model does that is trained on the rows of a coalition."""

from __future__ import annotations

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import cached_property, partial
from typing import Any, Literal

import numpy as np
from sklearn.base import clone

from fairshapley._basics import checks
from fairshapley._basics.threads import allowed_threads
from fairshapley._basics.types import BoolArray, FloatArray, IntArray
from fairshapley.errors import FairShapleyError, GameError, InputError
from fairshapley.games.abilities import DeviceGame
from fairshapley.games.data.device_data import DeviceData
from fairshapley.games.data.fitting import (
    Fitter,
    check_seeds,
    prepare,
    quiet,
    task_of,
    weight_parameter,
)
from fairshapley.games.data.metric_choice import (
    most_groups,
    range_of_values,
    read_score,
    value_of_no_rows,
)
from fairshapley.games.data.players import first_missing, read_classes, read_players, real_targets
from fairshapley.games.data.rows import check_alike, read_rows
from fairshapley.games.data.scoring import METRICS, Metric, Scorer, TestGroups
from fairshapley.games.game import check_coalitions, check_names, members
from fairshapley.games.learners.learner import QUANTUM, Learner, NotVectorisedError
from fairshapley.games.player_data import as_labels, identical_groups

# Masks of rows and predictions of a batch of coalitions stay within it.
CHUNK_BYTES = 64 * 2**20
# What a reader is told of the players, what the user called the model and the metric, which the
# fitter has as they are used, and how the same utilities are computed.
_LABELS = {
    "constant_value",
    "copies",
    "cost",
    "cost_unit",
    "device",
    "identical_players",
    "metric",
    "model",
    "not_vectorised_because",
    "player_names",
    "seeds",
    "value_range",
}


class DataGame:
    """The score on test rows of a model that is trained on the rows of a coalition.

    Players are training rows, or groups of them. Any classifier or regressor of scikit-learn's
    kind will do, pipelines too; it is cloned for every fit. Where it has a vectorised learner,
    thousands of coalitions are fitted at once.

    Parameters
    ----------
    model
        The model; it need not be fitted.
    train
        The rows to be valued, a pair (X, y): arrays, a DataFrame, a sparse matrix, or texts. Whole
        data sets are the players when they come by name, ``{"north": (X, y), …}``. A triple
        (X, y, w) has weights that `fit` is given.
    test
        The rows to score on, a pair (X, y); in a triple (X, y, w) they count with these weights.
    metric
        For classifiers "accuracy"; "log_likelihood" or "log_loss", the mean log probability of the
        true class, clipped at 1e-10; "f1", of the second of two classes in sorted order, the mean
        over the test rows' classes of more; "auc", of more than two classes one against the rest,
        averaged. For regressors "r2"; "rmse" and "mae", minus these errors in units of the
        target; "neg_mse". The name of any scorer of
        scikit-learn, or a function ``scorer(model, X, y)``.
    groups
        A label for each training row: rows with the same label are one player. Players are in the
        sorted order of the labels, which name them.
    base
        Rows C₀ that are always there, a pair (X, y): the paper takes one row of each class out.
    vectorised
        None uses a vectorised learner where there is one for the model and the metric; True insists
        on it, False fits one coalition at a time with scikit-learn.
    device, dtype
        Where the vectorised learner computes (e.g. "cuda", needs torch) and in what precision
        ("float64", "float32"); by default numpy in float64.
    seeds
        For a model that is random: the number of seeds, or the seeds themselves, over which the
        utility is averaged, the same for every coalition. Each of them is given to every
        ``random_state`` within the model. Without it a ``random_state`` of None becomes 0.
    empty_value
        The utility of no rows at all; by default that of the best constant prediction, see below.
    unfittable
        What becomes of rows that the model refuses with a ValueError though it takes all rows
        (classes with one row, fewer rows than components): "raise" stops with a `GameError`;
        "constant" scores the constant prediction of these rows.
    player_names
        Names for the players. Groups and datasets have theirs, rows of a DataFrame its index.
    value_range
        The lowest and the highest utility, that of no rows too, where a scorer has such.
    test_groups
        A label for each test row, where they come in groups (patients, shops): the error of the
        test set then is that of other groups. By default test rows are independent of each other.

    Attributes
    ----------
    n_players, player_names, value_range, identical_players, unit
        As for every game. Players with the same rows are identical.
    classes
        The sorted classes of the training rows, None for regression.
    copies
        Groups of players who hold the same rows, where players are more than rows: the players,
        the share of common rows, and whether some are only nearly the same.
    remarks
        What is odd about the rows of players, where a table was searched for it.
    constant_value
        The score of the best constant prediction; for a scorer that of the classes' frequencies, or
        of the mean. None where it gives no number for them.
    vectorised
        Whether coalitions are fitted at once.
    not_vectorised_because
        The reason why not; empty when they are.

    Notes
    -----
    Coalitions that cannot be fitted have a value all the same:

    - no rows: the best score that a constant prediction has on the test rows, or `empty_value`.
      For accuracy it is the share of the most frequent class, for log-likelihood minus the
      entropy of the classes, for F1 the score of finding every row. It is 0.5 for AUC, 0 for r2,
      and minus the variance of the targets for neg_mse. For a scorer it is the score of
      predicting the classes' frequencies, or the mean. It rests on the test rows' answers alone:
      who owns them needs nobody's data for it, and no player can change it;
    - rows of one class: the constant prediction of that class, with probability 1 (a scorer is
      given scikit-learn's DummyClassifier);
    - k nearest neighbours of fewer than k rows: all rows are neighbours.

    Classes that a coalition does not have get probability 0, also before a scorer. Classes that
    only test rows have always count as wrong in accuracy and F1; log-likelihood and AUC refuse
    them. Warnings of a fit, such as that it did not converge, are not shown: the utility is the
    score of what the model gives. ``n_jobs`` within the model is ignored, since threads add in no
    fixed order; ``warm_start`` has no effect on a clone. A model that draws random numbers in
    another way than by ``random_state`` must seed itself.

    One coalition at a time, a utility has the same bits in whatever batch it is asked for. A
    vectorised learner may differ in the last digits, relative 1e-12 on numpy; on torch by what
    rounding makes of an ill-conditioned fit (between numpy and a GPU 1e-7 was seen). Rows with the
    same content take the same place in a fit, so that identical players get equal utilities also
    from models that look at the order of the rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.linear_model import LogisticRegression
    >>> X, y = load_iris(return_X_y=True)
    >>> game = DataGame(LogisticRegression(), (X[::5], y[::5]), (X[1::5], y[1::5]))
    >>> game.n_players, game.vectorised
    (30, True)
    >>> game(np.array([[False] * 30, [True] * 30])).round(3)
    array([0.333, 0.833])
    """

    def __init__(
        self,
        model: Any,
        train: tuple[Any, ...] | Mapping[str, tuple[Any, ...]],
        test: tuple[Any, ...],
        metric: str | Scorer = "accuracy",
        *,
        groups: Any = None,
        base: tuple[Any, ...] | None = None,
        vectorised: bool | None = None,
        device: str | None = None,
        dtype: str | None = None,
        seeds: int | Sequence[int] | None = None,
        empty_value: float | None = None,
        unfittable: Literal["raise", "constant"] = "raise",
        player_names: Sequence[str] | None = None,
        value_range: tuple[float, float] | None = None,
        test_groups: Any = None,
    ) -> None:
        task = task_of(model)
        (players, names), scored = read_players(train, groups, base), read_rows(test, "test")
        check_alike(players.rows, scored, ("train", "test"))
        self.classes, targets = None, scored.y
        if task == "classifier":
            self._classes, targets = read_classes(players, scored)
            self.classes = self._classes.labels
        elif task == "regressor":
            players = replace(players, rows=real_targets(players.rows, "train"))
            scored = real_targets(scored, "test")
            targets = scored.y
        self.n_players = players.n_players
        self.player_names = check_names(player_names, self.n_players) or names
        self.identical_players = players.identical()
        self.copies: tuple[tuple[tuple[int, ...], float, bool], ...] = ()
        self.remarks: tuple[tuple[int, str], ...] = ()
        if groups is not None or isinstance(train, Mapping):
            alike = identical_groups(self.identical_players, self.n_players)
            self.copies = tuple((tuple(same), 1.0, False) for same in alike if len(same) > 1)
        self.model, self.metric, self.device, self.dtype = clone(model), metric, device, dtype
        score = read_score(metric, model, task, targets, self.classes, scored.weights)
        if players.rows.weights is not None:
            weight_parameter(model)
        checks.choice("unfittable", unfittable, ("raise", "constant"))
        if unfittable == "constant" and task == "other":
            raise InputError("a constant prediction is known for classifiers and regressors alone")
        self.seeds = check_seeds(seeds)
        self._players = players
        self._fitter = Fitter(
            prepare(model, self.seeds),
            players.rows,
            scored,
            self.classes,
            score,
            constant=unfittable == "constant",
            groups=TestGroups.drawn(
                _clusters(test_groups, len(scored)), self.n_players, most_groups(score)
            ),
        )
        constant = self._fitter.best_constant()
        self.constant_value = None if constant is None else float(constant[0])
        self.empty_value = value_of_no_rows(
            empty_value, self.constant_value, has_base=players.n_base > 0
        )
        self.value_range = range_of_values(value_range, score, self.empty_value)
        self._refuse_missing()
        self.not_vectorised_because = self._why_not(vectorised)
        self.vectorised = not self.not_vectorised_because

    @property
    def train(self) -> tuple[Any, Any]:
        """The rows of the players with their targets, those that are always there at the end."""
        return self._players.rows.X, self._players.rows.y

    @property
    def test(self) -> tuple[Any, Any]:
        """The rows to score on, with their targets."""
        return self._fitter.test.X, self._fitter.test.y

    @property
    def row_counts(self) -> tuple[int, ...]:
        """How many rows each player has."""
        counts = np.bincount(self._players.owner, minlength=self.n_players)
        return tuple(int(count) for count in counts)

    def halved(self, generator: np.random.Generator) -> tuple[DataGame, IntArray]:
        """Return the game in which each player is two, with half of its rows each, drawn at random.

        The numbers of both come second, (n_players, 2); −1 where a player has a single row.
        """
        players, owner = self._players, self._players.owner
        ranks = np.lexsort((generator.random(len(owner)), owner))
        places = np.arange(len(owner)) - np.searchsorted(owner[ranks], owner[ranks])
        labels = np.empty_like(owner)
        labels[ranks] = 2 * owner[ranks] + places % 2
        there, numbers = np.unique(labels, return_inverse=True)
        halves = np.full((self.n_players, 2), -1)
        halves.ravel()[there] = np.arange(len(there))
        made = copy.copy(self)
        made._players = replace(players, owner=numbers.astype(np.int64), n_players=len(there))
        made.n_players, made.player_names = len(there), None
        if self.classes is not None:
            made._classes = read_classes(made._players, self._fitter.test)[0]
        return made, halves

    @property
    def unit(self) -> str:
        """What a utility measures: the metric, and the number of test rows."""
        named = self.metric if isinstance(self.metric, str) else "score"
        if named in ("log_loss", "mse", "rmse", "mae"):
            named = f"minus {named}"
        return f"{named.replace('_', ' ')} on {len(self._fitter.test):,} test rows"

    @property
    def n_replicates(self) -> int:
        """How many groups of test rows `with_replicates` leaves out; 0 where it cannot."""
        return self._fitter.groups.count

    @property
    def batch_size(self) -> int:
        """Coalitions that take no longer together than one alone: a vectorised fit is of many."""
        return QUANTUM * allowed_threads() if self.vectorised else 1

    def on_device(self) -> DeviceGame | None:
        """The form that takes coalitions on the game's device and leaves their utilities there."""
        score = self._fitter.score
        if self.device is None or not self.vectorised or not isinstance(score, Metric):
            return None
        counts, constants = None, np.empty(0)
        if self.classes is not None:
            counts = np.vstack([self._classes.counts, self._classes.base])
            each = np.eye(len(self.classes))
            constants = np.array([self._fitter.constant_score(one)[0] for one in each])
        return DeviceData(self._learner, score, self._players, counts, constants, self.empty_value)

    def __call__(self, coalitions: BoolArray) -> FloatArray:
        """Return the utility of each row of `coalitions`."""
        return self._all_utilities(coalitions, wide=False)[:, 0]

    def with_replicates(self, coalitions: BoolArray) -> FloatArray:
        """Return the utility of each row of `coalitions`, and that without each group of test rows.

        Shape (m, 1 + `n_replicates`); no model is fitted for it that the utility does not need.
        """
        return self._all_utilities(coalitions, wide=True)

    def _all_utilities(self, coalitions: BoolArray, *, wide: bool) -> FloatArray:
        checked = check_coalitions(coalitions, self.n_players)
        values = np.empty((len(checked), 1 + wide * self.n_replicates))
        # A byte of the mask for each training row, and eight for each player while classes are
        # counted; eight for each prediction, and as much again three times while they are scored.
        width = 1 if self.classes is None else len(self.classes)
        masks = len(self._players.rows) + 8 * self.n_players
        bytes_each = masks + 32 * width * len(self._fitter.test)
        step = max(1, CHUNK_BYTES // bytes_each)
        with quiet():
            for start in range(0, len(checked), step):
                part = slice(start, start + step)
                values[part] = self._utilities(checked[part], wide=wide)
        return values

    def _of_nobody(self, *, wide: bool) -> FloatArray | float:
        """Return what no rows are worth: a number that was given is the same for all test rows."""
        if wide and self.empty_value == self.constant_value:
            best = self._fitter.best_constant(wide=True)
            return self.empty_value if best is None else best
        return self.empty_value

    def _utilities(self, coalitions: BoolArray, *, wide: bool) -> FloatArray:
        values = np.empty((len(coalitions), 1 + wide * self.n_replicates))
        fitted = coalitions.any(axis=1) | (self._players.n_base > 0)
        if not fitted.all():
            values[~fitted] = self._of_nobody(wide=wide)
        if self.classes is not None:
            counts = self._classes.of(coalitions)
            constant = ((counts > 0).sum(axis=1) == 1) & fitted
            values[constant] = self._constants(coalitions[constant], counts[constant], wide=wide)
            fitted &= ~constant
        if fitted.any():
            values[fitted] = self._trained(coalitions[fitted], wide=wide)
        return values

    def _constants(self, coalitions: BoolArray, counts: FloatArray, *, wide: bool) -> FloatArray:
        """Return the scores of the constant predictions of coalitions that hold one class."""
        held = counts.argmax(axis=1)
        scores = np.empty((len(coalitions), 1 + wide * self.n_replicates))
        for label in np.unique(held).tolist():
            share = (np.arange(counts.shape[1]) == label).astype(np.float64)
            score = partial(self._fitter.constant_score, wide=wide)
            scores[held == label] = self._guarded(score, share, coalitions[held == label][0])
        return scores

    def _trained(self, coalitions: BoolArray, *, wide: bool) -> FloatArray:
        """Return the scores of models trained on coalitions that can be fitted."""
        masks = self._players.masks(coalitions)
        score = self._fitter.score
        if self.vectorised and isinstance(score, Metric):
            return self._fitter.measured(self._learner.predict(masks, score.kind), wide=wide)
        order = self._players.order
        utility = partial(self._fitter.utility, wide=wide)
        pairs = zip(coalitions, masks, strict=True)
        return np.stack([self._guarded(utility, order[mask], one) for one, mask in pairs])

    def _guarded(
        self, compute: Callable[[Any], FloatArray], argument: Any, coalition: BoolArray
    ) -> FloatArray:
        """Return what is computed for a coalition; raise a GameError that names it otherwise."""
        try:
            return compute(argument)
        except (FairShapleyError, MemoryError):
            raise
        except (Exception, SystemExit) as error:
            raise self._failure(coalition, error) from error

    def _failure(self, coalition: BoolArray, error: BaseException) -> GameError:
        who = members(coalition)
        named = f"coalition {who}" if len(who) <= 10 else f"a coalition of {len(who)} players"
        remedies = [
            "where rows are too few for the model, give some that are always there as {base}"
        ]
        if not self._fitter.constant:
            remedies.append("let a constant prediction stand in with {unfittable:'constant'}")
        if len(who) == self.n_players:
            remedies = ["all training rows were there: check the model, the metric and the data"]
        said = f"{type(error).__name__}: {error}".rstrip(".")
        return GameError(f"{type(self.model).__name__} on {named}: {said}", who, remedy=remedies)

    @cached_property
    def _learner(self) -> Learner:
        from fairshapley.games.learners import batch_learner

        model, test = self._fitter.models[0], self._fitter.test
        rows = self._players.rows.take(self._players.order)
        with quiet():
            return batch_learner(
                model, rows.X, rows.y, test.X, device=self.device, dtype=self.dtype
            )

    def _why_not(self, wanted: bool | None) -> str:
        """Return why coalitions are fitted one at a time; empty when they need not be."""
        if wanted not in (None, True, False):
            raise InputError(f"vectorised must be None, True or False, not {wanted!r}")
        score = self._fitter.score
        if wanted is False:
            reason = "vectorised=False"
        elif not isinstance(score, Metric):
            reason = f"a scorer needs fitted models; vectorised metrics are {', '.join(METRICS)}"
        elif self.seeds is not None:
            reason = "the utility is averaged over seeds"
        elif self._players.rows.weights is not None:
            reason = "training rows have weights"
        else:
            reason = self._not_learnt(score)
        asked = {"vectorised": wanted or None, "device": self.device, "dtype": self.dtype}
        for option, value in asked.items():
            if reason and value is not None:
                raise NotVectorisedError(f"{option}={value!r} cannot be had: {reason}")
        return reason

    def _not_learnt(self, score: Metric) -> str:
        """Return why no vectorised learner serves the model and the metric; empty when one does."""
        try:
            known = score.kind in self._learner.kinds
        except NotVectorisedError as error:
            return str(error)
        return "" if known else f"the learner of {type(self.model).__name__} has no {score.kind}"

    def _refuse_missing(self) -> None:
        """Raise InputError when features are missing and the model cannot do without."""
        rows, test = self._players.rows, self._fitter.test
        for features, what in ((rows.X, "train"), (test.X, "test")):
            place = first_missing(features)
            if place is None:
                continue
            try:
                with quiet():
                    fitted = self._fitter.fit(self._fitter.models[0], rows)
                    if hasattr(fitted, "predict"):
                        fitted.predict(test.X)
            except (TypeError, ValueError) as error:
                row, column = place
                if (base := row - len(self._players.owner)) >= 0 and what == "train":
                    what, row = "base", base
                raise InputError(
                    f"X of {what} is missing or infinite in row {row}, column {column!r}, which "
                    f"{type(self.model).__name__} does not take: leave the row out, or impute, "
                    "e.g. make_pipeline(SimpleImputer(), model)"
                ) from error

    def __getstate__(self) -> dict[str, Any]:
        # A learner may hold arrays on a device; it is made again where it is needed.
        return {name: value for name, value in vars(self).items() if name != "_learner"}

    def __fingerprint_state__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__getstate__().items() if name not in _LABELS}


def _clusters(labels: Any, n_test: int) -> IntArray:
    """Return a number for each test row, the same for rows of one group."""
    if labels is None:
        return np.arange(n_test)
    given = as_labels(labels, "test_groups").astype(str)
    if given.shape != (n_test,):
        raise InputError(
            f"test_groups must be one label for each of the {n_test} test rows, not an array of "
            f"shape {given.shape}"
        )
    return np.unique(given, return_inverse=True)[1].reshape(-1).astype(np.int64)
