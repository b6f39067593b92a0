"""The thesis' four structures three times over: as coded, as claimed, and by Tacit. Fenced off from the package.

``as_coded`` re-creates what the code in the thesis' appendix 14.1 does, faults included; nothing made by it may protect
anybody. ``as_claimed`` is the same structure with the noise that its text promises. ``by_tacit`` asks the package.
Each has the functions ``central_flat``, ``continual_tree``, ``local_flat`` and ``local_hierarchy``, which make several
structures of one kind at once:

>>> import numpy as np
>>> from experiments.thesis_structures import as_coded
>>> made = as_coded.local_flat(np.array([3, 0, 5]), 1.0, n_structures=2, generator=np.random.default_rng(1))
>>> made.answers(np.array([0]), np.array([3])).round(6).tolist(), round(made.true_epsilon, 2)
([[8.0], [8.0]], 1.62)
"""

from experiments.thesis_structures.series import Series, read_series
from experiments.thesis_structures.structures import Structures

__all__ = ["Series", "Structures", "read_series"]
