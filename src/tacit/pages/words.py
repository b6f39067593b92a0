"""Numbers, nouns and moments in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from typing import Final

from tacit._base.rounding import percent, round_up

_MONTHS: Final = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)
_STEPS: Final = ("hour", "day", "week", "month", "year")


def number(value: float) -> str:
    """A whole number with its thousands apart.

    >>> number(382046.4), number(-0.2), number(-12)
    ('382,046', '0', '−12')
    """
    return f"{round(value) or 0:,}".replace("-", "−")


def rough_at_most(value: float) -> str:
    """A bound no more precise than it need be, never below the value.

    >>> rough_at_most(1.4118), rough_at_most(9.0), rough_at_most(43.3), rough_at_most(2152.5)
    ('1.5', '9', '44', '2,153')
    """
    return _rough(round_up(value, 1 if value < 10 else 0))


def rough_at_least(value: float) -> str:
    """A bound no more precise than it need be, never above the value.

    >>> rough_at_least(0.0), rough_at_least(1.49), rough_at_least(43.0), rough_at_least(43.9)
    ('0', '1.4', '43', '43')
    """
    return _rough(math.floor(10 * value) / 10 if value < 10 else math.floor(value))


def rounded_percent(share: float) -> str:
    """A share of one; only none is 0% and only all is 100%.

    >>> rounded_percent(0.36), rounded_percent(0.0588), rounded_percent(0.9566), rounded_percent(1.0)
    ('36%', '5.9%', '95.7%', '100%')
    >>> rounded_percent(0.99996), rounded_percent(1 / 4748)
    ('99.996%', '0.02%')
    """
    digits = 1
    while 0 < share < 1 and float(f"{100 * share:.{digits}f}") in (0, 100):
        digits += 1
    return f"{100 * share:.{digits}f}".removesuffix(".0") + "%"


def plural(noun: str) -> str:
    """More than one of them.

    >>> plural("region"), plural("county"), plural("parish"), plural("period of 6 hours")
    ('regions', 'counties', 'parishes', 'periods of 6 hours')
    """
    noun, of, rest = noun.partition(" of ")
    if of:
        return f"{plural(noun)} of {rest}"
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "day"), counted(4748, "day")
    ('1 day', '4,748 days')
    """
    return f"{number(count)} {noun if count == 1 else plural(noun)}"


def step_noun(step: str) -> str:
    """Return the noun for one bin of a time axis.

    >>> step_noun("day"), step_noun("6 hours")
    ('day', 'period of 6 hours')
    """
    return step if step in _STEPS else f"period of {step}"


def period(label: str) -> str:
    """A period of a time axis as people write it.

    >>> period("2018-03"), period("2018-03-04"), period("2018-W10"), period("2018-03-30/2018-03-31")
    ('March 2018', '4 March 2018', 'week 10 of 2018', '30 March 2018 to 31 March 2018')
    >>> period("2018"), period("2018-03-04T05:00+01:00")
    ('2018', '4 March 2018, 05:00+01:00')
    >>> period("2018-03-01/2018-03-01")
    '1 March 2018'
    """
    if "/" in label:
        return " to ".join(dict.fromkeys(map(period, label.split("/"))))
    date, _, time = label.partition("T")
    parts = date.split("-")
    if len(parts) > 1 and parts[1].startswith("W"):
        return f"week {int(parts[1][1:])} of {parts[0]}"
    words = [str(int(parts[2]))] if len(parts) == 3 else []
    words += [_MONTHS[int(parts[1]) - 1]] if len(parts) > 1 else []
    return " ".join([*words, parts[0]]) + (f", {time}" if time else "")


def span(first: str, last: str) -> str:
    """Return the words for the time from one period to another; whole years are named as such.

    >>> span("2006-01-01", "2018-12-31"), span("2018-01", "2018-12"), span("2018-03", "2018-05")
    ('2006 to 2018', '2018', 'March 2018 to May 2018')
    """
    begins, ends = period(first.split("/")[0]), period(last.split("/")[-1])
    has_times = "T" in first
    if (
        not has_times
        and begins.removeprefix("1 ").startswith("January ")
        and ends.removeprefix("31 ").startswith("December ")
    ):
        begins, ends = first[:4], last.split("/")[-1][:4]
    return begins if begins == ends else f"{begins} to {ends}"


def sentence_case(words: str) -> str:
    """Begin with a capital.

    >>> sentence_case("week 1 of 2017"), sentence_case("CC de Nods")
    ('Week 1 of 2017', 'CC de Nods')
    """
    return words[:1].upper() + words[1:]


def _rough(value: float) -> str:
    return f"{value:.1f}".removesuffix(".0") if value < 10 else number(value)


_SHEET: Final = 680.0
"""The width of A4 between margins of 15 mm, in CSS pixels."""
_NAMES: Final = 90.0  # pixels of the column of names in print, which breaks long ones
_PADDING: Final = 8.0  # pixels, as in page.css
# widths of a character in the sizes of print in page.css, somewhat generous
_OF_A_HEAD, _OF_A_VALUE, _OF_A_LIMIT = 5.9, 5.3, 4.7


