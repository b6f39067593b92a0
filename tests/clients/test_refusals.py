"""What is damaged is refused with a sentence, and nothing is drawn, forgotten or shown by it."""

from __future__ import annotations

import copy
import json
from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from browser_client import Refused
from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.errors import TacitError
from tacit.mechanisms.central.table import central_plan_for
from tacit.mechanisms.local.memo import DeviceMemo
from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for
from tacit.plan import Plan
from tacit.randomness import SecureRandomness

DOMAIN = Domain(
    TimeAxis.between("2018-01-05", "2018-03-14", step="month", zone="Europe/Paris"),
    PlaceAxis.of(["north", "south"]).with_elsewhere(),
    KindAxis.of(["fire", "aid"]),
)
PLANS = [
    *(plan_for(DOMAIN, epsilon=2.0, mechanism=name, private=("place", "kind")) for name in MECHANISMS),
    replace(plan_for(DOMAIN, epsilon=1.0, mechanism="longitudinal"), unit="device", n_reports=12),
    plan_for(DOMAIN, epsilon=1.0, mechanism="subset", private=("time", "place")),
]
STRANGE = [
    None,
    True,
    False,
    0,
    -1,
    1,
    2.5,
    1e308,
    2**53,
    "",
    "x",
    "0x",
    "0x10000000000000001",
    [],
    [None],
    {},
    {"x": 1},
]
STRANGE += ["2018-02-30", "2018-02-01T25:00", "day", "Europe/Atlantis", "+01:00", "\ud800", "longitudinal", ["place"]]


def places_in(value, path=()):
    """The paths to everything in a document."""
    yield path
    parts = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for name, part in parts:
        yield from places_in(part, (*path, name))


def damaged(document, path, new, is_gone):
    document = copy.deepcopy(document)
    if not path:
        return new
    *way, last = path
    inside = document
    for name in way:
        inside = inside[name]
    if is_gone:
        del inside[last]
    else:
        inside[last] = new
    return document


def is_read_by_python(document):
    try:
        mechanism_of(Plan.from_dict(document))
    except TacitError:
        return False
    return True


@settings(max_examples=300)
@given(data=st.data())
def test_a_damaged_plan_is_refused_with_a_sentence_or_is_the_same_plan(ask_node, data):
    plan = data.draw(st.sampled_from(PLANS))
    document = json.loads(plan.to_json())
    path = data.draw(st.sampled_from(list(places_in(document))))
    changed = damaged(document, path, data.draw(st.sampled_from(STRANGE)), data.draw(st.booleans()))
    said, found = "", None
    try:
        found = ask_node("plan", plan=changed)
    except Refused as refused:
        said = str(refused)
    if found is None:
        assert said.endswith(".")
    else:
        assert found["fingerprint"] == plan.fingerprint
        assert is_read_by_python(changed)


@given(text=st.text(max_size=30), cut=st.integers(0, 400))
def test_what_is_no_plan_is_refused(ask_node, text, cut):
    for given_text in (text, PLANS[0].to_json()[:cut]):
        with pytest.raises(Refused):
            ask_node("plan", plan=given_text)


def test_a_curators_plan_is_refused(ask):
    with pytest.raises(Refused, match="for a curator who counts"):
        ask("plan", plan=central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat").to_json())


def test_no_report_is_made_of_an_event_outside_and_its_values_are_not_repeated(ask):
    plan = plan_for(DOMAIN, epsilon=1.0, private=("place",)).to_json()
    event = {"time": "2018-02-03T12:00", "place": "north", "kind": "aid"}
    for wrong in (
        {"time": "2018-01-04"},
        {"time": "2018-03-15"},
        {"time": "secret"},
        {"place": "secret"},
        {"kind": None},
    ):
        with pytest.raises(Refused) as refused:
            ask("events", plan=plan, events=[event, event | wrong], words=[], id="00" * 16)
        assert "secret" not in str(refused.value)
        assert "2018" not in str(refused.value).replace("2018-03-25T02:30", "")


REMEMBERED = [name for name, entry in MECHANISMS.items() if entry.is_repeated]


def memo_of(tmp_path, name, cells=(1, 2)):
    """A memo that Python wrote, and what to ask the client about it."""
    mechanism = MECHANISMS[name].from_epsilon(1.0, 5)
    memo = DeviceMemo.create(mechanism, tmp_path / "memo.json")
    for cell in cells:
        memo.report(cell, randomness=SecureRandomness())
    thresholds = {one: hex(threshold) for one, threshold in mechanism.thresholds().items()}
    asked = {"name": name, "thresholds": thresholds, "n_cells": 5}
    return asked, json.loads((tmp_path / "memo.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", REMEMBERED)
def test_a_memo_of_python_is_read_and_a_damaged_one_is_not(ask, name, tmp_path):
    asked, memo = memo_of(tmp_path, name)
    assert ask("readMemo", **asked, memo=json.dumps(memo)) == "read"
    slot = next(iter(memo["permanent"]))
    for path, new in [
        (("format",), 3),
        (("kind",), "tally"),
        (("is_simulation",), None),
        (("permanent",), None),
        (("permanent", slot), "zz"),
        (("permanent", slot), "ffff"),
        (("permanent", "7000"), memo["permanent"][slot]),
        (("function",), 2**40),
        (("mechanism",), None),
    ]:
        with pytest.raises(Refused, match="damaged"):
            ask("readMemo", **asked, memo=json.dumps(damaged(memo, path, new, False)))
    with pytest.raises(Refused, match="another mechanism"):
        ask("readMemo", **asked, memo=json.dumps(damaged(memo, ("mechanism", "n_cells"), 6, False)))
    for text in ("", "{", "[]", "null"):
        with pytest.raises(Refused, match="damaged"):
            ask("readMemo", **asked, memo=text)
    with pytest.raises(Refused, match="there is no memo"):
        ask("readMemo", **asked, memo=None)
    with pytest.raises(Refused, match="there is a memo already"):
        ask("createMemo", **asked, memo=json.dumps(memo))


@pytest.mark.parametrize("name", REMEMBERED)
def test_nothing_is_reported_of_a_permanent_row_that_was_not_kept(ask, name, tmp_path):
    asked, _ = memo_of(tmp_path, name)
    assert ask("forgetful", **asked) == {"said": "the disk is full", "isUnchanged": True, "nKept": 1}


def test_reports_about_bits_that_nothing_bounds_have_no_memo(ask):
    asked = {"name": "longitudinal", "n_cells": 5}
    coins = {"ones": hex(3 * 2**62), "zeros": hex(2**62)}
    for permanent in ({"permanent": "0x0"}, {"permanent": hex(2**62), "kept": hex(2**64)}):
        with pytest.raises(Refused, match="gives the value away"):
            ask("createMemo", **asked, thresholds=coins | permanent, memo=None)


def test_a_plan_that_remembers_makes_no_report_without_a_memo(ask):
    plan = plan_for(DOMAIN, epsilon=1.0, mechanism="longitudinal").to_json()
    event = {"time": "2018-02-03T12:00", "place": "north", "kind": "aid"}
    with pytest.raises(Refused, match="its memo"):
        ask("randomize", plan=plan, events=[event])
