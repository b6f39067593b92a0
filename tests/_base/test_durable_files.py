"""Files are on the disk, under their names, before anything is done that relies on them."""

from __future__ import annotations

import contextlib
import os
import sqlite3
import stat

import pytest

from lossy_disk import LossyDisk
from small_worlds import DOUBS, days_and_places
from tacit._base import files as _files
from tacit._base.files import write_new, write_whole, written_whole
from tacit.mechanisms.central.table import central_plan_for
from tacit.release import Release

OLD, NEW = b"as it was" * 100, b"as it is now" * 1000


@pytest.fixture
def folder(tmp_path):
    made = tmp_path / "folder"
    made.mkdir()
    return made


@pytest.mark.parametrize("keeps_names", [False, True])
def test_a_power_failure_leaves_the_old_file_or_the_new_one(folder, monkeypatch, keeps_names):
    path = folder / "release.csv"
    path.write_bytes(OLD)
    disk = LossyDisk(folder)
    seen = []

    def look():
        seen.append(disk.after_power_failure(keeps_names=keeps_names)["release.csv"])

    with disk.watched(monkeypatch, look):
        write_whole(path, NEW)
    assert set(seen) == {OLD, NEW}
    assert seen[-1] == NEW


@pytest.mark.parametrize("keeps_names", [False, True])
def test_a_new_file_is_there_whole_or_not_at_all(folder, monkeypatch, keeps_names):
    disk = LossyDisk(folder)
    seen = []

    def look():
        seen.append(disk.after_power_failure(keeps_names=keeps_names).get("ledger.key"))

    with disk.watched(monkeypatch, look):
        assert write_new(folder / "ledger.key", NEW)
    assert set(seen) == {None, NEW}
    assert seen[-1] == NEW


def test_a_name_that_is_taken_stays_as_it_is(folder):
    path = folder / "ledger.key"
    path.write_bytes(OLD)
    assert not write_new(path, NEW)
    assert path.read_bytes() == OLD
    assert os.listdir(folder) == ["ledger.key"]


def test_what_is_private_is_never_readable_to_others(folder, monkeypatch):
    disk = LossyDisk(folder)
    modes = set()
    with disk.watched(
        monkeypatch, lambda: modes.update(stat.S_IMODE(file.stat().st_mode) for file in folder.iterdir())
    ):
        write_whole(folder / "state", NEW, is_private=True)
        write_new(folder / "key", NEW, is_private=True)
    assert modes == {0o600}


def test_names_of_unfinished_files_cannot_be_foreseen(folder):
    names = set()
    for _ in range(20):
        with written_whole(folder / "release.csv"):
            names.update(file.name for file in folder.iterdir() if file.name.endswith(".part"))
    assert len(names) == 20


def test_a_link_laid_in_the_way_is_not_followed(folder, monkeypatch):
    """A name that could be foreseen would be refused, not written through."""
    victim = folder / "victim"
    victim.write_bytes(OLD)
    monkeypatch.setattr(os, "urandom", bytes)
    (folder / f".release.csv.{bytes(8).hex()}.part").symlink_to(victim)
    with pytest.raises(FileExistsError):
        write_whole(folder / "release.csv", NEW)
    assert victim.read_bytes() == OLD


def test_what_a_killed_process_left_is_swept_and_what_another_writes_is_not(folder):
    left = folder / f".release.csv.{'a' * 16}.part"
    left.write_bytes(NEW)
    with written_whole(folder / "release.csv") as file:
        assert not left.exists()
        file.write(OLD)
        write_whole(folder / "release.csv", NEW)
        assert (folder / "release.csv").read_bytes() == NEW
    assert (folder / "release.csv").read_bytes() == OLD
    assert os.listdir(folder) == ["release.csv"]


