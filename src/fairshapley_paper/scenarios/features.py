"""P4: features of a model, valued by the conditional expectation of its predictions.

v(S) is the mean over all rows x of the mean prediction among the rows near x in the features of S:
within ±10 % of x's own value. There are two readings of ±10 % where x is negative, as half of all
principal components are. "either sign" takes |z − x| ≤ 0.1·|x|. "from 0.9x to 1.1x" takes
0.9x ≤ z ≤ 1.1x, which no number satisfies for a negative x, so that such a row has no neighbour,
not even itself, and counts as 0. The text has the first; the sizes of the published errors are
those of the second.
"""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import FloatArray
from fairshapley.datasets import Dataset, load
from fairshapley.draws import AllCoalitions
from fairshapley.games.features import FeatureGame
from fairshapley.games.game import TableGame
from fairshapley_paper.experiment import Played, Setup
from fairshapley_paper.scenarios.tables import tabulated

Near = Literal["either sign", "from 0.9x to 1.1x"]

ROWS = {"full": 2000, "quick": 500, "tiny": 150}
COMPONENTS = 7
TOLERANCE = 0.1
CLASS = 1
"""The column of the predicted probabilities that is explained"""


def adult(setup: Setup, near: Near = "either sign") -> Played:
    """Incomes from 7 principal components; a random forest of 10 trees."""
    data = load("adult").take(slice(0, ROWS[setup.size]))
    return _played(data, _forest(setup), near, components=True)


def wine(setup: Setup, near: Near = "either sign") -> Played:
    """Wines from 7 principal components; a random forest of 10 trees."""
    note = "the set has 178 rows; the paper reports 2000"
    return _played(load("wine"), _forest(setup), near, components=True, notes=(note,))


def iris(_setup: Setup, near: Near = "either sign") -> Played:
    """Irises from their 4 features; the nearest neighbour."""
    from sklearn.neighbors import KNeighborsClassifier

    return _played(load("iris"), KNeighborsClassifier(1), near, components=False)


def covertype(setup: Setup, near: Near = "either sign") -> Played:
    """Forest covers from 7 principal components; a multi-layer perceptron."""
    from sklearn.neural_network import MLPClassifier

    data = load("covertype", part="head").take(slice(0, ROWS[setup.size]))
    model = MLPClassifier(random_state=setup.seed, max_iter=1000)
    return _played(data, model, near, components=True)


def _forest(setup: Setup) -> Any:
    from sklearn.ensemble import RandomForestClassifier

    return RandomForestClassifier(10, random_state=setup.seed)


def _played(
    data: Dataset, model: Any, near: Near, *, components: bool, notes: tuple[str, ...] = ()
) -> Played:
    from sklearn.decomposition import PCA

    if components:
        rows = PCA(COMPONENTS, random_state=0).fit_transform(data.X)
        names = [f"component {place}" for place in range(1, COMPONENTS + 1)]
    else:
        rows, names = np.asarray(data.X, dtype=np.float64), list(data.feature_names)
    model.fit(rows, data.y)
    notes = (
        f"the model is fitted to the {len(rows):,} rows that it explains",
        f"near is {near}",
        *notes,
    )
    if near == "either sign":
        game = FeatureGame(
            model,
            rows,
            kind="conditional",
            output=CLASS,
            tolerance=TOLERANCE,
            feature_names=names,
        )
        return tabulated(game, notes=notes)
    utilities = signed_expectation(model.predict_proba(rows)[:, CLASS], rows)
    return Played(TableGame(utilities, player_names=names), notes=notes)


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
