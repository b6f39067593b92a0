"""The synthetic interventions keep the paper's Table 2, are realistic, say what they are, and never change."""

from __future__ import annotations

import csv
import datetime as dt
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from zoneinfo import ZoneInfo

import numpy as np
import pytest

from tacit.domain import Gazetteer, PlaceAxis
from tacit.errors import SettingError
from tacit.events.datasets import doubs
from tacit.events.datasets.doubs.calendar import Calendar, easter, public_holidays
from tacit.events.datasets.doubs.regions import KM_PER_DEGREE_EAST, KM_PER_DEGREE_NORTH, REGIONS
from tacit.events.datasets.doubs.totals import CLUSTERS

# The data set is frozen: figures measured with it are printed. If one of these fails, the generator has changed
# and must be changed back; new data get a new name.
COUNTS_SHA256 = "a0a2e9f8c9e17f030044c25fb262664b97a83822879fb0f5eaaad4fa78264113"
CSV_SHA256 = "ed43dcddf661afb841dcb3ff7942a49650b8411a25941ce6363fd400f173316c"
PAPER_COLUMNS_SHA256 = "8aaf23c713ac78c20407d1c5b20a59659c5490d9a10c5db11d82ed4d465c3028"  # as before there were kinds


@pytest.fixture(scope="module")
def written(data: doubs.DoubsInterventions, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("doubs") / doubs.DEFAULT_FILE_NAME
    data.write(path)
    return path


def test_the_counts_are_frozen(data: doubs.DoubsInterventions) -> None:
    assert data.counts.shape == (4748, 17)
    assert data.counts.dtype == np.int64
    assert hashlib.sha256(data.counts.astype("<i8").tobytes()).hexdigest() == COUNTS_SHA256


@pytest.mark.slow
def test_the_file_is_frozen(written: Path) -> None:
    assert hashlib.sha256(written.read_bytes()).hexdigest() == CSV_SHA256


@pytest.mark.slow
def test_kinds_left_the_other_columns_as_they_were(written: Path) -> None:
    lines = written.read_bytes().splitlines()
    paper = b"".join(line.rpartition(b",")[0] + b"\n" for line in lines)
    assert hashlib.sha256(paper).hexdigest() == PAPER_COLUMNS_SHA256


@pytest.mark.parametrize("seed", [25, 0, 305, 694])
def test_totals_maxima_and_minima_are_those_of_table_2_and_deviations_within_one(seed: int) -> None:
    for ours, paper in zip(doubs.interventions(seed).table2(), doubs.PAPER_TABLE_2, strict=True):
        assert (ours.year, ours.total, ours.maximum, ours.minimum) == (
            paper.year,
            paper.total,
            paper.maximum,
            paper.minimum,
        )
        assert abs(ours.deviation - paper.deviation) < 1
        # the paper rounds its means now up, now down: 102.88 to 102, 110.99 to 111
        assert abs(ours.mean - paper.mean) < 1


def test_there_are_382046_interventions_on_every_day_of_thirteen_years(data: doubs.DoubsInterventions) -> None:
    assert data.n_rows == int(data.counts.sum()) == 382_046
    assert (str(data.days[0]), str(data.days[-1]), len(data.days)) == ("2006-01-01", "2018-12-31", 4748)


def test_the_regions_are_those_of_the_public_list_in_its_order(data: doubs.DoubsInterventions) -> None:
    assert data.regions == Gazetteer.builtin("doubs").names("region")


def test_other_seeds_give_other_data(data: doubs.DoubsInterventions) -> None:
    assert not np.array_equal(doubs.interventions(26).counts, data.counts)


@pytest.mark.slow
def test_every_row_counts_where_the_counts_have_it(data: doubs.DoubsInterventions, rows: dict[str, np.ndarray]) -> None:
    axis = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"))
    names, codes = np.unique(rows["Town"].astype(str), return_inverse=True)
    region = axis.match(names.tolist())[codes]
    day = (rows["SDate"].astype("datetime64[D]") - data.days[0]).astype(np.int64)
    counted = np.zeros_like(data.counts)
    np.add.at(counted, (day, region), 1)
    assert np.array_equal(counted, data.counts)


@pytest.mark.slow
def test_some_rows_use_former_names_and_plain_spelling(rows: dict[str, np.ndarray]) -> None:
    typed = set(rows["Town"])
    names = set(Gazetteer.builtin("doubs").names("town"))
    assert {"Nods", "BESANCON", "ST VIT"} <= typed - names
    odd = np.array([town not in names for town in rows["Town"]])
    assert 0.01 < odd.mean() < 0.05


def test_rows_are_in_the_order_of_time_with_ids_that_say_synthetic(rows: dict[str, np.ndarray]) -> None:
    assert tuple(rows) == doubs.COLUMNS == ("ID", "SDate", "Station", "Town", "Location", "Kind")
    assert (np.diff(rows["SDate"]).astype(np.int64) >= 0).all()
    assert all(identifier.startswith("SYN") for identifier in rows["ID"])
    assert len(set(rows["ID"])) == 382_046


def test_every_time_exists_on_the_clocks_of_france(rows: dict[str, np.ndarray]) -> None:
    paris = ZoneInfo("Europe/Paris")
    near_two = np.unique(rows["SDate"][(rows["SDate"].astype("datetime64[h]").astype(np.int64) % 24) == 2])
    in_march = [t for t in near_two.astype(object).tolist() if t.month == 3]
    assert len(in_march) > 100
    for local in in_march:
        there_and_back = local.replace(tzinfo=paris).astimezone(dt.UTC).astimezone(paris).replace(tzinfo=None)
        assert there_and_back == local


def test_every_location_lies_near_its_region(rows: dict[str, np.ndarray], data: doubs.DoubsInterventions) -> None:
    axis = PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs"))
    for row in range(0, data.n_rows, 97):
        found = re.fullmatch(r"\((\d\d\.\d{4}), (\d\.\d{4})\)", rows["Location"][row])
        assert found
        region = REGIONS[int(axis.match([rows["Town"][row]])[0])]
        centres = (region.centre, region.main_town_at)
        north, east = (
            np.array([float(found[i + 1]) - centre[i] for centre in centres]) * km
            for i, km in enumerate((KM_PER_DEGREE_NORTH, KM_PER_DEGREE_EAST))
        )
        to_centre, to_main_town = np.hypot(north, east)
        assert to_centre <= region.radius_km + 0.01 or to_main_town <= region.spread_km + 0.01


def test_summers_fridays_to_saturdays_and_the_new_year_are_busier(data: doubs.DoubsInterventions) -> None:
    calendar, totals = Calendar(data.days), data.counts.sum(axis=1)
    july, february = (totals[calendar.month == month].mean() for month in (7, 2))
    assert july > 1.3 * february
    assert totals[calendar.weekday == 5].mean() > 1.05 * totals[calendar.weekday == 1].mean()
    assert totals[calendar.is_date(1, 1)].mean() > 1.2 * totals[calendar.month == 1].mean()


def test_the_step_from_2008_to_2009_is_sharp(data: doubs.DoubsInterventions) -> None:
    calendar, totals = Calendar(data.days), data.counts.sum(axis=1)
    december, january = (
        totals[(calendar.year == year) & (calendar.month == month)].mean() for year, month in ((2008, 12), (2009, 1))
    )
    assert january > 1.15 * december


def test_shares_are_skewed_and_each_years_greatest_day_has_a_focus(data: doubs.DoubsInterventions) -> None:
    shares = data.counts.sum(axis=0) / data.n_rows
    assert 0.36 < shares[0] < 0.42
    assert 0.23 < shares[1] < 0.29
    assert 0.001 < shares.min() < 0.003
    calendar, totals = Calendar(data.days), data.counts.sum(axis=1)
    for figures in doubs.PAPER_TABLE_2:
        days = calendar.where(figures.year)
        excess = data.storms[days][np.argmax(totals[days])]
        in_cluster = max(excess[list(cluster)].sum() / shares[list(cluster)].sum() for cluster in CLUSTERS)
        assert in_cluster > 1.3 * excess.sum()


@pytest.mark.slow
def test_the_csv_has_the_papers_columns_and_forms_and_the_kind(written: Path) -> None:
    with written.open(encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        assert tuple(next(reader)) == doubs.COLUMNS
        lines = 0
        for line in reader:
            lines += 1
            assert len(line) == 6
            assert re.fullmatch(r"20\d\d/\d\d/\d\d \d\d:\d\d", line[1])
    assert lines == 382_046


@pytest.mark.slow
def test_the_parquet_file_says_that_it_is_synthetic(data: doubs.DoubsInterventions, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet")
    data.write(tmp_path / "synthetic.parquet")
    table = parquet.read_table(tmp_path / "synthetic.parquet")
    assert table.schema.metadata[b"tacit.synthetic"].decode() == doubs.LABEL
    assert tuple(table.column_names) == doubs.COLUMNS
    assert table.num_rows == 382_046
    assert str(table.schema.field("SDate").type).startswith("timestamp")


def test_the_data_the_file_name_and_the_module_say_synthetic(data: doubs.DoubsInterventions) -> None:
    assert "synthetic" in repr(data)
    assert "synthetic" in doubs.DEFAULT_FILE_NAME
    assert "Synthetic" in (doubs.__doc__ or "")


@pytest.mark.slow
def test_writing_reports_progress_and_leaves_nothing_unfinished(data: doubs.DoubsInterventions, tmp_path: Path) -> None:
    steps: list[tuple[int, int]] = []
    data.write(tmp_path / "events.CSV", progress=lambda done, total: steps.append((done, total)))
    assert steps[-1] == (382_046, 382_046)
    assert [path.name for path in tmp_path.iterdir()] == ["events.CSV"]


@pytest.mark.slow
def test_a_writing_that_fails_leaves_the_old_file_alone(data: doubs.DoubsInterventions, tmp_path: Path) -> None:
    def stop(done: int, total: int) -> None:
        raise KeyboardInterrupt

    path = tmp_path / "events.csv"
    path.write_text("old")
    with pytest.raises(KeyboardInterrupt):
        data.write(path, progress=stop)
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("events.csv", "old")]


@pytest.mark.parametrize(
    ("name", "rule"), [("events.xlsx", "end in .csv or .parquet"), ("nowhere/events.csv", "lie in a folder")]
)
def test_a_path_that_cannot_be_written_is_refused_before_any_work(
    data: doubs.DoubsInterventions, tmp_path: Path, name: str, rule: str
) -> None:
    with pytest.raises(SettingError, match=rule):
        data.write(tmp_path / name)


def test_the_counts_cannot_be_changed(data: doubs.DoubsInterventions) -> None:
    with pytest.raises(ValueError, match="read-only"):
        data.ordinary[0, 0] = 1


def test_easter_falls_where_the_church_has_it() -> None:
    known = ("2000-04-23", "2008-03-23", "2011-04-24", "2016-03-27", "2018-04-01", "2038-04-25", "2285-03-22")
    assert [easter(dt.date.fromisoformat(day).year).isoformat() for day in known] == list(known)


def days_of(year: int) -> Iterator[str]:
    return (day.strftime("%m-%d") for day in public_holidays(year))


def test_the_public_holidays_are_those_of_france() -> None:
    fixed = {"01-01", "05-01", "05-08", "07-14", "08-15", "11-01", "11-11", "12-25"}
    assert set(days_of(2017)) == fixed | {"04-17", "05-25", "06-05"}
    assert set(days_of(2008)) == fixed | {"03-24", "05-12"}  # Ascension was on the 1st of May
