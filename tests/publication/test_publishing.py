"""One call from events to a folder with everything; stopped, it goes on; run again, it continues."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tacit
from tacit.collection.wire.randomizing_writer import OneFile
from tacit.errors import AlreadyRandomized, BadRows, BudgetExhausted, DataError, FormatError, SettingError
from tacit.plan import Plan
from tacit.privacy.ledger import Ledger
from tacit.privacy.unit import Unit
from tacit.publication import writing
from tacit.publication.agreement import Agreement
from tacit.release import Release, SigningKey

STATIONS = ["Market", "Pier", "2nd at Townsend"]
SPRING = {"first": "2026-01-01", "last": "2026-02-28"}


def trips(n_days=90, per_day=12):
    """Trips that fall on every day and station alike."""
    days = pd.Timestamp("2026-01-01") + pd.to_timedelta(np.repeat(np.arange(n_days), per_day), unit="D")
    return pd.DataFrame(
        {"started": days, "station": np.resize(STATIONS, n_days * per_day), "rider": np.arange(len(days))}
    )


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Publish into a folder of its own, with a ledger of its own and without the seconds that a forecast takes."""
    monkeypatch.setenv("TACIT_LEDGER", str(tmp_path / "ledger.sqlite"))

    def publish(events, **settings):
        usual = {
            "data_set": "bike trips",
            "time": "started",
            "place": "station",
            "places": STATIONS,
            "zone": "America/Los_Angeles",
            "epsilon": 1.0,
            "trust": "curator",
            "folder": tmp_path / "trips",
            "days_ahead": 0,
            **SPRING,
        }
        return tacit.publish(events, **(usual | settings))

    publish.folder, publish.ledger = tmp_path / "trips", tmp_path / "ledger.sqlite"
    return publish


def entries(run):
    return Ledger(run.ledger).history()


@pytest.mark.parametrize("trust", ["curator", "nobody"])
def test_one_call_writes_everything_and_a_later_one_goes_on(run, trust):
    first = run(trips(), trust=trust)
    assert first.release.domain.time.days == ("2026-01-01", "2026-02-28")
    assert {"publication.toml", "release.parquet", "counts.csv", "page.html", "statement.html"} <= {
        path.name for path in run.folder.iterdir()
    }
    assert len(entries(run)) == 1
    assert run(trips(), trust=trust).answer("2026-02").value == first.answer("2026-02").value
    assert len(entries(run)) == 1  # the same again costs nothing
    longer = run(trips(), trust=trust, first=None, last="2026-03-31")
    assert longer.release.domain.time.days == ("2026-01-01", "2026-03-31")
    assert len(entries(run)) == 2
    measured = first.release.unbiased.values
    assert np.array_equal(longer.release.unbiased.values[: len(measured)], measured)
    assert longer.release.statement.total_epsilon == pytest.approx(1.0)
    again = tacit.open(run.folder)
    assert again.folder == run.folder
    assert again.answer("2026-01", "2026-03").value == longer.answer("2026-01", "2026-03").value


def test_reports_that_could_not_be_counted_with_earlier_ones_are_refused_before_they_are_paid(run):
    """Days that were randomized before join no others, whichever came first."""
    run(trips(), trust="nobody")
    paid, files = len(entries(run)), {path.name for path in run.folder.iterdir()}
    with pytest.raises(SettingError, match="Nothing was spent"):
        run(trips(), trust="nobody", first=None, last="2026-03-31", again=True)
    assert (len(entries(run)), {path.name for path in run.folder.iterdir()}) == (paid, files)
    assert run(trips(), trust="nobody", first=None, last="2026-03-31").release.domain.time.days[1] == "2026-03-31"
    elsewhere = {"folder": run.folder.parent / "other", "trust": "nobody"}
    run(trips(), **elsewhere, again=True)
    paid = len(entries(run))
    with pytest.raises(SettingError, match="Nothing was spent"):
        run(trips(120), **elsewhere | {"first": None, "last": "2026-04-20"})
    assert len(entries(run)) == paid


