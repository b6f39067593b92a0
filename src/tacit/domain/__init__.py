"""What is counted where: bins of time, places, and their product.

:class:`TimeAxis` cuts time into bins of the local calendar, :class:`PlaceAxis` is an ordered list of places whose
names it matches as people write them, a :class:`Gazetteer` is the public table behind it. A :class:`Domain` is the
product of both, a :class:`Box` a part of it to ask about.
"""

from tacit.domain.gazetteer import Gazetteer
from tacit.domain.hierarchy import Hierarchy
from tacit.domain.matching import AMBIGUOUS, MISSING, OUTSIDE, UNKNOWN
from tacit.domain.names import fold_name
from tacit.domain.place import PlaceAxis
from tacit.domain.product import Box, Domain, sum_groups
from tacit.domain.time import STEPS, TimeAxis

__all__ = [
    "AMBIGUOUS",
    "MISSING",
    "OUTSIDE",
    "STEPS",
    "UNKNOWN",
    "Box",
    "Domain",
    "Gazetteer",
    "Hierarchy",
    "PlaceAxis",
    "TimeAxis",
    "fold_name",
    "sum_groups",
]
