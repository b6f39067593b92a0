"""Learning, predicting and going through a year day by day with the default forecaster, on one core.

    python benchmarks/forecasting.py [--places 17 500]

Prints processor seconds: to learn from 12 years of 17 places or 3 years of others, to predict the next week, and to
forecast each of 365 days from the day before with the same model. The limits are 10 s and two minutes for learning, and
a second for the year.
"""

from __future__ import annotations

import argparse
import os
import time

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from tacit.counts.series import Observations, Series
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.forecast.share_forecaster import ShareForecaster

PER_DAY_AND_PLACE = 5
NOISE = 1.6  # the variance for each report at an epsilon of about 1.7


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--places", type=int, nargs="*", default=[17, 500])
    chosen = parser.parse_args()
    warm = _series(5, 800)
    ShareForecaster().fit(warm.until(700)).predict_from(warm, np.arange(700, 800))  # load and compile
    print("places   days   learn s   predict ms   365 days s")
    for n_places in chosen.places:
        n_days = (12 if n_places <= 17 else 3) * 365
        series = _series(n_places, n_days + 365)
        forecaster, of_learning = _timed(ShareForecaster().fit, series.until(n_days))
        _, of_predicting = _timed(forecaster.predict, 7)
        _, of_a_year = _timed(forecaster.predict_from, series, np.arange(n_days, n_days + 365))
        print(f"{n_places:6} {n_days:6} {of_learning:9.2f} {1e3 * of_predicting:12.1f} {of_a_year:12.2f}")


def _series(n_places, n_days):
    """Counts with weeks, seasons and growth, and noise that cancels over places."""
    rng = np.random.default_rng(1)
    shares = rng.dirichlet(np.full(n_places, 3.0))
    days = np.arange(n_days)
    rates = PER_DAY_AND_PLACE * n_places * (1 + 0.1 * np.sin(2 * np.pi * days / 365.25)) * (1 + 0.1 * (days % 7 > 4))
    counts = rng.multinomial(rng.poisson(rates * 1.04 ** (days / 365)), shares).astype(np.float64)
    totals = counts.sum(axis=1)
    noise = rng.normal(size=counts.shape) * np.sqrt(NOISE * totals)[:, None]
    noise -= noise.mean(axis=1, keepdims=True)
    units = np.full((1, n_places), NOISE * (1 - 1 / n_places))
    known = Observations(totals, counts + noise, units, np.zeros((1, n_places)), is_shared=True, cancels=True)
    names = [f"place {i}" for i in range(n_places)]
    domain = Domain(TimeAxis("2006-01-01", "day", "Europe/Paris", n_days), PlaceAxis.of(names))
    return Series(domain, known, is_simulation=True)


def _timed(work, *given):
    begin = time.process_time()
    found = work(*given)
    return found, time.process_time() - begin


if __name__ == "__main__":
    main()
