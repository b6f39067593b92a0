"""What is public of a report file depends on public coordinates alone, whatever of time, place and kind is private."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations, product

import numpy as np
import pytest

from small_worlds import days_and_places
from tacit.collection.wire import RandomizingWriter, ReportFile, encode_message, parse_message, tally_message
from tacit.counts.provenance import Provenance
from tacit.domain import AXES, KindAxis, Layout
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.randomness import SeededRandomness

DOMAIN = replace(days_and_places(2, 3), kind=KindAxis.of(["fire", "flood"]))
CELLS = list(product(range(2), range(3), range(2)))
PRIVATE = [axes for size in (1, 2, 3) for axes in combinations(AXES, size)]


def public_part(path, plan, cell, seed=1):
    """The public bins of the report file of one event, and its length: all but the randomized report."""
    time, place, kind = cell
    with RandomizingWriter(path, plan, randomness=SeededRandomness(seed), overwrite=True) as writer:
        writer.add(np.array([time]), np.array([place * 2 + kind]))
    file = ReportFile.open(path)
    return file.bins.tolist(), file.run_lengths.tolist(), path.stat().st_size


def differing_in_private(plan):
    """Pairs of cells that agree in all that is public."""
    hidden = [AXES.index(axis) for axis in plan.private]
    for one, other in combinations(CELLS, 2):
        if all(one[axis] == other[axis] for axis in range(3) if axis not in hidden):
            yield one, other


def is_hidden(plan, path):
    parts = {cell: public_part(path, plan, cell) for cell in CELLS}
    return all(parts[one] == parts[other] for one, other in differing_in_private(plan))


@pytest.mark.parametrize("private", PRIVATE)
def test_events_that_differ_in_what_is_private_look_alike_in_public(tmp_path, private):
    plan = plan_for(DOMAIN, epsilon=1.0, private=private)
    assert is_hidden(plan, tmp_path / "a.reports")
    bins = {tuple(public_part(tmp_path / "a.reports", plan, cell)[0]) for cell in CELLS}
    assert len(bins) == plan.n_public  # what is public does show


@pytest.mark.parametrize("private", [axes for axes in PRIVATE if "kind" in axes])
def test_a_kind_that_is_left_unrandomized_is_seen(tmp_path, monkeypatch, private):
    plan = plan_for(DOMAIN, epsilon=1.0, private=private)
    right = Layout.split

    def leaking(self, times, columns):
        public, hidden = right(self, times, columns)
        return public * 2 + columns % 2, hidden

    monkeypatch.setattr(Layout, "split", leaking)
    assert not is_hidden(plan, tmp_path / "a.reports")


@pytest.mark.parametrize("private", PRIVATE)
def test_the_probability_of_every_report_is_bounded_for_every_pair_of_events(private):
    """Exact: the channel from cells to reports has the plan's epsilon between all that agree in public."""
    plan = plan_for(DOMAIN, epsilon=1.0, private=private, mechanism="response")
    channel = mechanism_of(plan).channel()
    for pair in differing_in_private(plan):
        times, places, kinds = np.array(pair).T
        public, hidden = plan.split(times, places * 2 + kinds)
        assert public[0] == public[1]
        assert hidden[0] != hidden[1]
        ratios = [one / other for one, other in zip(channel[hidden[0]], channel[hidden[1]], strict=True)]
        assert max(ratios) == pytest.approx(np.exp(1.0))


@pytest.mark.parametrize("private", PRIVATE)
def test_messages_with_kinds_are_counted_in_their_public_bins(private):
    plan = plan_for(DOMAIN, epsilon=1.0, private=private)
    times, places, kinds = np.array(CELLS).T
    public, hidden = plan.split(times, places * 2 + kinds)
    reports = mechanism_of(plan).randomize(hidden, randomness=SeededRandomness(1))
    message = encode_message(plan, public, reports, Provenance(plan.fingerprint, is_simulation=True))
    tally = tally_message(parse_message(message, plan), plan)
    assert tally.reports.tolist() == [len(CELLS) // (plan.n_public or 1)] * (plan.n_public or 1)
