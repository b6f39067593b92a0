"""What a publication goes on with, in its folder."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from tacit._base.extras import require
from tacit._base.fields import text, texts
from tacit._base.files import write_whole
from tacit._base.languages import ENGLISH, LANGUAGES
from tacit._base.reading import read_document, reading
from tacit._base.validation import check_one_of
from tacit.errors import FormatError, Remedy
from tacit.events import SourceDescription

FORMAT: Final = 1
AGREED: Final = "publication.toml"


@dataclass(frozen=True, slots=True)
class Agreement:
    """What a publication goes on with: the events by name, how they are written, and the stretches of time so far.

    ``pages`` is a digest of all that the pages in the folder were made from. ``language``, ``title`` and ``noun`` are
    theirs; the last two are empty where none was given.
    """

    data_set: str
    source: SourceDescription
    where: tuple[str, ...] = ()
    stretches: tuple[tuple[str, str], ...] = ()
    pages: str = ""
    language: str = ENGLISH
    title: str = ""
    noun: str = ""

    def shown_as(self, language: str | None, title: str | None, noun: str | None) -> Agreement:
        """Return the agreement with what its pages are shown as; what is None or empty stays."""
        return replace(self, language=language or self.language, title=title or self.title, noun=noun or self.noun)

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
            named = [text({name: ""} | content, name) for name in ("title", "noun")]
            return cls(text(content, "data_set"), source, texts(content, "where"), stretches, pages, language, *named)
