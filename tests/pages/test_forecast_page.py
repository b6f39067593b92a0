"""The page of a forecast: what it says is what the forecast says, and it can be read without any script."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import numpy as np
import pytest

from pages.forecasts import HOLIDAYS, doubs_release, forecast_of, release_with_kinds
from tacit.counts.tally import ExactTally
from tacit.errors import PlanMismatch, SettingError
from tacit.forecast.backtest import backtest
from tacit.forecast.baselines import SeasonalNaive, WeekdayMean
from tacit.forecast.forecast import crews_for
from tacit.forecast.past import series_of
from tacit.pages.forecast_page import make_backtest_page, make_forecast_page
from tacit.pages.words import expected


@pytest.fixture(scope="module")
def release():
    return doubs_release()


@pytest.fixture(scope="module")
def week(release):
    return forecast_of(release, 7)


@pytest.fixture(scope="module")
def document(release, week, tmp_path_factory, read):
    path = tmp_path_factory.mktemp("page") / "forecast.html"
    settings = {"holidays": HOLIDAYS, "per_crew": 3, "public": ["public holidays of FR"], "importance": {"rain": 2.0}}
    return read(make_forecast_page(week, release, path, **settings))


def data_of(document):
    return json.loads(next(e for e in document.all("script") if e.attributes.get("id") == "data").raw())


def by_id(document, id):
    return next(e for e in document.walk() if e.attributes.get("id") == id)


@pytest.mark.slow
def test_the_first_number_is_tomorrow_s_total(document, week):
    first = document.all("dl")[0].all("dt")[0].text
    assert first == f"{round(week.totals.means[0]):,} events expected on Tuesday 1 January 2019"
    low, high = (limit[0] for limit in week.totals.intervals(0.8))
    assert f"4 times in 5 between {low:,.0f} and {high:,.0f}".lower() in document.all("dl")[0].all("dd")[0].text.lower()


def test_crews_stand_in_the_table_without_any_script(document, week):
    rows = by_id(document, "crews").all("tr")
    needed = crews_for(week.counts, quantile=0.9, per_crew=3)
    assert [cell.text for cell in rows[1].all("td")] == [f"{n:,}" for n in needed[:, 0]]
    together = [cell.text for cell in by_id(document, "crews-shared").all("td")]
    assert together == [f"{n:,}" for n in crews_for(week.totals, quantile=0.9, per_crew=3)]
    assert [cell.text for cell in by_id(document, "crews-sum").all("td")] == [f"{n:,}" for n in needed.sum(axis=1)]
    assert rows[0].all("th")[1].text == "Tue 1 Jan"


def test_in_french_the_headline_agrees_with_a_noun_of_either_gender(release, week, tmp_path, read):
    for noun in ("sortie/sorties", "appel/appels"):
        page = make_forecast_page(week, release, tmp_path / "page.html", noun=noun, language="fr")
        many = noun.partition("/")[2]
        assert re.search(rf"^\d+ {many} à prévoir le mardi ", read(page).all("dl")[0].all("dt")[0].text)


def test_a_number_on_the_map_stands_in_the_shade_that_the_legend_gives_it(release, week, tmp_path, read):
    sizes = np.array(
        [0.4, 0.98, 1.96, 2.97, 4.94, 4.98, 6.7, 6.97, 9.94, 9.96, 14.6, 19.7, 30.0, 40.0, 49.6, 60.0, 70.0]
    )
    counts = replace(week.counts, means=np.tile(sizes, (7, 1)))
    made = make_forecast_page(replace(week, counts=counts), release, tmp_path / "page.html")
    maps = data_of(read(made))["views"][0]["maps"]
    day, limits = maps["periods"][1], np.array(maps["limits"]["day"])
    said = np.array([float(expected(value)) for value in sizes])
    assert (np.array(day["shade"]) - maps["first_shades"]["day"]).tolist() == [np.sum(limits <= n) for n in said]
    assert any(value < limit <= n for limit in limits for value, n in zip(sizes, said, strict=True))


def test_the_page_says_what_it_was_made_of_and_that_it_costs_nothing(document):
    text = by_id(document, "made").text
    assert "No raw data was used" in text
    assert "the release and public holidays of FR" in text
    assert "costs no privacy budget" in text
    assert "Weekday mean: the mean of the same weekday" in text
    assert "rain" in text


def test_a_simulation_says_so(document):
    assert "Simulation" in document.all("header")[0].text
    assert any("SIMULATION" in e.text for e in document.walk() if "stamp" in e.classes)


def test_holidays_stand_out(document):
    assert "Tuesday 1 January 2019 Public holiday: New Year's Day." in by_id(document, "standing-out").text


def test_the_script_s_numbers_are_the_forecast_s(document, week):
    [data] = data_of(document)["views"]
    assert data["maps"]["periods"][1]["expected"] == pytest.approx(week.counts.means[0].round(4).tolist())
    assert data["maps"]["periods"][0]["expected"] == pytest.approx(week.sums.means.round(4).tolist())
    assert data["fan"]["upper0"][0] == week.totals.intervals(0.95)[1].tolist()
    assert data["fan"]["lower1"][1] == week.counts.intervals(0.8)[0][:, 0].tolist()
    assert data["crews"]["0.9"][1] == week.counts.quantiles(0.9)[:, 0].tolist()
    assert len(data["past"]["start"]) == 42


def test_scripts_are_named_by_their_digests_and_nothing_is_fetched(document):
    policy = next(e for e in document.all("meta") if e.attributes.get("http-equiv")).attributes["content"]
    assert policy.count("sha256-") == 3
    assert "default-src 'none'" in policy
    assert not re.search(r"(src|href)=\"https?:", document.raw())


def test_the_table_to_save_has_everything(document, week):
    import base64

    link = next(e for e in document.all("a") if e.attributes.get("download") == "forecast.csv")
    text = base64.b64decode(link.attributes["href"].split(",")[1]).decode("utf-8-sig")
    rows = text.splitlines()
    assert rows[0] == "period,place,expected,lower_80,upper_80,lower_95,upper_95,at_most_90,model,label"
    assert len(rows) == 1 + 7 * 18
    assert "SIMULATION" in text


def test_a_table_that_is_too_large_is_left_out_and_no_command_is_named_to_readers(
    release, week, tmp_path, read, monkeypatch
):
    monkeypatch.setattr("tacit.pages.forecast_sections.MOST_CELLS", 1)
    document = read(make_forecast_page(week, release, tmp_path / "page.html"))
    said = by_id(document, "numbers").text
    assert "Whoever made the page can write it to a file." in said
    assert "tacit forecast" not in said
    assert not [e for e in document.all("a") if e.attributes.get("download") == "forecast.csv"]


@pytest.mark.parametrize("horizon", [1, 30])
def test_other_horizons_make_pages(release, tmp_path, read, horizon):
    document = read(make_forecast_page(forecast_of(release, horizon), release, tmp_path / "page.html", per_crew=1.0))
    n_options = len([e for e in document.all("option") if e.parent.attributes["id"] == "period"])
    assert n_options == (0 if horizon == 1 else horizon + 1)
    assert len(by_id(document, "crews").all("tr")[0].all("th")) == 1 + min(horizon, 14)


def test_a_forecast_of_another_release_is_refused(release, tmp_path):
    with pytest.raises(PlanMismatch, match="another release"):
        make_forecast_page(forecast_of(doubs_release(100), 2), release, tmp_path / "page.html")


def test_levels_must_be_two(release, week, tmp_path):
    with pytest.raises(SettingError, match="levels must be two"):
        make_forecast_page(week, release, tmp_path / "page.html", levels=(0.9, 0.5))


@pytest.mark.parametrize("is_laboratory", [False, True])
def test_a_backtest_s_page_ranks_models_and_marks_the_laboratory(release, tmp_path, read, is_laboratory):
    series = series_of(release)
    truth = ExactTally(np.zeros(series.values.shape, np.int64)) if is_laboratory else None
    board = backtest([WeekdayMean(), SeasonalNaive()], series, origins=4, horizon=7, truth=truth)
    document = read(make_backtest_page(board, release, tmp_path / "page.html"))
    assert ("LABORATORY" in document.text) == is_laboratory
    rows = by_id(document, "leaderboard").all("tr")
    assert [row.all("th")[0].text for row in rows[1:]] == [score.name for score in board.scores]
    assert ("known noise" in document.text) != is_laboratory


@pytest.mark.parametrize("private", [("place",), ("kind",), ("place", "kind")])
def test_every_number_of_a_choice_of_kind_is_the_forecast_s(tmp_path, read, private):
    release = release_with_kinds(private)
    made = forecast_of(release, 3)
    document = read(make_forecast_page(made, release, tmp_path / "page.html", per_crew=1.0))
    views = data_of(document)["views"]
    refined = release.refined.values.reshape(120, 3, 3)
    members = {"": [0, 1, 2], "danger": [0, 1], "help": [2], "fire": [0], "flood": [1], "fall": [2]}
    assert [view["name"] for view in views] == list(members)
    for view, (_, name, part) in zip(views, made.by_kinds(), strict=True):
        assert view["maps"]["periods"][1]["expected"] == pytest.approx(part.counts.means[0].round(4).tolist())
        assert view["maps"]["periods"][0]["expected"] == pytest.approx(part.sums.means.round(4).tolist())
        assert view["fan"]["upper0"][0] == part.totals.intervals(0.95)[1].tolist()
        assert view["fan"]["lower1"][2] == part.counts.intervals(0.8)[0][:, 1].tolist()
        assert view["crews"]["0.9"][0] == part.totals.quantiles(0.9).tolist()
        own = refined[-42:, :, members[name]].sum(axis=2)
        assert view["past"]["count"][1] == pytest.approx(own[:, 0], abs=0.051 * len(members[name]))
        assert view["past"]["count"][0] == pytest.approx(own.sum(axis=1), abs=0.5)
        assert view["headline"][0]["value"] in (f"{part.totals.means[0]:.0f}", f"{part.totals.means[0]:.1f}")


def test_a_page_with_kinds_has_them_to_choose_from_and_speaks_of_both(tmp_path, read):
    release = release_with_kinds()
    made = forecast_of(release, 3)
    document = read(make_forecast_page(made, release, tmp_path / "page.html", per_crew=1.0))
    choices = [e for e in document.all("select") if "kind-choice" in e.classes]
    assert len(choices) == 5
    words = ["All kinds", "danger", "help", "fire", "flood", "fall"]
    assert all([option.text for option in choice.all("option")] == words for choice in choices)
    rows = by_id(document, "what").all("tr")[1:]
    assert [row.all("th")[0].text for row in rows] == ["flood", "fire", "fall"]  # the largest first
    text = document.text
    assert "All places and kinds together." in text
    assert "per place and kind" in text
    assert "3 places, 3 kinds" in text
    board = backtest([WeekdayMean()], series_of(release), origins=2, horizon=3)
    tested = read(make_backtest_page(board, release, tmp_path / "backtest.html")).text
    assert "Error per place, kind and day" in tested
    assert "every place and kind;" in tested


def test_a_page_of_many_kinds_has_the_largest(tmp_path, read, monkeypatch):
    monkeypatch.setattr("tacit.pages.forecast_sections.MOST_KINDS", 2)
    release = release_with_kinds()
    document = read(make_forecast_page(forecast_of(release, 2), release, tmp_path / "page.html"))
    assert [view["name"] for view in data_of(document)["views"]] == ["", "danger", "help", "fire", "flood"]
    assert "the 2 kinds with the largest expected numbers, of 3" in by_id(document, "what").text


def test_crews_stand_on_the_page_only_where_they_are_asked_for_and_words_follow_the_noun(tmp_path, read):
    release = release_with_kinds()
    made = forecast_of(release, 2)
    document = read(make_forecast_page(made, release, tmp_path / "page.html", noun="trip/trips"))
    assert "crew" not in document.text.lower()
    assert "events" not in document.text.lower().partition("how it was made")[0]
    assert "trips expected on" in document.all("dl")[0].all("dt")[0].text
    assert data_of(document)["events"] == "trips"
    asked = read(make_forecast_page(made, release, tmp_path / "crews.html", noun="trip/trips", per_crew=2.0))
    assert "how many trips one crew can handle" in asked.text
    assert "Trips one crew can handle" in asked.text
