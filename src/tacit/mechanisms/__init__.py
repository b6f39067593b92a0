"""Mechanisms that make counts private: local randomizers, a curator's noise, running counters; the choice of one.

The names are loaded when they are first used: a device needs none of a curator's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.mechanisms.central.table import central_mechanism_of as central_mechanism_of
    from tacit.mechanisms.registry import mechanism_of as mechanism_of

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "tacit.mechanisms.central.table": "central_mechanism_of",
        "tacit.mechanisms.registry": "mechanism_of",
    },
)