def test_later_days_need_nothing_but_their_end(run, tmp_path):
    run(trips())
    longer = tacit.publish(trips(), data_set="bike trips", folder=run.folder, last="2026-03-15", days_ahead=0)
    assert longer.release.domain.time.days[1] == "2026-03-15"


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_frames_of_every_kind_go_in(run, convert):
    made = run(convert(trips()))
    assert made.release.domain.place.cells == tuple(STATIONS)
    assert made.to_pandas().shape[0] == made.to_polars().height == made.to_arrow().num_rows == 59 * 3


def test_a_parquet_file_goes_in(run, tmp_path):
    trips().to_parquet(tmp_path / "trips.parquet")
    assert run(str(tmp_path / "trips.parquet")).answer("2026-01").value == pytest.approx(31 * 12, abs=60)


def test_text_needs_a_description(run, tmp_path):
    trips().to_csv(tmp_path / "trips.csv", index=False)
    with pytest.raises(SettingError, match="needs a description") as refused:
        run(tmp_path / "trips.csv")
    assert "One beside it, trips.csv.source.toml, would be read" in str(refused.value)
    assert "tacit.events.propose_source" in str(refused.value)
    described = tacit.events.propose_source(
        tmp_path / "trips.csv", columns=tacit.EventColumns("started", "station"), zone="America/Los_Angeles"
    ).description
    assert run(tmp_path / "trips.csv", description=described).answer("2026-01").value > 300


def test_the_description_beside_a_file_is_read_and_may_not_be_contradicted(run, tmp_path):
    trips().to_csv(tmp_path / "trips.csv", index=False)
    tacit.events.propose_source(
        tmp_path / "trips.csv", columns=tacit.EventColumns("started", "station"), zone="America/Los_Angeles"
    ).description.write(tmp_path / "trips.csv.source.toml")
    for name, given in {"time": "rider", "place": "rider", "date_format": "day-first", "zone": "UTC"}.items():
        with pytest.raises(
            SettingError, match=rf"^{name} must be as the description of .*trips.csv says, .* got {name}={given}"
        ):
            run(str(tmp_path / "trips.csv"), **{name: given})
    assert not run.folder.exists()
    made = run(str(tmp_path / "trips.csv"), time=None, place=None, zone=None, user="rider")
    assert made.release.domain.time.zone == "America/Los_Angeles"
    assert made.answer("2026-01").value == pytest.approx(31 * 12, abs=60)
    assert Agreement.read(run.folder).source.user == "rider"  # a column that is not described may be named


def test_a_file_that_is_not_there_is_told_before_all_else(run, tmp_path):
    for name in ("nowhere.csv", "nowhere.parquet"):
        with pytest.raises(DataError, match=f"{name} does not exist"):
            run(tmp_path / name, time=None, zone=None, trust=None)


def test_events_without_places_are_counted_in_all(run):
    visits = pd.DataFrame({"day": pd.date_range("2026-01-01", periods=60), "visits": 100})
    made = run(visits, time="day", place=None, places=None, count="visits")
    assert made.release.domain.place.cells == ("all",)
    assert made.answer("2026-01").value == pytest.approx(3100, abs=60)


def test_another_ledger_is_refused_until_somebody_says_that_it_knows_all(run, tmp_path):
    run(trips())
    other = tmp_path / "other.sqlite"
    before = {path.name: path.read_bytes() for path in run.folder.iterdir()}
    with pytest.raises(SettingError, match=r"which is new, is not the one that paid .* other_ledger=True"):
        run(trips(), first=None, last="2026-03-31", ledger=other)
    assert {path.name: path.read_bytes() for path in run.folder.iterdir()} == before
    assert not other.exists()
    run(trips(), ledger=other)  # nothing is paid: whoever has no ledger may make the pages again
    made = run(trips(), first=None, last="2026-03-31", ledger=other, other_ledger=True)
    assert made.release.domain.time.days == ("2026-01-01", "2026-03-31")
    assert len(Ledger(other).history()) == 1
    with pytest.raises(SettingError, match=r"ledger.sqlite is not the one that paid"):
        run(trips(120), first=None, last="2026-04-30")
    assert Agreement.read(run.folder).ledger == Ledger(other).identity


