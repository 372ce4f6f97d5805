"""Explanations of predictions: values of the features of each row.

`explain` is the call; `job` has rows explained `together`, or one after the other by any method;
`attributions` is what both give.
"""

from fairshapley.uses.explanations.attributions import Attributions
from fairshapley.uses.explanations.explaining import explain

__all__ = ["Attributions", "explain"]
