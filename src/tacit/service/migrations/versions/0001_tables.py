"""The first tables."""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa
from alembic import op

revision: Final = "0001"
down_revision: Final = None

# as in schema.py when this was written; a later step changes them, never this one
_ID, _DIGEST = sa.LargeBinary(16), sa.LargeBinary(32)
_NAME, _WORD, _SENTENCE = sa.String(64), sa.String(32), sa.String(300)


def upgrade() -> None:
    op.create_table(
        "survey",
        sa.Column("id", _NAME, primary_key=True),
        sa.Column("plan", sa.Text, nullable=False),
        sa.Column("late", sa.Integer, nullable=False),
        sa.Column("is_open", sa.Boolean, nullable=False),
        sa.Column("is_simulation", sa.Boolean, nullable=False),
        sa.Column("n_closed", sa.BigInteger, nullable=False),
        sa.Column("n_looks", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table("seen", _survey(), sa.Column("message", _ID, primary_key=True), sqlite_with_rowid=False)
    op.create_table(
        "run",
        sa.Column("id", _ID, primary_key=True),
        sa.Column("survey", _NAME, sa.ForeignKey("survey.id"), nullable=False),
        sa.Column("bin", sa.BigInteger, nullable=False),
        sa.Column("reports", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_index("run_bin", "run", ["survey", "bin"])
    op.create_table(
        "tally",
        _survey(),
        sa.Column("bin", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("n_reports", sa.BigInteger, nullable=False),
        sa.Column("statistics", sa.LargeBinary, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "period",
        _survey(),
        sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
        sa.Column("n_reports", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table(
        "refusal",
        _survey(),
        sa.Column("reason", _WORD, primary_key=True),
        sa.Column("n", sa.BigInteger, nullable=False),
        sqlite_with_rowid=False,
    )
    op.create_table("alarm", _survey(), sa.Column("what", _SENTENCE, primary_key=True), sqlite_with_rowid=False)
    op.create_table(
        "token",
        sa.Column("digest", _DIGEST, primary_key=True),
        sa.Column("survey", _NAME, nullable=False),
        sa.Column("scope", _WORD, nullable=False),
        sqlite_with_rowid=False,
    )


def _survey() -> sa.Column[str]:
    return sa.Column("survey", _NAME, sa.ForeignKey("survey.id"), primary_key=True)


def downgrade() -> None:
    raise NotImplementedError("a store does not go back: restore a backup.")
