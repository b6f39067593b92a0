"""The table of a curator's mechanisms, and the way from a plan to its mechanism."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from tacit.domain import Domain, Hierarchy
from tacit.domain.hierarchy import check_fan_outs
from tacit.errors import PlanError, Remedy, SettingError
from tacit.mechanisms.central.marginals import NAMES, MarginalTables, best_shares
from tacit.mechanisms.central.tree import NoisyTree
from tacit.mechanisms.central.tree_design import best_tree
from tacit.plan import CENTRAL, Plan
from tacit.privacy.cost import Cost
from tacit.privacy.unit import Unit

_SLACK: Final = 1e-9  # relative: what a float's last digits are worth
_CALENDAR: Final = ("year", "month", "week", "day")


@dataclass(frozen=True, slots=True)
class CentralEntry:
    """A mechanism by name: how a plan's integers become its tree or tables, and which integers a new plan gets."""

    name: str
    aliases: tuple[str, ...]
    from_plan: Callable[[Plan], NoisyTree | MarginalTables]
    integers: Callable[[Domain, Cost, Unit], Mapping[str, int]]


def _flat(plan: Plan) -> NoisyTree:
    tree = Hierarchy.of_levels([], plan.domain.shape[0])
    return NoisyTree(tree, _root_free(tree, [1]), _cost(plan), unit=plan.protected_unit)


def _tree(plan: Plan) -> NoisyTree:
    integers = dict(plan.thresholds)
    height = len(integers) // 2
    fan_outs = [integers[f"fan-out {level}"] for level in range(1, height + 1)]
    shares = [integers[f"share {level}"] for level in range(1, height + 1)]
    tree = Hierarchy.of_fan_outs(fan_outs, plan.domain.shape[0])
    return NoisyTree(tree, _root_free(tree, shares), _cost(plan), unit=plan.protected_unit)


def _calendar_tree(plan: Plan) -> NoisyTree:
    integers = dict(plan.thresholds)
    axis = plan.domain.time
    steps = [step for step in _CALENDAR if f"share {step}" in integers and step != axis.step]
    tree = Hierarchy.of_time(axis, steps)
    shares = [integers[f"share {step}"] for step in (*steps, axis.step)]
    return NoisyTree(tree, _root_free(tree, shares), _cost(plan), unit=plan.protected_unit)


def _place_tree(plan: Plan) -> NoisyTree:
    integers = dict(plan.thresholds)
    axis = plan.domain.place
    levels = [level for level in reversed(_place_levels(plan.domain)) if f"share {level}" in integers]
    tree, order = Hierarchy.of_places(axis, levels[:-1])
    shares = [integers[f"share {level}"] for level in levels]
    return NoisyTree(tree, _root_free(tree, shares), _cost(plan), axis="place", order=order, unit=plan.protected_unit)


def _tables(plan: Plan) -> MarginalTables:
    integers = dict(plan.thresholds)
    shares = tuple(integers.pop(f"share {name}", 0) for name in NAMES)
    if integers:
        raise SettingError("shares must be those of known tables. Make the plan again.")
    return MarginalTables(plan.domain.sizes, shares, _cost(plan), unit=plan.protected_unit)


def _root_free(tree: Hierarchy, shares: Sequence[int]) -> tuple[int, ...]:
    """Return parts of the budget for all levels: none for the root, unless the root is all there is."""
    if tree.n_levels == 1:
        return (1,)
    if len(shares) != tree.n_levels - 1:
        raise PlanError("the plan's tree has another number of levels than its shares.", remedy=Remedy.MAKE_PLAN)
    return (0, *shares)


def _cost(plan: Plan) -> Cost:
    return Cost.zcdp(plan.rho) if plan.rho else Cost.pure(plan.epsilon)


