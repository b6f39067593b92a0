"""Every statement, page, file and screen says what the ledger allows to be promised, in the same words."""

from __future__ import annotations

import html
import itertools
from functools import lru_cache
from pathlib import Path

import pytest

from tacit.counts.tally import Tally
from tacit.mechanisms.continual.history import History
from tacit.privacy.ledger import Ledger
from tacit.release import Release

DAYS = ("--from", "2025-01-01", "--to", "2025-01-03")
WRITTEN = ("--encoding", "utf-8", "--separator", ",", "--date-format", "%Y-%m-%d")
READ = ("--time", "Date", "--place", "Branch", *WRITTEN)
BRANCHES = ("--places", "branches.csv", "--zone", "Europe/Paris")
CURATOR = ("plan", "--trust", "curator", *BRANCHES, *DAYS, "--mechanism", "flat")


@pytest.fixture
def events(tmp_path):
    rows = [("ana", "north"), ("ana", "south"), ("ben", "north"), ("cy", "west")]
    lines = [f"2025-01-0{day},{branch},{who}" for day in (1, 2, 3) for who, branch in rows]
    (tmp_path / "visits.csv").write_text("Date,Branch,Who\n" + "\n".join(lines) + "\n")
    (tmp_path / "branches.csv").write_text("branch\nnorth\nsouth\nwest\n")
    return tmp_path / "visits.csv"


class World:
    """One data set, its ledger, and everything that was published of it."""

    def __init__(self, tacit, folder: Path) -> None:
        self.tacit, self.folder = tacit, folder
        self.published: list[Path] = []
        assert tacit("ledger", "--budget", "visits", "--epsilon", "30", "--delta", "1e-6").code == 0

    def done(self, *words: object) -> str:
        ran = self.tacit(*words)
        assert ran.code == 0, ran.err
        return " ".join((ran.out + ran.err).split())

    def reports(self, number: int) -> str:
        self.done("plan", *BRANCHES, *DAYS, "--epsilon", "2", "--out", f"{number}.toml")
        plan, out = ("--plan", f"{number}.toml"), f"{number}.reports"
        self.done("randomize", "visits.csv", *plan, *READ, "--out", out, "--again")
        self.done("tally", out, *plan, "--out", f"{number}.tally")
        return self._released("release", f"{number}.tally", *plan, number=number)

    def counts(self, number: int) -> str:
        self.done(*CURATOR, "--epsilon", "1", "--out", f"{number}.toml")
        return self._released("count", "visits.csv", "--plan", f"{number}.toml", *READ, number=number)

    def gaussian(self, number: int) -> str:
        self.done(*CURATOR, "--epsilon", "1", "--delta", "1e-6", "--out", f"{number}.toml")
        return self._released("count", "visits.csv", "--plan", f"{number}.toml", *READ, number=number)

    def user_days(self, number: int) -> str:
        self.done(*CURATOR, "--epsilon", "1", "--unit", "user-day", "--most", "1", "--out", f"{number}.toml")
        return self._released("count", "visits.csv", "--plan", f"{number}.toml", *READ, "--user", "Who", number=number)

    def persons(self, number: int) -> str:
        self.done(
            *(*CURATOR, "--epsilon", "1", "--unit", "person", "--most", "2", "--most-per-cell", "1"),
            *("--window", "month", "--out", f"{number}.toml"),
        )
        return self._released("count", "visits.csv", "--plan", f"{number}.toml", *READ, "--user", "Who", number=number)

    def counter(self, number: int, *, unit: tuple[str, ...] = (), user: tuple[str, ...] = ()) -> str:
        started = self.done(
            *("counter", "start", *BRANCHES, *DAYS, "--epsilon", "1", "--data-set", "visits"),
            *("--out", f"{number}.counter", *unit),
        )
        self.done("counter", "add", f"{number}.counter", "visits.csv", "--date", "2025-01-01", *READ, *user)
        history = self.folder / f"{number}.history.csv"
        said = " ".join(history.read_text().split())
        for sentence in History.read(history).stream.guarantee.sentences():
            assert sentence in said
        self.published.append(history)
        return started

    def counter_of_persons(self, number: int) -> str:
        return self.counter(number, unit=("--unit", "person", "--most", "2"), user=("--user", "Who"))

    def _released(self, *words: object, number: int) -> str:
        out, page = self.folder / f"{number}.parquet", self.folder / f"{number}.html"
        said = self.done(*words, "--out", out, "--statement", page)
        self.published.append(out)
        for sentence in Release.read(out).statement.promises:
            assert sentence in said
            assert all(part in _text(page) for part in sentence.split(": ", 1))
        return said


