r"""The poisoning watch: batches that no honest population sends, but with a stated small probability.

Anybody can send a collector reports that no randomizer made. Many of them look like honest ones, and no watch can tell
those; some cannot have come from honest devices, wherever these were. That is what is watched for, without knowing the
truth:

* **support of a cell.** C of N honest reports support a cell, between Bin(N, q), if it is true of none, and Bin(N, p),
  if it is true of all. More than the second or less than the first allows is improbable for every population.
* **supports in all.** Every honest report has one true cell, so the distribution of the supports of all cells
  together does not depend on the truth: for unary encoding N coins of p and N(k-1) of q, for one cell named exactly N.
* **the same report again.** Any m given honest reports are equal with probability at most
  :math:`\kappa_m = \sum_y P(y|u)^m` (by Hölder's inequality, for every population), so m of N are with at most
  :math:`\binom{N}{m} \kappa_m`.

In a tree of oracles, or tables of them, every level is watched as an oracle of its own, and one thing more:

* **reports of a level.** Levels are picked by coins, whatever the truth is.

Each is asked of every public bin and of all bins together. The false-alarm probability is shared among all questions
asked in a call, so that honest reports raise any alarm at all with at most that probability. Reports count as honest if
each was drawn for itself: a device that sends one memoized report twice looks like two equal ones.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import cast

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.validation import check_share
from tacit.collection.tallying import tallies_of
from tacit.collection.wire import Batch, ReportFile, tally_message
from tacit.collection.wire.spool import report_keys, sorting_order
from tacit.counts.oracle_distributions import (
    HadamardDistribution,
    HashingDistribution,
    ResponseDistribution,
    SubsetDistribution,
    SupportDistribution,
)
from tacit.counts.provenance import check_plan
from tacit.counts.tally import Tally
from tacit.domain.hierarchy import Hierarchy
from tacit.domain.marginals import Marginals
from tacit.mechanisms.local.randomizer import FrequencyOracle, LocalRandomizer
from tacit.mechanisms.local.sampled_levels import SampledLevels
from tacit.mechanisms.registry import mechanism_of
from tacit.plan import Plan
from tacit.randomness.bernoulli import COIN

_NO_VARIANCE = 1e-9  # what rounding leaves of a variance of 0; those of honest reports are far above
Run = tuple[int, int, int]
"""A public bin, the number of its reports, and how many of them are the most frequent one."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """An alarm: what was seen, and a bound on the probability that honest reports show it or more.

    ``bin`` is the public bin, None for all of them together; ``cell`` the private cell, None for all of them together.
    """

    sentence: str
    chance: float
    bin: int | None
    cell: int | None

    def __str__(self) -> str:
        return self.sentence


@dataclass(frozen=True, slots=True)
class Part:
    """An oracle among those a report may answer through: all reports do, or those of one level of a tree or table.

    ``columns`` are its statistics; the number of its reports stands in the column before its own where it is one of
    several.
    """

    distribution: SupportDistribution
    chance: float
    columns: slice
    levels: Hierarchy | Marginals | None = None
    level: int | None = None

    def reports(self, statistics: IntArray, reports: IntArray) -> IntArray:
        """Return the number of reports that answered through it, row by row."""
        own: IntArray = reports if self.level is None else statistics[:, self.columns.start - 1]
        return own

    def name(self, plan: Plan, node: int) -> str:
        if self.levels is None or self.level is None:
            return _named(plan, plan.private, node)
        if isinstance(self.levels, Marginals):
            return _named(plan, [plan.private[axis] for axis in self.levels.levels[self.level]], node)
        first, stop = self.levels.boundaries[self.level][node : node + 2].tolist()
        names = [_named(plan, plan.private, cell) for cell in (first, stop - 1)]
        return names[0] if stop - first == 1 else " to ".join(names)


def parts_of(mechanism: LocalRandomizer) -> list[Part]:
    """Return the oracles of a mechanism: itself, or those of the levels of a tree or of tables."""
    if not isinstance(mechanism, SampledLevels):
        distribution = cast(FrequencyOracle, mechanism).distribution
        return [Part(distribution, 1.0, slice(0, distribution.n_cells))]
    ends = np.cumsum([0, *(1 + oracle.n_statistics for oracle in mechanism.oracles)]).tolist()
    return [
        Part(oracle.distribution, chance / COIN, slice(first + 1, stop), mechanism.hierarchy, level)
        for level, (oracle, chance, (first, stop)) in enumerate(
            zip(mechanism.oracles, mechanism.chances, pairwise(ends), strict=True), 1
        )
    ]


def watch(source: Tally | Batch | ReportFile, plan: Plan, *, false_alarm: float = 1e-6) -> list[Alarm]:
    """Look for what honest reports would show with probability ``false_alarm`` at most, the least probable first.

    A tally shows how often cells are supported; a message or a file shows equal reports too.

    >>> from tacit.domain import Domain, PlaceAxis, TimeAxis
    >>> from tacit.mechanisms.registry import plan_for
    >>> from tacit.counts.provenance import Provenance
    >>> domain = Domain(TimeAxis.between("2018-01-01", "2018-12-31"), PlaceAxis.of(["north", "south", "west"]))
    >>> plan = plan_for(domain, f=0.5)
    >>> tally = Tally(Provenance(plan.fingerprint), np.array([[20, 30, 70], [30, 20, 100]]), np.array([100, 100]))
    >>> for alarm in watch(tally, plan):
    ...     print(alarm)
    2018-01-02: 100 of 100 reports support west, more than if it were true of all of them (chance below 1e-12).
    """
    if isinstance(source, ReportFile):
        return tally_and_watch([source.path], plan, false_alarm=false_alarm)[1]
    if isinstance(source, Tally):
        return _alarms(source, None, plan, false_alarm)
    runs = runs_of(source.bins, source.run_lengths, source.reports)
    return _alarms(tally_message(source, plan), runs, plan, false_alarm)


Watched = Callable[..., Iterator[tuple[Tally, list[Run]]]]
"""Yields the tally of each file with its runs, from paths, a plan and ``progress``."""


def tallies_and_runs(
    paths: Iterable[str | Path], plan: Plan, *, progress: Callable[[int, int], None] | None = None
) -> Iterator[tuple[Tally, list[Run]]]:
    """Yield the tally of each file with its runs, from one reading of every file."""
    runs: list[Run] = []

    def look(bins: IntArray, run_lengths: IntArray, reports: NDArray[np.uint8]) -> None:
        runs.extend(runs_of(bins, run_lengths, reports))

    for tally in tallies_of(paths, plan, progress=progress, look=look):
        yield tally, list(runs)
        runs.clear()


def tally_and_watch(
    paths: Iterable[str | Path],
    plan: Plan,
    *,
    false_alarm: float = 1e-6,
    progress: Callable[[int, int], None] | None = None,
    tallies: Watched = tallies_and_runs,
) -> tuple[Tally, list[Alarm]]:
    """Return the tally of report files and the alarms of each in turn, from one reading of every file.

    ``tallies`` counts the files somewhere else.
    """
    total = Tally.zero(plan.fingerprint, mechanism_of(plan).n_statistics)
    found: list[Alarm] = []
    for tally, runs in tallies(paths, plan, progress=progress):
        found += _alarms(tally, runs, plan, false_alarm)
        total += tally
    return total, found


def _alarms(tally: Tally, runs: Sequence[Run] | None, plan: Plan, false_alarm: float) -> list[Alarm]:
    """Return the alarms of a tally and, where the reports themselves were seen, of equal ones among them."""
    check_share(false_alarm=false_alarm)
    parts = parts_of(mechanism_of(plan))
    check_plan("the tally", tally.provenance.plan_id, plan.fingerprint)
    bins = np.flatnonzero(tally.reports)
    rows: list[int | None] = [*bins.tolist()]
    statistics, reports = tally.statistics[bins], tally.reports[bins]
    if len(bins) > 1:
        rows.append(None)
        statistics = np.concatenate((statistics, statistics.sum(axis=0, keepdims=True)))
        reports = np.append(reports, reports.sum())
    share = false_alarm / 4  # for cells, for all cells together, for levels, for equal reports
    found = []
    for part in parts:
        supports, own = statistics[:, part.columns], part.reports(statistics, reports)
        found += _support_alarms(part, rows, supports, own, share / len(parts), plan)
        found += _total_alarms(part.distribution, rows, supports.sum(axis=1), own, share / len(parts), plan)
        if part.chance < 1:
            found += _level_alarms(part, rows, own, reports, share / len(parts), plan)
    if runs is not None:
        found += _equality_alarms(parts, runs, share, plan)
    return sorted(found, key=lambda alarm: alarm.chance)


def _support_alarms(
    part: Part, rows: Sequence[int | None], supports: IntArray, reports: IntArray, share: float, plan: Plan
) -> list[Alarm]:
    too_many = log_at_least(supports, reports[:, None], float(part.distribution.p))
    too_few = log_at_most(supports, reports[:, None], float(part.distribution.q))
    found = []
    limit = _log_share(share, 2 * supports.size)
    for bounds, words in (
        (too_many, "more than if it were true of all of them"),
        (too_few, "fewer than if it were true of none"),
    ):
        for row, cell in np.argwhere(bounds < limit).tolist():
            what = f"{supports[row, cell]:,} of {reports[row]:,} reports support {part.name(plan, cell)}, {words}"
            found.append(_alarm(plan, what, float(bounds[row, cell]), rows[row], cell))
    return found


def _total_alarms(
    distribution: SupportDistribution,
    rows: Sequence[int | None],
    totals: IntArray,
    reports: IntArray,
    share: float,
    plan: Plan,
) -> list[Alarm]:
    bounds = _log_total_beyond(distribution, totals, reports)
    mean = float(distribution.p + (distribution.n_cells - 1) * distribution.q)
    return [
        _alarm(
            plan,
            f"{reports[row]:,} reports support {totals[row]:,} cells in all, where honest ones support about "
            f"{reports[row] * mean:,.0f} whatever the truth",
            float(bounds[row]),
            rows[row],
            None,
        )
        for row in np.flatnonzero(bounds < _log_share(share, 2 * len(rows))).tolist()
    ]


def _level_alarms(
    part: Part, rows: Sequence[int | None], own: IntArray, reports: IntArray, share: float, plan: Plan
) -> list[Alarm]:
    bounds = np.minimum(log_at_least(own, reports, part.chance), log_at_most(own, reports, part.chance))
    return [
        _alarm(
            plan,
            f"{own[row]:,} of {reports[row]:,} reports answer for level {part.level}, where {part.chance:.1%} of "
            "honest ones do whatever the truth",
            float(bounds[row]),
            rows[row],
            None,
        )
        for row in np.flatnonzero(bounds < _log_share(share, 2 * len(rows))).tolist()
    ]


def _log_total_beyond(distribution: SupportDistribution, totals: IntArray, reports: IntArray) -> FloatArray:
    """Return bounds on the chance that honest reports support as many cells in all, or more; or as few, or fewer."""
    k = distribution.n_cells
    coins = distribution.coins(k)
    if coins is not None:
        others = reports * (coins.flips - 1)
        return log_two_coins_beyond(totals, reports, others, float(coins.inside), float(coins.outside))
    mean: Fraction = distribution.p + (k - 1) * distribution.q
    variance = float(distribution.variances(np.ones(k)).max()) * float(distribution.p - distribution.q) ** 2
    if variance < _NO_VARIANCE and mean.denominator == 1:
        return np.where(totals == reports * int(mean), 0.0, -np.inf)
    bound = max(float(mean), k - float(mean))
    return log_sum_beyond(totals - reports * float(mean), reports, variance, bound)


def _equality_alarms(parts: Sequence[Part], seen: Sequence[Run], share: float, plan: Plan) -> list[Alarm]:
    found = []
    for bin, n_reports, n_equal in seen:
        bound = log_chance_of_equal(parts, n_reports, n_equal)
        if bound < _log_share(share, len(seen)):
            what = f"{n_equal:,} of {n_reports:,} reports are one and the same"
            found.append(_alarm(plan, what, bound, bin, None))
    return found


def log_chance_of_equal(parts: Sequence[Part], n_reports: int, n_equal: int) -> float:
    """Return a bound on ln P(``n_equal`` of ``n_reports`` honest reports are the same), whatever the truth."""
    m = n_equal
    log_sums = [m * math.log(part.chance) + _log_sum_of(part.distribution, m) for part in parts]
    largest = max(log_sums)
    log_sum = largest + math.log(sum(math.exp(one - largest) for one in log_sums))
    ways = math.lgamma(n_reports + 1) - math.lgamma(m + 1) - math.lgamma(n_reports - m + 1)
    return min(0.0, ways + log_sum)


def _log_sum_of(distribution: SupportDistribution, m: int) -> float:
    """Return the ln of the sum of P(report | cell)**m over all reports, or 0 where it is not known."""
    bits = distribution.coins(distribution.n_cells)
    if bits is not None and bits.flips == distribution.n_cells:  # one independent bit for each cell
        return sum(
            n * _log_sum([(0.0, float(chance)), (0.0, float(1 - chance))], m)
            for n, chance in ((1, bits.inside), (bits.flips - 1, bits.outside))
        )
    kinds = _kinds_of_reports(distribution)
    return _log_sum(kinds, m) if kinds else 0.0


def _kinds_of_reports(distribution: SupportDistribution) -> list[tuple[float, float]]:
    """Return, for any true cell, ln of the number of reports of each kind, and the chance that one of them is sent."""
    k, p = distribution.n_cells, float(distribution.p)
    if isinstance(distribution, ResponseDistribution):
        return [(0.0, p), (math.log(k - 1), 1 - p)]
    if isinstance(distribution, SubsetDistribution):
        supporting, others = math.comb(k - 1, distribution.size - 1), math.comb(k - 1, distribution.size)
        return [(math.log(n), chance) for n, chance in ((supporting, p), (others, 1 - p)) if n]
    if isinstance(distribution, HadamardDistribution):
        half = (distribution.n_bits - 1) * math.log(2)
        return [(half, p), (half, 1 - p)]
    if isinstance(distribution, HashingDistribution):
        functions = distribution.degree * math.log(2)
        return [(functions, p), (functions + math.log((1 << distribution.bits) - 1), 1 - p)]
    return []


def _log_sum(kinds: Sequence[tuple[float, float]], m: int) -> float:
    """Return the ln of the sum of P(report)**m over all reports."""
    terms = [log_n + m * (math.log(chance) - log_n) for log_n, chance in kinds]
    largest = max(terms)
    return largest + math.log(sum(math.exp(term - largest) for term in terms))


def runs_of(bins: IntArray, run_lengths: IntArray, reports: NDArray[np.uint8]) -> list[Run]:
    """Return, for every public bin or piece of one, the bin, its reports, and how many are the most frequent."""
    if not len(reports):
        return []
    return list(zip(bins.tolist(), run_lengths.tolist(), _most_frequent(run_lengths, reports), strict=True))


def _most_frequent(run_lengths: IntArray, reports: NDArray[np.uint8]) -> list[int]:
    """Return, for each run, how often its most frequent report comes."""
    run = np.repeat(np.arange(len(run_lengths)), run_lengths)
    keys = report_keys(reports)
    same_run = run[1:] == run[:-1]
    falls, equal = _compared(keys)
    if (falls & same_run).any():  # a forger need not have sorted them
        _, equal = _compared(keys[sorting_order(run, reports)])
    firsts = np.flatnonzero(np.append(True, ~(equal & same_run)))
    n_equal = np.diff(np.append(firsts, len(run)))
    run_starts = np.searchsorted(run[firsts], np.arange(len(run_lengths)))
    return [int(n) for n in np.maximum.reduceat(n_equal, run_starts)]


def _compared(keys: NDArray[np.uint64]) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Return whether each report but the first is below the one before it, and whether it is the same."""
    falls, equal = np.zeros(len(keys) - 1, bool), np.ones(len(keys) - 1, bool)
    for column in keys.T[::-1]:
        falls |= equal & (column[1:] < column[:-1])
        equal &= column[1:] == column[:-1]
    return falls, equal


