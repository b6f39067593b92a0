r"""The distributions of reports that support cells: what a noise model must know of a local randomizer, and no more.

Every frequency oracle of the field reads a report as the set of cells it *supports*. The true cell is supported with
probability p, any other with probability q, and counts are estimated from the supports C by

.. math:: \hat n_v = \frac{C_v - N q}{p - q}.

How much a linear question :math:`\sum_v w_v \hat n_v` errs depends on how the supports of one report are correlated. A
distribution answers that exactly: ``variances(w)[u]`` is the variance that one report of true cell u adds to the
question.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from fractions import Fraction
from typing import Any, ClassVar, Final, Protocol

import numpy as np

from tacit._base.arrays import FloatArray
from tacit._base.galois import LARGEST_DEGREE, form_blocks, inverses, multiply, polynomial, walsh_hadamard
from tacit._base.kernels import hadamard_plain
from tacit._base.validation import check_at_least
from tacit.counts.exact_intervals import NumberDistribution, TwoDistributions
from tacit.errors import FormatError, SettingError
from tacit.randomness.bernoulli import COIN


@dataclass(frozen=True, slots=True)
class TwoCoins:
    """A sum of cells, seen as coin flips: ``flips`` for each report, heads with probability ``inside`` for one flip of
    each report whose true cell is in the sum, and ``outside`` for all other flips."""

    inside: Fraction
    outside: Fraction
    flips: int


class SupportDistribution(Protocol):
    """The joint distribution of the supports of one report, given its true cell."""

    @property
    def n_cells(self) -> int: ...

    @property
    def p(self) -> Fraction:
        """P(the true cell is supported)."""

    @property
    def q(self) -> Fraction:
        """P(another cell is supported)."""

    @property
    def needs_counts(self) -> bool:
        """Return whether the variance of a question depends on where the true cells are."""

    def variances(self, weights: FloatArray) -> FloatArray:
        """Return, for every true cell, the variance one report adds to the question."""

    def coins(self, n_summed: int) -> TwoCoins | None:
        """Return a sum of ``n_summed`` cells as coin flips, where it is exactly that."""

    def sum_distributions(self, n_summed: int) -> TwoDistributions | None:
        """Return the distributions of how many of ``n_summed`` cells a report supports: true cell among them, and not.

        None where that depends on more than this, or is not known.
        """

    def to_dict(self) -> dict[str, Any]: ...

    def browser_model(self) -> dict[str, Any] | None:
        """Return the same for a page's script, chances as numbers; None where that would be too much for a page."""


class OracleDistribution:
    """The base of all distributions: a kind, and plain data made of their fields."""

    __slots__ = ()
    kind: ClassVar[str]

    def sum_distributions(self, n_summed: int) -> TwoDistributions | None:
        return None

    def to_dict(self) -> dict[str, Any]:
        """Return plain data; a field that has its default is left out, as files had it before there was the field."""
        # whole numbers beyond 2**53 do not survive every JSON reader
        own = {f.name: getattr(self, f.name) for f in fields(self) if getattr(self, f.name) != f.default}  # type: ignore[arg-type]
        return {"kind": self.kind} | {name: hex(v) if v >= 1 << 53 else v for name, v in own.items()}

    def browser_model(self) -> dict[str, Any] | None:
        """Return what ``noise_oracle.js`` needs of any distribution."""
        chances = {name: float(getattr(self, name)) for name in ("p", "q")}
        sizes = {f.name: getattr(self, f.name) for f in fields(self) if f.name in ("n_cells", "size")}  # type: ignore[arg-type]
        return {"kind": self.kind} | chances | sizes


def scaled_variance(distribution: SupportDistribution, square: FloatArray, mean: FloatArray) -> FloatArray:
    """Return the variance from a mean square and a mean; what rounding leaves below zero is zero."""
    variance: FloatArray = np.maximum(square - mean**2, 0.0)
    return variance / float(distribution.p - distribution.q) ** 2


