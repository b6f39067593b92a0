"""What the thesis left as future work: the attacks succeed where they should, and the comparison can fail."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from experiments.findings import Verdict, outside, read_expected
from experiments.thesis_attacks import run
from experiments.thesis_attacks.attacks import days_from_counter
from experiments.thesis_attacks.local_peak import exact_error
from experiments.thesis_structures import as_claimed, as_coded

FOLDER = Path(run.__file__).parent


def test_a_reduced_run_comes_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("TACIT_DATA", raising=False)
    assert run.main(["--reduced", "--out", str(tmp_path)]) == 0
    found = json.loads((tmp_path / "findings.json").read_text(encoding="utf-8"))["findings"]
    verdicts = {finding["key"]: finding["verdict"] for finding in found}
    assert verdicts["thesis-attack-true-answers"] == Verdict.FAILS
    assert verdicts["thesis-attack-counter"] == Verdict.FAILS
    assert verdicts["thesis-attack-averaging"] == Verdict.FAILS
    assert verdicts["thesis-attack-epsilon"] == Verdict.HOLDS


def test_another_figure_is_outside() -> None:
    expected = read_expected(FOLDER / "expected.csv")
    measured = {one.name: one.expected for one in expected}
    assert outside(measured, expected) == []
    assert outside(measured | {"counter/days": 1997.0}, expected) == ["counter/days"]


@pytest.mark.parametrize("n_days", [2, 7, 64, 100])
def test_the_counter_as_coded_hides_one_day_for_each_whole_tree_and_the_one_as_claimed_all(n_days: int) -> None:
    generator = np.random.default_rng(3)
    counts = generator.integers(0, 50, size=n_days)
    found = days_from_counter(as_coded.continual_tree(counts, 0.2, 2, n_structures=1, generator=generator))
    is_known = ~np.isnan(found)
    assert np.count_nonzero(~is_known) == n_days.bit_count()
    np.testing.assert_allclose(found[is_known], counts[is_known], atol=1e-9)
    honest = days_from_counter(as_claimed.continual_tree(counts, 0.2, 2, n_structures=1, generator=generator))
    assert np.nanmin(np.abs(honest - counts)) > 1e-6


def test_errors_of_all_days_are_zero_and_half_the_domain_is_worst() -> None:
    assert exact_error(512, 1000, 1.0, 512, 1.0) == pytest.approx(0, abs=1e-2)
    errors = [exact_error(512, 1000, 1.0, length, 0.3) for length in (1, 128, 256, 384, 511)]
    assert max(errors) == errors[2]
