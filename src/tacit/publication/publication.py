"""A publication: a release with all that people do with one, ask, rank, forecast, draw and write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from tacit._base.extras import require
from tacit._base.rounding import epsilon_at_most
from tacit._base.validation import check_at_least, kind_of
from tacit.counts.estimate import Answer
from tacit.domain import ALL
from tacit.domain.step import When
from tacit.errors import FormatError, MissingExtra, Remedy, SettingError
from tacit.release import Release
from tacit.release.release import PUBLISHED

if TYPE_CHECKING:
    import altair
    import pandas
    import polars
    import pyarrow

    from tacit.forecast import Forecast
    from tacit.release.questions import RankedPlace

_READABLE: Final = 0.25  # relative error of a typical count up to which a chart of single periods reads well
_MOST_POINTS: Final = 1_500  # of a line: more are narrower than a pixel


@dataclass(frozen=True, slots=True, eq=False)
class Publication:
    """A release, and the folder it lies in, if there is one. Nothing here reads events or costs anything."""

    release: Release
    folder: Path | None = None

    def __repr__(self) -> str:
        where = "" if self.folder is None else f", in {self.folder}"
        first, last = self.release.domain.time.days
        place = self.release.domain.place
        places = "all places together" if place.is_all else f"{place.n_cells} places"
        return (
            f"Publication({self.release.plan.name}, {first} to {last}, {places}, "
            f"epsilon {epsilon_at_most(self.release.statement.total_epsilon)}{where})"
        )

    def answer(
        self,
        first: When | None = None,
        last: When | None = None,
        *,
        places: str | Sequence[str] | None = None,
        kinds: str | Sequence[str] | None = None,
        level: float | None = None,
        measured: bool = False,
    ) -> Answer:
        """Answer how many events there were from ``first`` to ``last`` (left out: in ``first`` alone) in some places.

        It is the number to believe; ``measured`` asks for the unbiased one instead.
        """
        return self.release.answer(
            first=first,
            last=first if last is None else last,
            places=_listed(places),
            kinds=_listed(kinds),
            level=level,
            measured=measured,
        )

    def top(
        self,
        n: int = 10,
        first: When | None = None,
        last: When | None = None,
        *,
        kinds: str | Sequence[str] | None = None,
        measured: bool = False,
    ) -> list[RankedPlace]:
        """Return the ``n`` places with most events in a time, each with ``place`` and ``answer``.

        Ranks are as unsure as the answers.
        """
        from tacit.release.questions import ranked_places

        check_at_least(1, n=n)
        last = first if last is None else last
        return ranked_places(self.release, first=first, last=last, kinds=_listed(kinds), measured=measured)[:n]

    def forecast(self, days: int = 7, *, model: str = "share", country: str | None = None) -> Forecast:
        """Return what to expect in the coming days; ``country`` (``"FR"``) lets public holidays count."""
        from tacit.domain.horizon import horizon_of
        from tacit.forecast import forecaster_named, series_of
        from tacit.forecast.holidays import calendar_covariates

        series = series_of(self.release)
        n_bins = horizon_of(f"{days} days", series.domain.time)
        known = None if country is None else calendar_covariates(series.domain.time, country=country, horizon=n_bins)
        return forecaster_named(model).fit(series, known).predict(n_bins)

    def plot(self, place: str | None = None, *, by: str | None = None) -> altair.LayerChart:
        """Draw one place through time, or all of them together, each number in its interval."""
        from tacit.pages.figures import counts_by, series_chart, totals_by

        step = by or self._readable_step()
        if place is None:
            return series_chart(totals_by(self.release, step), 0).properties(width=640)
        if not isinstance(place, str):
            raise SettingError(f"place must be one name, or None for all places together; got {kind_of(place)}.")
        (number,) = self._one_place(place)
        shown = self._without_kinds()
        return series_chart(counts_by(shown, step), number).properties(width=640)

    def map(self, period: When | None = None) -> altair.LayerChart:
        """Draw the places of a period, or of the whole time, as tiles: darker is more, an interval is unsure."""
        from tacit.pages.figures import coarser_steps, counts_by, counts_in_all, short_names, tile_map, tiles_chart

        shown = self._without_kinds()
        axis = shown.domain.place
        drawn = (tile_map(axis), short_names(axis.cells))
        if period is None:
            return tiles_chart(counts_in_all(shown), 0, *drawn)
        for step in coarser_steps(shown.domain.time):
            counts = counts_by(shown, step)
            if str(period) in counts.periods:
                return tiles_chart(counts, counts.periods.index(str(period)), *drawn)
        raise SettingError(f"period must be a year, month or {shown.domain.time.step} of the release; got {period!r}.")

    def page(self, path: str | Path, **settings: Any) -> Path:
        """Write the publication as one page that works offline."""
        from tacit.pages import make_page

        return make_page(self.release, path, **settings)

    def to_arrow(self) -> pyarrow.Table:
        """Return the table of the CSV file: a row for every period and place, with the number to believe."""
        pa = require("pyarrow", extra="events")
        table: pyarrow.Table = pa.table(self.release.table())
        return table

    def to_pandas(self) -> pandas.DataFrame:
        """Return the same as a pandas frame."""
        pd = require("pandas", extra="frames")
        frame: pandas.DataFrame = pd.DataFrame(self.release.table())
        return frame

    def to_polars(self) -> polars.DataFrame:
        """Return the same as a polars frame."""
        pl = require("polars", extra="frames")
        frame: polars.DataFrame = pl.from_arrow(self.to_arrow())
        return frame

    def _repr_html_(self) -> str | None:
        """Show all places through time in a notebook: a picture that needs no network; None without what draws it."""
        try:
            convert = require("vl_convert", extra="pages")
            picture: str = convert.vegalite_to_svg(self.plot().to_dict())
        except MissingExtra:
            return None
        return f"<p>{escape(repr(self))}</p>\n{picture}"

    def _one_place(self, place: str) -> tuple[int, ...]:
        found = self.release.domain.place.find(place)
        if len(found) != 1:
            raise SettingError(f"place must be one of the {self.release.domain.place.level}s; {place} has several.")
        return found

    def _without_kinds(self) -> Release:
        return self.release if self.release.domain.kind is None else self.release.coarsen(kind=ALL)

    def _readable_step(self) -> str:
        """Return the coarsest period in which numbers say something, if there is a handful of it; as a page opens."""
        from tacit.pages.figures import coarser_steps, totals_by
        from tacit.pages.selection import HANDFUL

        steps, readable = list(coarser_steps(self.release.domain.time)), []
        for step in steps:
            counts = totals_by(self.release, step)
            typical = float(np.median(np.maximum(counts.shown, 1.0)))
            if len(counts.periods) <= _MOST_POINTS and np.median(counts.standard_errors) <= _READABLE * typical:
                readable.append(step)
                if counts.is_partial.count(False) >= HANDFUL:
                    return step
        return readable[-1] if readable else steps[0]


def open_publication(path: str | Path, *, signed_by: str | Path | None = None) -> Publication:
    """Open a release file, or the folder that :func:`~tacit.publish` made.

    A signature that does not hold is refused; ``signed_by`` is the public key that must have signed.
    """
    path = Path(path)
    if not (path / PUBLISHED if path.is_dir() else path).exists():
        raise FormatError(f"there is no publication at {path}.", remedy=Remedy.MAKE_PUBLICATION)
    return Publication(Release.read(path, signed_by=signed_by), path if path.is_dir() else None)


def _listed(names: str | Sequence[str] | None) -> list[str] | None:
    return None if names is None else [names] if isinstance(names, str) else list(names)
