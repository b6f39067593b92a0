"""The tables of a collector's store. Nothing in them names a device, a network address or a time of receipt.

``seen`` has the ids of all messages that were counted, and nothing else about them: they are random numbers, kept so
that none counts twice. ``run`` has the reports of one message in one public bin, under a random number of its own that
is not the message's; its rows go when their period closes. ``tally`` is the sum of the reports of a bin, and changes in
the transaction that adds them. ``survey.restored_at`` is the second at which a backup was restored, from 2026 on, or 0;
looks for poisoned reports are numbered again from there. ``token`` has digests of tokens, each under a name; of an
administrator's token that was taken back it stays, under the scope ``revoked``, so that no configuration lets it in
again. Rows of SQLite have no serial numbers (WITHOUT ROWID).
"""

from __future__ import annotations

from typing import Final

import sqlalchemy as sa

METADATA: Final = sa.MetaData()
# lengths: ids have 16 bytes and digests 32, or 64 digits; names of surveys have at most 64 letters, scopes and
# reasons fewer
_ID: Final = sa.LargeBinary(16)
_DIGEST: Final = sa.LargeBinary(32)
_NAME: Final = sa.String(64)
_WORD: Final = sa.String(32)
_SENTENCE: Final = sa.String(300)
_HEX: Final = sa.String(64)

SURVEY: Final = sa.Table(
    "survey",
    METADATA,
    sa.Column("id", _NAME, primary_key=True),
    sa.Column("plan", sa.Text, nullable=False),
    sa.Column("late", sa.Integer, nullable=False),
    sa.Column("is_open", sa.Boolean, nullable=False),
    sa.Column("is_simulation", sa.Boolean, nullable=False),
    sa.Column("n_closed", sa.BigInteger, nullable=False),
    sa.Column("n_looks", sa.BigInteger, nullable=False),
    sa.Column("restored_at", sa.BigInteger, nullable=False, server_default="0"),
    sqlite_with_rowid=False,
)
SEEN: Final = sa.Table(
    "seen",
    METADATA,
    sa.Column("survey", _NAME, sa.ForeignKey("survey.id"), primary_key=True),
    sa.Column("message", _ID, primary_key=True),
    sqlite_with_rowid=False,
)
RUN: Final = sa.Table(
    "run",
    METADATA,
    sa.Column("id", _ID, primary_key=True),
    sa.Column("survey", _NAME, sa.ForeignKey("survey.id"), nullable=False),
    sa.Column("bin", sa.BigInteger, nullable=False),
    sa.Column("reports", sa.LargeBinary, nullable=False),
    sa.Index("run_bin", "survey", "bin"),
    sqlite_with_rowid=False,
)
TALLY: Final = sa.Table(
    "tally",
    METADATA,
    sa.Column("survey", _NAME, sa.ForeignKey("survey.id"), primary_key=True),
    sa.Column("bin", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("n_reports", sa.BigInteger, nullable=False),
    sa.Column("statistics", sa.LargeBinary, nullable=False),
    sqlite_with_rowid=False,
)
PERIOD: Final = sa.Table(
    "period",
    METADATA,
    sa.Column("survey", _NAME, sa.ForeignKey("survey.id"), primary_key=True),
    sa.Column("number", sa.BigInteger, primary_key=True, autoincrement=False),
    sa.Column("n_reports", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
REFUSAL: Final = sa.Table(
    "refusal",
    METADATA,
    sa.Column("survey", _NAME, sa.ForeignKey("survey.id"), primary_key=True),
    sa.Column("reason", _WORD, primary_key=True),
    sa.Column("n", sa.BigInteger, nullable=False),
    sqlite_with_rowid=False,
)
ALARM: Final = sa.Table(
    "alarm",
    METADATA,
    sa.Column("survey", _NAME, sa.ForeignKey("survey.id"), primary_key=True),
    sa.Column("what", _SENTENCE, primary_key=True),
    sqlite_with_rowid=False,
)
TOKEN: Final = sa.Table(
    "token",
    METADATA,
    sa.Column("name", _NAME, primary_key=True),
    sa.Column("digest", _DIGEST, nullable=False, unique=True),
    sa.Column("survey", _NAME, nullable=False),
    sa.Column("scope", _WORD, nullable=False),
    sqlite_with_rowid=False,
)
OUTLET: Final = sa.Table(
    "outlet",
    METADATA,
    sa.Column("survey", _NAME, sa.ForeignKey("survey.id"), primary_key=True),
    sa.Column("every", _WORD, nullable=False),
    sa.Column("is_public", sa.Boolean, nullable=False),
    *(sa.Column(name, _SENTENCE, nullable=False, server_default="") for name in ("title", "noun", "language")),
    sqlite_with_rowid=False,
)
RELEASE: Final = sa.Table(
    "release",
    METADATA,
    sa.Column("survey", _NAME, sa.ForeignKey("survey.id"), primary_key=True),
    sa.Column("number", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("n_periods", sa.BigInteger, nullable=False),
    sa.Column("checksum", _HEX, nullable=False),
    sa.Column("file", _DIGEST, nullable=False),
    sa.Column("n_bytes", sa.BigInteger, nullable=False),
    sa.Column("page", _DIGEST, nullable=False),
    sa.Column("signed_by", _HEX, nullable=False),
    sqlite_with_rowid=False,
)
