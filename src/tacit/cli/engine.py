"""The engine that does the work of a command, as the options name it; Spark is loaded only where it is asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit._base.validation import check_one_of
from tacit.cli import console
from tacit.cli.options import EngineOptions
from tacit.errors import SettingError

if TYPE_CHECKING:
    from tacit.engines.spark import SparkEngine


def engine_of(options: EngineOptions) -> SparkEngine | None:
    """Return Spark, started or as it runs already, or None where this machine does the work."""
    check_one_of(("local", "spark"), engine=options.engine)
    if options.engine == "local":
        if options.master is not None:
            raise SettingError("--master is the address of Spark's master. Add --engine spark, or leave it out.")
        return None
    from tacit.engines.session import start
    from tacit.engines.spark import SparkEngine

    with console.waiting("Starting Spark"):
        return SparkEngine(start(options.master))
