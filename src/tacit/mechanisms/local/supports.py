"""The estimate every support-type randomizer shares."""

from __future__ import annotations

import numpy as np

from tacit.counts.estimate import Estimate
from tacit.counts.noise import OracleNoise, Orientation
from tacit.counts.norm_sub import norm_sub
from tacit.counts.oracle_distributions import SupportDistribution
from tacit.counts.tally import Tally
from tacit.domain import Domain
from tacit.errors import PlanMismatch
from tacit.plan import Plan


def estimate_supports(distribution: SupportDistribution, tally: Tally, plan: Plan, domain: Domain) -> Estimate:
    """Estimate counts without bias from how often each cell was supported: (C - N q) / (p - q)."""
    if tally.provenance.plan_id != plan.fingerprint:
        raise PlanMismatch(
            f"the tally belongs to plan {tally.provenance.plan_id}, not {plan.fingerprint}. "
            "Use the plan it was collected under."
        )
    totals = plan.totals_by_domain(tally.reports, domain)
    supports = plan.by_domain(tally.statistics, domain)
    values = (supports - totals * float(distribution.q)) / float(distribution.p - distribution.q)
    orientation = Orientation(plan.private, domain.shape)
    reports = totals.ravel()
    counts = None
    if distribution.needs_counts:
        # single precision is plenty for a plug-in, and halves the release
        counts = norm_sub(orientation.rows(values), reports).astype(np.float32).astype(np.float64)
    return Estimate(
        domain=domain,
        values=values,
        noise=OracleNoise(distribution, reports, domain.shape, plan.private, counts),
        totals=totals,
        steps=(),
        provenance=tally.provenance,
    )
