"""The thesis' four structures, one call each: a series of daily counts in, an answer to any range of dates out.

Each takes epsilon, dates and counts as the thesis' classes do, and gives the epsilon it is asked for: the local ones
randomize every visit once with exactly that epsilon, the central ones add independent whole-number noise that is
calibrated to the number of levels. None keeps the true counts. Where events still come in, see
:mod:`tacit.collection.range_streams`.

>>> series = central_flat(1.0, ["2014-01-01", "2014-01-02", "2014-01-04"], [12, 7, 30], seed=1)
>>> answer = series.answer(("2014-01-01", "2014-01-03"))
>>> answer.lower <= 19 <= answer.upper, series.answer("2014-01-03").box.n_cells
(True, 1)
"""

from __future__ import annotations

import hashlib
import hmac
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.validation import check_at_least
from tacit.counts.estimate import Answer, Estimate
from tacit.counts.provenance import Provenance
from tacit.counts.query import answer
from tacit.counts.tally import ExactTally, Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import DataError, SettingError
from tacit.events import digest
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.central.tree import LARGEST_TOTAL, check_counts, input_digest_of
from tacit.mechanisms.planner import choose
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.plan import Plan
from tacit.privacy.ledger import Ledger, Spend
from tacit.randomness import Randomness, SecureRandomness, SeededRandomness

_PIECE: Final = 1 << 20  # events at once: 8 MiB; doubled, twice the memory
_LARGEST_COUNT: Final = 1 << 40  # sums of 8,192 such counts are exact in floats
_PLACE: Final = "all"
Day = str | date | np.datetime64


@dataclass(frozen=True, slots=True, eq=False)
class RangeCounts:
    """Private counts of days, and the answer to any range of them; the same question always has the same answer."""

    plan: Plan
    estimate: Estimate

    def answer(self, dates: Day | Sequence[Day], *, level: float = 0.95) -> Answer:
        """Return the number on one date, or from the first to the last of two, both included."""
        asked = [dates] if isinstance(dates, Day) else list(dates)
        if not 1 <= len(asked) <= 2:
            raise SettingError(f"dates must be one date or two; got {len(asked)}. Ask for one range at a time.")
        box = self.estimate.domain.box(_iso(asked[0]), _iso(asked[-1]))
        return answer(self.estimate, box, level=level)


def central_flat(
    epsilon: float,
    dates: Sequence[Day],
    counts: Sequence[int] | NDArray[np.integer],
    *,
    ledger: Ledger | None = None,
    data_set: str | None = None,
    seed: int | None = None,
) -> RangeCounts:
    """Return days counted with a curator's noise on each; a range's error grows as the root of its length."""
    series = _Series.of(dates, counts)
    plan = central_plan_for(series.domain, epsilon=epsilon, mechanism="flat")
    return _central(plan, series, ledger, data_set, seed)


def continual_tree(
    epsilon: float,
    degree: int,
    dates: Sequence[Day],
    counts: Sequence[int] | NDArray[np.integer],
    *,
    ledger: Ledger | None = None,
    data_set: str | None = None,
    seed: int | None = None,
) -> RangeCounts:
    """Return days counted with a curator's noise on every node of a tree; the error of a range hardly grows.

    The levels share epsilon, every node has noise of its own, and least squares makes them agree. For a stream that
    goes on, day by day, see :class:`tacit.collection.range_streams.CentralRanges`.
    """
    series = _Series.of(dates, counts)
    plan = central_plan_for(series.domain, epsilon=epsilon, fan_outs=fan_outs_of(len(series.counts), degree))
    return _central(plan, series, ledger, data_set, seed)


def local_flat(
    epsilon: float,
    dates: Sequence[Day],
    counts: Sequence[int] | NDArray[np.integer],
    *,
    ledger: Ledger | None = None,
    data_set: str | None = None,
    seed: int | None = None,
) -> RangeCounts:
    """Return days counted from one report a visit, through the randomizer that errs least for so many days."""
    series = _Series.of(dates, counts).to_be_reported()
    mechanism = choose(len(series.counts), epsilon).candidate.name
    plan = plan_for(series.domain, epsilon=epsilon, mechanism=mechanism, private=("time",))
    return _local(plan, series, ledger, data_set, seed)