def test_a_ledger_that_was_moved_is_the_same(run, tmp_path):
    run(trips())
    moved = tmp_path / "elsewhere" / "ledger.sqlite"
    moved.parent.mkdir()
    for path in tmp_path.glob("ledger.sqlite*"):
        path.rename(moved.parent / path.name)
    made = run(trips(), first=None, last="2026-03-31", ledger=moved)
    assert made.release.domain.time.days == ("2026-01-01", "2026-03-31")


def test_days_that_cannot_join_are_not_offered_to_be_randomized_again(run, tmp_path):
    march = {"first": "2026-03-01", "last": "2026-03-31", "trust": "nobody"}
    run(trips(), trust="nobody")
    run(trips(), data_set="a copy", folder=tmp_path / "copy", **march)
    Ledger(run.ledger).declare_same("bike trips", "a copy")
    with pytest.raises(AlreadyRandomized, match="publish these on their own") as refused:
        run(trips(), trust="nobody", first=None, last="2026-03-31")
    assert "accept the sum with again" not in str(refused.value)
    made = run(trips(), folder=tmp_path / "apart", again=True, **march)  # as it says
    assert made.release.statement.total_epsilon == pytest.approx(2.0)


@pytest.mark.slow
def test_a_publication_keeps_its_language_until_another_is_named(run):
    def languages():
        pages = ("page.html", "statement.html")
        return [re.search('<html lang="(..)">', (run.folder / name).read_text(encoding="utf-8"))[1] for name in pages]

    run(trips(), language="fr")
    assert languages() == ["fr", "fr"]
    run(trips(), first=None, last="2026-03-31")
    assert languages() == ["fr", "fr"]
    assert Agreement.read(run.folder).language == "fr"
    run(trips(), first=None, last="2026-03-31", language="en")
    assert languages() == ["en", "en"]
    assert len(entries(run)) == 2


def test_a_publication_keeps_its_title_and_noun_until_others_are_named(run):
    def title():
        return (run.folder / "page.html").read_text("utf-8").partition("<title>")[2].partition("</title>")[0]

    run(trips(), title="Bikes", noun="trip/trips")
    run(trips(), first=None, last="2026-03-31")
    assert "Bikes" in title()
    assert "trips" in (run.folder / "page.html").read_text("utf-8")
    kept = Agreement.read(run.folder)
    assert (kept.title, kept.noun) == ("Bikes", "trip/trips")
    run(trips(), first=None, last="2026-03-31", title="Cycles")
    assert "Cycles" in title()
    assert Agreement.read(run.folder).noun == "trip/trips"


def test_an_unknown_language_is_refused_before_anything_is_paid(run):
    with pytest.raises(SettingError, match="language must be one of en, fr; got language=de"):
        run(trips(), language="de")
    assert not run.folder.exists()
    assert not run.ledger.exists()


@pytest.mark.slow
def test_the_forecast_of_a_french_publication_is_french(run):
    run(trips(), language="fr", days_ahead=7)
    page = (run.folder / "forecast.html").read_text(encoding="utf-8")
    assert "<h1>bike trips\u00a0: les 7 prochains jours</h1>" in page


