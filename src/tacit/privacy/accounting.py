r"""The cost of many releases of the same events together, by every way of adding up that is known to hold.

Releases of other events (other days, other regions) do not add up: the dearest counts (:meth:`Cost.parallel`). Those of
the same events do. The plain sum of pure epsilons holds with no delta, and below some thirty releases nothing beats it
by more than a percent. Beyond, a small delta buys a smaller epsilon; :func:`compose` takes the least of what holds and
names it. The ledger itself uses only the plain sum and zCDP, which need no further library.
"""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, localcontext
from fractions import Fraction
from typing import Any, Final

from tacit._base.extras import require
from tacit._base.rounding import DIGITS, float_above
from tacit._base.validation import check_at_least, check_one_of, check_positive, check_share
from tacit.errors import MissingExtra, SettingError
from tacit.privacy.cost import Cost, check_delta, check_rho
from tacit.privacy.epsilon import check_epsilon, epsilon_of_rho

KINDS: Final = ("pure", "zcdp", "discrete laplace", "discrete gaussian")
_GRID: Final = 1e-4  # of the privacy losses in dp-accounting, which rounds them up: a finer one is slower and tighter
_COSTS: Final = re.compile(r"(?:(?P<times>\d{1,9})\s*x\s*)?(?P<rho>rho\s*=\s*)?(?P<value>\d*\.?\d+(?:e-?\d+)?)")
_STATED_DIGITS: Final = Fraction(1, 10**6)  # six decimals: more than floats lose


@dataclass(frozen=True, slots=True)
class Releases:
    """Releases of one kind on the same events, ``times`` times.

    ``pure`` and ``zcdp`` say what a release costs, whatever its noise: ``value`` is epsilon or rho. Where the noise
    itself is known sharper sums hold: ``discrete laplace`` (``value`` is epsilon, the rate times the sensitivity) and
    ``discrete gaussian`` (``value`` is the variance); there a unit must touch one count only, by ``sensitivity``.
    """

    kind: str
    value: float
    times: int = 1
    sensitivity: int = 1

    def __post_init__(self) -> None:
        check_one_of(KINDS, kind=self.kind)
        check_at_least(1, times=self.times, sensitivity=self.sensitivity)
        if self.kind == "zcdp":
            check_rho(self.value)
        elif self.kind == "discrete gaussian":
            check_positive(variance=self.value)
        else:
            check_epsilon(self.value)

    @classmethod
    def of(cls, cost: Cost, times: int = 1) -> list[Releases]:
        """Return a cost's parts."""
        parts = [("pure", cost.epsilon), ("zcdp", cost.rho)]
        return [cls(kind, value, times) for kind, value in parts if value]

    @classmethod
    def parse(cls, text: str) -> Releases:
        """Read ``0.1`` as an epsilon, ``rho=0.02`` as a rho, and ``100x`` before either as so many times.

        >>> Releases.parse("100x0.1"), Releases.parse("rho=0.02").kind
        (Releases(kind='pure', value=0.1, times=100, sensitivity=1), 'zcdp')
        """
        found = _COSTS.fullmatch(text.strip())
        if found is None:
            raise SettingError(f"a cost must read 0.1, rho=0.02 or 100x0.1; got cost={text.strip()!r}.")
        return cls("zcdp" if found["rho"] else "pure", float(found["value"]), int(found["times"] or 1))

    @property
    def epsilon(self) -> Fraction | None:
        """The exact pure epsilon of all of them; none if there is none."""
        return self.times * Fraction(self.value) if self.kind in ("pure", "discrete laplace") else None

    @property
    def rho(self) -> Fraction:
        """The exact rho of all of them."""
        value = Fraction(self.value)
        if self.kind == "discrete gaussian":
            return self.times * self.sensitivity**2 / (2 * value)
        return self.times * (value if self.kind == "zcdp" else value**2 / 2)


