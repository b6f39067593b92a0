"""A release that is made in a process of its own is the one that would be made here."""

from __future__ import annotations

import threading
import time
from dataclasses import replace

import numpy as np
import pytest

from service_worlds import TODAY, survey_of
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.errors import FormatError
from tacit.release import Release
from tacit.service.making import DOWNLOAD, Apart, MakingStopped, Order, make_here

SURVEY = survey_of()


@pytest.fixture
def order():
    label = Provenance.of_reports(SURVEY.form.plan_id, False, 0.0)
    statistics = np.zeros((TODAY, SURVEY.form.mechanism.n_statistics), np.int64)
    statistics[:, 3], reports = 5, np.full(TODAY, 9)
    return Order(SURVEY.plan.to_json(), Tally(label, statistics, reports), None, {DOWNLOAD: "1.parquet"}, title="Ours")


@pytest.mark.slow
def test_a_release_made_apart_is_the_one_made_here(order, tmp_path):
    here, apart = make_here(order), Apart()(order)
    releases = []
    for name, made in (("here", here), ("apart", apart)):
        (tmp_path / name).with_suffix(".parquet").write_bytes(made.file)
        releases.append(Release.read(tmp_path / f"{name}.parquet"))
        assert releases[-1].checksum == made.checksum
    assert releases[0].columns().keys() == releases[1].columns().keys()
    for column, values in releases[0].columns().items():
        np.testing.assert_array_equal(values, releases[1].columns()[column])
    assert b">This release as a file</a>" in apart.page
    assert apart.page == here.page
    (tmp_path / "former.parquet").write_bytes(b"damaged")
    with pytest.raises(FormatError, match="former"):
        Apart()(replace(order, former=tmp_path / "former.parquet"))


@pytest.mark.slow
def test_what_is_being_made_is_stopped_with_the_collector(order):
    apart, ends = Apart(), []

    def make():
        try:
            apart(order)
        except MakingStopped:
            ends.append("stopped")

    thread = threading.Thread(target=make)
    thread.start()
    while apart._process is None:
        time.sleep(0.01)
    apart.stop()
    thread.join(60)
    assert ends == ["stopped"]
    with pytest.raises(MakingStopped):
        apart(order)
