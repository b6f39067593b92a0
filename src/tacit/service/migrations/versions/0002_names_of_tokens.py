"""Tokens get names, by which they are listed and taken back. Those that are there are named by chance."""

from __future__ import annotations

import secrets
from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0002"
down_revision: Final = "0001"

# as in schema.py when this was written; a later step changes them, never this one
_DIGEST, _NAME, _WORD = sa.LargeBinary(32), sa.String(64), sa.String(32)


def upgrade() -> None:
    connection = op.get_bind()
    rows = connection.execute(sa.text("SELECT digest, survey, scope FROM token")).all()
    op.drop_table("token")
    op.create_table(
        "token",
        sa.Column("name", _NAME, primary_key=True),
        sa.Column("digest", _DIGEST, nullable=False, unique=True),
        sa.Column("survey", _NAME, nullable=False),
        sa.Column("scope", _WORD, nullable=False),
        sqlite_with_rowid=False,
    )
    kept = sa.text("INSERT INTO token (name, digest, survey, scope) VALUES (:name, :digest, :survey, :scope)")
    for row in rows:
        named = {"name": f"{row.scope}-{secrets.token_hex(4)}", "digest": row.digest}
        connection.execute(kept, named | {"survey": row.survey, "scope": row.scope})


def downgrade() -> None:
    raise NotImplementedError("a store does not go back: restore a backup.")
