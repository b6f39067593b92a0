"""What is read from files of strangers is bounded before it is computed with."""

from __future__ import annotations

from fractions import Fraction
from pathlib import Path

import pytest

from small_worlds import DOUBS
from tacit._base.reading import MOST_DIGITS, exact_fraction, kind_of_file
from tacit.counts.tally import Tally
from tacit.errors import TacitError
from tacit.events import SourceDescription
from tacit.events.sources import format_of
from tacit.mechanisms.continual.history import History
from tacit.plan import Plan
from tacit.release import Release


@pytest.mark.parametrize("form", ["{}", "1/{}", "{}/7"])
def test_a_fraction_of_more_digits_than_the_limit_is_refused(form):
    longest = "9" * MOST_DIGITS
    assert exact_fraction(form.format(longest)) == Fraction(form.format(longest))
    with pytest.raises(ValueError, match="no fraction"):
        exact_fraction(form.format(longest + "9"))


@pytest.mark.parametrize("text", ["1e400000000", "1.5", "-1", "+1", " 1", "1/2/3", "", "/", "²", "1_000"])
def test_only_plain_digits_are_a_fraction(text):
    with pytest.raises(ValueError, match="no fraction"):
        exact_fraction(text)


READERS = {"a plan": Plan.read, "a tally": Tally.read, "a release": Release.read, "a counter history": History.read}


@pytest.fixture
def files(tacit, tmp_path: Path) -> dict[str, Path]:
    (tmp_path / "events.csv").write_text("day,town\n2025-04-03,Ornans\n")
    (tmp_path / "places.csv").write_text("town\nOrnans\nPontarlier\n")
    domain = (
        "--places",
        "places.csv",
        "--level",
        "town",
        "--zone",
        "UTC",
        "--from",
        "2025-04-01",
        "--to",
        "2025-04-30",
    )
    for words in (
        ("check", *DOUBS, "events.csv", "--time", "day", "--place", "town", *domain, "--confirm"),
        ("plan", *DOUBS, *domain, "--epsilon", "2"),
        ("randomize", "events.csv"),
        ("tally", "events.reports"),
        ("release", "events.tally", "--out", "r.parquet"),
        ("page", "r.parquet", "--out", "page.html"),
        ("counter", "start", *DOUBS, *domain, "--epsilon", "1", "--out", "visits.counter"),
    ):
        ran = tacit(*words)
        assert ran.code == 0, ran.err
    return {
        "a description of a source": tmp_path / "events.csv.source.toml",
        "a plan": tmp_path / "plan.toml",
        "a report file": tmp_path / "events.reports",
        "a tally": tmp_path / "events.tally",
        "a release": tmp_path / "r.parquet",
        "a page": tmp_path / "page.html",
        "a ledger, or another SQLite database": tmp_path / "ledger.sqlite",
        "a counter's state": tmp_path / "visits.counter",
        "a counter history": next(tmp_path.glob("*.history.csv")),
    }


@pytest.mark.slow
def test_every_kind_is_recognized_and_refused_by_the_readers_of_others(files: dict[str, Path]) -> None:
    assert {name: kind_of_file(path) for name, path in files.items()} == {name: name for name in files}
    for kind, path in files.items():
        for wanted, read in READERS.items():
            if kind != wanted:
                with pytest.raises(TacitError, match=f"{path.name} is {kind}, not {wanted}"):
                    read(path)
        if kind != "a description of a source":
            with pytest.raises(TacitError, match=f"{path.name} is {kind}, not a description of a source"):
                SourceDescription.read(path)
        if kind not in ("a release", "a ledger, or another SQLite database"):
            with pytest.raises(TacitError, match=f"{path.name} is {kind}, not a file of events"):
                format_of(path)


def test_what_is_none_of_ours_is_not_named(tmp_path: Path) -> None:
    for number, content in enumerate((b"", b"day,town\n", b"PK\x03\x04", b"PAR1", b'{"kind": "other"}', b"# a note\n")):
        (tmp_path / str(number)).write_bytes(content)
        assert kind_of_file(tmp_path / str(number)) is None
    assert kind_of_file(tmp_path / "none") is None
