"""When a survey was restored, and the words of its page."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0004"
down_revision: Final = "0003"


def upgrade() -> None:
    # as in schema.py when this was written
    op.add_column("survey", sa.Column("restored_at", sa.BigInteger, nullable=False, server_default="0"))
    for name in ("title", "noun", "language"):
        op.add_column("outlet", sa.Column(name, sa.String(300), nullable=False, server_default=""))


def downgrade() -> None:
    raise NotImplementedError("a store does not go back: restore a backup.")
