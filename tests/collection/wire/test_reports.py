"""A report file forgets the order of its input, and a damaged one is refused whole."""

from __future__ import annotations

import hashlib
import json
import struct

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.collection.wire import ReportFile, ReportWriter, reports
from tacit.counts.provenance import Provenance
from tacit.errors import FormatError, SettingError

LABEL = Provenance.of_reports("0123", True, 1.5)


def written(path, bins, rows, *, batches=1):
    with ReportWriter(path, LABEL, rows.shape[1]) as writer:
        for part in np.array_split(np.arange(len(bins)), batches):
            writer.add(np.asarray(bins, np.int64)[part], rows[part])
    return ReportFile.open(path)


def everything(file):
    bins, rows = [], []
    for found, lengths, part in file.batches():
        bins.append(np.repeat(found, lengths))
        rows.append(part)
    return np.concatenate(bins), np.concatenate(rows)


@given(
    st.lists(st.integers(0, 300), min_size=1, max_size=200), st.integers(1, 20), st.integers(1, 4), st.integers(0, 99)
)
def test_reports_come_back_whatever_their_order_and_number_of_batches(tmp_path_factory, bins, width, batches, seed):
    path = tmp_path_factory.mktemp("reports") / "a.reports"
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, 256, (len(bins), width)).astype(np.uint8)
    got_bins, got_rows = everything(written(path, bins, rows, batches=batches))
    assert got_bins.tolist() == sorted(bins)
    expected = sorted((b, r.tobytes()) for b, r in zip(bins, rows, strict=True))
    assert sorted(zip(got_bins.tolist(), (r.tobytes() for r in got_rows), strict=True)) == expected


@given(st.integers(0, 99))
def test_any_order_of_the_input_gives_the_same_bytes(tmp_path_factory, seed):
    """Nothing of the input's order is left, so a file sorted by town tells nothing more than a shuffled one."""
    folder = tmp_path_factory.mktemp("reports")
    rng = np.random.default_rng(seed)
    bins, rows = rng.integers(0, 200, 500), rng.integers(0, 256, (500, 3)).astype(np.uint8)
    shuffled = rng.permutation(500)
    written(folder / "a", bins, rows, batches=3)
    written(folder / "b", bins[shuffled], rows[shuffled], batches=7)
    assert (folder / "a").read_bytes() == (folder / "b").read_bytes()


def test_a_bin_may_span_two_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(reports, "_READ_REPORTS", 4)
    rows = np.arange(30, dtype=np.uint8).reshape(10, 3)
    file = written(tmp_path / "a", [0, 0, 5, 5, 5, 5, 5, 5, 5, 9], rows)
    pieces = [(bins.tolist(), lengths.tolist()) for bins, lengths, _ in file.batches()]
    assert pieces == [([0, 5], [2, 2]), ([5], [4]), ([5, 9], [1, 1])]


def test_the_label_rides_along(tmp_path):
    assert written(tmp_path / "a", [1], np.zeros((1, 3), np.uint8)).provenance == LABEL


def test_no_report_at_all_is_a_file_too(tmp_path):
    file = written(tmp_path / "a", [], np.zeros((0, 3), np.uint8))
    assert file.n_reports == 0
    assert list(file.batches()) == []


def test_an_interrupted_writer_leaves_nothing_behind(tmp_path):
    path = tmp_path / "a.reports"
    path.write_text("an older file")

    def interrupted():
        with ReportWriter(path, LABEL, 3) as writer:
            writer.add(np.zeros(2, np.int64), np.zeros((2, 3), np.uint8))
            raise RuntimeError

    with pytest.raises(RuntimeError):
        interrupted()
    assert path.read_text() == "an older file"
    assert [p.name for p in tmp_path.iterdir()] == ["a.reports"]


def test_reports_of_another_width_are_refused(tmp_path):
    with pytest.raises(SettingError), ReportWriter(tmp_path / "a", LABEL, 3) as writer:
        writer.add(np.zeros(2, np.int64), np.zeros((2, 4), np.uint8))


@pytest.fixture
def whole(tmp_path):
    rng = np.random.default_rng(0)
    written(tmp_path / "a", rng.integers(0, 50, 300), rng.integers(0, 256, (300, 3)).astype(np.uint8))
    return tmp_path / "a"


@pytest.mark.parametrize("keep", [0, 5, 11, 40, 200, 700, -1, -33])
def test_a_cut_file_is_refused(whole, keep):
    whole.write_bytes(whole.read_bytes()[:keep])
    with pytest.raises(FormatError, match="Ask for it again"):
        ReportFile.open(whole)


def test_a_longer_file_is_refused(whole):
    whole.write_bytes(whole.read_bytes() + b"x")
    with pytest.raises(FormatError, match="added to"):
        ReportFile.open(whole)


def test_any_changed_byte_is_noticed(whole):
    content = whole.read_bytes()
    for at in range(0, len(content), 7):
        changed = bytearray(content)
        changed[at] ^= 0x10
        whole.write_bytes(bytes(changed))
        with pytest.raises(FormatError):
            ReportFile.open(whole)


@pytest.mark.parametrize(
    "header",
    [
        b"{}",
        b"not json",
        b"[1, 2]",
        json.dumps({"format": 99}).encode(),
        json.dumps({"format": 1, "n_bins": -1, "n_reports": 0, "report_bytes": 3}).encode(),
        json.dumps({"format": 1, "n_bins": 10**15, "n_reports": 10**15, "report_bytes": 3}).encode(),
    ],
)
def test_a_forged_header_is_refused(tmp_path, header):
    content = b"TACITRPT" + struct.pack("<I", len(header)) + header
    path = tmp_path / "a"
    path.write_bytes(content + hashlib.sha256(content).digest())
    with pytest.raises(FormatError):
        ReportFile.open(path)


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(FormatError, match="no report file"):
        ReportFile.open(tmp_path / "none")
