"""Engines beyond one machine: the same plans, counts and reports, computed where the rows are.

An engine runs passes over rows (:class:`tacit.events.passes.Engine`) and draws reports from counts
(``Output`` of :mod:`tacit.collection.wire.randomizing_writer`). What it gives is equal to
what this machine alone would give.
"""

import warnings
from typing import Final

from tacit._base.extras import require

VERSION: Final[str] = require("pyspark", extra="spark").__version__
"""The version of Spark; without Spark this room cannot be entered, and the error says what to install."""
# Spark imports pandas; what it is not ready for in pandas 3 is not used here
warnings.filterwarnings("ignore", message="PySpark does not yet fully support pandas", category=FutureWarning)
