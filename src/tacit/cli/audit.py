"""tacit audit: find out whether a mechanism gives away more than it claims."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations
from pathlib import Path
from typing import Annotated, Any, Final

import numpy as np
import typer

from tacit.audit.claims import Audit
from tacit.audit.games import Progress
from tacit.audit.plug_ins import Command, guarded, is_local_randomizer, one_by_one, plug_in_named
from tacit.audit.randomizers import audit_reports_of, from_files
from tacit.audit.suites import (
    AUDITS,
    audit_answers_function,
    audit_counter,
    audit_local,
    audit_plan,
    audit_reports_function,
)
from tacit.cli import console
from tacit.cli.domains import agreed_plan
from tacit.cli.options import confidence, seed_or_none, takes
from tacit.collection.wire import ReportFile
from tacit.counts.provenance import check_plan
from tacit.errors import SettingError
from tacit.mechanisms.continual.history import History
from tacit.mechanisms.registry import mechanism_of
from tacit.plan import Plan
from tacit.randomness import Randomness, SecureRandomness, SeededRandomness

_COMMAND_RUNS: Final = 200_000  # lines that a script reads and writes in seconds
_COMMAND_BATCH: Final = 1_000
"""Lines that a command reads at a time where shared coins are looked for: it starts again for each batch."""
_SLOW_RUNS: Final = 20_000  # calls of some microseconds to milliseconds each
_FUNCTION_RUNS: Final = 1_000_000
"""Values that a vectorized function takes at once. A quarter of the runs leaves about twice the room below a bound."""


@dataclass(frozen=True)
class SubjectOptions:
    """The options that say what is audited."""

    plan: Annotated[
        Path | None, typer.Argument(metavar="PLAN", help="A plan (TOML): our own mechanism under it is audited.")
    ] = None
    function: Annotated[
        str | None,
        typer.Option(help="A Python function, or a randomizer object: package.module:name.", metavar="NAME"),
    ] = None
    command: Annotated[
        str | None,
        typer.Option(
            help="A command that reads a value a line and writes a report a line; with PLAN, reports in hexadecimal.",
            metavar="WORDS",
        ),
    ] = None
    made: Annotated[
        list[str] | None,
        typer.Option(
            help="With PLAN: reports of one known value, VALUE=FILE, for two values or more.", metavar="VALUE=FILE"
        ),
    ] = None
    counter: Annotated[
        Path | None,
        typer.Option(help="The published history of a counter: its noise is audited.", metavar="HISTORY"),
    ] = None


@dataclass(frozen=True)
class ClaimOptions:
    """The options that say what is claimed of a function or a command, and what it takes."""

    epsilon: Annotated[float | None, typer.Option(help="The claimed epsilon.")] = None
    delta: Annotated[float, typer.Option(help="The claimed delta.")] = 0.0
    rho: Annotated[float | None, typer.Option(help="The claimed rho of zCDP, in place of epsilon and delta.")] = None
    values: Annotated[
        str | None,
        typer.Option(help="It takes values: how many (17 for 0 to 16), or which (north,south).", metavar="VALUES"),
    ] = None
    counts: Annotated[
        int | None, typer.Option(help="It takes rows of so many counts, and publishes answers.", metavar="N")
    ] = None
    unit: Annotated[int, typer.Option(help="What one protected unit adds to a count at most.")] = 1
    each: Annotated[bool, typer.Option("--each", help="The function takes one value at a time.")] = False


@takes(subject=SubjectOptions, claim=ClaimOptions)
def audit(
    subject: SubjectOptions,
    claim: ClaimOptions,
    runs: Annotated[int | None, typer.Option(help="How often to run it in all (reports, or releases).")] = None,
    level: Annotated[float, confidence("How sure all bounds together must be: 99 or 0.99.")] = 0.99,
    seed: Annotated[int | None, typer.Option(help="The same audit again: secret coins from a known seed.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON.")] = False,
    listed: Annotated[bool, typer.Option("--list", help="Name the audits and leave.")] = False,
) -> None:
    """Bound from below what a mechanism gives away, and refute its claim where the bound is larger.

    Leaves with 1 if a claim is refuted, with 0 if none is. What is not refuted is not proved.

    Example: [bold]tacit audit plan.toml[/bold]
    """
    if listed:
        console.table(["audit", "what it finds"], list(AUDITS.items()), left=2)
        return
    source: Randomness = SecureRandomness() if seed is None else SeededRandomness(seed_or_none(seed) or 0)
    with console.progress("Auditing") as report:
        found = _audited(subject, claim, runs, level, source, report)
    if as_json:
        content = {"confidence": level, "refuted": any(one.is_refuted for one in found)}
        console.say(json.dumps(content | {"audits": [one.to_dict() for one in found]}, indent=1))
    else:
        _say(found, level)
    if any(one.is_refuted for one in found):
        raise typer.Exit(1)


def _audited(
    subject: SubjectOptions,
    claim: ClaimOptions,
    runs: int | None,
    confidence: float,
    source: Randomness,
    report: Progress,
) -> Sequence[Audit]:
    given = [name for name in ("plan", "function", "counter") if getattr(subject, name) is not None]
    if subject.command is not None and subject.plan is None:
        given.append("command")
    if len(given) != 1 or (subject.made and subject.command):
        raise SettingError("one thing must be audited at a time. Give PLAN, --function, --command or --counter.")
    if subject.made and subject.plan is None:
        raise SettingError("reports in files belong to a plan. Give it too: tacit audit plan.toml --made 0=a.reports")
    settings: dict[str, Any] = {"confidence": confidence, "randomness": source, "progress": report}
    if subject.counter is not None:
        _check_unclaimed(claim)
        return audit_counter(History.read(subject.counter).stream, n_runs=runs, **settings)
    if subject.plan is not None:
        _check_unclaimed(claim)
        return _audited_plan(agreed_plan(subject.plan), subject, runs, source, settings)
    if claim.rho is not None and (claim.values is not None or claim.epsilon is not None or claim.delta):
        raise SettingError("--rho is a claim of its own, about --counts. Leave --epsilon, --delta and --values out.")
    if claim.epsilon is None and claim.rho is None:
        found = None if subject.function is None else plug_in_named(subject.function)
        if not is_local_randomizer(found):
            raise SettingError("an audit needs the claimed epsilon. Add: --epsilon 1")
    if subject.command is not None:
        return _audited_command(Command(subject.command), claim, runs, settings)
    assert subject.function is not None
    return _audited_function(subject.function, claim, runs, settings)


def _audited_plan(
    plan: Plan, subject: SubjectOptions, runs: int | None, source: Randomness, settings: dict[str, Any]
) -> Sequence[Audit]:
    """Audit our own mechanism, or whoever makes reports of its form."""
    if subject.command is None and not subject.made:
        return audit_plan(plan, n_runs=runs, **settings)
    mechanism = mechanism_of(plan)
    if subject.command is not None:
        made = Command(subject.command).hex_reports
        return [audit_reports_of(mechanism, made, epsilon=plan.epsilon, n_reports=runs or _COMMAND_RUNS, **settings)]
    reports = dict(_reports_of(one, plan) for one in subject.made or ())
    if len(reports) < 2:
        raise SettingError("an audit compares reports of at least two values. Give --made twice.")
    fewest = min(map(len, reports.values()))
    # coins are fair, so that a little more than half of all may be asked of one value
    n_safe = max(200, int(2 * fewest - 8 * fewest**0.5))
    return [
        audit_reports_of(
            mechanism,
            from_files(reports, randomness=source),
            epsilon=plan.epsilon,
            n_reports=min(runs or n_safe, n_safe),
            pairs=list(combinations(reports, 2)),
            **settings,
        )
    ]


def _reports_of(text: str, plan: Plan) -> tuple[int, np.ndarray[Any, np.dtype[np.uint8]]]:
    value, equals, path = text.partition("=")
    if not equals or not value.isdecimal() or int(value) >= plan.n_private:
        raise SettingError(
            f"made must be VALUE=FILE with a value from 0 to {plan.n_private - 1}; got made={text}. "
            "Give the number of the true value, and the file of its reports."
        )
    file = ReportFile.open(path)
    check_plan(path, file.provenance.plan_id, plan.fingerprint)
    return int(value), np.concatenate([reports for _, _, reports in file.batches()])


def _audited_command(
    command: Command, claim: ClaimOptions, runs: int | None, settings: dict[str, Any]
) -> Sequence[Audit]:
    _check_taken(claim)
    if claim.each:
        raise SettingError("--each is for functions; a command reads a value a line anyway. Leave it out.")
    settings |= {"epsilon": claim.epsilon, "delta": claim.delta}
    if claim.counts is not None:
        return audit_answers_function(
            command.answers,
            rho=claim.rho,
            counts=claim.counts,
            unit=claim.unit,
            n_runs=runs or _SLOW_RUNS,
            is_many=True,
            **settings,
        )
    values = _values(claim)
    return audit_reports_function(
        command.randomize, values=values, n_runs=runs or _COMMAND_RUNS, batch=_COMMAND_BATCH, **settings
    )


def _audited_function(name: str, claim: ClaimOptions, runs: int | None, settings: dict[str, Any]) -> Sequence[Audit]:
    found = plug_in_named(name)
    if is_local_randomizer(found):
        if replace(claim, epsilon=None) != ClaimOptions():
            raise SettingError("a randomizer object knows its values and has no delta. Leave all but --epsilon out.")
        return audit_local(found, epsilon=claim.epsilon, n_runs=runs, **settings)
    _check_taken(claim)
    function = guarded(found, name)
    settings |= {"epsilon": claim.epsilon, "delta": claim.delta}
    if claim.counts is not None:
        return audit_answers_function(
            function, rho=claim.rho, counts=claim.counts, unit=claim.unit, n_runs=runs or _SLOW_RUNS, **settings
        )
    randomize = one_by_one(function) if claim.each else function
    n_runs = runs or (_SLOW_RUNS if claim.each else _FUNCTION_RUNS)
    return audit_reports_function(randomize, values=_values(claim), n_runs=n_runs, **settings)


def _check_unclaimed(claim: ClaimOptions) -> None:
    if claim != ClaimOptions():
        raise SettingError("a plan and a counter state their own epsilon and values. Leave these options out.")


def _check_taken(claim: ClaimOptions) -> None:
    if (claim.values is None) == (claim.counts is None):
        raise SettingError("an audit needs to know what is taken. Add --values 17 for reports, or --counts 16.")
    if claim.each and claim.counts is not None:
        raise SettingError("--each is for values, and rows of counts are taken one at a time anyway. Leave it out.")
    if claim.unit != 1 and claim.values is not None:
        raise SettingError("--unit is what a unit adds to a count; values have none. Leave it out, or give --counts.")


def _values(claim: ClaimOptions) -> int | list[str]:
    assert claim.values is not None
    if claim.values.isdecimal():
        return int(claim.values)
    return [value.strip() for value in claim.values.split(",")]


def _say(found: Sequence[Audit], confidence: float) -> None:
    rows = [
        [
            one.name,
            ("rho " if one.measure == "rho" else "")
            + f"{one.claimed:.4g}"
            + (f" (delta {one.delta:g})" if one.delta else ""),
            one.bound_text,
            f"{100 * one.confidence:.4g} %",
            f"{one.n_runs:,}",
            str(one.verdict),
        ]
        for one in found
    ]
    console.table(["audit", "claimed", "found at least", "confidence", "runs", "verdict"], rows)
    for one in found:
        for said in one.found:
            console.say(f"{one.name}: {said}.")
    together = f"All bounds hold together with confidence {100 * confidence:.4g} %. " if len(found) > 1 else ""
    if any(one.is_refuted for one in found):
        console.strong(f"{together}The claim is REFUTED: the mechanism gives away more than it says.")
    else:
        console.say(f"{together}The claim is not refuted, which is no proof that it holds.")
