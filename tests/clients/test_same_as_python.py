"""Whatever is asked, the browser client and Python give the same: reports, refusals, fingerprints, probabilities."""

from __future__ import annotations

import json
import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from browser_client import Refused
from tacit.audit.testing import RecordedWords
from tacit.collection.wire import MessageFormat
from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.errors import TacitError
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for
from tacit.plan import Plan
from tacit.randomness import SeededRandomness
from tacit.randomness.bernoulli import COIN

DAYS = TimeAxis.between("2018-01-01", "2018-03-31", zone="Europe/Paris")
DOMAIN = Domain(DAYS, PlaceAxis.of(["north", "été", "west"]))


def hexed(thresholds):
    return {name: hex(threshold) for name, threshold in thresholds.items()}


def asked(name, mechanism):
    return {"name": name, "thresholds": hexed(mechanism.thresholds()), "n_cells": mechanism.n_cells}


def both_reports(ask, name, mechanism, cells, seed):
    """The reports of Python and of the client, from the same words."""
    source = RecordedWords(SeededRandomness(seed))
    rows = mechanism.randomize(np.array(cells, np.int64), randomness=source)
    words = [f"{word:016x}" for word in source.drawn]
    found = ask("reports", **asked(name, mechanism), cells=cells, words=words)
    return {"reports": [row.tobytes().hex() for row in rows], "left": 0}, found


@pytest.mark.parametrize("name", MECHANISMS)
@given(data=st.data())
def test_reports_are_the_same_for_any_setting(ask_node, name, data):
    epsilon, n_cells = data.draw(st.floats(0.01, 12)), data.draw(st.integers(2, 400))
    cells = data.draw(st.lists(st.integers(0, n_cells - 1), max_size=20))
    python, client = both_reports(
        ask_node, name, MECHANISMS[name].from_epsilon(epsilon, n_cells), cells, data.draw(st.integers(0, 2**32))
    )
    assert client == python


