"""Charts and maps as functions of releases.

:func:`counts_by` adds a release up and gives every number its limits; the charts take what it returns.

>>> from tacit.pages.figures import counts_by, series_chart
>>> chart = series_chart(counts_by(release, "month"), place=0)   # doctest: +SKIP
>>> chart.save("besancon.svg")                                   # doctest: +SKIP
"""

from tacit.pages.figures.accuracy import EPSILONS, Choice, Errors, choices, errors_by, standard_error_at
from tacit.pages.figures.charts import (
    LABORATORY,
    ON_PAGE,
    ON_PAPER,
    Palette,
    choices_chart,
    places_chart,
    series_chart,
    small_chart,
    tiles_chart,
)
from tacit.pages.figures.counts import Counts, coarser_steps, counts_by, counts_in_all, rows_of, totals_by, truth_by
from tacit.pages.figures.maps import (
    N_SHADES,
    UNSURE,
    Outlines,
    TileMap,
    chart_labels,
    first_shade,
    outlines,
    points,
    shade_limits,
    shades,
    short_names,
    tile_map,
)

__all__ = [
    "EPSILONS",
    "LABORATORY",
    "N_SHADES",
    "ON_PAGE",
    "ON_PAPER",
    "UNSURE",
    "Choice",
    "Counts",
    "Errors",
    "Outlines",
    "Palette",
    "TileMap",
    "chart_labels",
    "choices",
    "choices_chart",
    "coarser_steps",
    "counts_by",
    "counts_in_all",
    "errors_by",
    "first_shade",
    "outlines",
    "places_chart",
    "points",
    "rows_of",
    "series_chart",
    "shade_limits",
    "shades",
    "short_names",
    "small_chart",
    "standard_error_at",
    "tile_map",
    "tiles_chart",
    "totals_by",
    "truth_by",
]
