r"""Getting counts back from answers about ranges: exactly, by least squares, or past noise that cancels.

A range is a difference of two prefix sums, :math:`x_a + \dots + x_{b-1} = P_b - P_a`. True answers are therefore edges
of a graph over the prefix sums, and a count is known as soon as both its ends are connected. Noisy answers are solved
in the sense of least squares. Noise that is linearly dependent is no noise at all: some combinations of answers are
true to the last digit, and the counts they determine come back exactly. (Dinur2003 began it.)
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit._base.arrays import BoolArray, FloatArray
from tacit._base.validation import check_at_least
from tacit.errors import SettingError

_RELATIVE: Final = 1e-9
"""Singular values below this part of the largest are zero."""


@dataclass(frozen=True, slots=True, eq=False)
class Reconstruction:
    """The counts that an attacker believes in, and those that follow from the answers alone (others: NaN)."""

    values: FloatArray
    is_determined: BoolArray

    def n_recovered(self, truth: ArrayLike) -> int:
        """Return how many counts are the true ones after rounding: for the laboratory, where the truth is known."""
        with np.errstate(invalid="ignore"):
            return int(np.count_nonzero(np.rint(self.values) == np.asarray(truth)))

    def share_recovered(self, truth: ArrayLike) -> float:
        return self.n_recovered(truth) / self.values.size


def range_design(ranges: ArrayLike, n_bins: int) -> FloatArray:
    """Return a row for each range ``(first, stop)``: 1 for the bins it adds up.

    >>> range_design([(0, 2), (1, 3)], 3).tolist()
    [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]]
    """
    pairs = checked_ranges(ranges, n_bins)
    bins = np.arange(n_bins)
    return ((pairs[:, :1] <= bins) & (bins < pairs[:, 1:])).astype(np.float64)


def checked_ranges(ranges: ArrayLike, n_bins: int) -> NDArray[np.int64]:
    check_at_least(1, n_bins=n_bins)
    pairs = np.asarray(ranges, np.int64).reshape(-1, 2)
    if not ((pairs[:, 0] >= 0) & (pairs[:, 0] < pairs[:, 1]) & (pairs[:, 1] <= n_bins)).all():
        raise SettingError(f"ranges must be pairs 0 <= first < stop <= {n_bins}. Leave the others out.")
    return pairs


def reconstruct_exactly(ranges: ArrayLike, answers: ArrayLike, n_bins: int) -> Reconstruction:
    """Return what true answers give away: every count whose two ends are linked by ranges that were answered.

    Of 365 days, 365 well chosen ranges give every day away, none of which asks for a single day:

    >>> days = np.array([4, 0, 7, 2])
    >>> asked = [(0, 4), (0, 3), (1, 4), (1, 3), (0, 2)]
    >>> found = reconstruct_exactly(asked, [days[a:b].sum() for a, b in asked], 4)
    >>> found.values.tolist(), found.is_determined.tolist()
    ([4.0, 0.0, 7.0, 2.0], [True, True, True, True])
    """
    pairs = checked_ranges(ranges, n_bins)
    given = np.asarray(answers, np.float64)
    neighbors: list[list[tuple[int, float]]] = [[] for _ in range(n_bins + 1)]
    for (first, stop), answer in zip(pairs.tolist(), given.tolist(), strict=True):
        neighbors[first].append((stop, answer))
        neighbors[stop].append((first, -answer))
    part = np.full(n_bins + 1, -1)
    prefix = np.zeros(n_bins + 1)
    for start in range(n_bins + 1):
        if part[start] >= 0:
            continue
        part[start], waiting = start, [start]
        while waiting:
            here = waiting.pop()
            for there, step in neighbors[here]:
                if part[there] < 0:
                    part[there], prefix[there] = start, prefix[here] + step
                    waiting.append(there)
    is_determined = part[1:] == part[:-1]
    return Reconstruction(np.where(is_determined, np.diff(prefix), np.nan), is_determined)


def reconstruct_by_least_squares(
    ranges: ArrayLike, answers: ArrayLike, n_bins: int, *, expected: float = 0.0, weight: float = 0.0
) -> Reconstruction:
    """Return the counts that fit noisy answers best.

    ``weight`` is how much each count is drawn to the ``expected`` one: the variance of an answer's noise over that of
    the counts. With a weight of 0, counts that no answer determines stay unknown.
    """
    design = range_design(ranges, n_bins)
    given = np.asarray(answers, np.float64)
    if weight > 0:
        gram = design.T @ design + weight * np.eye(n_bins)
        values: FloatArray = np.linalg.solve(gram, design.T @ given + weight * expected).astype(np.float64)
        return Reconstruction(values, np.ones(n_bins, bool))
    return _solved(design, given)


def noiseless_combinations(noise: ArrayLike) -> FloatArray:
    """Return combinations of answers in which all noise cancels: an orthonormal row for each.

    ``noise`` spans what the noise can be, a row for each draw: either the differences of repeated builds on the same
    data, more of them than answers, or the columns of the matrix that makes an answer's noise of independent draws.
    The rank of the noise is the number of answers less the number of rows returned.

    >>> three_answers_two_draws = np.array([[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]])
    >>> noiseless_combinations(three_answers_two_draws).round(3).tolist() in ([[0.577, 0.577, -0.577]],
    ...                                                                      [[-0.577, -0.577, 0.577]])
    True
    """
    rows = np.asarray(noise, np.float64)
    if rows.ndim != 2 or not rows.size:
        raise SettingError("noise must be a table with a row for each draw and a column for each answer.")
    # the triangular factor has the same null space, and as few rows as there are answers
    if rows.shape[0] > 4 * rows.shape[1]:
        rows = np.asarray(np.linalg.qr(rows, mode="r"), np.float64)
    _, sizes, directions = np.linalg.svd(rows, full_matrices=True)
    rank = int(np.count_nonzero(sizes > _RELATIVE * max(sizes[0], np.finfo(float).tiny)))
    return np.asarray(directions[rank:], np.float64)


def reconstruct_through_dependence(design: ArrayLike, answers: ArrayLike, combinations: ArrayLike) -> Reconstruction:
    """Return the counts that combinations without noise determine, whatever noise the answers have.

    ``design`` says which bins each answer adds up (:func:`range_design`); ``combinations`` are those of
    :func:`noiseless_combinations`.

    A parent and two children, where the first child's noise is the second's plus the parent's:

    >>> design = np.array([[1.0, 1.0], [1.0, 0.0], [0.0, 1.0]])
    >>> mixing = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])  # of the parent's and the second child's draw
    >>> answers = design @ [30, 12] + mixing @ [0.731, -4.25]
    >>> found = reconstruct_through_dependence(design, answers, noiseless_combinations(mixing.T))
    >>> found.values.round(9).tolist(), found.is_determined.tolist()
    ([nan, 12.0], [False, True])
    """
    without_noise = np.atleast_2d(np.asarray(combinations, np.float64))
    return _solved(without_noise @ np.asarray(design, np.float64), without_noise @ np.asarray(answers, np.float64))


def _solved(design: FloatArray, given: FloatArray) -> Reconstruction:
    """Return the least-squares solution, and which unknowns are the same in every one."""
    left, sizes, right = np.linalg.svd(design, full_matrices=False)
    kept = sizes > _RELATIVE * max(float(sizes.max(initial=0.0)), np.finfo(float).tiny)
    values = right[kept].T @ ((left[:, kept].T @ given) / sizes[kept])
    is_determined = (right[kept] ** 2).sum(axis=0) > 1 - 1e-6  # 1 but for rounding
    return Reconstruction(np.where(is_determined, values, np.nan), is_determined)
