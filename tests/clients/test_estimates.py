"""Reports of a browser lead a collector to the truth, and nothing but messages comes out."""

from __future__ import annotations

from functools import reduce
from operator import add

import numpy as np
import pytest
from scipy import stats

from tacit.collection.tallying import estimate_tally
from tacit.collection.wire import MessageFormat
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for

FALSE_FAILURE = 1e-8
PLACES = [f"place {number}" for number in range(6)]
DOMAIN = Domain(TimeAxis.between("2018-03-24", "2018-03-27", zone="Europe/Paris"), PlaceAxis.of(PLACES))
TRUTH = np.array([260, 120, 60, 40, 20, 0])  # events on each of four days: 2,000 reports
N_DAYS, N_MESSAGES = 4, 20
ORACLES = [name for name, entry in MECHANISMS.items() if not entry.is_repeated and not entry.is_sampled]


def events():
    return [
        {"time": f"2018-03-{24 + day}T{number % 24:02d}:30", "place": place}
        for day in range(N_DAYS)
        for place, count in zip(PLACES, TRUTH.tolist(), strict=True)
        for number in range(count)
    ]


@pytest.mark.browser
@pytest.mark.slow
@pytest.mark.false_failure(FALSE_FAILURE)
@pytest.mark.parametrize("name", ORACLES)
def test_two_thousand_reports_of_a_browser_are_counted_and_lie_around_the_truth(ask_chromium, name):
    """A cell is supported by n reports of its own with chance p and by the others with q: exact tails of the sum."""
    plan = plan_for(DOMAIN, epsilon=3.0, mechanism=name)
    form, distribution = MessageFormat.of(plan), mechanism_of(plan).distribution
    batches = [events()[first::N_MESSAGES] for first in range(N_MESSAGES)]
    sent = [form.parse(bytes.fromhex(one)) for one in ask_chromium("messages", plan=plan.to_json(), batches=batches)]
    assert len({batch.id for batch in sent}) == N_MESSAGES
    tally = reduce(add, map(form.tally, sent))
    assert tally.reports.tolist() == [TRUTH.sum()] * N_DAYS
    assert not tally.provenance.is_simulation
    least = FALSE_FAILURE / (2 * N_DAYS * len(PLACES))
    for cell, own in enumerate(TRUTH.tolist()):
        chances = [
            stats.binom.pmf(np.arange(n + 1), n, float(chance))
            for n, chance in ((own, distribution.p), (TRUTH.sum() - own, distribution.q))
        ]
        chance_of = np.convolve(*chances)
        for support in tally.statistics[:, cell].tolist():
            assert min(chance_of[: support + 1].sum(), chance_of[support:].sum()) >= least
    values = estimate_tally(tally, plan).values
    expected = (tally.statistics - TRUTH.sum() * float(distribution.q)) / float(distribution.p - distribution.q)
    np.testing.assert_allclose(values, expected, rtol=1e-9, atol=1e-9)
