"""Small files that ask for much are refused before it is allocated or computed: under limits of memory and time."""

from __future__ import annotations

import json
import subprocess
import sys
import textwrap
import zipfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

from old_formats import put_document
from small_worlds import days_and_places, simulated_estimate
from tacit.collection.wire import ReportWriter
from tacit.counts.provenance import Provenance
from tacit.mechanisms.registry import plan_for
from tacit.release import Release, files

MEMORY = 3 << 29  # 1.5 GiB of addresses, of which Python and its libraries take half
SECONDS = 40  # much of it to import libraries on a machine that does other things
HUGE = 1 << 40


def refused_in_little(tmp_path, script: str, *, memory: int = MEMORY) -> str:
    """Run a script under limits; it must end in a TacitError, whose words are returned."""
    program = f"""
    import resource
    import numpy as np, pyarrow.parquet
    from tacit.errors import TacitError
    import tacit.release, tacit.collection.tallying, tacit.forecast.model_files
    resource.setrlimit(resource.RLIMIT_AS, ({memory}, {memory}))
    try:
        {script}
    except TacitError as refused:
        print("REFUSED", refused)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(program)],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    assert ran.stdout.startswith("REFUSED"), (ran.stdout, ran.stderr[-2000:])
    return ran.stdout


def release_with(path: Path, change) -> None:
    """A release of a curator's kind whose document was changed, with the checksum that a forger gives it."""
    plan, estimate = simulated_estimate(np.full((3, 2), 20))
    Release.of(plan, estimate).write(path)
    columns, about = files._from_parquet(path)
    change(about)
    put_document(path, about | {"checksum": files._checksum(about, columns)})


def test_a_rate_of_a_hundred_million_digits_is_not_computed(tmp_path):
    noise = {
        "kind": "tree",
        "hierarchy": {"n_leaves": 3, "levels": []},
        "distributions": [None, {"kind": "discrete laplace", "rate": "1e400000000"}],
        "shape": [3, 2],
        "axis": "time",
        "order": None,
        "known": [],
    }
    release_with(tmp_path / "r.parquet", lambda about: about["noise"].update(unbiased=noise))
    words = refused_in_little(tmp_path, "tacit.release.Release.read('r.parquet')")
    assert "a distribution of noise is damaged" in words


