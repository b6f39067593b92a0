"""Forecasts of the next day's counts: the paper's pipeline with and without its leaks, baselines, and Tacit's."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final, NamedTuple

import numpy as np
from experiments.worlds import World
from numpy.typing import NDArray

from tacit.counts.series import Series
from tacit.forecast.boosting import PaperForecaster
from tacit.forecast.share_forecaster import ShareForecaster
from tacit.randomness import SeededRandomness

FloatArray = NDArray[np.float64]

# a trained model is asked about true counts of the day before (the paper's test) or about private ones
RATIO: Final = "ratio"
RATIO_PRIVATE: Final = "ratio, private inputs"
PLAIN: Final = "no ratio"
PLAIN_PRIVATE: Final = "no ratio, private inputs"
LITERAL: Final = "ratio as written"
TACIT: Final = "Tacit"


class Scores(NamedTuple):
    """Errors averaged over places: mean absolute, and root of the mean square."""

    mae: float
    rmse: float


@dataclass(frozen=True)
class Trial:
    """A world whose days before ``first_test_day`` are learned from, and the others forecast from the day before."""

    world: World
    first_test_day: str
    ratio_years: tuple[int, ...]
    seed: int
    n_trees: int

    @property
    def first(self) -> int:
        return int(np.searchsorted(self.world.days, np.datetime64(self.first_test_day)))

    @property
    def truth(self) -> FloatArray:
        return self.world.counts[self.first :].astype(np.float64)

    @cached_property
    def raw(self) -> Series:
        return Series.exact(self.world.domain, self.world.counts)

    def scores(self, forecasts: FloatArray) -> Scores:
        errors = forecasts - self.truth
        return Scores(float(np.abs(errors).mean()), float(np.sqrt(np.square(errors).mean(axis=0)).mean()))

    def weekday_means(self, years: Sequence[int] | None = None) -> FloatArray:
        """The paper's baseline, from raw counts: the mean of a weekday, over all years before or over some."""
        weekday = (self.world.days.astype(np.int64) + 3) % 7
        is_used = np.arange(len(weekday)) < self.first
        if years is not None:
            is_used &= self._is_in(years)
        means = np.stack([self.world.counts[is_used & (weekday == day)].mean(axis=0) for day in range(7)])
        return np.asarray(means[weekday[self.first :]])

    def on_raw_counts(self) -> dict[str, FloatArray]:
        """The paper's model and Tacit's, both trained and asked with raw counts."""
        return {"original": self._expected(self._trained(self.raw), self.raw), TACIT: self._of_shares(self.raw)}

    def at(self, f: float, *, with_literal: bool = False) -> dict[str, FloatArray]:
        """Every way to forecast from one randomization with this f."""
        series = Series.of(self.world.published(f, SeededRandomness(self.seed)))
        plain, ratio = self._trained(series), self._trained(series, true_means=self._means())
        found = {
            RATIO: self._expected(ratio, self.raw, as_given=True),
            RATIO_PRIVATE: self._expected(ratio, series),
            PLAIN: self._expected(plain, self.raw, as_given=True),
            PLAIN_PRIVATE: self._expected(plain, series),
            TACIT: self._of_shares(Series.of(self.world.corrected(f, SeededRandomness(self.seed)))),
        }
        if with_literal:
            literal = self._trained(series, true_means=self._means(), literal=True)
            found[LITERAL] = self._expected(literal, self.raw, as_given=True)
        return found

    def _trained(
        self, series: Series, *, true_means: FloatArray | None = None, literal: bool = False
    ) -> PaperForecaster:
        model = PaperForecaster(
            n_estimators=self.n_trees, true_means=true_means, ratio_years=self.ratio_years, literal=literal
        )
        return model.fit(series.until(self.first))

    def _expected(self, model: PaperForecaster, series: Series, *, as_given: bool = False) -> FloatArray:
        return model.expect(model.inputs(series, as_given=as_given)[self.first - 1 : -1])

    def _of_shares(self, series: Series) -> FloatArray:
        model = ShareForecaster().fit(series.until(self.first))
        origins = np.arange(self.first, len(series))
        return np.asarray(model.predict_from(series, origins, 1).counts.means[:, 0])

    def _means(self) -> FloatArray:
        """What the ratio needs: exact means of raw counts."""
        is_used = self._is_in(self.ratio_years) & (np.arange(len(self.world.counts)) < self.first)
        return np.asarray(self.world.counts[is_used].mean(axis=0))

    def _is_in(self, years: Sequence[int]) -> NDArray[np.bool_]:
        return np.isin(self.world.days.astype("datetime64[Y]").astype(np.int64) + 1970, list(years))
