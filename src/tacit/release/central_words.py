"""What the statement of a central release says: a trusted curator counted, and added noise before publishing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tacit.privacy.unit import Unit
from tacit.rounding import at_most, epsilon_at_most, percent_at_most

if TYPE_CHECKING:
    from tacit.release.statement import PrivacyStatement

_MECHANISM_WORDS: Final = {
    "flat": "on every count",
    "tree": "on a tree of periods for every place",
    "calendar tree": "on a calendar of periods in longer periods for every place",
    "place tree": "on a tree of places in larger places for every period",
    "counter": "on the running total of every place, published after every period",
}
_WHOM: Final = {
    "event": (
        "For each event on its own, against everyone who sees the release; not against the curator, who holds the "
        "events. Neighbouring inputs: one event added or removed."
    ),
    "user-day": (
        "For each person and day, against everyone who sees the release; not against the curator, who holds the "
        "events. Neighbouring inputs: all events of one person on one day added or removed. {rule}"
    ),
}


def central_paragraphs(about: PrivacyStatement) -> list[tuple[str, str]]:
    """Headings and plain sentences about noisy counts."""
    total, prior = epsilon_at_most(about.total_epsilon), epsilon_at_most(about.prior_epsilon)
    but = f", but for a chance of at most {about.delta:g} (delta)" if about.delta else ""
    cost = f"rho {epsilon_at_most(about.rho)}, which is epsilon" if about.rho else "epsilon"
    how = f"discrete {'Gaussian' if about.rho else 'Laplace'} noise {_MECHANISM_WORDS[about.mechanism]}"
    unit = Unit(about.unit, about.most)
    parts = [
        (
            "What is protected",
            f"{unit.protects} Someone who knows everything else and sees this release can change the odds "
            f"between 'it is among the data' and 'it is not' by a factor of at most {at_most(about.odds)} (epsilon "
            f"{total}){but}. Whoever thought both equally likely can be at most "
            f"{percent_at_most(about.largest_belief)} sure afterwards.",
        ),
        ("For whom", _WHOM[about.unit].format(rule=unit.rule)),
        (
            "How",
            f"Whole-number noise was added to exact counts before anything was published: {how}, at "
            f"{cost} {epsilon_at_most(about.epsilon)} per {about.unit}. The noise has exactly the stated law: no digit "
            "was rounded and no tail cut off.",
        ),
    ]
    if about.prior_epsilon:
        parts.append(
            (
                "Counted more than once",
                f"Releases of the same events had been made before, at epsilon {prior}; together with this release "
                f"that is epsilon {total}, and all figures above count it.",
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
