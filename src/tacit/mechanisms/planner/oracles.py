r"""The choice: which randomizer says most about the counts, for so many cells and this epsilon.

A report of any oracle in :data:`~tacit.mechanisms.registry.MECHANISMS` supports the true cell with probability p and
any other with probability q. Over N reports, the variance of the estimated count of a cell that holds a share f of
them, and its mean over all k cells, whatever the data, are

.. math:: \frac{\mathrm{Var}}{N} = \frac{q(1-q)}{(p-q)^2} + f\,\frac{1-p-q}{p-q}, \qquad
          \frac{\overline{\mathrm{Var}}}{N} = \frac{q(1-q)}{(p-q)^2} + \frac1k\,\frac{1-p-q}{p-q}.

The choice is the least of the second, with p and q of the integer thresholds that the sampler uses. The usual formula
drops the last term, and with it picks encodings that are worse than RAPPOR where cells are few and epsilon is large.
"""

from __future__ import annotations

from dataclasses import dataclass

from tacit._base.validation import check_at_least, check_share
from tacit.counts.oracle_distributions import mean_variance
from tacit.errors import SettingError
from tacit.mechanisms.local.randomizer import FrequencyOracle
from tacit.mechanisms.local.unary import UnaryEncoding
from tacit.mechanisms.registry import TIE, oracles_by_error
from tacit.privacy.epsilon import check_epsilon


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
        for name, randomizer in oracles_by_error(n_cells, epsilon, most_bytes=most_bytes)
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
