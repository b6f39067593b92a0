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

from typing import TYPE_CHECKING, Final

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.audit import audit_plan
    from tacit.collection.choosing import choose_bound
    from tacit.collection.curating import curate_events
    from tacit.collection.randomizing import randomize_events
    from tacit.collection.tallying import estimate_tally, tally_reports
    from tacit.collection.wire import RandomizingWriter, ReportFile
    from tacit.counts.estimate import Answer, Estimate
    from tacit.counts.query import answer_ranges
    from tacit.counts.tally import ExactTally, Tally
    from tacit.domain import Box, Domain, Gazetteer, KindAxis, PlaceAxis, TimeAxis
    from tacit.errors import TacitError
    from tacit.events import EventColumns, ReadOptions, SourceDescription, open_events
    from tacit.forecast import forecaster_named, series_of
    from tacit.mechanisms.central.bound_choice import BoundChoice
    from tacit.mechanisms.central.table import CENTRAL_MECHANISMS, central_mechanism_of, central_plan_for
    from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for
    from tacit.plan import Plan
    from tacit.privacy.cost import Budget, Cost
    from tacit.privacy.ledger import Ledger, Spend
    from tacit.privacy.unit import Unit
    from tacit.publication import Preview, Publication, open, publish
    from tacit.randomness import Randomness, SecureRandomness, SeededRandomness
    from tacit.release import PrivacyStatement, Release

__version__ = "0.1.0"

__all__ = [
    "CENTRAL_MECHANISMS",
    "MECHANISMS",
    "Answer",
    "BoundChoice",
    "Box",
    "Budget",
    "Cost",
    "Domain",
    "Estimate",
    "EventColumns",
    "ExactTally",
    "Gazetteer",
    "KindAxis",
    "Ledger",
    "PlaceAxis",
    "Plan",
    "Preview",
    "PrivacyStatement",
    "Publication",
    "RandomizingWriter",
    "Randomness",
    "ReadOptions",
    "Release",
    "ReportFile",
    "SecureRandomness",
    "SeededRandomness",
    "SourceDescription",
    "Spend",
    "TacitError",
    "Tally",
    "TimeAxis",
    "Unit",
    "answer_ranges",
    "audit_plan",
    "central_mechanism_of",
    "central_plan_for",
    "choose_bound",
    "curate_events",
    "estimate_tally",
    "forecaster_named",
    "mechanism_of",
    "open",
    "open_events",
    "plan_for",
    "publish",
    "randomize_events",
    "series_of",
    "tally_reports",
]

_ROOMS: Final = (
    "audit",
    "client",
    "collection",
    "counts",
    "domain",
    "engines",
    "errors",
    "events",
    "forecast",
    "mechanisms",
    "pages",
    "plan",
    "postprocess",
    "privacy",
    "publication",
    "randomness",
    "release",
    "service",
    "statespace",
)
_HOMES: Final = {
    "Answer": "tacit.counts.estimate",
    "BoundChoice": "tacit.mechanisms.central.bound_choice",
    "Box": "tacit.domain",
    "Budget": "tacit.privacy.cost",
    "CENTRAL_MECHANISMS": "tacit.mechanisms.central.table",
    "Cost": "tacit.privacy.cost",
    "Domain": "tacit.domain",
    "Estimate": "tacit.counts.estimate",
    "EventColumns": "tacit.events",
    "ExactTally": "tacit.counts.tally",
    "Gazetteer": "tacit.domain",
    "KindAxis": "tacit.domain",
    "Ledger": "tacit.privacy.ledger",
    "MECHANISMS": "tacit.mechanisms.registry",
    "PlaceAxis": "tacit.domain",
    "Plan": "tacit.plan",
    "Preview": "tacit.publication",
    "PrivacyStatement": "tacit.release",
    "Publication": "tacit.publication",
    "RandomizingWriter": "tacit.collection.wire",
    "Randomness": "tacit.randomness",
    "ReadOptions": "tacit.events",
    "Release": "tacit.release",
    "ReportFile": "tacit.collection.wire",
    "SecureRandomness": "tacit.randomness",
    "SeededRandomness": "tacit.randomness",
    "SourceDescription": "tacit.events",
    "Spend": "tacit.privacy.ledger",
    "TacitError": "tacit.errors",
    "Tally": "tacit.counts.tally",
    "TimeAxis": "tacit.domain",
    "Unit": "tacit.privacy.unit",
    "answer_ranges": "tacit.counts.query",
    "audit_plan": "tacit.audit",
    "central_mechanism_of": "tacit.mechanisms.central.table",
    "central_plan_for": "tacit.mechanisms.central.table",
    "choose_bound": "tacit.collection.choosing",
    "curate_events": "tacit.collection.curating",
    "estimate_tally": "tacit.collection.tallying",
    "forecaster_named": "tacit.forecast",
    "mechanism_of": "tacit.mechanisms.registry",
    "open": "tacit.publication",
    "open_events": "tacit.events",
    "plan_for": "tacit.mechanisms.registry",
    "publish": "tacit.publication",
    "randomize_events": "tacit.collection.randomizing",
    "series_of": "tacit.forecast",
    "tally_reports": "tacit.collection.tallying",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES | {room: f"tacit.{room}" for room in _ROOMS})
