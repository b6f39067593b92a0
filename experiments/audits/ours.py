"""Our own mechanisms: how near the bounds come to their epsilon, and how often a right claim is refuted."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy import stats

from tacit.audit import Audit, audit_many, audit_mechanism, audit_nodes
from tacit.audit.curators import answers_of_counter, answers_of_plan, nodes_of_plan
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.central.table import central_plan_for
from tacit.mechanisms.continual import Counter
from tacit.mechanisms.registry import MECHANISMS
from tacit.plan import Plan
from tacit.privacy.cost import Cost
from tacit.privacy.spend import Spend
from tacit.randomness import Randomness, SeededRandomness

NEAR = 0.97
_ALIKE = ("optimized longitudinal", "longitudinal hashing", "binary longitudinal hashing")
"""First reports of these are distributed as those of optimized unary encoding and of local hashing (docs/proofs)."""
STUDIED = {name: entry for name, entry in MECHANISMS.items() if name not in _ALIKE}


def bounds(settings: Mapping[str, Any]) -> dict[tuple[str, float], Audit]:
    """One audit of every local randomizer whose reports are distributed in their own way, at every epsilon."""
    found = {}
    for number, epsilon in enumerate(settings["epsilons"]):
        for place, (name, entry) in enumerate(STUDIED.items()):
            source = SeededRandomness(1000 * settings["seed"] + 100 * number + place)
            found[name, epsilon] = audit_mechanism(
                entry.from_epsilon(epsilon, settings["cells"]),
                n_reports=settings["reports"],
                confidence=settings["confidence"],
                randomness=source,
            )
    return found


def reports_needed(audit: Audit, *, surely: float) -> float:
    """How many reports in all make the bound reach ``NEAR`` of epsilon with this probability.

    The logit of a share c of m right guesses errs by 1 / sqrt(m c (1 - c)); the limit lies as many errors below it as
    the confidence asks for, and the luck of the draw may take as many more.
    """
    share = audit.n_correct / audit.n_guesses
    errors = NormalDist().inv_cdf(audit.confidence) + NormalDist().inv_cdf(surely)
    guesses = (errors / ((1 - NEAR) * audit.claimed)) ** 2 / (share * (1 - share))
    return guesses * audit.n_runs / audit.n_guesses


def refutations(settings: Mapping[str, Any]) -> dict[str, int]:
    """How often each mechanism of ours is refuted, whose claims are right."""
    found = {}
    for place, (name, play) in enumerate(_subjects(settings).items()):
        source = SeededRandomness(1_000_000 + 1000 * settings["seed"] + place)
        found[name] = sum(play(source).is_refuted for _ in range(settings["audits"]))
    return found


def most_refutations(settings: Mapping[str, Any]) -> int:
    """What chance alone exceeds with the probability ``false_failure``, for any one mechanism."""
    return int(stats.binom.isf(settings["false_failure"], settings["audits"], settings["error"]))


def _subjects(settings: Mapping[str, Any]) -> dict[str, Callable[[Randomness], Audit]]:
    common = {"confidence": 1 - settings["error"]}
    n_runs = settings["audited_reports"]

    def local(name: str) -> Callable[[Randomness], Audit]:
        mechanism = MECHANISMS[name].from_epsilon(1.0, settings["cells"])
        return lambda source: audit_mechanism(mechanism, n_reports=n_runs, randomness=source, **common)

    def plan_of(mechanism: str, **fan_outs: Any) -> Plan:
        days = Domain(TimeAxis.between("2018-01-01", "2018-01-16"), PlaceAxis.of(["one"]))
        return central_plan_for(days, epsilon=1.0, mechanism=mechanism, **fan_outs)

    flat, tree = plan_of("flat"), plan_of("tree", fan_outs=(4, 4))  # the best tree for so few days would be flat

    def central(plan: Plan) -> Callable[[Randomness], Audit]:
        return lambda source: _published(answers_of_plan(plan, randomness=source), source)

    def counter(source: Randomness) -> Audit:
        days = Domain(TimeAxis.between("2018-01-01", None), PlaceAxis.of(["one"]))
        stream = Counter.start(Spend.simulation(Cost.pure(1.0), seed=1), days, horizon=8).stream
        return _published(answers_of_counter(stream, randomness=source), source)

    def nodes(source: Randomness) -> Audit:
        return audit_nodes(nodes_of_plan(tree, randomness=source), n_runs=n_runs, randomness=source, **common)

    def _published(curated: Any, source: Randomness) -> Audit:
        return audit_many(curated.build, epsilon=1.0, counts=curated.n_bins, n_runs=n_runs, randomness=source, **common)

    locally = {name: local(name) for name in STUDIED}
    curated = {"central flat": central(flat), "central tree": central(tree), "counter": counter}
    return locally | curated | {"nodes of a tree": nodes}


def rounded_up(number: float) -> str:
    """Two digits, never less."""
    scale = 10 ** (math.floor(math.log10(number)) - 1)
    return f"{int(np.ceil(number / scale)) * scale:,.0f}"
