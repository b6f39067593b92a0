"""The thesis' four structures as objects: events come in one by one, and any range of dates is answered in between.

A curator's are :class:`CentralRanges`, those of devices :class:`LocalRanges`. Both are flat, or hierarchical where a
``degree`` is given. Real noise is paid from the ledger when the object is made, and a seed makes a simulation. Events
come with their users where persons are protected, and without where single events are.

>>> visits = CentralRanges(1.0, "2014-01-01", "2014-12-31", degree=16, seed=1)
>>> visits.update("2014-01-02T10:30")
>>> visits.update(np.array(["2014-01-01", "2014-01-02"], "datetime64[D]"))
>>> answer = visits.answer("2014-01-01", "2014-01-02")
>>> answer.lower <= 3 <= answer.upper
True

>>> riders = CentralRanges(1.0, "2014-01-01", "2014-12-31", unit=Unit.person(most=3), seed=1)
>>> riders.update("ana", "2014-01-02")

>>> homes = LocalRanges(2.0, "2014-01-01", "2014-12-31", degree=4, seed=1)
>>> homes.update("ana", "2014-07-05")
>>> homes.answer("2014-01-01", "2014-12-31").value     # the number of reports is public
1.0
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from contextlib import closing
from dataclasses import replace
from datetime import date
from pathlib import Path
from typing import Any, Final, overload

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import IntArray, Times
from tacit._base.extras import require
from tacit.collection.curating import EVENT, bound_of, days_of, simulated_key
from tacit.collection.range_counting import check_record, fan_outs_of
from tacit.counts.continual_noise import ContinualNoise, KaryTree, RefinedTree
from tacit.counts.estimate import Answer, Estimate
from tacit.counts.provenance import Provenance
from tacit.counts.query import answer
from tacit.counts.tally import Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.domain.step import When
from tacit.errors import DataError, SettingError
from tacit.events import BadRowSummary, ContributionBound, digest
from tacit.events.contribution_bound import BoundedCount, PersonHash
from tacit.events.counts import CountKeeper
from tacit.events.interpret import EventBatch
from tacit.mechanisms.continual import Counter, CounterFiles, History, start_counter
from tacit.mechanisms.continual.contributions import Contributions
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.privacy.cost import Budget, Cost
from tacit.privacy.ledger import Ledger, Spend
from tacit.privacy.unit import Unit
from tacit.randomness import Randomness, SecureRandomness, SeededRandomness

Moments = When | Sequence[When] | Times
Users = Hashable | Sequence[Hashable] | NDArray[np.generic]
_PERIODS_AT_ONCE: Final = 1000  # of which the counts of persons are kept together; halved, twice as many are written


class CentralRanges:
    """Counts of a trusted curator: with noise on every period, or, with a ``degree``, on every node of a tree.

    An answer publishes all periods up to its last, once and for ever; events of these are refused from then on. Which
    periods are published is up to who asks, never to the events.

    Privacy:   epsilon for adding or removing one ``unit``, for all answers together, also if events react to answers:
               one event, or a person, of whom so many events are counted as the unit says. It is a running counter,
               paid once when it is started (:mod:`tacit.mechanisms.continual`).
    Error:     independent noise of scale 1/epsilon on each period; with L levels, of scale L/epsilon on each node; for
               a person that many times more as events are counted of one.
    """

    def __init__(
        self,
        epsilon: float,
        first: When,
        last: When,
        *,
        degree: int | None = None,
        step: str = "day",
        zone: str = "UTC",
        unit: Unit = EVENT,
        ledger: Ledger | None = None,
        data_set: str | None = None,
        budget: Budget | None = None,
        state: str | Path | None = None,
        seed: int | None = None,
    ) -> None:
        """Pay for a counter and start it, or go on with the one in the private file ``state``.

        Events of periods that were not published yet are in memory alone: give them again after a restart.
        """
        name = check_record(ledger, data_set, seed)
        if (state is None) != (ledger is None):
            raise SettingError(
                "a counter that is paid for must be kept, and a simulation needs no file. Give state, a private file, "
                "together with the ledger."
            )
        axis = TimeAxis.between(first, last, step=step, zone=zone)
        domain, n_bins = Domain(axis, PlaceAxis.everything()), axis.n_bins or 1
        cost = Cost.pure(epsilon)
        levels = () if degree is None else tuple(fan_outs_of(n_bins, degree)[1:])
        most: dict[str, Any] = {"most": unit.sensitivity, "most_per_cell": unit.most_per_cell}
        noise_model: ContinualNoise = (
            RefinedTree(n_bins, cost, levels, **most) if levels else KaryTree(n_bins, cost, **most)
        )
        _check_windows(axis, unit)
        if state is None:
            counter = Counter.start(Spend.simulation(cost, seed=seed or 0), domain, unit=unit, noise_model=noise_model)
            self._counter: Counter | CounterFiles = counter
            self._state, stream, key = counter.begin(), counter.stream, simulated_key(seed or 0)
        else:
            self._counter = files = CounterFiles(state, ledger=ledger)
            if not (files.state_path.exists() and files.has_history):
                start_counter(files, noise_model, domain, data_set=name, unit=unit, budget=budget)
            stream, key = files.stream(), files.bounding_key
            if (stream.noise_model, stream.domain, stream.unit) != (noise_model, domain, unit):
                raise SettingError(f"{state} holds a counter with other settings. Give those it has, or another file.")
        self._bound: Final = bound_of(unit, key, "")
        self._contributions = Contributions(stream.identity, 0)  # of a simulation
        self._domain: Final = domain
        self._bins: list[int] = []
        self._users: list[str] = []
        self._history = History.empty(stream) if state is None else files.history()

    @property
    def history(self) -> History:
        """What is published: running totals with noise, and their cost."""
        return self._history

    @overload
    def update(self, time: Moments, /) -> None: ...
    @overload
    def update(self, user: Users, time: Moments, /) -> None: ...
    def update(self, *event: Any) -> None:
        """Count an event at a time, or events at many; where persons are protected, of a user or of many."""
        *whose, time = event
        if len(whose) != (self._bound is not None):
            raise SettingError(
                "users must be named where persons are protected, and only there: update(time) counts events, "
                "update(user, time) those of persons."
            )
        bins = _bins(self._domain.time, time)
        users = [str(user) for user in _users(whose[0], time)] if whose else []
        if whose and len(users) != len(bins):
            raise DataError(f"every event must have a user; got {len(users)} users and {len(bins)} times.")
        is_published = bins < self._history.n_bins
        if is_published.any():
            raise DataError(
                f"events must lie in periods that are not published yet; {np.count_nonzero(is_published)} of "
                f"{len(bins)} do not. Ask for a period only when it is over. Nothing was counted."
            )
        self._bins += bins.tolist()
        self._users += users

    def answer(self, first: When, last: When | None = None, *, level: float = 0.95) -> Answer:
        """Return the number of events from ``first`` to ``last``, both included, or in one period."""
        asked = self._domain.time.range(first, first if last is None else last)
        while self._history.n_bins < asked.stop:
            self._publish(min(asked.stop, self._history.n_bins + _PERIODS_AT_ONCE))
        return self._history.answer(first, first if last is None else last, level=level)

    def _publish(self, stop: int) -> None:
        """Publish the periods up to ``stop``, and forget their events."""
        first, bins = self._history.n_bins, np.array(self._bins, np.int64)
        is_due = bins < stop
        files = self._counter if isinstance(self._counter, CounterFiles) else None
        contributions = self._contributions if files is None else files.contributions()
        rows = self._counted(bins, is_due, contributions)[first:stop]
        if files is not None:
            totals = files.add(rows, first=first, contributions=contributions)
        else:
            assert isinstance(self._counter, Counter)
            self._state, totals = self._counter.steps(self._state, rows)
            self._contributions = self._contributions.advanced(stop)
        self._history = self._history.extended(totals)
        self._users = [user for user, due in zip(self._users, is_due, strict=False) if not due]
        self._bins = bins[~is_due].tolist()

    def _counted(self, bins: IntArray, is_due: NDArray[np.bool_], contributions: Contributions | None) -> IntArray:
        """Return the counts of all periods, of each person as many events as the bound allows."""
        keeper = CountKeeper(self._domain, "the events")
        due = bins[is_due]
        zeros, rows, clock = np.zeros_like(due), np.arange(len(due)), self._domain.time.starts()[due]
        batch = EventBatch(due, zeros, None, clock, rows)
        if self._bound is None:
            keeper.add(batch)
        else:
            users = require("pyarrow", extra="events").array(np.array(self._users, object)[is_due], "string")
            persons = PersonHash(self._bound.key).hashes(users, self._bound.windows(clock))
            with closing(BoundedCount(self._bound, keeper, contributions)) as bounded:
                bounded.add(replace(batch, person=persons))
                bounded.count()
        return keeper.finish(n_rows=len(due), n_left_out=0, bad_rows=BadRowSummary()).counts


class LocalRanges:
    """Counts from devices that trust nobody: a user's time is randomized once, on the device, as one report.

    With a ``degree`` a report answers for one level of a tree. Of a time only the report goes into the tally. This
    object stands for the devices and for the collector; it knows who reported, which is not hidden.

    Privacy:   epsilon-local for the time of a user, who reports once: another report of the same user is refused.
    Error:     exact for any range, in every answer. Answers cost nothing more, and may be asked after every report.
    """

    def __init__(
        self,
        epsilon: float,
        first: When,
        last: When,
        *,
        degree: int | None = None,
        step: str = "day",
        zone: str = "UTC",
        ledger: Ledger | None = None,
        data_set: str | None = None,
        seed: int | None = None,
    ) -> None:
        """Agree on the plan, and enter in the ledger that users of this data set will report by it.

        The ledger knows them by the name of the data set: their times are not known yet, and never will be.
        """
        name = check_record(ledger, data_set, seed)
        axis = TimeAxis.between(first, last, step=step, zone=zone)
        fan_outs = None if degree is None else fan_outs_of(axis.n_bins or 1, degree)
        domain = Domain(axis, PlaceAxis.everything())
        self.plan: Final = plan_for(domain, epsilon=epsilon, fan_outs=fan_outs, private=("time",))
        self._mechanism: Final = mechanism_of(self.plan)
        self._randomness: Final[Randomness] = SecureRandomness() if seed is None else SeededRandomness(seed)
        prior, heads = 0.0, tuple[str, ...]()
        if ledger is not None:
            entry = ledger.record_randomization(
                data_set=name,
                plan_id=self.plan.fingerprint,
                private=self.plan.private,
                epsilon=self.plan.epsilon,
                days=days_of(axis, {}),
                n_events=0,  # so far
                selection=dict.fromkeys(("rows", "place", "kind"), digest.ANY)
                | {"time": digest.of_time("", None, axis, None)},
                zone=zone,
            )
            prior, heads = entry.prior_epsilon, (ledger.head,)
        self._provenance: Final = Provenance.of_reports(
            self.plan.fingerprint, self._randomness.is_simulation, prior, heads
        )
        self._statistics: Final[IntArray] = np.zeros((1, self._mechanism.n_statistics), np.int64)
        self._users: Final[set[Hashable]] = set()
        self._estimate: Estimate | None = None

    @property
    def tally(self) -> Tally:
        """The sum of all reports so far, from which everything is estimated."""
        return Tally(self._provenance, self._statistics.copy(), np.array([len(self._users)]))

    def update(self, user: Users, time: Moments) -> None:
        """Take the report of a user at a time, or those of many users."""
        bins, users = _bins(self.plan.domain.time, time), _users(user, time)
        new = set(users) - self._users
        if len(users) != len(bins) or len(new) < len(users):
            raise DataError(
                f"every user must report one time, once; got {len(users)} users of whom {len(new)} are new, and "
                f"{len(bins)} times. A second report would add to epsilon. Nothing was reported."
            )
        reports = self._mechanism.randomize(bins, randomness=self._randomness)
        self._statistics[:] += self._mechanism.statistics(reports, np.array([len(bins)]))
        self._users.update(new)
        self._estimate = None

    def answer(self, first: When, last: When | None = None, *, level: float = 0.95) -> Answer:
        """Return the number of events from ``first`` to ``last``, both included, or in one period."""
        box = self.plan.domain.box(first, first if last is None else last)
        if self._estimate is None:
            self._estimate = self._mechanism.estimate(self.tally, self.plan, self.plan.domain)
        return answer(self._estimate, box, level=level)


def _check_windows(axis: TimeAxis, unit: Unit) -> None:
    """Refuse windows of a person that cut a period: it would not be known in which of them an event lies."""
    if unit.window is not None:
        edges, bound = (
            axis.with_end((axis.n_bins or 0) + 1).starts(),
            ContributionBound(1, None, unit.window, key=bytes(32)),
        )
        if (bound.windows(edges[:-1]) != bound.windows(edges[1:] - np.timedelta64(1, "s"))).any():
            raise SettingError(
                f"every {axis.step} must lie in one {unit.window}, in which a person is protected. Take another step "
                "or window."
            )


def _users(user: Users, time: Moments) -> list[Hashable]:
    return [user] if _is_one(time) else list(user)  # type: ignore


def _is_one(time: Moments) -> bool:
    return isinstance(time, str | date | np.datetime64)


def _bins(axis: TimeAxis, time: Moments) -> IntArray:
    """Return the bins of one time or many. A refusal never says which time it was."""
    if isinstance(time, np.ndarray) and time.dtype.kind == "M":
        bins = axis.bins_of_local(time)
    else:
        bins = np.array([_bin(axis, one) for one in ([time] if _is_one(time) else time)], np.int64)  # type: ignore
    if (bins < 0).any():
        first, last = axis.label(0), axis.label((axis.n_bins or 1) - 1)
        raise DataError(
            f"times must lie in one period from {first} to {last}; {np.count_nonzero(bins < 0)} of {len(bins)} do not, "
            f"the first at position {np.argmax(bins < 0) + 1}. Nothing was counted."
        )
    return bins


def _bin(axis: TimeAxis, time: When) -> int:
    try:
        found = axis.range(time, time)
    except SettingError:
        return -1
    return found.start if found.stop - found.start == 1 else -1
