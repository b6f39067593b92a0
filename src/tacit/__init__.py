"""Tacit counts events over time and place without telling on anyone.

The flow, as nouns: events fall into the cells of a :class:`Domain` (a :class:`TimeAxis` times a
:class:`PlaceAxis`); a :class:`Plan` fixes what is private and the randomizer that hides it; reports are summed
to a :class:`Tally`; a tally becomes an :class:`Estimate`; a :class:`Release` leaves for the public and gives an
:class:`Answer` to any question about a :class:`Box`.

>>> import numpy as np
>>> domain = Domain(TimeAxis.between("2018-01-01", "2018-01-02"), PlaceAxis.of(["north", "south", "west"]))
>>> plan = plan_for(domain, epsilon=2.0)
>>> device = mechanism_of(plan)
>>> report = device.randomize(np.array([domain.place.find("south")[0]]), randomness=SecureRandomness())
>>> report.shape  # one report of one byte, whatever the value
(1, 1)
"""

from tacit.domain import Box, Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.errors import TacitError
from tacit.estimate import Answer, Estimate
from tacit.mechanisms import MECHANISMS, mechanism_of, plan_for
from tacit.plan import Plan
from tacit.privacy.ledger import Ledger
from tacit.randomness import Randomness, SecureRandomness, SeededRandomness
from tacit.release import PrivacyStatement, Release
from tacit.tally import ExactTally, Tally
from tacit.tallying import estimate_tally, tally_reports
from tacit.wire import RandomizingWriter, ReportFile

__version__ = "0.1.0"

__all__ = [
    "MECHANISMS",
    "Answer",
    "Box",
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
    "TacitError",
    "Tally",
    "TimeAxis",
    "estimate_tally",
    "mechanism_of",
    "plan_for",
    "tally_reports",
]
