"""The ablations: every rule has its name in the code, switching it off has its effect, and verdicts can fail."""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest
from experiments.ablations import run as experiment
from experiments.ablations.rules import FIT, RULES, replaced, switched_off
from experiments.ablations.summary import FULL, Limits, Run, losses, verdicts
from experiments.ablations.worlds import KINDS, draw
from experiments.findings import read_findings

from statistical import Recorded, assert_as_recorded
from tacit.postprocess import smoothing
from tacit.statespace import model

RULE = {rule.name: rule for rule in RULES}


def test_every_rule_names_what_is_in_the_code() -> None:
    assert len(RULE) == len(RULES)
    for rule in RULES:
        with switched_off(rule):
            pass
    with replaced(FIT, lambda fit: fit):
        pass


def test_a_name_that_is_not_in_the_code_is_refused() -> None:
    with pytest.raises(LookupError, match=r"rules\.py"), replaced("tacit.statespace.no_such_rule", lambda one: one):
        pass


def test_a_rule_is_off_wherever_it_was_imported_and_on_again_afterwards() -> None:
    before, rule = model.total_excess, RULE["excess of public totals (smoothing)"]
    with switched_off(rule):
        assert smoothing.total_excess is model.total_excess is not before
    with pytest.raises(LookupError), switched_off(rule):
        raise LookupError
    assert smoothing.total_excess is model.total_excess is before


def test_a_constant_of_a_settings_object_is_replaced_where_the_object_was_imported(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    @dataclass(frozen=True)
    class Settings:
        inflation: float = 1.06

    defines, imports = ModuleType("tacit.defines"), ModuleType("tacit.imports")
    for module in (defines, imports):
        monkeypatch.setitem(sys.modules, module.__name__, module)
    defines.SETTINGS = imports.SETTINGS = Settings()  # type: ignore[attr-defined]
    with replaced("tacit.defines.SETTINGS.inflation", lambda _: 1.0):
        assert imports.SETTINGS.inflation == defines.SETTINGS.inflation == 1.0
    assert imports.SETTINGS.inflation == 1.06


@pytest.mark.parametrize("kind", KINDS)
def test_a_world_is_that_of_its_seed(kind: str) -> None:
    world = draw(kind, 5)
    np.testing.assert_array_equal(world.counts, draw(kind, 5).counts)
    assert not np.array_equal(world.counts, draw(kind, 6).counts)
    assert world.counts[world.gaps].sum() == 0
    assert world.gaps.any() == (kind == "gaps")


def test_worlds_have_3_to_300_places_and_5_to_5000_events_a_day() -> None:
    worlds = [draw("storms", seed) for seed in range(60)]
    places, events = ([one.counts.shape[1] for one in worlds], [one.counts.sum(axis=1).mean() for one in worlds])
    assert 3 <= min(places) < 10
    assert 150 < max(places) <= 300
    assert min(events) < 20
    assert max(events) > 2000


def closed_place(seed: int) -> dict[str, float]:
    """How much more forecasts err without level shifts after a place has closed, and what inflation covers."""
    rates = np.tile([120.0, 60.0, 40.0, 20.0], (200, 1))
    rates[120:, 0] = 0.0
    world = replace(
        draw("closures", seed, tiny=True), counts=np.random.default_rng(seed).poisson(rates), local_epsilon=3.0
    )
    found = list(experiment.measured(world, [RULE["level shifts"], RULE["inflation"]]))
    scores = {(one.use, one.rule, one.period): one for one in found}
    assert len(scores) == len(found) == 9 + 9 + 6
    for use in ("local", "curator"):  # a rule of intervals alone changes intervals alone
        for period in ("day", "month", "total"):
            assert scores[use, "inflation", period].error == scores[use, FULL, period].error
    without, full = (scores["forecast", rule, "day"].error for rule in ("level shifts", FULL))
    narrow, wide = (scores["local", rule, "day"].cover_80 for rule in ("inflation", FULL))
    return {"error": float(np.log(without / full)), "covered": wide - narrow}


CLOSED_PLACE: Recorded = {"error": (0.4361, 0.053), "covered": (0.0003825, 0.00019)}
"""The logarithm of the ratio of errors, and the difference of what is covered."""


@pytest.mark.false_failure(1e-6)
def test_without_level_shifts_forecasts_of_a_place_that_closed_err_more(seed: int) -> None:
    assert_as_recorded(closed_place, CLOSED_PLACE, seed)
    assert CLOSED_PLACE["error"][0] > np.log(1.5)
    assert CLOSED_PLACE["covered"][0] > 0


def test_its_reduced_size_comes_back(tmp_path: Path) -> None:
    assert experiment.main(["--reduced", "--rules", "inflation", "--seed", "7", "--out", str(tmp_path)]) == 0
    assert len(Run.read(tmp_path / "runs.csv")) == 6 + 6  # inflation is no rule of forecasts, which are not measured
    assert [one.key for one in read_findings(tmp_path).findings] == ["ablations-rules", "ablations-coverage"]
    assert experiment.main(["--reduced", "--rules", "inflation", "--seed", "8", "--more", "--out", str(tmp_path)]) == 0
    assert {run.seed for run in Run.read(tmp_path / "runs.csv")} == {7, 8}


def runs_with(growth: float, noise: float, cover: float = 0.80) -> list[Run]:
    """A rule without which errors grow by so much in one of two kinds of world."""
    rng = np.random.default_rng(2)
    found = []
    for world, grown in (("closures", growth), ("storms", 0.0)):
        for seed, one in enumerate(rng.normal(0, noise, 20)):
            found.append(Run("local", world, seed, FULL, "day", 1.0, 0.80, 0.95))
            found.append(Run("local", world, seed, "a rule", "day", 1 + grown + one, cover, 0.95))
    return found


@pytest.mark.parametrize(
    ("growth", "noise", "cover", "verdict"),
    [
        (0.0, 0.001, 0.80, "goes"),
        (0.02, 0.001, 0.80, "stays"),
        (0.0, 0.1, 0.80, "open"),
        (0.0, 0.001, 0.76, "stays"),
        (-0.02, 0.001, 0.80, "goes"),
    ],
)
def test_a_rule_goes_that_gains_little_in_every_world(growth: float, noise: float, cover: float, verdict: str) -> None:
    runs = runs_with(growth, noise, cover)
    assert verdicts(runs) == {("local", "a rule"): verdict}
    assert {one.error.n for one in losses(runs)} == {20}


def test_one_world_says_nothing_of_limits() -> None:
    assert Limits.of([0.1]) == Limits(0.1, -np.inf, np.inf, 1)
