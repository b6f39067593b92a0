"""Making the releases of a survey: of closed periods alone, one after the other, each with its page.

A release covers all closed periods from the first on and replaces the one before it, as a new version. Its file and its
page are written first, under the SHA-256 of their content; the row in the store publishes them. Whoever is stopped in
between leaves files that nobody refers to, and the next look makes the release again. Of two processes that make the
same one, the row of the first holds.
"""

from __future__ import annotations

import hashlib
import threading
import time
from pathlib import Path
from typing import Final

from tacit._base.files import make_folders, write_whole
from tacit.domain.step import floor
from tacit.errors import SettingError
from tacit.release import SigningKey
from tacit.service.logs import log
from tacit.service.making import DOWNLOAD, REPORT_HERE, Make, Order, make_here
from tacit.service.refusals import Reason, Refused
from tacit.service.shelf import Published
from tacit.service.store import Store
from tacit.service.survey import Survey

_FILE, _PAGE = ".parquet", ".html"
ORPHAN_SECONDS: Final = 86_400
"""The age of a file without a row at which it is deleted: a day, and no release takes so long to make. With an hour, a
process that was stopped and goes on could publish a file that is gone."""


class Publisher:
    """What makes releases and finds their files: a store, a folder, and the key that they are signed with."""

    def __init__(self, store: Store, folder: Path, key: SigningKey | None = None, make: Make = make_here) -> None:
        self.store, self.key, self._folder, self._make = store, key, folder, make
        self._one_at_a_time = threading.Lock()

    def check_key(self) -> None:
        """Refuse to go on without a key where releases were signed: readers would not know what to think."""
        if self.key is not None:
            return
        for survey in self.store.surveys():
            newest = self.store.shelf.newest(survey)
            if newest is not None:
                _check_signed(survey, newest, self.key)

    def publish_due(self, survey: Survey, *, at_once: bool = False) -> Published | None:
        """Publish what is due and return it, or None. ``at_once`` also publishes before a month, say, is over."""
        with self._one_at_a_time:
            n_closed, newest = self.store.n_closed(survey), self.store.shelf.newest(survey)
            before = 0 if newest is None else newest.n_periods
            if n_closed <= before:
                return None
            n_periods = n_closed if at_once else due(survey, self.store.shelf.outlet(survey).every, n_closed, before)
            if n_periods <= before:
                return None
            return self._published(survey, n_periods, newest)

    def _published(self, survey: Survey, n_periods: int, former: Published | None) -> Published | None:
        tally = self.store.tally(survey, n_bins=survey.n_bins(n_periods))
        if not tally.n_reports:
            return None
        if former is not None:
            _check_signed(survey, former, self.key)
        number = 1 if former is None else former.number + 1
        outlet = self.store.shelf.outlet(survey)
        order = Order(
            survey.plan.to_json(),
            tally,
            None if former is None else self._checked(survey, former.file, _FILE),
            # seen from the survey's page and from that of a release, wherever a proxy puts them
            {REPORT_HERE: f"../{survey.id}", DOWNLOAD: f"{number}{_FILE}"},
            *(outlet.title, outlet.noun, outlet.language),
        )
        made = self._make(order)
        content = made.file if self.key is None else self.key.signed(made.file)
        published = Published(
            number=number,
            n_periods=n_periods,
            checksum=made.checksum,
            file=self._kept(survey, content, _FILE),
            n_bytes=len(content),
            page=self._kept(survey, made.page, _PAGE),
            signed_by="" if self.key is None else self.key.public,
        )
        if not self.store.shelf.add(survey, published):
            self._forget(survey, published)
            return None
        log("published", survey=survey.id, release=number, periods=n_periods)
        return published

    def _forget(self, survey: Survey, unpublished: Published) -> None:
        """Delete the files of a release that another process was faster to publish, unless its bytes are the same."""
        kept = {digest for one in self.store.shelf.all(survey) for digest in (one.file, one.page)}
        for digest, ending in ((unpublished.file, _FILE), (unpublished.page, _PAGE)):
            if digest not in kept:
                self._path(survey, digest, ending).unlink(missing_ok=True)

    def sweep(self, survey: Survey) -> int:
        """Delete old files that no release refers to, and return how many there were.

        Whoever was stopped before its row left them. Young ones may be of a process that is about to publish them.
        """
        kept = {digest.hex() for one in self.store.shelf.all(survey) for digest in (one.file, one.page)}
        before = time.time() - ORPHAN_SECONDS
        folder, n_deleted = self._folder_of(survey), 0
        for path in sorted(folder.iterdir()) if folder.is_dir() else ():
            is_ours = path.suffix in (_FILE, _PAGE) or path.name.endswith(".part")
            if is_ours and path.stem not in kept and path.is_file() and path.stat().st_mtime < before:
                path.unlink(missing_ok=True)
                n_deleted += 1
        if n_deleted:
            log("swept", survey=survey.id, files=n_deleted)
        return n_deleted

    def content(self, survey: Survey, published: Published) -> bytes:
        """Return the file of a release, which must be what was published."""
        return self._checked(survey, published.file, _FILE).read_bytes()

    def page(self, survey: Survey, published: Published) -> bytes:
        """Return the page of a release, which must be what was published."""
        return self._checked(survey, published.page, _PAGE).read_bytes()

    def _path(self, survey: Survey, digest: bytes, ending: str) -> Path:
        return self._folder_of(survey) / f"{digest.hex()}{ending}"

    def _folder_of(self, survey: Survey) -> Path:
        return self._folder / survey.id / "releases"

    def _kept(self, survey: Survey, content: bytes, ending: str) -> bytes:
        digest = hashlib.sha256(content).digest()
        path = self._path(survey, digest, ending)
        make_folders(path.parent)
        write_whole(path, content)
        return digest

    def _checked(self, survey: Survey, digest: bytes, ending: str) -> Path:
        path = self._path(survey, digest, ending)
        if not path.is_file() or hashlib.sha256(path.read_bytes()).digest() != digest:
            raise Refused(
                Reason.FAULT, "a file of this release is missing, or is not what was published. Restore a backup."
            )
        return path


def _check_signed(survey: Survey, former: Published, key: SigningKey | None) -> None:
    if former.signed_by and key is None:
        raise SettingError(
            f"releases of survey {survey.id} are signed, with the key {former.signed_by[:16]}…, and no signing_key is "
            "set. Name its file, or that of a new key."
        )


def due(survey: Survey, every: str, n_closed: int, before: int) -> int:
    """Return how many periods the next release covers: the last end of a week, month or year among the closed ones.

    A period belongs to the month in which it begins. Where the plan's periods are longer than that, each is the end of
    one. The survey's own end is an end, too. Without any end after ``before`` this is ``before``.
    """
    if every == "never":
        return before
    time = survey.plan.domain.time
    if not survey.has_public_time or every == "period" or n_closed == time.n_bins:
        return n_closed
    starts = time.without_end().starts(n_closed + 1)
    for stop in range(n_closed, before, -1):
        if floor(starts[stop].item(), every) != floor(starts[stop - 1].item(), every):
            return stop
    return before
