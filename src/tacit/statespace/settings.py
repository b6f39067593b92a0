"""The hyperparameters of the time-series model, and all its numeric settings with their origin.

``experiments/ablations`` measures what the rules gain that these numbers belong to.
"""

from __future__ import annotations

from dataclasses import astuple, dataclass
from typing import Final, Self

import numpy as np

from tacit._base.arrays import FloatArray


@dataclass(frozen=True, slots=True)
class _Logarithms:
    """Positive numbers that a fit finds by their logarithms."""

    def logs(self) -> FloatArray:
        return np.asarray(np.log(np.array(astuple(self))), np.float64)

    @classmethod
    def from_logs(cls, logs: FloatArray) -> Self:
        return cls(*np.exp(logs).tolist())


@dataclass(frozen=True, slots=True)
class Hyperparameters(_Logarithms):
    """Hyperparameters of shares; standard deviations are relative to the share.

    ``level_sd`` is that of the random-walk level after a year, ``ar_sd`` of the AR(1) component, whose correlation
    falls to 1/e in ``timescale_days``; ``weekday_sd`` and ``season_sd`` are of coefficients of calendar regressors.
    ``overdispersion`` is a time's variance beyond chance, as in Dirichlet-multinomial counts: a share's variance is
    s (1/N + overdispersion). ``excess_dispersion`` is the same for the excess of a public total. ``chance`` is the
    variance of a count without these, relative to Poisson's: 1 for independent events, less for those by timetable.
    """

    level_sd: float = 0.04
    ar_sd: float = 0.05
    timescale_days: float = 10.0
    weekday_sd: float = 0.04
    season_sd: float = 0.04
    overdispersion: float = 0.0004
    excess_dispersion: float = 0.2
    chance: float = 1.0


@dataclass(frozen=True, slots=True)
class TotalHyperparameters(_Logarithms):
    """Hyperparameters of the rate of totals; standard deviations are relative to the rate.

    ``level_sd`` is that of the random-walk level after a year, ``ar_sd`` of the AR(1) component, whose correlation
    falls to 1/e in ``timescale_days``. ``overdispersion`` is a bin's variance beyond chance. ``change_sd`` is that of
    coefficients after a year, relative to their usual size.
    """

    level_sd: float = 0.1
    ar_sd: float = 0.06
    timescale_days: float = 7.0
    overdispersion: float = 0.004
    change_sd: float = 0.1


