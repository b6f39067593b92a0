"""Numbers, nouns and moments in plain words."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import date
from functools import partial
from typing import Any, Final

from tacit._base.languages import ENGLISH, figures, gettext, is_singular, message, ngettext, spoken, translated
from tacit._base.rounding import percent, round_up

_MONTHS: Final = {
    "en": (
        *("January", "February", "March", "April", "May", "June"),
        *("July", "August", "September", "October", "November", "December"),
    ),
    "fr": (
        *("janvier", "février", "mars", "avril", "mai", "juin"),
        *("juillet", "août", "septembre", "octobre", "novembre", "décembre"),
    ),
}
_SHORT_MONTHS: Final = {
    "en": ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"),
    "fr": ("janv.", "févr.", "mars", "avr.", "mai", "juin", "juil.", "août", "sept.", "oct.", "nov.", "déc."),
}
_STEPS: Final = (message("hour"), message("day"), message("week"), message("month"), message("year"))
LEVELS: Final = (
    message("all"),
    message("region"),
    message("town"),
    message("department"),
    message("place"),
    message("kind"),
)
"""The levels of places and kinds that have a word in every language; others are the user's own words."""
ONE_DECIMAL_BELOW: Final = 9.95  # rounded to a decimal it would be 10.0; of larger expected numbers none is said


def number(value: float) -> str:
    """Return a whole number with its thousands apart.

    >>> number(382046.4), number(-0.2), number(-12)
    ('382,046', '0', '−12')
    """
    return figures(f"{round(value) or 0:,}").replace("-", "−")


def rough_at_most(value: float) -> str:
    """Return a bound no more precise than it need be, never below the value.

    >>> rough_at_most(1.4118), rough_at_most(9.0), rough_at_most(43.3), rough_at_most(2152.5)
    ('1.5', '9', '44', '2,153')
    """
    return _rough(round_up(value, 1 if value < 10 else 0))


def rough_at_least(value: float) -> str:
    """Return a bound no more precise than it need be, never above the value.

    >>> rough_at_least(0.0), rough_at_least(1.49), rough_at_least(43.0), rough_at_least(43.9)
    ('0', '1.4', '43', '43')
    """
    return _rough(math.floor(10 * value) / 10 if value < 10 else math.floor(value))


def rounded_percent(share: float) -> str:
    """Return a share of one; only none is 0% and only all is 100%.

    >>> rounded_percent(0.36), rounded_percent(0.0588), rounded_percent(0.9566), rounded_percent(1.0)
    ('36%', '5.9%', '95.7%', '100%')
    >>> rounded_percent(0.99996), rounded_percent(1 / 4748)
    ('99.996%', '0.02%')
    """
    digits = 1
    while 0 < share < 1 and float(f"{100 * share:.{digits}f}") in (0, 100):
        digits += 1
    return figures(f"{100 * share:.{digits}f}".removesuffix(".0") + "%")


def plural(noun: str) -> str:
    """Return the word for more than one of them.

    >>> plural("region"), plural("county"), plural("parish"), plural("period of 6 hours")
    ('regions', 'counties', 'parishes', 'periods of 6 hours')
    """
    of = " of " if spoken() == ENGLISH else " de "
    noun, of, rest = noun.partition(of)
    if of:
        return f"{plural(noun)}{of}{rest}"
    if spoken() != ENGLISH:
        return _french_plural(noun)
    if noun.endswith("y") and noun[-2:-1] not in "aeiou":
        return noun[:-1] + "ies"
    return noun + ("es" if noun.endswith(("s", "x", "ch", "sh")) else "s")


def _french_plural(noun: str) -> str:
    """Return more than one of them in French, for nouns that follow its rules.

    >>> [_french_plural(noun) for noun in ("région", "mois", "lieu", "canal")]
    ['régions', 'mois', 'lieux', 'canaux']
    """
    if noun.endswith(("s", "x", "z")):
        return noun
    return f"{noun[:-1]}ux" if noun.endswith("al") else noun + ("x" if noun.endswith(("au", "eu")) else "s")


def level_noun(level: str) -> str:
    """Return the noun for one place or kind: a word of the reader's language where it is a usual one, else as given."""
    return translated(level) if level in LEVELS else level


def counted(count: int, noun: str) -> str:
    """Return a number with its noun.

    >>> counted(1, "day"), counted(4748, "day")
    ('1 day', '4,748 days')
    """
    return f"{number(count)} {noun if is_singular(count) else plural(noun)}"


