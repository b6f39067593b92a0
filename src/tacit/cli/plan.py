"""tacit plan: agree on what is counted and how privately."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import console
from tacit.cli.options import DomainOptions, Force, takes
from tacit.cli.sources import domain_of
from tacit.domain import Domain
from tacit.mechanisms import MECHANISMS, mechanism_of, plan_for
from tacit.planner import choose
from tacit.provenance import Provenance
from tacit.release import PrivacyStatement
from tacit.rounding import at_most, epsilon_at_most, percent_at_most


@takes(domain=DomainOptions)
def plan(
    domain: DomainOptions,
    epsilon: Annotated[float | None, typer.Option(help="How much one report may give away; smaller is safer.")] = None,
    f: Annotated[
        float | None, typer.Option(help="RAPPOR's share of bits replaced by a coin, instead of epsilon.")
    ] = None,
    private: Annotated[str, typer.Option(help="What the report hides: place, time or time,place.")] = "place",
    mechanism: Annotated[
        str | None,
        typer.Option(
            help=f"The randomizer: {', '.join(MECHANISMS)} (default: the one that errs least; with --f: unary)."
        ),
    ] = None,
    name: Annotated[str, typer.Option(help="A name for people.")] = "counts",
    out: Annotated[Path, typer.Option(help="Where to write the plan.", metavar="FILE")] = Path("plan.toml"),
    force: Force = False,
) -> None:
    """Write a plan: the public agreement between those who report and those who count.

    Without --to the plan has no end. Give [bold]--epsilon[/bold], or RAPPOR's [bold]--f[/bold].

    Example: [bold]tacit plan --places doubs --from 2006-01-01 --to 2018-12-31 --epsilon 2.2[/bold]
    """
    console.check_new(out, force=force)
    named = {part.strip() for part in private.split(",")}
    hidden = tuple(axis for axis in ("time", "place") if axis in named) if named <= {"time", "place"} else tuple(named)
    over = domain_of(domain)
    reason = None
    if mechanism is None:
        mechanism, reason = _chosen(over, epsilon, hidden) if f is None else ("unary", None)
    made = plan_for(over, epsilon=epsilon, f=f, mechanism=mechanism, private=hidden, name=name)
    randomizer = mechanism_of(made)
    made.write(out)
    statement = PrivacyStatement.of(made, Provenance(made.fingerprint), unbiased_steps=(), refined_steps=())
    console.say(f"Wrote {out}, fingerprint {made.fingerprint}.")
    console.say(
        f"Epsilon {epsilon_at_most(made.epsilon)}: one report changes the odds between two values by at most a factor "
        f"of {at_most(statement.odds)}; whoever thought all {made.n_private} equally likely can be at most "
        f"{percent_at_most(statement.largest_belief)} sure afterwards."
    )
    if reason is not None:
        console.say(reason)
    console.say(f"A report has {console.counted(randomizer.report_bytes, 'byte')}, whatever it hides.")
    console.say(f"Next: tacit randomize EVENTS --plan {out} --time COLUMN --place COLUMN")


def _chosen(domain: Domain, epsilon: float | None, private: tuple[str, ...]) -> tuple[str, str | None]:
    """The mechanism that errs least, and why."""
    if epsilon is None:
        return "unary", None  # plan_for asks for epsilon or f
    n_cells = plan_for(domain, epsilon=epsilon, private=private).n_private
    choice = choose(n_cells, epsilon)
    return choice.candidate.name, choice.reason