@pytest.mark.parametrize("stage", ["look", "payment", "write", "finish", "page"])
@pytest.mark.parametrize("trust", ["curator", "nobody"])
def test_stopped_anywhere_it_goes_on_and_pays_once(run, monkeypatch, trust, stage):
    whole, broken = {}, KeyboardInterrupt("stopped")

    def stop(*_, **__):
        raise broken

    paid = "spend" if trust == "curator" else "record_randomization"
    finished = "finish" if trust == "curator" else "finish_randomization"
    where = {
        "payment": (Ledger, paid),
        "write": (Release, "write") if trust == "curator" else (OneFile, "write"),
        "finish": (Ledger, finished),
        "page": (writing, "make_page"),
    }
    with monkeypatch.context() as patched:
        if stage in where:
            target, name = where[stage]
            if isinstance(target, str):
                patched.setattr(f"{target}.{name}", stop)
            else:
                patched.setattr(target, name, stop)
        with pytest.raises(KeyboardInterrupt):
            run(trips(), trust=trust, look=stop if stage == "look" else None)
    assert len(entries(run)) == (0 if stage in ("look", "payment") else 1)
    # what was not paid for left no agreement behind
    assert (run.folder / "publication.toml").exists() == (stage not in ("look", "payment"))
    before = run.folder / ("counts-2026-01-01.parquet" if trust == "curator" else "reports-2026-01-01.reports")
    content = before.read_bytes() if before.exists() else None
    made = run(trips(), trust=trust)
    assert len(entries(run)) == 1
    assert all(entry.is_finished for entry in entries(run))
    if content is not None and trust == "nobody":
        assert before.read_bytes() == content  # the very same reports
    assert made.release.domain.shape == (59, 3)
    assert not whole


def test_what_is_shown_before_payment_tells_rows_price_and_errors(run):
    odd = trips()
    odd.loc[:3, "station"] = "Markett"
    odd.loc[4, "started"] = pd.NaT
    seen = []
    run(odd, look=seen.append)
    (preview,) = seen
    assert (preview.n_rows, preview.bad_rows.n_rows) == (len(odd), 5 + 31 * 12)  # March lies outside
    assert preview.unknown == (("Markett", 4),)
    assert preview.lost == pytest.approx(5 / (59 * 12))
    assert any("epsilon 1" in sentence for sentence in preview.promises)
    assert "Nothing exact" in preview.public
    devices, curator = preview.errors()
    assert (devices.trust, curator.trust) == ("nobody", "curator")
    assert curator.one < devices.one
    assert preview.ledger == run.ledger


def test_what_was_made_of_these_days_before_counts_in_the_price_that_is_shown(run):
    run(trips())
    Ledger(run.ledger).set_budget("bike trips", epsilon=3.0)
    seen = []
    again = run(trips(), folder=run.folder.parent / "again", epsilon=0.5, look=seen.append)
    assert "One event added or removed: epsilon 1.5." in seen[0].promises
    assert again.release.statement.promises == seen[0].promises


def test_periods_without_an_event_at_the_end_are_told(run):
    for trust in ("curator", "nobody"):
        seen = []
        with pytest.raises(KeyboardInterrupt):
            run(trips(), last="2026-04-10", trust=trust, look=lambda one, seen=seen: (seen.append(one), _stop()))
        assert seen[0].n_empty == 10  # the trips end on 31 March


@pytest.mark.parametrize("trust", ["curator", "nobody"])
def test_days_that_were_published_before_are_not_called_empty(run, trust):
    run(trips(), trust=trust)
    seen = []
    run(trips(), last="2026-04-10", trust=trust, look=seen.append)
    assert seen[0].n_empty == 10


def test_whoever_stops_after_paying_is_told_to_go_on(run, monkeypatch):
    monkeypatch.setattr(writing.Folder, "written", lambda *_, **__: _stop())
    with pytest.raises(KeyboardInterrupt) as stopped:
        run(trips())
    assert "Run the same again: it goes on at no further cost." in stopped.value.__notes__[0]


def _stop():
    raise KeyboardInterrupt


def test_a_folder_of_other_things_is_left_alone(run):
    run.folder.mkdir()
    (run.folder / "page.html").write_text("mine")
    with pytest.raises(SettingError, match="holds other files"):
        run(trips())
    assert (run.folder / "page.html").read_text() == "mine"
    assert not entries(run)


def test_nothing_to_open_is_said_so(tmp_path):
    with pytest.raises(FormatError, match=r"there is no publication at .*tacit\.publish"):
        tacit.open(tmp_path)


