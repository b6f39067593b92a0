"""Types of arrays that many modules name."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

FloatArray = NDArray[np.float64]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]
Float32Array = NDArray[np.float32]
Times = NDArray[np.datetime64]
