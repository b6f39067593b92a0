r"""The choice: which randomizer says most about the counts, for so many cells and this epsilon.

A report of any oracle in :data:`~tacit.mechanisms.registry.MECHANISMS` supports the true cell with probability p and
any other with probability q. Over N reports, the variance of the estimated count of a cell that holds a share f of
them, and its mean over all k cells, whatever the data, are

.. math:: \frac{\mathrm{Var}}{N} = \frac{q(1-q)}{(p-q)^2} + f\,\frac{1-p-q}{p-q}, \qquad
          \frac{\overline{\mathrm{Var}}}{N} = \frac{q(1-q)}{(p-q)^2} + \frac1k\,\frac{1-p-q}{p-q}.

The choice is the least of the second, with p and q of the integer thresholds that the sampler uses. The usual formula
drops the last term, and with it picks encodings that are worse than RAPPOR where cells are few and epsilon is large.

A device that reports again and again keeps its value over n public bins and reports in each. Its permanent row is the
same in all of them, and its fresh coins are not. So a mean over n bins errs by a part that stays and a part that
averages out, exactly:

.. math:: \bar V_n = \bar V_\infty + \frac{\bar V_1 - \bar V_\infty}{n},

with the mean variance :math:`\bar V_1` of one report and :math:`\bar V_\infty` of a permanent row, each over all k
cells. One report of L-OSUE errs as optimized unary encoding of epsilon_1, one of longitudinal hashing as local hashing
of epsilon_1; permanent rows as those of epsilon_infinity. So the best number of hash values for one bin is that for
epsilon_1, and for many bins that for epsilon_infinity. Where values change, a device spends epsilon_infinity for each,
up to k times, or g times with g hash values. A bound on that sum makes epsilon_infinity smaller the more slots a
mechanism has, and then few hash values err least.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from fractions import Fraction

from tacit._base.rounding import float_below
from tacit._base.validation import check_at_least, check_share
from tacit.counts.oracle_distributions import mean_variance
from tacit.domain import Domain
from tacit.errors import SettingError
from tacit.mechanisms.local.hashing import MOST_BITS
from tacit.mechanisms.local.memo import RepeatedRandomizer, check_epsilons
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.local.memoized_hashing import LongitudinalHashing
from tacit.mechanisms.local.randomizer import FrequencyOracle
from tacit.mechanisms.local.unary import UnaryEncoding
from tacit.mechanisms.registry import TIE, mechanism_of, oracles_by_variance, ranked_by_variance
from tacit.mechanisms.registry import n_values as values_hidden
from tacit.plan import Plan
from tacit.privacy.epsilon import SMALLEST_EPSILON, check_epsilon


@dataclass(frozen=True, slots=True)
class Candidate:
    """A randomizer, and how much the counts estimated from ``n_reports`` of its reports err."""

    name: str
    randomizer: FrequencyOracle
    n_reports: int = 1

    @property
    def parameters(self) -> dict[str, int]:
        """The integer thresholds and sizes that a plan would carry."""
        return self.randomizer.thresholds()

    @property
    def report_bytes(self) -> int:
        return self.randomizer.report_bytes

    @property
    def mean_variance(self) -> float:
        """The variance of a cell's count, on average over all cells: the same for any data."""
        return self.n_reports * mean_variance(self.randomizer.distribution)

    @property
    def largest_cell_variance(self) -> float:
        """The variance of the count of a cell that holds everything: as far from the mean as there is."""
        return self.variance(1.0)

    @property
    def gain_over_rappor(self) -> float:
        """The mean variance of basic one-time RAPPOR at the same epsilon, divided by this one's."""
        rappor = UnaryEncoding.symmetric(epsilon=self.randomizer.epsilon, n_cells=self.randomizer.n_cells)
        return Candidate("unary", rappor, self.n_reports).mean_variance / self.mean_variance

    def variance(self, share: float) -> float:
        """Return the variance of the count of a cell that holds this share of the events."""
        check_share(share=share, open_ends=False)
        p, q = float(self.randomizer.distribution.p), float(self.randomizer.distribution.q)
        return self.n_reports * (q * (1 - q) / (p - q) ** 2 + share * (1 - p - q) / (p - q))


@dataclass(frozen=True, slots=True)
class Choice:
    """The candidate to take, what else there was, and why this one."""

    candidate: Candidate
    others: tuple[Candidate, ...]
    reason: str


def compare_oracles(
    n_cells: int, epsilon: float, *, n_reports: int = 1, most_bytes: int | None = None
) -> list[Candidate]:
    """Rank the mechanisms by mean variance, equal ones by the length of a report; the best comes first.

    ``most_bytes`` leaves those out whose reports are longer.

    >>> ranked = compare_oracles(17, 5.89)
    >>> names = [candidate.name for candidate in ranked]
    >>> names.index("tuned unary") < names.index("unary") < names.index("optimized unary")
    True
    """
    check_at_least(2, n_cells=n_cells)
    check_at_least(1, n_reports=n_reports)
    check_epsilon(epsilon)
    return [
        Candidate(name, randomizer, n_reports)
        for name, randomizer in oracles_by_variance(n_cells, epsilon, most_bytes=most_bytes)
    ]