def test_an_interruption_leaves_the_old_file_and_nothing_else(folder):
    (folder / "release.csv").write_bytes(OLD)

    def interrupted():
        with written_whole(folder / "release.csv") as file:
            file.write(NEW)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert os.listdir(folder) == ["release.csv"]
    assert (folder / "release.csv").read_bytes() == OLD


def test_a_folder_that_cannot_be_synced_is_an_error_and_one_that_need_not_be_is_none(folder, monkeypatch):
    really = os.fsync
    for number, is_refused in ((5, True), (22, False)):  # EIO, EINVAL

        def fails(descriptor, number=number):
            if stat.S_ISDIR(os.fstat(descriptor).st_mode):
                raise OSError(number, "no")
            really(descriptor)

        monkeypatch.setattr(_files.os, "fsync", fails)
        if is_refused:
            with pytest.raises(OSError, match="no"):
                write_whole(folder / "a", NEW)
        else:
            write_whole(folder / "a", NEW)


def is_wiped(ledger) -> bool:
    """Whether there is a spend without its key; nothing is known while somebody writes."""
    try:
        with contextlib.closing(sqlite3.connect(f"file:{ledger}?mode=ro", uri=True, timeout=0)) as connection:
            keyless = "SELECT count(*) FROM spend LEFT JOIN spend_key ON spend = id WHERE key IS NULL"
            return connection.execute(keyless).fetchone()[0] > 0
    except sqlite3.OperationalError:
        return False


def test_the_key_of_a_release_is_wiped_only_when_the_release_is_on_the_disk(tacit, tmp_path, monkeypatch):
    domain = days_and_places(5, 3)
    central_plan_for(domain, epsilon=1.0, mechanism="flat").write(tmp_path / "plan.toml")
    rows = [f"2018-01-0{1 + n % 5},place {n % 3}" for n in range(90)]
    (tmp_path / "events.csv").write_text("\n".join(["day,town", *rows]) + "\n", encoding="utf-8")
    monkeypatch.setenv("TACIT_LEDGER", str(tmp_path / "books" / "ledger.sqlite"))
    disk = LossyDisk(tmp_path)
    at_wiping = []

    def look():
        book = tmp_path / "books" / "ledger.sqlite"
        if is_wiped(book):
            at_wiping.append([disk.after_power_failure(keeps_names=keeps) for keeps in (False, True)])

    with disk.watched(monkeypatch, look):
        written = ("--encoding", "utf-8", "--separator", ",", "--date-format", "year-first")
        ran = tacit("count", "events.csv", "--time", "day", "--place", "town", *written)
    assert ran.code == 0, ran.err
    assert at_wiping
    whole = (tmp_path / "release.parquet").read_bytes()
    for left in (one for both in at_wiping for one in both):
        assert left.get("release.parquet") == whole
    assert Release.read(tmp_path / "release.parquet").domain == domain


def test_the_key_of_a_counter_is_wiped_only_when_its_state_is_on_the_disk(tacit, tmp_path, monkeypatch):
    (tmp_path / "branches.csv").write_text("branch\nCentre\nPort\n", encoding="utf-8")
    monkeypatch.setenv("TACIT_LEDGER", str(tmp_path / "books" / "ledger.sqlite"))
    disk = LossyDisk(tmp_path)
    at_wiping = []

    def look():
        book = tmp_path / "books" / "ledger.sqlite"
        if is_wiped(book):
            at_wiping.extend(disk.after_power_failure(keeps_names=keeps) for keeps in (False, True))

    with disk.watched(monkeypatch, look):
        ran = tacit(
            *("counter", "start", *DOUBS, "--places", "branches.csv", "--level", "branch", "--from", "2025-01-01"),
            *("--epsilon", "1", "--out", "visits.counter"),
        )
    assert ran.code == 0, ran.err
    assert at_wiping
    whole = (tmp_path / "visits.counter").read_bytes()
    assert all(left.get("visits.counter") == whole for left in at_wiping)
    assert at_wiping[-1]["visits.history.csv"] == (tmp_path / "visits.history.csv").read_bytes()
