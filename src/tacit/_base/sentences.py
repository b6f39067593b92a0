"""Parts of sentences that several rooms say."""

from __future__ import annotations

from collections.abc import Sequence

from tacit._base.languages import gettext


def listed(words: Sequence[str]) -> str:
    """Return words with commas, and an "and" before the last.

    >>> listed(["points"]), listed(["time", "place"]), listed(["time", "place", "kind"])
    ('points', 'time and place', 'time, place and kind')
    """
    *first, last = words
    return gettext("%(first)s and %(last)s", first=", ".join(first), last=last) if first else last
