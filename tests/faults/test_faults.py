"""Every planted fault is found by what must find it, at default settings; without a fault nothing is found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from tools.table_of_faults import HEAD, table

from faults.planting import Setting, planted
from faults.table import FAULTS


@pytest.fixture
def setting(seed, tmp_path) -> Setting:
    return Setting(seed, tmp_path)


def tries(seed: int, folder: Path) -> Iterator[Setting]:
    """Three settings with seeds of their own."""
    for number in range(3):
        (folder / f"{number}").mkdir()
        yield Setting((seed + number * 1_000_003) % 2**32, folder / f"{number}")


@pytest.mark.false_failure(1e-6)
@pytest.mark.parametrize("fault", FAULTS, ids=lambda fault: fault.name)
def test_a_planted_fault_is_found(fault, seed, tmp_path):
    """By one of three tries: what is missed once in a hundred is missed three times once in 1e6."""
    with planted(fault):
        assert any(map(fault.refuter.find, tries(seed, tmp_path)))


REFUTERS = {fault.refuter.name: fault.refuter for fault in FAULTS}


@pytest.mark.false_failure(1e-9)
@pytest.mark.parametrize("refuter", REFUTERS.values(), ids=lambda refuter: refuter.name)
def test_without_a_fault_nothing_is_found(refuter, setting):
    """The twin of every row; fails by bad luck once in 1e9."""
    assert not refuter.find(setting.surely())


def test_there_are_forty_faults_at_least_and_each_has_a_name_of_its_own():
    assert len({fault.name for fault in FAULTS}) == len(FAULTS) >= 40


def test_the_printed_table_names_every_fault_once():
    rows = table().removeprefix(HEAD).splitlines()
    named = [name.removesuffix(" \\*") for row in rows for name in row.strip("| ").split(" | ")[1].split("; ")]
    assert sorted(named) == sorted(fault.name for fault in FAULTS)
