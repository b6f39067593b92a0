"""Tokens: what each allows, under a name by which it is listed and taken back. The store has digests alone."""

from __future__ import annotations

import hashlib
import re
import secrets
from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from enum import Enum, unique
from typing import Final

import sqlalchemy as sa

from tacit.errors import SettingError
from tacit.service.schema import TOKEN
from tacit.service.settings import check_admin_token

EVERY_SURVEY: Final = "*"
CONFIGURED: Final = "configured"
"""The name of the administrator's token that comes from the configuration; another one there replaces it."""
_REVOKED: Final = "revoked"
"""The scope of an administrator's token that was taken back. Its digest stays, so that no configuration lets it in."""
_DIGITS: Final = 32  # of a digest in a name: 128 bits, so that no two names are alike
_NAME: Final = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,62}[a-z0-9])?")


@unique
class Scope(Enum):
    """What a token allows for one survey; that of an administrator allows everything."""

    WRITE = "write"
    READ = "read"
    ADMIN = "admin"

    @property
    def words(self) -> str:
        """The token that allows it, in words."""
        return _WORDS[self.value]


_WORDS: Final = {
    "write": "a token to send reports",
    "read": "a token to read counts",
    "admin": "an administrator's token",
}


@dataclass(frozen=True, slots=True)
class NamedToken:
    """What is known of a token: its name, what it allows, and where."""

    name: str
    scope: Scope
    survey: str


class Tokens:
    """The tokens of a store, by transactions that write or read."""

    def __init__(
        self,
        begin: Callable[[], AbstractContextManager[sa.Connection]],
        reading: Callable[[], AbstractContextManager[sa.Connection]],
    ) -> None:
        self._begin, self._reading = begin, reading

    def new(self, scope: Scope, survey_id: str = EVERY_SURVEY, *, name: str | None = None) -> str:
        """Make a token and return it. It is shown once: the store keeps its digest. A name that is taken is refused."""
        name = _new_name(scope, survey_id) if name is None else name
        if not _NAME.fullmatch(name) or name == CONFIGURED:
            raise SettingError(
                f"a token's name must have 1 to 64 small letters, digits and hyphens, and not be {CONFIGURED}. Use one "
                "such as station-3."
            )
        token = secrets.token_urlsafe(32)
        where = EVERY_SURVEY if scope is Scope.ADMIN else survey_id
        row = {"name": name, "digest": _digest(token), "survey": where, "scope": scope.value}
        with self._begin() as connection:
            if connection.execute(sa.select(TOKEN.c.name).where(TOKEN.c.name == name)).first() is not None:
                raise SettingError(f"there is a token {name} already. Choose another name, or revoke it first.")
            connection.execute(sa.insert(TOKEN), row)
        return token

    def check_not_revoked(self, token: str) -> None:
        """Refuse an administrator's token of the configuration that was taken back."""
        asked = sa.select(TOKEN.c.name).where(TOKEN.c.digest == _digest(token), TOKEN.c.scope == _REVOKED)
        with self._reading() as connection:
            if connection.execute(asked).first() is not None:
                raise SettingError(
                    "the configured admin_token was taken back. Write a new token to its file or variable."
                )

    def configure_admin(self, token: str) -> None:
        """Let this token be an administrator's, instead of the one that was configured before.

        One that was taken back is refused.
        """
        check_admin_token(token)
        self.check_not_revoked(token)
        row = {"name": CONFIGURED, "digest": _digest(token), "survey": EVERY_SURVEY, "scope": Scope.ADMIN.value}
        with self._begin() as connection:
            connection.execute(sa.delete(TOKEN).where((TOKEN.c.name == CONFIGURED) | (TOKEN.c.digest == row["digest"])))
            connection.execute(sa.insert(TOKEN), row)

    def revoke(self, name: str) -> bool:
        """Take the token of a name back; returns whether there was one. An administrator's is never let in again."""
        with self._begin() as connection:
            asked = sa.select(TOKEN.c.digest).where(TOKEN.c.name == name, TOKEN.c.scope == Scope.ADMIN.value)
            digest = connection.execute(asked).scalar_one_or_none()
            if digest is not None:  # the new name is one that no token can have
                kept = {"name": f"{_REVOKED}:{digest.hex()[:_DIGITS]}", "scope": _REVOKED}
                connection.execute(sa.update(TOKEN).where(TOKEN.c.name == name).values(**kept))
                return True
            return connection.execute(sa.delete(TOKEN).where(TOKEN.c.name == name)).rowcount > 0

    def listed(self) -> list[NamedToken]:
        """Return all tokens by name; none is shown again."""
        asked = sa.select(TOKEN.c.name, TOKEN.c.scope, TOKEN.c.survey).where(TOKEN.c.scope != _REVOKED)
        with self._reading() as connection:
            rows = connection.execute(asked.order_by(TOKEN.c.name))
            return [NamedToken(row.name, Scope(row.scope), row.survey) for row in rows]

    def allows(self, token: str, scope: Scope, survey_id: str) -> bool:
        """Return whether a token allows something; that of an administrator allows everything."""
        asked = sa.select(TOKEN.c.survey, TOKEN.c.scope).where(TOKEN.c.digest == _digest(token))
        with self._reading() as connection:
            row = connection.execute(asked).one_or_none()
        if row is None:
            return False
        return row.scope == Scope.ADMIN.value or (row.scope, row.survey) == (scope.value, survey_id)

    def has_admin(self) -> bool:
        asked = sa.select(sa.func.count()).select_from(TOKEN).where(TOKEN.c.scope == Scope.ADMIN.value)
        with self._reading() as connection:
            return connection.execute(asked).scalar_one() > 0


def _new_name(scope: Scope, survey_id: str) -> str:
    """A name that is not taken: 32 random bits behind what the token is for."""
    where = "" if survey_id == EVERY_SURVEY else f"{survey_id[:48]}-"
    return f"{where}{scope.value}-{secrets.token_hex(4)}"


def _digest(token: str) -> bytes:
    """Tokens are 256 random bits: a fast digest is as good as a slow one, there is nothing to guess."""
    return hashlib.sha256(token.encode()).digest()
