"""What the command line says of refined counts that come from a model."""

from __future__ import annotations

from typing import Final

from tacit._base.rounding import percent, whole
from tacit.cli import console
from tacit.domain import Box
from tacit.release import Release
from tacit.release.agreement import BY_CHANCE, LEVEL, contradiction, contradictions

SHOWS_SINGLE_DAYS_FROM: Final = 1.7
"""The epsilon of reports below which a smoothed day is essentially the place's share of the public total."""
_BY_CHANCE: Final = f"Chance alone does that in at most 1 of {round(1 / BY_CHANCE)} counts."
_LONGER: Final = ("week", "month", "year")


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
            f"{whole(unbiased.upper)}, does not overlap that of the refined one. {_BY_CHANCE}"
        )


def warn_of_contradictions(release: Release) -> None:
    """Warn where more counts contradict the model than chance explains."""
    is_apart = contradictions(release)
    n_apart = int(is_apart.sum())
    if n_apart > BY_CHANCE * is_apart.size:
        console.warn(
            f"In {n_apart:,} of {console.counted(is_apart.size, 'count')} the {percent(LEVEL)} intervals of unbiased "
            f"and refined do not overlap: they contradict the model. {_BY_CHANCE} Refine otherwise, or look at "
            "unbiased."
        )
