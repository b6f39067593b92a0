"""What the statement of a central release says: a trusted curator counted, and added noise before publishing."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tacit.rounding import at_most, epsilon_at_most, percent_at_most

if TYPE_CHECKING:
    from tacit.release.statement import PrivacyStatement

_MECHANISM_WORDS: Final = {
    "laplace": "discrete Laplace noise on every count",
    "gaussian": "discrete Gaussian noise on every count",
    "tree": "discrete Laplace noise on a tree of periods for every place",
    "gaussian tree": "discrete Gaussian noise on a tree of periods for every place",
    "place tree": "discrete Laplace noise on a tree of places for every period",
    "gaussian place tree": "discrete Gaussian noise on a tree of places for every period",
}
_PROTECTED: Final = {
    "event": "Whether any single event happened at all, and so also when and where",
    "user-day": "All that any one person did on any one day: whether, how often, when and where",
}
_WHOM: Final = {
    "event": (
        "For each event on its own, against everyone who sees the release; not against the curator, who holds the "
        "events. Neighbouring inputs: one event added or removed."
    ),
    "user-day": (
        "For each person and day, against everyone who sees the release; not against the curator, who holds the "
        "events. Neighbouring inputs: all events of one person on one day added or removed. {counted}"
    ),
}
_BEYOND: Final = {
    "event": (
        "A person behind several events: each event is hidden among those that might have been, but many events of "
        "one person may together be told, and their epsilons add up. Someone who comes every day is not hidden."
    ),
    "user-day": (
        "A person seen on several days: each day is hidden, but many days of one person may together be told, and "
        "their epsilons add up. Someone who comes every day is not hidden as such."
    ),
}


def central_paragraphs(about: PrivacyStatement) -> list[tuple[str, str]]:
    """Headings and plain sentences about noisy counts."""
    total, prior = epsilon_at_most(about.total_epsilon), epsilon_at_most(about.prior_epsilon)
    but = f", but for a chance of at most {about.delta:.2g} (delta)" if about.delta else ""
    cost = f"rho {about.rho:.6g}, which is epsilon" if about.rho else "epsilon"
    how = _MECHANISM_WORDS.get(about.mechanism, about.mechanism)
    counted = f"At most {about.most} of a person's events a day were counted: the first in the order of the file."
    parts = [
        (
            "What is protected",
            f"{_PROTECTED[about.unit]}. Someone who knows everything else and sees this release can change the odds "
            f"between 'it is among the data' and 'it is not' by a factor of at most {at_most(about.odds)} (epsilon "
            f"{total}){but}. Whoever thought both equally likely can be at most "
            f"{percent_at_most(about.largest_belief)} sure afterwards.",
        ),
        ("For whom", _WHOM[about.unit].format(counted=counted)),
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
            f"{_BEYOND[about.unit]} Nor what everyone can learn from the counts themselves, such "
            "as that one region has more events than another.",
        ),
    ]
    return parts
