"""The data sets of the paper, from scikit-learn or from files in a folder.

`load` reads a set, `available` says what is there, `describe` says what a set is and where its
files are to be had; `prepare` holds the paper's preparations. Nothing is read or fetched on import.
"""

from fairshapley.datasets import prepare
from fairshapley.datasets.bundled import gaussian
from fairshapley.datasets.dataset import Dataset
from fairshapley.datasets.entry import Entry
from fairshapley.datasets.files import DataError, MissingDataError
from fairshapley.datasets.loading import available, describe, load
from fairshapley.datasets.texts import hotel_review_rows

__all__ = [
    "DataError",
    "Dataset",
    "Entry",
    "MissingDataError",
    "available",
    "describe",
    "gaussian",
    "hotel_review_rows",
    "load",
    "prepare",
]
