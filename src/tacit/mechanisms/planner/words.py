"""A comparison in sentences: the best one, what is best for a single kind of question, and where nothing can work."""

from __future__ import annotations

import math
from typing import Final

from tacit._base.rounding import epsilon_at_most, whole
from tacit._base.sentences import listed
from tacit.mechanisms.planner.comparison import Comparison
from tacit.mechanisms.planner.inverse import Target, excess, least_epsilon, least_events, nearest
from tacit.mechanisms.planner.situation import Question, Situation
from tacit.privacy.guarantee import USUAL_DELTA
from tacit.privacy.shuffling import shuffled

WORTHWHILE: Final = Target(0.1, is_relative=True)
"""The largest error that is worth having, where no mechanism reaches what was asked."""

_CLEARLY_BETTER: Final = 0.98  # 2 % less error: as much as nobody would notice is not said; a choice of words alone


def error_text(error: float) -> str:
    """Return an error for people: three digits, or whole; a dash where there is no answer.

    >>> error_text(1.3571), error_text(36.97), error_text(12345.6), error_text(math.inf)
    ('1.36', '37.0', '12,346', '–')
    """
    if math.isinf(error):
        return "–"
    digits = 2 if error < 10 else 1 if error < 100 else 0
    return f"{error:,.{digits}f}"


def share_text(share: float) -> str:
    """Return a share of the answer in percent, two digits.

    >>> share_text(0.00042), share_text(0.1234), share_text(25.0)
    ('0.042%', '12%', '2,500%')
    """
    percentage = 100 * share
    return f"{percentage:,.0f}%" if percentage >= 10 else f"{percentage:.2g}%"


def verdict(compared: Comparison) -> list[str]:
    """Return the sentences that sum a comparison up."""
    hopeless = compared.hopeless
    said = []
    if set(hopeless) != set(compared.questions):
        said += [_best(compared), *_specialists(compared)]
    said += [_nothing_works(compared, question) for question in hopeless]
    return said + _shuffling(compared.situation)


def _shuffling(situation: Situation) -> list[str]:
    """Return what a shuffler would add to the reports that are estimated together, if that is known."""
    n_reports = int(situation.reports_together) if situation.epsilon is not None and not situation.is_central else 0
    if not n_reports:
        return []
    assert situation.epsilon is not None
    bound = shuffled(situation.epsilon, n_reports, delta=USUAL_DELTA)
    return [bound.sentence] if bound.epsilon < bound.local_epsilon else []


def choice_words(compared: Comparison) -> str:
    """Say why a plan has the mechanism that it has."""
    best, situation = compared.best_for_plan, compared.situation
    errors = ""
    if situation.is_central:  # what devices' reports err by depends on how many there will be
        errors = f": by {listed([error_text(error) for error in best.errors])} events"
    kinds = listed([str(question) for question in compared.questions])
    among = f"{len(compared.predictions)} mechanisms and fan-outs"
    return f"For {kinds}, {best.contender} errs least of {among} that were compared{errors}."


def _best(compared: Comparison) -> str:
    best = compared.best
    kinds, shares = [], []
    for question, error in zip(compared.questions, best.errors, strict=True):
        if question not in compared.hopeless:
            kinds.append(str(question))
            shares.append(share_text(error / compared.situation.expected(question)))
    size = best.contender.report_bytes
    report = "" if size is None else f", with reports of {size:,} byte{'' if size == 1 else 's'}"
    errors = f"it errs by {listed(shares)} of the answer" + (f"s to {listed(kinds)}" if len(shares) > 1 else "")
    which = "these questions together" if len(compared.questions) > 1 else str(compared.questions[0])
    return f"Best for {which}: {best.contender}{report}; {errors}."


def _specialists(compared: Comparison) -> list[str]:
    """Return those that err clearly less than the best overall for one kind of question."""
    said = []
    for question, error in zip(compared.questions, compared.best.errors, strict=True):
        least = compared.least_error(question)
        if least < _CLEARLY_BETTER * error and question not in compared.hopeless:
            said.append(f"For {question} alone: {compared.best_for(question).contender}, {error_text(least)}.")
    return said


def _nothing_works(compared: Comparison, question: Question) -> str:
    situation = compared.situation
    error, answer = (error_text(value) for value in (compared.least_error(question), situation.expected(question)))
    remedies = []
    if situation.epsilon is not None:
        epsilon = least_epsilon(situation, [question], WORTHWHILE)
        # beyond that a remedy would protect nobody
        remedies += [] if epsilon is None else [f"epsilon {epsilon_at_most(epsilon)}"]
    remedies.append(f"{whole(least_events(situation, [question], WORTHWHILE))} events in all")
    return (
        f"Nothing can answer {question}: the least error is {error}, and the answer itself is about {answer}. "
        f"An error of {WORTHWHILE} takes {' or '.join(remedies)}; or ask for longer ranges."
    )


def reached(compared: Comparison, target: Target) -> str:
    """Return whether a target is met, and what it takes."""
    best = nearest(compared, target)
    if excess(best, compared, target) <= 1:
        return f"{best.contender} errs by at most {target} for all of these questions."
    needed = least_epsilon(compared.situation, compared.questions, target) if compared.situation.epsilon else None
    takes = f"It takes epsilon {epsilon_at_most(needed)}." if needed is not None else ""
    return f"Nothing errs by at most {target} for all of these questions. {takes}".rstrip()
