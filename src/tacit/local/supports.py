"""The estimate every support-type randomizer shares."""

from __future__ import annotations

import numpy as np

from tacit.domain import Domain
from tacit.errors import PlanMismatch
from tacit.estimate import Estimate
from tacit.noise import OracleNoise, Orientation
from tacit.plan import Plan
from tacit.postprocess.simplex import projected
from tacit.support_laws import SupportLaw
from tacit.tally import Tally


def estimate_supports(law: SupportLaw, tally: Tally, plan: Plan, domain: Domain) -> Estimate:
    """Estimate counts without bias from how often each cell was supported: (C - N q) / (p - q)."""
    if tally.provenance.plan_id != plan.fingerprint:
        raise PlanMismatch(
            f"the tally belongs to plan {tally.provenance.plan_id}, not {plan.fingerprint}. "
            "Use the plan it was collected under."
        )
    totals = plan.totals_by_domain(tally.reports, domain)
    supports = plan.by_domain(tally.statistics, domain)
    values = (supports - totals * float(law.q)) / float(law.p - law.q)
    orientation = Orientation(plan.private, domain.shape)
    reports = totals.ravel()
    counts = None
    if law.needs_counts:
        # single precision is plenty for a plug-in, and halves the release
        counts = projected(orientation.rows(values), reports).astype(np.float32).astype(np.float64)
    return Estimate(
        domain=domain,
        values=values,
        noise=OracleNoise(law, reports, domain.shape, plan.private, counts),
        totals=totals,
        steps=(),
        provenance=tally.provenance,
    )