def column_width(head: str, values: Sequence[str], limits: Sequence[str]) -> float:
    """The width of a printed column: of its longest value or limit, or of the longest word of its head.

    >>> column_width("2018", ["12,473"], ["12,174", "12,775"])
    40.9
    """
    longest = (
        _OF_A_HEAD * max(map(len, head.split()), default=0),
        _OF_A_VALUE * max(map(len, values), default=0),
        _OF_A_LIMIT * max((len(limit) + 1 for limit in limits), default=0),
    )
    return _PADDING + max(longest)


def sheets(widths: Sequence[float]) -> list[tuple[int, int]]:
    """Part columns of these widths so that each part fits on a sheet beside the names: (first, stop) of each.

    Parts are about equally wide, so that no column is left over for a sheet of its own.

    >>> sheets([40.9] * 14), sheets([40.9] * 15)
    ([(0, 14)], [(0, 8), (8, 15)])
    """
    fewest = _parted(widths, _SHEET - _NAMES)
    # the narrowest sheets that need no more parts than the widest do
    evenly = (_parted(widths, room) for room in range(int(sum(widths) / len(fewest)), int(_SHEET - _NAMES)))
    return next((parts for parts in evenly if len(parts) == len(fewest)), fewest)


def _parted(widths: Sequence[float], room: float) -> list[tuple[int, int]]:
    parts: list[tuple[int, int]] = []
    first, used = 0, 0.0
    for number, width in enumerate(widths):
        if used + width > room and number > first:
            parts.append((first, number))
            first, used = number, 0.0
        used += width
    return [*parts, (first, len(widths))]


_WEEKDAYS: Final = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
# what is said in smaller numbers than out of 20 or 100
_SHARES: Final = {0.5: "1 time in 2", 0.75: "3 times in 4", 0.8: "4 times in 5", 0.9: "9 times in 10"}


def moment(label: str) -> str:
    """A bin of a time axis as people write it, days with their weekday.

    >>> moment("2019-01-01"), moment("2019-01"), moment("2019-01-01T05:00+01:00")
    ('Tuesday 1 January 2019', 'January 2019', 'Tuesday 1 January 2019, 05:00')
    """
    day, _, time = label.partition("T")
    if not _is_day(day):
        return period(label)
    words = f"{_weekday(day)} {period(day)}"
    return f"{words}, {time[:5]}" if time else words


def short_moment(label: str) -> str:
    """The same for the head of a column.

    >>> short_moment("2019-01-01"), short_moment("2019-01-01T05:00+01:00"), short_moment("2019-01")
    ('Tue 1 Jan', '05:00', 'Jan 2019')
    """
    day, _, time = label.partition("T")
    if time:
        return time[:5]
    if not _is_day(day):
        words = period(label).split()
        return " ".join(word[:3] if word.isalpha() and word[0].isupper() else word for word in words)
    number_of_day, month, _ = period(day).split()
    return f"{_weekday(day)[:3]} {number_of_day} {month[:3]}"


def ahead(n_bins: int, step: str) -> str:
    """The horizon of a forecast in words.

    >>> ahead(1, "day"), ahead(7, "day"), ahead(24, "hour")
    ('the next day', 'the next 7 days', 'the next 24 hours')
    """
    return f"the next {step_noun(step)}" if n_bins == 1 else f"the next {counted(n_bins, step_noun(step))}"


def expected(value: float) -> str:
    """An expected number, with a decimal where it is small.

    >>> expected(0.02), expected(0.43), expected(7.26), expected(24.4), expected(1234.5)
    ('under 0.1', '0.4', '7.3', '24', '1,234')
    """
    if 0 < value < 0.05:
        return "under 0.1"
    return f"{value:.1f}" if value < 9.95 else number(value)


def decimals(value: float, digits: int) -> str:
    """A number with so many decimals, and a dash where there is none.

    >>> decimals(1.7504, 3), decimals(float("nan"), 3), decimals(-0.25, 1)
    ('1.750', '–', '−0.2')
    """
    return "–" if value != value else f"{value:.{digits}f}".replace("-", "−")


def how_often(share: float) -> str:
    """Return a share as a number of times.

    >>> how_often(0.8), how_often(0.95), how_often(0.975)
    ('4 times in 5', '19 times in 20', '97.5% of the time')
    """
    if share in _SHARES:
        return _SHARES[share]
    for n in (20, 100):
        if abs(share * n - round(share * n)) < 1e-9:
            return f"{round(share * n)} times in {n}"
    return f"{percent(share)} of the time"


def _is_day(text: str) -> bool:
    parts = text.split("-")
    return len(parts) == 3 and all(part.isdigit() for part in parts)


def _weekday(day: str) -> str:
    return _WEEKDAYS[date.fromisoformat(day).weekday()]