def test_what_devices_make_public_is_said(run):
    seen = []
    run(trips(), trust="nobody", look=seen.append)
    assert "exactly how many events there were per day" in seen[0].public


def test_rows_that_fall_out_stop_it_before_anything_is_spent(run):
    odd = trips()
    odd.loc[:20, "station"] = "nowhere"
    with pytest.raises(BadRows, match="of the rows would fall out"):
        run(odd)
    assert not entries(run)
    assert not run.folder.exists() or not (run.folder / "publication.toml").exists()
    assert run(odd, accept_loss=True).release.domain.shape == (59, 3)


def test_no_event_at_all_is_not_published_by_mistake(run):
    with pytest.raises(DataError, match="no event lies between"):
        run(trips(), first="2027-01-01", last="2027-02-28")
    assert not entries(run)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"epsilon": 2.0}, "epsilon must be as the publication began, 1.0"),
        ({"trust": "nobody"}, "trust must be as the publication began, curator"),
        ({"place": "other"}, "place must be as the publication began, station"),
        ({"data_set": "walks"}, "data_set must be as the publication began"),
        ({"unit": Unit.person(most=2)}, "unit must be as the publication began, event"),
        ({"unit": "user-day"}, "unit must be as the publication began, event"),
        ({"step": "month"}, "step must be as the publication began, day"),
        ({"places": ["Market"]}, "places must be as the publication began"),
        ({"kinds": ["fire"]}, "kinds must be as the publication began"),
        ({"first": "2026-03-10"}, "first must be as the publication began, 2026-01-01"),
        ({"target": "40"}, "target must be as the publication began"),
        ({"delta": 1e-6}, "delta must be as the publication began"),
        ({"last": "2026-02-10"}, "last must not be before 2026-02-28"),
    ],
)
def test_other_settings_do_not_continue_a_publication(run, settings, words):
    run(trips())
    with pytest.raises(SettingError, match=words):
        run(trips(), **({"last": "2026-03-31", "first": None} | settings))
    assert len(entries(run)) == 1


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"zone": None}, "zone must be"),
        ({"trust": None}, "trust must be curator"),
        ({"trust": "me"}, "trust must be one of"),
        ({"places": None}, "places must be listed"),
        ({"last": None}, "last must be the last day"),
        ({"first": "soon"}, "first must be written as"),
        ({"epsilon": None}, "epsilon must be given"),
        ({"epsilon": 1.0, "target": "40"}, "not both"),
        ({"epsilon": None, "target": "5%"}, "expected_events"),
        ({"time": None}, "time must be the name"),
        ({"step": "month", "last": "2026-02-27"}, "must begin and end a month"),
        ({"trust": "nobody", "unit": Unit.user_day(most=2)}, "only a curator"),
    ],
)
def test_what_is_missing_or_does_not_fit_is_refused_before_anything_is_spent(run, settings, words):
    with pytest.raises(SettingError, match=words):
        run(trips(), **settings)
    assert not entries(run)
    assert not run.folder.exists()


def test_an_error_that_is_wanted_gives_epsilon(run):
    made = run(trips(), epsilon=None, target="10")
    assert 0.05 < made.release.plan.epsilon < 0.5
    assert made.release.unbiased.noise.standard_errors().max() <= 10.1


def test_persons_are_protected_by_their_column(run):
    made = run(trips(), user="rider", unit=Unit.person(most=3, window="month"))
    assert made.release.plan.protected_unit == Unit.person(most=3, window="month")
    assert run(trips(), user="rider", last="2026-03-31", first=None).release.domain.shape[0] == 90


def test_a_spent_budget_is_refused_and_leaves_what_was_published(run):
    run(trips(), budget=1.0)
    with pytest.raises(BudgetExhausted):
        run(trips(), folder=run.folder.parent / "again", data_set="bike trips")
    assert tacit.open(run.folder).release.domain.shape == (59, 3)


def test_a_simulation_needs_no_ledger_and_says_so(run):
    made = run(trips(), seed=5)
    assert made.release.is_simulation
    assert not run.ledger.exists()


