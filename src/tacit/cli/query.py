"""tacit query: ask a release for any range of dates, places and kinds of events."""

from __future__ import annotations

from typing import Annotated, Final

import typer

from tacit._base.rounding import percent, whole
from tacit.cli import console
from tacit.cli.options import FirstPeriod, KindNames, LastPeriod, PlaceNames, ReleaseFile
from tacit.domain import Box
from tacit.release import Release
from tacit.release.release import CHANCE, LEVEL, contradiction

SHOWS_SINGLE_DAYS_FROM: Final = 1.7
"""The epsilon of reports below which a smoothed day is essentially the place's share of the public total."""
_LONGER: Final = ("week", "month", "year")


def query(
    release: ReleaseFile,
    first: FirstPeriod = None,
    last: LastPeriod = None,
    place: PlaceNames = None,
    kind: KindNames = None,
    level: Annotated[float | None, typer.Option(help="The level of the interval (default: the release's).")] = None,
    refined: Annotated[
        bool, typer.Option("--refined", help="Ask the refined counts, where they have an interval (smooth, raw).")
    ] = False,
) -> None:
    """Answer how many events there were, with an interval for the true number.

    Example: [bold]tacit query release.parquet --from 2017-01 --to 2017-03 --place "CC Loue-Lison"[/bold]
    """
    asked = Release.read(release)
    found = asked.answer(first=first, last=last, places=place or None, kinds=kind or None, level=level, refined=refined)
    n_periods = len(found.box.time)
    if found.is_simulation:
        console.warn("SIMULATION: this release was made with a known seed.")
    lacking = asked.rules.days_missing(asked.domain.time)[found.box.time]
    if n_days := int(lacking.sum()):
        which = f"{int((lacking > 0).sum()):,} of {n_periods:,} periods have" if n_periods > 1 else "The period has"
        console.warn(
            f"{which} no data for some or all of the days ({console.counted(n_days, 'day')}); the answer lacks those."
        )
    if found.standard_error == 0:
        console.strong(f"{console.counted(round(found.value), 'event')}, exactly: the number of reports is public")
        return
    how = f", refined ({asked.refinement})" if refined else ""
    console.say_estimate(found.value, found.standard_error, how)
    console.say_interval(found.level, (found.lower, found.upper), found.box.grid(asked.domain))
    if not asked.is_reliable(found):
        console.say("That is not reliable: the error is too large a part of the number.")
    if refined:
        say_model(asked, found.box)


def say_model(release: Release, box: Box) -> None:
    """Say whose interval that of a refined answer is, and warn where the unbiased one contradicts it."""
    if not release.has_refined_intervals:
        return
    words = "The interval is the model's: it holds on average over places and periods if the model fits."
    if (
        not release.plan.is_central
        and release.plan.epsilon < SHOWS_SINGLE_DAYS_FROM
        and release.domain.time.step not in _LONGER
    ):
        words += f" Below epsilon {SHOWS_SINGLE_DAYS_FROM} it cannot show the anomaly of a single day."
    console.say(words)
    unbiased = contradiction(release, box)
    if unbiased is not None:
        console.warn(
            f"The unbiased count contradicts the model here: its {percent(LEVEL)} interval, {whole(unbiased.lower)} to "
            f"{whole(unbiased.upper)}, does not overlap that of the refined one. {CHANCE}"
        )