def _designed(domain: Domain, cost: Cost, unit: Unit) -> Mapping[str, int]:
    """Return the tree of least error over all ranges, as a plan carries it."""
    design = best_tree(domain.shape[0], cost=cost, unit=unit)
    levels = enumerate(zip(design.fan_outs, design.shares, strict=True), 1)
    return {
        name: number
        for level, (fan_out, share) in levels
        for name, number in ((f"fan-out {level}", fan_out), (f"share {level}", share))
    }


def _calendar(domain: Domain, cost: Cost, unit: Unit) -> Mapping[str, int]:
    """Return years and months, where there are several and they cut time up differently."""
    steps, n_above = [], 1
    for step in ("year", "month"):
        n_here = _n_periods(domain, step)
        if n_above < n_here < domain.shape[0]:
            steps.append(step)
            n_above = n_here
    return {f"share {step}": 1 for step in (*steps, domain.time.step)}


def _n_periods(domain: Domain, step: str) -> int:
    """Return the number of longer periods; none if bins do not nest in them, as weeks in months."""
    try:
        axis, _ = domain.time.coarsen(step)
    except SettingError:
        return 0
    return axis.n_bins or 0


def _places(domain: Domain, cost: Cost, unit: Unit) -> Mapping[str, int]:
    if domain.kind is not None:
        raise SettingError("a tree of places is for counts without kinds. Use a tree over time, or a flat table.")
    levels = _place_levels(domain)
    if len(levels) < 2:
        raise SettingError(
            "a tree of places needs places in larger places; this table has one level only. "
            "Give a table with regions, or use a flat table of counts."
        )
    return {f"share {level}": 1 for level in levels}


def _shared(domain: Domain, cost: Cost, unit: Unit, asked: Mapping[str, float] | None = None) -> Mapping[str, int]:
    """Return the shares of the tables with the least sum of variances of what is asked, as a plan carries them."""
    if domain.kind is None:
        raise SettingError("tables by place and by kind need kinds of events. Name them, or use a flat table.")
    shares = best_shares(domain.sizes, is_pure=bool(cost.epsilon), asked=asked, unit=unit)
    return {f"share {name}": share for name, share in zip(NAMES, shares, strict=True) if share}


def _place_levels(domain: Domain) -> list[str]:
    """Return the level that is counted and the larger ones, finest first, each with more than one place."""
    axis = domain.place
    if axis.gazetteer is None:
        return [axis.level]
    names = axis.gazetteer.levels
    larger = [level for level in names[names.index(axis.level) + 1 :] if axis.coarsen(level)[0].n_cells > 1]
    return [axis.level, *larger]


CENTRAL_MECHANISMS: Final[Mapping[str, CentralEntry]] = {
    "flat": CentralEntry("flat", ("laplace", "gaussian", "central flat", "flat counts"), _flat, lambda *_: {}),
    "tree": CentralEntry("tree", ("time tree", "central tree", "hierarchy"), _tree, _designed),
    "calendar tree": CentralEntry("calendar tree", ("calendar",), _calendar_tree, _calendar),
    "place tree": CentralEntry("place tree", ("tree of places",), _place_tree, _places),
    "tables": CentralEntry("tables", ("marginals", "marginal tables"), _tables, _shared),
}


def central_mechanism_named(name: str) -> CentralEntry:
    """Find a curator's mechanism by its name or another name of the field, in any case."""
    wanted = name.strip().lower().replace("_", " ")
    for entry in CENTRAL_MECHANISMS.values():
        if wanted == entry.name or wanted in entry.aliases:
            return entry
    raise SettingError(f"mechanism must be one of {', '.join(CENTRAL_MECHANISMS)}; got mechanism={name}.")


