"""Place names compared the way people read them."""

from __future__ import annotations

import re
import unicodedata

_LETTERS = str.maketrans({"œ": "oe", "æ": "ae", "ø": "o", "ł": "l", "đ": "d", "ð": "d", "þ": "th", "ı": "i"})
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