def mean_variance(distribution: SupportDistribution) -> float:
    r"""Return the variance that one report adds to the count of a cell, on average over all cells, whatever the data.

    .. math:: \frac{q(1-q)}{(p-q)^2} + \frac1k\,\frac{1-p-q}{p-q}
    """
    p, q = float(distribution.p), float(distribution.q)
    return q * (1 - q) / (p - q) ** 2 + (1 - p - q) / (p - q) / distribution.n_cells


def single_cell(distribution: SupportDistribution, n_summed: int) -> TwoCoins | None:
    """Return the coins of one cell; a sum of several is not a number of coin flips."""
    return TwoCoins(distribution.p, distribution.q, 1) if n_summed == 1 else None


class _IndependentBits(OracleDistribution):
    """Distributions of independent bits: the true cell's is one with probability p, any other's with q."""

    __slots__ = ()

    @property
    def p(self) -> Fraction:
        raise NotImplementedError

    @property
    def q(self) -> Fraction:
        raise NotImplementedError

    @property
    def needs_counts(self) -> bool:
        return self.p + self.q != 1

    def variances(self, weights: FloatArray) -> FloatArray:
        p, q = float(self.p), float(self.q)
        squares = weights**2
        bits: FloatArray = squares.sum() * q * (1 - q) + squares * (p * (1 - p) - q * (1 - q))
        return bits / float(self.p - self.q) ** 2

    def coins(self, n_summed: int) -> TwoCoins | None:
        return TwoCoins(self.p, self.q, n_summed)


@dataclass(frozen=True, slots=True)
class UnaryDistribution(_IndependentBits):
    """Independent bits: the true cell's is one with probability ones / 2**64, any other's with zeros / 2**64."""

    kind: ClassVar[str] = "unary"
    n_cells: int
    ones: int
    zeros: int

    @property
    def p(self) -> Fraction:
        return Fraction(self.ones, COIN)

    @property
    def q(self) -> Fraction:
        return Fraction(self.zeros, COIN)


@dataclass(frozen=True, slots=True)
class LongitudinalDistribution(_IndependentBits):
    r"""Independent bits of a first report: a permanent coin draws a bit, an instantaneous one sends the result.

    With the chances :math:`\alpha` = kept / 2**64 and :math:`\varphi` = permanent / 2**64 of a permanent one for the
    true cell and for another, a = ones / 2**64 to send a one for a permanent one and b = zeros / 2**64 for a permanent
    zero, a bit of the report is one with probability

    .. math:: p = \alpha a + (1 - \alpha) b \quad\text{(true cell)}, \qquad q = \varphi a + (1 - \varphi) b.

    Without ``kept``, permanent coins are symmetric: kept = 2**64 - permanent. The chances are multiples of 2**-128, so
    the distribution keeps the thresholds.
    """

    kind: ClassVar[str] = "longitudinal"
    n_cells: int
    permanent: int
    ones: int
    zeros: int
    kept: int | None = None

    @property
    def p(self) -> Fraction:
        kept = COIN - self.permanent if self.kept is None else self.kept
        return Fraction(kept * self.ones + (COIN - kept) * self.zeros, COIN**2)

    @property
    def q(self) -> Fraction:
        return Fraction(self.permanent * self.ones + (COIN - self.permanent) * self.zeros, COIN**2)


@dataclass(frozen=True, slots=True)
class ResponseDistribution(OracleDistribution):
    """One cell named: the truth is kept with probability keep / 2**64, else a cell is drawn from all of them."""

    kind: ClassVar[str] = "response"
    n_cells: int
    keep: int

    @property
    def p(self) -> Fraction:
        return Fraction(self.keep, COIN) + self.q

    @property
    def q(self) -> Fraction:
        return Fraction(COIN - self.keep, COIN * self.n_cells)

    @property
    def needs_counts(self) -> bool:
        return True

    def variances(self, weights: FloatArray) -> FloatArray:
        p, q = float(self.p), float(self.q)
        weights = weights - weights.mean()  # one cell is named whatever happens: what all weights share adds no noise
        square: FloatArray = q * (weights**2).sum() + (p - q) * weights**2
        mean: FloatArray = q * weights.sum() + (p - q) * weights
        return scaled_variance(self, square, mean)

    def coins(self, n_summed: int) -> TwoCoins | None:
        if n_summed == self.n_cells:
            return None  # every report lies in the sum: there is no coin, and no variance either
        return TwoCoins(self.p + (n_summed - 1) * self.q, n_summed * self.q, 1)


