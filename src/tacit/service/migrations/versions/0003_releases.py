"""Published releases, and how a survey is published."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0003"
down_revision: Final = "0002"


def upgrade() -> None:
    # as in schema.py when this was written
    digest, name, word, text = sa.LargeBinary(32), sa.String(64), sa.String(32), sa.String(64)
    op.create_table(
        "outlet",
        sa.Column("survey", name, sa.ForeignKey("survey.id"), primary_key=True),
        sa.Column("every", word, nullable=False),
        sa.Column("is_public", sa.Boolean, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "release",
        sa.Column("survey", name, sa.ForeignKey("survey.id"), primary_key=True),
        sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("n_periods", sa.BigInteger, nullable=False),
        sa.Column("checksum", text, nullable=False),
        sa.Column("file", digest, nullable=False),
        sa.Column("n_bytes", sa.BigInteger, nullable=False),
        sa.Column("page", digest, nullable=False),
        sa.Column("signed_by", text, nullable=False),
        sqlite_with_rowid=False,
    )


def downgrade() -> None:
    raise NotImplementedError("a store does not go back: restore a backup.")
