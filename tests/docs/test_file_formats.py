"""Files are what the page on file formats says, or the docstring of their module, read here from their bytes."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import struct
import tomllib
import zlib
from pathlib import Path
from types import ModuleType

import numpy as np
import pyarrow.parquet as pq
import pytest

import tacit
from tacit.collection.wire import encode_message
from tacit.counts.provenance import Provenance
from tacit.counts.series import Series
from tacit.forecast import model_files
from tacit.forecast.forecaster import forecaster_named
from tacit.forecast.model_files import SavedModel
from tacit.mechanisms.continual import Counter, CounterFiles
from tacit.mechanisms.continual.files import SavedState
from tacit.mechanisms.local import memo as memo_files
from tacit.mechanisms.local.memo import DeviceMemo
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.privacy.cost import Cost
from tacit.privacy.spend import Spend

FORMATS = (Path(__file__).parents[2] / "docs" / "file-formats.md").read_text(encoding="utf-8")
DAYS = tacit.TimeAxis.between("2018-01-01", "2018-03-31", zone="Europe/Paris")
DOMAIN = tacit.Domain(DAYS, tacit.PlaceAxis.of([f"region {number}" for number in range(10)]))
PLAN = tacit.plan_for(DOMAIN, f=0.5, name="example")
N_EVENTS = 5_000


def names_of(heading: str) -> set[str]:
    """The code spans of a section of the page."""
    (section,) = re.findall(rf"^## {re.escape(heading)}$(.*?)(?=^## |\Z)", FORMATS, re.MULTILINE | re.DOTALL)
    return set(re.findall(r"`([^`]+)`", section))


def names_in(described: ModuleType | type) -> set[str]:
    """The names in the docstring of a module or class."""
    return set(re.findall(r"``([^`]+)``", described.__doc__ or ""))


def canonical(content: object) -> bytes:
    return json.dumps(content, sort_keys=True, ensure_ascii=False).encode()


def without_checksum(content: dict[str, object]) -> dict[str, object]:
    return {name: part for name, part in content.items() if name != "checksum"}


@pytest.fixture
def tally(tmp_path) -> tacit.Tally:
    path = tmp_path / "events.reports"
    with tacit.RandomizingWriter(path, PLAN, randomness=tacit.SecureRandomness()) as reports:
        reports.add(np.arange(N_EVENTS) % 90, np.arange(N_EVENTS) % 10)
    return tacit.tally_reports([path], PLAN)


def test_a_fingerprint_is_the_sha256_described(tmp_path):
    PLAN.write(tmp_path / "plan.toml")
    content = tomllib.loads((tmp_path / "plan.toml").read_text(encoding="utf-8"))
    stated = content.pop("fingerprint")
    del content["name"], content["domain"]["time"]["n_bins"]
    text = json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert hashlib.sha256(text.encode()).hexdigest()[:32] == stated == PLAN.fingerprint


def test_a_curators_plan_has_the_privacy_and_the_whole_numbers_described():
    plan = tacit.central_plan_for(DOMAIN, epsilon=1.0, delta=1e-6, fan_outs=[9, 10], unit="user-day", most=3)
    privacy = plan.to_dict()["privacy"]
    assert (privacy["neighbors"], privacy["most"], privacy["delta"]) == ("add or remove", 3, 1e-6)
    assert dict(plan.thresholds) == {"fan-out 1": 9, "fan-out 2": 10, "share 1": 1, "share 2": 1}


def test_a_report_file_is_a_header_bins_numbers_reports_and_a_checksum(tally, tmp_path):
    data = (tmp_path / "events.reports").read_bytes()
    assert data[:8] == b"TACITRPT"
    assert hashlib.sha256(data[:-32]).digest() == data[-32:]
    (length,) = struct.unpack("<I", data[8:12])
    header = json.loads(data[12 : 12 + length])
    start, n_bins, width = 12 + length, header["n_bins"], header["report_bytes"]
    bins, numbers = np.frombuffer(data, "<i8", 2 * n_bins, offset=start).reshape(2, n_bins)
    assert bins.tolist() == list(range(90))
    assert numbers.tolist() == tally.reports.tolist()
    rows = np.frombuffer(data, np.uint8, header["n_reports"] * width, offset=start + 16 * n_bins)
    bits = np.unpackbits(rows.reshape(-1, width), axis=1, bitorder="little")
    assert bits[:, :10].sum(axis=0).tolist() == tally.statistics.sum(axis=0).tolist()
    assert not bits[:, 10:].any()


def test_a_message_is_a_header_of_72_bytes_bins_numbers_reports_and_a_checksum():
    device = tacit.mechanism_of(PLAN)
    reports = device.randomize(np.arange(20) % 10, randomness=tacit.SecureRandomness())
    message = encode_message(PLAN, np.repeat([3, 7], [12, 8]), reports, Provenance(PLAN.fingerprint))
    magic, version, flags, width, agreed, _, prior, n_bins, n_reports = struct.unpack_from("<8sHHI16s16sdQQ", message)
    assert (magic, version, flags, width, prior) == (b"TACITMSG", 3, 0, reports.shape[1], 0)
    assert (agreed.hex(), n_bins, n_reports) == (PLAN.fingerprint, 2, 20)
    assert np.frombuffer(message, "<i8", 4, offset=72).tolist() == [3, 7, 12, 8]
    rows = np.frombuffer(message[:-8], np.uint8, offset=72 + 16 * n_bins).reshape(n_reports, width)
    assert message[-8:] == hashlib.sha256(message[:-8]).digest()[:8]
    sent = [(3, int.from_bytes(row, "little")) for row in map(bytes, reports[:12])]
    sent += [(7, int.from_bytes(row, "little")) for row in map(bytes, reports[12:])]
    read = [int.from_bytes(row, "little") for row in map(bytes, rows)]
    assert read == [number for _, number in sorted(sent)]


def test_a_tally_has_the_arrays_the_keys_and_the_checksum_described(tally, tmp_path):
    tally.write(tmp_path / "events.tally")
    with np.load(tmp_path / "events.tally", allow_pickle=False) as archive:
        about, statistics, reports = json.loads(str(archive["header"])), archive["statistics"], archive["reports"]
    assert about.keys() <= names_of("Tally")
    assert about["kind"] == "tally"
    assert statistics.shape == (90, 10)
    assert reports.sum() == N_EVENTS
    digest = hashlib.sha256(json.dumps([without_checksum(about), list(statistics.shape)], sort_keys=True).encode())
    digest.update(statistics.astype("<i8").tobytes())
    digest.update(reports.astype("<i8").tobytes())
    assert about["checksum"] == digest.hexdigest()


def test_a_release_has_the_noise_model_and_the_checksum_described_and_gives_the_same_answers(tally, tmp_path):
    release = tacit.Release.of(PLAN, tacit.estimate_tally(tally, PLAN), by="month")
    release.write(tmp_path / "release.parquet")
    table = pq.read_table(tmp_path / "release.parquet")
    about = json.loads(table.schema.metadata[b"tacit"])
    model = about["noise"]["unbiased"]
    packed = model["reports"]
    reports = np.frombuffer(zlib.decompress(base64.b64decode(packed["zlib"])), packed["type"]).reshape(packed["shape"])
    assert (model["kind"], reports.shape, reports.sum()) == ("oracle", (3,), N_EVENTS)
    assert int(model["distribution"]["zeros"], 16) == 2**62
    digest = hashlib.sha256(canonical(without_checksum(about)))
    for name in ("period", "place"):
        digest.update("\n".join(table.column(name).to_pylist()).encode())
    for name in ("unbiased", "standard_error", "lower", "upper", "refined", "reliable", "reports"):
        digest.update(table.column(name).to_numpy().astype("<f8").tobytes())
    for name in ("refined_lower", "refined_upper"):
        digest.update(table.column(name).to_numpy().astype("<f8").tobytes())
    assert digest.hexdigest() == about["checksum"]
    again = tacit.Release.read(tmp_path / "release.parquet")
    assert again.answer(first="2018-01", last="2018-02") == release.answer(first="2018-01", last="2018-02")


@pytest.fixture
def counted(tmp_path) -> np.ndarray:
    """The totals that a counter of three days has published."""
    spend = Spend.simulation(Cost.pure(1.0), seed=1)
    files = CounterFiles(tmp_path / "visits.counter")
    files.create(Counter.start(spend, DOMAIN), spend=spend)
    return files.add(np.arange(30).reshape(3, 10), first=0)


def test_the_records_of_a_history_carry_the_check_described(counted, tmp_path):
    lines = (tmp_path / "visits.history.csv").read_bytes().splitlines(keepends=True)
    n_head = 1 + sum(line.startswith(b"#") for line in lines)
    check = zlib.crc32(b"".join(lines[:n_head]))
    for line, totals in zip(lines[n_head:], counted, strict=True):
        check = zlib.crc32(line[:-9], check)
        assert line[-9:-1] == b"%08x" % check
        assert [int(part) for part in line.split(b",")[2:-1]] == totals.tolist()


@pytest.mark.usefixtures("counted")
def test_a_counters_state_has_the_keys_and_the_checksum_described(tmp_path):
    state = json.loads((tmp_path / "visits.counter").read_text(encoding="utf-8"))
    assert state.keys() <= names_in(SavedState)
    assert hashlib.sha256(canonical(without_checksum(state))).hexdigest() == state["checksum"]
    assert state["position"] == 3
    assert len(bytes.fromhex(state["key"])) == 32


def test_a_model_has_the_format_the_keys_and_the_checksum_described(tmp_path):
    weeks = tacit.Domain(tacit.TimeAxis.between("2018-01-01", "2018-01-28"), tacit.PlaceAxis.of(["north", "south"]))
    series = Series.exact(weeks, np.full((28, 2), 5))
    path = tmp_path / "model.tacit"
    SavedModel(forecaster_named("weekday-mean").fit(series), series, plan="a plan").write(path)
    model = json.loads(path.read_text(encoding="utf-8"))
    assert model.keys() <= names_in(model_files)
    assert model["model"].keys() == {"forecaster", "params", "learned"} <= names_in(model_files)
    assert f"JSON with packed arrays, format {model['format']};" in FORMATS
    assert model["checksum"] == hashlib.sha256(canonical(without_checksum(model))).hexdigest()
    assert SavedModel.read(path).forecaster.predict(1).totals.means.round(3).tolist() == [10.0]


def test_a_memo_has_the_keys_described_and_bits_under_the_number_of_a_cell(tmp_path):
    rappor = LongitudinalRappor.from_epsilons(epsilon_infinity=2.0, epsilon_1=0.5, n_cells=17)
    DeviceMemo.create(rappor, tmp_path / "device.memo").report(3, randomness=tacit.SecureRandomness())
    memo = json.loads((tmp_path / "device.memo").read_text(encoding="utf-8"))
    assert list(memo) == ["format", "kind", "notice", "mechanism", "is_simulation", "permanent"]
    assert memo.keys() <= names_in(memo_files)
    assert list(memo["permanent"]) == ["3"]
    assert len(memo["permanent"]["3"]) == 2 * rappor.report_bytes
