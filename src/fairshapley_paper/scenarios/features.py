"""P4: features of a model, valued by the conditional expectation of its predictions.

v(S) is the mean over all rows x of the mean prediction among the rows near x in the features of S:
within ±10 % of x's own value. The text is read as |z − x| ≤ 0.1·|x|. The authors' program takes
0.9x ≤ z ≤ 1.1x, which no number satisfies for a negative x, as half of all principal components
are: such a row has no neighbour, not even itself, and counts as 0. It also explains the fifth of
the rows that its model has not seen, and has models of its own.
"""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from fairshapley._basics.checks import ROUNDING
from fairshapley._basics.types import BoolArray, FloatArray
from fairshapley.draws import AllCoalitions
from fairshapley.games.game import TableGame
from fairshapley.randomness import side_generator
from fairshapley_paper.datasets import Dataset, load
from fairshapley_paper.experiment import ScenarioGame, Setup

ROWS = {"full": 2000, "quick": 500, "tiny": 150}
COMPONENTS = 7
TOLERANCE = 0.1
CLASS = 1
"""The column of the predicted probabilities that is explained"""


_NOTES = {
    "wine": ("the set has 178 rows; the paper reports 2000",),
    "covertype": ("the rows are drawn from the first 10,000 of the set",),
}


def explained_rows(setup: Setup, name: str) -> ScenarioGame:
    """Return the game of a dataset: its 7 principal components, for iris its 4 features."""
    data = load(name)
    if name == "covertype":
        data = data.select(split="head")
    return _as_programmed(setup, data) if setup.reading == "program" else _as_written(setup, data)


def _as_written(setup: Setup, data: Dataset) -> ScenarioGame:
    """Return the game of the text: rows drawn at random, and a model of them."""
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier

    if data.name in ("adult", "covertype"):
        generator = side_generator(setup.seed, f"paper features of {data.name}")
        data = data.take(generator.choice(len(data), ROWS[setup.size], replace=False))
    models: dict[str, Any] = {
        "iris": KNeighborsClassifier(1),
        "covertype": MLPClassifier(random_state=setup.seed, max_iter=1000),
    }
    rows, names = _players(data, 0)
    model = models.get(data.name, RandomForestClassifier(10, random_state=setup.seed))
    model.fit(rows, data.y)
    utilities = neighbourhood_expectation(model.predict_proba(rows)[:, CLASS], rows)
    note = f"the model is fitted to the {len(rows):,} rows that it explains"
    game = TableGame(utilities, player_names=names)
    return ScenarioGame(game, notes=(note, *_NOTES.get(data.name, ())))


def _players(data: Dataset, seed: int) -> tuple[FloatArray, list[str]]:
    if data.name == "iris":
        return data.X, list(data.feature_names)
    from sklearn.decomposition import PCA

    rows = PCA(COMPONENTS, random_state=seed).fit_transform(data.X)
    return rows, [f"component {place}" for place in range(1, COMPONENTS + 1)]


def score_signs(rows: FloatArray) -> FloatArray:
    """Return the signs of scikit-learn 1.1.1: the largest |score| of a component is positive."""
    largest = np.abs(rows).argmax(axis=0)
    return np.sign(rows[largest, np.arange(rows.shape[1])])


def _as_programmed(setup: Setup, data: Dataset) -> ScenarioGame:
    """Return the game of the authors' program: its models, its split, its neighbours."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.ensemble import RandomForestClassifier
    from sklearn.model_selection import train_test_split
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC

    # Probabilities of a machine by a sigmoid over five folds, as SVC(probability=True) had them.
    models: dict[str, tuple[Any, int]] = {
        "adult": (CalibratedClassifierCV(SVC(), ensemble=False), 7),
        "wine": (RandomForestClassifier(10, random_state=42), 7),
        "iris": (KNeighborsClassifier(), 0),
        "covertype": (MLPClassifier(random_state=1, max_iter=300), 0),
    }
    model, split = models[data.name]
    rows, names = _players(data, 1234)
    rows = rows * score_signs(rows) if data.name != "iris" else rows
    targets = (data.y == 1).astype(int) if data.name == "covertype" else data.y
    most = ROWS[setup.size]
    fitted, explained, answers, _ = train_test_split(
        rows[:most], targets[:most], test_size=0.2, random_state=split
    )
    with warnings.catch_warnings():  # 300 steps may not be the end
        warnings.simplefilter("ignore")
        model.fit(fitted, answers)
    utilities = neighbourhood_expectation(
        model.predict_proba(explained)[:, CLASS], explained, signed=True
    )
    note = (
        f"the model ({type(model).__name__}) is fitted to {len(fitted):,} rows and explains "
        f"{len(explained):,} others; near is from 0.9x to 1.1x"
    )
    return ScenarioGame(TableGame(utilities, player_names=names), notes=(note,))


def neighbourhood_expectation(
    predictions: FloatArray, rows: FloatArray, *, signed: bool = False
) -> FloatArray:
    """Return all utilities where a row is near that is within ±10 % in each feature.

    Parameters
    ----------
    predictions
        The prediction of each row.
    rows
        The rows, one column for each player.
    signed
        The program's reading, in which a negative number is near to nothing, itself included.

    Returns
    -------
    array
        2**n utilities, the index a bit mask.

    Examples
    --------
    >>> neighbourhood_expectation(np.array([1.0, 0.0]), np.array([[1.0], [-1.0]]))
    array([0.5, 0.5])
    >>> neighbourhood_expectation(np.array([1.0, 0.5]), np.array([[1.0], [-1.0]]), signed=True)
    array([0.75, 0.5 ])
    """
    if signed:
        low, high = (1 - TOLERANCE) * rows[:, None], (1 + TOLERANCE) * rows[:, None]
        return _expectation(predictions, (low <= rows) & (rows <= high))
    # 1.1 is within ±10 % of 1.0, although 1.1 − 1.0 > 0.1 in floating point: the edge belongs to
    # the neighbourhood, up to the rounding of numbers of nine digits.
    width = TOLERANCE * (1 + ROUNDING) * np.abs(rows)
    return _expectation(predictions, np.abs(rows - rows[:, None]) <= width[:, None])


def _expectation(predictions: FloatArray, near: BoolArray) -> FloatArray:
    """Return the mean over rows of the mean prediction among those near in all features of S."""
    n_rows, _, n_players = near.shape
    utilities = np.empty(1 << n_players)
    for index, coalition in enumerate(AllCoalitions(n_players).masks(0, 1 << n_players)):
        common: BoolArray = np.all(near[:, :, coalition], axis=2)
        # Rows by rows: a product of booleans would be converted to doubles as a whole.
        counts = np.count_nonzero(common, axis=1)
        sums = np.array([predictions[row].sum() for row in common])
        utilities[index] = np.divide(sums, counts, out=np.zeros(n_rows), where=counts > 0).mean()
    return utilities