def _text(page: Path) -> str:
    return _shown(page.read_text(encoding="utf-8"))


@lru_cache(maxsize=4)  # a page is read again for every sentence
def _shown(page: str) -> str:
    return " ".join(html.unescape(page).split())


KINDS = ("reports", "counts", "gaussian", "user_days", "counter")
REFUSED = {("gaussian", "reports")} | {(first, "user_days") for first in ("reports", "counts", "gaussian", "counter")}
"""What the ledger refuses: reports state no delta, and after single events no person's day is promised."""


PAIRS = [pair for pair in itertools.product(KINDS, KINDS) if pair not in REFUSED]
PERSONS = [
    ("persons", "persons"),
    ("persons", "user_days"),
    ("user_days", "persons"),
    ("persons", "counts"),
    ("persons", "counter_of_persons"),
]
"""Of persons those in which windows meet, or the promise for a person ends."""


@pytest.mark.parametrize(("first", "second"), [*PAIRS, *PERSONS])
def test_all_that_is_said_of_the_same_entries_is_the_same(tacit, events, tmp_path, first, second):
    world = World(tacit, tmp_path)
    getattr(world, first)(1)
    said = getattr(world, second)(2)
    promised = Ledger(tmp_path / "ledger.sqlite").remaining("visits").guarantee
    delta = 1e-6
    for sentence in promised.sentences(delta):
        assert sentence in said, "the screen of what was made last"
        assert sentence in world.done("ledger", "statement", "--data-set", "visits", "--delta", delta)
    for published in world.published:
        page = tmp_path / f"{published.stem}-again.html"
        told = world.done("ledger", "statement", published, "--out", page)
        for sentence in promised.sentences(delta):
            assert sentence in told, "a statement that is issued again"
            assert all(part in _text(page) for part in sentence.split(": ", 1))
        if published.suffix == ".parquet":
            again = tmp_path / f"{published.stem}-again.parquet"
            world.done("ledger", "statement", published, "--out", again)
            assert Release.read(again).statement.guarantee == promised
            world.done("page", again, "--out", page, "--force")
            assert all(sentence in _text(page) for sentence in promised.sentences(delta))
        else:
            before = published.read_bytes()
            shown = world.done("counter", "show", published)
            assert all(sentence in shown for sentence in promised.sentences(delta)), "what a counter shows"
            release = tmp_path / f"{published.stem}-release.parquet"
            world.done("counter", "release", published, "--out", release, "--force")
            assert Release.read(release).statement.guarantee == promised
            assert published.read_bytes() == before, "a history is never rewritten"


def test_where_no_counter_is_none_is_blamed_for_what_persons_lost(tacit, events, tmp_path):
    """Persons without a window in January, single events in March."""
    world = World(tacit, tmp_path)
    made = ("--epsilon", "1", "--unit", "person", "--most", "2", "--out", "p.toml")
    world.done(*CURATOR, *made)
    world.done("count", "visits.csv", "--plan", "p.toml", *READ, "--user", "Who", "--out", "p.parquet")
    march = ("--from", "2025-03-01", "--to", "2025-03-03", "--mechanism", "flat", "--epsilon", "1", "--out", "e.toml")
    world.done("plan", "--trust", "curator", *BRANCHES, *march)
    world.done("count", "visits.csv", "--plan", "e.toml", *READ, "--out", "e.parquet")
    told = world.done("ledger", "statement", "p.parquet", "--out", "again.html")
    for said in (told, _text(tmp_path / "again.html")):
        assert "Some reports or releases do not bound what a person adds in that time." in said
        assert "counter" not in said.lower()


def test_after_reports_no_release_promises_that_an_event_is_not_there(tacit, events, tmp_path):
    """Daily totals of reports are exact: the old statement promised a factor for presence all the same."""
    world = World(tacit, tmp_path)
    world.reports(1)
    world.counts(2)
    text = Release.read(tmp_path / "2.parquet").statement.text()
    assert "Whether any one event is in the data" not in text
    assert "Neighbouring inputs: one event's place replaced by any other" in text
    assert "epsilon 4" in text  # 2 for the reports, and twice 1


