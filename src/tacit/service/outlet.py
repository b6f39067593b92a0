"""The addresses of what a survey has published: its releases, their pages, and the key that they are signed with.

Releases of a public survey are for everybody; those of any other need the token to read. A browser that has none is
shown a form that asks for it.
"""

from __future__ import annotations

from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.pages.embedding import policy_of
from tacit.service import letting_in
from tacit.service.access import Access, in_json
from tacit.service.publishing import Publisher
from tacit.service.refusals import STATUS, Reason, Refused
from tacit.service.shelf import Outlet, Published
from tacit.service.store import Store
from tacit.service.survey import Survey
from tacit.service.tokens import Scope
from tacit.service.wording import page_of

PARQUET: Final = "application/vnd.apache.parquet"
_MOST_DIGITS: Final = 9  # of a number in an address: the store's whole numbers have 31 bits
_FOREVER: Final = "max-age=31536000, immutable"  # a year, the longest that is asked for: a release never changes
_NEWEST: Final = "no-cache"  # keep it, but ask whether there is a newer one


class Outlets:
    """The handlers of whoever wants to see what is published."""

    def __init__(self, store: Store, access: Access, publisher: Publisher) -> None:
        self.store, self.access, self.publisher = store, access, publisher

    def routes(self) -> list[Route]:
        """The addresses that these handlers serve."""
        one = "/v1/surveys/{survey}/releases"
        return [
            Route(one, self.releases),
            Route(f"{one}/{{number}}", self.release),
            Route(f"{one}/{{number}}/page", self.moved),
            Route("/surveys/{survey}/page", self.newest_page),
            Route("/surveys/{survey}/page", self.let_in, methods=["POST"]),
            Route("/surveys/{survey}/{number}.parquet", self.release),
            Route("/surveys/{survey}/{number}", self.page),
            Route("/v1/key", self.key),
        ]

    async def releases(self, request: Request) -> Response:
        """What is published of a survey, the newest first."""
        survey, outlet = await self._readable(request)
        found = await run_in_threadpool(self.store.shelf.all, survey)
        listed = [_described(survey, one) for one in found]
        return in_json({"every": outlet.every, "is_public": outlet.is_public, "releases": listed})

    async def release(self, request: Request) -> Response:
        """One release, as a file that Tacit reads."""
        survey, outlet = await self._readable(request)
        found = await self._found(request, survey)
        name = f'attachment; filename="{survey.id}-{found.number}.parquet"'
        headers = _cached(found.file, _FOREVER, outlet) | {"Content-Disposition": name}
        return await self._file(request, survey, found, PARQUET, headers)

    async def page(self, request: Request) -> Response:
        """The page of one release."""
        try:
            survey, outlet = await self._readable(request)
        except Refused as refused:
            return await self._asked(request, refused)
        found = await self._found(request, survey)
        return await self._file(request, survey, found, "text/html", _cached(found.page, _FOREVER, outlet))

    async def moved(self, request: Request) -> Response:
        """Where the page of a release is: beside that of its survey, so that the links in both lead to the same."""
        survey, number = request.path_params["survey"], number_of(request.path_params["number"])
        await self.access.survey(request)
        return Response(status_code=308, headers={"Location": f"../../../../../surveys/{survey}/{number}"})

    async def newest_page(self, request: Request) -> Response:
        """The page of the newest release, at an address that stays."""
        try:
            survey, outlet = await self._readable(request)
        except Refused as refused:
            return await self._asked(request, refused)
        found = await run_in_threadpool(self.store.shelf.newest, survey)
        if found is None:
            headers = {
                "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
                "Cache-Control": _NEWEST,
            }
            page = await run_in_threadpool(page_of, "nothing_yet.html", outlet.language)
            return Response(page, 404, headers, "text/html")
        return await self._file(request, survey, found, "text/html", _cached(found.page, _NEWEST, outlet))

    async def let_in(self, request: Request) -> Response:
        """Let a browser in that sends the token to read."""
        survey = await self.access.survey(request)
        token = letting_in.token_in(await self.access.body(request))
        try:
            await self.access.check_token(request, Scope.READ, survey.id, kept=token)
        except Refused as refused:
            return await self._asked(request, refused)
        return letting_in.opened(request, token)

    async def key(self, request: Request) -> Response:
        """The public key that releases are signed with."""
        if self.publisher.key is None:
            raise Refused(Reason.UNKNOWN, "releases of this collector are not signed.")
        return in_json({"algorithm": "Ed25519", "key": self.publisher.key.public})

    async def shown(self, survey: Survey) -> tuple[Outlet, str | None]:
        """How a survey is published, and the address of its page as its form sees it, if that needs no token."""

        def found() -> tuple[Outlet, str | None]:
            outlet = self.store.shelf.outlet(survey)
            return outlet, f"{survey.id}/page" if outlet.is_public and self.store.shelf.newest(survey) else None

        return await run_in_threadpool(found)

    async def _readable(self, request: Request) -> tuple[Survey, Outlet]:
        """The survey of a request that may read what it has published."""
        survey = await self.access.survey(request)
        outlet = await run_in_threadpool(self.store.shelf.outlet, survey)
        if not outlet.is_public:
            kept = request.cookies.get(letting_in.COOKIE)
            await self.access.check_token(request, Scope.READ, survey.id, kept=kept)
        return survey, outlet

    async def _asked(self, request: Request, refused: Refused) -> Response:
        """Ask a person for the token, in the survey's language; a program is refused in its own words."""
        if refused.reason not in (Reason.NO_TOKEN, Reason.NO_RIGHT) or not letting_in.wants_page(request):
            raise refused
        outlet = await run_in_threadpool(self.store.shelf.outlet, await self.access.survey(request))
        said = letting_in.ASKED if refused.reason is Reason.NO_TOKEN else letting_in.WRONG
        return await run_in_threadpool(letting_in.form, said, STATUS[refused.reason], outlet.language)

    async def _found(self, request: Request, survey: Survey) -> Published:
        found = await run_in_threadpool(self.store.shelf.find, survey, number_of(request.path_params["number"]))
        if found is None:
            raise Refused(Reason.UNKNOWN, "there is no release of this number.")
        return found

    async def _file(
        self, request: Request, survey: Survey, found: Published, kind: str, headers: dict[str, str]
    ) -> Response:
        if headers["ETag"] in request.headers.get("if-none-match", ""):
            return Response(status_code=304, headers=headers)
        if kind == PARQUET:
            content = await run_in_threadpool(self.publisher.content, survey, found)
        else:
            content = await run_in_threadpool(self.publisher.page, survey, found)
            # the page says itself which scripts are its own; that nothing may frame it, only a header can say
            headers["Content-Security-Policy"] = f"{policy_of(content.decode())}; frame-ancestors 'none'"
            headers["Referrer-Policy"] = "no-referrer"
        return Response(content, headers=headers | {"X-Content-Type-Options": "nosniff"}, media_type=kind)


def number_of(text: str) -> int:
    """Return a number that stands in an address; what is none names nothing."""
    if not (text.isascii() and text.isdecimal() and len(text) <= _MOST_DIGITS):
        raise Refused(Reason.UNKNOWN, "there is nothing of this number.")
    return int(text)


def _cached(digest: bytes, how_long: str, outlet: Outlet) -> dict[str, str]:
    whose = "public" if outlet.is_public else "private"
    return {"ETag": f'"{digest.hex()}"', "Cache-Control": f"{whose}, {how_long}"}


def _described(survey: Survey, published: Published) -> dict[str, Any]:
    time = survey.plan.domain.time
    first, last = (time.with_end(published.n_periods) if survey.has_public_time else time).days
    address = f"/v1/surveys/{survey.id}/releases/{published.number}"
    return {
        "number": published.number,
        "first": first,
        "last": last,
        "n_periods": published.n_periods,
        "checksum": published.checksum,
        "sha256": published.file.hex(),
        "n_bytes": published.n_bytes,
        "signed_by": published.signed_by or None,
        "release": address,
        "page": f"/surveys/{survey.id}/{published.number}",
    }
