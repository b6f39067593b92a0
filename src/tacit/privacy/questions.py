"""The questions that may be asked about events, and how many times its price an entry costs for each.

=================  ==================================================================================================
presence           Is one event among the data, or not? Reports are counted in public, so once there are reports
                   nothing hides it.
replacement        Was it this event or another, which agrees with it in all that reports publish? Reports cost what
                   they state, and a release counts twice: one event leaves, and another comes.
other replacement  Was it this event or one that differs in what reports publish? As replacement without reports;
                   nothing hides it once there are some.
person-day         Are all events of one person on one day among the data, or not? Only releases of the units
                   ``user-day`` and ``person`` bound that.
person             Are all events of one person in a window among the data, or not, or in all that there is? The same.
=================  ==================================================================================================

The theorem and its proof stand in ``docs/proofs/composition.md``.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache
from typing import Final

from tacit.errors import SettingError
from tacit.privacy.unit import WHOLE, WINDOWS, Overlap, Unit, Window

PRESENCE, REPLACEMENT, NOTHING = "presence", "replacement", "nothing"


def person_in(window: Window) -> str:
    """Return the question about a person in a window, or in all that there is.

    >>> person_in("day"), person_in("month"), person_in(None)
    ('person-day', 'person-month', 'person')
    """
    return "person" if window is None else f"person-{window}"


PERSON_DAY: Final = person_in("day")
LONGER: Final = {person_in(window): window for window in (*WINDOWS[1:], None)}
"""The questions about a person in more than a day, with their windows, the shortest first."""


def window_asked(question: str) -> Window:
    """Return the window of a question about a person; ``None`` for all that there is."""
    return "day" if question == PERSON_DAY else LONGER[question]


_ROOT_OF_TWO: Final = Fraction(99, 70)
"""Above the square root of two by 0.005 %: what is made with it is rounded up."""

Times = tuple[Fraction, Fraction]
"""Two factors: of the pure epsilon of an entry, and of its rho."""


@lru_cache(maxsize=4096)  # ledgers hold many entries of few units
def times(question: str, unit: Unit, *, is_counter: bool, overlap: Overlap | None = WHOLE) -> Times | None:
    """Return how many times its price a release for a unit costs for a question; ``None`` where it bounds nothing.

    ``overlap`` says how the windows of the release lie to the window of a question about a person; ``None`` if there is
    no largest number of them.

    >>> times("person-month", Unit.user_day(most=3), is_counter=False, overlap=Overlap(31, 0))
    (Fraction(31, 1), Fraction(961, 1))
    """
    if unit.name == "device":
        raise SettingError("unit must be event, user-day or person for a curator; got unit=device. Devices report.")
    if question in (PRESENCE, REPLACEMENT):
        return _of_one_event(question, unit, is_counter)
    if not unit.is_of_a_person or overlap is None:
        return None
    # A window that lies within changes from all to nothing: one price. Of another only a part changes, and other events
    # of it come in: two prices, and of zCDP twice the squared distance, or four times where weights have both signs.
    # Distances of several windows add up.
    within, partly = overlap
    if is_counter:
        return Fraction(within + 2 * partly), Fraction((within + 2 * partly) ** 2)
    return Fraction(within + 2 * partly), within**2 + 2 * _ROOT_OF_TWO * within * partly + 2 * partly**2


def _of_one_event(question: str, unit: Unit, is_counter: bool) -> Times:
    if not unit.is_of_a_person:
        # Two changes of one count each. Laplace costs add. The squared distance of two columns of a strategy with
        # weights of one sign is at most the sum of their squares, else at most twice that; a counter's may have both.
        twice = Fraction(2), Fraction(4 if is_counter else 2)
        return (Fraction(1), Fraction(1)) if question == PRESENCE else twice
    # One event of a person more or less lets at most one other out or in: two counts of ``most`` change. On one day
    # they are of different places; in a longer window a counter may see both in one place, at different times.
    pure = Fraction(2, unit.most)
    rho = 2 * pure if is_counter and unit.window != "day" else pure
    # two such changes, whose distances add
    return (pure, rho) if question == PRESENCE else (2 * pure, 4 * rho)
