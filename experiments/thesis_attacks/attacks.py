"""Attacks that the thesis left as future work: on published true answers, on its counter, and on every epsilon."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from experiments.thesis_structures import as_claimed, as_coded, by_tacit
from experiments.thesis_structures.lengths import SIZES, TABLE_1_MEASURED, TABLE_2_MEASURED, TABLE_3
from experiments.thesis_structures.structures import Floats, Integers, Structures

from tacit.audit import range_design, reconstruct_by_least_squares, reconstruct_exactly


def published_ranges(n_days: int, n_ranges: int, generator: np.random.Generator) -> Integers:
    """Ranges as the thesis asked them: by Tables 1 to 3, in the first 32 to 2,048 days, the last of them left out."""
    asked = [(size, length) for size in SIZES for length in _lengths(size) if length < min(size, n_days)]
    size, length = np.array(asked)[generator.integers(0, len(asked), size=n_ranges)].T
    first = generator.integers(0, np.minimum(size, n_days) - length)
    return np.stack([first, first + length], axis=1)


def _lengths(size: int) -> set[int]:
    return {*TABLE_1_MEASURED[size], *(row[size] for row in TABLE_2_MEASURED.values() if size in row), TABLE_3[size]}


def days_from_true_answers(
    counts: Integers, n_answers: Sequence[int], generator: np.random.Generator
) -> dict[int, int]:
    """How many days come back exactly from so many published true answers about long ranges."""
    ranges = published_ranges(len(counts), max(n_answers), generator)
    sums = np.concatenate([[0], np.cumsum(counts)])
    answers = sums[ranges[:, 1]] - sums[ranges[:, 0]]
    return {n: reconstruct_exactly(ranges[:n], answers[:n], len(counts)).n_recovered(counts) for n in sorted(n_answers)}


def days_from_counter(counter: Structures) -> Floats:
    """The days that public answers of the faulty counter give away, without noise; NaN for the others.

    A node's range is answered by that node alone. Parent and second child less first child are twice the second child,
    all noise cancelled; and a first child is its parent less its sibling, once the parent is known.
    """
    n_days, height = counter.n_days, len(counter.levels) - 1
    above = np.full(1, np.nan)
    for depth in range(1, height + 1):
        width = 2 ** (height - depth)
        starts = np.arange(2**depth) * width
        is_asked = starts + width <= n_days
        answers = np.full(2**depth, np.nan)
        answers[is_asked] = counter.answers(starts[is_asked][None], starts[is_asked][None] + width)[0]
        parents = np.full(2 ** (depth - 1), np.nan)
        whole = starts[::2] + 2 * width <= n_days
        parents[whole] = counter.answers(starts[::2][whole][None], starts[::2][whole][None] + 2 * width)[0]
        found = np.empty(2**depth)
        found[1::2] = (parents + answers[1::2] - answers[::2]) / 2
        found[::2] = above - found[1::2]
        above = found
    return above[:n_days]


def days_by_averaging(
    counts: Integers, epsilon: float, times: Sequence[int], generator: np.random.Generator
) -> dict[int, float]:
    """Which share of days comes back when the counter draws its noise again at every question, asked so many times."""
    days = np.arange(len(counts))[None]
    found, total, asked = {}, np.zeros(len(counts)), 0
    for n in sorted(times):
        while asked < n:
            n_now = min(n - asked, 500)
            redrawn = as_claimed.continual_tree(counts, epsilon, 2, n_structures=n_now, generator=generator)
            total += redrawn.answers(days, days + 1).sum(axis=0)
            asked += n_now
        found[n] = float((np.rint(total / n) == counts).mean())
    return found


FRESH, CODED, CLAIMED, TACIT = (
    "noise drawn again for every question",
    "counter as coded",
    "counter as claimed",
    "Tacit",
)


def bits_found(
    n_days: int, epsilons: Sequence[float], *, n_ranges: int, n_worlds: int, generator: np.random.Generator
) -> Mapping[str, dict[float, float]]:
    """Which share of days with or without a visit an attacker tells right, from answers about random ranges."""
    found: dict[str, dict[float, float]] = {name: {} for name in (FRESH, CODED, CLAIMED, TACIT)}
    for epsilon in epsilons:
        right: dict[str, list[float]] = {name: [] for name in found}
        for _ in range(n_worlds):
            bits = generator.integers(0, 2, size=n_days)
            ends = np.sort(generator.integers(0, n_days + 1, size=(4 * n_ranges, 2)), axis=1)
            ranges = ends[ends[:, 0] < ends[:, 1]][:n_ranges]
            truth = range_design(ranges, n_days) @ bits
            fresh = truth + generator.laplace(scale=1 / epsilon, size=len(ranges))
            weight = 2 / epsilon**2 / 0.25
            guess = reconstruct_by_least_squares(ranges, fresh, n_days, expected=0.5, weight=weight).values
            right[FRESH].append(_share_right(guess, bits))
            coded = as_coded.continual_tree(bits, epsilon, 2, n_structures=1, generator=generator)
            exact = days_from_counter(coded)
            right[CODED].append(_share_right(np.where(np.isnan(exact), 0.5, exact), bits))
            for name, made in (
                (CLAIMED, as_claimed.continual_tree(bits, epsilon, 2, n_structures=1, generator=generator)),
                (TACIT, by_tacit.designed_tree(bits, epsilon, n_structures=1, generator=generator)),
            ):
                answers = made.answers(ranges[:, 0][None], ranges[:, 1][None])[0]
                noise = float(np.var(answers - truth))
                guess = reconstruct_by_least_squares(ranges, answers, n_days, expected=0.5, weight=4 * noise).values
                right[name].append(_share_right(guess, bits))
        for name, shares in right.items():
            found[name][epsilon] = float(np.mean(shares))
    return found


def _share_right(guess: Floats, bits: Integers) -> float:
    """Days guessed right; a guess of just a half is right half the time."""
    return float(np.where(guess == 0.5, 0.5, (guess > 0.5) == bits).mean())