def _log_share(share: float, n_questions: int) -> float:
    return math.log(share) - math.log(max(1, n_questions))


def _alarm(plan: Plan, what: str, log_chance: float, bin: int | None, cell: int | None) -> Alarm:
    rarity = "impossible" if log_chance == -math.inf else f"chance below 1e{math.ceil(log_chance / math.log(10)):d}"
    return Alarm(f"{_bin_name(plan, bin)}: {what} ({rarity}).", math.exp(log_chance), bin, cell)


def _bin_name(plan: Plan, bin: int | None) -> str:
    return "All reports" if bin is None or not plan.public else _named(plan, plan.public, bin)


def _named(plan: Plan, axes: Sequence[str], number: int) -> str:
    """Return the name of the public bin or private value of this number; the last of the axes runs fastest."""
    names: list[str] = []
    if "kind" in axes and plan.domain.kind is not None:
        number, kind = divmod(number, plan.domain.n_kinds)
        names = [plan.domain.kind.cells[kind]]
    if "place" in axes:
        number, place = divmod(number, plan.domain.place.n_cells)
        names = [plan.domain.place.cells[place], *names]
    if "time" not in axes:
        return ", ".join(names)
    when = plan.domain.time.label(number)
    return f"{when} in {', '.join(names)}" if "place" in axes else ", ".join([when, *names])