@dataclass(frozen=True)
class TotalSettings:
    """Assumptions of any series of totals, which are not estimated from it.

    Each field says where it comes from. What halving or doubling does is of forecasts of totals in the worlds of
    ``experiments/ablations`` where it was measured (three worlds of each kind: a first indication); elsewhere it is
    what follows from the formula.
    """

    # the prior of hyperparameters: log-normal
    prior: TotalHyperparameters = TotalHyperparameters()
    """Medians, from calls of fire brigades other than the ones tested. They decide where a series is too short to tell:
    halved, forecasts of it follow the last weeks less, with narrower intervals; doubled, more, with wider ones."""
    prior_sd: TotalHyperparameters = TotalHyperparameters(1.5, 1.0, 0.7, 1.0, 1.0)
    """Standard deviations of logarithms: a factor of 2 to 4.5 either way. Halved, short series keep the medians;
    doubled, hyperparameters of a few weeks follow chance."""
    start_variance: float = 0.25
    """Of the first log level around the median of the first weeks: a factor of 1.6 either way. Forgotten in weeks."""

    # prior standard deviations of regression coefficients, on the log scale
    weekday_sd: float = 0.15
    """Weekdays differ by about 15 %. Near 0 it costs up to a factor of 2 where weeks have a rhythm."""
    clock_sd: float = 0.5
    """Nights have a fraction of the events of afternoons. Halved, the first weeks of a series are too flat."""
    year_sd: float = 0.1
    """Summers and winters differ by about 10 %. Near 0 it costs up to 45 % where years do, and gains up to 7 % in
    series of less than a year, whose season is a guess."""
    flag_sd: float = 0.1
    """Holidays and other flags. Halved, the effect of a flag that came a few times is taken for half."""
    number_sd: float = 0.1
    """A standard deviation of a table's numbers: as a flag."""
    special_sd: float = 0.2
    """Special days are chosen because they are far from usual: twice a flag. By chance alone the effect of one that
    came three times with 50 events is shrunk to 0.86 of itself; halved to 0.60, doubled to 0.96."""
    length_sd: float = 0.02
    """How far the effect of a month's length may be from proportional: next to nothing. February is 7 % shorter than
    others, so that this is 0.15 % of its total."""
    day_harmonics: int = 4
    """Sines and cosines of the day: the rise of a morning takes a quarter of a day. Halved, it is spread over half a
    day; doubled, there are twice the coefficients to learn from the same days."""
    year_harmonics: int = 3
    """Sines and cosines of the year: totals tell a finer shape than shares. With one, weeks ahead of worlds with feasts
    err by 26 % more; with six, totals after gaps by 19 %."""
    rare_flag: float = 0.1
    """A flag on fewer of the bins, as holidays are, also acts on the days beside it. Half or twice of it changes which
    flags of a table are holidays: school holidays are on a third of all days, public ones on a thirtieth."""
    fewest_numbers: int = 24
    """Known numbers of a table's column from which it is learned: two years of months. Halved, one year says how far a
    number may go; doubled, four years of months are needed."""
    changing_kinds: tuple[str, ...] = ("weekday", "clock", "year")
    """Kinds whose coefficients are random walks. None: up to 1.8 % worse in worlds of four years, up to 0.6 % better in
    others."""

    # unusual bins
    largest_innovation: float = 2.5
    """Standard deviations. An innovation beyond moves the state no further, and costs its size, not its square, as
    Huber's loss: one normal innovation in 80. Without the limit totals of stormy worlds are 13 to 23 % worse, others
    within 1 % of what they are."""
    special_score: float = 4.0
    """A day of the year is special if its innovations add up to so many standard errors: by chance one of 366 days in
    40 series. Without special days totals of worlds with feasts are up to 21 % worse."""
    special_years: int = 3
    """Years in which a special day must have come: two agree by chance too often. Doubled, a series needs six years."""
    most_specials: int = 12
    """The most special days: as many as a country has holidays. More take time in every step of the filter."""

    # the fit
    fewest_bins: int = 28
    """With fewer observed bins (four weeks of days) the prior's hyperparameters are taken, those of shares too. Halved,
    weekdays that came twice decide; doubled, two months are told by the prior alone."""
    most_bins: int = 12_000
    """The last so many bins are fitted: 33 years of days, 16 months of hours. It bounds the time of a fit."""
    half_life_years: float = 2.0
    """A bin so many years ago counts half in the fit: recent years say more. Without it 80 % intervals of totals of 13
    years cover 93 instead of 84 % thirty days ahead (``experiments/forecast``); worlds of 8 years show nothing."""
    burn_in_bins: int = 60
    """The first so many bins, or a quarter, do not count in the fit: the filter has yet to find the level. Halved, the
    search for the level counts as variance; doubled, short series lose bins to learn from."""
    first_step: float = 0.7
    """The first step of the search in logarithms: a factor of 2, about one prior standard deviation. The search is that
    of shares (:func:`tacit.statespace.model.minimize`)."""

    # the inflation of the stated variance
    look_back_years: float = 6.0
    """Forecasts of the last so many years are looked at. Older years say little of what is to come: with the half-life
    above, twice as many add an eighth of the weight, and half of them take a quarter."""
    most_origins: int = 800
    """So many origins among them: neighbouring ones have nearly the same errors. The time is in proportion."""
    levels: tuple[float, float] = (0.8, 0.95)
    """Coverage must hold at each of these two levels, which commands and pages show. Were only their mean compared, 95
    % intervals would cover too little where rain keeps people at home, and 80 % ones too much."""
    most_inflation: float = 30.0
    """Beyond, the model is wrong and its variance no measure: half or twice of it matters where past forecasts were off
    that much. The search by halves ends within 0.1 % of a factor."""
    least_inflation: float = 0.5
    """Where chance is most of what varies, past days cannot tell how small the model's variance is, which is most of
    that of forecasts a year ahead. At 1, 80 % intervals of totals cover 2 points more over all worlds."""
    years_differ: float = 1.2
    """A factor on top: some years vary more than those before them. Without it 80 % intervals of totals cover 2 points
    less over all worlds, and 75 instead of 78 % of a fire service's weeks ahead (``experiments/forecast``)."""


