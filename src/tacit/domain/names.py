"""Place names compared the way people read them, and matched to the cells of an axis."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable
from functools import lru_cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tacit.domain.gazetteer import Entry, Gazetteer


_LETTERS = str.maketrans({"œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})
# ASCII has 128 characters
_ASCII = {code: chr(code).lower() if chr(code).isalnum() else " " for code in range(128)}
_WORDS = {"st": "saint", "ste": "sainte", "sts": "saints", "stes": "saintes"}
_ARTICLE_LAST = re.compile(r"(?P<name>.+?)\s*\((?P<article>l['’]|le|la|les)\)\s*", re.IGNORECASE)
_QUALIFIED = re.compile(r"(?P<name>[^(]+?)\s*\((?P<within>[^()]+)\)\s*")


def fold_name(name: str) -> str:
    """Reduce a name to lower-case words without accents, hyphens, apostrophes or abbreviated saints.

    Articles stay: Le Russey is not Russey. The form of official lists, ``Russey (Le)``, is put in order.

    >>> fold_name("ST.-Hippolyte"), fold_name("L’Isle-sur-le-Doubs"), fold_name("RUSSEY (LE)")
    ('saint hippolyte', 'l isle sur le doubs', 'le russey')
    """
    if "(" in name and (found := _ARTICLE_LAST.fullmatch(name)):
        name = f"{found['article']} {found['name']}"
    if name.isascii():
        kept = name.translate(_ASCII)
    else:
        letters = unicodedata.normalize("NFKD", name).casefold().translate(_LETTERS)
        kept = "".join(c if c.isalnum() else " " for c in letters if not unicodedata.combining(c))
    return " ".join([_WORDS.get(word, word) for word in kept.split()])


# categories of Unicode: controls, halves of characters, ends of lines and of paragraphs
_NOT_ON_A_LINE = {"Cc", "Cs", "Zl", "Zp"}


def is_on_one_line(name: str) -> bool:
    """Return whether a name has no line end, tab or other control character: files of lines could not be read again.

    >>> is_on_one_line("L’Isle-sur-le-Doubs"), is_on_one_line("L’Isle\\nsur-le-Doubs")
    (True, False)
    """
    return name.isprintable() or _NOT_ON_A_LINE.isdisjoint(map(unicodedata.category, name))


def squeeze(folded: str) -> str:
    """Take the spaces out of a folded name, for files that lost an apostrophe or a hyphen."""
    return folded.replace(" ", "")


def fold_code(code: str) -> str:
    """Reduce an official code to what survives a spreadsheet, which drops the zero of 01001."""
    folded = fold_name(code)
    return folded.lstrip("0") or folded


def split_qualifier(name: str) -> tuple[str, str] | None:
    """Split ``Foucherans (Jura)`` into the name and what tells it from its namesakes.

    >>> split_qualifier("Foucherans (Jura)"), split_qualifier("Foucherans")
    (('Foucherans', 'Jura'), None)
    """
    found = _QUALIFIED.fullmatch(name)
    return (found["name"], found["within"]) if found else None


UNKNOWN, OUTSIDE, MISSING, AMBIGUOUS = -1, -2, -3, -4  # what stands for a cell where there is none
_ARTICLES = frozenset({"le", "la", "les", "l"})


class Matcher:
    """All names the cells of one level are known by, folded, each with its cell or the reason why it has none."""

    def __init__(self, level: str, cells: tuple[str, ...], gazetteer: Gazetteer | None) -> None:
        self._numbers = {cell: number for number, cell in enumerate(cells)}
        self._level = level
        self._gazetteer = gazetteer
        if gazetteer is None:
            found = {fold_name(cell): {number} for cell, number in self._numbers.items()}
        else:
            found = {name: self._cells_of(gazetteer, entries) for name, entries in gazetteer.entries.items()}
        # second chances, in this order: LISLE SUR LE DOUBS without its spaces, Russey without its article
        squeezed: dict[str, set[int]] = {}
        bare: dict[str, set[int]] = {}
        for name, numbers in found.items():
            if numbers:
                squeezed.setdefault(squeeze(name), set()).update(numbers)
                bare.setdefault(_without_article(name), set()).update(numbers)
        self._by_name = {name: _one(numbers) for name, numbers in found.items() if numbers}
        self._by_squeezed = {name: _one(numbers) for name, numbers in squeezed.items()}
        self._by_bare_name = {name: _one(numbers) for name, numbers in bare.items()}

    def match(self, name: str | None) -> int:
        """Return the cell of a name, or one of the four reasons."""
        if not isinstance(name, str):
            return MISSING
        folded = fold_name(name)
        if not folded:
            return MISSING
        number = self._by_name.get(folded)
        if number is None:
            number = self._by_squeezed.get(squeeze(folded))
        if number is None:
            number = self._by_bare_name.get(folded)
        if number is None and self._gazetteer is not None and "(" in name:
            # Foucherans (Jura): the index has only the name
            return _one(self._cells_of(self._gazetteer, self._gazetteer.find(name)))
        return UNKNOWN if number is None else number

    def _cells_of(self, gazetteer: Gazetteer, entries: Iterable[Entry]) -> set[int]:
        own = gazetteer.depth(self._level)
        return {
            OUTSIDE if row.is_outside else self._numbers.get(gazetteer.name_at(row, self._level), OUTSIDE)
            for depth, row in entries
            if depth <= own
        }


@lru_cache(maxsize=8)
def matcher_of(level: str, cells: tuple[str, ...], gazetteer: Gazetteer | None) -> Matcher:
    """Build the matcher of an axis, or return the one built before."""
    return Matcher(level, cells, gazetteer)


def _without_article(folded: str) -> str:
    """Return a name without its leading article: the official list gives Le Russey as RUSSEY. Full names go first."""
    first, _, rest = folded.partition(" ")
    return rest if rest and first in _ARTICLES else folded


def _one(numbers: set[int]) -> int:
    if not numbers:
        return UNKNOWN
    return next(iter(numbers)) if len(numbers) == 1 else AMBIGUOUS
