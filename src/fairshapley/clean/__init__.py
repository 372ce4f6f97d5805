"""Rows that are probably mislabelled, and what becomes of a model without them."""

from fairshapley.clean.search import suspects
from fairshapley.clean.suspect_rows import Suspects

__all__ = ["Suspects", "suspects"]
