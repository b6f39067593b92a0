"""What a publication goes on with, in its folder; and what may not change while it does."""

from __future__ import annotations

import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from tacit._base.extras import require
from tacit._base.fields import text, texts
from tacit._base.files import write_whole
from tacit._base.languages import ENGLISH, LANGUAGES
from tacit._base.reading import read_document, reading
from tacit._base.validation import check_one_of
from tacit.domain.gazetteer import TableReference
from tacit.domain.place import NamedAxis
from tacit.errors import FormatError, Remedy, SettingError
from tacit.events import SourceDescription
from tacit.mechanisms.planner import CURATOR, NOBODY
from tacit.plan import Plan
from tacit.release.release import AGREED

FORMAT: Final = 1
_NAMES_SHOWN: Final = 3  # of places, in a refusal: more would hide what it says


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a publication goes on with: the events by name, how they are written, and the stretches of time so far.

    ``pages`` is a digest of all that the pages in the folder were made from. ``language``, ``title`` and ``noun`` are
    theirs; the last two are empty where none was given. ``ledger`` is the identity of the ledger that pays, empty for a
    simulation.
    """

    data_set: str
    source: SourceDescription
    where: tuple[str, ...] = ()
    stretches: tuple[tuple[str, str], ...] = ()
    pages: str = ""
    language: str = ENGLISH
    title: str = ""
    noun: str = ""
    ledger: str = ""

    def shown_as(self, language: str | None, title: str | None, noun: str | None) -> Agreement:
        """Return the agreement with what its pages are shown as; what is None or empty stays."""
        return replace(self, language=language or self.language, title=title or self.title, noun=noun or self.noun)

    def plan(self, folder: Path, stretch: tuple[str, str] | None = None) -> Plan:
        """Return the plan that a stretch was made under, the last one if none is named."""
        own = folder / f"plan-{(stretch or self.stretches[-1])[0]}.toml"
        return Plan.read(own if own.exists() else folder / "plan.toml")

    def check_end(self, last: str) -> str:
        """Return the day up to which the publication shall go; one before its end is refused."""
        end = self.stretches[-1][1]
        if last < end:
            raise SettingError(f"last must not be before {end}, up to which the publication goes; got last={last}.")
        return last

    def write(self, folder: Path) -> None:
        """Write it into the folder of the publication."""
        content = {
            "tacit_publication": FORMAT,
            "data_set": self.data_set,
            "where": list(self.where),
            "stretches": [list(stretch) for stretch in self.stretches],
            "pages": self.pages,
            "language": self.language,
            "title": self.title,
            "noun": self.noun,
            "ledger": self.ledger,
            "source": self.source.to_dict(),
        }
        head = "# A publication of Tacit: what it goes on with. Do not edit it by hand.\n"
        write_whole(folder / AGREED, (head + require("tomli_w", extra="cli").dumps(content)).encode())

    @classmethod
    def read(cls, folder: Path) -> Agreement | None:
        """Read the agreement of a folder; None where nothing was published into it yet."""
        path = folder / AGREED
        if not path.exists():
            return None
        with reading(path, "the settings of a publication", Remedy.PUBLISH_ELSEWHERE):
            content = tomllib.loads(read_document(path).decode())
            if content["tacit_publication"] != FORMAT:
                raise FormatError(f"{path} was written by a newer Tacit. Install a newer Tacit.")
            stretches = tuple((str(first), str(last)) for first, last in content["stretches"])
            source = SourceDescription.from_dict(content["source"])
            pages, language = str(content.get("pages", "")), str(content.get("language", ENGLISH))
            check_one_of(LANGUAGES, language=language)
            named = [text({name: ""} | content, name) for name in ("title", "noun", "ledger")]
            return cls(text(content, "data_set"), source, texts(content, "where"), stretches, pages, language, *named)


def check_same(agreed: Agreement, given: Mapping[str, Any], plan: Plan) -> None:
    """Refuse settings that are not those that the publication began with."""
    said = {
        "data_set": agreed.data_set,
        "where": agreed.where or None,
        "epsilon": plan.epsilon,
        "trust": CURATOR if plan.is_central else NOBODY,
        "zone": plan.domain.time.zone,
        "step": plan.domain.time.step,
        "first": agreed.stretches[0][0],
        "unit": plan.protected_unit,
        "target": None,
        "delta": plan.delta or None,
        "private": plan.private,
        "places": counted_in(plan.domain.place),
        "kinds": counted_in(plan.domain.kind),
        **{role: getattr(agreed.source, role) for role in ("time", "place", "kind", "count", "user")},
    }
    for name, value in given.items():
        if value is not None and value != said[name]:
            raise SettingError(
                f"{name} must be as the publication began, {said[name]}; got {name}={value}. Leave it out.",
                remedy=Remedy.PUBLISH_ELSEWHERE,
            )


def counted_in(axis: NamedAxis | None) -> Counted | None:
    """Return what decides in which place or of which kind an event is counted."""
    return None if axis is None else Counted(axis.cells, axis.table, axis.has_elsewhere)


@dataclass(frozen=True, slots=True)
class Counted:
    """The names that events are counted under, and the table that says what belongs to them."""

    cells: tuple[str, ...]
    table: TableReference | None
    has_elsewhere: bool

    def __str__(self) -> str:
        names = f"{len(self.cells)} names" if len(self.cells) > _NAMES_SHOWN else ", ".join(self.cells)
        return names if self.table is None else f"{names} of the table {self.table.name} ({self.table.sha256[:8]})"
