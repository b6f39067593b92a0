"""The steps by which a store's tables came to be what they are; a store of an earlier step is brought up to date.

Each step is a file of ``versions``, made by hand from ``schema.py``; a test compares what they lead to with it.
Two processes may open one store at once: PostgreSQL lets one of them migrate, and SQLite has one writer anyway.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

import sqlalchemy as sa
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory

_HERE: Final = Path(__file__).parent
_LOCK: Final = 7_461_636_974  # a number that only collectors ask PostgreSQL to lock: "tacit" in hexadecimal digits


def upgrade(engine: sa.Engine) -> None:
    """Bring the tables of a store up to date, in one transaction."""
    config = Config()
    config.set_main_option("script_location", str(_HERE))
    with engine.begin() as connection:
        if connection.dialect.name == "postgresql":
            connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
        script = ScriptDirectory.from_config(config)
        with EnvironmentContext(config, script, fn=lambda found, _: script._upgrade_revs("head", found)) as steps:
            steps.configure(connection=connection)
            steps.run_migrations()
