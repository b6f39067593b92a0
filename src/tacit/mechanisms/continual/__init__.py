"""Counts that run on: a running total after every bin, any past range, one price for ever.

A :class:`Counter` turns counts into published totals, a :class:`History` holds and answers them, and
:class:`CounterFiles` keeps both on disk. :func:`pick` chooses the noise model of least predicted error;
:func:`start_counter` pays for a counter and writes it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.mechanisms.continual.counter import Counter as Counter
    from tacit.mechanisms.continual.counter import CounterState as CounterState
    from tacit.mechanisms.continual.counter import Stream as Stream
    from tacit.mechanisms.continual.files import CounterFiles as CounterFiles
    from tacit.mechanisms.continual.files import default_history as default_history
    from tacit.mechanisms.continual.history import History as History
    from tacit.mechanisms.continual.picker import Candidate as Candidate
    from tacit.mechanisms.continual.picker import compare as compare
    from tacit.mechanisms.continual.picker import pick as pick
    from tacit.mechanisms.continual.starting import release_name as release_name
    from tacit.mechanisms.continual.starting import start_counter as start_counter

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "tacit.mechanisms.continual.counter": "Counter CounterState Stream",
        "tacit.mechanisms.continual.files": "CounterFiles default_history",
        "tacit.mechanisms.continual.history": "History",
        "tacit.mechanisms.continual.picker": "Candidate compare pick",
        "tacit.mechanisms.continual.starting": "release_name start_counter",
    },
)
