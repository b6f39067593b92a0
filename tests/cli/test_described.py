"""Sources are described once, by who knows them; commands that release read them as described, or not at all."""

from __future__ import annotations

import pytest

from small_worlds import DOUBS
from tacit.events import SourceDescription
from tacit.release import Release

TABLE = "day;town;n\n03/04/2025;Ornans;1\n2025-04-05;Besançon;2\n"
COLUMNS = ("--time", "day", "--place", "town")
CHECK = ("check", *DOUBS, "visits.csv", *COLUMNS)
PERIOD = ("--from", "2025-04-01", "--to", "2025-04-30")


@pytest.fixture(autouse=True)
def files(tacit, tmp_path):
    (tmp_path / "visits.csv").write_text(TABLE, encoding="utf-8")
    tacit("plan", *DOUBS, *PERIOD, "--epsilon", 1)
    tacit("plan", *DOUBS, *PERIOD, "--epsilon", 1, "--trust", "curator", "--out", "curator.toml")
    tacit("counter", "start", *DOUBS, *PERIOD, "--epsilon", 1, "--data-set", "other")


RELEASING = (
    ("randomize", "visits.csv"),
    ("count", "visits.csv", "--plan", "curator.toml"),
    ("counter", "add", "visits.counter", "visits.csv", "--date", "2025-04-01", "--to", "2025-04-30"),
)


@pytest.mark.parametrize("words", RELEASING, ids=lambda words: words[0])
def test_text_that_nobody_described_is_refused_with_the_command_before_a_row_is_read(tacit, words, monkeypatch):
    from tacit.events.reader import Reading

    monkeypatch.setattr(Reading, "run", lambda *_: pytest.fail("a row was read"))
    for given, asked in (
        ((), "tacit check visits.csv --time COLUMN --place COLUMN"),
        (COLUMNS, "tacit check visits.csv --time day --place town"),
        ((*COLUMNS, "--date-format", "day-first"), "--time day --place town --date-format day-first"),
    ):
        ran = tacit(*words, *given)
        assert ran.code == 2
        assert "nothing public says how it is written" in ran.err
        assert asked in ran.err


@pytest.mark.parametrize("words", RELEASING, ids=lambda words: words[0])
def test_a_source_is_described_once_and_then_read_by_its_name(tacit, words, tmp_path):
    made = tacit(*CHECK, "--date-format", "day-first", "--confirm")
    assert "Wrote visits.csv.source.toml" in made.out
    assert SourceDescription.read(tmp_path / "visits.csv.source.toml").date_format == "day-first"
    ran = tacit(*words)
    assert ran.code == 0, ran.err
    assert "No row was set aside" in ran.out


@pytest.mark.parametrize("words", RELEASING, ids=lambda words: words[0])
def test_options_that_say_all_need_no_description(tacit, words):
    written = ("--encoding", "utf-8", "--separator", ";", "--date-format", "day-first")
    ran = tacit(*words, *COLUMNS, *written)
    assert ran.code == 0, ran.err


@pytest.mark.parametrize(
    "contradiction",
    [
        ("--time", "n"),
        ("--place", "n"),
        ("--date-format", "month-first"),
        ("--separator", ","),
        ("--encoding", "latin-1"),
        ("--decimal", ","),
        ("--names", "a,b,c"),
    ],
)
def test_options_that_contradict_the_description_are_refused(tacit, contradiction):
    tacit(*CHECK, "--date-format", "day-first", "--confirm")
    for words in (*RELEASING, ("check", "visits.csv")):
        ran = tacit(*words, *contradiction)
        assert ran.code == 2, words
        assert "must be as the description of visits.csv says" in ran.err
    assert tacit("randomize", "visits.csv", *COLUMNS, "--date-format", "day-first").code == 0


def test_nothing_is_written_before_it_is_confirmed(tacit, tmp_path):
    ran = tacit(*CHECK, "--date-format", "day-first")
    assert ran.code == 0
    assert "Nothing was written" in ran.out
    assert "whatever rows the source holds" in ran.out
    assert not (tmp_path / "visits.csv.source.toml").exists()


def test_no_order_of_dates_is_preselected(tacit, tmp_path):
    (tmp_path / "visits.csv").write_text(TABLE + "13/04/2025;Ornans;1\n", encoding="utf-8")
    ran = tacit(*CHECK, "--confirm")
    assert ran.code == 3
    assert "1 can only be day first, 0 only month first, 1 either, 1 begin with the year" in ran.out
    assert "--date-format day-first, --date-format month-first" in ran.err
    assert not (tmp_path / "visits.csv.source.toml").exists()


def test_a_curator_at_a_terminal_is_asked_for_the_order_and_to_confirm(tacit, tmp_path, monkeypatch):
    from tacit.cli import check, console

    answers = iter(["maybe", "day-first"])
    monkeypatch.setattr(console, "is_attended", lambda: True)
    monkeypatch.setattr(check.typer, "prompt", lambda _: next(answers))
    monkeypatch.setattr(check.typer, "confirm", lambda _: False)
    assert "Nothing was written" in tacit(*CHECK, "--date-format", "day-first").out
    monkeypatch.setattr(check.typer, "confirm", lambda _: True)
    assert "Wrote visits.csv.source.toml" in tacit(*CHECK).out
    assert SourceDescription.read(tmp_path / "visits.csv.source.toml").date_format == "day-first"


