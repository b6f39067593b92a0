"""What is published carries the head of the ledger that paid, and a ledger that does not hold it is refused."""

from __future__ import annotations

import json
import shutil

import numpy as np
import pytest

from small_worlds import DOUBS, days_and_places, simulated
from tacit.collection.wire import ReportFile
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.errors import FormatError
from tacit.mechanisms.central.table import central_plan_for
from tacit.mechanisms.continual.history import History
from tacit.mechanisms.registry import plan_for
from tacit.privacy.ledger import Ledger
from tacit.release import Release

HEADS = ("0" * 32, "a" * 32, "f" * 32)
WRITTEN = ("--encoding", "utf-8", "--separator", ",", "--date-format", "year-first")
COLUMNS = ("--time", "day", "--place", "town", *WRITTEN)


@pytest.fixture
def events(tmp_path):
    rows = [f"2018-01-0{1 + n % 5},place {n % 3}" for n in range(90)]
    (tmp_path / "events.csv").write_text("\n".join(["day,town", *rows]) + "\n", encoding="utf-8")
    return tmp_path / "events.csv"


@pytest.fixture
def central(tmp_path):
    plan = central_plan_for(days_and_places(5, 3), epsilon=1.0, mechanism="flat")
    plan.write(tmp_path / "plan.toml")
    return plan


def back_up(tmp_path):
    """Copy the ledger with all that belongs to it."""
    folder = tmp_path / "backup"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    for file in tmp_path.glob("ledger.sqlite*"):
        shutil.copy(file, folder)


def restore(tmp_path):
    for file in (tmp_path / "backup").iterdir():
        shutil.copy(file, tmp_path)


class TestLabels:
    def test_heads_of_parts_are_those_of_the_whole(self):
        first, second = Provenance("a", ledger_heads=(HEADS[2],)), Provenance("a", ledger_heads=(HEADS[0], HEADS[2]))
        assert (first + second).ledger_heads == (second + first).ledger_heads == (HEADS[0], HEADS[2])
        assert (first + Provenance("a")).ledger_heads == (HEADS[2],)

    def test_a_label_without_heads_is_written_as_before_there_were_any(self):
        assert "ledger_heads" not in Provenance("a").to_dict()
        label = Provenance("a", ledger_heads=HEADS)
        assert Provenance.from_dict(json.loads(json.dumps(label.to_dict()))) == label

    @pytest.mark.parametrize("heads", ["a" * 32, ["A" * 32], ["a" * 31], [1], {"a" * 32: 1}, None])
    def test_what_is_no_head_is_refused(self, heads):
        with pytest.raises(TypeError):
            Provenance.from_dict(Provenance("a").to_dict() | {"ledger_heads": heads})

    def test_a_simulation_has_none(self):
        _, tally = simulated(np.ones((2, 3), int))
        assert tally.provenance.ledger_heads == ()


class TestReleases:
    @pytest.mark.slow
    def test_a_release_carries_a_head_that_its_ledger_holds(self, tacit, events, central, tmp_path):
        for name in ("one.parquet", "two.parquet"):
            tacit("count", events, *COLUMNS, "--out", name, "--budget", "2")
            (head,) = Release.read(tmp_path / name).unbiased.provenance.ledger_heads
            book = Ledger(tmp_path / "ledger.sqlite")
            assert book.verify([head]) == book.head
            with pytest.raises(FormatError):
                Ledger(tmp_path / "another.sqlite").verify([head])

    def test_a_revision_is_refused_by_a_ledger_older_than_the_former_release(self, tacit, events, central, tmp_path):
        Ledger(tmp_path / "ledger.sqlite").set_budget("events", epsilon=3.0)
        back_up(tmp_path)
        assert tacit("count", events, *COLUMNS, "--out", "one.parquet").code == 0
        restore(tmp_path)
        ran = tacit("count", events, *COLUMNS, "--out", "two.parquet", "--revises", "one.parquet")
        assert ran.code == 4
        assert "it is older than that, or another" in ran.err
        assert not (tmp_path / "two.parquet").exists()
        assert Ledger(tmp_path / "ledger.sqlite").history() == []

    def test_a_revision_goes_on_with_the_ledger_that_paid(self, tacit, events, central, tmp_path):
        assert tacit("count", events, *COLUMNS, "--out", "one.parquet", "--budget", "2").code == 0
        ran = tacit("count", events, *COLUMNS, "--out", "two.parquet", "--revises", "one.parquet")
        assert ran.code == 0, ran.err


def test_reports_their_tally_and_its_release_carry_the_head(tacit, events, tmp_path):
    plan_for(days_and_places(5, 3), f=0.5).write(tmp_path / "plan.toml")
    ran = tacit("randomize", events, *COLUMNS)
    assert ran.code == 0, ran.err
    book = Ledger(tmp_path / "ledger.sqlite")
    heads = ReportFile.open(tmp_path / "events.reports").provenance.ledger_heads
    assert book.verify(heads) == book.head
    assert len(heads) == 1
    assert tacit("tally", "events.reports").code == 0
    (tally,) = tmp_path.glob("*.tally")
    assert Tally.read(tally).provenance.ledger_heads == heads
    assert tacit("release", tally).code == 0
    assert Release.read(tmp_path / "release.parquet").refined.provenance.ledger_heads == heads


class TestCounters:
    @pytest.fixture
    def counter(self, tacit, tmp_path):
        (tmp_path / "branches.csv").write_text("branch\nCentre\nPort\n", encoding="utf-8")
        ran = tacit(
            *("counter", "start", *DOUBS, "--places", "branches.csv", "--level", "branch", "--from", "2025-01-01"),
            *("--epsilon", "1", "--out", "visits.counter"),
        )
        assert ran.code == 0, ran.err
        return lambda day, *numbers: tacit(
            *(
                "counter",
                "add",
                "visits.counter",
                "--date",
                f"2025-01-{day:02}",
                "--counts",
                ",".join(map(str, numbers)),
            )
        )

    def heads(self, tmp_path):
        return json.loads((tmp_path / "visits.counter").read_bytes()).get("ledger_heads")

    def test_state_history_and_releases_carry_the_head(self, counter, tacit, tmp_path):
        book = Ledger(tmp_path / "ledger.sqlite")
        first = History.read(tmp_path / "visits.history.csv").stream.ledger_heads
        assert book.verify(first) == book.head
        assert len(first) == 1
        assert counter(1, 3, 4).code == 0
        later = self.heads(tmp_path)
        assert Ledger(book.path).verify([*first, *later]) == later[0]
        assert tacit("counter", "release", "visits.history.csv").code == 0
        assert Release.read(tmp_path / "release.parquet").unbiased.provenance.ledger_heads == tuple(
            sorted({*first, *later})
        )

    def test_an_older_ledger_is_refused_before_anything_is_counted(self, counter, tmp_path):
        assert counter(1, 3, 4).code == 0
        back_up(tmp_path)
        assert counter(2, 5, 6).code == 0
        before = [(tmp_path / name).read_bytes() for name in ("visits.counter", "visits.history.csv")]
        restore(tmp_path)
        ran = counter(3, 1, 1)
        assert ran.code == 4
        assert "it is older than that, or another" in ran.err
        assert before == [(tmp_path / name).read_bytes() for name in ("visits.counter", "visits.history.csv")]
