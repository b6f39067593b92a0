"""A tally reads and hashes every report file once, alarms included; plans rank once; forecasts build one series."""

from __future__ import annotations

import hashlib
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from small_worlds import DOUBS, simulated, simulated_estimate
from tacit.collection.poisoning import tally_and_watch, watch
from tacit.collection.tallying import tally_reports
from tacit.collection.wire import RandomizingWriter, ReportFile
from tacit.errors import FormatError
from tacit.randomness import SeededRandomness
from tacit.release import Release


@pytest.fixture
def reports(tmp_path, seed):
    """A plan over 20 days and 17 places, and two files of its reports."""
    plan, _ = simulated(np.zeros((20, 17), np.int64))
    rng = np.random.default_rng(seed)
    paths = [tmp_path / "a.reports", tmp_path / "b.reports"]
    for number, path in enumerate(paths):
        with RandomizingWriter(path, plan, randomness=SeededRandomness(seed + number)) as writer:
            writer.add(rng.integers(20, size=5_000), rng.integers(17, size=5_000))
    return plan, paths


class Counted:
    """Counts the bytes that are hashed and those that are read from report files."""

    def __init__(self, monkeypatch):
        self.hashed = self.read = 0
        plain, plain_read = hashlib.sha256, np.fromfile

        def sha256(*content):
            digest = plain(*content)
            counted = self

            class Digest:
                def update(self, part):
                    counted.hashed += memoryview(part).nbytes
                    digest.update(part)

                def digest(self):
                    return digest.digest()

            return Digest()

        def fromfile(file, dtype, count):
            found = plain_read(file, dtype, count)
            self.read += found.nbytes
            return found

        monkeypatch.setattr("tacit.collection.wire.reports.hashlib", SimpleNamespace(sha256=sha256))
        monkeypatch.setattr("tacit.collection.wire.reports.np.fromfile", fromfile)


@pytest.mark.false_failure(0)
def test_a_tally_with_alarms_reads_and_hashes_every_file_once(reports, monkeypatch):
    plan, paths = reports
    counted = Counted(monkeypatch)
    tally_and_watch(paths, plan)
    assert counted.hashed == sum(path.stat().st_size - 32 for path in paths)
    assert counted.read < counted.hashed  # the runs and the reports, not the header


@pytest.mark.false_failure(0)
def test_one_reading_gives_the_tally_and_the_alarms_of_each_file(reports):
    plan, paths = reports
    tally, alarms = tally_and_watch(paths, plan, false_alarm=0.999)
    assert tally == tally_reports(paths, plan)
    assert alarms == [alarm for path in paths for alarm in watch(ReportFile.open(path), plan, false_alarm=0.999)]


@pytest.mark.false_failure(0)
@pytest.mark.parametrize("where", ["head", "runs", "payload", "checksum"])
def test_damage_anywhere_in_any_file_refuses_all_of_them(reports, where):
    plan, paths = reports
    content = bytearray(paths[1].read_bytes())
    length = 12 + int.from_bytes(content[8:12], "little")
    at = {"head": content.index(b'"plan') + 12, "runs": length + 3, "payload": len(content) - 40, "checksum": -1}[where]
    content[at] ^= 1
    paths[1].write_bytes(bytes(content))
    with pytest.raises(FormatError, match=r"b\.reports.*damaged"):
        tally_and_watch(paths, plan)


def test_a_plan_ranks_its_mechanisms_once(tacit, monkeypatch):
    from tacit.mechanisms import registry
    from tacit.mechanisms.planner import oracles

    calls = []

    def counted(*given, **settings):
        calls.append(given)
        return ranked(*given, **settings)

    ranked = registry.oracles_by_variance
    for module in (registry, oracles):
        monkeypatch.setattr(module, "oracles_by_variance", counted)
    assert tacit("plan", *DOUBS, "--from", "2018-01-01", "--to", "2018-01-31", "--epsilon", "2.2").code == 0
    assert len(calls) == 1


@pytest.mark.parametrize("command", ["forecast", "backtest"])
@pytest.mark.slow
def test_a_forecast_builds_its_series_once(tacit, monkeypatch, tmp_path: Path, command):
    from tacit.counts.series import Series

    plan, estimate = simulated_estimate(np.full((30, 3), 50))
    Release.of(plan, estimate, refine="raw").write(tmp_path / "release.parquet")
    calls = []
    made = Series.of

    def counted(*given, **settings):
        calls.append(given)
        return made(*given, **settings)

    monkeypatch.setattr(Series, "of", counted)
    page = ("--page", "ahead.html") if command == "forecast" else ()
    ran = tacit(command, "release.parquet", "--model", "weekday-mean", "--horizon", "2", *page)
    assert ran.code == 0, ran.err
    assert len(calls) == 1