def test_a_damaged_agreement_is_refused(run):
    run(trips())
    path = run.folder / "publication.toml"
    path.write_text(path.read_text().replace("tacit_publication = 1", "tacit_publication = 9"))
    with pytest.raises(FormatError, match="newer"):
        run(trips())
    path.write_text("data_set = ")
    with pytest.raises(FormatError, match="damaged"):
        run(trips())


def test_the_plan_of_devices_has_no_end_and_stays_the_same(run):
    run(trips(), trust="nobody")
    plan = Plan.read(run.folder / "plan.toml")
    assert plan.domain.time.n_bins is None
    run(trips(), trust="nobody", first=None, last="2026-03-31")
    assert Plan.read(run.folder / "plan.toml") == plan


@pytest.mark.slow
def test_a_publication_answers_draws_and_forecasts(run):
    made = run(trips(), days_ahead=3)
    assert (run.folder / "forecast.html").exists()
    assert made.answer("2026-02-10").box.time == range(40, 41)
    assert made.answer("2026-01", "2026-02", places="Pier").value == pytest.approx(59 * 4, abs=60)
    ranked = made.top(2, "2026-02")
    assert len(ranked) == 2
    assert ranked[0].answer.value >= ranked[1].answer.value
    assert ranked[0].answer.value == pytest.approx(made.answer("2026-02", places=ranked[0].place).value)
    assert {"place", "period", "estimate", "low", "high"} <= set(made.to_pandas().columns)
    assert made.forecast(3).totals.means.shape == (3,)
    with pytest.raises(SettingError, match=r"place must be one name, or None for all places together; got a list"):
        made.plot(["Pier"])
    for chart in (made.plot(), made.plot("Pier", by="day"), made.map(), made.map("2026-02")):
        assert chart.to_dict()["$schema"].startswith("https://vega.github.io/schema/vega-lite")
    with pytest.raises(SettingError, match="period must be"):
        made.map("1999")
    assert "bike trips, 2026-01-01 to 2026-02-28, 3 places, epsilon 1" in repr(made)
    drawn = made._repr_html_()  # what Jupyter, VS Code and nbconvert show; no script in it, and no network
    assert drawn.startswith(f"<p>{repr(made).split(',')[0]}")
    assert "<svg" in drawn
    assert "<script" not in drawn
    assert "http" not in drawn.replace("http://www.w3.org/", "")


@pytest.mark.parametrize("trust", ["curator", "nobody"])
def test_with_nothing_new_every_file_stays_until_a_setting_of_the_pages_changes(run, trust):
    def written():
        return {path.name: path.stat().st_mtime_ns for path in run.folder.iterdir()}

    began = []
    run(trips(), trust=trust)
    before = written()
    same = run(trips(), trust=trust, begin=began.append)
    assert written() == before
    assert began == ["Estimating counts"]
    assert same.answer("2026-02") == tacit.open(run.folder).answer("2026-02")
    run(trips(), trust=trust, title="Other")
    assert written()["page.html"] > before["page.html"]
    assert "<title>Other" in (run.folder / "page.html").read_text()
    (run.folder / "page.html").unlink()
    run(trips(), trust=trust, title="Other")
    assert (run.folder / "page.html").exists()


def test_what_is_spent_later_is_stated_when_it_is_run_again(run):
    run(trips())
    Ledger(run.ledger).set_budget("bike trips", epsilon=3.0)
    run(trips(), folder=run.folder.parent / "other", epsilon=0.5)
    assert "epsilon 1.5" not in (run.folder / "statement.html").read_text()
    assert run(trips()).release.statement.total_epsilon == pytest.approx(1.5)
    assert "epsilon 1.5" in (run.folder / "statement.html").read_text()
    assert len(entries(run)) == 2


