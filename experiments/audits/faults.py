"""Mechanisms with known faults, each with the audit that finds it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

from experiments.audits.broken import FloatLaplace, PerBitUnary, Rappor, SeedLeftIn, ThesisCounter, ThesisOracle

from tacit.audit import (
    Audit,
    audit_dependence,
    audit_floating_point,
    audit_many,
    audit_randomizer,
    audit_repeating_noise,
    audit_repeats,
)
from tacit.randomness import Randomness, SeededRandomness


@dataclass(frozen=True)
class Fault:
    """A fault by name, the epsilon that is claimed, the one that is true, and its audit."""

    key: str
    said: str
    claimed: float
    true: float
    audit: Callable[[Randomness], Audit]


def faults(seed: int, n_reports: int, confidence: float) -> list[Fault]:
    """Every fault that an audit must find."""

    def local(randomize: Callable, epsilon: float) -> Callable[[Randomness], Audit]:
        return lambda source: audit_randomizer(
            randomize, epsilon=epsilon, values=17, n_reports=n_reports, confidence=confidence, randomness=source
        )

    def answers(build: Callable, epsilon: float) -> Callable[[Randomness], Audit]:
        n_runs = max(20_000, n_reports // 10)
        return lambda source: audit_many(
            build, epsilon=epsilon, counts=16, n_runs=n_runs, confidence=confidence, randomness=source
        )

    f = 2 / (1 + math.exp(1.1))
    small, large = ThesisOracle(0.405, 17, seed), ThesisOracle(2.2, 17, seed)
    dependent = ThesisCounter(1.0, 4, seed, fault="dependent")
    redrawn = ThesisCounter(1.0, 4, seed, fault="redrawn")
    said = {"confidence": confidence}
    return [
        Fault("oracle-0.405", "the thesis' frequency oracle", 0.405, small.true_epsilon, local(small, 0.405)),
        Fault("oracle-2.2", "the thesis' frequency oracle", 2.2, large.true_epsilon, local(large, 2.2)),
        Fault(
            "counter-scale",
            "the thesis' counter: scale log2(levels)/ε in place of levels/ε",
            1.0,
            5 / math.log2(5),
            answers(ThesisCounter(1.0, 4, seed, fault="scale"), 1.0),
        ),
        Fault(
            "counter-dependent",
            "the thesis' counter: a first child's noise is the second's plus the parent's",
            1.0,
            math.inf,
            lambda source: audit_dependence(dependent, epsilon=1.0, counts=16, randomness=source, **said),
        ),
        Fault(
            "counter-redrawn",
            "the thesis' counter, first version: noise drawn again at every question (256 of them)",
            1.0,
            math.inf,
            lambda source: audit_repeats(redrawn.structure, epsilon=1.0, counts=16, randomness=source, **said),
        ),
        Fault(
            "rappor-last-bit",
            "RAPPOR whose last bit is sent as it is",
            2.2,
            math.inf,
            local(Rappor(f, 17, seed, fault="last bit as it is"), 2.2),
        ),
        Fault(
            "rappor-true-bit",
            "RAPPOR that never clears the true bit",
            2.2,
            math.inf,
            local(Rappor(f, 17, seed, fault="never clears the true bit"), 2.2),
        ),
        Fault("per-bit", "unary encoding with ε for each bit", 2.2, 4.4, local(PerBitUnary(2.2, 17, seed), 2.2)),
        Fault(
            "float-laplace",
            "Laplace noise in floating point",
            1.0,
            math.inf,
            lambda source: audit_floating_point(
                FloatLaplace(1.0, seed), epsilon=1.0, n_bins=4, randomness=source, **said
            ),
        ),
        Fault(
            "seed-left-in",
            "randomized response with a seed left in the code",
            1.0,
            math.inf,
            lambda source: audit_repeating_noise(SeedLeftIn(1.0), epsilon=1.0, values=2, randomness=source, **said),
        ),
    ]


def audited(seed: int, n_reports: int, confidence: float) -> list[tuple[Fault, Audit]]:
    """Every fault with what was found."""
    return [
        (fault, fault.audit(SeededRandomness(2_000_000 + 100 * seed + number)))
        for number, fault in enumerate(faults(seed, n_reports, confidence))
    ]
