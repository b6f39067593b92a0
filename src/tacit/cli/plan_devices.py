"""Plans for devices that report for years: the options of ``tacit plan --unit device``, and what is said of a plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from tacit._base.rounding import epsilon_at_most
from tacit.errors import SettingError

if TYPE_CHECKING:
    from tacit.domain import Domain
    from tacit.plan import Plan


@dataclass(frozen=True)
class DeviceOptions:
    """The options that say what devices will report, and what all of it may tell."""

    reports: Annotated[
        int | None,
        typer.Option(help="How many reports to expect about one value (default: one in every period).", metavar="N"),
    ] = None
    epsilon_infinity: Annotated[
        float | None,
        typer.Option(help="How much any number of reports about one value may give away (default: twice --epsilon)."),
    ] = None
    values: Annotated[
        int | None,
        typer.Option(help="How many different values a device will hold; 0 for any number (default: 1).", metavar="N"),
    ] = None
    epsilon_of_values: Annotated[
        float | None, typer.Option(help="How much all reports may give away of which values these were.")
    ] = None

    @property
    def given(self) -> dict[str, object]:
        """The options by name; those that were left out are None."""
        return {name: getattr(self, name) for name in self.__dataclass_fields__}


def refuse(*, why: str, **options: object) -> None:
    """Refuse options that have no meaning here."""
    for name, value in options.items():
        if value is not None:
            raise SettingError(f"leave out --{name.replace('_', '-')}: {why}.")


def device_plan(
    domain: Domain, private: tuple[str, ...], epsilon: float | None, options: DeviceOptions, name: str
) -> tuple[Plan, str]:
    """Return a plan for devices with a memo, and why it has its mechanism."""
    from tacit.mechanisms.planner import plan_for_devices

    if epsilon is None:
        raise SettingError("epsilon must be given for the unit device: what one report may tell. Add --epsilon 1")
    plan, chosen = plan_for_devices(
        domain,
        epsilon=epsilon,
        epsilon_infinity=options.epsilon_infinity,
        n_reports=options.reports or 0,
        n_values=1 if options.values is None else options.values or None,
        epsilon_of_values=options.epsilon_of_values,
        private=private,
        name=name,
    )
    over = f"over {chosen.n_reports:,} reports" if chosen.n_reports > 1 else "of one report"
    return plan, f"{chosen.name.capitalize()}: the mean {over} of each device errs least of all that remember."


def device_lines(plan: Plan) -> tuple[str, ...]:
    """Return what reports of one device tell over years, as lines for a screen."""
    figures = plan.device_figures
    assert figures is not None
    several = (
        ()
        if figures.epsilon_n is None or figures.n_reports is None
        else (f"{figures.n_reports:,} reports about one value: epsilon {epsilon_at_most(figures.epsilon_n)}.",)
    )
    noun = "hash values" if figures.is_hashed else "values"
    return (
        f"One report: epsilon {epsilon_at_most(figures.epsilon_1)}.",
        *several,
        f"Any number of reports about one value: epsilon {epsilon_at_most(figures.epsilon_infinity)}.",
        f"Values that change, for ever: epsilon {epsilon_at_most(figures.epsilon_of_values)}, of which of "
        f"{figures.n_slots:,} {noun} a device had.",
    )
