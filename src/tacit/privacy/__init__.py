"""Units, budgets and what has been spent."""

from tacit._base.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, {})
