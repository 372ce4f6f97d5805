"""Rows that are probably mislabelled, and what becomes of a model without them."""

from fairshapley.uses.suspects.found import Suspects
from fairshapley.uses.suspects.judging import suspects

__all__ = ["Suspects", "suspects"]
