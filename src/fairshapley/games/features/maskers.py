"""Maskers of shap, and what its `kmeans` gives, in the words of this package."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairshapley.errors import InputError


def masker_options(masker: Any, data: Any) -> dict[str, Any]:
    """What a masker says of absence, as options of `explain`; empty for what is none of shap's.

    A partition of the features is not used: the values are Shapley's, not Owen's.
    """
    name, module = type(masker).__name__, type(masker).__module__
    if module.partition(".")[0] != "shap":
        return {}
    if name in ("Independent", "Partition"):
        return {"background": _like(masker.data, data)}
    if name == "Impute":
        return {"background": _like(masker.data, data), "kind": "gaussian"}
    if name == "DenseData":
        return {"background": (_like(masker.data, data), masker.weights)}
    if name == "Text":
        return {
            "background": masker.mask_token,
            "groups": lambda text: list(masker.data_transform(text)[0]),
        }
    if name == "Image" and not isinstance(masker.input_mask_value, str):
        return {"background": np.reshape(masker.mask_value, masker.input_shape)}
    raise InputError(
        f"this masker ({name}) has no counterpart here: give rows as background=, and kind=; for "
        "images a number or an image"
    )


def _like(rows: Any, data: Any) -> Any:
    """Rows as a data frame where the data are one: maskers keep arrays."""
    if not hasattr(data, "iloc") or hasattr(rows, "iloc"):
        return rows
    return type(data)(rows, columns=data.columns).astype(data.dtypes)
