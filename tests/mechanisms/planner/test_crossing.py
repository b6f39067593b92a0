"""The length from which on a hierarchy beats flat counts, and the thesis' rule for it."""

from __future__ import annotations

import re
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

from tacit.errors import SettingError
from tacit.mechanisms.planner import (
    CURATOR,
    NOBODY,
    Question,
    Situation,
    central,
    crossings,
    local,
    thesis_error,
    thesis_rule,
)
from tacit.mechanisms.planner.central import flat_contenders, tree_contenders
from tacit.mechanisms.planner.inverse import crossing_length
from tacit.mechanisms.planner.situation import QuadraticVariance

ROOT = Path(__file__).parents[3]
GUIDE = ROOT / "docs" / "guides" / "flat-or-tree.md"
PICTURE = ROOT / "docs" / "images" / "flat-or-tree.svg"


def test_the_thesis_rule_for_64_days_is_beyond_the_64_days():
    assert thesis_rule(64, 2) == 144
    assert [thesis_rule(n, b) for n, b in ((32, 2), (27, 3), (28, 3), (64, 4), (2048, 2), (2006, 2))] == [
        100,
        54,
        96,
        72,
        484,
        484,
    ]
    with pytest.raises(SettingError):
        thesis_rule(64, 1)


@pytest.mark.parametrize("trust", [CURATOR, NOBODY])
@pytest.mark.parametrize("n_bins", [32, 50, 128])
def test_below_the_crossing_flat_errs_less_and_from_it_on_the_tree(trust, n_bins):
    situation = Situation(n_bins=n_bins, n_events=1e5, trust=trust, epsilon=1.0)
    model = central if trust == CURATOR else local
    flat = min(model.flat_contenders(situation), key=lambda one: one.rmse(Question("points"), n_bins))
    for degree, length in crossings(situation).items():
        (tree,) = model.tree_contenders(situation, [degree])
        questions = [Question("ranges", r) for r in range(1, n_bins + 1)]
        wins = [tree.rmse(q, n_bins) < flat.rmse(q, n_bins) * (1 - 1e-9) for q in questions]
        assert length == (1 + wins.index(True) if any(wins) else None), degree
        if trust == CURATOR and length is not None:
            assert all(wins[length - 1 :]), degree


@pytest.mark.slow
def test_true_crossings_are_far_below_the_rule():
    for n_bins in (256, 2048):
        curator = crossings(Situation(n_bins=n_bins, n_events=1e6, trust=CURATOR, epsilon=1.0))
        devices = crossings(Situation(n_bins=n_bins, n_events=1e6, epsilon=1.0))
        assert all(length < thesis_rule(n_bins, degree) for degree, length in curator.items())
        assert all(length < thesis_rule(n_bins, degree) / 4 for degree, length in devices.items())


def test_the_crossing_does_not_depend_on_a_small_epsilon():
    lengths = [
        crossings(Situation(n_bins=512, n_events=1e6, trust=CURATOR, epsilon=epsilon), [8])[8]
        for epsilon in (0.001, 0.05)
    ]
    assert lengths[0] == lengths[1]


def test_a_tree_that_never_wins_has_no_crossing():
    assert crossing_length(QuadraticVariance(2.0), QuadraticVariance(1.0), 100) is None
    assert crossing_length(QuadraticVariance(1.0), QuadraticVariance(1.0), 100) is None
    assert crossing_length(QuadraticVariance(1.0), QuadraticVariance(2.0), 100) == 1
    situation = Situation(n_bins=16, n_events=1e3, trust=CURATOR, epsilon=1.0)
    (tree,) = tree_contenders(situation, [2])
    (flat,) = flat_contenders(situation)
    every = np.arange(16)
    worse = tree.variances.range_variances(every, every + 1) > flat.variances.range_variances(every, every + 1)
    assert worse.all()


def tool() -> ModuleType:
    pytest.importorskip("altair")
    pytest.importorskip("vl_convert")
    specification = spec_from_file_location("picture_of_crossings", ROOT / "tools" / "picture_of_crossings.py")
    assert specification is not None
    assert specification.loader is not None
    module = module_from_spec(specification)
    specification.loader.exec_module(module)
    return module


@pytest.mark.slow
def test_the_tables_of_the_guide_are_what_the_code_gives():
    """Of a million bins only the tool's own --check makes sure, because it takes longer."""
    guide = GUIDE.read_text(encoding="utf-8")
    crossings_there, errors_there = re.findall(
        r"<!-- made by tools/picture_of_crossings.py -->\n\n(.+?)\n<!-- end -->\n", guide, re.DOTALL
    )
    made = tool()
    for table, row, sizes in (
        (crossings_there, made.crossing_row, made.TABLE_SIZES),
        (errors_there, made.error_row, made.ERROR_SIZES),
    ):
        _, _, *rows = table.splitlines(keepends=True)
        assert len(rows) == len(sizes)
        assert rows[-1].startswith("| 1,048,576 |")
        assert rows[:-1] == [row(n_bins) for n_bins in sizes[:-1]], "run: python tools/picture_of_crossings.py"


def test_what_the_guide_says_of_the_rule_is_so():
    guide = " ".join(GUIDE.read_text(encoding="utf-8").split())
    assert "for ranges of more than 2B⌈log_B N⌉² bins" in guide
    assert thesis_rule(64, 2) == 144
    assert "| 64 | 144 (beyond them) |" in guide
    assert PICTURE.read_text(encoding="utf-8").startswith("<svg")


# RMSE x epsilon over random ranges of the thesis' tree, worked out by drawing ranges: 2 % of sampling error
PLAIN = {32: (15.4, 14.1, 12.3), 512: (37.2, 28.8, 27.2), 2048: (51.3, 37.8, 36.3), 65_536: (90, 71, 58)}


@pytest.mark.parametrize("n_bins", PLAIN)
def test_the_thesis_tree_with_the_noise_it_takes_errs_as_worked_out(n_bins):
    found = [thesis_error(n_bins, degree, 0.001) * 0.001 for degree in (2, 3, 4)]
    assert found == pytest.approx(PLAIN[n_bins], rel=0.02)