# Bounds on rare chances, as natural logarithms, for many questions at once. An alarm promises how often it is false, so
# these are theorems and not approximations: each is at least the true probability, and close enough not to cost much.

# the largest exponent tried: odds of 1e26, far beyond any alarm. Chernoff's bound holds for every exponent, so half of
# it would only make the rarest bounds larger
_STEEPEST = 60.0
_HALVINGS = 60  # of 120: as many as a float has digits; fewer make a bound that holds less sharp


def log_at_least(heads: IntArray, flips: IntArray, chance: float) -> FloatArray:
    r"""Return a bound on ln P(C >= heads) for C heads in ``flips`` tosses.

    Above the mean, terms fall by a ratio r of less than one, and a binomial coefficient is at most its Stirling form:

    .. math:: P(C \ge c) \le \frac{1}{1 - r}\sqrt{\frac{n}{2\pi c(n-c)}}\; e^{-n D(c/n \| p)},
              \qquad r = \frac{(n-c)\,p}{(c+1)(1-p)}

    >>> bound = np.exp(log_at_least(np.array([60]), np.array([100]), 0.5))
    >>> bool(0.0284 < bound[0] < 0.035)  # exactly 0.02844...
    True
    """
    heads, flips = np.broadcast_arrays(heads, flips)
    c, n = heads.astype(np.float64), flips.astype(np.float64)
    bound = np.zeros(c.shape)
    bound[c > n] = -np.inf
    every = (c == n) & (n > 0)
    bound[every] = n[every] * math.log(chance)
    rare = (c > n * chance) & (c < n)
    c, n = c[rare], n[rare]
    ratio = (n - c) / (c + 1) * (chance / (1 - chance))
    divergence = c * np.log(c / (n * chance)) + (n - c) * np.log((n - c) / (n * (1 - chance)))
    bound[rare] = 0.5 * np.log(n / (2 * np.pi * c * (n - c))) - divergence - np.log1p(-ratio)
    return np.minimum(bound, 0.0)