LARGE = [
    ("unary", 1000, 4300),  # coins in several rounds, rows in two chunks
    ("optimized unary", 5000, 300),
    ("tuned unary", 2049, 1),
    ("response", 5000, (1 << 18) + 3),  # lanes of 32 bits
    ("response", 17, 20_000),
    ("hadamard", 17, 20_000),
    ("hadamard", 70_000, 300),
    ("hashing", 1000, (1 << 16) + 3),
    ("hashing", 1 << 20, 300),
    ("subset", 17, (1 << 17) + 3),
    ("subset", 300, 14_000),
    ("hierarchical", 365, 3000),
    ("sampled tables", 900, 3000),
    ("longitudinal", 1000, 300),
    ("optimized longitudinal", 1000, 300),
    ("longitudinal hashing", 1000, (1 << 16) + 3),
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n_cells", "n_reports"), LARGE)
def test_many_reports_at_once_are_the_same(ask_node, name, n_cells, n_reports):
    cells = (np.arange(n_reports) * 7919 % n_cells).tolist()
    python, client = both_reports(ask_node, name, MECHANISMS[name].from_epsilon(1.5, n_cells), cells, n_cells)
    assert client == python


def test_words_that_decide_nothing_are_drawn_again_in_both(ask_node):
    """Words of rare cases: an open coin, a surplus lane, one after the other."""

    class Chosen(RecordedWords):
        def __init__(self, words):
            super().__init__(SeededRandomness(1))
            self._first = list(words)

        def fill(self, out):
            super().fill(out)
            for at in range(min(out.size, len(self._first))):
                out[at] = self.drawn[len(self.drawn) - out.size + at] = self._first.pop(0)

    for name, n_cells in (("subset", 17), ("subset", 33), ("hashing", 17), ("response", 17), ("response", 5000)):
        mechanism = MECHANISMS[name].from_epsilon(1.0, n_cells)
        threshold = mechanism.thresholds().get("include") or mechanism.thresholds()["keep"]
        edges = [threshold, threshold >> 32 << 32, threshold >> 48 << 48, 0, COIN - 1]
        cells = [index % n_cells for index in range(len(edges) * 2)]
        source = Chosen([*edges, *reversed(edges), *edges, 0, 0])
        rows = mechanism.randomize(np.array(cells), randomness=source)
        found = ask_node("reports", **asked(name, mechanism), cells=cells, words=[f"{w:016x}" for w in source.drawn])
        assert found == {"reports": [row.tobytes().hex() for row in rows], "left": 0}


SMALL = [*((name, MECHANISMS[name].from_epsilon(1.0, 5)) for name in MECHANISMS)]
SMALL.append(("longitudinal", LongitudinalRappor.from_parameters(f=0.5, q=0.75, p=0.5, n_cells=4, hashes=2, n_bits=7)))


@pytest.mark.parametrize(("name", "mechanism"), SMALL, ids=lambda one: one if isinstance(one, str) else "")
def test_what_a_report_could_have_meant_is_the_exact_channel(ask, name, mechanism):
    channel = mechanism.channel()
    possible = [number for number, chance in enumerate(channel[0]) if chance]
    reports = [number.to_bytes(mechanism.report_bytes, "little").hex() for number in possible]
    found = np.exp(ask("probabilities", **asked(name, mechanism), reports=reports))
    exact = np.array([[float(row[number]) for row in channel] for number in possible])
    np.testing.assert_allclose(found, exact, rtol=1e-12)
    impossible = [number for number, chance in enumerate(channel[0]) if not chance][:20]
    for number in [*impossible, 2 ** (8 * mechanism.report_bytes) - 1]:
        if number not in possible:
            with pytest.raises(Refused, match="not one of this plan"):
                ask("probabilities", **asked(name, mechanism), reports=[f"{number:0{2 * mechanism.report_bytes}x}"])


def test_meanings_name_the_values_and_their_shares_add_up(ask):
    domain = replace(DOMAIN, kind=KindAxis.of(["fire", "aid"]))
    plan = plan_for(domain, epsilon=2.0, mechanism="response", private=("place", "kind"))
    found = ask("meanings", plan=plan.to_json(), report="03")
    assert [one["value"] for one in found[:3]] == [
        {"place": "north", "kind": "fire"},
        {"place": "north", "kind": "aid"},
        {"place": "été", "kind": "fire"},
    ]
    chances = [row[3] for row in mechanism_of(plan).channel()]
    assert [one["probability"] for one in found] == pytest.approx([float(chance) for chance in chances], rel=1e-12)
    assert [one["share"] for one in found] == pytest.approx([float(c / sum(chances)) for c in chances], rel=1e-12)


def test_shares_of_a_report_of_many_bits_do_not_vanish(ask_node):
    """Of 5,000 coins the probability of any report is below what floats hold; the shares are not."""
    plan = plan_for(Domain(DAYS, PlaceAxis.of([f"p {i}" for i in range(5000)])), epsilon=2.0, mechanism="unary")
    found = ask_node("meanings", plan=plan.to_json(), report="01" + "00" * 624)
    assert found[0]["probability"] == 0
    assert found[0]["share"] / found[1]["share"] == pytest.approx(math.exp(2.0), rel=1e-9)
    assert sum(one["share"] for one in found) == pytest.approx(1)


def accepted_by_python(plan):
    try:
        mechanism_of(Plan.from_dict(json.loads(plan.to_json())))
    except TacitError:
        return False
    return True


def accepted_by_client(ask, plan):
    try:
        return ask("plan", plan=plan.to_json())["fingerprint"] == plan.fingerprint
    except Refused:
        return False


@pytest.mark.parametrize("name", MECHANISMS)
@given(data=st.data())
def test_thresholds_are_held_against_epsilon_as_python_does(ask_node, name, data):
    """Nudges by single units of thresholds and of floats: where Python refuses, so does the client."""
    plan = plan_for(
        DOMAIN, epsilon=data.draw(st.sampled_from([0.01, 0.5, 1.0, math.log(3), 8.0, 20.0])), mechanism=name
    )
    thresholds = dict(plan.thresholds)
    nudged = data.draw(st.sampled_from(sorted(thresholds)))
    thresholds[nudged] += data.draw(st.sampled_from([0, 0, 1, -1, 2, -2, 2**20, -(2**20)]))
    thresholds[nudged] = max(0, min(COIN, thresholds[nudged]))
    epsilon = plan.epsilon * data.draw(st.sampled_from([1, 1, 1 + 2**-52, 1 - 2**-52, 1 + 5e-10, 1 + 2e-9, 1 - 2e-9]))
    changed = replace(plan, thresholds=tuple(sorted(thresholds.items())), epsilon=epsilon)
    assert accepted_by_client(ask_node, changed) == accepted_by_python(changed)


@given(epsilon=st.floats(1e-6, 32), length=st.integers(1, 300), letter=st.sampled_from("aé日🜁"))
def test_fingerprints_are_the_same_for_any_epsilon_and_length(ask_node, epsilon, length, letter):
    places = PlaceAxis.of(["a" + letter * length, 'x "quoted" \\ / '], level="an ’odd’ level")
    domain = replace(DOMAIN, place=places)
    plan = plan_for(domain, epsilon=epsilon, mechanism="unary", name="any")
    assert ask_node("plan", plan=plan.to_json())["fingerprint"] == plan.fingerprint


def test_public_bins_are_believed_as_far_as_python_does(ask):
    for domain in (DOMAIN, replace(DOMAIN, time=DOMAIN.time.without_end())):
        for private in (("place",), ("time",), ("time", "place")):
            if "time" not in private or domain.time.n_bins is not None:
                plan = plan_for(domain, epsilon=1.0, private=private)
                form = MessageFormat.of(plan)
                found = ask("plan", plan=plan.to_json())
                assert (found["nBins"], found["reportBytes"]) == (form.n_public, form.report_bytes)
                assert found["nPrivate"] == plan.n_private


@pytest.mark.parametrize("mechanism", ["longitudinal", "longitudinal hashing"])
def test_a_message_from_a_memo_is_read_by_python(ask, mechanism):
    plan = replace(plan_for(DOMAIN, epsilon=1.0, mechanism=mechanism), unit="device")
    message = bytes.fromhex(ask("device", plan=plan.to_json(), event={"time": "2018-02-03", "place": "été"}))
    batch = MessageFormat.of(plan).parse(message)
    assert (batch.bins.tolist(), batch.run_lengths.tolist()) == ([33], [1])
    assert not batch.provenance.is_simulation
    assert MessageFormat.of(plan).tally(batch).reports.sum() == 1
    again = bytes.fromhex(ask("device", plan=plan.to_json(), event={"time": "2018-02-03", "place": "été"}))
    assert MessageFormat.of(plan).parse(again).id != batch.id
