"""tacit plan --compare: the predicted error of every mechanism and fan-out, before anything is collected."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Annotated, Final

import typer

from tacit._base.rounding import epsilon_at_most, round_up, whole
from tacit.cli import console
from tacit.domain import Domain
from tacit.errors import SettingError
from tacit.mechanisms.planner import (
    Comparison,
    Prediction,
    Question,
    Situation,
    Target,
    compare,
    least_epsilon,
    least_events,
)
from tacit.mechanisms.planner.words import error_text, reached, verdict

DEFAULT_QUESTIONS: Final = "points,ranges,totals"


@dataclass(frozen=True)
class QuestionOptions:
    """What will be asked, of how many events, and how good answers must be."""

    compare: Annotated[
        bool,
        typer.Option("--compare", help="Write nothing; print what every mechanism and fan-out would err by."),
    ] = False
    ask: Annotated[
        str | None,
        typer.Option(
            help="The questions: points, ranges (of any length), totals (running), and lengths of ranges in periods, "
            f"such as points,7,30 (default: {DEFAULT_QUESTIONS}).",
            metavar="KINDS",
        ),
    ] = None
    events: Annotated[
        float | None, typer.Option(help="How many events to expect, over all periods and places.", metavar="N")
    ] = None
    events_per_bin: Annotated[
        float | None, typer.Option(help="How many to expect in one period, over all places.", metavar="N")
    ] = None
    target: Annotated[
        str | None,
        typer.Option(
            help="The error that answers may have: 40 (events) or 5% (of the answer); finds the epsilon it takes, or "
            "with --epsilon and no --events the number of events.",
            metavar="ERROR",
        ),
    ] = None

    @property
    def questions(self) -> tuple[Question, ...]:
        return Question.parse(self.ask or DEFAULT_QUESTIONS)

    def n_events(self, n_bins: int) -> float | None:
        """How many events to expect in all, if anything was said."""
        if self.events is not None and self.events_per_bin is not None:
            raise SettingError("the events are expected in all or in each period. Give --events or --events-per-bin.")
        return self.events if self.events_per_bin is None else self.events_per_bin * n_bins


def say_comparison(
    domain: Domain,
    options: QuestionOptions,
    *,
    epsilon: float | None,
    rho: float | None,
    situated: Callable[[float | None, float], Situation],
) -> None:
    """Print the comparison; ``situated`` makes a situation of an epsilon and a number of events.

    Of epsilon (or rho), the number of events and the target two must be given, and the third is found.
    """
    questions, n_events = options.questions, options.n_events(n_bins_of(domain))
    target = None if options.target is None else Target.parse(options.target)
    is_spent = epsilon is not None or rho is not None
    if target is None and not is_spent:
        raise SettingError(
            "a comparison needs what may be spent, or what errors may be. Add: --epsilon 1, or --target 5%"
        )
    if n_events is None:
        if target is None or not is_spent:
            raise SettingError(
                "how much an error matters depends on what is counted. Add how many events to expect: --events 400000"
            )
        n_events = _events_for(questions, target, situated(epsilon, 1.0))
        target = None
    elif not is_spent:
        assert target is not None
        epsilon = _epsilon_for(questions, target, situated(1.0, n_events))
        if epsilon is None:
            return
        target = None
    with console.progress("Comparing mechanisms"):
        compared = compare(situated(epsilon, n_events), questions)
        sentences = verdict(compared) + ([] if target is None else [reached(compared, target)])
    _say_table(compared)
    for sentence in sentences:
        console.say(sentence)


def n_bins_of(domain: Domain) -> int:
    """The number of periods; a domain without an end has none."""
    if domain.time.n_bins is None:
        raise SettingError("errors can be predicted for a time that ends. Add the last day: --to 2018-12-31")
    return domain.time.n_bins


def _events_for(questions: Sequence[Question], target: Target, situation: Situation) -> float:
    needed = least_events(situation, questions, target)
    console.strong(f"An error of {target} takes {whole(needed)} events in all.")
    return float(needed)


def _epsilon_for(questions: Sequence[Question], target: Target, situation: Situation) -> float | None:
    with console.progress("Looking for the least epsilon"):
        needed = least_epsilon(situation, questions, target)
    if needed is None:
        console.strong(f"No epsilon up to 32 gives answers that err by at most {target}; more would protect nobody.")
        return None
    console.strong(f"An error of {target} takes epsilon {epsilon_at_most(needed)}.")
    return round_up(needed, 4)


def _say_table(compared: Comparison) -> None:
    situation, questions = compared.situation, compared.questions
    least = [compared.least_error(question) for question in questions]

    def row(one: Prediction) -> list[str]:
        errors = (
            error_text(error) + ("*" if error <= smallest * (1 + 1e-9) else " ")
            for error, smallest in zip(one.errors, least, strict=True)
        )
        size = one.contender.report_bytes
        return [str(one.contender), *errors, *([] if size is None else [f"{size:,}"])]

    answers = [error_text(situation.expected(question)) + " " for question in questions]
    blank = [] if situation.is_central else [""]
    console.say(_said(situation))
    console.table(
        ["mechanism, fan-outs", *(question.heading for question in questions), *(["bytes"] if blank else [])],
        [["(the answer itself)", *answers, *blank], *(row(one) for one in compared.predictions)],
    )
    console.say("Errors are root mean squares, in events, of answers about one place. * The least of a column.")
    if any(one.contender.is_continual for one in compared.predictions):
        console.say("Counters publish after every period; all others publish once, at the end.")


def _said(situation: Situation) -> str:
    size = f"{console.counted(situation.n_bins, 'period')} x {console.counted(situation.n_places, 'place')}"
    events = f"about {whole(situation.n_events)} events"
    if situation.rho is not None:
        spent = f"rho {epsilon_at_most(situation.rho)}"
    else:
        assert situation.epsilon is not None
        spent = f"epsilon {epsilon_at_most(situation.epsilon)}"
    delta = f", delta {situation.delta:g}" if situation.delta is not None else ""
    if situation.is_central:
        return f"{size}, {events}; a trusted curator spends {spent}{delta} per {situation.unit}."
    return f"{size}, {events}; devices that trust nobody hide the {' and '.join(situation.private)}, {spent} per event."
