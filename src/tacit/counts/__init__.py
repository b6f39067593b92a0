"""Counts and what is known of their error: tallies, estimates, noise models, least squares on trees."""

from tacit._base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {})
