"""Exact counts, their summary and the span of dates."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import DataError, MissingColumn, NotDescribed, SettingError
from tacit.events import BadRowSummary, EventColumns, EventCounts, ReadOptions, Reason, scan_span, summarize
from tacit.events import counts as counts_module

Write = Callable[..., Path]
Count = Callable[..., EventCounts]
COLUMNS = EventColumns("SDate", "Town")
WRITTEN = ReadOptions(encoding="utf-8", separator=",", date_format="year-first")


def counted(table: np.ndarray[Any, Any], first: str, last: str, step: str = "day") -> EventCounts:
    places = PlaceAxis.of([f"p{number}" for number in range(table.shape[1])])
    domain = Domain(TimeAxis.between(first, last, step=step, zone="Europe/Paris"), places)
    return EventCounts(domain, table, int(table.sum()), int(table.sum()), 0, BadRowSummary())


def test_a_summary_is_the_papers_table_of_each_year() -> None:
    table = np.random.default_rng(3).poisson(2.0, (730, 3))
    summary = summarize(counted(table, "2017-01-01", "2018-12-31"))
    assert [year.year for year in summary.years] == [2017, 2018]
    for year, part in zip(summary.years, (table[:365], table[365:]), strict=True):
        per_day = part.sum(axis=1).tolist()
        assert (year.n_days, year.total, year.max, year.min) == (365, sum(per_day), max(per_day), min(per_day))
        assert year.mean == pytest.approx(statistics.mean(per_day))
        assert year.std == pytest.approx(statistics.stdev(per_day))


def test_cells_that_hold_a_single_event_are_counted() -> None:
    table = np.zeros((28, 2), np.int64)  # four whole weeks of January and February 2018
    table[0, 0] = 1  # a week alone
    table[7, 0] = table[8, 0] = 1  # two in one week
    table[3, 1] = 1  # a month alone
    summary = summarize(counted(table, "2018-01-01", "2018-01-28"))
    assert (summary.n_single_weeks, summary.n_occupied_weeks) == (2, 3)
    assert (summary.n_single_months, summary.n_occupied_months) == (1, 2)
    assert summary.place_level == "place"


def test_hours_are_summed_to_days_across_clock_changes() -> None:
    table = np.ones((23 + 24, 1), np.int64)
    summary = summarize(counted(table, "2018-03-25", "2018-03-26", step="hour"))
    assert (summary.years[0].min, summary.years[0].max) == (23, 24)


def test_a_single_day_has_no_deviation() -> None:
    assert np.isnan(summarize(counted(np.ones((1, 1), np.int64), "2018-01-01", "2018-01-01")).years[0].std)


def test_counts_by_week_cannot_be_summarized_by_day() -> None:
    with pytest.raises(SettingError, match="step must be a day or shorter to summarize days; got step='week'"):
        summarize(counted(np.ones((2, 1), np.int64), "2018-01-01", "2018-01-14", step="week"))


def test_counts_show_no_values() -> None:
    table = np.full((1, 1), 987_654)
    assert "987" not in repr(
        EventCounts(counted(table, "2018-01-01", "2018-01-01").domain, table, 1, 1, 0, BadRowSummary())
    )


def test_a_domain_too_large_is_refused(write: Write, count: Count, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counts_module, "_MAX_CELLS", 100)
    with pytest.raises(DataError, match="more than can be counted at a time"):
        count(write("SDate,Town\n2018-01-01,Ornans\n"))


def test_large_counts_are_exact(write: Write, count: Count) -> None:
    table = pa.table({"SDate": ["2018-01-01"] * 5, "Town": ["Ornans"] * 5, "N": [10**12] * 5})
    assert count(table, count="N").n_events == 5 * 10**12


def test_the_span_is_from_the_first_to_the_last_date(write: Write) -> None:
    path = write("SDate,Town\n2018-05-06 07:08,Ornans\nx,Ornans\n2016-02-29,Ornans\n,\n2018-05-06 07:09:10,Nowhere\n")
    for batch_rows in (1, 100):
        span = scan_span(path, columns=COLUMNS, options=replace(WRITTEN, batch_rows=batch_rows), zone="Europe/Paris")
        assert (str(span.first), str(span.last)) == ("2016-02-29T00:00:00", "2018-05-06T07:09:10")
        assert (span.n_rows, span.n_dated) == (4, 3)
    assert span.axis() == TimeAxis.between("2016-02-29", "2018-05-06", zone="Europe/Paris")
    assert span.axis("month").labels()[0] == "2016-02"
    assert span.axis("month").n_bins == 28
    hours = span.axis("hour")
    assert hours.bins_of_local(np.array([span.first, span.last]))[1] == (hours.n_bins or 0) - 1


def test_the_span_of_instants_is_on_the_wall_clock(write: Write) -> None:
    path = write("SDate,Town\n2018-12-31T23:30:00Z,Ornans\n2018-06-30T23:30:00Z,Ornans\n")
    span = scan_span(path, columns=COLUMNS, options=WRITTEN, zone="Europe/Paris")
    assert (str(span.first), str(span.last)) == ("2018-07-01T01:30:00", "2019-01-01T00:30:00")


@pytest.mark.parametrize("suffix", ["", "T00:00:00Z"])
def test_dates_no_event_can_have_do_not_stretch_the_span(write: Write, count: Count, suffix: str) -> None:
    dates = ("0001-01-01", "1899-12-31", "1900-01-02", "2018-05-06", "2199-12-31", "2200-01-01", "9999-12-31", "x")
    path = write("SDate,Town\n" + "".join(f"{date}{suffix},Ornans\n" for date in dates))
    for batch_rows in (1, 100):
        span = scan_span(path, columns=COLUMNS, options=replace(WRITTEN, batch_rows=batch_rows))
        assert (str(span.first)[:10], str(span.last)[:10]) == ("1900-01-02", "2199-12-31")
        assert (span.n_rows, span.n_dated, span.n_implausible) == (8, 7, 4)
    counts = count(path, domain=Domain(span.axis(), PlaceAxis.of(["Ornans"])))
    assert counts.bad_rows.first_rows == {Reason.UNREADABLE_DATE: (9,), Reason.OUTSIDE_TIME: (2, 3, 7, 8)}


def test_a_span_without_plausible_dates_is_refused_without_a_value(write: Write) -> None:
    with pytest.raises(DataError, match=r"no row has a date between 1900 and 2199\. Name") as caught:
        scan_span(write("SDate,Town\n9999-12-31,Ornans\n0001-01-01,Ornans\n"), columns=COLUMNS, options=WRITTEN)
    assert "9999" not in str(caught.value)


def test_the_span_asks_for_the_order_and_for_columns_too(write: Write) -> None:
    path = write("SDate,Town\n01/02/2018,Ornans\n")
    with pytest.raises(NotDescribed):
        scan_span(path, columns=COLUMNS)
    with pytest.raises(NotDescribed):
        scan_span(path, columns=COLUMNS, options=replace(WRITTEN, date_format=None))
    span = scan_span(path, columns=COLUMNS, options=replace(WRITTEN, date_format="day-first"))
    assert str(span.first) == "2018-02-01T00:00:00"
    with pytest.raises(MissingColumn):
        scan_span(path, columns=EventColumns("SDate", "Place"), options=WRITTEN)
    with pytest.raises(DataError, match="no row has a date that can be read"):
        scan_span(write("SDate,Town\nx,Ornans\n"), columns=COLUMNS, options=WRITTEN)
    with pytest.raises(SettingError, match="zone must be"):
        scan_span(path, columns=COLUMNS, options=WRITTEN, zone="Mars/Base")


def test_a_summary_of_bad_rows_reads_as_a_sentence() -> None:
    summary = BadRowSummary({Reason.NO_DATE: 1, Reason.RAGGED: 25}, {Reason.NO_DATE: (3,), Reason.RAGGED: (4, 5)})
    assert summary.lines() == [
        "25 rows with more or fewer fields than there are columns (rows 4, 5, …)",
        "1 row with no date (row 3)",
    ]
    assert summary.n_rows == 26
    assert str(BadRowSummary()) == "no bad rows"
    assert not BadRowSummary()
