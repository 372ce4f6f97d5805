"""What a vectorised learner is: one model fitted to many sets of rows at once.

Learners are written over the array API, so that the same code runs on numpy and on torch, there
also on a GPU. They know nothing of players, metrics or games.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

from fairshapley._basics.types import BoolArray
from fairshapley.errors import InputError

# An array of numpy or torch: the namespaces share no type that could be named.
Array: TypeAlias = Any

Predicted: TypeAlias = Literal["label", "probability", "decision", "value"]
"""What is predicted of a test row: the index of a class, a probability for each class, a score
that grows with the second of two classes, or a number"""


class NotVectorisedError(InputError):
    """The model, its parameters or its data have no vectorised learner; the message says why."""


class Learner(Protocol):
    """Fits a model to many sets of training rows and predicts the test rows with each.

    It is made for fixed training and test rows. Every set of rows it is given can be fitted: it is
    not empty and, for classifiers, holds at least two classes.
    """

    where: Any
    """Where its arrays live, an `arrays.Backend`"""

    @property
    def kinds(self) -> frozenset[Predicted]:
        """What it can predict."""
        ...

    def predict(self, rows: BoolArray, kind: Predicted) -> Array:
        """The predictions for the test rows of the models fitted to each set of training rows.

        Parameters
        ----------
        rows
            Boolean, shape (m, training rows).
        kind
            What to predict.

        Returns
        -------
        Array
            In the learner's own namespace, on its device. "label": integers (m, test rows), an
            index into the sorted classes of all training rows; "probability":
            (m, test rows, classes), 0 for classes that are not in the set; "decision" and
            "value": (m, test rows).
        """
        ...

    def predict_sets(self, sets: Array, kind: Predicted) -> Array:
        """The same for sets that are columns on the learner's device, boolean (rows, sets)."""
        ...
