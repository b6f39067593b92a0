"""The rows of published releases: which there are, which files hold them, and when the next one is due.

A release is published when its row is there, and never changes: the row has the SHA-256 of its file and of its page.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa

from tacit._base.languages import ENGLISH
from tacit._base.validation import check_one_of
from tacit.service.schema import OUTLET, RELEASE
from tacit.service.settings import EVERY, check_words
from tacit.service.survey import Survey


@dataclass(frozen=True, slots=True)
class Outlet:
    """How a survey is published: how often, whether its releases need no token, and the words of their pages.

    Without a ``title`` or a ``noun`` for one and many ("trip/trips") a page has its own.
    """

    every: str = "month"
    is_public: bool = False
    title: str = ""
    noun: str = ""
    language: str = ENGLISH

    def __post_init__(self) -> None:
        check_one_of(EVERY, release_every=self.every)
        check_words(self.title, self.noun, self.language)


@dataclass(frozen=True, slots=True)
class Published:
    """One release: its number from 1 on, how many periods it covers, and what its files must be."""

    number: int
    n_periods: int
    checksum: str
    file: bytes
    n_bytes: int
    page: bytes
    signed_by: str


class Shelf:
    """The releases of a store, by transactions that write or read."""

    def __init__(
        self,
        begin: Callable[[], AbstractContextManager[sa.Connection]],
        reading: Callable[[], AbstractContextManager[sa.Connection]],
        insert: Any,
    ) -> None:
        self._begin, self._reading, self._insert = begin, reading, insert

    def outlet(self, survey: Survey) -> Outlet:
        """Return how a survey is published."""
        asked = sa.select(OUTLET).where(OUTLET.c.survey == survey.id)
        with self._reading() as connection:
            row = connection.execute(asked).one_or_none()
        if row is None:
            return Outlet()
        return Outlet(row.every, row.is_public, row.title, row.noun, row.language or ENGLISH)

    def set_outlet(self, survey: Survey, outlet: Outlet) -> None:
        """Publish a survey so from now on. What is published stays as it is."""
        settings = {name: getattr(outlet, name) for name in Outlet.__slots__}
        asked = self._insert(OUTLET).values(survey=survey.id, **settings)
        with self._begin() as connection:
            connection.execute(asked.on_conflict_do_update(index_elements=["survey"], set_=settings))

    def all(self, survey: Survey) -> list[Published]:
        """Return the releases of a survey, the newest first."""
        with self._reading() as connection:
            rows = connection.execute(_releases(survey)).all()
        return [_published(row) for row in rows]

    def newest(self, survey: Survey) -> Published | None:
        """Return the newest release of a survey."""
        with self._reading() as connection:
            row = connection.execute(_releases(survey).limit(1)).one_or_none()
        return None if row is None else _published(row)

    def find(self, survey: Survey, number: int) -> Published | None:
        """Return the release of a number."""
        with self._reading() as connection:
            row = connection.execute(_releases(survey).where(RELEASE.c.number == number)).one_or_none()
        return None if row is None else _published(row)

    def add(self, survey: Survey, made: Published) -> bool:
        """Publish a release; returns False if another process has published one of this number before."""
        row = {name: getattr(made, name) for name in Published.__slots__} | {"survey": survey.id}
        asked = self._insert(RELEASE).values(row).on_conflict_do_nothing().returning(RELEASE.c.number)
        with self._begin() as connection:
            return connection.execute(asked).one_or_none() is not None


def _releases(survey: Survey) -> sa.Select[Any]:
    return sa.select(RELEASE).where(RELEASE.c.survey == survey.id).order_by(RELEASE.c.number.desc())


def _published(row: Any) -> Published:
    return Published(**{name: getattr(row, name) for name in Published.__slots__})
