"""What Python writes of a page in sentences: headline, lead and title, errors in words, names of periods."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import numpy as np

from tacit._base.languages import gettext, listed, message, ngettext, retold
from tacit._base.rounding import at_most, epsilon_at_most, percent
from tacit.pages.figures import Counts, Errors
from tacit.pages.figures.counts import hidden_word
from tacit.pages.selection import Selection, View
from tacit.pages.words import (
    counted,
    level_noun,
    number,
    period,
    plural,
    rough_at_least,
    rough_at_most,
    rounded_percent,
    sentence_case,
    span,
    step_name,
    step_noun,
)
from tacit.release import PrivacyStatement, Release

_PUBLIC: Final = message("An exact number: how many reports came in is public.")


def headline(selection: Selection, view: View) -> list[dict[str, str]]:
    """Return the numbers to know first about a choice of kind, each with a sentence."""
    release = selection.release
    place, kind = release.domain.place, release.domain.kind
    has_total = release.unbiased.totals is not None or kind is not None or place.is_all
    items = [_in_all(selection, view)] if has_total else []
    periods = counted(release.domain.shape[0], step_noun(release.domain.time.step))
    note = gettext("Counted in each of %(periods)s.", periods=periods)
    if kind is not None:
        kinds = counted(kind.n_cells, level_noun(kind.level))
        note = gettext("Counted in each of %(periods)s, for each of %(kinds)s.", periods=periods, kinds=kinds)
    if place.is_all:  # there is nothing to rank
        items[0]["note"] += f" {note}"
        return [*items, _protection(release.statement)]
    items.append({"value": number(place.n_cells), "name": plural(level_noun(place.level)), "note": note})
    if not view.whole.is_hidden.all():
        items.append(_busiest(selection, view))
    items.append(_protection(release.statement))
    return items


def _in_all(selection: Selection, view: View) -> dict[str, str]:
    """Return the number of events in all: the public number of reports, or an estimate of those of a kind."""
    release = selection.release
    when = f"{sentence_case(time_span(release))}{_lacking(release.rules.n_days_missing)}"
    if not view.name and release.unbiased.totals is not None:
        value, name = (
            number(int(release.unbiased.totals.sum())),
            gettext("%(events)s reported", events=selection.events),
        )
        return {"value": value, "name": name, "note": f"{when}. {gettext(_PUBLIC)}"}
    value, interval = in_words(view.total, 0, 0)
    sure = gettext(_PUBLIC) if view.total.is_exact else f"{sentence_case(interval)}."
    return {"value": value, "name": events_of(selection.events, view.level, view.name), "note": f"{when}. {sure}"}


def events_of(events: str, level: str, kind: str) -> str:
    """Return the events, of a kind where one is named."""
    if not kind:
        return events
    return gettext("%(events)s of %(level)s %(kind)s", events=events, level=level_noun(level), kind=kind)


def in_words(counts: Counts, bin: int, cell: int) -> tuple[str, str]:
    """Return a count as shown, as an interval where it is too uncertain for a number; and what is known of it."""
    if counts.is_hidden[bin, cell]:
        return "–", hidden_word(counts.status[bin, cell]) or ""
    lower, upper, level = number(counts.lower[bin, cell]), number(counts.upper[bin, cell]), percent(counts.level)
    if counts.is_exact:
        return number(counts.shown[bin, cell]), gettext("exact")
    if not counts.reliable[bin, cell]:
        return f"{lower}–{upper}", gettext("the %(level)s interval: too uncertain for one number", level=level)
    return number(counts.shown[bin, cell]), between(lower, upper, level)


def between(lower: str, upper: str, level: str) -> str:
    """Return the words for an interval."""
    return gettext("between %(lower)s and %(upper)s (%(level)s interval)", lower=lower, upper=upper, level=level)


def _busiest(selection: Selection, view: View) -> dict[str, str]:
    whole = view.whole
    top = int(np.argmax(np.where(whole.is_hidden[0], -np.inf, whole.values[0])))
    level, lower, upper = percent(whole.level), number(whole.lower[0, top]), number(whole.upper[0, top])
    sure = gettext("an exact, public number") if whole.is_exact else between(lower, upper, level)
    place, where = level_noun(selection.release.domain.place.level), gettext("in %(place)s", place=whole.places[top])
    if not whole.reliable[0, top]:
        note = gettext(
            "The %(level)s interval of the largest estimate: too uncertain for one number, and to tell which %(place)s "
            "is the busiest.",
            level=level,
            place=place,
        )
        return {"value": f"{lower}–{upper}", "name": where, "note": note}
    n_like = int(np.count_nonzero((whole.upper[0] >= whole.lower[0, top]) & ~whole.is_hidden[0]))
    if n_like > 1:
        note = ngettext(
            "%(place)s has the largest estimate, but %(n)s other interval overlaps its own.",
            "%(place)s has the largest estimate, but %(n)s other intervals overlap its own.",
            n_like - 1,
            n=number(n_like - 1),
            place=whole.places[top],
        )
        name = gettext("%(places)s may be the busiest", places=plural(place))
        return {"value": number(n_like), "name": name, "note": note}
    what = gettext("The busiest %(place)s", place=place)
    if view.name:
        what = gettext("%(what)s for %(kind)s", what=what, kind=view.name)
    return {"value": number(whole.shown[0, top]), "name": where, "note": f"{what}{gettext('; ')}{sure}."}


def _protection(statement: PrivacyStatement) -> dict[str, str]:
    epsilon = epsilon_at_most(statement.total_epsilon)
    if statement.is_simulation:
        note = (
            gettext("With secret noise, epsilon %(epsilon)s would have held.", epsilon=epsilon)
            if statement.is_central
            else gettext("With secret coins, epsilon %(epsilon)s would have held.", epsilon=epsilon)
        )
        return {"value": gettext("None"), "name": gettext("is the protection of a simulation"), "note": note}
    if statement.is_void:
        return {
            "value": gettext("None"),
            "name": gettext("is what is left of the protection"),
            "note": gettext("What some reports of these events hide, others show."),
        }
    secret = listed([gettext(name) for name in statement.guarantee.hidden])
    if statement.is_central:
        about = statement.about_what
        note = gettext(
            "What all that was published tells about %(about)s, at epsilon %(epsilon)s.", about=about, epsilon=epsilon
        )
    elif not statement.is_alone:
        note = gettext(
            "What all that was made of one %(unit)s tells about its %(hidden)s, at epsilon %(epsilon)s.",
            unit=gettext(statement.unit),
            hidden=secret,
            epsilon=epsilon,
        )
    elif statement.unit == "device":
        note = gettext(
            "What one report tells about the %(hidden)s of a device, at epsilon %(epsilon)s.",
            hidden=secret,
            epsilon=epsilon,
        )
    else:
        note = gettext(
            "What one report tells about the %(hidden)s of an event, at epsilon %(epsilon)s.",
            hidden=secret,
            epsilon=epsilon,
        )
    odds = gettext("%(odds)s to 1", odds=at_most(statement.odds))
    return {"value": odds, "name": gettext("is the most odds can change"), "note": note}


def lead(selection: Selection) -> str:
    """Return the sentence that says what was counted, and how."""
    release = selection.release
    place, step = level_noun(release.domain.place.level), step_noun(release.domain.time.step)
    what: dict[str, str] = {"events": sentence_case(selection.events), "place": place, "step": step}
    is_central, is_placed = release.statement.is_central, not release.domain.place.is_all
    if not is_placed and release.domain.kind is None:
        if is_central:
            return gettext(
                "%(events)s per %(step)s, counted by a curator, with noise added before anything was published.", **what
            )
        return gettext("%(events)s per %(step)s, counted from randomized reports.", **what)
    if not is_placed and release.domain.kind is not None:  # the same sentences serve one axis as another
        what["place"] = level_noun(release.domain.kind.level)
    if release.domain.kind is None or not is_placed:
        if is_central:
            return gettext(
                "%(events)s per %(place)s and %(step)s, counted by a curator, with noise added before anything was "
                "published.",
                **what,
            )
        return gettext("%(events)s per %(place)s and %(step)s, counted from randomized reports.", **what)
    what["kind"] = level_noun(release.domain.kind.level)
    if is_central:
        return gettext(
            "%(events)s per %(place)s, %(kind)s and %(step)s, counted by a curator, with noise added before anything "
            "was published.",
            **what,
        )
    return gettext("%(events)s per %(place)s, %(kind)s and %(step)s, counted from randomized reports.", **what)


def price_of_privacy(statement: PrivacyStatement) -> str:
    """Return the sentence that says what a smaller epsilon means."""
    if statement.is_void:
        return gettext("Other reports of the same events leave nothing of the protection, whatever epsilon is.")
    if statement.is_central:
        return gettext(
            "Privacy is paid for with error. The smaller epsilon, the less the counts say about %(about)s, and the "
            "further a count may be from the truth.",
            about=statement.about_what,
        )
    return gettext(
        "Privacy is paid for with error. The smaller epsilon, the less a report says about its %(hidden)s, and the "
        "further a count may be from the truth.",
        hidden=listed([gettext(name) for name in statement.private]),
    )


def error_words(selection: Selection, errors: Sequence[Errors]) -> list[str]:
    """Return the standard errors of counts of each kind of period, in words."""
    release, found = selection.release, []
    kind, is_placed = release.domain.kind, not release.domain.place.is_all
    for error in errors:
        sizes = rough_at_most(error.largest)
        if error.differ:
            sizes = gettext("%(first)s to %(last)s", first=rough_at_least(error.smallest), last=sizes)
        what = {"error": sizes, "place": level_noun(release.domain.place.level), "step": step_name(error.step)}
        if kind is None:
            found.append(
                gettext("%(error)s for a %(place)s's %(step)s", **what)
                if is_placed
                else gettext("%(error)s for a %(step)s", **what)
            )
        else:
            what["kind"] = level_noun(kind.level)
            found.append(
                gettext("%(error)s for one %(kind)s in a %(place)s's %(step)s", **what)
                if is_placed
                else gettext("%(error)s for one %(kind)s in a %(step)s", **what)
            )
    return found


def unsure_words(release: Release) -> str:
    """Say why a count is marked as too uncertain for one number."""
    rules = release.rules
    limit = rules.largest_relative_error
    share = gettext("a third") if limit is None else rounded_percent(limit)
    if not rules.grey:
        return gettext("its standard error is more than %(share)s of it", share=share)
    grey = gettext(" or ").join(retold(str(rule)) for rule in rules.grey)
    return gettext(
        "its standard error is more than %(share)s of it, or a rule greys it (%(rules)s)", share=share, rules=grey
    )


def time_span(release: Release) -> str:
    """Return the first and last period in as few words as are true."""
    axis = release.domain.time
    return span(axis.label(0), axis.label((axis.n_bins or 1) - 1))


def period_name(counts: Counts, bin: int, release: Release) -> str:
    """Return a period of the map in words; one that lacks days says so wherever it is named."""
    name = time_span(release) if counts.step == "all" else period(counts.periods[bin])
    is_whole = not counts.days_missing or not counts.is_partial[bin]
    return name if is_whole else f"{name}{_lacking(counts.days_missing[bin])}"


def _lacking(n_days: int) -> str:
    if not n_days:
        return ""
    return ngettext(" (%(n)s day without data)", " (%(n)s days without data)", n_days, n=number(n_days))


def default_title(release: Release) -> str:
    """Return a title where none is given."""
    name, place, when = sentence_case(release.plan.name), level_noun(release.domain.place.level), time_span(release)
    if release.domain.kind is None:
        if release.domain.place.is_all:
            return gettext("%(name)s, %(when)s", name=name, when=when)
        return gettext("%(name)s by %(place)s, %(when)s", name=name, place=place, when=when)
    kind = level_noun(release.domain.kind.level)
    if release.domain.place.is_all:
        return gettext("%(name)s by %(place)s, %(when)s", name=name, place=kind, when=when)
    return gettext("%(name)s by %(place)s and %(kind)s, %(when)s", name=name, place=place, kind=kind, when=when)
