"""All audits that fit a subject, run one after the other, so that all their bounds hold at the same time."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from numpy.typing import ArrayLike, NDArray

from tacit.audit.answers import Build, BuildMany, audit_many, audit_reconstruction, audit_repeats, many_of, start_of
from tacit.audit.claims import Audit, Claim
from tacit.audit.correlated_reports import DEFAULT_BATCH, audit_memo, audit_repeated_reports, audit_shared_coins
from tacit.audit.curators import (
    CuratedAnswers,
    MeasuredNodes,
    answers_of_counter,
    answers_of_plan,
    ask_again_of_plan,
    audit_nodes,
    nodes_of_counter,
    nodes_of_plan,
    releases_of_plan,
    runs_of_counter,
)
from tacit.audit.games import FEWEST_RUNS, Progress
from tacit.audit.noise_faults import audit_dependence, audit_floating_point
from tacit.audit.randomizers import DEFAULT_REPORTS, Randomize, audit_mechanism, audit_randomizer, audit_repeating_noise
from tacit.errors import SettingError
from tacit.mechanisms.continual.counter import Stream
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.local.memoized_hashing import LongitudinalHashing
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.mechanisms.registry import mechanism_of
from tacit.plan import Plan
from tacit.randomness import Randomness, SecureRandomness

AUDITS: Final[Mapping[str, str]] = {
    "local randomizer": "two values are told apart by one report",
    "shared coins": "two values are told apart by a report and that of a known event of the same batch",
    "repeated reports": "two values are told apart by many reports of a device that remembers",
    "remembered answers": "a device draws permanent bits again, or shares them between values or devices",
    "repeating noise": "the noise of a run is known from another run of the same code",
    "published answers": "one unit more or less is told from what a curator publishes",
    "noisy nodes": "one unit more or less is told from the noisy sums that a release is made of",
    "the same question twice": "noise is drawn again at every question, and averages out",
    "dependent noise": "answers share noise, so that others tell one's own or a combination has none",
    "reconstruction": "all counts are estimated from one table of answers",
    "floating-point noise": "the last bits of an answer tell which count they belong to",
}
"""The audits by name, with what each finds if a claim is wrong."""

DEFAULT_CURATOR_RUNS: Final = 100_000  # four times as many halve the distance of a bound
_MOST_CELLS: Final = 40_000_000  # counts that all runs of an audit may have together: seconds; doubled, twice the time
_MOST_SHARED: Final = 40_000  # reports in calls of their own, each as dear as a batch: doubled, twice the time
_MOST_SOLVED: Final = 1_000  # bins: least squares take the cube of their number

_Step = Callable[[float], Audit]


def audit_plan(
    plan: Plan,
    *,
    n_runs: int | None = None,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> tuple[Audit, ...]:
    """Audit our own mechanism under a plan, of devices or of a curator.

    >>> from tacit.domain import Domain, PlaceAxis, TimeAxis
    >>> from tacit.mechanisms.registry import plan_for
    >>> from tacit.randomness import SeededRandomness
    >>> domain = Domain(TimeAxis.between("2018-01-01", "2018-12-31"), PlaceAxis.of(["north", "south", "west"]))
    >>> audits = audit_plan(plan_for(domain, epsilon=2.2), n_runs=100_000, randomness=SeededRandomness(1))
    >>> [audit.name for audit in audits], {str(audit.verdict) for audit in audits}
    (['local randomizer', 'shared coins'], {'not refuted'})
    """
    source = SecureRandomness() if randomness is None else randomness
    if plan.is_central:
        nodes = nodes_of_plan(plan, randomness=source)
        return _curated(
            answers_of_plan(plan, randomness=source),
            nodes.claim,
            n_runs,
            confidence,
            source,
            progress,
            again=ask_again_of_plan(plan, randomness=source),
            nodes=nodes,
            whole=releases_of_plan(plan, randomness=source),
        )
    return audit_local(
        mechanism_of(plan),
        epsilon=plan.epsilon,
        n_runs=n_runs,
        confidence=confidence,
        randomness=source,
        progress=progress,
    )


def audit_local(
    mechanism: LocalRandomizer,
    *,
    epsilon: float | None = None,
    n_runs: int | None = None,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> tuple[Audit, ...]:
    """Audit a randomizer of ours, or a plug-in with our protocol: one report, those of one batch, those of one device.

    Its own epsilon is the claim unless another is given.
    """
    source = SecureRandomness() if randomness is None else randomness
    claimed = mechanism.epsilon if epsilon is None else epsilon
    n_reports = DEFAULT_REPORTS if n_runs is None else n_runs

    def one_report(sure: float) -> Audit:
        return audit_mechanism(
            mechanism, epsilon=claimed, n_reports=n_reports, confidence=sure, randomness=source, progress=progress
        )

    def many_reports(sure: float) -> Audit:
        assert isinstance(mechanism, LongitudinalRappor | LongitudinalHashing)
        n_devices = max(FEWEST_RUNS, n_reports // 30)  # a month of reports each, as audit_repeated_reports makes
        return audit_repeated_reports(
            mechanism, n_devices=n_devices, confidence=sure, randomness=source, progress=progress
        )

    def shared(sure: float) -> Audit:
        return audit_shared_coins(
            lambda cells: mechanism.randomize(cells, randomness=source),
            epsilon=claimed,
            values=mechanism.n_cells,
            randomizer=mechanism,
            n_reports=max(FEWEST_RUNS, min(n_reports, _MOST_SHARED)),
            confidence=sure,
            randomness=source,
            progress=progress,
        )

    def remembered(sure: float) -> Audit:
        assert isinstance(mechanism, LongitudinalRappor | LongitudinalHashing)
        # a smaller audit has a device for every 200 reports: at a million that is about as many as by default
        n_devices = None if n_reports >= DEFAULT_REPORTS else max(FEWEST_RUNS, n_reports // 200)
        return audit_memo(mechanism, n_devices=n_devices, confidence=sure, randomness=source, progress=progress)

    has_memo = isinstance(mechanism, LongitudinalRappor | LongitudinalHashing) and math.isfinite(
        mechanism.epsilon_infinity
    )
    steps: list[_Step] = [one_report, shared]
    return _together([*steps, many_reports, remembered] if has_memo else steps, confidence)


def audit_counter(
    stream: Stream,
    *,
    n_runs: int | None = None,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> tuple[Audit, ...]:
    """Audit a counter of ours, known by its public side."""
    source = SecureRandomness() if randomness is None else randomness
    cost = stream.noise_model.cost
    return _curated(
        answers_of_counter(stream, randomness=source),
        Claim.of(rho=cost.rho) if cost.rho else Claim.of(epsilon=cost.epsilon),
        n_runs,
        confidence,
        source,
        progress,
        nodes=nodes_of_counter(stream, randomness=source),
        whole=runs_of_counter(stream, randomness=source),
    )


def audit_reports_function(
    randomize: Randomize,
    *,
    epsilon: float,
    values: int | Sequence[Any],
    delta: float = 0.0,
    n_runs: int = DEFAULT_REPORTS,
    batch: int = DEFAULT_BATCH,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> tuple[Audit, ...]:
    """Audit any function from values to reports; ``batch`` values go into one call where shared coins are sought."""
    source = SecureRandomness() if randomness is None else randomness

    def one_report(sure: float) -> Audit:
        return audit_randomizer(
            randomize,
            epsilon=epsilon,
            values=values,
            delta=delta,
            n_reports=n_runs,
            confidence=sure,
            randomness=source,
            progress=progress,
        )

    def repeating(sure: float) -> Audit:
        n_reports = max(FEWEST_RUNS, min(n_runs, 3_000))  # a seed left in the code shows in a few hundred
        return audit_repeating_noise(
            randomize,
            epsilon=epsilon,
            values=values,
            delta=delta,
            n_reports=n_reports,
            confidence=sure,
            randomness=source,
        )

    def shared(sure: float) -> Audit:
        return audit_shared_coins(
            randomize,
            epsilon=epsilon,
            values=values,
            n_reports=max(FEWEST_RUNS, min(n_runs, _MOST_SHARED)),
            batch=batch,
            confidence=sure,
            randomness=source,
            progress=progress,
        )

    steps: list[_Step] = [one_report, repeating]
    # what is guessed in one call depends on each other if coins are shared, which a delta does not allow for
    return _together([*steps, shared] if not delta else steps, confidence)


def audit_answers_function(
    build: Build | BuildMany,
    *,
    epsilon: float | None = None,
    rho: float | None = None,
    counts: int | ArrayLike,
    unit: int = 1,
    delta: float = 0.0,
    n_runs: int = 20_000,
    is_many: bool = False,
    confidence: float = 0.99,
    randomness: Randomness | None = None,
    progress: Progress | None = None,
) -> tuple[Audit, ...]:
    """Audit any function from counts to answers; with ``is_many``, from tables of counts to tables of answers.

    A function that gives a function is asked twice.
    """
    source = SecureRandomness() if randomness is None else randomness
    claim = Claim.of(epsilon=epsilon, delta=delta, rho=rho)
    start = start_of(counts)
    again = None if is_many or not callable(build(start.copy())) else build
    curated = CuratedAnswers(build if is_many else many_of(build), start.size, unit)
    return _curated(curated, claim, n_runs, confidence, source, progress, again=again, start=start)


def _curated(
    curated: CuratedAnswers,
    claim: Claim,
    n_runs: int | None,
    confidence: float,
    source: Randomness,
    progress: Progress | None,
    *,
    again: Build | None = None,
    start: NDArray[np.int64] | None = None,
    nodes: MeasuredNodes | None = None,
    whole: CuratedAnswers | None = None,
) -> tuple[Audit, ...]:
    """Return all audits of what a curator publishes; ``whole`` releases, if places are the runs of ``curated``."""
    asked = n_runs
    build, n_bins, unit = curated.build, curated.n_bins, curated.unit
    if n_runs is None:
        n_runs = max(FEWEST_RUNS, min(DEFAULT_CURATOR_RUNS, _MOST_CELLS // n_bins))
    # each of the other audits has a quarter of the time of the first, or less
    some = max(FEWEST_RUNS, min(n_runs, 20_000, _MOST_CELLS // 4 // n_bins))
    counts: ArrayLike = n_bins if start is None else start
    common: dict[str, Any] = {"randomness": source, "progress": progress}

    def answers(sure: float) -> Audit:
        return audit_many(build, **claim.settings, counts=counts, unit=unit, n_runs=n_runs, confidence=sure, **common)

    def measured(sure: float) -> Audit:
        assert nodes is not None
        return audit_nodes(nodes, n_runs=asked, confidence=sure, **common)

    def dependence(sure: float) -> Audit:
        one = curated if whole is None else whole
        # dependence shows in every run, and each run of it is as dear as the cube of its answers
        n_fewer = max(FEWEST_RUNS, min(some, 2_000, _MOST_CELLS // 10 // one.n_bins))
        start = counts if whole is None else whole.n_bins
        return audit_dependence(
            one.build, **claim.settings, counts=start, unit=unit, n_runs=n_fewer, confidence=sure, **common
        )

    def reconstruction(sure: float) -> Audit:
        n_builds = max(8, min(some, 2 * FEWEST_RUNS))
        return audit_reconstruction(
            build, epsilon=claim.value, n_bins=n_bins, unit=unit, n_builds=n_builds, confidence=sure, randomness=source
        )

    def floating_point(sure: float) -> Audit:
        settings: dict[str, Any] = {claim.measure: claim.value}
        return audit_floating_point(
            build, **settings, n_bins=n_bins, unit=unit, n_runs=some, confidence=sure, randomness=source
        )

    def twice(sure: float) -> Audit:
        assert again is not None
        n_fewer = max(FEWEST_RUNS, min(n_runs, 1_000))
        return audit_repeats(
            again, **claim.settings, counts=counts, unit=unit, n_runs=n_fewer, confidence=sure, **common
        )

    steps: list[_Step] = [answers]
    if nodes is not None:
        steps.append(measured)
    if again is not None:
        steps.append(twice)
    steps.append(dependence)
    if claim.is_pure and n_bins <= _MOST_SOLVED:  # guesses of one table depend on each other
        steps.append(reconstruction)
    if not claim.delta:
        steps.append(floating_point)
    return _together(steps, confidence)


def _together(steps: Sequence[_Step], confidence: float) -> tuple[Audit, ...]:
    """Run audits that share the error rate: all bounds hold at once with this confidence."""
    if not 0 < confidence < 1:
        raise SettingError(f"confidence must be strictly between 0 and 1; got confidence={confidence}. Choose 0.99.")
    return tuple(step(1 - (1 - confidence) / len(steps)) for step in steps)
