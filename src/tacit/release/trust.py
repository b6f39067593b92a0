"""Whom a release had to trust, as its statement says it: nobody where devices randomized, else a curator."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tacit._base.rounding import at_most, epsilon_at_most, percent_at_most
from tacit.privacy.guarantee import PERSON_DAY, PRESENCE, REPLACEMENT
from tacit.privacy.unit import Unit

if TYPE_CHECKING:
    from tacit.release.statement import PrivacyStatement

_MECHANISM_WORDS: Final = {
    "unary": "unary encoding (basic one-time RAPPOR)",
    "optimized unary": "optimized unary encoding",
    "tuned unary": "tuned unary encoding",
    "response": "randomized response",
    "subset": "subset selection",
    "hashing": "local hashing",
    "binary hashing": "binary local hashing",
    "hadamard": "Hadamard response",
    "hierarchical": "a hierarchical histogram, each report answering for one level of a tree",
    "longitudinal": "longitudinal RAPPOR, both coins drawn again for each report",
}
_PRIVATE_WORDS: Final = {
    ("place",): "The place of every single event",
    ("time",): "The time of every single event",
    ("time", "place"): "The time and the place of every single event",
}
_PUBLIC_WORDS: Final = {
    ("place",): "That an event happened, and in which period: the number of reports per period is exact and public",
    ("time",): "That an event happened, and at which place: the number of reports per place is exact and public",
    ("time", "place"): "That an event happened: the total number of reports is exact and public",
}
_AGAIN_AND_AGAIN: Final = (
    "All figures above are for one report about each event. A device that reports the same value again and again from "
    "its memo gives away more: up to the plan's epsilon for any number of reports, which is larger and not stated here."
)


def local_paragraphs(about: PrivacyStatement) -> list[tuple[str, str]]:
    """Headings and plain sentences about randomized reports."""
    hidden = " and ".join(about.guarantee.hidden)
    whom = "everyone, the collector included" if about.is_alone else "everyone who sees what was published"
    total = epsilon_at_most(about.total_epsilon)
    how = _MECHANISM_WORDS.get(about.mechanism, about.mechanism)
    parts = [
        (
            "What is protected",
            f"{_PRIVATE_WORDS[about.guarantee.hidden]}. Someone who knows everything about an event but its {hidden}, "
            f"and sees all that was collected about it, can change the odds between any two values by a factor of at "
            f"most {at_most(about.odds)} (epsilon {total}). Whoever thought all {about.n_alternatives} values equally "
            f"likely ({1 / about.n_alternatives:.1%} each) can be at most {percent_at_most(about.largest_belief)} sure "
            "afterwards.",
        ),
        (
            "For whom",
            f"For each {about.unit} on its own, against {whom}. Neighbouring inputs: one "
            f"{about.unit}'s {hidden} replaced by any other. A person behind several events is protected once for "
            "each of them, and the epsilons of their events add up.",
        ),
        (
            "How",
            f"Every report was randomized before it was counted, by {how}, with epsilon "
            f"{epsilon_at_most(about.epsilon)} per event computed from the integer thresholds that were used.",
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
    if about.mechanism == "longitudinal":
        parts.append(("Reported again and again", _AGAIN_AND_AGAIN))
    parts += [
        (
            "What was done afterwards",
            f"{about.step_words} These steps saw only randomized reports, so they cost no privacy.",
        ),
        (
            "What is not protected",
            f"{_PUBLIC_WORDS[about.guarantee.hidden]}. Nor what everyone can learn from the counts themselves, such "
            "as that one region has more events than another.",
        ),
    ]
    return parts


_NOISE_WORDS: Final = {
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
    how = f"discrete {'Gaussian' if about.rho else 'Laplace'} noise {_NOISE_WORDS[about.mechanism]}"
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
            f"{cost} {epsilon_at_most(about.epsilon)} per {about.unit}. The noise has exactly the stated distribution: "
            "no digit was rounded and no tail cut off.",
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
