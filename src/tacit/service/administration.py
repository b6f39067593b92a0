"""What the administrator does while the server runs: make surveys, and make, list and take back tokens."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.collection.wire import MessageFormat
from tacit.plan import Plan
from tacit.service.access import Access, in_json
from tacit.service.logs import log
from tacit.service.refusals import Reason, Refused
from tacit.service.settings import SurveySettings
from tacit.service.starting import add_surveys, first_tokens, new_survey, new_token
from tacit.service.store import Store
from tacit.service.tokens import EVERY_SURVEY, Scope


class NewSurvey(msgspec.Struct, forbid_unknown_fields=True):
    """A survey in JSON: its name, its plan as it stands in a plan's file or address, and its rules."""

    name: str
    plan: dict[str, Any]
    late: int | None = None
    """Of a survey that is there, what is left out stays as it is."""
    open: bool | None = None
    release_every: str | None = None
    """How the survey is published, as in a file of settings."""
    public: bool | None = None
    title: str | None = None
    noun: str | None = None
    language: str | None = None


class NewToken(msgspec.Struct, forbid_unknown_fields=True):
    """A token that is asked for. One for an administrator has no survey."""

    scope: str
    survey: str | None = None
    name: str | None = None


Asked = TypeVar("Asked", NewSurvey, NewToken)


class Administration:
    """The handlers of whoever has the administrator's token."""

    def __init__(self, store: Store, access: Access) -> None:
        self.store, self.access = store, access

    def routes(self) -> list[Route]:
        """The addresses that these handlers serve."""
        return [
            Route("/v1/surveys", self.surveys),
            Route("/v1/surveys", self.add_survey, methods=["POST"]),
            Route("/v1/tokens", self.tokens),
            Route("/v1/tokens", self.add_token, methods=["POST"]),
            Route("/v1/tokens/{name}", self.revoke, methods=["DELETE"]),
        ]

    async def surveys(self, request: Request) -> Response:
        """The names and plans of all surveys."""
        await self._check(request)
        found = await run_in_threadpool(self.store.surveys)
        return in_json({"surveys": [{"survey": one.id, "plan": one.form.plan_id} for one in found]})

    async def add_survey(self, request: Request) -> Response:
        """Make a survey, and show its first tokens once. Of one that is there, all but its plan can change."""
        await self._check(request)
        asked = await self._asked(request, NewSurvey)

        def made() -> dict[str, Any]:
            form = MessageFormat.of(Plan.from_dict(asked.plan))
            shown = asked.release_every, asked.public, asked.title, asked.noun, asked.language
            settings = SurveySettings(asked.name, Path(), asked.late, asked.open, *shown)
            (added,) = add_surveys(self.store, [(new_survey(asked.name, form, settings), settings)])
            tokens = first_tokens(self.store, added.survey) if added.is_new else {}
            made = {scope.value: token for scope, token in tokens.items()}
            return {"survey": asked.name, "is_new": added.is_new, "changes": added.changes, "tokens": made}

        answer = await run_in_threadpool(made)
        changed = "survey-changed" if answer["changes"] else "survey-there"
        log("survey-made" if answer["is_new"] else changed, survey=answer["survey"])
        return in_json(answer)

    async def tokens(self, request: Request) -> Response:
        """The names of all tokens and what they allow; none is shown again."""
        await self._check(request)
        found = await run_in_threadpool(self.store.tokens.listed)
        return in_json(
            {"tokens": [{"name": one.name, "scope": one.scope.value, "survey": one.survey} for one in found]}
        )

    async def add_token(self, request: Request) -> Response:
        """Make a token, and show it once."""
        await self._check(request)
        asked = await self._asked(request, NewToken)
        made, _ = await run_in_threadpool(new_token, self.store, asked.scope, asked.survey, asked.name)
        log("token-made", scope=asked.scope)
        return in_json({"token": next(iter(made.values()))})

    async def revoke(self, request: Request) -> Response:
        """Take a token back."""
        await self._check(request)
        if not await run_in_threadpool(self.store.tokens.revoke, request.path_params["name"]):
            raise Refused(Reason.UNKNOWN, "there is no token of this name.")
        log("token-revoked")
        return in_json({"is_revoked": True})

    async def _check(self, request: Request) -> None:
        await self.access.check_token(request, Scope.ADMIN, EVERY_SURVEY)

    async def _asked(self, request: Request, kind: type[Asked]) -> Asked:
        try:
            return msgspec.json.decode(await self.access.body(request), type=kind)
        except msgspec.MsgspecError:
            fields = ", ".join(kind.__struct_fields__)
            raise Refused(Reason.QUESTION, f"this takes a JSON object with: {fields}.") from None
