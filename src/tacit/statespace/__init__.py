"""One time-series model of counts observed through noise."""

from tacit._base.lazy import lazy_names

__getattr__, __dir__ = lazy_names(__name__, {})
