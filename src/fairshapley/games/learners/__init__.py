"""Learners that fit one model to many sets of rows at once, on numpy or torch."""

from fairshapley.games.learners.dispatch import batch_learner
from fairshapley.games.learners.learner import Kind, Learner, NotVectorisedError

__all__ = ["Kind", "Learner", "NotVectorisedError", "batch_learner"]
