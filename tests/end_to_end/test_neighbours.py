"""What everyone can see of a release is the same for neighbouring inputs: exit code, file names and public text.

Noise is random and the curator's screen is private; neither is compared. All else of what is written is.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from small_worlds import days_and_places
from tacit.domain import Domain
from tacit.mechanisms.central.table import central_plan_for
from tacit.mechanisms.continual.history import History
from tacit.mechanisms.registry import plan_for
from tacit.plan import Plan
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Ledger
from tacit.release import Release

Run = Callable[..., Any]
Row = bytes

HEADER: Row = b"day,place,n,who"
GOOD: list[Row] = [
    b"2018-01-01,place 0,3,ana",
    b"2018-01-02,place 1,1,ben",
    b"2018-01-02,place 0,2,ana",
    b"2018-01-04,place 1,7,cid",
]
ODD: dict[str, Row] = {
    "another good row": b"2018-01-03,place 1,5,dora",
    "a blank line": b"",
    "blank fields": b",,,",
    "no count": b"2018-01-03,place 0,,ana",
    "a word for a count": b"2018-01-03,place 0,many,ana",
    "a negative count": b"2018-01-03,place 0,-4,ana",
    "a fractional count": b"2018-01-03,place 0,2.5,ana",
    "a count that is NaN": b"2018-01-03,place 0,nan,ana",
    "a count in exponents": b"2018-01-03,place 0,1e3,ana",
    "a count of 10^12": b"2018-01-03,place 0,1000000000000,ana",
    "a count above 2^53": b"2018-01-03,place 0,9007199254740993,ana",
    "a count above 2^64": b"2018-01-03,place 0,99999999999999999999999,ana",
    "a count of zero": b"2018-01-03,place 0,0,ana",
    "no place": b"2018-01-03,,1,ana",
    "an unknown place": b"2018-01-03,Atlantis,1,ana",
    "no date": b",place 0,1,ana",
    "a word for a date": b"yesterday,place 0,1,ana",
    "a date off the axis": b"1999-01-01,place 0,1,ana",
    "a date in the far future": b"9999-12-31,place 0,1,ana",
    "a day that does not exist": b"2018-02-30,place 0,1,ana",
    "day first": b"13/01/2018,place 0,1,ana",
    "month first": b"01/13/2018,place 0,1,ana",
    "an instant": b"2018-01-03T10:00:00+02:00,place 0,1,ana",
    "too few fields": b"2018-01-03",
    "too many fields": b"2018-01-03,place 0,1,ana,more,and more",
    "a formula": b"2018-01-03,=1+1,1,ana",
    "no user": b"2018-01-03,place 0,1,",
    "a repeated row": GOOD[0],
    "text that is not UTF-8": b"2018-01-03,pl\xe9ce,1,ana",
    "a zero byte": b"2018-01-03,place\x00 0,1,ana",
    "an opened quote": b'2018-01-03,place 0,1,"x',
    "a closed quote": b'2018-01-03,place 0,1,y"',
}
READ = ("--date-format", "%Y-%m-%d", "--separator", ",", "--encoding", "utf-8")
HEADS = re.compile(r'"ledger_heads": \[[^\]]*\]')
TIMES = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?(Z|[+-]\d\d:\d\d)")


@dataclass
class Seen:
    """What the public can see of a run: how it ended, which files there are, and their text without noise."""

    codes: list[int] = field(default_factory=list)
    files: list[str] = field(default_factory=list)
    text: dict[str, str] = field(default_factory=dict)


class World:
    """A place for runs that begin alike: the same plan, a copy of the same ledger, the same name of the file."""

    def __init__(self, tacit: Run, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._tacit, self._monkeypatch, self._folder = tacit, monkeypatch, folder
        self._numbers: Iterator[int] = count()
        self._ledger = folder / "first.sqlite"
        # a ledger that knows another data set already
        Ledger(self._ledger).spend(data_set="other", release="a plan", cost=Cost.pure(1.0), days={"2018-01-03": b"x"})

    def see(self, rows: list[Row], *commands: tuple[object, ...], plan: Plan | None = None) -> Seen:
        """Run commands on a file of these rows, in a folder of its own."""
        here = self._folder / str(next(self._numbers))
        here.mkdir()
        for path in self._ledger.parent.glob(f"{self._ledger.name}*"):  # with its key
            shutil.copy(path, here / path.name.replace(self._ledger.name, "ledger.sqlite"))
        (here / "events.csv").write_bytes(b"\n".join([HEADER, *rows]) + b"\n")
        if plan is not None:
            plan.write(here / "plan.toml")
        self._monkeypatch.chdir(here)
        self._monkeypatch.setenv("TACIT_LEDGER", str(here / "ledger.sqlite"))
        seen = Seen()
        for command in commands:
            ran = self._tacit(*command)
            seen.codes.append(ran.code)
            self.screen = ran.out + ran.err
        seen.files = sorted(path.name for path in here.iterdir() if not path.name.startswith("ledger."))
        for path in here.iterdir():
            if not path.name.startswith("ledger.") and path.name not in ("events.csv", "plan.toml"):
                seen.text |= {what: HEADS.sub("HEADS", text) for what, text in public_text(path).items()}
        return seen


@pytest.fixture
def world(tacit, monkeypatch, tmp_path):
    return World(tacit, monkeypatch, tmp_path)


def public_text(path: Path) -> dict[str, str]:
    """What a public file says, noise apart."""
    if path.suffix == ".parquet":
        return release_text(path.name, Release.read(path))
    if path.name.endswith(".history.csv"):
        history = History.read(path)
        head = [line for line in path.read_text().splitlines() if not line[:1].isdigit()]
        without_key = [line.replace(history.stream.identity, "IDENTITY") for line in head]
        return {path.name: "\n".join(without_key), f"{path.name} bins": str(history.n_bins)}
    if path.suffix == ".html":
        return {path.name: TIMES.sub("TIME", path.read_text(encoding="utf-8"))}
    return {}  # reports and tallies are all noise but for public numbers; the release made of them is compared


def release_text(name: str, release: Release) -> dict[str, str]:
    from tacit.release import files

    columns = release.columns()
    about = files._about(release, columns)
    del about["created_at"], about["checksum"]
    del about["noise"]["refined"]
    if not release.plan.is_central:
        del about["noise"]["unbiased"]  # of reports it depends on the estimate
    return {
        name: json.dumps(about, sort_keys=True),
        f"{name} statement": release.statement.text(),
        f"{name} columns": ", ".join(columns),
        f"{name} rows": "\n".join(f"{a} {b}" for a, b in zip(columns["period"], columns["place"], strict=True)),
    }


def same(first: Seen, second: Seen) -> None:
    assert set(first.codes) == {0}
    assert first.codes == second.codes
    assert first.files == second.files
    assert first.text == second.text


COLUMNS = ("--time", "day", "--place", "place")
COUNT = ("count", "events.csv", *COLUMNS, *READ, "--statement", "statement.html", "--accept-loss")
DOMAIN = days_and_places(10, 2)
PLANS = {
    "event": central_plan_for(DOMAIN, epsilon=1.0),
    "user-day": central_plan_for(DOMAIN, epsilon=1.0, unit="user-day", most=2),
}
CURATORS: dict[str, tuple[str, tuple[object, ...]]] = {
    "events": ("event", COUNT),
    "tables of counts": ("event", (*COUNT, "--count", "n")),
    "user-days": ("user-day", (*COUNT, "--user", "who")),
    "user-days with counts": ("user-day", (*COUNT, "--user", "who", "--count", "n")),
}
COUNTER = (
    ("counter", "start", "--places", "../places.csv", "--zone", "UTC", "--from", "2018-01-01", "--epsilon", "1"),
    (
        *("counter", "add", "visits.counter", "events.csv", "--date", "2018-01-01", "--to", "2018-01-04"),
        *(*COLUMNS, *READ, "--count", "n"),
    ),
    ("counter", "release", "visits.history.csv"),
)
EDITS = ("added", "removed", "replaced")


@st.composite
def neighbours(draw: st.DrawFn) -> tuple[list[Row], list[Row]]:
    """Two tables, one of which has a record more, a record less or another record in its place."""
    kinds = st.one_of(st.sampled_from(GOOD), st.sampled_from(list(ODD.values())))
    rows = draw(st.lists(kinds, max_size=4))
    edit, number, row = draw(st.sampled_from(EDITS)), draw(st.integers(0, len(rows))), draw(kinds)
    after = number if edit == "added" else number + 1
    return rows, [*rows[:number], *([] if edit == "removed" else [row]), *rows[after:]]


few_runs = settings(max_examples=8, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])


@pytest.mark.parametrize("kind", CURATORS)
@few_runs
@given(tables=neighbours())
def test_a_curators_release_is_the_same_to_the_public_for_neighbouring_tables(world, kind, tables):
    plan, command = CURATORS[kind]
    first, second = (world.see(rows, command, plan=PLANS[plan]) for rows in tables)
    same(first, second)


SEEN_OF_GOOD: list[Seen] = []
"""What the public sees of the table of good rows, once it was made."""


@pytest.mark.parametrize("row", ODD.values(), ids=ODD)
def test_no_single_row_withholds_a_release(world, row):
    plan, command = CURATORS["tables of counts"]
    if not SEEN_OF_GOOD:
        SEEN_OF_GOOD.append(world.see(GOOD, command, plan=PLANS[plan]))
    same(world.see([row], command, plan=PLANS[plan]), SEEN_OF_GOOD[0])


def test_two_quotes_swallow_no_row_between_them(world):
    between = 20 * GOOD
    quoted = [ODD["an opened quote"], *between, ODD["a closed quote"]]
    plan = central_plan_for(DOMAIN, epsilon=20.0, mechanism="flat")
    kind, command = CURATORS["user-days"]
    for rows in ([], quoted[:1], quoted[-1:]):
        same(world.see(quoted, command, plan=PLANS[kind]), world.see([*rows, *between], command, plan=PLANS[kind]))
    world.see(quoted, COUNT, plan=plan)
    made = Release.read("release.parquet")
    counted = [made.answer(first=f"2018-01-{day:02d}", last=f"2018-01-{day:02d}").value for day in (1, 2, 4)]
    assert counted == pytest.approx([20, 40, 20], abs=5)  # noise of scale 1/20 in two places: beyond once in e^50


def test_a_table_without_rows_is_released_as_noise_on_zeros(world):
    commands = (
        (*COUNT, "--count", "n"),
        ("page", "release.parquet"),
        ("release", "release.parquet", "--refine", "smooth", "--out", "smooth.parquet"),
        ("query", "release.parquet"),
    )
    nothing = world.see([], *commands, plan=PLANS["event"])
    something = world.see(GOOD, *commands, plan=PLANS["event"])
    for seen in (nothing, something):
        del seen.text["release.html"]  # it shows the noise; that there is one is what can be compared
    same(nothing, something)


@few_runs
@given(tables=neighbours())
def test_a_counter_is_the_same_to_the_public_for_neighbouring_tables(world, tmp_path, tables):
    (tmp_path / "places.csv").write_text("place\nplace 0\nplace 1\n")
    first, second = (world.see(rows, *COUNTER) for rows in tables)
    same(first, second)


@pytest.mark.parametrize("typed", ["0,0", "1000000000,1000000000", "1000000001,1000000000", f"0,{10**40}"])
def test_numbers_typed_for_a_counter_are_counted_whatever_they_are(world, tmp_path, typed):
    (tmp_path / "places.csv").write_text("place\nplace 0\nplace 1\n")
    start, _, release = COUNTER
    commands = [
        (start, ("counter", "add", "visits.counter", "--date", "2018-01-01", "--counts", numbers), release)
        for numbers in ("3,4", typed)
    ]
    same(*(world.see([], *some) for some in commands))


def test_strict_reading_refuses_before_anything_is_spent_and_only_if_asked_to(world, tmp_path):
    before = Ledger(tmp_path / "first.sqlite").history()
    seen = world.see([ODD["no count"]], (*COUNT, "--count", "n", "--strict"), plan=PLANS["event"])
    assert (seen.codes, seen.text) == ([3], {})
    assert seen.files == ["events.csv", "plan.toml"]
    assert Ledger(Path("ledger.sqlite")).history() == before


RANDOMIZE = (
    ("randomize", "events.csv", *COLUMNS, *READ, "--count", "n", "--accept-loss"),
    ("tally", "events.reports"),
    ("release", "events.tally", "--statement", "statement.html"),
)
WITH_ELSEWHERE = Domain(DOMAIN.time, DOMAIN.place.with_elsewhere())
WRITTEN_PLACES = (b"place 0", b"place 1", b"", b" ", b"Atlantis", b"elsewhere", b"=1+1", b"0", b"place")


@pytest.mark.parametrize("private", [("place",), ("time", "place")], ids=" and ".join)
@few_runs
@given(places=st.lists(st.tuples(st.integers(1, 10), *[st.sampled_from(WRITTEN_PLACES)] * 2), max_size=5))
def test_reports_are_the_same_to_the_public_whatever_places_are_written(world, private, places):
    plan = plan_for(WITH_ELSEWHERE, epsilon=2.0, private=private)
    tables = [[b"2018-01-%02d,%s,2,ana" % (day, row[which]) for day, *row in places] for which in (0, 1)]
    first, second = (world.see(rows, *RANDOMIZE, plan=plan) for rows in tables)
    same(first, second)


def test_without_a_cell_for_it_a_place_outside_is_told_by_its_missing_report(world):
    plan = plan_for(DOMAIN, epsilon=2.0)
    inside, outside = (world.see([row], *RANDOMIZE, plan=plan) for row in (GOOD[0], ODD["an unknown place"]))
    assert inside.codes == outside.codes == [0, 0, 0]
    assert inside.text["release.parquet"] != outside.text["release.parquet"]  # numbers of reports are public


def test_events_without_a_place_are_counted_elsewhere_with_noise_like_any_other(world):
    plan = central_plan_for(WITH_ELSEWHERE, epsilon=20.0, mechanism="flat")
    rows = [ODD["an unknown place"], ODD["no place"], ODD["no date"], *GOOD]
    seen = world.see(rows, COUNT, ("page", "release.parquet"), plan=plan)
    assert seen.codes == [0, 0]
    made = Release.read("release.parquet")
    assert made.domain.place.cells == ("place 0", "place 1", "elsewhere")
    assert made.answer(places=["elsewhere"]).value == pytest.approx(2, abs=6)
    assert "elsewhere" in Path("release.html").read_text(encoding="utf-8")
    without = world.see(GOOD, COUNT, ("page", "release.parquet"), plan=plan)
    for one in (seen, without):
        del one.text["release.html"]
    same(seen, without)
