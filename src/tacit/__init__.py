"""Tacit counts events over time and place without telling on anyone.

The flow, as nouns: events fall into the cells of a :class:`Domain` (a :class:`TimeAxis` times a :class:`PlaceAxis`, and
times a :class:`KindAxis` where events have kinds); a :class:`Plan` fixes what is private and the randomizer that hides
it; reports are summed to a :class:`Tally`; a tally becomes an :class:`Estimate`; a :class:`Release` leaves for the
public and gives an :class:`Answer` to any question about a :class:`Box`. A trusted curator counts exactly
(:class:`ExactTally`), pays a :class:`Cost` from a :class:`Ledger`, and gets an :class:`Estimate` with noise for the
:class:`Spend`.

>>> import numpy as np
>>> from tacit import Domain, PlaceAxis, SecureRandomness, TimeAxis, mechanism_of, plan_for
>>> domain = Domain(TimeAxis.between("2018-01-01", "2018-01-02"), PlaceAxis.of(["north", "south", "west"]))
>>> plan = plan_for(domain, epsilon=2.0)
>>> device = mechanism_of(plan)
>>> report = device.randomize(np.array([domain.place.find("south")[0]]), randomness=SecureRandomness())
>>> report.shape  # one report of one byte, whatever the value
(1, 1)

One call does it all: :func:`publish` takes a frame or a file to a folder with plan, release, page, statement and
forecast, and returns a :class:`Publication`, as :func:`open` does of what was published before.

The four tasks begin here, too: devices report (:func:`open_events`, :func:`plan_for`, :func:`randomize_events`,
:func:`tally_reports`, :func:`estimate_tally`); a curator releases (:func:`choose_bound`, :func:`central_plan_for`,
:func:`curate_events`); what comes next is forecast (:func:`series_of`, :func:`forecaster_named`, and the rest of
``tacit.forecast``); a claim is audited (:func:`audit_plan`, and the rest of ``tacit.audit``).

Names and rooms (``tacit.forecast``, ``tacit.audit``) are loaded when they are first used, so that importing the package
costs nothing.
"""

from typing import TYPE_CHECKING

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.audit import audit_plan as audit_plan
    from tacit.collection.choosing import choose_bound as choose_bound
    from tacit.collection.curating import curate_events as curate_events
    from tacit.collection.randomizing import randomize_events as randomize_events
    from tacit.collection.tallying import estimate_tally as estimate_tally
    from tacit.collection.tallying import tally_reports as tally_reports
    from tacit.collection.wire import RandomizingWriter as RandomizingWriter
    from tacit.collection.wire import ReportFile as ReportFile
    from tacit.counts.estimate import Answer as Answer
    from tacit.counts.estimate import Estimate as Estimate
    from tacit.counts.query import answer_ranges as answer_ranges
    from tacit.counts.tally import ExactTally as ExactTally
    from tacit.counts.tally import Tally as Tally
    from tacit.domain import Box as Box
    from tacit.domain import Domain as Domain
    from tacit.domain import Gazetteer as Gazetteer
    from tacit.domain import KindAxis as KindAxis
    from tacit.domain import PlaceAxis as PlaceAxis
    from tacit.domain import TimeAxis as TimeAxis
    from tacit.errors import TacitError as TacitError
    from tacit.events import EventColumns as EventColumns
    from tacit.events import ReadOptions as ReadOptions
    from tacit.events import SourceDescription as SourceDescription
    from tacit.events import open_events as open_events
    from tacit.forecast import forecaster_named as forecaster_named
    from tacit.forecast import series_of as series_of
    from tacit.mechanisms.central.bound_choice import BoundChoice as BoundChoice
    from tacit.mechanisms.central.table import CENTRAL_MECHANISMS as CENTRAL_MECHANISMS
    from tacit.mechanisms.central.table import central_mechanism_of as central_mechanism_of
    from tacit.mechanisms.central.table import central_plan_for as central_plan_for
    from tacit.mechanisms.registry import MECHANISMS as MECHANISMS
    from tacit.mechanisms.registry import mechanism_of as mechanism_of
    from tacit.mechanisms.registry import plan_for as plan_for
    from tacit.plan import Plan as Plan
    from tacit.privacy.cost import Budget as Budget
    from tacit.privacy.cost import Cost as Cost
    from tacit.privacy.ledger import Ledger as Ledger
    from tacit.privacy.ledger import Spend as Spend
    from tacit.privacy.unit import Unit as Unit
    from tacit.publication import Preview as Preview
    from tacit.publication import Publication as Publication
    from tacit.publication import open as open
    from tacit.publication import publish as publish
    from tacit.randomness import Randomness as Randomness
    from tacit.randomness import SecureRandomness as SecureRandomness
    from tacit.randomness import SeededRandomness as SeededRandomness
    from tacit.release import PrivacyStatement as PrivacyStatement
    from tacit.release import Release as Release

__version__ = "0.1.0"

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "tacit.audit": "audit_plan",
        "tacit.collection.choosing": "choose_bound",
        "tacit.collection.curating": "curate_events",
        "tacit.collection.randomizing": "randomize_events",
        "tacit.collection.tallying": "estimate_tally tally_reports",
        "tacit.collection.wire": "RandomizingWriter ReportFile",
        "tacit.counts.estimate": "Answer Estimate",
        "tacit.counts.query": "answer_ranges",
        "tacit.counts.tally": "ExactTally Tally",
        "tacit.domain": "Box Domain Gazetteer KindAxis PlaceAxis TimeAxis",
        "tacit.errors": "TacitError",
        "tacit.events": "EventColumns ReadOptions SourceDescription open_events",
        "tacit.forecast": "forecaster_named series_of",
        "tacit.mechanisms.central.bound_choice": "BoundChoice",
        "tacit.mechanisms.central.table": "CENTRAL_MECHANISMS central_mechanism_of central_plan_for",
        "tacit.mechanisms.registry": "MECHANISMS mechanism_of plan_for",
        "tacit.plan": "Plan",
        "tacit.privacy.cost": "Budget Cost",
        "tacit.privacy.ledger": "Ledger Spend",
        "tacit.privacy.unit": "Unit",
        "tacit.publication": "Preview Publication open publish",
        "tacit.randomness": "Randomness SecureRandomness SeededRandomness",
        "tacit.release": "PrivacyStatement Release",
    },
    # engines is reached by its name alone: help(tacit) and others look at all that is listed, and it needs Spark
    "audit client collection counts domain errors events forecast mechanisms pages plan postprocess privacy "
    "publication randomness release service statespace",
)
