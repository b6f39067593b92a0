"""From names as people write them to cells."""

from __future__ import annotations

from collections.abc import Iterable
from functools import lru_cache

from tacit.domain.gazetteer import Entry, Gazetteer
from tacit.domain.names import fold_name, squeeze

UNKNOWN, OUTSIDE, MISSING, AMBIGUOUS = -1, -2, -3, -4
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
    """The official list of communes gives Le Russey as RUSSEY; a full name always goes first."""
    first, _, rest = folded.partition(" ")
    return rest if rest and first in _ARTICLES else folded


def _one(numbers: set[int]) -> int:
    if not numbers:
        return UNKNOWN
    return next(iter(numbers)) if len(numbers) == 1 else AMBIGUOUS
