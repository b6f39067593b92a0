"""Tacit counts events over time and place without telling on anyone.

The flow, as nouns: events fall into the cells of a :class:`Domain` (a :class:`TimeAxis` times a
:class:`PlaceAxis`); a :class:`Plan` fixes what is private and the randomizer that hides it; reports are summed
to a :class:`Tally`; a tally becomes an :class:`Estimate`; a :class:`Release` leaves for the public and gives an
:class:`Answer` to any question about a :class:`Box`. A trusted curator counts exactly (:class:`ExactTally`), pays a
:class:`Cost` from a :class:`Ledger`, and gets an :class:`Estimate` with noise for the :class:`Spend`.

>>> import numpy as np
>>> from tacit import Domain, PlaceAxis, SecureRandomness, TimeAxis, mechanism_of, plan_for
>>> domain = Domain(TimeAxis.between("2018-01-01", "2018-01-02"), PlaceAxis.of(["north", "south", "west"]))
>>> plan = plan_for(domain, epsilon=2.0)
>>> device = mechanism_of(plan)
>>> report = device.randomize(np.array([domain.place.find("south")[0]]), randomness=SecureRandomness())
>>> report.shape  # one report of one byte, whatever the value
(1, 1)

Names are loaded when they are first used, so that importing the package costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from tacit.collection.curating import curate_events
    from tacit.collection.tallying import estimate_tally, tally_reports
    from tacit.collection.wire import RandomizingWriter, ReportFile
    from tacit.counts.estimate import Answer, Estimate
    from tacit.counts.query import answer_ranges
    from tacit.counts.tally import ExactTally, Tally
    from tacit.domain import Box, Domain, Gazetteer, PlaceAxis, TimeAxis
    from tacit.errors import TacitError
    from tacit.mechanisms.central.table import CENTRAL_MECHANISMS, central_mechanism_of, central_plan_for
    from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for
    from tacit.plan import Plan
    from tacit.privacy.budget import Budget
    from tacit.privacy.cost import Cost
    from tacit.privacy.ledger import Ledger, Spend
    from tacit.privacy.unit import Unit
    from tacit.randomness import Randomness, SecureRandomness, SeededRandomness
    from tacit.release import PrivacyStatement, Release

__version__ = "0.1.0"

__all__ = [
    "CENTRAL_MECHANISMS",
    "MECHANISMS",
    "Answer",
    "Box",
    "Budget",
    "Cost",
    "Domain",
    "Estimate",
    "ExactTally",
    "Gazetteer",
    "Ledger",
    "PlaceAxis",
    "Plan",
    "PrivacyStatement",
    "RandomizingWriter",
    "Randomness",
    "Release",
    "ReportFile",
    "SecureRandomness",
    "SeededRandomness",
    "Spend",
    "TacitError",
    "Tally",
    "TimeAxis",
    "Unit",
    "answer_ranges",
    "central_mechanism_of",
    "central_plan_for",
    "curate_events",
    "estimate_tally",
    "mechanism_of",
    "plan_for",
    "tally_reports",
]

_HOMES: Final = {
    "Answer": "tacit.counts.estimate",
    "Box": "tacit.domain",
    "Budget": "tacit.privacy.budget",
    "CENTRAL_MECHANISMS": "tacit.mechanisms.central.table",
    "Cost": "tacit.privacy.cost",
    "Domain": "tacit.domain",
    "Estimate": "tacit.counts.estimate",
    "ExactTally": "tacit.counts.tally",
    "Gazetteer": "tacit.domain",
    "Ledger": "tacit.privacy.ledger",
    "MECHANISMS": "tacit.mechanisms.registry",
    "PlaceAxis": "tacit.domain",
    "Plan": "tacit.plan",
    "PrivacyStatement": "tacit.release",
    "RandomizingWriter": "tacit.collection.wire",
    "Randomness": "tacit.randomness",
    "Release": "tacit.release",
    "ReportFile": "tacit.collection.wire",
    "SecureRandomness": "tacit.randomness",
    "SeededRandomness": "tacit.randomness",
    "Spend": "tacit.privacy.ledger",
    "TacitError": "tacit.errors",
    "Tally": "tacit.counts.tally",
    "TimeAxis": "tacit.domain",
    "Unit": "tacit.privacy.unit",
    "answer_ranges": "tacit.counts.query",
    "central_mechanism_of": "tacit.mechanisms.central.table",
    "central_plan_for": "tacit.mechanisms.central.table",
    "curate_events": "tacit.collection.curating",
    "estimate_tally": "tacit.collection.tallying",
    "mechanism_of": "tacit.mechanisms.registry",
    "plan_for": "tacit.mechanisms.registry",
    "tally_reports": "tacit.collection.tallying",
}


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'tacit' has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *_HOMES])
