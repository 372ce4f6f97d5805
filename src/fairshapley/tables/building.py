"""A data game from tables: the worth of each row, or each group of rows, to a model."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray
from sklearn.compose import TransformedTargetRegressor
from sklearn.preprocessing import StandardScaler

from fairshapley._basics.checks import choice
from fairshapley._basics.text import one_line, quoted, several
from fairshapley._basics.types import FloatArray, IntArray
from fairshapley.errors import InputError
from fairshapley.games.data.data_game import DataGame
from fairshapley.games.data.fitting import task_of
from fairshapley.games.data.scoring import Scorer
from fairshapley.tables.columns import Target, column_of, read_target, texts_of, weights_of
from fairshapley.tables.copies import copied_rows, find_copies, find_remarks, merged_players
from fairshapley.tables.models import (
    DEFAULT_MODEL,
    OF_ANY_SCALE,
    TASKS,
    Task,
    imported_object,
    make_model,
)
from fairshapley.tables.preprocessing import Preprocessor
from fairshapley.tables.reading import arrow_table, check_typos, row_labels
from fairshapley.tables.splitting import sample_rows, split_table

if TYPE_CHECKING:
    import pyarrow as pa

DEFAULT_METRIC: dict[Task, str] = {"classification": "accuracy", "regression": "r2"}
# The paper's ξ for accuracies.
XI_OF_SHARES = 1e-3
PRECISIONS = {"double": None, "single": "float32"}


@dataclass(frozen=True, eq=False)
class TabularGame:
    """A data game made from tables, and what was decided on the way."""

    game: DataGame
    notes_on_rows: tuple[str, ...]
    """The decisions that hold also where the rows are not valued by this game"""
    notes_on_game: tuple[str, ...]
    """The players, the utility, and players with copies of each other's rows"""
    labels: tuple[str, ...] | None
    """The class of each player that is a row; None for groups and for numbers"""
    metric: str
    """The name of the metric"""
    feature_names: tuple[str, ...]
    """A name for each column of `features`"""
    columns: tuple[str, ...]
    """The column of the table that each of these comes from"""
    test_numbers: tuple[int, ...]
    """The number of each test row in its file, from 1"""
    unions: tuple[str, ...] | None = None
    """The union of each player, see `union_by` of `table_game`"""

    @cached_property
    def xi(self) -> float:
        """The tolerance near zero that the shell takes, in the unit of the metric.

        0.001 for metrics from 0 to 1; otherwise |v(N) − v(∅)|/n, an equal share of what the rows
        add, which takes two evaluations.

        Examples
        --------
        >>> rows = {"x": [1.0, 2.0, 3.0, 4.0], "price": [1.5, 2.5, 3.5, 4.5]}
        >>> table_game(rows, "price", test=rows, metric="mae", model="ridge").xi > 0.001
        True
        """
        if self.game.value_range == (0.0, 1.0):
            return XI_OF_SHARES
        empty, full = self.game(np.repeat([[False], [True]], self.game.n_players, axis=1))
        return abs(float(full - empty)) / self.game.n_players

    @property
    def features(self) -> FloatArray:
        """The rows that are valued as a matrix, encoded and standardised; without targets.

        Examples
        --------
        >>> rows = {"age": [20, 30, 40, 50], "town": ["a", "b", "b", "a"], "y": [0, 1, 0, 1]}
        >>> made = table_game(rows, "y", test=rows)
        >>> made.feature_names, made.features.shape
        (('age', "town = 'a'", "town = 'b'"), (4, 3))
        """
        return self.game.train[0]

    @property
    def test_features(self) -> FloatArray:
        """The rows to score on, encoded in the same way."""
        return self.game.test[0]

    @property
    def notes(self) -> tuple[str, ...]:
        """Every decision, a sentence each."""
        return self.notes_on_rows + self.notes_on_game


@dataclass(frozen=True, eq=False)
class _Part:
    """Some rows of a table, with their numbers in the file."""

    table: pa.Table
    numbers: IntArray
    what: str

    def take(self, rows: IntArray, what: str) -> _Part:
        return _Part(self.table.take(rows), self.numbers[rows], what)

    def texts(self, name: str, role: str) -> list[str]:
        return texts_of(self.table, name, self.what, role, self.numbers)


_Data: TypeAlias = tuple[FloatArray, NDArray[Any]]


