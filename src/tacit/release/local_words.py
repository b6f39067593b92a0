"""What the statement of a local release says: devices randomized, and nobody had to be trusted."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tacit._base.rounding import at_most, epsilon_at_most, percent_at_most

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
    "longitudinal": "longitudinal RAPPOR, both coins drawn anew",
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