def step_noun(step: str) -> str:
    """Return the noun for one bin of a time axis.

    >>> step_noun("day"), step_noun("6 hours")
    ('day', 'period of 6 hours')
    """
    return translated(step) if step in _STEPS else gettext("period of %(hours)s", hours=step_name(step))


def step_name(step: str) -> str:
    """Return the name of a step, to stand after "by".

    >>> step_name("day"), step_name("6 hours")
    ('day', '6 hours')
    """
    count, _, unit = step.rpartition(" ")
    return counted(int(count), translated(unit.removesuffix("s"))) if count else translated(step)


def period(label: str) -> str:
    """Return a period of a time axis as people write it.

    >>> period("2018-03"), period("2018-03-04"), period("2018-W10"), period("2018-03-30/2018-03-31")
    ('March 2018', '4 March 2018', 'week 10 of 2018', '30 March 2018 to 31 March 2018')
    >>> period("2018"), period("2018-03-04T05:00+01:00")
    ('2018', '4 March 2018, 05:00+01:00')
    >>> period("2018-03-01/2018-03-01")
    '1 March 2018'
    """
    if "/" in label:
        return _from_to(*label.split("/"))
    date, _, time = label.partition("T")
    parts = date.split("-")
    if len(parts) > 1 and parts[1].startswith("W"):
        return gettext("week %(week)s of %(year)s", week=int(parts[1][1:]), year=parts[0])
    words = [_day_of_month(int(parts[2]))] if len(parts) == 3 else []
    words += [_MONTHS[spoken()][int(parts[1]) - 1]] if len(parts) > 1 else []
    return " ".join([*words, parts[0]]) + (f", {time}" if time else "")


def _day_of_month(day: int) -> str:
    return "1er" if day == 1 and spoken() == "fr" else str(day)


def _from_to(first: str, last: str) -> str:
    """Return the words from one period to another; French says it otherwise of days than of months and years."""
    begins, ends = period(first), period(last)
    if begins == ends:
        return begins
    if _is_day(first.partition("T")[0]):
        return gettext("%(first_day)s to %(last_day)s", first_day=begins, last_day=ends)
    return gettext("%(first)s to %(last)s", first=begins, last=ends)


def span(first: str, last: str) -> str:
    """Return the words for the time from one period to another; whole years are named as such.

    >>> span("2006-01-01", "2018-12-31"), span("2018-01", "2018-12"), span("2018-03", "2018-05")
    ('2006 to 2018', '2018', 'March 2018 to May 2018')
    """
    begins, ends = first.split("/")[0], last.split("/")[-1]
    if begins[4:] in ("-01", "-01-01") and ends[4:] in ("-12", "-12-31"):
        begins, ends = begins[:4], ends[:4]
    return _from_to(begins, ends)


def sentence_case(words: str) -> str:
    """Begin with a capital.

    >>> sentence_case("week 1 of 2017"), sentence_case("CC de Nods")
    ('Week 1 of 2017', 'CC de Nods')
    """
    return words[:1].upper() + words[1:]


def _rough(value: float) -> str:
    return figures(f"{value:.1f}".removesuffix(".0")) if value < 10 else number(value)


_SHEET: Final = 680.0
"""The width of A4 between margins of 15 mm, in CSS pixels."""
_NAMES: Final = 90.0  # pixels of the column of names in print, which breaks long ones
_PADDING: Final = 8.0  # pixels, as in page.css
# widths of a character in the sizes of print in page.css, somewhat generous
_OF_A_HEAD, _OF_A_VALUE, _OF_A_LIMIT = 5.9, 5.3, 4.7