@dataclass(frozen=True, slots=True)
class SubsetDistribution(OracleDistribution):
    """``size`` cells named: the true one among them with probability include / 2**64, the others drawn evenly."""

    kind: ClassVar[str] = "subset"
    n_cells: int
    size: int
    include: int

    @property
    def p(self) -> Fraction:
        return Fraction(self.include, COIN)

    @property
    def q(self) -> Fraction:
        return (self.size - self.p) / (self.n_cells - 1)

    @property
    def needs_counts(self) -> bool:
        return True

    def variances(self, weights: FloatArray) -> FloatArray:
        k, s, p, q = self.n_cells, self.size, float(self.p), float(self.q)
        weights = weights - weights.mean()  # as many cells are named whatever happens: what all share adds no noise
        with_true = p * (s - 1) / (k - 1)
        two_others = (p * (s - 1) * (s - 2) + (1 - p) * s * (s - 1)) / ((k - 1) * (k - 2)) if k > 2 else 0.0
        others, squares = weights.sum() - weights, (weights**2).sum() - weights**2
        pairs: FloatArray = 2 * with_true * weights * others + two_others * (others**2 - squares)
        return scaled_variance(self, p * weights**2 + q * squares + pairs, p * weights + q * others)

    def coins(self, n_summed: int) -> TwoCoins | None:
        return single_cell(self, n_summed)

    def sum_distributions(self, n_summed: int) -> TwoDistributions | None:
        r"""Return how many of s cells are named: others are drawn evenly from k - 1, s - 1 or s of them in the box.

        .. math:: f_{in} = p\,(1 + H(s{-}1, w{-}1)) + (1-p)\,H(s{-}1, w), \qquad
                  f_{out} = p\,H(s, w{-}1) + (1-p)\,H(s, w)

        with the hypergeometric distribution H(a, b) of how many of a marked cells are among b drawn from k - 1.
        """
        if n_summed == self.n_cells:  # as many cells are named whatever is true, and none is outside
            always = NumberDistribution(self.size, (1.0,))
            return TwoDistributions(always, always)
        others, w, p = self.n_cells - 1, self.size, float(self.p)
        distributions = []
        for marked, shift in ((n_summed - 1, 1), (n_summed, 0)):
            mass = np.zeros(w + 1)
            for chance, drawn, named in ((p, w - 1, shift), (1 - p, w, 0)):
                first, drawn_mass = _drawn(others, marked, drawn)
                mass[first + named : first + named + len(drawn_mass)] += chance * drawn_mass
            possible = np.flatnonzero(mass)
            distributions.append(
                NumberDistribution(int(possible[0]), tuple(mass[possible[0] : possible[-1] + 1].tolist()))
            )
        return TwoDistributions(*distributions)


def _drawn(n: int, marked: int, drawn: int) -> tuple[int, FloatArray]:
    """Return the hypergeometric distribution of the marked ones among those drawn: the least number, the chances.

    No chances where so many cannot be drawn.
    """
    first, last = max(0, drawn - (n - marked)), min(marked, drawn)
    if not 0 <= marked <= n or not 0 <= drawn <= n:
        return 0, np.zeros(0)
    at = np.arange(first, last, dtype=np.float64)
    steps = np.log((marked - at) * (drawn - at)) - np.log((at + 1) * (n - marked - drawn + at + 1))
    logs = np.concatenate(([0.0], np.cumsum(steps)))
    mass = np.exp(logs - logs.max())
    return first, mass / mass.sum()


# degree of a field whose table a page holds: 1024 chances. One more doubles what a page's script adds up, and the table
_LARGEST_IN_PAGE: Final = 10
_NUMBERS_AT_ONCE: Final = 1 << 20  # 8 MiB of sums; doubled, twice the memory


