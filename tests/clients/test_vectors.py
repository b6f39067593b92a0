"""The browser client gives the bytes of the shared vectors, which are those of Python."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tacit.mechanisms.registry import MECHANISMS

VECTORS = Path(__file__).parents[1] / "vectors"


def listed(name):
    content = json.loads((VECTORS / f"{name.replace(' ', '-')}.json").read_text(encoding="utf-8"))
    assert content["format"] == 1
    assert content["vectors"]
    return content["vectors"]


def test_plans_have_the_same_fingerprint(ask):
    for vector in listed("plan"):
        assert ask("plan", plan=vector["plan"])["fingerprint"] == vector["fingerprint"]
        assert ask("plan", plan=json.dumps(vector["plan"]))["fingerprint"] == vector["fingerprint"]


def test_coins_follow_from_the_listed_words(ask):
    for vector in listed("coins"):
        found = ask("coins", threshold=vector["threshold"], count=len(vector["coins"]), words=vector["words"])
        assert found == {"coins": vector["coins"], "left": 0}


@pytest.mark.parametrize("name", MECHANISMS)
def test_reports_follow_from_the_listed_words(ask, name):
    for vector in listed(f"reports-{name}"):
        found = ask("reports", name=name, **{key: vector[key] for key in ("thresholds", "n_cells", "cells", "words")})
        assert found == {"reports": vector["reports"], "left": 0}


def test_messages_are_packed_as_listed(ask):
    for vector in listed("message"):
        assert ask("message", **vector) == vector["message"]


def test_messages_of_events_follow_from_what_is_listed(ask):
    for vector in listed("message-kinds"):
        places, kinds = (vector["plan"]["domain"][axis]["cells"] for axis in ("place", "kind"))
        events = [
            {"time": f"2018-01-{1 + day:02d}T12:34", "place": places[place], "kind": kinds[kind]}
            for day, place, kind in vector["events"]
        ]
        found = ask("events", plan=vector["plan"], events=events, words=vector["words"], id=vector["id"])
        assert found == {name: vector[name] for name in ("bins", "reports", "message")} | {"left": 0}
        parts = ask("split", plan=vector["plan"], events=vector["events"])
        assert parts == [{"bin": bin, "value": cell} for bin, cell in zip(vector["bins"], vector["cells"], strict=True)]


def test_times_fall_into_the_same_bins_whatever_the_clocks_do(ask):
    for vector in listed("times"):
        for clock in ("utc", "local"):
            found = ask("times", plan=vector["plan"], times=vector["times"], clock=clock)
            assert found == vector[f"bins_of_{clock}"], vector["plan"]["domain"]["time"]


def test_a_device_reports_from_its_memo_as_listed(ask):
    for vector in listed("memo"):
        asked = {key: vector[key] for key in ("thresholds", "n_cells", "cells", "words")}
        found = ask("memo", name=vector["mechanism"], **asked)
        assert found == {"reports": vector["reports"], "memo": vector["memo"], "left": 0}