def test_a_release_that_packs_gigabytes_is_not_expanded(tmp_path):
    def grow(about):
        packed = about["noise"]["unbiased"]["reports"]
        about["noise"]["unbiased"] |= {"reports": packed | {"shape": [HUGE // 8]}}

    release_with(tmp_path / "r.parquet", grow)
    assert "GiB" in refused_in_little(tmp_path, "tacit.release.Release.read('r.parquet')")


@pytest.mark.parametrize("n_bins", [3_000_000, 60_000_000])
def test_an_axis_of_more_periods_than_rows_is_not_listed(tmp_path, n_bins):
    def stretch(about):
        about["domain"]["time"] |= {"n_bins": n_bins, "step": "hour", "start": "2018-01-01"}

    release_with(tmp_path / "r.parquet", stretch)
    refused_in_little(tmp_path, "tacit.release.Release.read('r.parquet')")


def test_a_parquet_file_of_equal_rows_is_not_read(tmp_path):
    import pyarrow as pa
    import pyarrow.parquet as pq

    plan, estimate = simulated_estimate(np.full((3, 2), 20))
    Release.of(plan, estimate).write(tmp_path / "whole.parquet")
    metadata = pq.read_schema(tmp_path / "whole.parquet").metadata
    schema = pa.schema([("period", pa.string()), ("place", pa.string()), ("unbiased", pa.float64())], metadata)
    n_rows = 1 << 22
    table = pa.table([pa.nulls(n_rows, field.type) for field in schema], schema=schema)  # quickly written
    with pq.ParquetWriter(tmp_path / "r.parquet", schema, compression="zstd") as writer:
        for _ in range(18):
            writer.write_table(table)
    assert (tmp_path / "r.parquet").stat().st_size < 4 << 20
    assert "rows" in refused_in_little(tmp_path, "tacit.release.Release.read('r.parquet')")


def test_a_tally_of_zeros_beyond_memory_is_not_expanded(tmp_path):
    about = {"format": 1, "kind": "tally"} | Provenance("plan").to_dict()
    arrays = {"header": np.array(json.dumps(about)), "reports": np.zeros(1 << 20, np.int64)}
    # as numpy.savez_compressed writes them, at a level that takes a third of the time
    with zipfile.ZipFile(tmp_path / "a.npz", "w", zipfile.ZIP_DEFLATED, compresslevel=1) as packed:
        for name, array in (*arrays.items(), ("statistics", np.zeros((1 << 20, 130), np.int64))):  # above 1 GiB
            with packed.open(f"{name}.npy", "w", force_zip64=True) as file:
                np.lib.format.write_array(file, array)
    assert (tmp_path / "a.npz").stat().st_size < 6 << 20
    assert "GiB" in refused_in_little(tmp_path, "tacit.counts.tally.Tally.read('a.npz')")


def test_a_plan_of_too_many_cells_is_refused(tmp_path):
    plan = plan_for(days_and_places(30, 40), epsilon=1.0, private=("time", "place"))
    plan.write(tmp_path / "p.toml")
    text = (tmp_path / "p.toml").read_text(encoding="utf-8")
    text = text.replace("n_bins = 30", "n_bins = 2000000").replace('fingerprint = "', 'fingerprint = "" #')
    (tmp_path / "p.toml").write_text(text, encoding="utf-8")
    words = refused_in_little(tmp_path, "tacit.mechanisms.registry.mechanism_of(tacit.plan.Plan.read('p.toml'))")
    assert "at most 67,108,864 cells" in words


def test_one_report_in_a_far_bin_does_not_fill_the_memory(tmp_path):
    domain = days_and_places(3, 571).without_end()
    plan = plan_for(domain, epsilon=1.0, mechanism="unary")
    plan.write(tmp_path / "p.toml")
    width = -(-571 // 8)
    with ReportWriter(tmp_path / "r", Provenance(plan.fingerprint), width) as writer:
        writer.add(np.array([(1 << 24) - 1]), np.zeros((1, width), np.uint8))
    script = "tacit.collection.tallying.tally_reports(['r'], tacit.plan.Plan.read('p.toml'))"
    assert "do not fit its plan" in refused_in_little(tmp_path, script)


@pytest.mark.parametrize("reader", ["tacit.plan.Plan", "tacit.release.Release", "tacit.counts.tally.Tally"])
def test_what_never_ends_is_not_read(tmp_path, reader):
    assert "regular file" in refused_in_little(tmp_path, f"{reader}.read('/dev/zero')")


def test_a_text_that_many_rows_of_a_parquet_file_share_is_not_spelled_out(tmp_path):
    n_rows = 40_000
    shared = pa.DictionaryArray.from_arrays(np.ones(n_rows, np.int32), pa.array(["north", "x" * (1 << 20)]))
    table = pa.table({"Date": ["2025-01-01"] * n_rows, "Branch": shared})
    pyarrow.parquet.write_table(table, tmp_path / "bomb.parquet", store_schema=False)
    assert (tmp_path / "bomb.parquet").stat().st_size < 1 << 21  # 40 GiB if it were
    counted = refused_in_little(
        tmp_path,
        "from tacit import Domain, PlaceAxis, TimeAxis; from tacit.events import *; "
        "domain = Domain(TimeAxis.between('2025-01-01', '2025-01-02'), PlaceAxis.of(['north', 'south'])); "
        "events = open_events('bomb.parquet', domain=domain, "
        "columns=EventColumns(time='Date', place='Branch'), options=ReadOptions(date_format='year-first')); "
        "counts = events.count(); raise TacitError(f'{counts.n_counted} of {counts.n_rows} rows')",
        memory=2 * MEMORY,  # the libraries that read tables are loaded within it
    )
    assert counted == f"REFUSED 0 of {n_rows} rows\n"
