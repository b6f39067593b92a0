"""Counts that run on: a running total after every bin, any past range, one price for ever.

A :class:`Counter` turns counts into published totals, a :class:`History` holds and answers them, and
:class:`CounterFiles` keeps both on disk. :func:`pick` chooses the law of least predicted error;
:func:`start_counter` pays for a counter and writes it.
"""

from tacit.central.continual.counter import Counter, CounterState
from tacit.central.continual.files import CounterFiles
from tacit.central.continual.history import History
from tacit.central.continual.picker import Candidate, compare, pick
from tacit.central.continual.starting import start_counter
from tacit.central.continual.stream import Stream

__all__ = [
    "Candidate",
    "Counter",
    "CounterFiles",
    "CounterState",
    "History",
    "Stream",
    "compare",
    "pick",
    "start_counter",
]
