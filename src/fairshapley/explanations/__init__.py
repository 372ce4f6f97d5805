"""Explanations of predictions: values of the features, or the words, of each row.

`explain` is the call, in `model_rows`; rows have `closed_forms` or are sampled jointly
(`sampling`); `attributions` holds the values, and `presentation` words and draws them.
"""

from fairshapley.explanations.attributions import Attributions
from fairshapley.explanations.model_rows import explain

__all__ = ["Attributions", "explain"]
