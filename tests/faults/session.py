"""A pytest plug-in that runs any tests with one fault planted: to see which of them find it.

TACIT_FAULT="a key is not wiped" PYTHONPATH=tests pytest -p faults.session tests/privacy/test_spending.py
"""

from __future__ import annotations

import os
from contextlib import ExitStack

import pytest

_PLANTED = ExitStack()


def pytest_collection_finish(session: pytest.Session) -> None:
    from faults.planting import planted
    from faults.table import FAULTS

    (fault,) = (fault for fault in FAULTS if fault.name == os.environ["TACIT_FAULT"])
    _PLANTED.enter_context(planted(fault))


def pytest_sessionfinish(session: pytest.Session) -> None:
    _PLANTED.close()
