"""The paragraphs of a privacy statement: what reports and noisy counts promise, in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tacit._base.rounding import at_most, epsilon_at_most, percent_at_most
from tacit._base.sentences import listed
from tacit.privacy.guarantee import COORDINATES
from tacit.privacy.questions import PERSON_DAY, PRESENCE, REPLACEMENT, window_asked
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
    "sampled tables": "tables of its private coordinates, each report answering for one of them",
    "longitudinal": "longitudinal RAPPOR, both coins drawn again for each report",
    "optimized longitudinal": "longitudinal optimized unary encoding (L-OSUE), both coins drawn again for each report",
    "longitudinal hashing": "longitudinal local hashing (LOLOHA), all coins drawn again for each report",
    "binary longitudinal hashing": "binary longitudinal hashing (BiLOLOHA), all coins drawn again for each report",
}
_PUBLIC_WORDS: Final = {
    "time": ("in which period", "period"),
    "place": ("at which place", "place"),
    "kind": ("of which kind", "kind"),
}
"""For each coordinate that a report does not hide: what the report tells of it, and the noun for it."""
_AGAIN_AND_AGAIN: Final = (
    "All figures above are for one report about each event. A device that reports the same value again and again from "
    "its memo gives away more: up to the plan's epsilon for any number of reports, which is larger and not stated here."
)


_CORRELATED: Final = (
    " Reports of one device share its permanent answers, so that errors of several periods are correlated: intervals "
    "hold for single periods, and sums over periods err more than they say."
)


def _private_words(about: PrivacyStatement) -> str:
    hidden = listed(tuple(f"the {name}" for name in about.guarantee.hidden))
    return f"{hidden[0].upper()}{hidden[1:]} of every single event"


def _published(about: PrivacyStatement) -> str:
    """Return what reports publish, as the first half of a sentence."""
    known = COORDINATES if about.guarantee.tells_kinds else COORDINATES[:2]
    axes = [axis for axis in known if axis not in about.guarantee.hidden]
    told, nouns = (tuple(_PUBLIC_WORDS[axis][which] for axis in axes) for which in (0, 1))
    if not axes:
        return "That an event happened: the total number of reports is exact and public"
    also = f"and {told[0]}" if len(told) == 1 else listed(told)
    return f"That an event happened, {also}: the number of reports per {listed(nouns)} is exact and public"


def local_paragraphs(about: PrivacyStatement) -> list[tuple[str, str]]:
    """Headings and plain sentences about randomized reports."""
    hidden = listed(about.guarantee.hidden)
    whom = "everyone, the collector included" if about.is_alone else "everyone who sees what was published"
    total = epsilon_at_most(about.total_epsilon)
    how = _MECHANISM_WORDS.get(about.mechanism, about.mechanism)
    is_device = about.unit == "device"
    how = how.partition(",")[0] + " from permanent answers that each device remembers" if is_device else how
    parts = [
        (
            "What is protected",
            f"{_private_words(about)}. Someone who knows everything about an event but its {hidden}, "
            f"and sees all that was collected about it, can change the odds between any two values by a factor of at "
            f"most {at_most(about.odds)} (epsilon {total}). Whoever thought all {about.n_alternatives} values equally "
            f"likely ({1 / about.n_alternatives:.1%} each) can be at most {percent_at_most(about.largest_belief)} sure "
            "afterwards.",
        ),
        (
            "For whom",
            f"For each {about.unit} on its own, against {whom}. Neighbouring inputs: one "
            f"{about.unit}'s {hidden} replaced by any other"
            + (
                f" in one report. {Unit('device').does_not_protect}"
                if is_device
                else ". A person behind several events is protected once for each of them, and the epsilons of their "
                "events add up."
            ),
        ),
        (
            "How",
            f"Every report was randomized before it was counted, by {how}, with epsilon "
            f"{epsilon_at_most(about.epsilon)} per {'report' if is_device else 'event'} computed from the integer "
            f"thresholds that were used.{_CORRELATED if is_device else ''}",
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
    if "longitudinal" in about.mechanism:
        again = _AGAIN_AND_AGAIN if about.device is None else " ".join(about.device.sentences(is_unit=is_device))
        parts.append(("Reported again and again", again))
    parts += [
        (
            "What was done afterwards",
            f"{about.step_words} These steps saw only randomized reports, so they cost no privacy.",
        ),
        (
            "What is not protected",
            f"{_published(about)}. Nor what everyone can learn from the counts themselves, such "
            "as that one region has more events than another.",
        ),
    ]
    return parts


_NOISE_WORDS: Final = {
    "flat": "on every count",
    "tree": "on a tree of periods for every place",
    "calendar tree": "on a calendar of periods in longer periods for every place",
    "place tree": "on a tree of places in larger places for every period",
    "tables": "on tables by place, by kind and of both for every period",
    "counter": "on the running total of every place, published after every period",
    "joined": "on the counts of each of several stretches of time, which were released one after another",
}


def _whom(question: str) -> str:
    """For whom the figures hold, after "For each"."""
    if question in (PRESENCE, REPLACEMENT):
        return "event on its own"
    window = window_asked(question)
    return "person" if window is None else f"person and {window}"


_ALTERNATIVES: Final = {
    PRESENCE: "'it is among the data' and 'it is not'",
    PERSON_DAY: "'it is among the data' and 'it is not'",
    REPLACEMENT: "any two of them",
}
_OF_A_PERSON: Final = "'their events are among the data' and 'they are not'"


def _protected_unit(about: PrivacyStatement) -> Unit:
    """The unit that the figures are for: its own, or less if others of the same events leave no more."""
    if about.question in (PRESENCE, REPLACEMENT):
        return Unit()
    own, window = about.protected, window_asked(about.question)
    if own is not None and own.window == window:
        return own
    return Unit.user_day(most=about.most) if window == "day" else Unit.person(most=about.most, window=window)


def _noise_words(about: PrivacyStatement) -> str:
    """On what noise was added; where there are kinds, every place has a count of each."""
    words = _NOISE_WORDS[about.mechanism]
    return words.replace("every place", "every place and kind") if about.has_kinds else words


def _protects(about: PrivacyStatement) -> str:
    """Return the paragraph that says what nobody can tell from all that was published, up to the stated odds."""
    if about.question == REPLACEMENT:
        return (
            f"{_private_words(about)}. That an event happened is public, with all else that reports of the same events "
            "publish."
        )
    kinds = " The same holds for kinds." if about.has_kinds else ""
    return f"{_protected_unit(about).protects}{kinds}"


def central_paragraphs(about: PrivacyStatement) -> list[tuple[str, str]]:
    """Headings and plain sentences about noisy counts."""
    total = epsilon_at_most(about.total_epsilon)
    but = f", but for a chance of at most {about.delta:g} (delta)" if about.delta else ""
    cost = f"rho {epsilon_at_most(about.rho)}, which is epsilon" if about.rho else "epsilon"
    how = f"discrete {'Gaussian' if about.rho else 'Laplace'} noise {_noise_words(about)}"
    unit, between = _protected_unit(about), _ALTERNATIVES.get(about.question, _OF_A_PERSON)
    rule = f" {about.protected.rule}" if about.protected is not None and unit.is_of_a_person else ""
    per = f"{about.unit} in a {about.window}" if about.window else about.unit
    parts = [
        (
            "What is protected",
            f"{_protects(about)} Someone who knows everything else and sees all that was published of the data can "
            f"change the odds between {between} by a factor of at most {at_most(about.odds)} "
            f"(epsilon {total}){but}. Whoever thought both equally likely can be at most "
            f"{percent_at_most(about.largest_belief)} sure afterwards.",
        ),
        (
            "For whom",
            f"For each {_whom(about.question)}, against everyone who sees the release; not against the curator, who "
            f"holds the events. Neighbouring inputs: {about.neighboring_inputs}.{rule}",
        ),
        (
            "How",
            f"Whole-number noise was added to exact counts before anything was published: {how}, at "
            f"{cost} {epsilon_at_most(about.epsilon)} per {per}. The noise has exactly the stated "
            "distribution: no digit was rounded and no tail cut off.",
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
