"""Shared by all tests: a seed that differs on every run, because the suite must pass on any."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

SEED = int(os.environ.get("TACIT_TEST_SEED") or int.from_bytes(os.urandom(4), "little"))

settings.register_profile("tacit", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("tacit")


def pytest_report_header() -> str:
    return f"statistical tests: repeat this run with TACIT_TEST_SEED={SEED}"


@pytest.fixture
def seed() -> int:
    """A seed for simulated randomness; fails no more often than a test's stated false-failure probability."""
    return SEED
