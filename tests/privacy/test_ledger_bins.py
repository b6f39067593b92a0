"""What a release for ever has counted, bin by bin."""

from __future__ import annotations

import pytest

from tacit.errors import AlreadyReleased, SettingError
from tacit.privacy.cost import Cost
from tacit.privacy.ledger import Ledger


@pytest.fixture
def ledger(tmp_path):
    return Ledger(tmp_path / "ledger.sqlite")


@pytest.fixture
def forever(ledger):
    return ledger.spend(data_set="visits", release="counter", cost=Cost.pure(1.0), days=None).identifier


def test_a_bin_is_noted_once_and_the_same_again_is_free(ledger, forever):
    ledger.note_bins(forever, {0: b"a", 1: b"b"})
    ledger.note_bins(forever, {1: b"b", 2: b"c"})
    with pytest.raises(AlreadyReleased, match=r"bin 2 was counted before with other counts \(1 of 2 bins were\)"):
        ledger.note_bins(forever, {2: b"other", 3: b"d"})
    ledger.note_bins(forever, {3: b"elsewhere"})  # what was refused left nothing behind
    with pytest.raises(AlreadyReleased, match="day 3"):
        ledger.note_bins(forever, {3: b"d"}, called=lambda bin: f"day {bin}")


def test_noting_wipes_the_key(ledger, forever):
    ledger.note_bins(forever, {})
    assert ledger.history()[0].is_finished
    with pytest.raises(AlreadyReleased):
        ledger.resume(forever)


def test_only_a_release_for_ever_has_bins(ledger):
    days = ledger.spend(data_set="visits", release="table", cost=Cost.pure(1.0), days={"2018-01-01": b"x"})
    for name in (days.identifier, "nobody"):
        with pytest.raises(SettingError, match="holds no counter"):
            ledger.note_bins(name, {0: b"a"})


def test_two_counters_have_bins_of_their_own(ledger, forever):
    other = ledger.spend(data_set="doors", release="counter", cost=Cost.pure(1.0), days=None).identifier
    ledger.note_bins(forever, {0: b"a"})
    ledger.note_bins(other, {0: b"b"})
