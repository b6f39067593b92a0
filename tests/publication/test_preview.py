"""What whoever publishes is shown beforehand: errors are those that the release then has."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
import pytest

import tacit
from small_worlds import KINDS, reported
from tacit.collection.tallying import estimate_tally
from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.mechanisms.planner import CURATOR, NOBODY, Wanted
from tacit.privacy.unit import Unit
from tacit.publication.preview import expected_errors
from tacit.release import Release

TIME = TimeAxis.between("2025-01-01", "2025-03-31", zone="Europe/Paris")


def test_without_places_devices_hide_the_day_and_err_as_shown():
    domain = Domain(TIME, PlaceAxis.everything())
    counts = np.full(domain.shape, 40)
    nobody, curator = expected_errors(domain, Unit(), 1.0, int(counts.sum()), 90)
    assert (nobody.trust, nobody.hidden, nobody.n_values) == (NOBODY, "day", 90)
    assert (curator.trust, curator.n_values) == (CURATOR, 2)
    plan, _ = Wanted(domain, NOBODY, ("time",)).plan(1.0)
    release = Release.of(plan, estimate_tally(reported(plan, counts, 1), plan))
    for first, last, shown in (("2025-02-01", "2025-02-01", nobody.one), ("2025-02-01", "2025-03-02", nobody.thirty)):
        # events fall alike on all days; what an estimate takes for their share moves its error by a few percent
        assert release.answer(first=first, last=last).standard_error == pytest.approx(shown, rel=0.05)


@pytest.mark.slow
@pytest.mark.parametrize("target", [None, "5"])
def test_a_curators_plan_errs_as_shown_and_as_asked_for(tmp_path, target):
    """Over 122 days a tree is chosen, and a target for single counts makes the plan one of flat counts."""
    days = pd.date_range("2025-06-01", "2025-09-30")
    hoods = [f"hood {i}" for i in range(8)]
    seen = []
    made = tacit.publish(
        pd.DataFrame({"day": days.repeat(8), "hood": hoods * len(days)}),
        **{"data_set": "stops", "time": "day", "place": "hood", "places": hoods, "zone": "Europe/Paris"},
        **{"first": "2025-06-01", "last": "2025-09-30", "trust": "curator"},
        **({"epsilon": 1.0} if target is None else {"target": target}),
        **{"days_ahead": 0, "folder": tmp_path / "stops", "ledger": tmp_path / "ledger.sqlite", "look": seen.append},
    )
    assert made.release.plan.mechanism == ("tree" if target is None else "flat")
    curator = seen[0].errors()[1]
    assert curator.trust == CURATOR
    errors = [made.release.answer(first=day, last=day, places=["hood 1"]).standard_error for day in days.strftime("%F")]
    assert np.sqrt(np.mean(np.square(errors))) == pytest.approx(curator.one, rel=1e-6)
    if target is not None:
        assert curator.one == pytest.approx(5, rel=1e-3)


def test_devices_hide_what_there_is_to_hide():
    places = PlaceAxis.of(["north", "south"])
    kinds = KindAxis.from_gazetteer(KINDS)

    def hidden(*axes):
        return expected_errors(Domain(TIME, *axes), Unit(), 1.0, 900, 90)[0].hidden

    assert hidden(places) == "place"
    assert hidden(PlaceAxis.everything(), kinds) == "kind"
    assert hidden(places, kinds) == "place and kind"


def test_a_single_count_has_nothing_to_hide_among():
    domain = Domain(TimeAxis.between("2025-01-01", "2025-01-01"), PlaceAxis.everything())
    (only,) = expected_errors(domain, Unit(), 1.0, 9, 1)
    assert only.trust == CURATOR
    assert only.thirty == pytest.approx(math.sqrt(30) * only.one)
