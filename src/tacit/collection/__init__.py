"""From events to reports or exact counts: report files, messages, tallying, poisoning alarms."""

from tacit._base.lazy import lazy_names

__getattr__, __dir__, __all__ = lazy_names(__name__, {})
