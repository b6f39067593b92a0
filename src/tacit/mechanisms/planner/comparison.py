"""The comparison: every mechanism and fan-out beside the others, for the questions that will be asked."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from tacit.errors import SettingError
from tacit.mechanisms.planner import central, local
from tacit.mechanisms.planner.situation import Contender, Question, Situation
from tacit.mechanisms.registry import TIE


@dataclass(frozen=True)
class Prediction:
    """A contender, and its error for each kind of question: root mean squared, in events."""

    contender: Contender
    errors: tuple[float, ...]

    @property
    def overall(self) -> float:
        """The geometric mean of the errors: half the error at one kind makes up for twice the error at another."""
        return math.exp(math.fsum(math.log(max(error, 1e-300)) for error in self.errors) / len(self.errors))


@dataclass(frozen=True)
class Comparison:
    """All predictions for a situation and its questions, the best overall first."""

    situation: Situation
    questions: tuple[Question, ...]
    predictions: tuple[Prediction, ...]

    @property
    def best(self) -> Prediction:
        """The one of least error overall."""
        return self.choices[0]

    @property
    def choices(self) -> tuple[Prediction, ...]:
        """All predictions but those that are there to be compared with."""
        return tuple(one for one in self.predictions if not one.contender.is_shown_only)

    @property
    def best_for_plan(self) -> Prediction:
        """The one of least error overall among those that a plan can agree on."""
        return next(one for one in self.predictions if one.contender.is_plannable)

    def best_for(self, question: Question) -> Prediction:
        """Return the one of least error for a kind of question."""
        position = self.questions.index(question)
        return min(self.choices, key=lambda one: one.errors[position])

    def least_error(self, question: Question) -> float:
        return self.best_for(question).errors[self.questions.index(question)]

    def relative_error(self, question: Question) -> float:
        """Return the least error as a share of the true answer to expect."""
        return self.least_error(question) / self.situation.expected(question)

    @property
    def hopeless(self) -> tuple[Question, ...]:
        """The kinds of question whose answers err by more than they are, whatever is done."""
        return tuple(question for question in self.questions if self.relative_error(question) >= 1)


def compare(situation: Situation, questions: Iterable[Question]) -> Comparison:
    """Predict the error of every mechanism and fan-out, the best overall first.

    >>> from tacit.mechanisms.planner import Question, Situation, compare
    >>> days = Situation(n_bins=2048, n_events=2_000_000, trust="curator", epsilon=1.0)
    >>> asked = Question.parse("points, ranges")
    >>> compared = compare(days, asked)
    >>> [compared.best_for(question).contender.name for question in asked]
    ['flat laplace', 'tree laplace']
    >>> round(compared.least_error(asked[1]))
    14
    """
    asked = tuple(dict.fromkeys(questions))
    if not asked:
        raise SettingError("questions must name at least one kind. Ask for points, ranges, totals or a length.")
    for question in asked:
        question.check(situation.n_bins)
    predictions = [
        Prediction(one, tuple(one.rmse(question, situation.n_bins, situation.box(question)) for question in asked))
        for one in contenders(situation, asked)
    ]
    if not predictions:
        raise SettingError(
            f"a report needs at least two values to hide among; this domain has {situation.n_hidden} "
            f"{' x '.join(situation.private)}. Count finer places or a longer time."
        )
    return Comparison(situation, asked, tuple(sorted(predictions, key=_rank)))


def _rank(one: Prediction) -> float:
    """Return the error overall; between two that err alike, the one that a plan can agree on comes first."""
    return one.overall * (1 if one.contender.is_plannable else 1 + TIE)


def contenders(situation: Situation, questions: Sequence[Question] = ()) -> list[Contender]:
    """Return all mechanisms and fan-outs that a situation allows; counters too, where running totals are asked."""
    model = central if situation.is_central else local
    designed = model.designed_contenders(situation)
    known = {(one.noise, one.fan_outs) for one in designed}  # a designed tree stands in for its like
    trees = [one for one in model.tree_contenders(situation) if (one.noise, one.fan_outs) not in known]
    tables = model.table_contenders(situation, situation.asked(questions))
    made = [*model.flat_contenders(situation), *trees, *designed, *tables]
    if situation.is_central and any(question.kind == "totals" for question in questions):
        made += central.counter_contenders(situation)
    return made
