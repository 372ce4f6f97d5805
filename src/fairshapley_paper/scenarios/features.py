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
from numpy.typing import NDArray

from fairshapley._basics.types import FloatArray
from fairshapley.datasets import Dataset, load
from fairshapley.draws import AllCoalitions
from fairshapley.games.features import FeatureGame
from fairshapley.games.game import TableGame
from fairshapley.randomness import side_generator
from fairshapley_paper.experiment import Played, Setup
from fairshapley_paper.scenarios.tables import tabulated

ROWS = {"full": 2000, "quick": 500, "tiny": 150}
COMPONENTS = 7
TOLERANCE = 0.1
CLASS = 1
"""The column of the predicted probabilities that is explained"""


def adult(setup: Setup) -> Played:
    """Incomes from 7 principal components; a random forest of 10 trees."""
    return _played(_drawn(load("adult"), setup), _forest(setup.seed), components=True)


def wine(setup: Setup) -> Played:
    """Wines from 7 principal components; a random forest of 10 trees."""
    note = "the set has 178 rows; the paper reports 2000"
    return _played(load("wine"), _forest(setup.seed), components=True, notes=(note,))


def iris(_setup: Setup) -> Played:
    """Irises from their 4 features; the nearest neighbour."""
    from sklearn.neighbors import KNeighborsClassifier

    return _played(load("iris"), KNeighborsClassifier(1), components=False)


def covertype(setup: Setup) -> Played:
    """Forest covers from 7 principal components; a multi-layer perceptron."""
    from sklearn.neural_network import MLPClassifier

    note = "the rows are drawn from the first 10,000 of the set"
    data = _drawn(load("covertype", part="head"), setup)
    model = MLPClassifier(random_state=setup.seed, max_iter=1000)
    return _played(data, model, components=True, notes=(note,))


def _drawn(data: Dataset, setup: Setup) -> Dataset:
    generator = side_generator(setup.seed, f"paper features of {data.name}")
    return data.take(generator.choice(len(data), ROWS[setup.size], replace=False))


def _forest(seed: int) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(10, random_state=seed)


def _components(data: Dataset, seed: int) -> tuple[FloatArray, list[str]]:
    from sklearn.decomposition import PCA

    rows = PCA(COMPONENTS, random_state=seed).fit_transform(data.X)
    return rows, [f"component {place}" for place in range(1, COMPONENTS + 1)]


def _played(data: Dataset, model: Any, *, components: bool, notes: tuple[str, ...] = ()) -> Played:
    if components:
        rows, names = _components(data, 0)
    else:
        rows, names = np.asarray(data.X, dtype=np.float64), list(data.feature_names)
    model.fit(rows, data.y)
    notes = (f"the model is fitted to the {len(rows):,} rows that it explains", *notes)
    game = FeatureGame(
        model, rows, kind="conditional", output=CLASS, tolerance=TOLERANCE, feature_names=names
    )
    return tabulated(game, notes=notes)


def as_programmed(setup: Setup, name: str) -> Played:
    """The game of the authors' program: its models, its split, its neighbours."""
    from sklearn.calibration import CalibratedClassifierCV
    from sklearn.model_selection import train_test_split
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.neural_network import MLPClassifier
    from sklearn.svm import SVC

    data = load(name, part="head") if name == "covertype" else load(name)
    # Probabilities of a machine by a sigmoid over five folds, as SVC(probability=True) had them.
    model, split = {
        "adult": (CalibratedClassifierCV(SVC(), ensemble=False), 7),
        "wine": (_forest(42), 7),
        "iris": (KNeighborsClassifier(), 0),
        "covertype": (MLPClassifier(random_state=1, max_iter=300), 0),
    }[name]
    rows, names = _components(data, 1234) if name != "iris" else (data.X, list(data.feature_names))
    targets = (data.y == 1).astype(int) if name == "covertype" else data.y
    most = ROWS[setup.size]
    fitted, explained, answers, _ = train_test_split(
        rows[:most], targets[:most], test_size=0.2, random_state=split
    )
    with warnings.catch_warnings():  # 300 steps may not be the end
        warnings.simplefilter("ignore")
        model.fit(fitted, answers)
    utilities = signed_expectation(model.predict_proba(explained)[:, CLASS], explained)
    note = (
        f"the model ({type(model).__name__}) is fitted to {len(fitted):,} rows and explains "
        f"{len(explained):,} others; near is from 0.9x to 1.1x"
    )
    return Played(TableGame(utilities, player_names=names), notes=(note,))


def signed_expectation(predictions: FloatArray, rows: FloatArray) -> FloatArray:
    """All utilities of the reading in which negative numbers are near to nothing.

    Parameters
    ----------
    predictions
        The prediction of each row.
    rows
        The rows, one column for each player.

    Returns
    -------
    array
        2**n utilities, the index a bit mask.

    Examples
    --------
    >>> signed_expectation(np.array([1.0, 0.0]), np.array([[1.0], [-1.0]]))
    array([0.5, 0.5])
    """
    n_players = rows.shape[1]
    near = [_near(column) for column in rows.T]
    utilities = np.empty(1 << n_players)
    for index, coalition in enumerate(AllCoalitions(n_players).masks(0, 1 << n_players)):
        common = np.ones((len(rows), len(rows)), dtype=bool)
        for player in np.flatnonzero(coalition):
            common &= near[player]
        # Rows by rows: a product of booleans would be converted to doubles as a whole.
        counts = np.count_nonzero(common, axis=1)
        sums = np.array([predictions[row].sum() for row in common])
        utilities[index] = np.divide(sums, counts, out=np.zeros(len(rows)), where=counts > 0).mean()
    return utilities


def _near(column: FloatArray) -> NDArray[np.bool_]:
    low, high = (1 - TOLERANCE) * column[:, None], (1 + TOLERANCE) * column[:, None]
    near: NDArray[np.bool_] = (low <= column) & (column <= high)
    return near
