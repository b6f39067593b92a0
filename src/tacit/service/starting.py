"""Making surveys and their first tokens: at the start of a collector, by the command line, and by the administrator."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Final

from tacit.collection.wire import MessageFormat
from tacit.errors import SettingError
from tacit.service.settings import SurveySettings
from tacit.service.store import Store
from tacit.service.survey import Survey
from tacit.service.tokens import EVERY_SURVEY, Scope


def new_survey(name: str, form: MessageFormat, named: SurveySettings) -> Survey:
    """Return a survey as its settings say; what they leave out has its default."""
    return Survey(name, form, **_given(named, _RULES))


@dataclass(frozen=True, slots=True)
class Added:
    """A survey as it is now, whether it was made just now, and what changed of one that was there, in sentences."""

    survey: Survey
    is_new: bool
    changes: tuple[str, ...] = ()


def add_surveys(store: Store, asked: Sequence[tuple[Survey, SurveySettings]]) -> list[Added]:
    """Make the surveys that are not there yet, and change those that are there as their settings say.

    What settings leave out stays as it is. A plan never changes: if a survey is there with another, all are refused.
    """
    there = {one.id: one for one in store.surveys()}
    wanted: dict[str, tuple[Survey, SurveySettings]] = {}
    for survey, named in asked:
        before = there.get(survey.id)
        one = survey if before is None else _changed(before, survey, named)
        if survey.id in wanted:
            wanted[survey.id][0].check_same(one)
        wanted[survey.id] = one, named
    added = []
    for survey, named in wanted.values():
        before = there.get(survey.id)
        if before is None:
            store.add_survey(survey)
        elif (before.late, before.is_open) != (survey.late, survey.is_open):
            store.change_survey(survey)
        published = _set_outlet(store, survey, named)
        changes = () if before is None else (*_told(_RULES, before, survey), *published)
        added.append(Added(store.survey(survey.id), before is None, changes))
    return added


_RULES: Final = {"late": "late", "is_open": "is_open"}
_OUTLET: Final = {
    "every": "release_every",
    **{name: name for name in ("is_public", "title", "noun", "language")},
}
"""The fields of surveys and outlets, and the settings that say them."""


def differing(named: SurveySettings, name: str, in_file: Iterable[SurveySettings]) -> list[tuple[str, str]]:
    """Return the keys, with their values, of which a file of settings says something else than was given."""
    return [
        (key.removeprefix("is_"), _word(there))
        for one in in_file
        if one.name == name
        for key in (*_RULES.values(), *_OUTLET.values())
        for given, there in [(getattr(named, key), getattr(one, key))]
        if given is not None and there is not None and given != there
    ]


def _given(named: SurveySettings, fields: Mapping[str, str]) -> dict[str, Any]:
    """Return what settings say of some fields; what they leave out is not among it."""
    return {field: value for field, name in fields.items() if (value := getattr(named, name)) is not None}


def _changed(before: Survey, asked: Survey, named: SurveySettings) -> Survey:
    """Return a survey that is there with the settings that were given; another plan is refused."""
    before.check_same(replace(asked, late=before.late, is_open=before.is_open))
    return replace(before, **_given(named, _RULES))


def _set_outlet(store: Store, survey: Survey, named: SurveySettings) -> list[str]:
    """Publish a survey as its settings say; what they leave out stays as it is. Returns what changed."""
    before = store.shelf.outlet(survey)
    after = replace(before, **_given(named, _OUTLET))
    if after != before:
        store.shelf.set_outlet(survey, after)
    return _told(_OUTLET, before, after)


def _told(fields: Mapping[str, str], before: object, after: object) -> list[str]:
    """Return a sentence for every field that changed."""
    pairs = [
        (name.removeprefix("is_"), getattr(before, field), getattr(after, field)) for field, name in fields.items()
    ]
    return [f"{said} is {_word(new)} now, and was {_word(old)}." for said, old, new in pairs if old != new]


def _word(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value) or "left out"


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
