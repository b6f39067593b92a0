"""The synthetic interventions, made once for all tests of them."""

from __future__ import annotations

import numpy as np
import pytest

from tacit.events.datasets import doubs


@pytest.fixture(scope="session")
def data() -> doubs.DoubsInterventions:
    return doubs.interventions()


@pytest.fixture(scope="session")
def rows(data: doubs.DoubsInterventions) -> dict[str, np.ndarray]:
    return data.rows()
