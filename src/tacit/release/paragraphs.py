"""The paragraphs of a privacy statement: what reports and noisy counts promise, in plain sentences."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tacit._base.languages import figures, gettext, listed, message
from tacit._base.rounding import at_most, epsilon_at_most, percent_at_most
from tacit.privacy.guarantee import COORDINATES
from tacit.privacy.questions import PERSON_DAY, PRESENCE, REPLACEMENT, person_in, window_asked
from tacit.privacy.unit import Unit

if TYPE_CHECKING:
    from tacit.release.statement import PrivacyStatement

_MECHANISM_WORDS: Final = {
    "unary": message("unary encoding (basic one-time RAPPOR)"),
    "optimized unary": message("optimized unary encoding"),
    "tuned unary": message("tuned unary encoding"),
    "response": message("randomized response"),
    "subset": message("subset selection"),
    "hashing": message("local hashing"),
    "binary hashing": message("binary local hashing"),
    "hadamard": message("Hadamard response"),
    "hierarchical": message("a hierarchical histogram, each report answering for one level of a tree"),
    "sampled tables": message("tables of its private coordinates, each report answering for one of them"),
    "longitudinal": message("longitudinal RAPPOR, both coins drawn again for each report"),
    "optimized longitudinal": message(
        "longitudinal optimized unary encoding (L-OSUE), both coins drawn again for each report"
    ),
    "longitudinal hashing": message("longitudinal local hashing (LOLOHA), all coins drawn again for each report"),
    "binary longitudinal hashing": message(
        "binary longitudinal hashing (BiLOLOHA), all coins drawn again for each report"
    ),
}
_PUBLISHED: Final = {
    (): message("That an event happened: the total number of reports is exact and public."),
    ("time",): message(
        "That an event happened, and in which period: the number of reports per period is exact and public."
    ),
    ("place",): message(
        "That an event happened, and at which place: the number of reports per place is exact and public."
    ),
    ("kind",): message(
        "That an event happened, and of which kind: the number of reports per kind is exact and public."
    ),
    ("time", "place"): message(
        "That an event happened, in which period and at which place: the number of reports per period and place is "
        "exact and public."
    ),
    ("time", "kind"): message(
        "That an event happened, in which period and of which kind: the number of reports per period and kind is exact "
        "and public."
    ),
    ("place", "kind"): message(
        "That an event happened, at which place and of which kind: the number of reports per place and kind is exact "
        "and public."
    ),
}
"""What reports publish, by the coordinates that they do not hide."""
_AGAIN_AND_AGAIN: Final = message(
    "All figures above are for one report about each event. A device that reports the same value again and again from "
    "its memo gives away more: up to the plan's epsilon for any number of reports, which is larger and not stated here."
)


_CORRELATED: Final = message(
    "Reports of one device share its permanent answers, so that errors of several periods are correlated: intervals "
    "hold for single periods, and sums over periods err more than they say."
)


def _private_words(about: PrivacyStatement) -> str:
    """Return what reports hide, as a sentence."""
    hidden = listed([gettext(_THE[name]) for name in about.guarantee.hidden])
    return gettext("%(hidden)s of every single event.", hidden=f"{hidden[0].upper()}{hidden[1:]}")


_THE: Final = {"time": message("the time"), "place": message("the place"), "kind": message("the kind")}


def _published(about: PrivacyStatement) -> str:
    """Return what reports publish."""
    known = COORDINATES if about.guarantee.tells_kinds else COORDINATES[:2]
    return gettext(_PUBLISHED[tuple(axis for axis in known if axis not in about.guarantee.hidden)])


def local_paragraphs(about: PrivacyStatement) -> list[tuple[str, str]]:
    """Return headings and plain sentences about randomized reports."""
    hidden = listed([gettext(name) for name in about.guarantee.hidden])
    total = epsilon_at_most(about.total_epsilon)
    is_device = about.unit == "device"
    protected = gettext(
        "Someone who knows everything about an event but its %(hidden)s, and sees all that was collected about it, can "
        "change the odds between any two values by a factor of at most %(odds)s (epsilon %(epsilon)s). Whoever thought "
        "all %(n)s values equally likely (%(share)s each) can be at most %(belief)s sure afterwards.",
        hidden=hidden,
        odds=at_most(about.odds),
        epsilon=total,
        n=about.n_alternatives,
        share=figures(f"{1 / about.n_alternatives:.1%}"),
        belief=percent_at_most(about.largest_belief),
    )
    parts = [
        (gettext("What is protected"), f"{_private_words(about)} {protected}"),
        (gettext("For whom"), _for_whom(about, hidden)),
        (gettext("How"), _randomized(about)),
    ]
    if not about.is_alone:
        parts.append((gettext("Counted more than once"), _more_than_once(about)))
    if "longitudinal" in about.mechanism:
        figures_of = about.device
        again = gettext(_AGAIN_AND_AGAIN) if figures_of is None else " ".join(figures_of.sentences(is_unit=is_device))
        parts.append((gettext("Reported again and again"), again))
    saw = gettext("These steps saw only randomized reports, so they cost no privacy.")
    return [
        *parts,
        (gettext("What was done afterwards"), f"{about.step_words} {saw}"),
        (gettext("What is not protected"), f"{_published(about)} {gettext(_LEARNED_FROM_COUNTS)}"),
    ]


_LEARNED_FROM_COUNTS: Final = message(
    "Nor what everyone can learn from the counts themselves, such as that one place has more events than another."
)


def _for_whom(about: PrivacyStatement, hidden: str) -> str:
    """Return for whom reports promise something, and against whom."""
    is_device = about.unit == "device"
    if about.is_alone:
        whom = _EACH_DEVICE if is_device else _EACH_EVENT
    else:
        whom = _EACH_DEVICE_PUBLISHED if is_device else _EACH_EVENT_PUBLISHED
    if is_device:
        inputs = gettext(
            "Neighbouring inputs: one device's %(hidden)s replaced by any other in one report.", hidden=hidden
        )
        return f"{gettext(whom)} {inputs} {Unit('device').does_not_protect}"
    inputs = gettext("Neighbouring inputs: one event's %(hidden)s replaced by any other.", hidden=hidden)
    return f"{gettext(whom)} {inputs} {gettext(_SEVERAL_EVENTS)}"


_EACH_EVENT: Final = message("For each event on its own, against everyone, the collector included.")
_EACH_DEVICE: Final = message("For each device on its own, against everyone, the collector included.")
_EACH_EVENT_PUBLISHED: Final = message("For each event on its own, against everyone who sees what was published.")
_EACH_DEVICE_PUBLISHED: Final = message("For each device on its own, against everyone who sees what was published.")
_SEVERAL_EVENTS: Final = message(
    "A person behind several events is protected once for each of them, and the epsilons of their events add up."
)


def _randomized(about: PrivacyStatement) -> str:
    """Return how reports were randomized."""
    how, epsilon = _MECHANISM_WORDS.get(about.mechanism, about.mechanism), epsilon_at_most(about.epsilon)
    if about.unit != "device":
        return gettext(
            "Every report was randomized before it was counted, by %(how)s, with epsilon %(epsilon)s per event "
            "computed from the integer thresholds that were used.",
            how=gettext(how),
            epsilon=epsilon,
        )
    randomized = gettext(
        "Every report was randomized before it was counted, by %(how)s from permanent answers that each device "
        "remembers, with epsilon %(epsilon)s per report computed from the integer thresholds that were used.",
        how=gettext(how).partition(",")[0],
        epsilon=epsilon,
    )
    return f"{randomized} {gettext(_CORRELATED)}"


def _more_than_once(about: PrivacyStatement) -> str:
    return gettext(
        "Other reports or releases were made of the same events. All figures count them: together with this release "
        "they cost epsilon %(epsilon)s for %(inputs)s.",
        epsilon=epsilon_at_most(about.total_epsilon),
        inputs=about.neighboring_inputs,
    )


_NOISE_WORDS: Final = {
    "flat": message("on every count"),
    "tree": message("on a tree of periods for every place"),
    "calendar tree": message("on a calendar of periods in longer periods for every place"),
    "place tree": message("on a tree of places in larger places for every period"),
    "tables": message("on tables by place, by kind and of both for every period"),
    "counter": message("on the running total of every place, published after every period"),
    "joined": message("on the counts of each of several stretches of time, which were released one after another"),
}
_NOISE_WORDS_WITH_KINDS: Final = {
    "tree": message("on a tree of periods for every place and kind"),
    "calendar tree": message("on a calendar of periods in longer periods for every place and kind"),
    "counter": message("on the running total of every place and kind, published after every period"),
}
"""On what noise was added where there are kinds: every place has a count of each."""
_WHOM: Final = {
    PRESENCE: message(
        "For each event on its own, against everyone who sees the release; not against the curator, who holds the "
        "events."
    ),
    PERSON_DAY: message(
        "For each person and day, against everyone who sees the release; not against the curator, who holds the events."
    ),
    person_in("week"): message(
        "For each person and week, against everyone who sees the release; not against the curator, who holds the "
        "events."
    ),
    person_in("month"): message(
        "For each person and month, against everyone who sees the release; not against the curator, who holds the "
        "events."
    ),
    person_in("year"): message(
        "For each person and year, against everyone who sees the release; not against the curator, who holds the "
        "events."
    ),
    person_in(None): message(
        "For each person, against everyone who sees the release; not against the curator, who holds the events."
    ),
}
"""For whom the figures of noisy counts hold, by question."""
_PER: Final = {
    ("event", None): message("event"),
    ("user-day", None): message("user-day"),
    ("person", None): message("person"),
    ("person", "week"): message("person in a week"),
    ("person", "month"): message("person in a month"),
    ("person", "year"): message("person in a year"),
}


_ALTERNATIVES: Final = {
    PRESENCE: message("'it is among the data' and 'it is not'"),
    PERSON_DAY: message("'it is among the data' and 'it is not'"),
    REPLACEMENT: message("any two of them"),
}
_OF_A_PERSON: Final = message("'their events are among the data' and 'they are not'")


def _protected_unit(about: PrivacyStatement) -> Unit:
    """Return the unit that the figures are for: its own, or less if others of the same events leave no more."""
    if about.question in (PRESENCE, REPLACEMENT):
        return Unit()
    own, window = about.protected, window_asked(about.question)
    if own is not None and own.window == window:
        return own
    return Unit.user_day(most=about.most) if window == "day" else Unit.person(most=about.most, window=window)


def _protects(about: PrivacyStatement) -> str:
    """Return the paragraph that says what nobody can tell from all that was published, up to the stated odds."""
    if about.question == REPLACEMENT:
        public = gettext("That an event happened is public, with all else that reports of the same events publish.")
        return f"{_private_words(about)} {public}"
    protects = _protected_unit(about).protects
    return f"{protects} {gettext('The same holds for kinds.')}" if about.has_kinds else protects


def central_paragraphs(about: PrivacyStatement) -> list[tuple[str, str]]:
    """Return headings and plain sentences about noisy counts."""
    total, unit = epsilon_at_most(about.total_epsilon), _protected_unit(about)
    odds = {
        "between": gettext(_ALTERNATIVES.get(about.question, _OF_A_PERSON)),
        "odds": at_most(about.odds),
        "epsilon": total,
    }
    changed = (
        gettext(
            "Someone who knows everything else and sees all that was published of the data can change the odds between "
            "%(between)s by a factor of at most %(odds)s (epsilon %(epsilon)s), but for a chance of at most %(delta)s "
            "(delta).",
            **odds,
            delta=figures(f"{about.delta:g}"),
        )
        if about.delta
        else gettext(
            "Someone who knows everything else and sees all that was published of the data can change the odds between "
            "%(between)s by a factor of at most %(odds)s (epsilon %(epsilon)s).",
            **odds,
        )
    )
    belief = gettext(
        "Whoever thought both equally likely can be at most %(belief)s sure afterwards.",
        belief=percent_at_most(about.largest_belief),
    )
    whom = gettext(_WHOM[PRESENCE if about.question == REPLACEMENT else about.question])
    inputs = gettext("Neighbouring inputs: %(inputs)s.", inputs=about.neighboring_inputs)
    rule = f" {about.protected.rule}" if about.protected is not None and unit.is_of_a_person else ""
    parts = [
        (gettext("What is protected"), f"{_protects(about)} {changed} {belief}"),
        (gettext("For whom"), f"{whom} {inputs}{rule}"),
        (gettext("How"), _noise(about)),
    ]
    if not about.is_alone:
        parts.append((gettext("Counted more than once"), _more_than_once(about)))
    saw = gettext("These steps saw only noisy counts, so they cost no privacy.")
    return [
        *parts,
        (gettext("What was done afterwards"), f"{about.step_words} {saw}"),
        (gettext("What is not protected"), f"{unit.does_not_protect} {gettext(_LEARNED_FROM_COUNTS)}"),
    ]


def _noise(about: PrivacyStatement) -> str:
    """Return which noise was added to what, and at which price."""
    words = _NOISE_WORDS | (_NOISE_WORDS_WITH_KINDS if about.has_kinds else {})
    window = about.window if about.unit == "person" else None
    values = {
        "where": gettext(words[about.mechanism]),
        "epsilon": epsilon_at_most(about.epsilon),
        "unit": gettext(_PER[about.unit, window]),
    }
    added = (
        gettext(
            "Whole-number noise was added to exact counts before anything was published: discrete Gaussian noise "
            "%(where)s, at rho %(rho)s, which is epsilon %(epsilon)s per %(unit)s.",
            **values,
            rho=epsilon_at_most(about.rho),
        )
        if about.rho
        else gettext(
            "Whole-number noise was added to exact counts before anything was published: discrete Laplace noise "
            "%(where)s, at epsilon %(epsilon)s per %(unit)s.",
            **values,
        )
    )
    exactly = gettext("The noise has exactly the stated distribution: no digit was rounded and no tail cut off.")
    return f"{added} {exactly}"