def choose(n_cells: int, epsilon: float, *, n_reports: int = 1, most_bytes: int | None = None) -> Choice:
    """Take the mechanism of least mean variance, with the reason in a sentence.

    >>> choose(17, 2.2).reason.split(";")[0]
    'For 17 cells at epsilon 2.2, subset has the least mean variance over the cells, with reports of 3 bytes'

    Where epsilon is small all of them err alike, and the shortest report is taken:

    >>> choose(10_000, 0.05).candidate.name
    'hadamard'
    """
    ranked = compare_oracles(n_cells, epsilon, n_reports=n_reports, most_bytes=most_bytes)
    if not ranked:
        raise SettingError(
            f"most_bytes must leave a mechanism to choose; got most_bytes={most_bytes} for {n_cells:,} cells. "
            "Allow longer reports."
        )
    best, *others = ranked
    return Choice(best, tuple(others), _reason(best, others, epsilon))


def _reason(best: Candidate, others: list[Candidate], epsilon: float) -> str:
    n_bytes = f"{best.report_bytes} byte{'s' if best.report_bytes > 1 else ''}"
    rivals = [one for one in others if one.mean_variance <= best.mean_variance * (1 + TIE)]
    longer = [one for one in rivals if one.report_bytes > best.report_bytes]
    if longer:
        why = f"errs as little as {_listed(longer)} (within {TIE:.1%}) and has the shorter report, {n_bytes}"
    else:
        why = f"has the least mean variance over the cells, with reports of {n_bytes}"
    gain = "it is RAPPOR itself"
    if best.name != "unary":
        gain = f"RAPPOR's variance is {best.gain_over_rappor:.2f} times as large"
    reports = "one report" if best.n_reports == 1 else f"{best.n_reports:,} reports"
    return (
        f"For {best.randomizer.n_cells:,} cells at epsilon {epsilon:g}, {best.name} {why}; {gain}. "
        f"The variance of a count from {reports} is {best.mean_variance:.4g} on average and "
        f"{best.largest_cell_variance:.4g} for a cell that holds everything."
    )


def _listed(candidates: list[Candidate]) -> str:
    *first, last = (one.name for one in candidates)
    return f"{', '.join(first)} and {last}" if first else last


@dataclass(frozen=True, slots=True)
class RepeatedCandidate:
    """A mechanism with a memo, and how much a mean over ``n_reports`` public bins errs where devices keep their values.

    ``n_values`` is the number of different values a device is expected to hold; None for any number.
    """

    name: str
    randomizer: RepeatedRandomizer
    n_reports: int
    n_values: int | None

    @property
    def mean_variance(self) -> float:
        """The variance that one device adds to a cell's mean count over the bins, on average over all cells."""
        return _mean_variance(self.randomizer, self.n_reports)

    @property
    def epsilon_after(self) -> float:
        """The epsilon of the expected reports about one value."""
        return self.randomizer.epsilon_after(self.n_reports)

    @property
    def epsilon_of_values(self) -> float:
        """The epsilon of all reports about the expected values, for which values they are."""
        return self.randomizer.epsilon_of_values(self.n_values)


def compare_repeated(
    n_cells: int,
    *,
    epsilon_infinity: float,
    epsilon_1: float,
    n_reports: int = 1,
    n_values: int | None = 1,
    epsilon_of_values: float | None = None,
    most_bytes: int | None = None,
) -> list[RepeatedCandidate]:
    """Rank the mechanisms with a memo by mean variance, equal ones by the length of a report; the best comes first.

    One report tells ``epsilon_1`` at most, and all reports about one value ``epsilon_infinity``. A device is expected
    to make ``n_reports`` reports about a value, and to hold ``n_values`` of them (None: any number). With
    ``epsilon_of_values`` all of these together tell no more than that: both epsilons are lowered where they must be.

    >>> one_value = compare_repeated(1000, epsilon_infinity=4.0, epsilon_1=1.0)
    >>> [candidate.name for candidate in one_value]
    ['optimized longitudinal', 'longitudinal hashing', 'longitudinal', 'binary longitudinal hashing']
    >>> any_values = compare_repeated(1000, epsilon_infinity=4.0, epsilon_1=1.0, n_values=None, epsilon_of_values=8.0)
    >>> [f"{candidate.name}: {candidate.mean_variance:.1f}" for candidate in any_values[:3]]
    ['longitudinal hashing: 3.7', 'binary longitudinal hashing: 4.7', 'optimized longitudinal: 62499.7']
    """
    check_at_least(2, n_cells=n_cells)
    check_at_least(1, n_reports=n_reports, **({} if n_values is None else {"n_values": n_values}))
    check_epsilons(epsilon_infinity, epsilon_1)

    def bounded(n_slots: int) -> tuple[float, float]:
        """Return the two epsilons of a mechanism with so many slots."""
        infinity = epsilon_infinity
        if epsilon_of_values is not None:
            each = Fraction(epsilon_of_values) / min(n_slots, n_values or n_slots)
            infinity = min(infinity, float_below(each))
        return infinity, min(epsilon_1, infinity)

    made = [
        (_mean_variance(one, n_reports), name, one)
        for name, one in _made(n_cells, bounded)
        if most_bytes is None or one.report_bytes <= most_bytes
    ]
    best: dict[str, tuple[float, str, RepeatedRandomizer]] = {}
    for one in sorted(made, key=lambda one: one[0]):
        best.setdefault(one[1], one)  # of all numbers of hash values the best
    return [
        RepeatedCandidate(name, randomizer, n_reports, n_values)
        for _, name, randomizer in ranked_by_variance(list(best.values()))
    ]


