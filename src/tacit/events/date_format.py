"""The forms a written date may take, and how a user names one.

Year first: ``2018-12-31``, ``2018/12/31``; day first or month first also ``31.12.2018``, ``31-12-2018``; with or
without a time of day (``T`` or a space, ``08:08``, ``08:08:30``, fractions, AM and PM) and an offset (``Z``,
``+01:00``). What comes first in ``08/09/2018`` is said by who knows the source; only public tables may tell it by their
rows (:mod:`tacit.events.dates`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from enum import Enum
from typing import Final

from tacit.errors import SettingError


class DateOrder(Enum):
    """What comes first in a date that does not begin with its year."""

    DAY_FIRST = "day-first"
    MONTH_FIRST = "month-first"
    YEAR_FIRST = "year-first"  # such dates are then not dates at all

    def __str__(self) -> str:
        return self.value.replace("-", " ")


@dataclass(frozen=True, slots=True)
class DateForm:
    """How to read dates: an order for those without the year in front, or a pattern of the user's own."""

    order: DateOrder | None = None
    pattern: str | None = None


CLOCK: Final = (
    r"(?P<H>[0-9]{1,2})[:h](?P<M>[0-9]{2})(?::(?P<S>[0-9]{2})(?:[.,][0-9]+)?)?"
    r"\s*(?P<p>[AaPp]\.?[Mm]\.?)?\s*(?P<z>Z|z|UTC|GMT|[+-][0-9]{2}(?::?[0-9]{2})?)?"
)
# One pattern for every recognized form; whether a or c is the year is seen from their lengths.
ANY_DATE: Final = (
    r"^(?P<a>[0-9]{1,4})(?P<s>[-/.])(?P<b>[0-9]{1,2})(?P<t>[-/.])(?P<c>[0-9]{1,4})(?:(?:T|\s+)" + CLOCK + r")?$"
)

_DIRECTIVES: Final = {
    "Y": r"(?P<Y>[0-9]{4})",
    "y": r"(?P<y>[0-9]{2})",
    "m": r"(?P<m>[0-9]{1,2})",
    "d": r"(?P<d>[0-9]{1,2})",
    "H": r"(?P<H>[0-9]{1,2})",
    "I": r"(?P<H>[0-9]{1,2})",
    "M": r"(?P<M>[0-9]{1,2})",
    "S": r"(?P<S>[0-9]{1,2})",
    "f": r"[0-9]{1,9}",
    "p": r"(?P<p>[AaPp]\.?[Mm]\.?)",
    "z": r"(?P<z>Z|[+-][0-9]{2}:?[0-9]{2})",
    "%": "%",
}
# "%d/%m/%Y %H:%M" and the like only settle the order; any pattern else is taken to the letter
_PLAIN: Final = re.compile(r"%([dmY])([-/.])%([dmY])\2%([dmY])(?:[T ]%H:%M(?::%S)?)?")
_ORDERS: Final = {"dmY": DateOrder.DAY_FIRST, "mdY": DateOrder.MONTH_FIRST, "Ymd": DateOrder.YEAR_FIRST}


def parse_date_format(text: str) -> DateForm:
    """Read ``day-first``, ``month-first``, ``year-first`` or a pattern in the notation of ``strftime``.

    >>> parse_date_format("%d/%m/%Y %H:%M").order
    <DateOrder.DAY_FIRST: 'day-first'>
    >>> parse_date_format("%d %B %Y")
    Traceback (most recent call last):
    ...
    tacit.errors.SettingError: date_format must be day-first, month-first, year-first or a pattern of numbers with \
%Y or %y, %m and %d; got date_format='%d %B %Y'. Write it like %d/%m/%Y %H:%M.
    """
    word = text.strip().lower().replace(" ", "-").replace("_", "-")
    for order in DateOrder:
        if word == order.value:
            return DateForm(order)
    plain = _PLAIN.fullmatch(text.strip())
    if plain is not None and plain[1] + plain[3] + plain[4] in _ORDERS:
        return DateForm(_ORDERS[plain[1] + plain[3] + plain[4]])
    return DateForm(pattern=_regex(text.strip()))


def check_date_format(text: str) -> None:
    """Refuse a format that cannot be read."""
    parse_date_format(text)


def _regex(text: str) -> str:
    parts = re.split(r"%(.)", text)
    directives = parts[1::2]
    groups = ["H" if one == "I" else one for one in directives if one not in "f%"]
    is_date = "d" in groups and "m" in groups and ("Y" in groups) != ("y" in groups)
    is_known = all(one in _DIRECTIVES for one in directives) and not text.endswith("%")
    if not is_known or not is_date or len(set(groups)) < len(groups) or ("I" in directives) != ("p" in directives):
        raise SettingError(
            "date_format must be day-first, month-first, year-first or a pattern of numbers with %Y or %y, %m and %d; "
            f"got date_format={text!r}. Write it like %d/%m/%Y %H:%M."
        )
    literals = [re.sub(r"\s+", r"\\s+", _escape(part)) for part in parts[0::2]]
    fields = [_DIRECTIVES[one] for one in directives] + [""]
    return "^" + "".join(literal + one for literal, one in zip(literals, fields, strict=True)) + "$"


def _escape(literal: str) -> str:
    # not re.escape: the engine that runs the pattern refuses an escaped letter or space
    return re.sub(r"([.^$*+?{}\[\]\\|()-])", r"\\\1", literal)
