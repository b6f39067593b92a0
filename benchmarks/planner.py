"""Predicted beside simulated errors of every mechanism and fan-out. Run: python benchmarks/planner.py

A curator's releases and counters of 32, 512 and 2,048 bins, and reports of devices that hide the bin among 32 and 512,
all at epsilon 1. Places stand for independent trials. The table gives the predicted root mean squared error of every
kind of question and the simulated one as a share of it; the last column is the largest standard error of that share. A
share farther from 1 than 5 % and four standard errors stops the benchmark. Numbers after the command choose sizes:
python benchmarks/planner.py 32
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from measure import print_machine, print_table

from tacit.counts.provenance import Provenance
from tacit.counts.tally import ExactTally, Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.continual.engines import NodeDraws, engine_of
from tacit.mechanisms.local.hierarchical import HierarchicalHistogram
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.mechanisms.planner import CURATOR, GAUSSIAN, NOBODY, Contender, Question, Situation
from tacit.mechanisms.planner.comparison import contenders
from tacit.mechanisms.registry import MECHANISMS
from tacit.plan import Plan
from tacit.privacy.spend import Spend
from tacit.randomness import SeededRandomness

SIZES = {CURATOR: (32, 512, 2048), NOBODY: (32, 512)}
QUESTIONS = Question.parse("points, 7, ranges, totals")
EPSILON, DELTA = 1.0, 1e-6
CENTRAL_TRIALS, LOCAL_TRIALS = 1500, 600
REPORTS = 5000
TRIALS_AT_ONCE = 50
SEED = 20261116
MOST_MISSED, STANDARD_ERRORS = 0.05, 4.0


@dataclass(frozen=True)
class Share:
    """A simulated error over the predicted one, and its standard error."""

    predicted: float
    share: float
    standard_error: float


def domain_of(n_bins: int, n_places: int) -> Domain:
    last = np.datetime64("2018-01-01") + n_bins - 1
    return Domain(TimeAxis.between("2018-01-01", str(last)), PlaceAxis.of([f"trial {i}" for i in range(n_places)]))


def curated_errors(contender: Contender, situation: Situation) -> np.ndarray:
    """The errors of all bins in every trial, from a release."""
    plan = central_plan_for(
        domain_of(situation.n_bins, situation.n_places),
        epsilon=EPSILON,
        delta=DELTA if contender.noise == GAUSSIAN else None,
        mechanism=contender.mechanism,
        fan_outs=contender.fan_outs if contender.fan_outs and not contender.is_designed else None,
    )
    mechanism = central_mechanism_of(plan)
    counts = ExactTally(np.zeros(plan.domain.shape, np.int64))
    return mechanism.measure(counts, plan, spend=Spend.simulation(mechanism.cost, seed=SEED)).values


def counted_errors(contender: Contender, situation: Situation) -> np.ndarray:
    """The same from a counter, bin by bin."""
    key = np.random.default_rng(SEED).bytes(32)
    engine = engine_of(contender.variances, NodeDraws(key, situation.n_places))
    counts = np.zeros((situation.n_bins, situation.n_places), np.int64)
    _, published = engine.advance(engine.start(), 0, counts)
    totals = published / contender.variances.grid
    return np.diff(totals, axis=0, prepend=0.0)


def reported_errors(contender: Contender, situation: Situation) -> np.ndarray:
    """The same from reports, some trials at once."""
    randomizer = _randomizer(contender, situation.n_bins)
    domain = domain_of(situation.n_bins, TRIALS_AT_ONCE)
    thresholds = tuple(sorted(randomizer.thresholds().items()))
    plan = Plan(domain, contender.mechanism, EPSILON, thresholds, private=("time",))
    provenance = Provenance(plan.fingerprint, is_simulation=True)
    rng, randomness = np.random.default_rng(SEED), SeededRandomness(SEED)
    per_trial = np.full(TRIALS_AT_ONCE, REPORTS)
    parts = []
    for _ in range(situation.n_places // TRIALS_AT_ONCE):
        cells = rng.integers(situation.n_bins, size=(TRIALS_AT_ONCE, REPORTS))
        truth = np.stack([np.bincount(row, minlength=situation.n_bins) for row in cells], axis=1)
        reports = randomizer.randomize(cells.ravel(), randomness=randomness)
        tally = Tally(provenance, randomizer.statistics(reports, per_trial), per_trial)
        parts.append(randomizer.estimate(tally, plan, domain).values - truth)
    return np.concatenate(parts, axis=1)


def _randomizer(contender: Contender, n_bins: int) -> LocalRandomizer:
    if contender.mechanism == "hierarchical" and not contender.is_designed:
        return HierarchicalHistogram.from_epsilon(epsilon=EPSILON, n_cells=n_bins, fan_out=contender.fan_outs[-1])
    return MECHANISMS[contender.mechanism].from_epsilon(EPSILON, n_bins)


def share_of(contender: Contender, question: Question, errors: np.ndarray) -> Share:
    n_bins, n_trials = errors.shape
    totals = np.concatenate([np.zeros((1, n_trials)), np.cumsum(errors, axis=0)])
    first, stop = (edges[:: max(1, len(edges) // 4000)] for edges in question.ranges(n_bins))
    squares = ((totals[stop] - totals[first]) ** 2).mean(axis=0)
    predicted = contender.rmse(question, n_bins)
    found = float(np.sqrt(squares.mean()))
    spread = float(squares.std(ddof=1) / n_trials**0.5 / (2 * squares.mean()))
    return Share(predicted, found / predicted, spread)


def rows_of(situation: Situation) -> Iterator[list[str]]:
    for contender in contenders(situation, QUESTIONS):
        if contender.is_continual:
            errors = counted_errors(contender, situation)
        else:
            errors = (curated_errors if situation.is_central else reported_errors)(contender, situation)
        shares = [share_of(contender, question, errors) for question in QUESTIONS]
        for question, one in zip(QUESTIONS, shares, strict=True):
            if abs(one.share - 1) > MOST_MISSED + STANDARD_ERRORS * one.standard_error:
                sys.exit(f"{contender} misses {question}: {one.share:.3f} of what was predicted")
        yield [
            str(contender),
            *(text for one in shares for text in (f"{one.predicted:,.4g}", f"{one.share:.3f}")),
            f"{max(one.standard_error for one in shares):.3f}",
        ]


def main() -> None:
    chosen = [int(word) for word in sys.argv[1:]]
    print_machine("numpy")
    headings = ["mechanism", *(text for question in QUESTIONS for text in (str(question), "simulated")), "s.e."]
    for trust, sizes in SIZES.items():
        for n_bins in [size for size in sizes if size in chosen or not chosen]:
            n_trials = CENTRAL_TRIALS if trust == CURATOR else LOCAL_TRIALS
            situation = Situation(
                n_bins=n_bins, n_places=n_trials, n_events=float(n_trials * REPORTS), trust=trust, epsilon=EPSILON
            )
            if trust == CURATOR:
                situation = replace(situation, delta=DELTA)
            print(f"\n{n_bins:,} bins, trusting {trust}, {n_trials:,} trials")
            print_table(headings, list(rows_of(situation)))


if __name__ == "__main__":
    main()