@pytest.mark.parametrize("other", [("--private", "time", *BRANCHES), (*BRANCHES, "--places", "two.csv")])
def test_reports_that_undo_each_other_leave_no_promise_anywhere(tacit, events, tmp_path, other):
    """Some hide the place, others the day; or some count all places, others two of them."""
    (tmp_path / "two.csv").write_text("branch\nnorth\nwest\n")
    world = World(tacit, tmp_path)
    world.reports(1)
    lines = events.read_text().splitlines()
    fewer = [line for number, line in enumerate(lines) if number % 4 != 1]  # every day lacks an event
    (tmp_path / "copy.csv").write_text("\n".join(fewer) + "\n")
    world.done("plan", *other, *DAYS, "--epsilon", "2", "--out", "t.toml")
    world.done("randomize", "copy.csv", "--plan", "t.toml", *READ, "--out", "t.reports", "--accept-loss")
    assert "what some of its reports hide, others show" in world.done("ledger", "same", "visits", "copy").lower()
    world.done("ledger", "statement", "1.parquet", "--out", "again.html")
    for said in (world.counts(2), _text(tmp_path / "2.html"), _text(tmp_path / "again.html")):
        assert "One event replaced by any other" in said
        assert "not protected. What some of its reports hide, others show." in said
        assert "epsilon 6" not in said
    statement = Release.read(tmp_path / "2.parquet").statement
    assert statement.is_void
    assert statement.guarantee.replacement is None
    assert "Nothing of a single event any more." in statement.text()
    world.done("page", "2.parquet", "--out", "page.html")
    assert "is what is left of the protection" in _text(tmp_path / "page.html")


def test_a_new_release_of_old_reports_states_what_the_ledger_knows_by_then(tacit, events, tmp_path):
    world = World(tacit, tmp_path)
    world.reports(1)
    world.counts(2)
    said = world.done("release", "1.tally", "--plan", "1.toml", "--out", "later.parquet")
    by_month = world.done("release", "1.parquet", "--by", "month", "--out", "month.parquet")
    promised = Ledger(tmp_path / "ledger.sqlite").remaining("visits").guarantee
    for sentence in promised.sentences():
        assert sentence in said
        assert sentence in by_month
    assert Release.read(tmp_path / "later.parquet").statement.guarantee == promised
    assert "the ledger knows of more reports or releases" in world.done("page", "1.parquet", "--out", "page.html")


def test_a_statement_is_of_the_data_set_that_was_paid_for(tacit, events, tmp_path):
    world = World(tacit, tmp_path)
    (tmp_path / "tiny.csv").write_text("Date,Branch,Who\n2025-01-01,north,ana\n")
    world.counts(1)
    world.done("count", "tiny.csv", "--plan", "1.toml", *READ, "--out", "tiny.parquet")
    world.done("count", "visits.csv", "--plan", "1.toml", *READ, "--out", "second.parquet")
    ran = tacit("ledger", "statement", "second.parquet", "--data-set", "tiny", "--out", "wrong.parquet")
    assert ran.code == 2
    assert "--data-set must be that of the release, visits" in ran.err
    world.done("ledger", "statement", "second.parquet", "--out", "right.parquet")
    assert Release.read(tmp_path / "right.parquet").statement.total_epsilon == 2.0


def test_a_statement_that_was_issued_again_stays_that_of_its_data_set(tacit, events, tmp_path):
    """It carries the newest head of the ledger too, which may be that of another data set under the same plan."""
    world = World(tacit, tmp_path)
    (tmp_path / "tiny.csv").write_text("Date,Branch,Who\n2025-01-01,north,ana\n")
    world.counts(1)
    world.done("count", "tiny.csv", "--plan", "1.toml", *READ, "--out", "tiny.parquet")
    world.done("ledger", "statement", "1.parquet", "--out", "again.parquet")
    world.counts(2)
    world.done("release", "again.parquet", "--by", "month", "--out", "month.parquet")
    world.done("ledger", "statement", "again.parquet", "--out", "third.parquet")
    for name in ("month.parquet", "third.parquet"):
        assert Release.read(tmp_path / name).statement.total_epsilon == 2.0
    ran = tacit("ledger", "statement", "again.parquet", "--data-set", "tiny", "--out", "wrong.parquet")
    assert "--data-set must be that of the release, visits" in ran.err


