"""The same input gives the same release checksum, whatever ran before in the process."""

from __future__ import annotations

import subprocess
import sys
from functools import cache
from pathlib import Path

import pytest

RELEASES = """
import sys
from dataclasses import replace
from fractions import Fraction
import numpy as np
sys.path.insert(0, {tests!r})
{before}
from small_worlds import simulated_estimate
from tacit.counts.noise.tree import fuse
from tacit.counts.node_distributions import DiscreteLaplace
from tacit.domain.hierarchy import Hierarchy
from tacit.postprocess.likelihood import ReportHistogram, most_likely_shares
from tacit.release import Release
from tacit.release.files import checksum_of

plan, estimate = simulated_estimate(np.random.default_rng(3).poisson(8, (70, 4)))
for refinement in ("smooth", "likelihood"):
    release = Release.of(plan, estimate, refine=refinement)
    print(refinement, checksum_of(replace(release, created_at="")))
tree = Hierarchy.of_degree(70, 3)
nodes = np.random.default_rng(4).normal(20, 9, (tree.n_nodes, 4))
distributions = [DiscreteLaplace(Fraction(1, 7))] * tree.n_levels
curated = fuse(tree, nodes, distributions, domain=estimate.domain, provenance=estimate.provenance)
release = Release.of(plan, curated, refine="coherent")
print("tree", checksum_of(replace(release, created_at="")))
rng = np.random.default_rng(5)
supports = (rng.random((40, 6)) < 0.4).astype(np.uint8)
starts, counts = np.arange(0, 401, 40), rng.integers(1, 9, 400)
histogram = ReportHistogram(estimate.provenance, 3.0, supports, starts, np.tile(np.arange(40), 10), counts)
print("reports", most_likely_shares(histogram)[0].tobytes().hex())
"""
MUCH_WORK = """
from tacit.randomness import SeededRandomness
from tacit.randomness.bernoulli import COIN, bernoulli_bits
bernoulli_bits(1 << 26, COIN // 3, SeededRandomness(1))
"""
OTHER_RELEASES = """
from small_worlds import simulated_estimate
from tacit.release import Release
for shape in ((70, 4), (90, 6)):
    plan, estimate = simulated_estimate(np.random.default_rng(8).poisson(20, shape))
    for refinement in ("likelihood", "smooth"):
        Release.of(plan, estimate, refine=refinement).answer(places=["place 1"])
"""


@cache  # of nothing before, for all histories
def released(before: str) -> str:
    code = RELEASES.format(tests=str(Path(__file__).parents[1]), before=before)
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout


@pytest.mark.slow
@pytest.mark.parametrize("before", [MUCH_WORK, OTHER_RELEASES], ids=["much work", "other releases"])
def test_a_release_is_the_same_whatever_ran_before(before: str) -> None:
    pytest.importorskip("numba")
    assert released(before).splitlines() == released("").splitlines()
