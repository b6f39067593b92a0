"""The pages that a collector fills in when they are asked for: the form, the page for a token, "nothing yet".

Each speaks the language of its survey. The form says what the survey asks: its title or name, and its nouns.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

from tacit._base.languages import speaking
from tacit.pages.page import filled
from tacit.pages.words import level_noun, sentence_case, step_noun
from tacit.service.shelf import Outlet
from tacit.service.survey import Survey

FORM_FOLDER: Final = Path(__file__).parent / "form"


def form_page(survey: Survey, outlet: Outlet, results: str | None) -> str:
    """Return the form of a survey; ``results`` is the address of what was published, if anybody may see it."""
    domain = survey.plan.domain
    with speaking(outlet.language):
        return page_of(
            "form.html",
            outlet.language,
            title=outlet.title or sentence_case(survey.id),
            noun=outlet.noun.partition("/")[0].strip(),
            place=level_noun(domain.place.level),
            kind="" if domain.kind is None else level_noun(domain.kind.level),
            step=step_noun(domain.time.step) if survey.has_public_time else "",
            results=results,
            script=_text("form.js"),
        )


def page_of(name: str, language: str, **values: Any) -> str:
    """Return a page in a language, its values filled in."""
    with speaking(language):
        return filled(_text(name), values)


@cache
def _text(name: str) -> str:
    return (FORM_FOLDER / name).read_text(encoding="utf-8")