def test_other_events_after_an_interruption_are_told_to_be_others(run, monkeypatch):
    with monkeypatch.context() as patched:
        patched.setattr(Release, "write", lambda *_, **__: _stop())
        with pytest.raises(KeyboardInterrupt):
            run(trips())
    with pytest.raises(BudgetExhausted, match="resumed with the events as they were then, it costs nothing"):
        run(trips(per_day=13))
    assert run(trips()).release.domain.shape == (59, 3)
    assert len(entries(run)) == 1


def test_events_with_reports_are_published_again_only_if_the_sum_is_accepted(run):
    run(trips(), trust="nobody")
    other = {"trust": "nobody", "folder": run.folder.parent / "other"}
    with pytest.raises(AlreadyRandomized, match="again=True"):
        run(trips(), **other)
    assert run(trips(), **other, again=True).release.statement.total_epsilon == pytest.approx(2.0)


def test_the_rows_of_a_later_stretch_of_devices_add_up(run):
    run(trips(), trust="nobody")
    odd, seen = trips(), []
    odd.loc[:400, "station"] = "nowhere"  # in days that are published already
    odd.loc[len(odd) - 1, "station"] = "nowhere"
    run(odd, trust="nobody", first=None, last="2026-03-31", look=seen.append)
    (shown,) = seen
    assert (shown.n_rows, shown.n_events) == (90 * 12, 31 * 12 - 1)
    assert shown.n_rows == shown.n_events + shown.n_left_out + shown.bad_rows.n_rows
    assert shown.lost == pytest.approx(1 / (31 * 12))


def test_an_empty_frame_and_a_file_for_a_folder_are_told_so(run):
    with pytest.raises(DataError, match=r"the events have no row\. Nothing was spent"):
        run(trips().iloc[:0])
    run.folder.write_text("mine")
    with pytest.raises(SettingError, match="folder must be a folder"):
        run(trips())
    assert run.folder.read_text() == "mine"


@pytest.mark.parametrize(
    ("first", "last"),
    [
        (np.datetime64("2026-01-01"), np.datetime64("2026-02-28T00", "ns")),
        (pd.Timestamp("2026-01-01"), pd.Timestamp("2026-02-28")),
        (np.datetime64("2026-01"), np.datetime64("2026-02")),
        ("2026-01", "2026-02"),
    ],
)
def test_dates_may_be_numpys_and_whole_months(run, first, last):
    made = run(trips(), first=first, last=last, seed=1)
    assert made.release.domain.time.days == ("2026-01-01", "2026-02-28")
    february = np.datetime64("2026-02")
    assert made.answer(february) == made.answer("2026-02") == made.answer(np.datetime64("2026-02-01"), "2026-02-28")
    assert made.top(1, february) == made.top(1, "2026-02")
    assert made.map(february).to_dict()


FRAME = pd.DataFrame({"station": STATIONS, "latitude": [37.7, 37.8, 37.9], "longitude": [-122.4, -122.3, -122.2]})


@pytest.mark.parametrize("convert", [pd.DataFrame, pl.from_pandas, pa.Table.from_pandas])
def test_a_frame_of_places_is_a_table_of_places(run, convert):
    made = run(trips(), places=convert(FRAME), seed=1)
    assert made.release.domain.place.cells == tuple(STATIONS)
    assert made.release.domain.place.points["Pier"] == (37.8, -122.3)


@pytest.mark.parametrize(
    "given", [FRAME["station"], FRAME["station"].to_numpy(), pl.Series(STATIONS), pa.array(STATIONS)]
)
def test_a_column_of_places_is_a_list_of_names(run, given):
    assert run(trips(), places=given, seed=1).release.domain.place.cells == tuple(STATIONS)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"station": STATIONS}, "a dict"),
        (3, "places=3"),
        ([], "a list without a name"),
        (["Pier", 2.5], "a list with a float in it"),
        (["Pier", None], "a list with None in it"),
        ([FRAME], "a list with a DataFrame in it"),
    ],
)
def test_what_is_no_list_of_places_is_refused(run, given, said):
    with pytest.raises(SettingError, match=rf"places must be a list of names, a table .* axis; got {said}\. Give one"):
        run(trips(), places=given)
    assert not run.folder.exists()


