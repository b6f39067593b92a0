"""The planner: how much every mechanism would err, before anything is collected.

* :mod:`~tacit.mechanisms.planner.oracles`: which randomizer says most about the counts of so many cells, also
  for devices that report again and again from a memo
* :mod:`~tacit.mechanisms.planner.situation`: what is counted and may be spent, what will be asked, what contends
* :mod:`~tacit.mechanisms.planner.local`, :mod:`~tacit.mechanisms.planner.central`: the mechanisms and fan-outs there
  are, and their errors
* :mod:`~tacit.mechanisms.planner.comparison`: all of them side by side
* :mod:`~tacit.mechanisms.planner.planning`: from what is wanted to a plan with the mechanism that errs least; what a
  comparison comes to, in sentences
* :mod:`~tacit.mechanisms.planner.inverse`: from a target error to epsilon, or to the number of events; and the length
  from which on a hierarchy beats flat counts
"""

from __future__ import annotations

from tacit.mechanisms.planner.central import GAUSSIAN, LAPLACE
from tacit.mechanisms.planner.comparison import Comparison, Prediction, compare
from tacit.mechanisms.planner.inverse import Target, crossings, least_epsilon, least_events, thesis_error, thesis_rule
from tacit.mechanisms.planner.oracles import (
    Candidate,
    Choice,
    RepeatedCandidate,
    choose,
    choose_repeated,
    compare_oracles,
    compare_repeated,
    plan_for_devices,
)
from tacit.mechanisms.planner.planning import USUAL_QUESTIONS, Wanted
from tacit.mechanisms.planner.situation import CURATOR, NOBODY, Contender, Question, Situation
from tacit.mechanisms.registry import TIE

__all__ = [
    "CURATOR",
    "GAUSSIAN",
    "LAPLACE",
    "NOBODY",
    "TIE",
    "USUAL_QUESTIONS",
    "Candidate",
    "Choice",
    "Comparison",
    "Contender",
    "Prediction",
    "Question",
    "RepeatedCandidate",
    "Situation",
    "Target",
    "Wanted",
    "choose",
    "choose_repeated",
    "compare",
    "compare_oracles",
    "compare_repeated",
    "crossings",
    "least_epsilon",
    "least_events",
    "plan_for_devices",
    "thesis_error",
    "thesis_rule",
]
