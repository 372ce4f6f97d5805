"""Learners that fit one model to many sets of rows at once, on numpy or torch."""

from fairshapley.games.learners.base import Kind, Learner, NotVectorisedError
from fairshapley.games.learners.dispatch import batch_learner

__all__ = ["Kind", "Learner", "NotVectorisedError", "batch_learner"]
