"""Who may ask what, how often, and how much: tokens, and limits of rate and size. What all handlers share.

Limits are for a token, or for a survey that needs none: an address or the number of a device would have to be kept.
"""

from __future__ import annotations

import asyncio
import math
import sys
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response

from tacit.service.refusals import Reason, Refused
from tacit.service.settings import Settings
from tacit.service.store import Store
from tacit.service.survey import Survey
from tacit.service.tokens import Scope

_MOST_KEPT: Final = 10_000  # tokens that are remembered, some megabytes; with more of them all are asked for again


_MOST_DIGITS: Final = 18  # of a length: more than any limit, and few enough to be read at once


@dataclass(slots=True)
class Bucket:
    """So many messages at once, one at least, and as many again each second."""

    rate: float
    left: float
    at: float

    def take(self) -> None:
        now = time.monotonic()
        self.left = min(max(1.0, self.rate), self.left + (now - self.at) * self.rate)
        self.at = now
        if self.left < 1:
            raise Refused(
                Reason.TOO_MANY,
                "more messages came than are taken in a second. Wait a little.",
                retry_after=math.ceil((1 - self.left) / self.rate),
            )
        self.left -= 1


class Access:
    """The store's surveys and tokens, as requests ask for them."""

    def __init__(self, store: Store, settings: Settings) -> None:
        self._store, self._settings = store, settings
        self._buckets: dict[str, Bucket] = {}
        self._allowed: dict[tuple[str, Scope, str], float] = {}

    async def survey(self, request: Request) -> Survey:
        name = request.path_params["survey"]
        known = self._store.known(name)
        return await run_in_threadpool(self._store.survey, name) if known is None else known

    async def allowed_survey(self, request: Request, scope: Scope) -> Survey:
        await self.check_token(request, scope, request.path_params["survey"])
        return await self.survey(request)

    async def sender(self, request: Request, survey: Survey) -> str:
        """By what the messages of a sender are limited together: the token, or the survey that needs none."""
        if survey.is_open:
            return survey.id
        return await self.check_token(request, Scope.WRITE, survey.id)

    async def check_token(self, request: Request, scope: Scope, survey_id: str, *, kept: str | None = None) -> str:
        """Return the token of a request, which must allow it; a browser may have ``kept`` one for pages."""
        kind, _, token = request.headers.get("authorization", "").partition(" ")
        if kind.lower() != "bearer" or not token:
            token = kept or ""
        if not token:
            raise Refused(Reason.NO_TOKEN, f"this needs {scope.words}. Send: Authorization: Bearer TOKEN")
        key = token, scope, survey_id
        if self._allowed.get(key, 0.0) < time.monotonic():
            if not await run_in_threadpool(self._store.tokens.allows, token, scope, survey_id):
                self._allowed.pop(key, None)
                raise Refused(
                    Reason.NO_RIGHT,
                    f"this needs {scope.words}. The one given is for something else, or was taken back.",
                )
            if len(self._allowed) > _MOST_KEPT:
                self._allowed.clear()
            self._allowed[key] = time.monotonic() + 1.0  # a token that is taken back works for a second more
        return token

    def bucket(self, sender: str) -> Bucket:
        if len(self._buckets) > _MOST_KEPT:
            self._buckets.clear()
        rate = self._settings.per_second
        return self._buckets.setdefault(sender, Bucket(rate, max(1.0, rate), time.monotonic()))

    async def body(self, request: Request) -> bytes:
        """The bytes of a request; no more than the limit is ever held, and none longer than the time they may take.

        Of one that announces more than the limit nothing is read.
        """
        most, seconds = self._settings.most_bytes, self._settings.body_seconds
        too_large = Refused(Reason.TOO_LARGE, f"a message has at most {most:,} bytes. Send it in parts.")
        if _announced(request) > most:
            raise too_large
        parts, size = [], 0
        try:
            async with asyncio.timeout(seconds):
                async for part in request.stream():
                    size += len(part)
                    if size > most:
                        raise too_large
                    parts.append(part)
        except TimeoutError:
            raise Refused(
                Reason.TOO_SLOW, f"all of a message must come within {seconds:g} seconds. Send it in smaller parts."
            ) from None
        return b"".join(parts)


def _announced(request: Request) -> int:
    """Return how many bytes a request says that it has; 0 where it does not say so in digits."""
    length = request.headers.get("content-length", "")
    if not (length.isascii() and length.isdigit()):
        return 0
    return int(length) if len(length) <= _MOST_DIGITS else sys.maxsize


def asked(request: Request, *names: str) -> dict[str, str]:
    """Return the parameters of these names that a question has."""
    return {name: value for name in names if (value := request.query_params.get(name))}


def in_json(content: Any, *, headers: Mapping[str, str] | None = None) -> Response:
    """Return an answer in JSON."""
    return Response(msgspec.json.encode(content), headers=headers, media_type="application/json")