@dataclass(frozen=True, slots=True)
class HashingDistribution(OracleDistribution):
    r"""One of g = 2**bits hash values named: the truth's with probability keep / 2**64, else one drawn from all.

    The report is a random element a of the field of 2**m elements and a value z; it supports the cells v with
    T(a v) = z, where T takes the ``bits`` highest bits. Any two cells meet in a value with probability 1/g, so

    .. math:: p = \kappa + \frac{1 - \kappa}{g}, \qquad q = \frac1g, \qquad \kappa = \frac{\text{keep}}{2^{64}}.

    ``permanent_keep`` is for reports of a device that remembers hash values: the truth's is remembered with probability
    permanent_keep / 2**64, else one drawn from all, and what is remembered is then reported as above. So the truth's is
    kept with the product of both chances, :math:`\kappa` = keep permanent_keep / 2**128.

    Three cells need not be independent, so the variance of a question is computed from the family itself. With
    :math:`W_a(z)` the sum of the weights of all cells that a sends to z,

    .. math:: \mathrm{E}_u\Bigl[\bigl(\textstyle\sum_v w_v 1_v\bigr)^2\Bigr]
              = \mathrm{E}_a\Bigl[\kappa\, W_a(T(a u))^2 + \frac{1-\kappa}{g} \sum_z W_a(z)^2\Bigr].

    The second part has a closed form, because any two cells are independent. The first is a sum over the whole
    field, for all u at once through Walsh–Hadamard transforms: O(2**m g log g), exact.
    """

    kind: ClassVar[str] = "hashing"
    n_cells: int
    bits: int
    keep: int
    permanent_keep: int = COIN

    def __post_init__(self) -> None:
        check_at_least(2, n_cells=self.n_cells)
        check_at_least(1, bits=self.bits)
        if self.degree > LARGEST_DEGREE or not 0 < self.keep * self.permanent_keep < COIN**2:
            raise SettingError("n_cells, bits and keep must make a hash with a field. Make it from epsilon.")

    @property
    def degree(self) -> int:
        """The degree m of the field."""
        return field_degree(self.n_cells, self.bits)

    @property
    def kept(self) -> Fraction:
        r"""The chance :math:`\kappa` that the truth's hash value is named because it is the truth's."""
        return Fraction(self.keep * self.permanent_keep, COIN**2)

    @property
    def p(self) -> Fraction:
        return self.q + self.kept * (1 - self.q)

    @property
    def q(self) -> Fraction:
        return Fraction(1, 1 << self.bits)

    @property
    def needs_counts(self) -> bool:
        return True

    def variances(self, weights: FloatArray) -> FloatArray:
        q, kept = float(self.q), float(self.kept)
        total, squares = float(weights.sum()), float((weights**2).sum())
        drawn = q * (q * total**2 + (1 - q) * squares)
        square: FloatArray = kept * self._squares_at_truth(weights) + (1 - kept) * drawn
        mean: FloatArray = q * total + float(self.p - self.q) * weights
        return scaled_variance(self, square, mean)

    def coins(self, n_summed: int) -> TwoCoins | None:
        return single_cell(self, n_summed)

    def browser_model(self) -> dict[str, Any] | None:
        """Return also the chance that T(b) and T(b r) are both 0, for every r: two cells meet the truth by it."""
        content, size = OracleDistribution.browser_model(self), 1 << self.degree
        if content is None or self.degree > _LARGEST_IN_PAGE:
            return None
        sent_to_0, shift = np.arange(size >> self.bits), np.uint32(self.degree - self.bits)
        meetings = [
            np.count_nonzero(multiply(sent_to_0, np.full(len(sent_to_0), r), self.degree) >> shift == 0) / size
            for r in range(size)
        ]
        field = {"polynomial": polynomial(self.degree), "inverses": inverses(self.degree).tolist()}
        return content | field | {"degree": self.degree, "meetings": meetings}

    def _squares_at_truth(self, weights: FloatArray) -> FloatArray:
        """Return the mean over a of W_a(T(a u))**2, for every true cell u."""
        size, g = 1 << self.degree, 1 << self.bits
        if size == g:  # only a = 0 sends two cells to one value
            alone: FloatArray = (weights.sum() ** 2 + (size - 1) * weights**2) / size
            return alone
        transform = np.zeros(size)
        transform[: self.n_cells] = weights
        walsh_hadamard(transform)
        gathered = np.zeros(size)
        for _, vectors in form_blocks(self.degree, self.bits, _NUMBERS_AT_ONCE):
            sums = transform[vectors]
            walsh_hadamard(sums)  # now g W_a(z), a row for each z
            sums *= sums
            walsh_hadamard(sums)
            gathered += np.bincount(vectors.ravel(), weights=sums.ravel(), minlength=size)
        walsh_hadamard(gathered)
        return gathered[: self.n_cells] / (float(g) ** 3 * size)