def central_mechanism_of(plan: Plan) -> NoisyTree | MarginalTables:
    """Make the mechanism a curator's plan agrees on, and verify that it costs what the plan states and no more."""
    if not plan.is_central:
        raise PlanError(
            "this plan is for devices that randomize, not for a curator who counts.",
            remedy=Remedy.RANDOMIZE_INSTEAD,
        )
    if plan.mechanism not in CENTRAL_MECHANISMS:
        raise PlanError(f"the plan's mechanism {plan.mechanism!r} is unknown to this version. Install a newer Tacit.")
    try:
        mechanism = CENTRAL_MECHANISMS[plan.mechanism].from_plan(plan)
    except (KeyError, SettingError):
        raise PlanError("the plan's integers do not fit its mechanism.", remedy=Remedy.MAKE_PLAN) from None
    if plan.rho and not mechanism.cost.epsilon_at(plan.delta) <= plan.epsilon * (1 + _SLACK):
        raise PlanError(
            f"the plan states epsilon {plan.epsilon!r} at delta {plan.delta!r}, but its rho {plan.rho!r} amounts to "
            f"{mechanism.cost.epsilon_at(plan.delta)!r}. Do not use it.",
            remedy=Remedy.MAKE_PLAN,
        )
    return mechanism


def central_plan_for(
    domain: Domain,
    *,
    epsilon: float | None = None,
    rho: float | None = None,
    delta: float | None = None,
    mechanism: str = "tree",
    fan_outs: Sequence[int] | None = None,
    asked: Mapping[str, float] | None = None,
    unit: str = "event",
    most: int = 1,
    most_per_cell: int = 0,
    window: str | None = None,
    name: str = "counts",
) -> Plan:
    """Agree on a curator's mechanism: by epsilon alone, by epsilon and delta, or by rho and delta (Gaussian noise).

    ``fan_outs`` makes the tree by hand, root first, every level with the same part of the budget.
    ``asked`` weighs what tables will be asked about (total, place, kind, joint); left out, the last three count alike.
    Of a person at most ``most`` events are counted in each ``window`` (left out: in all that is released), at most
    ``most_per_cell`` of these in one cell (left out: ``most``).

    >>> from tacit.domain import Domain, PlaceAxis, TimeAxis
    >>> domain = Domain(TimeAxis.between("2018-01-01", "2018-12-31"), PlaceAxis.of(["north", "south"]))
    >>> plan = central_plan_for(domain, epsilon=1.0, mechanism="flat")
    >>> plan.mechanism, plan.unit, plan.neighbors
    ('flat', 'event', 'add or remove')
    """
    if (epsilon is None) == (rho is None):
        raise SettingError("give either epsilon or rho, not both and not neither. epsilon=1 is usual.")
    if rho is not None and delta is None:
        raise SettingError("rho needs a delta at which its epsilon is stated. delta=1e-6 is usual.")
    entry = central_mechanism_named(mechanism)
    if fan_outs is not None and entry.name != "tree":
        raise SettingError(f"fan_outs belong to the mechanism tree; got mechanism={mechanism}.")
    if asked is not None and entry.name != "tables":
        raise SettingError(f"asked belongs to the mechanism tables; got mechanism={mechanism}.")
    protected = Unit(unit, most, most_per_cell, window)
    if rho is not None:
        cost = Cost.zcdp(rho)
    else:
        assert epsilon is not None
        cost = Cost.pure(epsilon) if delta is None else Cost.approximate(epsilon, delta)
    if asked is not None:
        integers = _shared(domain, cost, protected, asked)
    elif fan_outs is None:
        integers = entry.integers(domain, cost, protected)
    else:
        check_fan_outs(fan_outs, domain.shape[0], "periods")
        integers = {f"fan-out {level}": fan_out for level, fan_out in enumerate(fan_outs, 1)}
        integers |= {f"share {level}": 1 for level in range(1, len(fan_outs) + 1)}
    plan = Plan(
        domain,
        entry.name,
        epsilon if epsilon is not None else cost.epsilon_at(delta or 0.0),
        tuple(sorted(integers.items())),
        private=domain.axes,
        **protected.settings,
        neighbors=CENTRAL,
        name=name,
        rho=cost.rho,
        delta=delta or 0.0,
    )
    central_mechanism_of(plan)
    return plan