def test_reports_of_two_data_sets_state_what_was_spent_on_either(tacit, events, tmp_path):
    world = World(tacit, tmp_path)
    lines = events.read_text().splitlines()
    for name, some in (("north", lines[1:7]), ("south", lines[7:])):
        (tmp_path / f"{name}.csv").write_text("\n".join([lines[0], *some]) + "\n")
    world.done("plan", *BRANCHES, *DAYS, "--epsilon", "2", "--out", "l.toml")
    world.done(*CURATOR, "--epsilon", "1", "--out", "c.toml")
    for name in ("north", "south"):
        world.done("randomize", f"{name}.csv", "--plan", "l.toml", *READ, "--out", f"{name}.reports")
    world.done("tally", "north.reports", "south.reports", "--plan", "l.toml", "--out", "both.tally")
    assert "epsilon 2." in world.done("release", "both.tally", "--plan", "l.toml", "--out", "before.parquet")
    world.done("count", "south.csv", "--plan", "c.toml", *READ, "--out", "south.parquet", "--budget", "9")
    assert "epsilon 4." in world.done("release", "both.tally", "--plan", "l.toml", "--out", "after.parquet")
    for words in ((), ("--data-set", "north")):
        told = world.done("ledger", "statement", "before.parquet", *words, "--out", "again.html", "--force")
        assert "epsilon 4." in told


def test_a_ledger_says_nothing_better_of_what_another_ledger_paid_for(tacit, events, tmp_path, monkeypatch):
    """Reports of two ledgers, one of which had randomized its events twice."""
    world = World(tacit, tmp_path)
    world.done("plan", *BRANCHES, *DAYS, "--epsilon", "2", "--out", "l.toml")
    monkeypatch.setenv("TACIT_LEDGER", str(tmp_path / "theirs.sqlite"))
    for again in ((), ("--again",)):
        world.done("randomize", "visits.csv", "--plan", "l.toml", *READ, "--out", "theirs.reports", "--force", *again)
    monkeypatch.setenv("TACIT_LEDGER", str(tmp_path / "ours.sqlite"))
    world.done("randomize", "visits.csv", "--plan", "l.toml", *READ, "--out", "ours.reports")
    for name in ("ours", "theirs"):
        world.done("tally", f"{name}.reports", "--plan", "l.toml", "--out", f"{name}.tally")
    both = Tally.read(tmp_path / "ours.tally") + Tally.read(tmp_path / "theirs.tally")
    both.write(tmp_path / "both.tally")
    assert "epsilon 4." in world.done("release", "both.tally", "--plan", "l.toml", "--out", "both.parquet")
    assert "epsilon 4." in world.done("ledger", "statement", "both.parquet", "--out", "again.parquet")
    world.done(*CURATOR, "--epsilon", "3", "--out", "c.toml")
    world.done("count", "visits.csv", "--plan", "c.toml", *READ, "--out", "counts.parquet", "--budget", "9")
    assert "epsilon 8." in world.done("release", "again.parquet", "--refine", "raw", "--out", "later.parquet")


def test_replacement_is_promised_for_the_days_covered_alone(tacit, events, tmp_path):
    """Of an event that moves to a dearer day both days' prices are paid: 1 + 5, and not twice 1."""
    world = World(tacit, tmp_path)
    for day, epsilon in (("2025-01-01", 5), ("2025-01-02", 1)):
        days = ("--from", day, "--to", day)
        made = ("--mechanism", "flat", "--epsilon", epsilon, "--out", f"{day}.toml")
        world.done("plan", "--trust", "curator", *BRANCHES, *days, *made)
        said = world.done("count", "visits.csv", "--plan", f"{day}.toml", *READ, "--out", f"{day}.parquet")
        assert f"One event replaced by any other on the days covered: epsilon {2 * epsilon}." in said
    said = world.done("ledger", "statement", "--data-set", "visits")
    assert "One event replaced by any other on the days covered: epsilon 10." in said


def test_the_condition_of_a_source_stays_with_the_sum(tacit, events, tmp_path):
    world = World(tacit, tmp_path)
    world.done("check", "visits.csv", *READ, *BRANCHES, "--confirm")
    description = tmp_path / "visits.csv.source.toml"
    plain = description.read_text()
    world.done(*CURATOR, "--epsilon", "1", "--out", "c.toml")
    description.write_text(plain.replace("fields_span_lines = false", "fields_span_lines = true"))
    first = world.done("count", "visits.csv", "--plan", "c.toml", "--out", "first.parquet")
    description.write_text(plain)
    second = world.done("count", "visits.csv", "--plan", "c.toml", "--out", "second.parquet")
    said = world.done("ledger", "statement", "--data-set", "visits")
    for text in (first, second, said, Release.read(tmp_path / "second.parquet").statement.text()):
        assert "All this holds only as long as no row leaves a quote open" in text
