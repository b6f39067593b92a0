"""Smoothing over time, by the number of places: 4,748 days, on one core.

    python benchmarks/smoothing.py [--places 17 1000]

Prints processor seconds, and microseconds for a cell (a place on a day), which must not rise as places grow. The limits
are 5 s for 17 places and two minutes for 1,000; memory is linear in cells.
"""

from __future__ import annotations

import argparse
import os
import resource
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from tacit.collection.tallying import estimate_tally
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.postprocess import filtered, smooth

N_DAYS = 4_748
PER_DAY_AND_PLACE = 5


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--places", type=int, nargs="*", default=[17, 1000])
    parser.add_argument("--epsilon", type=float, default=1.69)
    chosen = parser.parse_args()
    smooth(_estimate(10, 200, chosen.epsilon))  # compile
    smooth(_estimate(17, N_DAYS, chosen.epsilon))
    print("places     cells   smooth s   us/cell   months s   filter s   largest memory MB")
    for n_places in chosen.places:
        estimate = _estimate(n_places, N_DAYS, chosen.epsilon)
        smoothed, of_smoothing = _timed(smooth, estimate)
        _, of_months = _timed(_ask_months, smoothed)
        of_filtering = _timed(filtered, estimate)[1] if n_places <= 100 else float("nan")
        n_cells = n_places * N_DAYS
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{n_places:6} {n_cells:9} {of_smoothing:10.2f} {1e6 * of_smoothing / n_cells:9.2f} {of_months:10.2f} "
            f"{of_filtering:10.2f} {memory:10.0f}"
        )


def _estimate(n_places, n_days, epsilon):
    """Simulated reports, drawn per day from the distribution of supports of unary encoding: a bit for each place."""
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.full(n_places, 3.0))
    counts = rng.multinomial(rng.poisson(PER_DAY_AND_PLACE * n_places, n_days), shares)
    last = np.datetime64("2006-01-01") + n_days - 1
    domain = Domain(TimeAxis.between("2006-01-01", str(last)), PlaceAxis.of([f"place {i}" for i in range(n_places)]))
    plan = plan_for(domain, mechanism="unary", epsilon=epsilon)
    distribution = mechanism_of(plan).distribution
    per_day = counts.sum(axis=1)
    supports = rng.binomial(counts, float(distribution.p)) + rng.binomial(
        per_day[:, None] - counts, float(distribution.q)
    )
    return estimate_tally(Tally(Provenance(plan.fingerprint, is_simulation=True), supports, per_day), plan)


def _ask_months(smoothed):
    months = smoothed.coarsen(time="month")
    return months.noise.intervals(months.values, 0.95)


def _timed(step, estimate):
    start = time.process_time()
    result = step(estimate)
    return result, time.process_time() - start


if __name__ == "__main__":
    main()
