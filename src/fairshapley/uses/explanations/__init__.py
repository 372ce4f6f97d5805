"""Explanations of predictions: values of the features of each row.

`explain` is the call; `together` explains all rows at once, `one_by_one` by any method;
`attributions` is what both give.
"""

from fairshapley.uses.explanations.attributions import Attributions, shap_explanation
from fairshapley.uses.explanations.explain import explain

__all__ = ["Attributions", "explain", "shap_explanation"]
