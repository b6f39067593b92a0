"""The planner: how much every mechanism would err, before anything is collected.

* :mod:`~tacit.planner.oracles`: which randomizer says most about the counts of so many cells
"""

from __future__ import annotations

from tacit.planner.oracles import TIE, Candidate, Choice, choose, compare_oracles

__all__ = ["TIE", "Candidate", "Choice", "choose", "compare_oracles"]