@dataclass(frozen=True, slots=True)
class Composed:
    """The least epsilon at a delta, the method it is by, and what the other methods give."""

    epsilon: float
    delta: float
    method: str
    others: dict[str, float]


def compose(releases: Iterable[Releases | Cost], *, delta: float) -> Composed:
    """Return the best epsilon that is known to hold for all of these releases on the same events.

    Privacy loss distributions are tried if ``dp-accounting`` is installed and the kinds of noise allow it.

    >>> compose([Cost.pure(0.1)] * 12, delta=0).epsilon  # 0.1 is a little above a tenth, and bounds are rounded up
    1.2000000000000002
    """
    steps: list[Releases] = []
    for release in releases:
        steps += Releases.of(release) if isinstance(release, Cost) else [release]
    found: dict[str, float] = {}
    sums = [step.epsilon for step in steps]
    pure = sum((epsilon for epsilon in sums if epsilon is not None), Fraction())
    if delta == 0:
        if None in sums:
            raise SettingError("Gaussian noise has no epsilon without a delta. Give a small delta, such as 1e-6.")
        return Composed(float_above(pure), 0.0, "sequential", {})
    check_delta(delta)
    gaussian = sum((step.rho for step, epsilon in zip(steps, sums, strict=True) if epsilon is None), Fraction())
    method = "sequential" if not gaussian else "sequential and zCDP"
    found[method] = float_above(pure + Fraction(epsilon_of_rho(float_above(gaussian), delta)))
    found["zCDP"] = epsilon_of_rho(float_above(sum((step.rho for step in steps), Fraction())), delta)
    if not gaussian and len({step.value for step in steps}) == 1:
        found["optimal"] = optimal_composition(steps[0].value, sum(step.times for step in steps), delta)
    if all(step.kind != "zcdp" for step in steps):
        with suppress(MissingExtra):
            found["privacy loss distribution"] = loss_distribution_epsilon(steps, delta)
    best = min(found, key=lambda name: found[name])
    return Composed(found.pop(best), delta, best, found)


def advanced_composition(epsilon: float, times: int, delta: float) -> float:
    r"""Dwork2010: :math:`\epsilon\sqrt{2k\ln(1/\delta)} + k\epsilon(e^\epsilon-1)`.

    >>> round(advanced_composition(0.1, 100, 1e-6), 2)
    6.31
    """
    _check_composition(epsilon, times, delta)
    with localcontext(DIGITS):
        e = Decimal(epsilon)
        root = (2 * times * -Decimal(delta).ln()).sqrt()
        return float_above(e * root + times * e * (e.exp() - 1))