def table_game(
    train: Any,
    target: str,
    *,
    test: Any = None,
    model: Any = "auto",
    task: str = "auto",
    metric: str | Scorer | Callable[[Any, Any], float] | None = None,
    group_by: str | None = None,
    union_by: str | None = None,
    names: str | None = None,
    drop: Sequence[str] = (),
    sample: int | None = None,
    test_size: float = 0.2,
    split_seed: int = 0,
    split_by: str | None = None,
    split_time: str | None = None,
    weights: str | None = None,
    merge_identical: bool = False,
    empty_value: float | None = None,
    unfittable: Literal["raise", "constant"] = "raise",
    precision: Literal["double", "single"] = "double",
    device: str | None = None,
) -> TabularGame:
    """Return the game whose players are the rows of a table, or groups of them.

    Parameters
    ----------
    train
        The rows to be valued: an Arrow table, a pandas DataFrame (a named index names the rows), a
        polars DataFrame, a Hugging Face dataset, columns by name, an array (columns x0, x1, …), or
        the
        path of a file, see `read_table`.
    target
        The column to be predicted.
    test
        The rows to score on. None takes some of `train`, which are then not valued.
    model
        "auto" (logistic regression for classes, ridge regression for numbers), another of
        `MODELS`, "package:estimator", or an unfitted estimator of scikit-learn's kind.
    task
        "classification", "regression", or "auto": by the model, else by the target.
    metric
        As in `DataGame`; by default "accuracy", or "r2". A function of (y, predictions) may be
        given as "package:function" too; more is better.
    group_by
        A column whose values are the players; it is no feature.
    union_by
        A column whose values are unions of players, such as the companies of suppliers; it is no
        feature. `TabularGame.unions` has them for the `unions` of `estimate`.
    names
        A column with a name for each row; it is no feature.
    drop
        Columns to leave out.
    sample
        The number of rows to value, drawn at random.
    test_size, split_seed
        The share or number of test rows where `test` is None; what fixes the choice of these and
        of the sample.
    split_by
        Without `test`: a column (a patient, a shop) whose rows are all valued or all scored on. It
        is no feature.
    split_time
        Without `test`: a column of dates, times or numbers; the latest rows are scored on. It is
        no feature.
    weights
        A column that says how much each row counts, in training and in scoring; it is no feature.
    merge_identical
        Whether players with the same rows become one player, which has these rows once.
    empty_value, unfittable
        As in `DataGame`: the utility of no rows, by default that of the best constant prediction
        (of a few for metrics that only scikit-learn has); what becomes of rows that the model
        refuses.
    precision
        Of vectorised learners: "single" is about twice as fast, on a GPU far more.
    device
        Where vectorised learners compute, as in `DataGame`: "cuda" is a GPU.

    Examples
    --------
    >>> import pyarrow as pa
    >>> rows = pa.table({"x": [0.0, 1.0, 0.1, 0.9, 0.2, 0.8], "y": ["a", "b"] * 3})
    >>> made = table_game(rows, "y", model="knn", test_size=2)
    >>> made.game.n_players, sorted(made.labels)
    (4, ['a', 'a', 'b', 'b'])
    >>> print(made.notes[1])
    no test rows were given: 2 of the 6 rows, drawn at random (seed 0), are for scoring; ...
    """
    choice("precision", precision, tuple(PRECISIONS))
    if group_by is not None and names is not None:
        raise InputError(
            "names the players already", parameter="group_by", remedy="leave {names} out"
        )
    if test is not None and (split_by is not None or split_time is not None):
        remedy = "leave {split_by} and {split_time} out"
        raise InputError("holds the rows to score on", parameter="test", remedy=remedy)
    if split_by is not None and split_by == group_by:
        raise InputError(
            f"all rows of one {group_by!r:.60} would be scored on, and it would get no value",
            remedy=("give another column than {group_by} as {split_by}", "give {test} rows"),
        )
    roles = (group_by, union_by, names, split_by, split_time, weights, *drop)
    others = [name for name in roles if name is not None]
    if target in others:
        raise InputError(f"{target!r:.60} is the target, and has another role too: give it one")
    notes: list[str] = []
    rows = _read(train, "training", others)
    for name in others:
        column_of(rows.table, name, "training", "a parameter names it")
    scored = None if test is None else _read(test, "test", others)
    if sample is not None and sample < len(rows.numbers):
        notes.append(f"{sample:,} of {len(rows.numbers):,} rows were drawn at random to be valued")
        rows = rows.take(sample_rows(len(rows.numbers), sample, split_seed), "training")
    full = read_target(rows.table, target, "training")
    chosen, kind = _model(model, task, full, notes)
    if scored is None:
        classes = full.classes(text=True) if kind == "classification" else None
        splits = test_size, split_seed, split_by, split_time
        rows, scored = _drawn(rows, classes, splits, group_by, notes)
    players = (
        _names(rows, names, row_labels(train))
        if group_by is None
        else rows.texts(group_by, "group_by=")
    )
    if merge_identical:
        kept, players, merged = merged_players(rows.table, players, {*others} - {weights})
        rows = rows.take(kept, "training")
        notes.extend(merged)
    y, y_test = _targets(rows, scored, target, kind, notes)
    free = [name for name in rows.table.column_names if name not in (target, *others)]
    fitted = Preprocessor.fit(rows.table, free)
    notes.extend(fitted.notes)
    x, x_test = (fitted.encode(part.table, part.what) for part in (rows, scored))
    counting, counting_test = _weights(rows, scored, weights, notes)
    notes.extend(_shared_rows((x, y), (x_test, y_test), drawn=test is None))
    wanted, name = _metric(metric or DEFAULT_METRIC[kind])
    game = DataGame(
        chosen,
        (x, y, counting),
        (x_test, y_test, counting_test),
        wanted,
        groups=None if group_by is None else players,
        empty_value=empty_value,
        unfittable=unfittable,
        player_names=None if group_by is not None else players,
        device=device,
        dtype=PRECISIONS[precision],
        test_groups=None if split_by is None else scored.texts(split_by, "split_by="),
    )
    constant = game.empty_value == game.constant_value
    on_game = [
        f"{several(game.n_players, 'player')}; utility: {name} of "
        f"{one_line(repr(game.model), 60)} on the test rows; coalitions "
        f"are fitted {'many' if game.vectorised else 'one'} at a time",
        f"with no training rows the score is {game.empty_value:.6g}, "
        f"{'that of the best constant prediction on the test rows' if constant else 'as given'}",
    ]
    if group_by is None:
        on_game += copied_rows(x, y, players)
    else:
        game.copies, copies = find_copies(x, y, players)
        owners = game.player_names or ()
        game.remarks = find_remarks(x, y, players, (x_test, y_test))
        on_game += copies
        on_game += [f"{owners[player]!r:.60}: {said}" for player, said in game.remarks]
    is_rows = group_by is None and kind == "classification"
    return TabularGame(
        game,
        tuple(notes),
        tuple(on_game),
        tuple(map(str, y)) if is_rows else None,
        name,
        fitted.feature_names,
        fitted.owners,
        tuple(scored.numbers.tolist()),
        None
        if union_by is None
        else _unions(rows, union_by, players, list(game.player_names or ())),
    )


