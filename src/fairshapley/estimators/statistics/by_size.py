"""Sums for each coalition size, of tensors that stay on their device."""

from __future__ import annotations

from typing import Any

# Terms are rounded to whole multiples of 2⁻⁴⁰ of the largest, so that their sum does not depend on
# the order in which a GPU takes them; 2²² of them fit 63 bits.
FIXED_POINT = 2.0**40
TINY = 1e-150


def sums_by_size(at: Any, numbers: Any, length: int) -> Any:
    """How many numbers belong to each entry `at`, their sums and the sums of their squares.

    Parameters
    ----------
    at
        The entry of each number, a tensor of whole numbers.
    numbers
        A tensor of float64.
    length
        The number of entries.

    Returns
    -------
    tensor
        Shape (3, `length`), float64.
    """
    import torch

    scale = numbers.abs().max().clamp_min(TINY)
    shares = numbers / scale
    terms = torch.stack([torch.ones_like(shares), shares, shares * shares]) * FIXED_POINT
    sums = torch.zeros((3, length), dtype=torch.int64, device=at.device)
    sums.index_add_(1, at, terms.round_().long())
    factors = torch.stack([torch.ones_like(scale), scale, scale * scale])
    return sums.double() * (factors / FIXED_POINT)[:, None]