def optimal_composition(epsilon: float, times: int, delta: float) -> float:
    r"""Return the best bound for releases of which only the pure epsilon is known (Kairouz2015, theorem 3.3).

    The least :math:`(k-2i)\epsilon` with
    :math:`\sum_{l<i}\binom kl\bigl(e^{(k-l)\epsilon}-e^{(k-2i+l)\epsilon}\bigr) \le \delta(1+e^\epsilon)^k`.

    >>> round(optimal_composition(0.1, 100, 1e-6), 2)
    4.8
    """
    _check_composition(epsilon, times, delta)
    k, best = times, 0
    with localcontext(DIGITS):
        e = Decimal(epsilon).exp()
        allowed = Decimal(delta) * (1 + e) ** k
        choose, upper, lower = Decimal(1), Decimal(0), Decimal(0)
        for i in range(1, k // 2 + 1):
            upper += choose * e ** (k - i + 1)
            lower += choose * e ** (i - 1)
            choose = choose * (k - i + 1) / i
            if upper - lower * e ** (k - 2 * i) > allowed:
                break
            best = i
    return float_above((k - 2 * best) * Fraction(epsilon))


def renyi_epsilon(epsilon: float, times: int, delta: float) -> float:
    """Return epsilon of Laplace noise by Rényi divergences (Mironov2017), as ``dp-accounting`` adds them up."""
    _check_composition(epsilon, times, delta)
    accounting = require("dp_accounting", extra="accounting")
    accountant = require("dp_accounting.rdp", extra="accounting").RdpAccountant()
    accountant.compose(accounting.LaplaceDpEvent(1 / epsilon), times)
    return _stated(accountant.get_epsilon(delta))


def loss_distribution_epsilon(releases: Iterable[Releases], delta: float) -> float:
    """Return the sum by privacy loss distributions, as ``dp-accounting`` computes and rounds them (up)."""
    check_delta(delta)
    distributions = require("dp_accounting.pld.privacy_loss_distribution", extra="accounting")
    whole: Any = None
    for step in releases:
        one = _loss_distribution(distributions, step)
        many = one.self_compose(step.times) if step.times > 1 else one
        whole = many if whole is None else whole.compose(many)
    return 0.0 if whole is None else _stated(whole.get_epsilon_for_delta(delta))


def _loss_distribution(distributions: Any, step: Releases) -> Any:
    settings: dict[str, Any] = {"value_discretization_interval": _GRID}
    if step.kind == "discrete laplace":
        rate = step.value / step.sensitivity
        return distributions.from_discrete_laplace_mechanism(rate, step.sensitivity, use_connect_dots=True, **settings)
    if step.kind == "discrete gaussian":
        sigma = math.sqrt(step.value)
        return distributions.from_discrete_gaussian_mechanism(
            sigma, step.sensitivity, use_connect_dots=True, **settings
        )
    if step.kind == "pure":
        parameters = require("dp_accounting.pld.common", extra="accounting").DifferentialPrivacyParameters(step.value)
        return distributions.from_privacy_parameters(parameters, **settings)
    raise SettingError("a zCDP cost alone says nothing of the noise. Use zCDP, or name the noise.")


def gaussian_epsilon(variance: float, delta: float) -> float:
    r"""Return the exact epsilon of continuous Gaussian noise at sensitivity 1 (Balle2018), to compare others with.

    Solves :math:`\Phi(\tfrac1{2\sigma}-\epsilon\sigma) - e^\epsilon\,\Phi(-\tfrac1{2\sigma}-\epsilon\sigma) = \delta`.

    >>> round(gaussian_epsilon(1.0, 1e-6), 3)
    4.887
    """
    check_positive(variance=variance)
    check_share(delta=delta)
    sigma = math.sqrt(variance)

    def excess(epsilon: float) -> float:
        near, far = 1 / (2 * sigma) - epsilon * sigma, -1 / (2 * sigma) - epsilon * sigma
        return _normal(near) - math.exp(epsilon) * _normal(far)

    # the bound of zCDP is above; halved so often that no float lies between
    low, high = 0.0, epsilon_of_rho(1 / (2 * variance), delta) + 1e-9
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if excess(middle) > delta else (low, middle)
    return high


def subsampled(epsilon: float, share: float) -> float:
    r"""Return the epsilon of a release that sees each unit with chance ``share``: :math:`\ln(1+q(e^\epsilon-1))`.

    Holds if whoever sees the release cannot tell which units were drawn (Balle2018a); delta becomes ``share * delta``.

    >>> round(subsampled(1.0, 0.1), 5)
    0.15857
    """
    check_epsilon(epsilon)
    check_share(share=share, open_ends=False)
    if share == 0:
        return 0.0
    with localcontext(DIGITS):
        return float_above((1 + Decimal(share) * (Decimal(epsilon).exp() - 1)).ln())


def _check_composition(epsilon: float, times: int, delta: float) -> None:
    check_epsilon(epsilon)
    check_at_least(1, times=times)
    check_delta(delta)


def _normal(x: float) -> float:
    return math.erfc(-x / math.sqrt(2)) / 2


def _stated(epsilon: float) -> float:
    """Return a bound computed in floats, rounded up to six decimals: more than the arithmetic can have lost."""
    return float_above(math.ceil(Fraction(epsilon) / _STATED_DIGITS + 1) * _STATED_DIGITS)
