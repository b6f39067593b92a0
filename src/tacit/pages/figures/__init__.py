"""Charts and maps as functions of releases.

:func:`counts_by` adds a release up and gives every number its limits; the charts take what it returns.

>>> from tacit.pages.figures import counts_by, series_chart
>>> chart = series_chart(counts_by(release, "month"), place=0)   # doctest: +SKIP
>>> chart.save("besancon.svg")                                   # doctest: +SKIP
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.pages.figures.accuracy import EPSILONS as EPSILONS
    from tacit.pages.figures.accuracy import Choice as Choice
    from tacit.pages.figures.accuracy import Errors as Errors
    from tacit.pages.figures.accuracy import choices as choices
    from tacit.pages.figures.accuracy import errors_by as errors_by
    from tacit.pages.figures.accuracy import standard_error_at as standard_error_at
    from tacit.pages.figures.charts import LABORATORY as LABORATORY
    from tacit.pages.figures.charts import ON_PAGE as ON_PAGE
    from tacit.pages.figures.charts import ON_PAPER as ON_PAPER
    from tacit.pages.figures.charts import Palette as Palette
    from tacit.pages.figures.charts import choices_chart as choices_chart
    from tacit.pages.figures.charts import places_chart as places_chart
    from tacit.pages.figures.charts import series_chart as series_chart
    from tacit.pages.figures.charts import small_chart as small_chart
    from tacit.pages.figures.charts import tiles_chart as tiles_chart
    from tacit.pages.figures.counts import Counts as Counts
    from tacit.pages.figures.counts import coarser_steps as coarser_steps
    from tacit.pages.figures.counts import counts_by as counts_by
    from tacit.pages.figures.counts import counts_in_all as counts_in_all
    from tacit.pages.figures.counts import rows_of as rows_of
    from tacit.pages.figures.counts import totals_by as totals_by
    from tacit.pages.figures.counts import truth_by as truth_by
    from tacit.pages.figures.maps import N_SHADES as N_SHADES
    from tacit.pages.figures.maps import UNSURE as UNSURE
    from tacit.pages.figures.maps import Outlines as Outlines
    from tacit.pages.figures.maps import TileMap as TileMap
    from tacit.pages.figures.maps import chart_labels as chart_labels
    from tacit.pages.figures.maps import first_shade as first_shade
    from tacit.pages.figures.maps import outlines as outlines
    from tacit.pages.figures.maps import points as points
    from tacit.pages.figures.maps import shade_limits as shade_limits
    from tacit.pages.figures.maps import shades as shades
    from tacit.pages.figures.maps import short_names as short_names
    from tacit.pages.figures.maps import tile_map as tile_map

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "tacit.pages.figures.accuracy": "Choice EPSILONS Errors choices errors_by standard_error_at",
        "tacit.pages.figures.charts": "LABORATORY ON_PAGE ON_PAPER Palette "
        "choices_chart places_chart series_chart small_chart tiles_chart",
        "tacit.pages.figures.counts": "Counts coarser_steps counts_by counts_in_all rows_of totals_by truth_by",
        "tacit.pages.figures.maps": "N_SHADES Outlines TileMap UNSURE chart_labels first_shade "
        "outlines points shade_limits shades short_names tile_map",
    },
)
