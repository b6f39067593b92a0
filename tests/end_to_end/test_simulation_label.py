"""The label *simulation* rides on everything made with a seed: through adding, files and every step."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from small_worlds import days_and_places
from tacit.collection.tallying import estimate_tally, tally_reports
from tacit.collection.wire import ReportFile, ReportWriter
from tacit.counts.provenance import Provenance
from tacit.counts.query import answer
from tacit.counts.tally import Tally
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.postprocess import clip, clip_and_rescale
from tacit.randomness import SecureRandomness, SeededRandomness
from tacit.release import Release

PLAN = plan_for(days_and_places(62, 3), f=0.5)
MECHANISM = mechanism_of(PLAN)

STEPS = {
    "clip": lambda e: clip(e),
    "clip and rescale": lambda e: clip_and_rescale(e),
    "month": lambda e: e.coarsen(time="month") if e.domain.time.step == "day" else e,
    "year": lambda e: e.coarsen(time="year"),
}


def reports_from(source, path, day) -> ReportFile:
    """Four reports; each file has one on a day of its own, since two equal files are not tallied together."""
    with ReportWriter(path, Provenance(PLAN.fingerprint, source.is_simulation), MECHANISM.report_bytes) as writer:
        cells = np.array([0, 1, 2, 2])
        writer.add(np.array([0, 3, 3, 40 + day]), MECHANISM.randomize(cells, randomness=source))
    return ReportFile.open(path)


@settings(max_examples=60)
@given(
    st.lists(st.booleans(), min_size=1, max_size=4),
    st.lists(st.sampled_from(sorted(STEPS)), max_size=3),
    st.sampled_from(["month", None]),
)
def test_one_seeded_part_labels_all_that_comes_of_it(tmp_path_factory, simulated, steps, by):
    folder = tmp_path_factory.mktemp("label")
    expected = any(simulated)
    paths = []
    for number, is_simulation in enumerate(simulated):
        path = folder / f"{number}.reports"
        file = reports_from(SeededRandomness(number) if is_simulation else SecureRandomness(), path, number)
        assert file.provenance.is_simulation == is_simulation
        paths.append(path)
    tally = tally_reports(paths, PLAN)
    assert tally.provenance.is_simulation == expected
    tally.write(folder / "a.tally")
    tally = Tally.read(folder / "a.tally") + Tally.zero(PLAN.fingerprint, MECHANISM.n_statistics)
    estimate = estimate_tally(tally, PLAN)
    assert estimate.provenance.is_simulation == expected
    stepped = estimate
    for step in steps:
        stepped = STEPS[step](stepped)
        assert stepped.provenance.is_simulation == expected
    release = Release.of(PLAN, estimate, by=by)
    path = folder / "release.parquet"
    release.write(path)
    again = Release.read(path)
    for made in (release, again, again.coarsen(time="year")):
        assert made.is_simulation == expected
        assert made.statement.is_simulation == expected
        assert ("SIMULATION" in made.statement.text()) == expected
        assert ("simulation" in repr(made)) == expected
        assert made.answer().is_simulation == expected
        assert answer(made.unbiased, made.domain.box()).is_simulation == expected
    assert (b"SIMULATION" in path.read_bytes()) == expected