def local_hierarchical(
    epsilon: float,
    degree: int,
    dates: Sequence[Day],
    counts: Sequence[int] | NDArray[np.integer],
    *,
    ledger: Ledger | None = None,
    data_set: str | None = None,
    seed: int | None = None,
) -> RangeCounts:
    """Return days counted from one report a visit, of the node above its day at one level of a tree."""
    series = _Series.of(dates, counts).to_be_reported()
    plan = plan_for(series.domain, epsilon=epsilon, fan_outs=fan_outs_of(len(series.counts), degree), private=("time",))
    return _local(plan, series, ledger, data_set, seed)


@dataclass(frozen=True, slots=True, eq=False)
class _Series:
    """Counts of consecutive days."""

    domain: Domain
    counts: NDArray[np.int64]

    @classmethod
    def of(cls, dates: Sequence[Day], counts: Sequence[int] | NDArray[np.integer]) -> _Series:
        """Put days in order and fill missing ones with zeros."""
        days = np.array([_day(day, position) for position, day in enumerate(dates, 1)], "datetime64[D]")
        numbers = _whole(counts, len(days))
        order = np.argsort(days, kind="stable")
        repeated = np.flatnonzero(np.diff(days[order]) == np.timedelta64(0, "D"))
        if len(repeated):
            raise DataError(
                f"every date must stand once; {len(repeated)} stand again, the first at position "
                f"{order[repeated[0] + 1] + 1}. Add their counts up first; nothing was spent."
            )
        first, last = days[order[0]], days[order[-1]]
        filled = np.zeros(int((last - first).astype(int)) + 1, np.int64)
        filled[(days - first).astype(int)] = numbers
        if filled.sum() > LARGEST_TOTAL:  # itself no larger than 2**62: ten thousand years of the largest count
            raise DataError(
                f"all counts together must be at most 2**53 = {LARGEST_TOTAL:,}; these are more. Correct them; "
                "nothing was spent."
            )
        axis = TimeAxis.between(str(first), str(last))
        return cls(Domain(axis, PlaceAxis.of([_PLACE])), filled)

    def to_be_reported(self) -> _Series:
        """Return the same, if a report of the day can tell days apart."""
        if len(self.counts) < 2:
            raise DataError(
                "a report of the day needs at least 2 dates to choose from; got 1. Nothing was spent. Give more dates "
                "(0 where nothing happened), or use a central structure."
            )
        return self

    def digests(self, key: bytes) -> dict[str, bytes]:
        """Return the digests by which the ledger knows the days."""
        return {
            label: hmac.digest(key, f"{label}:{number}".encode(), hashlib.sha256) if number else b""
            for label, number in zip(self.domain.time.labels(), self.counts.tolist(), strict=True)
        }

    def selection(self) -> dict[str, str]:
        """Return what the ledger compares runs by: the days; numbers are given for any place and kind."""
        days = digest.of_time("", None, self.domain.time, None)
        return {"rows": digest.ANY, "time": days, "place": digest.ANY, "kind": digest.ANY}


def _whole(counts: Sequence[int] | NDArray[np.integer], n_dates: int) -> NDArray[np.int64]:
    try:
        numbers = np.asarray(counts)
    except ValueError:  # rows of different lengths
        raise DataError("dates and counts must go in pairs; got counts in rows. Nothing was spent.") from None
    if numbers.ndim != 1 or len(numbers) != n_dates or not n_dates:
        raise DataError(f"dates and counts must go in pairs; got {n_dates} dates and {numbers.size} counts.")
    if numbers.dtype.kind not in "iuf":
        raise DataError("counts must be whole numbers; got something else. Correct them; nothing was spent.")
    as_floats = numbers.astype(np.float64)
    is_count = (as_floats >= 0) & (as_floats <= _LARGEST_COUNT) & (np.floor(as_floats) == as_floats)  # NaN fails too
    if not is_count.all():
        raise DataError(
            f"counts must be whole numbers from 0 to 2**40 = {_LARGEST_COUNT:,}; {np.count_nonzero(~is_count)} are "
            f"not, the first at position {np.argmin(is_count) + 1}. Correct them; nothing was spent."
        )
    return numbers.astype(np.int64)