def column_width(head: str, values: Sequence[str], limits: Sequence[str]) -> float:
    """Return the width of a printed column: of its longest value or limit, or of the longest word of its head.

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


_WEEKDAYS: Final = {
    "en": ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"),
    "fr": ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi", "dimanche"),
}
_SHORT_WEEKDAYS: Final = {
    "en": ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"),
    "fr": ("lun.", "mar.", "mer.", "jeu.", "ven.", "sam.", "dim."),
}
# shares that are said in smaller numbers than out of 20 or 100
_SHARES: Final = {0.5: (1, 2), 0.75: (3, 4), 0.8: (4, 5), 0.9: (9, 10)}


def chart_locale() -> dict[str, Any] | None:
    """Return how Vega writes numbers and times in the language that is spoken; None for English, as it does anyway."""
    if spoken() == ENGLISH:
        return None
    days, short_days = ([names[-1], *names[:-1]] for names in (_WEEKDAYS[spoken()], _SHORT_WEEKDAYS[spoken()]))
    return {
        "formatLocale": {
            "decimal": figures("."),
            "thousands": figures(","),
            "grouping": [3],
            "currency": ["", ""],
            "percent": figures("%"),
        },
        "timeFormatLocale": {
            "dateTime": "%A %e %B %Y, %X",
            "date": "%d/%m/%Y",
            "time": "%H:%M",
            "periods": ["", ""],
            "days": days,
            "shortDays": short_days,
            "months": _MONTHS[spoken()],
            "shortMonths": _SHORT_MONTHS[spoken()],
        },
    }


def moment(label: str) -> str:
    """Return a bin of a time axis as people write it, days with their weekday.

    >>> moment("2019-01-01"), moment("2019-01"), moment("2019-01-01T05:00+01:00")
    ('Tuesday 1 January 2019', 'January 2019', 'Tuesday 1 January 2019, 05:00')
    """
    day, _, time = label.partition("T")
    if not _is_day(day):
        return period(label)
    words = f"{_weekday(day)} {period(day)}"
    return f"{words}, {time[:5]}" if time else words


def short_moment(label: str) -> str:
    """Return the same for the head of a column.

    >>> short_moment("2019-01-01"), short_moment("2019-01-01T05:00+01:00"), short_moment("2019-01")
    ('Tue 1 Jan', '05:00', 'Jan 2019')
    """
    day, _, time = label.partition("T")
    if time:
        return time[:5]
    short = dict(zip(_MONTHS[spoken()], _SHORT_MONTHS[spoken()], strict=True))
    words = [short.get(word, word) for word in period(label).split()]
    if not _is_day(day):
        return " ".join(words)
    return " ".join([_SHORT_WEEKDAYS[spoken()][date.fromisoformat(day).weekday()], *words[:2]])


def ahead(n_bins: int, step: str) -> str:
    """Return the horizon of a forecast in words.

    >>> ahead(1, "day"), ahead(7, "day"), ahead(24, "hour")
    ('the next day', 'the next 7 days', 'the next 24 hours')
    """
    if step not in _AHEAD:
        words = partial(ngettext, "the next period of %(hours)s", "the next %(n)s periods of %(hours)s")
        return words(n_bins, n=number(n_bins), hours=step_name(step))
    return _AHEAD[step](n_bins, n=number(n_bins))


_AHEAD: Final = {
    "hour": partial(ngettext, "the next hour", "the next %(n)s hours"),
    "day": partial(ngettext, "the next day", "the next %(n)s days"),
    "week": partial(ngettext, "the next week", "the next %(n)s weeks"),
    "month": partial(ngettext, "the next month", "the next %(n)s months"),
    "year": partial(ngettext, "the next year", "the next %(n)s years"),
}


def expected(value: float) -> str:
    """Return an expected number, with a decimal where it is small.

    >>> expected(0.02), expected(0.43), expected(7.26), expected(24.4), expected(1234.5)
    ('under 0.1', '0.4', '7.3', '24', '1,234')
    """
    if 0 < value < 0.05:
        return gettext("under %(limit)s", limit=figures("0.1"))
    return figures(f"{value:.1f}") if value < ONE_DECIMAL_BELOW else number(value)


def decimals(value: float, digits: int) -> str:
    """Return a number with so many decimals, and a dash where there is none.

    >>> decimals(1.7504, 3), decimals(float("nan"), 3), decimals(-0.25, 1)
    ('1.750', '–', '−0.2')
    """
    return "–" if value != value else figures(f"{value:.{digits}f}").replace("-", "−")


def how_often(share: float) -> str:
    """Return a share as a number of times.

    >>> how_often(0.8), how_often(0.95), how_often(0.975)
    ('4 times in 5', '19 times in 20', '97.5% of the time')
    """
    times, n = _SHARES.get(share, (0, 0))
    for n_all in () if n else (20, 100):
        if abs(share * n_all - round(share * n_all)) < 1e-9:
            times, n = round(share * n_all), n_all
            break
    if n:
        return ngettext("%(times)s time in %(n)s", "%(times)s times in %(n)s", times, times=times, n=n)
    return gettext("%(share)s of the time", share=percent(share))


def _is_day(text: str) -> bool:
    parts = text.split("-")
    return len(parts) == 3 and all(part.isdigit() for part in parts)


def _weekday(day: str) -> str:
    return _WEEKDAYS[spoken()][date.fromisoformat(day).weekday()]
