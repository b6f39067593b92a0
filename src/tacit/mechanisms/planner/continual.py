"""What a trusted curator could publish after every bin: counters of running totals, and all ranges from them.

Which counter is best of its kind does not depend on how much is spent, so that it is looked for once. One whose noise
is drawn ahead is private for streams that do not react to what is published.
"""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from typing import Any

from tacit.counts.continual_noise import BufferedRoot
from tacit.mechanisms.continual.picker import compare, pick
from tacit.mechanisms.continual.tuning import tune
from tacit.mechanisms.planner.central import costs
from tacit.mechanisms.planner.contender import Contender
from tacit.mechanisms.planner.situation import Situation
from tacit.privacy.cost import Cost


def contenders(situation: Situation) -> list[Contender]:
    """The best counter of each kind for a known number of bins, and the best for an unknown one."""
    made = []
    for noise, cost in costs(situation).items():
        known, endless = _best_noise_models(situation.n_bins, bool(cost.rho))
        for name, noise_model in [*(("counter", noise_model) for noise_model in known), ("endless counter", endless)]:
            made.append(_contender(name, _paid(noise_model, cost, situation.unit.most, name == "counter"), noise))
    return made


def _paid(noise_model: Any, cost: Cost, most: int, has_end: bool) -> Any:
    """The same noise model at another cost; the grid of a buffered root depends on it."""
    if noise_model.kind == BufferedRoot.kind:
        return tune(noise_model.horizon if has_end else None, cost, most)
    return replace(noise_model, cost=cost, most=most)


def _contender(name: str, noise_model: Any, noise: str) -> Contender:
    fan_outs = tuple(reversed(noise_model.fan_outs)) if noise_model.kind in ("k-ary tree", "refined tree") else ()
    return Contender(f"{name} ({noise_model.kind})", noise_model, noise, fan_outs, is_continual=True)


@lru_cache(maxsize=32)
def _best_noise_models(horizon: int, is_gaussian: bool) -> tuple[tuple[Any, ...], Any]:
    """The best noise model of each kind for so many bins, and the best for any number."""
    cost = Cost.zcdp(0.5) if is_gaussian else Cost.pure(1.0)
    return tuple(one.noise_model for one in compare(cost, horizon, reacts=False)), pick(cost)