def log_at_most(heads: IntArray, flips: IntArray, chance: float) -> FloatArray:
    """Return a bound on ln P(C <= heads) for C heads in ``flips`` tosses: that of as many tails."""
    return log_at_least(flips - heads, flips, 1 - chance)


def log_two_coins_beyond(heads: IntArray, first: IntArray, second: IntArray, p: float, q: float) -> FloatArray:
    r"""Return a bound on the rarer of ln P(C >= heads) and ln P(C <= heads), for two coins tossed together.

    Chernoff's, which holds for every t of the right sign and is least where its slope is zero:

    .. math:: P(C \ge c) \le e^{-tc}\,(1 - p + p e^t)^{m_1}\,(1 - q + q e^t)^{m_2}, \qquad t \ge 0

    >>> both = log_two_coins_beyond(np.array([75, 50]), np.array([50, 50]), np.array([50, 50]), 0.5, 0.5)
    >>> [round(float(bound), 2) for bound in both]  # of 100 fair coins, 75 and 50 heads
    [-13.08, 0.0]
    """
    low, high = np.full(heads.shape, -_STEEPEST), np.full(heads.shape, _STEEPEST)
    for _ in range(_HALVINGS):
        t = (low + high) / 2
        mean = first / (1 + (1 - p) / p * np.exp(-t)) + second / (1 + (1 - q) / q * np.exp(-t))
        low, high = np.where(mean < heads, t, low), np.where(mean < heads, high, t)
    bound = first * np.log1p(p * np.expm1(t)) + second * np.log1p(q * np.expm1(t)) - t * heads
    impossible = (heads > first + second) | (heads < 0)
    return np.where(impossible, -np.inf, np.minimum(bound, 0.0))


def log_sum_beyond(distance: FloatArray, n: IntArray, variance: float, bound: float) -> FloatArray:
    r"""Return a bound on ln P(the sum of n independent terms is ``distance`` or more beyond its mean, on one side).

    Bernstein's, for terms of this variance that stay within ``bound`` of their means:

    .. math:: \ln P \le -\frac{d^2}{2 (n \sigma^2 + b d / 3)}

    >>> float(log_sum_beyond(np.array([30.0]), np.array([100]), 1.0, 1.0)[0]) < math.log(0.02)
    True
    """
    scale = 2 * (n * variance + bound * np.abs(distance) / 3)
    return -np.divide(distance**2, scale, out=np.zeros(np.shape(distance)), where=scale > 0)
