"""tacit plan: agree on what is counted and how privately."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

import typer

from tacit._base.languages import listed
from tacit._base.rounding import at_most, epsilon_at_most, percent_at_most, round_up, whole
from tacit._base.validation import check_one_of
from tacit.cli import console
from tacit.cli.domains import domain_of, say_kinds
from tacit.cli.options import DomainOptions, Force, Panel, UnitOptions, takes
from tacit.cli.plan_devices import DeviceOptions, device_lines, device_plan, refuse
from tacit.counts.provenance import Provenance
from tacit.domain import Domain
from tacit.errors import SettingError
from tacit.mechanisms.central.table import CENTRAL_MECHANISMS
from tacit.mechanisms.planner import (
    CURATOR,
    NOBODY,
    USUAL_QUESTIONS,
    Comparison,
    Prediction,
    Question,
    Situation,
    Target,
    Wanted,
    compare,
    least_epsilon,
    least_events,
)
from tacit.mechanisms.planner.planning import error_text, reached, verdict
from tacit.mechanisms.registry import MECHANISMS, level_oracles, mechanism_of
from tacit.plan import Plan
from tacit.release import PrivacyStatement

_CURATOR: Final = "For a curator, with --trust curator"


@dataclass(frozen=True)
class QuestionOptions:
    """The options that say what will be asked, of how many events, and how good answers must be."""

    compare: Annotated[
        bool,
        typer.Option("--compare", help="Write nothing; print what every mechanism and fan-out would err by."),
    ] = False
    ask: Annotated[
        str | None,
        typer.Option(
            help="The questions: points, ranges (of any length), totals (running), and lengths of ranges in periods, "
            "such as points,7,30; each by place, by kind or by total where they add up the other, such as 7 by kind "
            f"(default: {USUAL_QUESTIONS}).",
            metavar="KINDS",
        ),
    ] = None
    expected_events: Annotated[
        float | None, typer.Option(help="How many events to expect, over all periods and places.", metavar="N")
    ] = None
    expected_events_per_bin: Annotated[
        float | None, typer.Option(help="How many to expect in one period, over all places.", metavar="N")
    ] = None
    target: Annotated[
        str | None,
        typer.Option(
            help="The error that answers may have: 40 (events) or 5% (of the answer). The plan gets the epsilon it "
            "takes; --compare with --epsilon and no --expected-events finds the number of events.",
            metavar="ERROR",
        ),
    ] = None

    @property
    def questions(self) -> tuple[Question, ...]:
        """The questions asked, or the usual ones."""
        return Question.parse(self.ask or USUAL_QUESTIONS)

    def n_events(self, n_bins: int) -> float | None:
        """Return how many events to expect in all, None if nothing was said."""
        if self.expected_events is not None and self.expected_events_per_bin is not None:
            raise SettingError(
                "the events are expected in all or in each period. Give --expected-events or --expected-events-per-bin."
            )
        return self.expected_events if self.expected_events_per_bin is None else self.expected_events_per_bin * n_bins


@takes(
    domain=DomainOptions,
    asked=Panel("What will be asked, and how well", QuestionOptions),
    whose=Panel(_CURATOR, UnitOptions),
    devices=Panel("For devices that report for years, with --unit device", DeviceOptions),
)
def plan(
    domain: DomainOptions,
    asked: QuestionOptions,
    whose: UnitOptions,
    devices: DeviceOptions,
    epsilon: Annotated[
        float | None, typer.Option(help="How much one report, or one release, may give away; smaller is safer.")
    ] = None,
    f: Annotated[
        float | None, typer.Option(help="RAPPOR's share of bits replaced by a coin, instead of epsilon.")
    ] = None,
    trust: Annotated[
        str, typer.Option(help="nobody (devices randomize) or curator (who counts exactly and adds noise).")
    ] = NOBODY,
    private: Annotated[
        str | None,
        typer.Option(
            help="What a report hides: any of time, place and kind (default: place, and kind if there is one; the time "
            "where neither is)."
        ),
    ] = None,
    delta: Annotated[
        float | None,
        typer.Option(
            help="The chance of a broken promise, such as 1e-6; allows Gaussian noise.", rich_help_panel=_CURATOR
        ),
    ] = None,
    rho: Annotated[
        float | None,
        typer.Option(help="The budget as zero-concentrated privacy, instead of epsilon.", rich_help_panel=_CURATOR),
    ] = None,
    mechanism: Annotated[
        str | None,
        typer.Option(
            help=f"The randomizer: {', '.join(MECHANISMS)}; for a curator: {', '.join(CENTRAL_MECHANISMS)} "
            "(default: the one that errs least; with --f: unary)."
        ),
    ] = None,
    fan_outs: Annotated[
        str | None,
        typer.Option(
            help="The fan-outs of a tree of your own, root first, such as 16,16,16: of a curator's, or of hierarchical."
        ),
    ] = None,
    oracle: Annotated[
        str | None,
        typer.Option(
            help=f"What the levels of hierarchical randomize by: {', '.join(level_oracles())} (default: the one that "
            "errs least in a short report)."
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="A name for people.")] = "counts",
    out: Annotated[Path, typer.Option(help="Where to write the plan.", metavar="FILE")] = Path("plan.toml"),
    force: Force = False,
) -> None:
    """Write a plan: the public agreement on what is counted and how privately.

    Devices that trust nobody randomize by it; with [bold]--trust curator[/bold] someone trusted counts exactly and adds
    noise. Give [bold]--epsilon[/bold], RAPPOR's [bold]--f[/bold], or the error that answers may have,
    [bold]--target[/bold], from which epsilon follows. Without --to the plan has no end.

    [bold]--compare[/bold] writes nothing and prints how much every mechanism and fan-out would err.

    Example: [bold]tacit plan --places doubs --zone Europe/Paris --from 2006-01-01 --to 2018-12-31 --epsilon 2.2[/bold]
    """
    if not asked.compare:
        console.check_new(out, force=force)
    check_one_of((NOBODY, CURATOR), trust=trust)
    what = domain_of(domain)
    whom = Wanted(what, trust, _hidden(private, trust, what), delta, rho, whose.protected())
    if asked.compare:
        refuse(f=f, mechanism=mechanism, fan_outs=fan_outs, oracle=oracle, why="a comparison tries all of them")
        _say_comparison(whom, asked, epsilon)
        return
    if asked.target is not None:
        refuse(epsilon=epsilon, f=f, rho=rho, why="epsilon follows from --target; leave one of them out")
        epsilon = _epsilon_of_target(whom, asked)
    is_device = whom.unit.name == "device" and trust != CURATOR
    if not is_device:
        refuse(**devices.given, why="it belongs to devices that report for years; add --unit device")
    if trust == CURATOR:
        refuse(f=f, why="it belongs to RAPPOR, by which devices randomize; give --epsilon")
        refuse(oracle=oracle, why="it belongs to devices, which randomize by it; a curator adds noise")
    else:
        refuse(
            delta=delta,
            rho=rho,
            unit=None if whose == UnitOptions() or is_device else whose.unit,
            why="it belongs to a curator; add --trust curator",
        )
    reason: str | None
    if is_device:
        refuse(
            f=f,
            mechanism=mechanism,
            fan_outs=fan_outs,
            oracle=oracle,
            ask=asked.ask,
            why="of all that remember the one that errs least is taken",
        )
        made, reason = device_plan(what, whom.private, epsilon, devices, name)
    else:
        made, reason = whom.plan(
            epsilon,
            questions=None if asked.ask is None else asked.questions,
            f=f,
            mechanism=mechanism,
            fan_outs=_numbers(fan_outs),
            oracle=oracle,
            name=name,
        )
    made.domain.check_size()  # a larger one would not be read again
    made.write(out)
    _say(made, out, reason)


def _hidden(private: str | None, trust: str, domain: Domain) -> tuple[str, ...]:
    """Return what is private, in the order of the axes; by default devices hide all that they may without an end."""
    axes = domain.axes
    if trust == CURATOR:
        refuse(private=private, why=f"a trusted curator hides {listed(axes)} alike")
        return axes
    several = {axis for axis in axes[1:] if axis != "place" or not domain.place.is_all} or {"time"}
    named = several if private is None else {part.strip() for part in private.split(",")}
    if "kind" in named and domain.kind is None:
        raise SettingError("--private names the kind, and no kinds are counted. Name them, too: --kinds fire,flood")
    return tuple(axis for axis in axes if axis in named) if named <= set(axes) else tuple(sorted(named))


def _numbers(fan_outs: str | None) -> list[int] | None:
    if fan_outs is None:
        return None
    try:
        return [int(part) for part in fan_outs.split(",")]
    except ValueError:
        raise SettingError(
            f"fan-outs must be whole numbers with commas; got {fan_outs}. Write 16,16,16, say."
        ) from None


def _say(made: Plan, out: Path, reason: str | None) -> None:
    statement = PrivacyStatement.of(made, Provenance(made.fingerprint), unbiased_steps=(), refined_steps=())
    odds, belief = at_most(statement.odds), percent_at_most(statement.largest_belief)
    console.say(f"Wrote {out}, fingerprint {made.fingerprint}.")
    say_kinds(made.domain)
    if made.is_central:
        delta = f" at delta {made.delta:g}" if made.delta else ""
        console.say(
            f"Epsilon {epsilon_at_most(made.epsilon)}{delta}, per {made.protected_unit}: a release changes the odds "
            f"that one is among the data by at most a factor of {odds}; whoever thought that as likely as not can be "
            f"at most {belief} sure afterwards."
        )
    else:
        console.say(
            f"Epsilon {epsilon_at_most(made.epsilon)}: one report changes the odds between two values by at most a "
            f"factor of {odds}; whoever thought all {made.n_private} equally likely can be at most {belief} sure "
            "afterwards."
        )
    if reason is not None:
        console.say(reason)
    for line in device_lines(made) if made.unit == "device" else ():
        console.say(line)
    if made.is_central:
        console.say(f"Next: tacit count EVENTS --plan {out}")
        return
    console.say(f"A report has {console.counted(mechanism_of(made).report_bytes, 'byte')}, whatever it hides.")
    if made.domain.kind is not None and made.public:
        console.say(f"Not hidden: everybody may see the {listed(made.public)} of every report.")
    console.say(
        "Next: devices report by it from a memo, see the guide longitudinal.md"
        if made.unit == "device"
        else f"Next: tacit randomize EVENTS --plan {out}"
    )


def _epsilon_of_target(whom: Wanted, asked: QuestionOptions) -> float:
    """Return the epsilon that the wanted error takes; refused where no epsilon reaches it."""
    assert asked.target is not None
    target, n_events = Target.parse(asked.target), asked.n_events(whom.n_bins)
    if n_events is None and (target.is_relative or whom.trust != CURATOR):
        raise SettingError(
            "how much an error matters depends on what is counted. Add how many events to expect: "
            "--expected-events 400000"
        )
    found = _epsilon_for(asked.questions, target, whom.situation(1.0, n_events or 1.0))
    if found is None:
        raise SettingError("No plan was written. Ask for a larger error, longer periods or fewer places.")
    return found


def _say_comparison(whom: Wanted, options: QuestionOptions, epsilon: float | None) -> None:
    """Print the comparison; of epsilon (or rho), the number of events and the target the one not given is found."""
    questions, n_events = options.questions, options.n_events(whom.n_bins)
    target = None if options.target is None else Target.parse(options.target)
    is_spent = epsilon is not None or whom.rho is not None
    if target is None and not is_spent:
        raise SettingError(
            "a comparison needs what may be spent, or what errors may be. Add: --epsilon 1, or --target 5%"
        )
    if n_events is None:
        if target is None or not is_spent:
            raise SettingError(
                "how much an error matters depends on what is counted. Add how many events to expect: "
                "--expected-events 400000"
            )
        n_events = float(least_events(whom.situation(epsilon, 1.0), questions, target))
        console.strong(f"An error of {target} takes {whole(n_events)} events in all.")
        target = None
    elif not is_spent:
        assert target is not None
        epsilon = _epsilon_for(questions, target, whom.situation(1.0, n_events))
        if epsilon is None:
            return
        target = None
    with console.progress("Comparing mechanisms"):
        compared = compare(whom.situation(epsilon, n_events), questions)
        sentences = verdict(compared) + ([] if target is None else [reached(compared, target)])
    _say_table(compared)
    for sentence in sentences:
        console.say(sentence)


def _epsilon_for(questions: Sequence[Question], target: Target, situation: Situation) -> float | None:
    with console.progress("Looking for the least epsilon"):
        needed = least_epsilon(situation, questions, target)
    if needed is None:
        console.strong(f"No epsilon up to 32 gives answers that err by at most {target}; more would protect nobody.")
        return None
    console.strong(f"An error of {target} takes epsilon {epsilon_at_most(needed)}.")
    return round_up(needed, 4)


def _say_table(compared: Comparison) -> None:
    situation, questions = compared.situation, compared.questions
    least = [compared.least_error(question) for question in questions]

    def row(one: Prediction) -> list[str]:
        errors = (
            error_text(error) + ("*" if error <= smallest * (1 + 1e-9) else " ")
            for error, smallest in zip(one.errors, least, strict=True)
        )
        size = one.contender.report_bytes
        return [str(one.contender), *errors, *([] if size is None else [f"{size:,}"])]

    answers = [error_text(situation.expected(question)) + " " for question in questions]
    blank = [] if situation.is_central else [""]
    console.say(_said(situation))
    console.table(
        ["mechanism, fan-outs", *(question.heading for question in questions), *(["bytes"] if blank else [])],
        [["(the answer itself)", *answers, *blank], *(row(one) for one in compared.predictions)],
    )
    about = "one place" if situation.n_kinds == 1 else "one kind in one place"
    console.say(f"Errors are root mean squares, in events, of answers about {about}. * The least of a column.")
    if any(one.contender.is_continual for one in compared.predictions):
        console.say("Counters publish after every period; all others publish once, at the end.")


def _said(situation: Situation) -> str:
    kinds = (situation.n_kinds,) if situation.n_kinds > 1 else ()
    size = console.size((situation.n_bins, situation.n_places, *kinds))
    events = f"about {whole(situation.n_events)} events"
    if situation.rho is not None:
        spent = f"rho {epsilon_at_most(situation.rho)}"
    else:
        assert situation.epsilon is not None
        spent = f"epsilon {epsilon_at_most(situation.epsilon)}"
    delta = f", delta {situation.delta:g}" if situation.delta is not None else ""
    if situation.is_central:
        return f"{size}, {events}; a trusted curator spends {spent}{delta} per {situation.unit}."
    return f"{size}, {events}; devices that trust nobody hide the {listed(situation.private)}, {spent} per event."
