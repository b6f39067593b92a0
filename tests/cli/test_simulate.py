"""Synthetic events are written with their number, the word synthetic, and what to do next."""

from __future__ import annotations

from tacit.events.datasets import library


def test_visits_come_with_a_table_of_libraries(tacit, tmp_path):
    ran = tacit("simulate", "library", "--out", "visits.csv")
    assert ran.code == 0, ran.err
    n_visits = int(library.visits(library.DEFAULT_SEED).counts.sum())
    assert f"Wrote visits.csv: {n_visits:,} SYNTHETIC visits, 2014-01-02 to 2019-06-30." in ran.out
    assert "Wrote libraries.csv: the table of 5 libraries, for plans." in ran.out
    assert "Next: tacit plan --trust curator --places libraries.csv" in ran.out
    assert (tmp_path / "libraries.csv").exists()
    refused = tacit("simulate", "library", "--out", "visits.csv")
    assert refused.code == 2
    assert "exists already" in refused.err


def test_an_unknown_data_set_is_refused(tacit):
    ran = tacit("simulate", "nowhere")
    assert ran.code == 2
    assert "DATASET must be one of doubs, library; got nowhere." in ran.err
    ran = tacit("simulate", "doubs", "--out", "events.txt")
    assert "the file must end in .csv or .parquet; got events.txt." in ran.err
