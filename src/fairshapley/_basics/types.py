"""Array types used in every signature."""

from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

BoolArray: TypeAlias = NDArray[np.bool_]
FloatArray: TypeAlias = NDArray[np.float64]
IntArray: TypeAlias = NDArray[np.int64]
SizeArray: TypeAlias = NDArray[np.integer]
"""Whole numbers of any width: sizes of coalitions, kept small"""
ByteArray: TypeAlias = NDArray[np.uint8]
FloatMatrix: TypeAlias = NDArray[np.float64]
"""Numbers in rows, one row for each player"""
Real: TypeAlias = float
"""A number of any sign, where stored numbers are mostly at least 0"""