def field_degree(n_cells: int, bits: int) -> int:
    """Return the least m such that 2**m elements tell all cells apart and have enough bits.

    >>> field_degree(17, 2), field_degree(16, 2), field_degree(2, 8)
    (5, 4, 8)
    """
    return max((n_cells - 1).bit_length(), bits)


@dataclass(frozen=True, slots=True)
class HadamardDistribution(OracleDistribution):
    r"""A column named: with probability keep / 2**64 from the half that supports the truth, else from all of them.

    Cell v is supported by the columns with +1 in row v + 1 of the Hadamard matrix of order K = 2**n_bits > k. Any two
    rows agree in half of the columns, and a product of two rows is a row again, so with :math:`\kappa` = keep / 2**64

    .. math:: V_u(w) = \frac{1}{\kappa^2}\Bigl(\sum_v w_v^2 + \kappa \sum_{a \oplus b = u + 1} w_{a-1} w_{b-1}\Bigr)
              - w_u^2

    where a and b run over the rows of cells: all u at once by two fast transforms.
    """

    kind: ClassVar[str] = "hadamard"
    n_cells: int
    keep: int

    @property
    def n_bits(self) -> int:
        return self.n_cells.bit_length()

    @property
    def p(self) -> Fraction:
        return Fraction(COIN + self.keep, 2 * COIN)

    @property
    def q(self) -> Fraction:
        return Fraction(1, 2)

    @property
    def needs_counts(self) -> bool:
        return True

    def variances(self, weights: FloatArray) -> FloatArray:
        kept, order = self.keep / COIN, 1 << self.n_bits
        rows = np.zeros(order)
        rows[1 : self.n_cells + 1] = weights
        hadamard_plain.transform(rows)
        rows **= 2
        hadamard_plain.transform(rows)
        pairs = rows[1 : self.n_cells + 1] / order
        variances: FloatArray = ((weights**2).sum() + kept * pairs) / kept**2 - weights**2
        return np.maximum(variances, 0.0)  # what rounding leaves below zero

    def coins(self, n_summed: int) -> TwoCoins | None:
        return single_cell(self, n_summed)


ORACLE_DISTRIBUTIONS: Final[Mapping[str, Callable[..., SupportDistribution]]] = {
    kind.kind: kind
    for kind in (
        UnaryDistribution,
        ResponseDistribution,
        SubsetDistribution,
        HadamardDistribution,
        HashingDistribution,
        LongitudinalDistribution,
    )
}


def distribution_from_dict(content: Mapping[str, Any]) -> SupportDistribution:
    """Read a distribution back from plain data.

    >>> coins = UnaryDistribution(3, 3 << 62, 1 << 62)
    >>> distribution_from_dict(coins.to_dict()) == coins
    True
    """
    try:
        fields = {name: _whole(value) for name, value in content.items() if name != "kind"}
        distribution = ORACLE_DISTRIBUTIONS[content["kind"]](**fields)
        if not 0 < distribution.q < distribution.p <= 1:
            raise ValueError("nothing can be estimated by such coins")
        return distribution
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise FormatError("the noise model is damaged or newer than this version. Ask for the release again.") from None


def _whole(value: object) -> int:
    """Return a whole number of a file, large ones in hexadecimal digits."""
    number = int(value, 16) if isinstance(value, str) and len(value) <= len(hex(COIN)) else value
    if type(number) is not int or not 0 <= number <= COIN:
        raise ValueError("distribution")
    return number