def _central(plan: Plan, series: _Series, ledger: Ledger | None, data_set: str | None, seed: int | None) -> RangeCounts:
    mechanism, counts = central_mechanism_of(plan), ExactTally(series.counts[:, None])
    name = check_record(ledger, data_set, seed)
    if ledger is None:
        spend = Spend.simulation(mechanism.cost, seed=seed or 0)
    else:
        check_counts(counts, plan.domain)
        spend, _ = ledger.resume_or_spend(
            data_set=name,
            release=plan.fingerprint,
            cost=mechanism.cost,
            days=series.digests(ledger.key),
            input_digest=input_digest_of(counts),
        )
    estimate = mechanism.measure(counts, plan, spend=spend)
    if ledger is not None:
        ledger.finish(spend)
    return RangeCounts(plan, estimate)


def _local(plan: Plan, series: _Series, ledger: Ledger | None, data_set: str | None, seed: int | None) -> RangeCounts:
    mechanism = mechanism_of(plan)
    name = check_record(ledger, data_set, seed)
    prior = 0.0
    randomness: Randomness = SecureRandomness() if seed is None else SeededRandomness(seed)
    if ledger is not None:
        prior = ledger.record_randomization(
            data_set=name,
            plan_id=plan.fingerprint,
            private=plan.private,
            epsilon=plan.epsilon,
            days=series.digests(ledger.key),  # which of them have events is private
            n_events=int(series.counts.sum()),
            selection=series.selection(),
        ).prior_epsilon
    statistics, n_reports = np.zeros((1, mechanism.n_statistics), np.int64), int(series.counts.sum())
    for cells in _events(series.counts):
        reports = mechanism.randomize(cells, randomness=randomness)
        statistics += mechanism.statistics(reports, np.array([len(cells)]))
    heads = () if ledger is None else (ledger.head,)
    provenance = Provenance.of_reports(plan.fingerprint, randomness.is_simulation, prior, heads)
    tally = Tally(provenance, statistics, np.array([n_reports]))
    return RangeCounts(plan, mechanism.estimate(tally, plan, plan.domain))


def _events(counts: NDArray[np.int64]) -> Iterable[NDArray[np.int64]]:
    """Yield one entry for each visit, the number of its day, in pieces of bounded size."""
    ends = np.cumsum(counts)
    for start in range(0, int(ends[-1]), _PIECE):
        yield np.searchsorted(ends, np.arange(start, min(start + _PIECE, int(ends[-1]))), side="right")


def check_record(ledger: Ledger | None, data_set: str | None, seed: int | None) -> str:
    """Return the name of the data set; real noise that is not recorded is refused, and a simulation that is."""
    if (ledger is None) == (seed is None):
        raise SettingError("real noise must be recorded, and a simulation must not be. Give a ledger, or a seed.")
    if ledger is not None and data_set is None:
        raise SettingError("the ledger knows a series by a lasting name. Give data_set.")
    return data_set or "simulation"


def fan_outs_of(n_leaves: int, degree: int) -> list[int]:
    """Return the fan-outs of the tree of one degree, root first."""
    check_at_least(2, degree=degree)
    height = 1
    while degree**height < n_leaves:
        height += 1
    return [degree] * height


def _day(day: Day, position: int) -> np.datetime64:
    try:
        return np.datetime64(date.fromisoformat(_iso(day)), "D")
    except ValueError:
        raise DataError(
            f"dates must be written as 2014-12-19; the one at position {position} is not. Nothing was spent."
        ) from None


def _iso(day: Day) -> str:
    if isinstance(day, np.datetime64):
        return str(day.astype("datetime64[D]"))
    return day if isinstance(day, str) else day.isoformat()[:10]