@dataclass(frozen=True)
class Settings:
    """Assumptions of any series, which are not estimated from it: shares first, then ``totals``.

    Each field says where it comes from and what happens when it is halved or doubled. Where that was measured it is the
    error in the worlds of ``experiments/ablations`` (three or four of each kind: a first indication); elsewhere it is
    what follows from the formula.
    """

    # the prior of hyperparameters: log-normal
    shares_prior: Hyperparameters = Hyperparameters()
    """Medians for shares of public totals; set by hand for daily counts. They decide where noise hides a variance, or a
    series is short: halved, such shares are too smooth; doubled, noise gets in."""
    rates_prior: Hyperparameters = Hyperparameters(
        level_sd=0.08, ar_sd=0.08, weekday_sd=0.08, season_sd=0.08, overdispersion=0.02
    )
    """Medians for rates: where no total is public, what moves all places alike is in their rates too."""
    prior_sd: Hyperparameters = Hyperparameters(
        level_sd=2.0,
        ar_sd=1.0,
        timescale_days=0.7,
        weekday_sd=1.0,
        season_sd=1.0,
        overdispersion=1.5,
        excess_dispersion=1.0,
        chance=0.08,
    )
    """Standard deviations of logarithms: a factor of 2 to 7 either way; chance is near Poisson's, with heavy tails.
    Halved, short series keep the medians; doubled, their hyperparameters follow chance."""
    log_limits: tuple[float, float] = (-9.0, 7.0)
    """Logarithms of hyperparameters stay within these, far beyond what any series showed: guards overflow."""
    averaged_shifts: tuple[float, ...] = (-2.4, -1.6, -0.8, 0.0, 0.8, 1.6, 2.4)
    """Where two variances are averaged over their posterior, in logarithms: three prior standard deviations wide. Half
    as wide cuts the tails off which the mean is for; twice as wide needs as many points again."""

    harmonics: int = 2
    """Sines and cosines of the day and of the year in shares: a share has few events to tell a finer shape from. Halved
    or doubled, smoothed counts err by up to 1.1 % more in the kind of world that minds most, weeks ahead by 5 %."""

    # the fit
    revisions: int = 2
    """Rounds of level shifts and hyperparameters after the first fit; the second still finds shifts that the first
    hid. A filter, which fits again and again, goes on from its last fit with one: half the time, the same errors."""
    fitted_places: int = 24
    """So many places, from the largest to the smallest, are fitted: hyperparameters are the same for all. The time of a
    fit is in proportion; the error of hyperparameters falls with its root."""
    first_step: float = 1.2
    """The first step of the search in logarithms: a factor of 3, about one prior standard deviation. Halved or doubled,
    the search takes more evaluations."""
    next_step: float = 0.5
    """The first step of a search that starts from an earlier fit: twice the last one. It changes the time alone."""
    last_step: float = 0.25
    """The search ends with steps below this: the likelihood is flat within a quarter of a logarithm. Halved, it takes
    a sweep more; doubled, hyperparameters may be off by half a logarithm."""
    most_sweeps: int = 12
    """The most sweeps over all hyperparameters: guards against a search without end."""
    least_share: float = 0.1
    """Smoothed shares below this part of the long-run share do not lower the variance of chance further. Doubled, a
    place that closed keeps wide intervals; halved, a small share is told too surely."""
    start_width: float = 4.0
    """The fit takes the variance of the first level for so many squares of the share: nearly nothing is known of it.
    Any number far above 1 does as well."""
    least_fraction: float = 0.05
    """At least this part of a place's variance is left once the sum of all places is known: matters for a place that
    has more than 95 % of all events."""

    # level shifts and excesses
    shifts_per_year: float = 0.05
    """The expected level shifts of a place in a year: one place in twenty opens, closes or moves. A factor of
    2 moves the log likelihood that a shift must gain by 0.7."""
    shift_variances: tuple[float, ...] = (0.1, 1.0, 10.0)
    """Prior variances of a shift in squares of the share: a third of the share, all of it, three times it. Half
    or twice of each moves the log likelihood that a shift must gain by 0.35, where counts tell its size well."""
    most_shifts: int = 8
    """The most level shifts of a place: bounds the time. Halved, a place that opens and closes each season is not
    followed in its third year; doubled, the search may take twice the time."""
    fewest_after_shift: int = 7
    """Counts that must have been observed from a level shift on: a week of days. With one alone, before a gap or at the
    end, an additive outlier is taken for a shift, and the level stays there. Halved, two outliers may do the same;
    doubled, a place that opened is known a week later."""
    least_shift_part: float = 1e-4
    """A time with less of a shift's posterior probability gets none of its variance: keeps releases small."""
    excess_window: int = 43
    """Times around a public total whose median is usual: six weeks of days and one. Halved, a fortnight of storms is
    usual; doubled, the rise of a season is an excess."""
    excess_sd: float = 2.0
    """Standard deviations of chance above the usual from which a total has an excess: one day in 40. Halved, weeks
    ahead of stormy worlds err by 5 % more; doubled, by up to 2 %. Smoothed counts change by less than 1 %."""

    # the size prior
    size_spreads: tuple[float, ...] = (0.06, 0.1, 0.16, 0.25, 0.4, 0.63, 1.0, 1.6, 2.5)
    """Spreads of log sizes: from places within a twentieth of each other to a few that hold nearly all. The steps are
    finer than places can tell."""
    size_medians: tuple[float, ...] = (0.6, 0.8, 1.0, 1.25, 1.6)
    """Medians, relative to that at which the distribution has the known mean. Those far from 1 have little weight. Half
    the range makes the prior surer of the mean of few places."""
    empty_parts: tuple[float, ...] = (0.0, 0.2, 0.4)
    """Parts of places that may be empty: tables of places name some where nothing happens. Without them a
    place is nearly empty only where spreads are wide."""
    empty_size: float = 0.03
    """Up to this size, relative to the mean, a place is nearly empty. A place that is known to be empty is estimated
    at half of it where noise hides the rest."""
    mean_doubt: float = 0.05
    """Standard deviation allowed between a distribution's mean and 1, beside that of so many places. Halved or
    doubled, it matters where the other is smaller: many places, or places alike in size."""
    least_size: float = 1e-3
    """The least size relative to the mean; smaller ones are not told from it."""
    least_rate: float = 0.05
    """The least mean rate of a series without public totals: one event in 20 times. Guards series of nearly nothing."""
    size_rounds: int = 2
    """Rounds in which the variance of chance follows the estimated share. With one, that of small places is taken at an
    equal share."""
    widest_start: float = 25.0
    """The largest variance of the first level in squares of the share, where counts say more than the prior: as good as
    unknown. Any number far above 1 does as well."""

    # intervals
    inflation: float = 1.06
    """Factor of the posterior variance of shares, for hyperparameters that were estimated; set by hand for coverage.
    Without it intervals are 3 % narrower where shares are most of what is unknown."""
    poisson_third: float = 3.0
    """The third cumulant of a Poisson count with an uncertain mean, in variances of the mean: exact by algebra."""
    excess_kurtosis: float = 0.8
    """Of counts whose process variance is itself uncertain; set by hand for coverage. It moves limits of 95 % out by up
    to 3 %, and those of 80 % in by up to 5 %."""
    chance_ratios: tuple[float, float] = (0.15, 4.0)
    """How far the count that was found may change the variance of chance: guards counts near 0, and outliers."""

    # filtering
    first_fit: int = 28
    """The bins that a filter publishes before its first fit: four weeks of days. Halved, the first fit has two weeks to
    learn weekdays from; doubled, equal shares are assumed for eight."""
    refit_growth: float = 0.2
    """A filter fits again when the series has grown by this part. Halved, it takes twice the time; doubled, it learns
    of a change a fifth of the series later."""

    # shares in forecasts
    least_forecast_sd: float = 1e-3
    """The least standard deviation of a forecast share, relative to it: guards divisions."""

    totals: TotalSettings = TotalSettings()
    """The settings of totals in forecasts."""


SETTINGS: Final = Settings()
