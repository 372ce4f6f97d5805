"""The only place where random generators are made: root seed → one stream per round.

Randomness belongs to the round, not to the worker, so that one worker, many workers and a
resumed run draw the same coalitions.
"""

from __future__ import annotations

import operator
from typing import Any

import numpy as np
from numpy.typing import NDArray

from fairshapley._basics.types import IntArray
from fairshapley.errors import InputError


def root_seed(seed: int | None) -> int:
    """Return the seed itself, or a fresh one from the operating system when it is None.

    Examples
    --------
    >>> root_seed(7)
    7
    """
    if seed is None:
        entropy = np.random.SeedSequence().entropy
        assert isinstance(entropy, int)  # noqa: S101 - numpy draws one 128-bit int
        return entropy
    try:
        number = operator.index(seed)
    except TypeError:
        raise InputError(
            "must be a whole number or None", parameter="seed", received=seed
        ) from None
    if number < 0:
        raise InputError(f"must not be negative, it is {number}", parameter="seed")
    return number


def round_generator(seed: int, round_index: int) -> np.random.Generator:
    """Return the generator of one round of a run.

    Examples
    --------
    >>> bool(round_generator(1, 0).random() == round_generator(1, 0).random())
    True
    >>> bool(round_generator(1, 0).random() == round_generator(1, 1).random())
    False
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(round_index,))
    return np.random.Generator(np.random.PCG64(sequence))


SEED_BYTES = 4
"""The size of the seed of a draw of a random utility"""


def draw_seeds(seed: int, numbers: IntArray) -> NDArray[np.uint32]:
    """Return a seed for each of the numbered draws of a random utility (the hash "splitmix64").

    Examples
    --------
    >>> draw_seeds(1, np.arange(3)).tolist() == draw_seeds(1, np.arange(5)).tolist()[:3]
    True
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(0, *b"noise"))
    words = numbers.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    words += sequence.generate_state(1, np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):
        words = (words ^ (words >> np.uint64(shift))) * np.uint64(factor)
    return ((words ^ (words >> np.uint64(31))) >> np.uint64(32)).astype("<u4")


def side_generator(seed: int, purpose: str) -> np.random.Generator:
    """Return a generator for what is not a round (e.g. which journalled values to verify).

    Its streams never meet the rounds' streams: their keys have another length.
    """
    sequence = np.random.SeedSequence(seed, spawn_key=(0, *purpose.encode()))
    return np.random.Generator(np.random.PCG64(sequence))


def device_generator(rng: np.random.Generator, device: str) -> Any:
    """Return a generator of torch on a device, seeded by that of the round.

    The same device and seed give the same bits; another device draws others.
    """
    import torch

    return torch.Generator(device=device).manual_seed(int(rng.integers(2**63)))
