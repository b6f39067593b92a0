"""What rules leave out is not in the page either, and missing is another word than suppressed and zero."""

from __future__ import annotations

import base64
import csv
import re

import numpy as np
import pytest

pytest.importorskip("jinja2")

from small_worlds import simulated_estimate
from tacit.counts.tally import ExactTally
from tacit.pages import make_page
from tacit.pages.figures import counts_by, places_chart, series_chart, shades
from tacit.pages.headline import unsure_words
from tacit.pages.laboratory import laboratory
from tacit.pages.sections import series
from tacit.pages.selection import select
from tacit.pages.tables import matrix
from tacit.release import Release, Rules

COUNTS = np.random.default_rng(3).poisson([60, 12, 0.2], (90, 3))
PLAN, ESTIMATE = simulated_estimate(COUNTS, f=0.2)
RULES = Rules.parse(
    suppress=("relative error > 0.5",), grey=("count < 300",), missing=("2018-02",), keep_suppressed=True
)


@pytest.fixture(scope="module")
def release():
    return Release.of(PLAN, ESTIMATE, refine="project", rules=RULES)


def tables_of(path):
    text = path.read_text(encoding="utf-8")
    found = re.findall(r"base64,([A-Za-z0-9+/=]+)\"", text)
    return text, [base64.b64decode(part).decode("utf-8-sig") for part in found]


def test_months_are_shaded_by_their_status(release):
    months = counts_by(release, "month")
    assert set(months.status[1]) == {"missing"}
    assert months.status[0, 2] == "suppressed"
    assert shades(months, 1, (10,)) == [-3, -3, -3]
    assert shades(months, 0, (10,))[2] == -2
    assert months.places_columns(1)["estimate"] == [None] * 3
    assert months.places_columns(0)["estimate"][2] is None


def test_no_number_of_a_hidden_cell_is_in_the_page(tmp_path, release):
    selection = select(release)
    content = series(selection.all_kinds.series["month"])
    assert [row[1] for row in content["estimate"]] == [None] * 3
    assert content["status"][0][1] == "missing"
    words = {cell["hidden"] for row in matrix(selection)["rows"] for cell in row["cells"]}
    assert {"", "suppressed", "no data"} <= words
    make_page(release, tmp_path / "page.html")
    text, tables = tables_of(tmp_path / "page.html")
    assert '<td class="little">suppressed</td>' in text
    assert '<td class="little">no data</td>' in text
    (monthly,) = (table for table in tables if "\n2018-02,place 0" in table)
    assert "2018-02,place 0,,,,,False,missing,28" in monthly
    assert "2018-01,place 2,,,,,False,suppressed,0" in monthly


def test_the_number_of_reports_of_a_period_without_data_is_not_zero_but_none(release):
    totals = select(release).all_kinds.totals["month"]
    assert totals.status.ravel().tolist() == ["shown", "missing", "shown"]
    assert series(totals)["estimate"][0][1] is None


def test_a_period_that_lacks_days_says_so_wherever_it_is_named(tmp_path):
    rules = Rules.parse(missing=("2018-02-20/2018-03-04",))
    release = Release.of(PLAN, ESTIMATE, refine="project", rules=rules)
    selection = select(release)
    months = selection.all_kinds.series["month"]
    assert months.days_missing == (0, 9, 4)
    assert months.is_partial[:2] == (False, True)
    assert selection.all_kinds.whole.is_partial == (True,)
    assert [name for name in matrix(selection)["periods"] if "February" in name] == [
        "February 2018 (9 days without data)"
    ]
    make_page(release, tmp_path / "page.html")
    text, tables = tables_of(tmp_path / "page.html")
    assert "(13 days without data)" in text
    assert "or without some of its days" in text
    (monthly,) = (table for table in tables if "\n2018-02,place 0" in table)
    rows = {(row["period"], row["place"]): row for row in csv.DictReader(monthly.splitlines())}
    assert rows["2018-02", "place 0"]["days_missing"] == "9"


@pytest.mark.parametrize("refine", ["project", "smooth"])
@pytest.mark.slow
def test_a_page_shows_nothing_that_needs_counts_which_are_gone(tmp_path, refine):
    rules = Rules.parse(suppress=("relative error > 0.5",))
    release = Release.of(PLAN, ESTIMATE, refine=refine, rules=rules)
    assert release.has_gaps
    days, months, whole = (counts_by(release, step) for step in ("day", "month", "year"))
    is_gone = np.isnan(release.unbiased.values)
    np.testing.assert_array_equal(days.status == "suppressed", is_gone)
    for coarse in (months, whole):
        assert (coarse.status[:, is_gone.any(axis=0)] == "suppressed").any()
        assert np.isfinite(coarse.values).all()
    make_page(release, tmp_path / "page.html")
    text, _ = tables_of(tmp_path / "page.html")
    assert '<td class="little">suppressed</td>' in text
    assert "NaN" not in text.split('id="data"')[1].split("</script>")[0]