def test_a_description_is_replaced_only_when_asked_for(tacit, tmp_path):
    tacit(*CHECK, "--date-format", "day-first", "--confirm")
    again = tacit("check", *DOUBS, "visits.csv")
    assert "So says visits.csv.source.toml, which was confirmed before." in again.out
    assert tacit(*CHECK, "--date-format", "month-first", "--confirm").code == 2
    assert tacit(*CHECK, "--date-format", "month-first", "--confirm", "--force").code == 0
    assert SourceDescription.read(tmp_path / "visits.csv.source.toml").date_format == "month-first"


def test_a_description_may_be_kept_elsewhere(tacit, tmp_path):
    made = tacit(*CHECK, "--date-format", "day-first", "--confirm", "--source", "known.toml")
    assert "Wrote known.toml" in made.out
    assert tacit("randomize", "visits.csv").code == 2
    assert tacit("randomize", "visits.csv", "--source", "known.toml").code == 0
    assert tacit("randomize", "visits.csv", "--source", "none.toml", "--out", "b").code == 4


def test_a_file_without_column_names_is_described_with_names(tacit, tmp_path):
    (tmp_path / "visits.csv").write_text(TABLE.split("\n", 1)[1], encoding="utf-8")
    refused = tacit(*CHECK, "--date-format", "day-first")
    assert refused.code == 3
    assert "Ornans" not in refused.err + refused.out
    made = tacit(*CHECK, "--date-format", "day-first", "--names", "day,town,n", "--confirm")
    assert "no line holds their names" in made.out
    assert "2 reports" in tacit("randomize", "visits.csv").out


def test_users_named_by_a_description_count_where_their_days_are_protected(tacit, tmp_path):
    (tmp_path / "visits.csv").write_text("day,town,who\n2025-04-03,Ornans,a\n2025-04-03,Ornans,a\n", encoding="utf-8")
    assert tacit(*CHECK, "--user", "who", "--confirm").code == 0
    curator = (
        "plan",
        *DOUBS,
        *PERIOD,
        "--epsilon",
        1,
        "--trust",
        "curator",
        "--unit",
        "user-day",
        "--out",
        "days.toml",
    )
    assert tacit(*curator).code == 0
    assert "1 event lay beyond the bound" in tacit("count", "visits.csv", "--plan", "days.toml").out
    assert tacit("count", "visits.csv", "--plan", "curator.toml", "--seed", 1, "--out", "b.parquet").code == 0


def test_a_summary_may_look_at_the_file_for_the_curator_alone(tacit):
    assert tacit("summary", *DOUBS, "visits.csv", *COLUMNS).code == 3
    assert tacit("summary", *DOUBS, "visits.csv", *COLUMNS, "--date-format", "day-first").code == 0
    tacit(*CHECK, "--date-format", "day-first", "--confirm")
    assert tacit("summary", *DOUBS, "visits.csv").code == 0


SPANNING = ('day,town,note\n2025-04-03,Ornans,"a\nb"\n2025-04-04,Ornans,c\n', "fields_span_lines = true")


@pytest.mark.parametrize("words", RELEASING, ids=lambda words: words[0])
def test_a_statement_names_that_fields_may_span_lines(tacit, words, tmp_path):
    (tmp_path / "visits.csv").write_text(SPANNING[0], encoding="utf-8")
    tacit(*CHECK, "--confirm")
    about = tmp_path / "visits.csv.source.toml"
    about.write_text(about.read_text(encoding="utf-8").replace("fields_span_lines = false", SPANNING[1]), "utf-8")
    ran = tacit(*words, *(() if words[0] == "counter" else ("--out", "made")))
    if words[0] == "counter":
        assert ran.code == 2
        assert "Nothing was counted" in ran.err
        return
    release = "made"
    if words[0] == "count":
        ran, release = tacit(*words, "--out", "made.parquet"), "made.parquet"
    else:
        assert "2 reports" in ran.out
        tacit("tally", "made", "--out", "made.tally")
        ran, release = tacit("release", "made.tally", "--out", "made.parquet"), "made.parquet"
    assert ran.code == 0, ran.err
    said = Release.read(tmp_path / release).statement.text()
    assert "How events were read: Fields of the source of these events may span lines." in said


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"", "is empty"),
        (b"day,station\n", "holds column names but no rows"),
        (b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", "it is no CSV file"),
    ],
)
def test_a_file_that_no_description_would_help_is_not_told_to_be_described(tacit, tmp_path, content, said):
    (tmp_path / "events.csv").write_bytes(content)
    words = ("--time", "day", "--place", "station", "--places-from-events", "--zone", "Europe/Paris")
    for ran in (tacit("publish", "events.csv", *words, "--yes"), tacit("check", "events.csv")):
        assert ran.code == 3
        assert said in " ".join(ran.err.split())
        assert "tacit check" not in ran.err


@pytest.mark.parametrize("words", [(), ("--time", "day", "--places", "none", "--zone", "Europe/Paris")])
def test_a_separator_that_is_not_known_is_asked_for(tacit, tmp_path, words):
    (tmp_path / "events.csv").write_text("day~station\n2025-01-01~Pier\n2025-01-02~Pier\n", encoding="utf-8")
    ran = tacit("check", "events.csv", *words)
    assert ran.code == 3
    assert "say what parts its columns: --separator CHAR" in " ".join(ran.err.split())
    done = tacit("check", "events.csv", "--separator", "~")
    assert "2 columns: day, station" in done.out
