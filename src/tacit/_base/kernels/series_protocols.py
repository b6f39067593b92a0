"""What each set of kernels for series offers, compiled or plain."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray


class StateSpaceKernels(Protocol):
    """Series that drift, seen with noise; ``state_space_plain`` says what each function does."""

    def log_likelihoods(
        self,
        shares: NDArray[np.float64],
        errors: NDArray[np.float64],
        basis: NDArray[np.float64],
        series: NDArray[np.float64],
        memory: float,
        coefficients: NDArray[np.float64],
        shocks: NDArray[np.float64],
        out: NDArray[np.float64],
    ) -> None: ...

    def smooth(
        self,
        shares: NDArray[np.float64],
        errors: NDArray[np.float64],
        basis: NDArray[np.float64],
        series: NDArray[np.float64],
        memory: float,
        coefficients: NDArray[np.float64],
        shocks: NDArray[np.float64],
        means: NDArray[np.float64],
        variances: NDArray[np.float64],
    ) -> None: ...

    def follow(
        self,
        shares: NDArray[np.float64],
        errors: NDArray[np.float64],
        basis: NDArray[np.float64],
        series: NDArray[np.float64],
        memory: float,
        coefficients: NDArray[np.float64],
        shocks: NDArray[np.float64],
        means: NDArray[np.float64],
        variances: NDArray[np.float64],
    ) -> None: ...

    def level_scores(
        self,
        shares: NDArray[np.float64],
        errors: NDArray[np.float64],
        basis: NDArray[np.float64],
        series: NDArray[np.float64],
        memory: float,
        coefficients: NDArray[np.float64],
        shocks: NDArray[np.float64],
        scores: NDArray[np.float64],
        informations: NDArray[np.float64],
    ) -> None: ...

    def question_variances(
        self,
        errors: NDArray[np.float64],
        basis: NDArray[np.float64],
        series: NDArray[np.float64],
        memory: float,
        coefficients: NDArray[np.float64],
        shocks: NDArray[np.float64],
        weights: NDArray[np.float64],
        damped: NDArray[np.float64],
        groups: NDArray[np.int64],
        bounds: NDArray[np.int64],
        out: NDArray[np.float64],
    ) -> None: ...


class SummedKernels(Protocol):
    """Series of which sums were seen too; ``summed_plain`` says what each function does."""

    def log_likelihoods(
        self,
        values: NDArray[np.float64],
        exposures: NDArray[np.float64],
        errors: NDArray[np.float64],
        deviations: NDArray[np.float64],
        basis: NDArray[np.float64],
        series: NDArray[np.float64],
        memory: float,
        coefficients: NDArray[np.float64],
        shocks: NDArray[np.float64],
        ends: NDArray[np.bool_],
        sum_errors: NDArray[np.float64],
        out: NDArray[np.float64],
    ) -> None: ...

    def smooth(
        self,
        values: NDArray[np.float64],
        exposures: NDArray[np.float64],
        errors: NDArray[np.float64],
        deviations: NDArray[np.float64],
        basis: NDArray[np.float64],
        series: NDArray[np.float64],
        memory: float,
        coefficients: NDArray[np.float64],
        shocks: NDArray[np.float64],
        ends: NDArray[np.bool_],
        sum_errors: NDArray[np.float64],
        expected: NDArray[np.float64],
        realized: NDArray[np.float64],
    ) -> None: ...

    def level_scores(
        self,
        values: NDArray[np.float64],
        exposures: NDArray[np.float64],
        errors: NDArray[np.float64],
        deviations: NDArray[np.float64],
        basis: NDArray[np.float64],
        series: NDArray[np.float64],
        memory: float,
        coefficients: NDArray[np.float64],
        shocks: NDArray[np.float64],
        ends: NDArray[np.bool_],
        sum_errors: NDArray[np.float64],
        scores: NDArray[np.float64],
        informations: NDArray[np.float64],
    ) -> None: ...

    def question_variances(
        self,
        exposures: NDArray[np.float64],
        errors: NDArray[np.float64],
        deviations: NDArray[np.float64],
        basis: NDArray[np.float64],
        series: NDArray[np.float64],
        memory: float,
        coefficients: NDArray[np.float64],
        shocks: NDArray[np.float64],
        ends: NDArray[np.bool_],
        sum_errors: NDArray[np.float64],
        weights: NDArray[np.float64],
        groups: NDArray[np.int64],
        bounds: NDArray[np.int64],
        out: NDArray[np.float64],
        slopes: NDArray[np.float64],
    ) -> None: ...


class StateKernels(Protocol):
    """What a filter knows at given times; ``states_plain`` says what each function does."""

    def share_states(
        self,
        shares: NDArray[np.float64],
        errors: NDArray[np.float64],
        basis: NDArray[np.float64],
        starts: NDArray[np.float64],
        series: NDArray[np.float64],
        memory: float,
        coefficients: NDArray[np.float64],
        shocks: NDArray[np.float64],
        origins: NDArray[np.int64],
        states: NDArray[np.float64],
        spreads: NDArray[np.float64],
    ) -> None: ...

    def rate_states(
        self,
        counts: NDArray[np.float64],
        errors: NDArray[np.float64],
        basis: NDArray[np.float64],
        state: NDArray[np.float64],
        spread: NDArray[np.float64],
        steps: NDArray[np.float64],
        memory: float,
        overdispersion: float,
        largest: float,
        origins: NDArray[np.int64],
        logs: NDArray[np.float64],
        variances: NDArray[np.float64],
        states: NDArray[np.float64],
        spreads: NDArray[np.float64],
    ) -> None: ...
