"""The thesis' four structures as objects: events come in one by one, and any range of dates is answered in between.

A curator's are :class:`CentralRanges`, those of devices :class:`LocalRanges`. Both are flat, or hierarchical where a
``degree`` is given. Real noise is paid from the ledger when the object is made, and a seed makes a simulation.

>>> visits = CentralRanges(1.0, "2014-01-01", "2014-12-31", degree=16, seed=1)
>>> visits.update("2014-01-02T10:30")
>>> visits.update(np.array(["2014-01-01", "2014-01-02"], "datetime64[D]"))
>>> answer = visits.answer("2014-01-01", "2014-01-02")
>>> answer.lower <= 3 <= answer.upper
True

>>> homes = LocalRanges(2.0, "2014-01-01", "2014-12-31", degree=4, seed=1)
>>> homes.update("ana", "2014-07-05")
>>> homes.answer("2014-01-01", "2014-12-31").value     # the number of reports is public
1.0
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import IntArray, Times
from tacit.collection.curating import EVENT, days_of
from tacit.collection.range_counting import check_record, fan_outs_of
from tacit.counts.continual_noise import ContinualNoise, KaryTree, RefinedTree
from tacit.counts.estimate import Answer, Estimate
from tacit.counts.provenance import Provenance
from tacit.counts.query import answer
from tacit.counts.tally import Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.domain.step import When
from tacit.errors import DataError, SettingError
from tacit.events import selection
from tacit.mechanisms.continual import Counter, CounterFiles, History, Stream, start_counter
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.privacy.budget import Budget
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Ledger, Spend
from tacit.randomness import Randomness, SecureRandomness, SeededRandomness

Moments = When | Sequence[When] | Times


class CentralRanges:
    """Counts of a trusted curator: with noise on every period, or, with a ``degree``, on every node of a tree.

    An answer publishes all periods up to its last, once and for ever; events of these are refused from then on. Which
    periods are published is up to who asks, never to the events.

    Privacy:   epsilon for adding or removing one event, for all answers together, also if events react to answers. It
               is a running counter, paid once when it is started (:mod:`tacit.mechanisms.continual`).
    Error:     independent noise of scale 1/epsilon on each period; with L levels, of scale L/epsilon on each node.
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
        noise_model: ContinualNoise = RefinedTree(n_bins, cost, levels) if levels else KaryTree(n_bins, cost)
        if state is None:
            publish, stream = _simulated(noise_model, domain, seed or 0)
        else:
            files = CounterFiles(state, ledger=ledger)
            if not (files.state_path.exists() and files.has_history):
                start_counter(files, noise_model, domain, data_set=name, unit=EVENT, budget=budget)
            stream = files.stream()
            if (stream.noise_model, stream.domain, stream.unit) != (noise_model, domain, EVENT):
                raise SettingError(f"{state} holds a counter with other settings. Give those it has, or another file.")
            publish = partial(_added, files)
        self._publish: Final = publish
        self._axis: Final = axis
        self._counts: Final[IntArray] = np.zeros(n_bins, np.int64)
        self._history = History.empty(stream) if state is None else files.history()

    @property
    def history(self) -> History:
        """What is published: running totals with noise, and their cost."""
        return self._history

    def update(self, time: Moments) -> None:
        """Count an event at a time, or events at many."""
        bins = _bins(self._axis, time)
        is_published = bins < self._history.n_bins
        if is_published.any():
            raise DataError(
                f"events must lie in periods that are not published yet; {np.count_nonzero(is_published)} of "
                f"{len(bins)} do not. Ask for a period only when it is over. Nothing was counted."
            )
        np.add.at(self._counts, bins, 1)

    def answer(self, first: When, last: When | None = None, *, level: float = 0.95) -> Answer:
        """Return the number of events from ``first`` to ``last``, both included, or in one period."""
        asked = self._axis.range(first, first if last is None else last)
        n_bins = self._history.n_bins
        if asked.stop > n_bins:
            totals = self._publish(n_bins, self._counts[n_bins : asked.stop, None])
            self._history = self._history.extended(totals)
        return self._history.answer(first, first if last is None else last, level=level)


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
                selection=dict.fromkeys(("rows", "place", "kind"), selection.ANY)
                | {"time": selection.of_time("", None, axis, None)},
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

    def update(self, user: Hashable | Sequence[Hashable] | NDArray[np.generic], time: Moments) -> None:
        """Take the report of a user at a time, or those of many users."""
        bins = _bins(self.plan.domain.time, time)
        users: list[Hashable] = [user] if _is_one(time) else list(user)  # type: ignore
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


def _added(files: CounterFiles, first: int, rows: IntArray) -> IntArray:
    return files.add(rows, first=first)


def _simulated(
    noise_model: ContinualNoise, domain: Domain, seed: int
) -> tuple[Callable[[int, IntArray], IntArray], Stream]:
    """A counter in memory alone, which protects nobody: how it publishes the next rows, and its description."""
    counter = Counter.start(Spend.simulation(noise_model.cost, seed=seed), domain, noise_model=noise_model)
    state = counter.begin()

    def publish(_: int, rows: IntArray) -> IntArray:
        nonlocal state
        state, totals = counter.steps(state, rows)
        return totals

    return publish, counter.stream


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
