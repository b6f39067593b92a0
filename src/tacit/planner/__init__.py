"""The planner: how much every mechanism would err, before anything is collected.

* :mod:`~tacit.planner.oracles`: which randomizer says most about the counts of so many cells
* :mod:`~tacit.planner.situation`, :mod:`~tacit.planner.questions`: what is counted and may be spent, what will be asked
* :mod:`~tacit.planner.local`, :mod:`~tacit.planner.central`: the mechanisms and fan-outs there are, and their errors
* :mod:`~tacit.planner.comparison`: all of them side by side; :mod:`~tacit.planner.words` says what it comes to
* :mod:`~tacit.planner.inverse`: from a target error to epsilon, or to the number of events
* :mod:`~tacit.planner.crossing`: when a hierarchy beats flat counts
"""

from __future__ import annotations

from tacit.mechanisms import TIE
from tacit.planner.central import GAUSSIAN, LAPLACE
from tacit.planner.comparison import Comparison, Prediction, compare
from tacit.planner.contender import Contender
from tacit.planner.crossing import crossings, thesis_error, thesis_rule
from tacit.planner.inverse import Target, least_epsilon, least_events
from tacit.planner.oracles import Candidate, Choice, choose, compare_oracles
from tacit.planner.questions import Question
from tacit.planner.situation import CURATOR, NOBODY, Situation

__all__ = [
    "CURATOR",
    "GAUSSIAN",
    "LAPLACE",
    "NOBODY",
    "TIE",
    "Candidate",
    "Choice",
    "Comparison",
    "Contender",
    "Prediction",
    "Question",
    "Situation",
    "Target",
    "choose",
    "compare",
    "compare_oracles",
    "crossings",
    "least_epsilon",
    "least_events",
    "thesis_error",
    "thesis_rule",
]
