"""What a publication writes into its folder: release, table, page, statement and forecast."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tacit import __version__
from tacit._base.languages import gettext, speaking
from tacit.collection.tallying import estimate_tally, tally_reports
from tacit.domain.horizon import horizon_of
from tacit.errors import Remedy, SettingError
from tacit.pages import make_page, make_statement_page
from tacit.pages.forecast_page import make_forecast_page
from tacit.pages.words import ahead as in_words
from tacit.plan import Plan
from tacit.publication.agreement import Agreement
from tacit.publication.publication import Publication
from tacit.release import Release, join
from tacit.release.joining import stated_now
from tacit.release.release import PUBLISHED
from tacit.release.signing import SigningKey, signer_of

_OWN: Final = re.compile(r"(plan(-.+)?\.toml|(counts|reports)-.+\.(parquet|reports)|\..*)")
_SLUG: Final = re.compile(r"[^\w.-]+")
_WRITTEN: Final = ("counts.csv", "page.html", "statement.html")


@dataclass(frozen=True, slots=True)
class Folder:
    """The folder of a publication, what it goes on with, and what its pages are made with."""

    root: Path
    agreed: Agreement
    polygons: str | Path | None
    days_ahead: int
    key: SigningKey | None
    begin: Callable[[str], None]

    def written(self, plan: Plan, paths: Sequence[Path], *, ledger: Path | None) -> Publication:
        """Write everything of all stretches together, from their files, unless it is there already."""
        self.begin("Estimating counts")
        agreed = self.agreed
        if plan.is_central:
            release = join([stated_now(Release.read(path), ledger) for path in paths])
        else:
            last = plan.domain.time.range(None, agreed.stretches[-1][1]).stop
            estimate = estimate_tally(tally_reports(paths, plan), replace(plan, domain=plan.domain.with_end(last)))
            release = stated_now(Release.of(plan, estimate), ledger)
        made, title = Publication(release, self.root), agreed.title or agreed.data_set
        pages = self._digest(paths, release, title)
        if agreed.pages == pages and all((self.root / name).exists() for name in (PUBLISHED, *_WRITTEN)):
            return made
        release.write(self.root / PUBLISHED, sign_with=self.key)
        release.write(self.root / "counts.csv")
        self.begin("Making the page")
        noun, language = agreed.noun or None, agreed.language
        make_page(release, self.root / "page.html", title=title, polygons=self.polygons, noun=noun, language=language)
        make_statement_page(release, self.root / "statement.html", title=title, language=language)
        if self.days_ahead and "time" not in (plan.private if not plan.is_central else ()):
            self._forecast(made, title)
        replace(agreed, pages=pages).write(self.root)
        return made

    def _digest(self, paths: Sequence[Path], release: Release, title: str) -> str:
        """Return a digest of all that the pages are made from."""
        read = paths if self.polygons is None else [*paths, Path(self.polygons)]
        agreed = self.agreed
        said = [title, agreed.noun, agreed.language, str(self.days_ahead), __version__]
        parts = [*map(_digest_of, read), release.statement.text(), *said]
        parts += [] if self.key is None else [self.key.public]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()

    def _forecast(self, made: Publication, title: str) -> None:
        """Write the page of a forecast, where the past is long enough for one."""
        path, days, language = self.root / "forecast.html", self.days_ahead, self.agreed.language
        self.begin(f"Forecasting {days} days")
        try:
            horizon_of(f"{days} days", made.release.domain.time)
            ahead = made.forecast(days)
        except SettingError:  # too few periods, or periods longer than what was asked for
            path.unlink(missing_ok=True)
            return
        with speaking(language):
            heading = gettext("%(heading)s: %(text)s", heading=title, text=in_words(days, "day"))
        make_forecast_page(ahead, made.release, path, title=heading, noun=self.agreed.noun or None, language=language)


def _digest_of(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def folder_name(name: str) -> str:
    """Return the name of the folder of a publication, from that of its data set."""
    return _SLUG.sub("-", name.strip()).strip("-.") or "publication"


def check_folder(root: Path) -> None:
    """Refuse a file, and a folder that holds other things than what an interrupted beginning leaves."""
    if root.exists() and not root.is_dir():
        raise SettingError(f"folder must be a folder, or be free; {root} is a file. Name another.")
    if root.exists() and any(not _OWN.fullmatch(path.name) for path in root.iterdir()):
        raise SettingError(
            f"{root} holds other files, which a publication could overwrite.", remedy=Remedy.PUBLISH_ELSEWHERE
        )


def check_key(root: Path, key: SigningKey | None) -> None:
    """Refuse to replace a signed release by one that is not, or that another key signs."""
    path = root / PUBLISHED
    signer = signer_of(path) if path.is_file() else ""
    if signer and (key is None or key.public != signer):
        raise SettingError(
            f"the release in {root} is signed with the key {signer}. Sign the next one with it too: sign_with must be "
            "its private file."
        )