def _metric(wanted: Any) -> tuple[Any, str]:
    """Return the metric, imported where a place names it, and its name."""
    if isinstance(wanted, str) and ":" in wanted:
        wanted = imported_object(wanted, "metric")
    name = wanted if isinstance(wanted, str) else getattr(wanted, "__name__", "score")
    return wanted, one_line(name, 60)


def _unions(
    rows: _Part, column: str, players: Sequence[str], order: Sequence[str]
) -> tuple[str, ...]:
    """Return the union of each player, which all its rows must name."""
    found: dict[str, str] = {}
    for player, union in zip(players, rows.texts(column, "union_by="), strict=True):
        if found.setdefault(player, union) != union:
            raise InputError(
                f"the rows of {player!r:.60} name the unions {found[player]!r:.60} and "
                f"{union!r:.60}",
                parameter="union_by",
                remedy="name one union for each player",
            )
    return tuple(found[player] for player in order)


def _read(data: Any, what: str, but: Collection[str | None]) -> _Part:
    """Return a table with the numbers of its rows."""
    table = arrow_table(data, f"{what} rows")
    check_typos(table, but, what)
    return _Part(table, np.arange(1, table.num_rows + 1), what)


def _model(name: Any, task: str, target: Target, notes: list[str]) -> tuple[Any, Task]:
    """Return the model, and whether it predicts classes or numbers."""
    choice("task", task, ("auto", *TASKS))
    kind = target.guessed_task() if task == "auto" else cast("Task", task)
    named = name if isinstance(name, str) else ""
    if task == "auto" and named == "logistic":
        kind = "classification"
    model = make_model(DEFAULT_MODEL[kind] if named == "auto" else name, kind)
    found = task_of(model)
    if found != "other":
        own: Task = "classification" if found == "classifier" else "regression"
        if task not in ("auto", own):
            raise InputError(f"{type(model).__name__} is for {own}", remedy="leave {task} out")
        kind = own
    if kind == "regression" and found == "regressor" and type(model).__name__ not in OF_ANY_SCALE:
        # In units of the spread of its training rows.
        model = TransformedTargetRegressor(model, transformer=StandardScaler(), check_inverse=False)
    if task == "auto" and named not in ("", "logistic") and ":" not in named:
        what = "classes" if kind == "classification" else "numbers"
        notes.append(f"target {target.name!r:.60} was taken for {what}; another task can be given")
    return model, kind


