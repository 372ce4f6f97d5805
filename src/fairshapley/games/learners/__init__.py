"""Learners that fit one model to many sets of rows at once, on numpy or torch."""

from fairshapley.games.learners.dispatch import batch_learner
from fairshapley.games.learners.learner import Learner, NotVectorisedError, Predicted

__all__ = ["Learner", "NotVectorisedError", "Predicted", "batch_learner"]
