"""The languages of pages and statements.

A sentence stands in the code in English, which is also its id in the catalogs of the others, ``catalogs/fr.po``. Values
stand in it as ``%(name)s``. Nothing is guessed from the machine: English is spoken until :func:`speaking` says
otherwise.

>>> with speaking("fr"):
...     gettext("Skip to the content"), ngettext("%(n)s row", "%(n)s rows", 1, n=1)
('Aller au contenu', '1 ligne')
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from functools import cache, wraps
from typing import Any, Final, TypeVar, cast

from tacit._base.validation import check_one_of

ENGLISH: Final = "en"
LANGUAGES: Final = (ENGLISH, "fr")
_SPOKEN: Final = ContextVar("language", default=ENGLISH)
_IN_FILES: Final = "file\x04"
"""What stands before the ids of sentences that files hold, as gettext joins a context to an id."""
_LINE: Final = re.compile(r'(msgctxt|msgid|msgid_plural|msgstr(?:\[\d\])?)?\s*(".*")')
_NUMBER: Final = re.compile(r"[\d.,]+%?")
_PLACEHOLDER: Final = re.compile(r"%\((\w+)\)s")
# French parts thousands by a narrow space that does not break, and sets a space before the sign of percent
_FRENCH_SIGNS: Final = str.maketrans({",": "\u202f", ".": ",", "%": "\u00a0%"})
_OF: Final = re.compile(r"\b([Dd])e %\((\w+)\)s")
_ELIDED: Final = re.compile(r"[aàâæeéèêëiîïoôöœuùûü]|y[^aàâeéèêiïoôuû]|h[eéèêiîyô]", re.IGNORECASE)
"""How names begin before which French writes "d’" for "de": a vowel or a mute h. Usage differs from name to name before
ha, ho and hu, so these keep "de", and so does a y that sounds as in Yaoundé."""


@contextmanager
def speaking(language: str) -> Iterator[None]:
    """Say everything within in a language; errors about settings stay English."""
    check_one_of(LANGUAGES, language=language)
    token = _SPOKEN.set(language)
    try:
        yield
    finally:
        _SPOKEN.reset(token)


Make = TypeVar("Make", bound=Callable[..., object])


def in_its_language(make: Make) -> Make:
    """Let a function speak the language that it is asked for by ``language``, English if left out."""

    @wraps(make)
    def made(*values: Any, **settings: Any) -> object:
        with speaking(settings.get("language", ENGLISH)):
            return make(*values, **settings)

    return cast(Make, made)


def spoken() -> str:
    """Return the language that is spoken now."""
    return _SPOKEN.get()


def message(sentence: str) -> str:
    """Return the sentence as it is: it stands in the catalogs, and is translated where it is said."""
    return sentence


def translated(sentence: str) -> str:
    """Return a sentence of the catalogs in the language that is spoken, its values not yet filled in."""
    return _catalog(spoken()).get(sentence, (sentence,))[0]


def translated_by_number(one: str, many: str, number: float) -> str:
    """Return the form of a sentence for a number: in French none and one take the singular, in English one alone.

    >>> [translated_by_number("a day", "days", number) for number in (0, 1, 2)]
    ['days', 'a day', 'days']
    """
    forms = _catalog(spoken()).get(one, (one, many))
    return forms[0] if is_singular(number) else forms[-1]


def is_singular(number: float) -> bool:
    """Return whether a noun after the number is in the singular."""
    return number == 1 if spoken() == ENGLISH else abs(number) < 2


def gettext(sentence: str, /, **values: object) -> str:
    """Say a sentence with its values."""
    return elided(translated(sentence), values) % values


def ngettext(one: str, many: str, number: float, /, **values: object) -> str:
    """Say the form of a sentence that fits a number, which stands among the values as it is to be read."""
    return elided(translated_by_number(one, many, number), values) % values


def elided(sentence: str, values: Mapping[str, object]) -> str:
    """Return a sentence whose values are not yet filled in, with "d’" for "de" where French elides before a value.

    >>> with speaking("fr"):
    ...     [elided("celle de %(place)s", {"place": name}) for name in ("Ornans", "Morteau")]
    ['celle d’%(place)s', 'celle de %(place)s']
    """
    if spoken() == ENGLISH:
        return sentence
    return _OF.sub(lambda of: f"{of[1]}’%({of[2]})s" if _ELIDED.match(str(values[of[2]])) else of[0], sentence)


def stored(sentence: str, /, **values: object) -> str:
    """Return a sentence for a file, which is English whoever writes it; :func:`retold` says it to a reader."""
    return sentence % values


def retold(sentence: str) -> str:
    """Say a sentence out of a file in the language that is spoken; one that no catalog has stays as it is.

    >>> with speaking("fr"):
    ...     retold("relative error > 0.5"), retold("a step of my own")
    ('erreur relative > 0,5', 'a step of my own')
    """
    for pattern, form in _patterns(spoken()):
        if found := pattern.fullmatch(sentence):
            values = {name: retold(value) for name, value in found.groupdict().items()}
            return elided(form, values) % values
    return figures(sentence) if _NUMBER.fullmatch(sentence) else sentence


def figures(text: str) -> str:
    """Return a number in English digits with the signs of the language that is spoken.

    >>> with speaking("fr"):
    ...     figures("12.5%"), figures("1,234")
    ('12,5\\xa0%', '1\\u202f234')
    """
    return text if spoken() == ENGLISH else text.translate(_FRENCH_SIGNS)


def read_catalog(text: str) -> dict[str, tuple[str, ...]]:
    r"""Return the forms of every message of a PO file, by its id after its context; without the head of the file.

    >>> read_catalog('msgid "a day"\nmsgid_plural "days"\nmsgstr[0] "un jour"\nmsgstr[1] "jours"\n')
    {'a day': ('un jour', 'jours')}
    """
    import json

    entries: list[dict[str, str]] = []
    key = ""
    for line in text.splitlines():
        if (part := _LINE.fullmatch(line.strip())) is None:
            continue
        key = part[1] or key
        if part[1] == "msgctxt" or (part[1] == "msgid" and (not entries or "msgid" in entries[-1])):
            entries.append({})
        entries[-1][key] = entries[-1].get(key, "") + json.loads(part[2])
    found = {}
    for entry in entries:
        context = f"{entry['msgctxt']}\x04" if "msgctxt" in entry else ""
        forms = tuple(form for key, form in entry.items() if key.startswith("msgstr"))
        if entry["msgid"]:
            found[context + entry["msgid"]] = forms
    return found


@cache
def _catalog(language: str) -> Mapping[str, tuple[str, ...]]:
    """Return the messages of a language; none for English, whose sentences are their own ids."""
    if language == ENGLISH:
        return {}
    from importlib import resources

    path = resources.files("tacit._base").joinpath("catalogs", f"{language}.po")
    return read_catalog(path.read_text(encoding="utf-8"))


@cache
def _patterns(language: str) -> list[tuple[re.Pattern[str], str]]:
    """Return what the sentences of files look like with their values, those with most words of their own first."""
    found = [
        (key[len(_IN_FILES) :], forms[0]) for key, forms in _catalog(language).items() if key.startswith(_IN_FILES)
    ]
    found.sort(key=lambda entry: -len(_PLACEHOLDER.sub("", entry[0])))
    return [(_pattern(sentence), form) for sentence, form in found]


def _pattern(sentence: str) -> re.Pattern[str]:
    own, names = _PLACEHOLDER.split(sentence)[::2], _PLACEHOLDER.findall(sentence)
    words = [re.escape(part.replace("%%", "%")) for part in own]
    return re.compile("".join([words[0], *(f"(?P<{n}>.+){word}" for n, word in zip(names, words[1:], strict=True))]))


def listed(words: Sequence[str]) -> str:
    """Return words with commas, and an "and" before the last.

    >>> listed(["points"]), listed(["time", "place"]), listed(["time", "place", "kind"])
    ('points', 'time and place', 'time, place and kind')
    """
    *first, last = words
    return gettext("%(first)s and %(last)s", first=", ".join(first), last=last) if first else last
