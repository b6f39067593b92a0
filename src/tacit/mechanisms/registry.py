"""The explicit table of mechanisms, and the way from a plan to the code that honours it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final, TypeVar, cast

from tacit.counts.oracle_distributions import mean_variance
from tacit.domain import Domain, Hierarchy
from tacit.domain.hierarchy import check_fan_outs
from tacit.domain.marginals import Axes, subsets
from tacit.errors import PlanError, Remedy, SettingError
from tacit.mechanisms.local.hadamard import HadamardResponse
from tacit.mechanisms.local.hashing import LocalHashing
from tacit.mechanisms.local.hierarchical import HierarchicalHistogram
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.local.memoized_hashing import LongitudinalHashing
from tacit.mechanisms.local.randomized_response import RandomizedResponse
from tacit.mechanisms.local.randomizer import FrequencyOracle, LocalRandomizer
from tacit.mechanisms.local.subset import SubsetSelection
from tacit.mechanisms.local.tables import SampledTables
from tacit.mechanisms.local.tree_design import LEVEL_ORACLES, LevelOracle, short_oracle
from tacit.mechanisms.local.unary import UnaryEncoding
from tacit.plan import Plan
from tacit.privacy.epsilon import check_epsilon

TIE: Final = 1e-3
"""Mean variances closer than this, relatively, count as equal: the shorter report is taken."""
_Oracle = TypeVar("_Oracle", bound=LocalRandomizer)
_SLACK: Final = 1e-9  # relative: what a float's last digits are worth


@dataclass(frozen=True, slots=True)
class Mechanism:
    """An entry of the table: a name, the field's names for it, and how to make it.

    Several entries may share a kind: what differs is how thresholds are made from epsilon. One that ``is_repeated`` is
    made for devices that report again and again, and errs more than it must where each event is reported once. One that
    ``is_sampled`` answers for one level of a tree, or one table, in each report: sums err less, and single values more.
    ``over_axes`` makes one that must know the sizes of the private coordinates, and weights of what is asked.
    """

    name: str
    aliases: tuple[str, ...]
    kind: type[LocalRandomizer]
    from_epsilon: Callable[[float, int], LocalRandomizer]
    from_thresholds: Callable[[Mapping[str, int], int], LocalRandomizer]
    is_repeated: bool = False
    is_sampled: bool = False
    over_axes: Callable[[float, tuple[int, ...], Mapping[Axes, float] | None], LocalRandomizer] | None = None


def _unary_from_thresholds(thresholds: Mapping[str, int], n_cells: int) -> LocalRandomizer:
    return UnaryEncoding(n_cells=n_cells, ones=thresholds["ones"], zeros=thresholds["zeros"])


def _hashing_from_thresholds(thresholds: Mapping[str, int], n_cells: int) -> LocalRandomizer:
    return LocalHashing(n_cells=n_cells, bits=thresholds["bits"], keep=thresholds["keep"])


MECHANISMS: Final[Mapping[str, Mechanism]] = {
    "unary": Mechanism(
        name="unary",
        aliases=("rappor", "one-time rappor", "sue", "symmetric unary encoding", "basic rappor"),
        kind=UnaryEncoding,
        from_epsilon=lambda epsilon, k: UnaryEncoding.symmetric(epsilon=epsilon, n_cells=k),
        from_thresholds=_unary_from_thresholds,
    ),
    "optimized unary": Mechanism(
        name="optimized unary",
        aliases=("oue", "optimized unary encoding"),
        kind=UnaryEncoding,
        from_epsilon=lambda epsilon, k: UnaryEncoding.optimized(epsilon=epsilon, n_cells=k),
        from_thresholds=_unary_from_thresholds,
    ),
    "tuned unary": Mechanism(
        name="tuned unary",
        aliases=("tuned unary encoding",),
        kind=UnaryEncoding,
        from_epsilon=lambda epsilon, k: UnaryEncoding.tuned(epsilon=epsilon, n_cells=k),
        from_thresholds=_unary_from_thresholds,
    ),
    "response": Mechanism(
        name="response",
        aliases=(
            "grr",
            "randomized response",
            "generalized randomized response",
            "k-ary randomized response",
            "krr",
            "k-rr",
            "direct encoding",
        ),
        kind=RandomizedResponse,
        from_epsilon=lambda epsilon, k: RandomizedResponse.from_epsilon(epsilon=epsilon, n_cells=k),
        from_thresholds=lambda t, k: RandomizedResponse(n_cells=k, keep=t["keep"]),
    ),
    "subset": Mechanism(
        name="subset",
        aliases=("ss", "subset selection"),
        kind=SubsetSelection,
        from_epsilon=lambda epsilon, k: SubsetSelection.from_epsilon(epsilon=epsilon, n_cells=k),
        from_thresholds=lambda t, k: SubsetSelection(n_cells=k, size=t["size"], include=t["include"]),
    ),
    "hadamard": Mechanism(
        name="hadamard",
        aliases=("hr", "hadamard response"),
        kind=HadamardResponse,
        from_epsilon=lambda epsilon, k: HadamardResponse.from_epsilon(epsilon=epsilon, n_cells=k),
        from_thresholds=lambda t, k: HadamardResponse(n_cells=k, keep=t["keep"]),
    ),
    "hashing": Mechanism(
        name="hashing",
        aliases=("olh", "local hashing", "optimized local hashing"),
        kind=LocalHashing,
        from_epsilon=lambda epsilon, k: LocalHashing.from_epsilon(epsilon=epsilon, n_cells=k),
        from_thresholds=_hashing_from_thresholds,
    ),
    "longitudinal": Mechanism(
        name="longitudinal",
        aliases=("longitudinal rappor", "memoized rappor", "l-sue"),
        kind=LongitudinalRappor,
        from_epsilon=lambda epsilon, k: LongitudinalRappor.from_epsilon(epsilon=epsilon, n_cells=k),
        from_thresholds=LongitudinalRappor.from_thresholds,
        is_repeated=True,
    ),
    "binary hashing": Mechanism(
        name="binary hashing",
        aliases=("blh", "binary local hashing"),
        kind=LocalHashing,
        from_epsilon=lambda epsilon, k: LocalHashing.from_epsilon(epsilon=epsilon, n_cells=k, binary=True),
        from_thresholds=_hashing_from_thresholds,
    ),
    "hierarchical": Mechanism(
        name="hierarchical",
        aliases=("hh", "hierarchical histogram", "hierarchical histograms"),
        kind=HierarchicalHistogram,
        from_epsilon=lambda epsilon, k: HierarchicalHistogram.from_epsilon(epsilon=epsilon, n_cells=k),
        from_thresholds=HierarchicalHistogram.from_thresholds,
        is_sampled=True,
    ),
    "optimized longitudinal": Mechanism(
        name="optimized longitudinal",
        aliases=("l-osue", "optimized longitudinal rappor"),
        kind=LongitudinalRappor,
        from_epsilon=lambda epsilon, k: LongitudinalRappor.from_epsilon(epsilon=epsilon, n_cells=k, optimized=True),
        from_thresholds=LongitudinalRappor.from_thresholds,
        is_repeated=True,
    ),
    "longitudinal hashing": Mechanism(
        name="longitudinal hashing",
        aliases=("loloha", "ololoha", "longitudinal local hashing"),
        kind=LongitudinalHashing,
        from_epsilon=lambda epsilon, k: LongitudinalHashing.from_epsilon(epsilon=epsilon, n_cells=k),
        from_thresholds=LongitudinalHashing.from_thresholds,
        is_repeated=True,
    ),
    "binary longitudinal hashing": Mechanism(
        name="binary longitudinal hashing",
        aliases=("biloloha", "binary longitudinal local hashing"),
        kind=LongitudinalHashing,
        from_epsilon=lambda epsilon, k: LongitudinalHashing.from_epsilon(epsilon=epsilon, n_cells=k, binary=True),
        from_thresholds=LongitudinalHashing.from_thresholds,
        is_repeated=True,
    ),
    "sampled tables": Mechanism(
        name="sampled tables",
        aliases=("smp", "random sampling"),
        kind=SampledTables,
        from_epsilon=lambda epsilon, k: SampledTables.of_cells(epsilon=epsilon, n_cells=k),
        from_thresholds=SampledTables.from_thresholds,
        is_sampled=True,
        over_axes=lambda epsilon, sizes, asked: SampledTables.from_epsilon(epsilon=epsilon, sizes=sizes, asked=asked),
    ),
}


def mechanism_named(name: str) -> Mechanism:
    """Find a mechanism by its name or an acronym of the field, in any case.

    >>> mechanism_named("SUE").name
    'unary'
    """
    wanted = name.strip().lower().replace("_", " ")
    for entry in MECHANISMS.values():
        if wanted == entry.name or wanted in entry.aliases:
            return entry
    raise SettingError(f"mechanism must be one of {', '.join(MECHANISMS)}; got mechanism={name}.")


def mechanism_of(plan: Plan) -> LocalRandomizer:
    """Make the mechanism a plan agrees on, and verify that its thresholds give its epsilon and no more."""
    if plan.is_central:
        raise PlanError(
            "this plan is for a curator who counts, not for devices that randomize.",
            remedy=Remedy.COUNT_INSTEAD,
        )
    if plan.mechanism not in MECHANISMS:
        raise PlanError(f"the plan's mechanism {plan.mechanism!r} is unknown to this version. Install a newer Tacit.")
    try:
        mechanism = MECHANISMS[plan.mechanism].from_thresholds(dict(plan.thresholds), plan.n_private)
    except (KeyError, SettingError):
        raise PlanError("the plan's thresholds do not fit its mechanism.", remedy=Remedy.MAKE_PLAN) from None
    if not plan.epsilon * (1 - _SLACK) <= mechanism.epsilon <= plan.epsilon:
        raise PlanError(
            f"the plan states epsilon {plan.epsilon!r}, but its thresholds give {mechanism.epsilon!r}. Do not use it.",
            remedy=Remedy.MAKE_PLAN,
        )
    return mechanism


def oracles_by_variance(
    n_cells: int, epsilon: float, *, most_bytes: int | None = None
) -> list[tuple[str, FrequencyOracle]]:
    """Return the frequency oracles by mean variance, equal ones by the length of a report; the best comes first.

    Those made for devices that report again and again, and trees, which err more on single cells, are not among them.
    ``most_bytes`` leaves those out whose reports are longer.

    >>> oracles_by_variance(17, 2.2)[0][0], oracles_by_variance(3, 2.0)[0][0]
    ('subset', 'response')
    """
    made = [
        (entry.name, cast(FrequencyOracle, entry.from_epsilon(epsilon, n_cells)))
        for entry in MECHANISMS.values()
        if not entry.is_repeated and not entry.is_sampled
    ]
    measured = [
        (mean_variance(one.distribution), name, one)
        for name, one in made
        if most_bytes is None or one.report_bytes <= most_bytes
    ]
    return [(name, oracle) for _, name, oracle in ranked_by_variance(measured)]


def ranked_by_variance(measured: list[tuple[float, str, _Oracle]]) -> list[tuple[float, str, _Oracle]]:
    """Put mean variances, names and randomizers in order: the least variance first, of equal ones the shorter."""
    # nine digits: two ways to the same distribution differ in the last ones, and the table's order shall decide between
    # them
    left = sorted(measured, key=lambda one: float(f"{one[0]:.9g}"))
    ranked: list[tuple[float, str, _Oracle]] = []
    while left:
        ties = [one for one in left if one[0] <= left[0][0] * (1 + TIE)]
        ranked += sorted(ties, key=lambda one: one[2].report_bytes)
        left = left[len(ties) :]
    return ranked


def n_values(domain: Domain, private: tuple[str, ...] = ("place",)) -> int:
    """Return how many values a report hides among; one that would hide nothing is refused."""
    n_cells = Plan(domain, "any", 1.0, (), private=private).n_private
    if n_cells < 2:
        raise SettingError(
            f"a report needs at least two values to hide among; this domain has {n_cells} {' x '.join(private)}. "
            "Count finer places or a longer time."
        )
    return n_cells


def plan_for(
    domain: Domain,
    *,
    epsilon: float | None = None,
    f: float | None = None,
    mechanism: str | None = None,
    private: tuple[str, ...] = ("place",),
    fan_outs: Sequence[int] | None = None,
    oracle: str | None = None,
    asked: Mapping[str, float] | None = None,
    name: str = "counts",
) -> Plan:
    """Agree on a mechanism for a domain, by epsilon or by RAPPOR's f.

    Left out, the mechanism is the one that errs least (:func:`oracles_by_variance`); with f it is
    RAPPOR, ``unary``. ``fan_outs`` makes the tree of ``hierarchical`` by hand, root first, and ``oracle`` names the
    mechanism that all of its levels randomize by; either makes the mechanism ``hierarchical``. ``asked`` weighs the
    tables that ``sampled tables`` will be asked about: "joint", or the names of private coordinates, as "place" or
    "time place".

    >>> from tacit.domain import Domain, PlaceAxis, TimeAxis
    >>> domain = Domain(TimeAxis.between("2018-01-01", "2018-12-31"), PlaceAxis.of(["north", "south", "west"]))
    >>> plan_for(domain, epsilon=2.0).mechanism
    'response'
    >>> plan = plan_for(domain, f=0.5)
    >>> plan.mechanism, round(plan.epsilon, 4), dict(plan.thresholds)["zeros"] == 2**62
    ('unary', 2.1972, True)
    """
    if (epsilon is None) == (f is None):
        raise SettingError("give either epsilon or f, not both and not neither. epsilon=2.2 is f=0.5.")
    named = None if mechanism is None else mechanism_named(mechanism)
    if fan_outs is not None or oracle is not None:
        named = named or MECHANISMS["hierarchical"]
        if named.name != "hierarchical":
            raise SettingError(f"fan_outs and oracle belong to the mechanism hierarchical; got mechanism={mechanism}.")
    n_cells = n_values(domain, private)
    if epsilon is not None:
        check_epsilon(epsilon)
    if named is None:
        named = MECHANISMS["unary" if epsilon is None else oracles_by_variance(n_cells, epsilon)[0][0]]
    entry = named
    if asked is not None and entry.over_axes is None:
        raise SettingError(f"asked belongs to the mechanism sampled tables; got mechanism={mechanism}.")
    if f is not None:
        if entry.name != "unary":
            raise SettingError(f"f belongs to RAPPOR; got mechanism={mechanism}. Give epsilon.")
        randomizer: LocalRandomizer = UnaryEncoding.rappor(f=f, n_cells=n_cells)
    else:
        assert epsilon is not None
        if entry.over_axes is not None:
            sizes = Plan(domain, "any", 1.0, (), private=private).private_sizes
            randomizer = entry.over_axes(epsilon, sizes, None if asked is None else axes_asked(asked, private))
        elif fan_outs is not None:
            check_fan_outs(fan_outs, n_cells, "values")
            tree = Hierarchy.of_fan_outs(fan_outs, n_cells)
            randomizer = HierarchicalHistogram.over(tree, epsilon=epsilon, level_oracle=_level_oracle(oracle))
        elif oracle is not None:
            randomizer = HierarchicalHistogram.from_epsilon(
                epsilon=epsilon, n_cells=n_cells, level_oracle=_level_oracle(oracle)
            )
        else:
            randomizer = entry.from_epsilon(epsilon, n_cells)
    stated = randomizer.epsilon if epsilon is None else float(epsilon)
    thresholds = tuple(sorted(randomizer.thresholds().items()))
    plan = Plan(domain, entry.name, stated, thresholds, private=private, name=name)
    try:
        mechanism_of(plan)
    except PlanError:
        raise SettingError(
            f"epsilon must be one that {entry.name} can give exactly for {n_cells} values; got epsilon={epsilon}. "
            "Choose one between 0.001 and 20, or another mechanism."
        ) from None
    return plan


def level_oracles() -> list[str]:
    """Return the names of the mechanisms that may randomize the levels of a tree."""
    return [
        entry.name for entry in MECHANISMS.values() if issubclass(entry.kind, LEVEL_ORACLES) and not entry.is_repeated
    ]


def _level_oracle(name: str | None) -> LevelOracle:
    """Return the oracle of the levels that is named; left out, the one that errs least in a short report."""
    if name is None:
        return short_oracle
    entry = mechanism_named(name)
    if entry.name not in level_oracles():
        raise SettingError(f"oracle must be one of {', '.join(level_oracles())}; got oracle={name}.")
    return lambda epsilon, n_nodes: cast(FrequencyOracle, entry.from_epsilon(epsilon, n_nodes))


def axes_asked(asked: Mapping[str, float], private: tuple[str, ...]) -> dict[Axes, float]:
    """Return the weights of what is asked, by the numbers of private coordinates."""
    names = {"joint": tuple(range(len(private)))}
    names |= {" ".join(private[axis] for axis in axes): axes for axes in subsets(len(private))[1:]}
    if not asked.keys() <= names.keys():
        raise SettingError(f"asked must name some of {', '.join(names)}; got asked={', '.join(asked)}.")
    return {names[name]: weight for name, weight in asked.items()}