def _drawn(
    rows: _Part,
    classes: NDArray[Any] | None,
    splits: tuple[float, int, str | None, str | None],
    group_by: str | None,
    notes: list[str],
) -> tuple[_Part, _Part]:
    """Return the rows to be valued and those that are taken for scoring."""
    kept, held, how = split_table(rows.table, classes, *splits)
    notes.append(
        f"no test rows were given: {len(held):,} of the {len(rows.numbers):,} rows, {how}, "
        f"are for scoring; the other {len(kept):,} are valued"
    )
    valued, scored = rows.take(kept, "training"), rows.take(held, "test")
    if group_by is not None:
        known, drawn = ({*part.texts(group_by, "group_by=")} for part in (valued, scored))
        if lost := sorted(drawn - known):
            notes.append(
                f"no value for {quoted(lost)}: all their rows are for scoring; give other rows "
                "to score on, and all of these are valued"
            )
    return valued, scored


def _targets(
    rows: _Part, scored: _Part, name: str, kind: Task, notes: list[str]
) -> tuple[NDArray[Any], NDArray[Any]]:
    """Return the targets of training and test rows."""
    train, test = (read_target(part.table, name, part.what) for part in (rows, scored))
    if kind == "regression":
        numbers = train.numbers()
        if not np.ptp(numbers) > 0:
            raise InputError(
                f"all training rows have the same target {name!r:.60}, so that there is nothing "
                "to learn: give rows with different targets"
            )
        return numbers, test.numbers()
    classes, scored_classes = (part.classes(text=train.is_text) for part in (train, test))
    unknown = scored_classes[~np.isin(scored_classes, classes)]
    if len(unknown):
        notes.append(
            f"{len(unknown):,} of {len(scored_classes):,} test rows have a class that no "
            "training row has, and that no model here can predict: "
            f"{quoted([str(one) for one in np.unique(unknown)])}"
        )
    return classes, scored_classes


def _weights(
    rows: _Part, scored: _Part, name: str | None, notes: list[str]
) -> tuple[FloatArray | None, FloatArray | None]:
    """Return the weights of training and test rows."""
    if name is None:
        return None, None
    known = weights_of(rows.table, name, "training")
    if name in scored.table.column_names:
        return known, weights_of(scored.table, name, "test")
    notes.append(f"the test rows have no weights {name!r:.60}: they count alike")
    return known, None


def _shared_rows(train: _Data, test: _Data, *, drawn: bool) -> list[str]:
    """Return a note where test rows are training rows too; if drawn, that may be by chance."""
    known, scored = (
        [(row.tobytes(), target) for row, target in zip(x, y.tolist(), strict=True)]
        for x, y in (train, test)
    )
    count = sum(map(set(known).__contains__, scored))
    if not count:
        return []
    unless = "unless that is by chance, " if drawn else ""
    return [
        f"{count:,} of {len(scored):,} test rows are training rows too: {unless}a model knows "
        "their answers, and rows are worth more than they would be for new data"
    ]


def _names(rows: _Part, column: str | None, labels: Sequence[str] | None) -> list[str]:
    """Return a name for each row: that in a column or an index, or its number in the table."""
    if column is None and labels is not None:
        return [labels[number - 1] for number in rows.numbers]
    if column is None:
        return [f"row {number}" for number in rows.numbers]
    texts = rows.texts(column, "names=")
    twice, count = Counter(texts).most_common(1)[0]
    if count > 1:
        raise InputError(
            f"column {column!r:.60} names several rows {twice!r:.60}",
            remedy=(
                "give each a name of its own",
                f"value them together with {{group_by:{column!r:.60}}}",
            ),
        )
    return texts