def test_a_changed_table_of_places_does_not_continue_a_publication(run):
    first = FRAME.assign(town=["Market Street", "Pier", "Townsend"], region=STATIONS).drop(columns="station")
    named = trips().replace({"station": dict(zip(STATIONS, first["town"], strict=True))})
    run(named, places=first)
    later = {"first": None, "last": "2026-03-31"}
    with pytest.raises(SettingError, match="places must be as the publication began, Market, Pier, 2nd at Townsend of"):
        run(named, places=first.assign(town=["Market Street", "Pier", "Somewhere"]), **later)
    with pytest.raises(SettingError, match="places must be as the publication began"):
        run(named, places=STATIONS, **later)
    assert len(entries(run)) == 1
    assert run(named, places=first, **later).release.domain.shape == (90, 3)


def test_what_the_ledger_or_the_rows_refuse_is_known_before_anybody_is_asked(run):
    run(trips(), budget=1.0)
    elsewhere, seen = run.folder.parent / "again", []
    with pytest.raises(BudgetExhausted) as refused:
        run(trips(), folder=elsewhere, look=seen.append)
    assert seen[0].refusal is refused.value
    odd = trips(per_day=13)
    odd.loc[:40, "station"] = "nowhere"
    with pytest.raises(BadRows) as refused:
        run(odd, folder=elsewhere, data_set="walks", look=seen.append)
    assert seen[1].refusal is refused.value
    reports = {"trust": "nobody", "data_set": "walks", "folder": elsewhere}
    run(odd, **reports, accept_loss=True)
    with pytest.raises(AlreadyRandomized) as refused:
        run(odd, **reports | {"folder": run.folder.parent / "third"}, accept_loss=True, look=seen.append)
    assert seen[2].refusal is refused.value
    assert len(entries(run)) == 2
    run(
        trips(120),
        data_set="others",
        folder=run.folder.parent / "free",
        first="2026-04-01",
        last="2026-04-20",
        look=seen.append,
    )
    assert seen[3].refusal is None


def test_reports_of_one_month_say_nothing_of_the_next(run):
    run(trips(), trust="nobody", last="2026-01-31")
    seen = []
    run(trips(), folder=run.folder.parent / "counts", first="2026-02-01", look=seen.append)
    assert "One event added or removed: epsilon 1." in seen[0].promises
    assert not any("not protected. Its reports" in sentence for sentence in seen[0].promises)


def test_errors_that_are_expected_do_not_shrink_with_days_that_have_no_event(run):
    seen = []
    for first in ("2026-01-01", "1970-01-01"):
        with pytest.raises(KeyboardInterrupt):
            run(trips(), first=first, look=lambda one: (seen.append(one), _stop()))
    near, far = (shown.errors()[0] for shown in seen)
    assert (near.trust, far.one) == ("nobody", near.one)
    assert near.belief == pytest.approx(np.e / (np.e + 2))
    assert seen[0].errors()[1].belief == pytest.approx(np.e / (np.e + 1))


def test_devices_take_no_delta(run):
    with pytest.raises(SettingError, match="delta belongs to a curator"):
        run(trips(), trust="nobody", delta=1e-6)
    assert not run.folder.exists()


def test_a_signed_publication_stays_signed(run, tmp_path):
    key, other = (SigningKey.create(tmp_path / f"{name}.key") for name in ("own", "other"))
    run(trips(), sign_with=tmp_path / "own.key")
    assert tacit.open(run.folder, signed_by=key.public).release.signed_by == key.public
    before = entries(run)
    for wrong in (None, other):
        with pytest.raises(SettingError, match="is signed with the key"):
            run(trips(), last="2026-03-31", sign_with=wrong)
    assert entries(run) == before
    run(trips(), last="2026-03-31", sign_with=key)
    again = tacit.open(run.folder, signed_by=tmp_path / "own.pub")
    assert again.release.domain.time.days == ("2026-01-01", "2026-03-31")
