"""Simulated releases beside their predicted errors. Places stand for independent trials."""

from __future__ import annotations

import math
from collections.abc import Iterable

import numpy as np

from tacit.mechanisms.planner import Contender, Question, Situation

QUESTIONS = Question.parse("points, 5, ranges, totals")
NORMAL_TAILS = 6.2
"""A normal number is farther from its mean than so many standard errors with a probability below 1e-9."""


def assert_errors_as_predicted(
    contender: Contender, situation: Situation, errors: np.ndarray, questions: Iterable[Question] = QUESTIONS
) -> None:
    """The errors of all bins (rows) in every place (columns) give the predicted root mean square, within 5 %.

    The mean square of each question is a mean over independent places; it may miss the prediction by 5 % of the root
    and by what its own spread allows a mean of so many. False failures: below 1e-8 for four questions.
    """
    totals = np.concatenate([np.zeros((1, errors.shape[1])), np.cumsum(errors, axis=0)])
    for question in questions:
        first, stop = question.ranges(situation.n_bins)
        squares = ((totals[stop] - totals[first]) ** 2).mean(axis=0)
        chance = NORMAL_TAILS * squares.std(ddof=1) / math.sqrt(squares.size)
        predicted = contender.rmse(question, situation.n_bins)
        least, most = (0.95 * predicted) ** 2 - chance, (1.05 * predicted) ** 2 + chance
        assert least <= squares.mean() <= most, (str(contender), str(question), predicted, math.sqrt(squares.mean()))
        assert chance < 0.15 * predicted**2, "too few trials to tell anything"
