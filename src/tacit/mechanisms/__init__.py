"""Mechanisms that make counts private: local randomizers, a curator's noise, running counters; the choice of one."""

from tacit._base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {})