def test_coverage_in_the_laboratory_is_of_counts_that_are_shown(tmp_path):
    release = Release.of(PLAN, ESTIMATE, refine="project", rules=Rules.parse(suppress=("relative error > 0.5",)))
    selection, truth = select(release), ExactTally(COUNTS)
    found = laboratory(selection, truth)
    n_shown = int((~selection.all_kinds.series["day"].is_hidden).sum())
    assert found["coverage"][-1]["what"].startswith(f"{n_shown} counts")
    assert found["rates"] == []


@pytest.mark.slow
def test_a_laboratory_page_has_words_where_the_private_count_is_hidden(tmp_path, release):
    make_page(release, tmp_path / "page.html", truth=ExactTally(COUNTS))
    text, _ = tables_of(tmp_path / "page.html")
    table = text.split('id="true-rows"')[1].split("</tbody>")[0]
    assert re.search(r"<td>[\d,]+</td><td>suppressed</td><td></td><td></td>", table)


@pytest.mark.parametrize("refine", ["smooth", "project"])
def test_a_rule_judges_the_counts_that_are_drawn(refine):
    rules = Rules.parse(grey=("relative error > 0.25",))
    days = counts_by(Release.of(PLAN, ESTIMATE, refine=refine, rules=rules), "day")
    is_small = days.standard_errors <= 0.25 * days.values
    assert 0 < is_small.sum() < is_small.size
    np.testing.assert_array_equal(days.status == "shown", is_small)
    np.testing.assert_array_equal(days.reliable, is_small)


@pytest.mark.parametrize("rules", [{}, {"grey": ("relative error > 0.25",)}, {"suppress": ("count < 5",)}])
@pytest.mark.parametrize("refine", ["smooth", "project"])
@pytest.mark.slow
def test_table_file_and_page_by_month_agree_on_what_is_reliable(tmp_path, refine, rules):
    release = Release.of(PLAN, ESTIMATE, refine=refine, rules=Rules.parse(**rules, keep_suppressed=bool(rules)))
    months = release.coarsen(time="month")
    months.write(tmp_path / "months.parquet")
    in_table, in_file = (one.columns()["reliable"] for one in (months, Release.read(tmp_path / "months.parquet")))
    drawn = counts_by(release, "month")
    make_page(release, tmp_path / "page.html")
    _, tables = tables_of(tmp_path / "page.html")
    rows = [row for table in tables for row in csv.DictReader(table.splitlines())]
    on_page = {(row["period"], row["place"]): row["reliable"] for row in rows if row["period"] in drawn.periods}
    np.testing.assert_array_equal(in_table, in_file)
    np.testing.assert_array_equal(in_file, drawn.reliable.ravel())
    said = [on_page[period, place] == "True" for period in drawn.periods for place in drawn.places]
    np.testing.assert_array_equal(in_file, said)
    assert in_file.any()
    assert not in_file.all()


def test_a_page_of_a_smoothed_release_says_that_a_model_speaks_and_what_its_own_tables_hold(tmp_path):
    make_page(Release.of(PLAN, ESTIMATE, refine="smooth"), tmp_path / "page.html")
    text, tables = tables_of(tmp_path / "page.html")
    assert "<dt>What a model says</dt>" in text
    assert {row["basis"] for table in tables for row in csv.DictReader(table.splitlines())} == {"smoothed"}


def test_the_legend_names_every_reason_for_a_mark():
    """A rule about small counts may grey one whose error is small."""
    rules = Rules.parse(grey=("relative error > 0.02", "count < 5"))
    release = Release.of(PLAN, ESTIMATE, refine="smooth", rules=rules)
    assert unsure_words(release) == (
        "its standard error is more than 2% of it, or a rule greys it (relative error > 0.02 or count < 5)"
    )


def test_the_page_says_by_which_rule_a_count_is_marked(tmp_path, release):
    assert unsure_words(release) == "its standard error is more than 50% of it, or a rule greys it (count < 300)"
    assert unsure_words(Release.of(PLAN, ESTIMATE, refine="project")) == "its standard error is more than a third of it"
    make_page(release, tmp_path / "page.html")
    text, _ = tables_of(tmp_path / "page.html")
    assert "or a rule greys it (count &lt; 300)" in text
    assert "Square: suppressed. Cross: no data, which is not zero." in text


def test_charts_mark_what_is_hidden_and_name_it(release):
    months = counts_by(release, "month")
    assert months.places_columns(1)["word"] == ["no data"] * 3
    assert months.places_columns(0)["word"] == [None, None, "suppressed"]
    drawn = places_chart(months, 0, list(months.places)).to_dict()
    assert "isValid(datum.word)" in str(drawn["layer"])
    marks = str(series_chart(months, 2).to_dict()["layer"])
    assert "datum.status === 'suppressed'" in marks
    assert "datum.status === 'missing'" in marks


def test_without_rules_nothing_speaks_of_them(tmp_path):
    plain = Release.of(PLAN, ESTIMATE, refine="project")
    assert "status" not in series(select(plain).all_kinds.series["month"])
    make_page(plain, tmp_path / "page.html")
    assert '<td class="little">suppressed' not in (tmp_path / "page.html").read_text(encoding="utf-8")
