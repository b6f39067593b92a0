r"""The Gaussian state-space form of the model: all variances, and what follows from them by filter and smoother.

The model and its letters are those of :mod:`tacit.statespace`; places are independent. Sums of successive counts may be
observed too, the nodes of a tree. The least-squares leaves :math:`\hat y` of a tree have the precision :math:`D +
H^\top R^{-1} H`, with the precision D of the leaves' own measurements, and sums H of leaves measured with the variances
R. They say as much of counts as leaves :math:`\hat y` with the precision D and sums :math:`H \hat y` with the variances
R, all independent. So a sum is one more part of the state, which is observed where its node ends. This is exact for any
tree, in time that is linear in the leaves.

Reference: Durbin2012; Harvey1990.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Final

import numpy as np

from tacit._base.arrays import BoolArray, FloatArray, IntArray
from tacit._base.fields import number, numbers, packed, unpacked
from tacit._base.kernels import compiled_kernels
from tacit.counts.noise.tree import TreeNoise
from tacit.errors import SettingError
from tacit.statespace.passes import Passes, filter_together, root_of

_DIGITS: Final = 1 << 12  # relative precision of variances in a release: 2**-12, a tenth of what intervals show
_ARRAYS: Final = (
    "exposures",
    "process_variance",
    "noise_variance",
    "regressors",
    "state_variances",
    "coefficient_variances",
    "shift_variance",
)


@dataclass(frozen=True, eq=False)
class StateSpace:
    r"""All variances of the model.

    ``exposures`` are N; ``process_variance`` and ``noise_variance`` (times x places) those of d and e.
    ``state_variances`` has for each place the variance of the first level, of :math:`\eta`, and of the stationary AR(1)
    component, whose coefficient is ``phi``. ``coefficient_variances`` (places x terms) are of :math:`\beta`, and
    ``regressors`` (times x terms) are x. ``shift_variance`` is further variance of single steps of the level (times x
    places, or one 0). ``excess`` is the part of a time's process variance that a Poisson count would not have. With a
    ``tree`` over time, the noise variance is that of the leaves' own measurements, and exposures are 1, or 0 where
    nothing can have been counted: those counts are 0.
    """

    exposures: FloatArray
    process_variance: FloatArray
    noise_variance: FloatArray
    regressors: FloatArray
    state_variances: FloatArray
    phi: float
    coefficient_variances: FloatArray
    shift_variance: FloatArray
    excess: FloatArray | None = None
    tree: TreeNoise | None = None

    def __post_init__(self) -> None:
        n_times, n_places = self.shape
        n_terms = self.regressors.shape[-1]
        fitting = {
            "exposures": (n_times,),
            "process_variance": (n_times, n_places),
            "regressors": (n_times, n_terms),
            "state_variances": (n_places, 3),
            "coefficient_variances": (n_places, n_terms),
            "shift_variance": (1, 1) if self.shift_variance.shape == (1, 1) else (n_times, n_places),
        }
        if self.excess is not None:
            fitting["excess"] = (n_times,)
        for name, shape in fitting.items():
            if getattr(self, name).shape != shape:
                raise SettingError(f"{name} must have shape {shape}; got shape={getattr(self, name).shape}.")
        if self.tree is None:
            return
        if self.tree.axis != "time" or self.tree.order is not None or n_times != self.tree.hierarchy.n_leaves:
            raise SettingError(f"the tree must stand over the model's {n_times} times, in their order.")
        if not np.isin(self.exposures, (0, 1)).all():
            raise SettingError("exposures must be 0 or 1 where sums of counts were measured.")

    @property
    def shape(self) -> tuple[int, int]:
        return self.noise_variance.shape[0], self.noise_variance.shape[1]

    @cached_property
    def gains(self) -> FloatArray:
        """Return g: the part of a count's residual that is its own, and not noise."""
        both = self.process_variance + self.noise_variance
        return np.divide(self.process_variance, both, out=np.zeros(self.shape), where=both > 0)

    @cached_property
    def count_variance(self) -> FloatArray:
        """Return the posterior variance of each count when its share is known."""
        return self.gains * self.noise_variance

    def for_places(self, places: IntArray) -> StateSpace:
        """Return the same for some of the places."""
        of_times = ["process_variance", "noise_variance"]
        of_times += [] if self.shift_variance.shape == (1, 1) else ["shift_variance"]
        parts: dict[str, Any] = {name: getattr(self, name)[:, places] for name in of_times}
        parts |= {name: getattr(self, name)[places] for name in ("state_variances", "coefficient_variances")}
        return replace(self, **parts)

    def given_rates(self) -> StateSpace:
        """Return the same for known rates, as a regression on one constant whose coefficient stands for all of them."""
        n_times, n_places = self.shape
        none: dict[str, Any] = {"state_variances": np.zeros((n_places, 3)), "shift_variance": np.zeros((1, 1))}
        return replace(self, **none, regressors=np.ones((n_times, 1)), coefficient_variances=np.ones((n_places, 1)))

    def log_likelihoods(self, shares: FloatArray) -> FloatArray:
        """Return the log likelihood of observed shares (times x places) for each place, without constants."""
        n_places, n_terms = self.coefficient_variances.shape
        passes, by_place = Passes(self), np.ascontiguousarray(shares.T)
        logs, products = np.empty(n_places), np.empty((n_places, n_terms + 1, n_terms + 1))
        for place in range(n_places):
            logs[place] = passes.forward(place, by_place[place])
            products[place] = passes.products
        root = root_of(products, self.coefficient_variances)
        solved = np.linalg.solve(root, products[:, n_terms, :n_terms, None])[..., 0]
        logs += products[:, n_terms, n_terms] + np.log(self.coefficient_variances).sum(axis=1)
        logs += 2 * np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1) - np.square(solved).sum(axis=1)
        return -0.5 * logs

    def smooth(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return the posterior means of shares and of realized values (times x places).

        Realized values are counts where sums were observed, else equal to shares.
        """
        return self._of_places(shares, Passes.means)

    def smoothed_variances(self) -> FloatArray:
        """Return the posterior variances of shares (times x places), or of counts where sums were observed."""
        n_times = self.shape[0]
        return self.covariances(np.ones((1, *self.shape)), np.arange(n_times), n_times)[:, :, 0, 0].T

    def filter(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return means and variances of shares given what was observed up to each time (times x places)."""
        n_times, n_places = self.shape
        loads, times = np.concatenate([np.ones((n_times, 2)), self.regressors], axis=1), np.arange(n_times)
        before, variances = np.empty((2, n_times, n_places))
        for place in range(n_places):  # one after another: states of all times are many numbers
            one = self.for_places(np.array([place]))
            (states,), (covariances,) = one.states_at(times, shares[:, [place]], np.zeros(1))
            before[:, place] = (loads * states).sum(axis=1)
            variances[:, place] = ((loads[:, None] @ covariances)[:, 0] * loads).sum(axis=1) + self.shifts[place]
        gains = variances / (variances + self.share_variance)
        return before + gains * (shares - before), variances * (1 - gains)

    def states_at(
        self, origins: IntArray, shares: FloatArray, starts: FloatArray, *, are_parts: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return filtered states before origins (ascending), places x origins x (level, AR(1), coefficients).

        Their covariances come second. ``starts`` are means of first levels. If places ``are_parts``, each share is
        observed as the part that the place's state has in the sum of all.
        """
        known = (np.ascontiguousarray(part) for part in (shares.T, self.share_variance.T, self.regressors))
        dynamics = *self.start_and_steps, self.phi, self.shifts
        states, covariances = compiled_kernels("filters").share_states(*known, starts, *dynamics, are_parts, origins)
        return states, covariances

    def level_scores(self, shares: FloatArray) -> tuple[FloatArray, FloatArray]:
        """Return score and information of a shift of the level from each time on (times x places).

        For a shift of prior variance w the log likelihood gains
        w score^2 / (1 + w information) / 2 - log(1 + w information) / 2.
        """
        return self._of_places(shares, Passes.level_scores)

    def _of_places(
        self, shares: FloatArray, ask: Callable[[Passes, int], tuple[FloatArray, FloatArray]]
    ) -> tuple[FloatArray, FloatArray]:
        """Return two answers of the passes over each place (times x places)."""
        passes, found = Passes(self), np.empty((2, *self.shape))
        for place in range(self.shape[1]):
            passes.forward(place, shares[:, place])
            found[:, :, place] = ask(passes, place)
        return found[0], found[1]

    def covariances(self, asked: FloatArray, groups: IntArray, n_groups: int) -> FloatArray:
        """Return posterior covariances of weighted sums of shares over groups of times (groups -1 are left out).

        ``asked`` are weights (questions x times x places); the result is places x groups x questions x questions. Where
        sums were observed the questions are about counts.
        """
        found, slopes = self.covariances_given_terms(asked, groups, n_groups, in_roots=True)
        found += slopes @ slopes.swapaxes(-1, -2)
        each = np.arange(len(asked))
        found[:, :, each, each] = np.maximum(found[:, :, each, each], 0.0)
        return found

    def covariances_given_terms(
        self, asked: FloatArray, groups: IntArray, n_groups: int, *, in_roots: bool = False
    ) -> tuple[FloatArray, FloatArray]:
        """Return the same if coefficients are known, and how errors grow with them (... x questions x terms).

        With ``in_roots`` coefficients are independent of variance 1, by the root of their posterior covariance.
        """
        bounds = np.zeros((n_groups, 2), np.int64)
        present, first = np.unique(groups, return_index=True)
        last = len(groups) - np.unique(groups[::-1], return_index=True)[1]
        bounds[present[present >= 0]] = np.stack([first, last], axis=1)[present >= 0]
        passes, nothing, n_places = Passes(self), np.zeros(self.shape[0]), self.shape[1]
        found = np.empty((n_places, n_groups, len(asked), len(asked)))
        slopes = np.empty((n_places, n_groups, len(asked), self.regressors.shape[1]))
        for place in range(n_places):
            passes.forward(place, nothing)
            found[place], slopes[place] = passes.questions(asked[:, :, place], groups, bounds)
            if in_roots:
                slopes[place] = slopes[place] @ passes.coefficients(place)[1].T
        return found, slopes

    def question_variances(self, weights: FloatArray) -> FloatArray:
        """Return the posterior variance of each place's part of one question (times x places), by plain NumPy."""
        variances, slopes, products = self.question_given_terms(weights)
        of_terms = np.linalg.solve(root_of(products, self.coefficient_variances), slopes[..., None])
        return np.asarray(np.maximum(variances + np.square(of_terms[..., 0]).sum(axis=1), 0.0), np.float64)

    def question_given_terms(self, weights: FloatArray) -> tuple[FloatArray, FloatArray, FloatArray]:
        r"""Return the same if coefficients are known, how errors grow with them (places x terms), and products.

        Products are weighted sums of products of the innovations of the regressors, from which coefficients are known.

        The covariances :math:`q = \operatorname{Cov}(c, w^\top c)` of counts with the answer pass through the filter as
        the regressors do: with innovations u of variances F, :math:`\operatorname{Var}(w^\top c \mid y) = w^\top q -
        \sum u^2 / F`. So one pass forward is enough, and it needs no compiled kernel.
        """
        exposures, _, process_variance = (part.T for part in self.scaled)
        exposed = exposures[:, None] * weights
        covariances = exposures[:, None] * (self._prior_covariances(exposed) + process_variance * exposed)
        of_terms = np.broadcast_to(self.regressors[:, :, None], (*self.regressors.shape, self.shape[1]))
        innovations, precisions = filter_together(self, np.concatenate([of_terms, covariances[:, None]], axis=1))
        products = np.einsum("rcp,rp,rdp->pcd", innovations, precisions, innovations, optimize=True)
        variances = (weights * covariances).sum(axis=0) - products[:, -1, -1]
        return variances, exposed.T @ self.regressors - products[:, -1, :-1], products

    def _prior_covariances(self, weights: FloatArray) -> FloatArray:
        """Return the prior covariances of level and AR(1) component of each time with their weighted sum."""
        start, step, of_ar = self.state_variances.T
        gained = np.concatenate([start[None], np.broadcast_to(step, (self.shape[0] - 1, len(step)))]) + self.shifts.T
        of_level = np.cumsum(gained * np.cumsum(weights[::-1], axis=0)[::-1], axis=0)
        before, after, lag = weights.copy(), weights.copy(), 1
        while lag < self.shape[0]:  # sums with the weights phi**lag over 2 * lag times, from those over lag times
            before[lag:] += self.phi**lag * before[:-lag].copy()
            after[:-lag] += self.phi**lag * after[lag:].copy()
            lag *= 2
        return np.asarray(of_level + of_ar * (before + after - weights), np.float64)

    @cached_property
    def share_variance(self) -> FloatArray:
        """Return the variance of each observed share around the model's (times x places); infinite where unobserved."""
        both, squares = self.process_variance + self.noise_variance, np.square(self.exposures)
        both[both <= 0] = np.inf
        both *= np.divide(1.0, squares, out=np.full(len(both), np.inf), where=squares > 0)[:, None]
        return both

    @cached_property
    def scaled(self) -> tuple[FloatArray, FloatArray, FloatArray]:
        """Return exposures, noise and process variance (places x times) as the passes want them.

        Without sums nothing is asked of single counts: shares are observed with both variances together.
        """
        if self.tree is None:
            noise_variance = np.ascontiguousarray(self.share_variance.T)
            return np.ones(self.shape[0]), noise_variance, np.zeros(noise_variance.shape)
        noise_variance, process_variance = self.noise_variance.T, self.process_variance.T
        return self.exposures, np.ascontiguousarray(noise_variance), np.ascontiguousarray(process_variance)

    @cached_property
    def shifts(self) -> FloatArray:
        """Return the variances of level shifts, places x times."""
        return np.array(np.broadcast_to(self.shift_variance, self.shape).T, np.float64, order="C")  # writable

    @cached_property
    def start_and_steps(self) -> tuple[FloatArray, FloatArray]:
        """Return the variances of the first state and of its steps, places x (level, AR(1), coefficients)."""
        start = np.concatenate([self.state_variances[:, [0, 2]], self.coefficient_variances], axis=1)
        steps = np.zeros_like(start)
        steps[:, 0], steps[:, 1] = self.state_variances[:, 1], self.state_variances[:, 2] * (1 - self.phi**2)
        return start, steps

    @property
    def summed(self) -> TreeNoise:
        """Return the tree whose sums were observed too."""
        assert self.tree is not None
        return self.tree

    @cached_property
    def sums(self) -> tuple[BoolArray, FloatArray]:
        """Return the times at which nodes of observed levels end (levels x times), and the variances of the levels."""
        levels = () if self.tree is None else measured_levels(self.tree)
        ends, variances = np.zeros((len(levels), self.shape[0]), np.bool_), np.zeros(len(levels))
        for row, level in enumerate(levels):
            ends[row, self.summed.hierarchy.boundaries[level][1:] - 1] = True
            variances[row] = self.summed.fusion.level_variances[level]
        return ends, variances

    def to_dict(self) -> dict[str, Any]:
        content: dict[str, Any] = {name: packed(getattr(self, name), is_short=True) for name in (*_ARRAYS, "excess")}
        content["phi"] = self.phi
        return content if self.tree is None else content | {"tree": self.tree.to_dict()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> StateSpace:
        return cls(
            phi=number(content, "phi", least=-1, most=1),
            excess=unpacked({"excess": None} | dict(content), "excess"),
            tree=TreeNoise.from_dict(content["tree"]) if "tree" in content else None,
            # all but regressors are variances, or exposures
            **{name: numbers(content, name, least=-math.inf if name == "regressors" else 0.0) for name in _ARRAYS},
        )


def measured_levels(tree: TreeNoise) -> tuple[int, ...]:
    """Return the levels of a tree above its leaves that were measured, or are known."""
    return tuple(level for level, variance in enumerate(tree.fusion.level_variances[:-1]) if np.isfinite(variance))


def rounded(values: FloatArray) -> FloatArray:
    """Return numbers to about 12 binary digits: variances need no more, and a release stays small.

    >>> rounded(np.array([1.0, 0.3])).tolist()
    [1.0, 0.300048828125]
    """
    mantissas, exponents = np.frexp(values)
    return np.asarray(np.ldexp(np.rint(mantissas * _DIGITS) / _DIGITS, exponents), np.float64)
