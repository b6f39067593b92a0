"""Public axes of counts: bins of time, places, kinds, and their product.

:class:`TimeAxis` cuts time into bins of the local calendar, :class:`PlaceAxis` is an ordered list of places whose
names it matches as people write them, :class:`KindAxis` one of kinds of events, a :class:`Gazetteer` the public table
behind either. A :class:`Domain` is their product, a :class:`Box` a part of it to ask about.
"""

from tacit.domain.gazetteer import Gazetteer
from tacit.domain.hierarchy import Hierarchy
from tacit.domain.layout import AXES, Grouping, Layout, sum_groups
from tacit.domain.names import AMBIGUOUS, MISSING, OUTSIDE, UNKNOWN, fold_name
from tacit.domain.place import ALL, KindAxis, NamedAxis, PlaceAxis
from tacit.domain.product import Box, Domain
from tacit.domain.time import STEPS, TimeAxis

__all__ = [
    "ALL",
    "AMBIGUOUS",
    "AXES",
    "MISSING",
    "OUTSIDE",
    "STEPS",
    "UNKNOWN",
    "Box",
    "Domain",
    "Gazetteer",
    "Grouping",
    "Hierarchy",
    "KindAxis",
    "Layout",
    "NamedAxis",
    "PlaceAxis",
    "TimeAxis",
    "fold_name",
    "sum_groups",
]