def choose_repeated(
    n_cells: int,
    *,
    epsilon_infinity: float,
    epsilon_1: float,
    n_reports: int = 1,
    n_values: int | None = 1,
    epsilon_of_values: float | None = None,
    most_bytes: int | None = None,
) -> RepeatedCandidate:
    """Take the mechanism with a memo of least mean variance: the first of :func:`compare_repeated`.

    >>> chosen = choose_repeated(17, epsilon_infinity=4.0, epsilon_1=1.0, n_reports=7, n_values=30)
    >>> chosen.name, round(chosen.epsilon_after, 2), chosen.epsilon_of_values
    ('optimized longitudinal', 3.96, 68.0)
    """
    ranked = compare_repeated(
        n_cells,
        epsilon_infinity=epsilon_infinity,
        epsilon_1=epsilon_1,
        n_reports=n_reports,
        n_values=n_values,
        epsilon_of_values=epsilon_of_values,
        most_bytes=most_bytes,
    )
    if not ranked:
        raise SettingError(
            "the settings must leave a mechanism to choose. Allow longer reports, or a larger epsilon for all values."
        )
    return ranked[0]


def _mean_variance(randomizer: RepeatedRandomizer, n_reports: int) -> float:
    lasting, once = (mean_variance(one) for one in (randomizer.permanent_distribution, randomizer.distribution))
    return lasting + (once - lasting) / n_reports


def _made(n_cells: int, bounded: Callable[[int], tuple[float, float]]) -> Iterator[tuple[str, RepeatedRandomizer]]:
    """Yield all mechanisms with a memo, longitudinal hashing with every number of hash values."""
    infinity, once = bounded(n_cells)
    if once >= SMALLEST_EPSILON:
        for name, optimized in (("longitudinal", False), ("optimized longitudinal", True)):
            yield (
                name,
                LongitudinalRappor.from_epsilons(
                    epsilon_infinity=infinity, epsilon_1=once, n_cells=n_cells, optimized=optimized
                ),
            )
    for bits in range(1, MOST_BITS + 1):
        infinity, once = bounded(min(1 << bits, n_cells))
        if once >= SMALLEST_EPSILON:
            name = "binary longitudinal hashing" if bits == 1 else "longitudinal hashing"
            yield (
                name,
                LongitudinalHashing.from_epsilons(
                    epsilon_infinity=infinity, epsilon_1=once, n_cells=n_cells, bits=bits
                ),
            )


def plan_for_devices(
    domain: Domain,
    *,
    epsilon: float,
    epsilon_infinity: float | None = None,
    n_reports: int = 0,
    n_values: int | None = 1,
    epsilon_of_values: float | None = None,
    private: tuple[str, ...] = ("place",),
    name: str = "counts",
) -> tuple[Plan, RepeatedCandidate]:
    """Agree on a mechanism for devices that report again and again from a memo: the one that errs least.

    One report tells ``epsilon`` at most, and any number about one value ``epsilon_infinity`` (left out: twice that).
    ``n_reports`` are expected about a value (0: one in every period), and of one device ``n_values`` different ones.

    >>> from tacit.domain import PlaceAxis, TimeAxis
    >>> domain = Domain(TimeAxis.between("2026-01-01", None), PlaceAxis.of(["north", "south", "west"]))
    >>> plan, chosen = plan_for_devices(domain, epsilon=1.0, n_reports=365)
    >>> plan.unit, plan.mechanism, plan.device_figures.epsilon_infinity
    ('device', 'longitudinal hashing', 2.0)
    """
    chosen = choose_repeated(
        values_hidden(domain, private),
        epsilon_infinity=2 * epsilon if epsilon_infinity is None else epsilon_infinity,
        epsilon_1=epsilon,
        n_reports=n_reports or domain.time.n_bins or 1,
        n_values=n_values,
        epsilon_of_values=epsilon_of_values,
    )
    plan = Plan(
        domain,
        chosen.name,
        chosen.randomizer.epsilon_1,
        tuple(sorted(chosen.randomizer.thresholds().items())),
        private=private,
        unit="device",
        name=name,
        n_reports=n_reports,
    )
    mechanism_of(plan)  # a plan that cannot be honoured is not made
    return plan, chosen
