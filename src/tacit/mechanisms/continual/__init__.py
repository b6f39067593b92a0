"""Counts that run on: a running total after every bin, any past range, one price for ever.

A :class:`Counter` turns counts into published totals, a :class:`History` holds and answers them, and
:class:`CounterFiles` keeps both on disk. :func:`pick` chooses the noise model of least predicted error;
:func:`start_counter` pays for a counter and writes it.
"""

from tacit.mechanisms.continual.counter import Counter, CounterState, Stream
from tacit.mechanisms.continual.files import CounterFiles
from tacit.mechanisms.continual.history import History
from tacit.mechanisms.continual.picker import Candidate, compare, pick
from tacit.mechanisms.continual.starting import start_counter

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
