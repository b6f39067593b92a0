"""The demo's pages say that nobody's data is in them."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.events.datasets import doubs


@pytest.mark.slow
def test_every_page_of_the_demo_says_that_its_data_are_synthetic(tacit, tmp_path, monkeypatch):
    all_years = doubs.interventions()
    last = all_years.days >= np.datetime64("2018-01-01")
    year = doubs.DoubsInterventions(
        all_years.seed, all_years.days[last], all_years.ordinary[last], all_years.storms[last]
    )
    monkeypatch.setattr(doubs, "interventions", lambda: year)
    ran = tacit("demo")
    assert ran.code == 0, ran.err
    for name in ("release", "statement", "forecast"):
        page = (tmp_path / "demo" / f"{name}.html").read_text(encoding="utf-8")
        assert "<strong>Synthetic data</strong> Synthetic interventions, made by tacit simulate doubs" in page, name
