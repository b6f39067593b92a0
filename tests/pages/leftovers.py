"""What English is left on a page in another language: all that it says, and parts of sentences to look for."""

from __future__ import annotations

import re

from tools.messages import CATALOGS, messages

from tacit._base.languages import read_catalog

CATALOG = read_catalog((CATALOGS / "fr.po").read_text(encoding="utf-8"))
EVERYTHING = """() => {
  const english = [...document.querySelectorAll('[lang=en]')];
  for (const one of english) one.remove();
  const labels = [...document.querySelectorAll('[aria-label], [placeholder], [aria-valuetext]')].flatMap(
    (e) => ['aria-label', 'placeholder', 'aria-valuetext'].map((name) => e.getAttribute(name) || ''));
  return [document.title, document.body.innerText, ...labels].join('\\n');
}"""


def english_parts() -> set[str]:
    """The parts of English sentences between their values that are long enough to be no French by chance."""
    forms = [
        form
        for found in messages().values()
        for context, forms in found
        for form, own in zip(forms, CATALOG[(f"{context}\x04" if context else "") + forms[0]], strict=True)
        if form != own
    ]
    parts = {part.strip() for form in forms for part in re.split(r"%\(\w+\)s|<[^>]*>", form)}
    return {part for part in parts if len(re.findall(r"[A-Za-z]+", part)) >= 2 and len(part) >= 9}
