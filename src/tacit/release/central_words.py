"""What the statement of a central release says: a trusted curator counted, and added noise before publishing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tacit._base.rounding import at_most, epsilon_at_most, percent_at_most
from tacit.privacy.guarantee import PERSON_DAY, PRESENCE, REPLACEMENT
from tacit.privacy.unit import Unit

if TYPE_CHECKING:
    from tacit.release.statement import PrivacyStatement

_MECHANISM_WORDS: Final = {
    "flat": "on every count",
    "tree": "on a tree of periods for every place",
    "calendar tree": "on a calendar of periods in longer periods for every place",
    "place tree": "on a tree of places in larger places for every period",
    "counter": "on the running total of every place, published after every period",
}
_WHOM: Final = {PRESENCE: "event on its own", REPLACEMENT: "event on its own", PERSON_DAY: "person and day"}
_ALTERNATIVES: Final = {
    PRESENCE: "'it is among the data' and 'it is not'",
    PERSON_DAY: "'it is among the data' and 'it is not'",
    REPLACEMENT: "any two of them",
}


def _protects(about: PrivacyStatement) -> str:
    """What nobody can tell from all that was published, up to the stated odds."""
    if about.question == REPLACEMENT:
        hidden = " and the ".join(about.guarantee.hidden)
        return (
            f"The {hidden} of every single event. That an event happened is public, with all else that reports of the "
            "same events publish."
        )
    return (Unit("event") if about.question == PRESENCE else Unit(about.unit, about.most)).protects


def central_paragraphs(about: PrivacyStatement) -> list[tuple[str, str]]:
    """Headings and plain sentences about noisy counts."""
    total = epsilon_at_most(about.total_epsilon)
    but = f", but for a chance of at most {about.delta:g} (delta)" if about.delta else ""
    cost = f"rho {epsilon_at_most(about.rho)}, which is epsilon" if about.rho else "epsilon"
    how = f"discrete {'Gaussian' if about.rho else 'Laplace'} noise {_MECHANISM_WORDS[about.mechanism]}"
    unit = Unit(about.unit, about.most) if about.question == PERSON_DAY else Unit("event")
    rule = f" {unit.rule}" if about.question == PERSON_DAY else ""
    parts = [
        (
            "What is protected",
            f"{_protects(about)} Someone who knows everything else and sees all that was published of the data can "
            f"change the odds between {_ALTERNATIVES[about.question]} by a factor of at most {at_most(about.odds)} "
            f"(epsilon {total}){but}. Whoever thought both equally likely can be at most "
            f"{percent_at_most(about.largest_belief)} sure afterwards.",
        ),
        (
            "For whom",
            f"For each {_WHOM[about.question]}, against everyone who sees the release; not against the curator, who "
            f"holds the events. Neighbouring inputs: {about.neighboring_inputs}.{rule}",
        ),
        (
            "How",
            f"Whole-number noise was added to exact counts before anything was published: {how}, at "
            f"{cost} {epsilon_at_most(about.epsilon)} per {about.unit}. The noise has exactly the stated law: no digit "
            "was rounded and no tail cut off.",
        ),
    ]
    if not about.is_alone:
        parts.append(
            (
                "Counted more than once",
                "Other reports or releases were made of the same events. All figures count them: together with this "
                f"release they cost epsilon {total} for {about.neighboring_inputs}.",
            )
        )
    parts += [
        (
            "What was done afterwards",
            f"{about.step_words} These steps saw only noisy counts, so they cost no privacy.",
        ),
        (
            "What is not protected",
            f"{unit.does_not_protect} Nor what everyone can learn from the counts themselves, such "
            "as that one region has more events than another.",
        ),
    ]
    return parts
