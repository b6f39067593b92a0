"""Making surveys and their first tokens: at the start of a collector, by the command line, and by the administrator."""

from __future__ import annotations

from collections.abc import Sequence

from tacit.errors import SettingError
from tacit.service.settings import SurveySettings
from tacit.service.shelf import Outlet
from tacit.service.store import Store
from tacit.service.survey import Survey
from tacit.service.tokens import EVERY_SURVEY, Scope


def add_surveys(store: Store, surveys: Sequence[Survey]) -> list[Survey]:
    """Make the surveys that are not there yet, and return them. If one is there with other settings, none is made."""
    there = {one.id for one in store.surveys()}
    for one in surveys:
        if one.id in there:
            store.add_survey(one)  # which compares them, and changes nothing
    new = [one for one in surveys if one.id not in there]
    for one in new:
        store.add_survey(one)
    return new


def set_outlet(store: Store, survey: Survey, named: SurveySettings) -> None:
    """Publish a survey as its settings say; what they leave out stays as it is."""
    before = store.shelf.outlet(survey)
    told = (named.release_every, named.is_public, named.title, named.noun, named.language)
    kept = (before.every, before.is_public, before.title, before.noun, before.language)
    after = Outlet(*(old if new is None else new for new, old in zip(told, kept, strict=True)))  # type: ignore[arg-type]
    if after != before:
        store.shelf.set_outlet(survey, after)


def first_tokens(store: Store, survey: Survey) -> dict[Scope, str]:
    """Make the tokens of a new survey: to send reports, unless it is open, and to read its counts."""
    scopes = (Scope.READ,) if survey.is_open else (Scope.WRITE, Scope.READ)
    return {scope: store.tokens.new(scope, survey.id) for scope in scopes}


def new_token(
    store: Store, scope: str, survey_id: str | None = None, name: str | None = None
) -> tuple[dict[Scope, str], str]:
    """Make a token that was asked for in words; returns it and the survey it is for, or no name for all."""
    if scope not in [one.value for one in Scope]:
        raise SettingError(f"scope must be write, read or admin; got scope={scope}.")
    if (survey_id is None) != (scope == Scope.ADMIN.value):
        raise SettingError("a token to write or to read is for one survey, and one for an administrator is for all.")
    if survey_id is not None:
        store.survey(survey_id)  # refused where there is none
    made = store.tokens.new(Scope(scope), survey_id or EVERY_SURVEY, name=name)
    return {Scope(scope): made}, survey_id or ""
