"""The addresses of a collector. All that is decided is decided in the rooms below; here are requests and answers.

No network address, header or time of a request is kept or logged.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response
from starlette.routing import Route

from tacit import collection
from tacit.errors import TacitError
from tacit.release.signing import signing_key
from tacit.service.access import Access, in_json
from tacit.service.administration import Administration
from tacit.service.failures import Cause
from tacit.service.ingest import Ingest
from tacit.service.logs import log
from tacit.service.making import Apart, make_here
from tacit.service.mixing import close_due
from tacit.service.openapi import document
from tacit.service.operator import Operator
from tacit.service.outlet import Outlets
from tacit.service.parts import Parts, page_answer
from tacit.service.publishing import Publisher
from tacit.service.reading import Reading
from tacit.service.refusals import Reason, Refused, problem, reason_of
from tacit.service.settings import Settings
from tacit.service.store import Store
from tacit.service.survey import Survey
from tacit.service.wording import FORM_FOLDER, form_page

MESSAGE_TYPE: Final = "application/vnd.tacit.message"
_FORM: Final = Parts(
    FORM_FOLDER, ("form.css", "form.js"), {"client.mjs": Path(collection.__file__).parent / "browser_client.mjs"}
)


class Collector:
    """The handlers of all addresses, with the store behind them."""

    def __init__(
        self,
        store: Store,
        folder: Path,
        *,
        settings: Settings | None = None,
        apart: Apart | None = None,
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self.store, self.folder, self.settings, self.clock = store, folder, settings or Settings(), clock
        self._apart = apart
        store.failures.tell = _tell_failure
        self.ingest = Ingest(store, clock=clock)
        self.access = Access(store, self.settings)
        self.publisher = Publisher(store, folder, signing_key(self.settings.signing_key), apart or make_here)
        self.publisher.check_key()
        self.operator = Operator(store, self.access, self.ingest, folder, clock, self.publisher)
        self.administration = Administration(store, self.access)
        self.reading = Reading(store, self.access, folder)
        self.outlets = Outlets(store, self.access, self.publisher)

    async def plan(self, request: Request) -> Response:
        """The plan that devices randomize under; it is public."""
        survey = await self.access.survey(request)
        return Response(survey.plan.to_json(), media_type="application/json")

    async def intake(self, request: Request) -> Response:
        """Whether whoever asks may send reports, and of which periods, so that nothing is randomized in vain.

        Nothing is noted of who asks, and nothing is counted: the answer depends on the survey, the clock and the token.
        """
        survey = await self.access.survey(request)
        try:
            await self.access.sender(request, survey)
            access = "allowed"
        except Refused as refused:
            if refused.reason not in (Reason.NO_TOKEN, Reason.NO_RIGHT):
                raise
            access = refused.reason.value
        taken = survey.taken(self.clock())
        first = max(taken.start, await run_in_threadpool(self.store.n_closed, survey))
        ends = {"first": first, "last": taken.stop - 1} if first < taken.stop else {"first": None, "last": None}
        labels = {f"{end}_label": None if period is None else survey.label(period) for end, period in ends.items()}
        answer = {"plan": survey.form.plan_id, "access": access, "is_simulation": survey.is_simulation}
        return in_json(answer | ends | labels, headers={"Cache-Control": "no-store"})

    async def form(self, request: Request) -> Response:
        """The form of a survey, in its words; it randomizes in the browser."""
        survey = await self.access.survey(request)
        outlet, address = await self.outlets.shown(survey)
        return page_answer(await run_in_threadpool(form_page, survey, outlet, address))

    async def form_part(self, request: Request) -> Response:
        """A script or the styles of the form."""
        return await run_in_threadpool(_FORM.answer, request.path_params["part"])

    async def reports(self, request: Request) -> Response:
        """Count a message, or one report."""
        survey = await self.access.survey(request)
        try:
            self.access.bucket(await self.access.sender(request, survey)).take()
            data = await self.access.body(request)
            kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
            if kind == "application/json":
                outcome, n_reports = await self.ingest.take_one(survey, data)
            elif kind == MESSAGE_TYPE:
                outcome, n_reports = await self.ingest.take(survey, data)
            else:
                raise Refused(Reason.MEDIA_TYPE, f"reports come as {MESSAGE_TYPE} or as application/json.")
        except ClientDisconnect:
            raise
        except Exception as error:
            self.ingest.refused(survey, reason_of(error))
            raise
        return in_json({"outcome": outcome.value, "n_reports": n_reports})

    async def openapi(self, request: Request) -> Response:
        """The description of all addresses."""
        return in_json(document())

    async def tend(self) -> None:
        """Close what is due and write down refusals, again and again until cancelled."""
        while True:
            await asyncio.sleep(self.settings.close_every)
            await self.tend_once()

    async def tend_once(self) -> None:
        """Do it once; what fails for one survey does not keep the others from closing."""
        try:
            await run_in_threadpool(self.ingest.flush)
            surveys = await run_in_threadpool(self.store.surveys)
        except Exception as error:
            if reason_of(error) is not Reason.STORE:  # the store said why when it failed
                log("fault", level=logging.ERROR, error=error)
            return
        for survey in surveys:
            try:
                await run_in_threadpool(close_due, self.store, survey, self.clock(), self.folder)
            except Exception as error:
                log("not-closed", level=logging.ERROR, error=error, survey=survey.id, reason=reason_of(error).value)
            else:
                await self._publish(survey)
        self._log_refusals()

    def _log_refusals(self, *, is_end: bool = False) -> None:
        """Log what was refused, by the hour: a line for each refusal would say when somebody sent something."""
        for survey_id, reason, n in self.ingest.activity.finished_refusals(is_end=is_end):
            log("refused", survey=survey_id, reason=reason.value, messages=n)

    async def _publish(self, survey: Survey) -> None:
        """Publish what is due. What fails is tried again at the next look."""
        try:
            await run_in_threadpool(self.publisher.publish_due, survey)
            await run_in_threadpool(self.publisher.sweep, survey)
        except Exception as error:
            log("not-published", level=logging.ERROR, error=error, survey=survey.id, reason=reason_of(error).value)

    @asynccontextmanager
    async def running(self, _: Starlette) -> AsyncIterator[None]:
        tasks = [asyncio.create_task(one()) for one in (self.ingest.run, self.tend)]
        try:
            yield
        finally:
            if self._apart is not None:
                self._apart.stop()  # a release that is being made is made again after the next start
            for task in tasks:
                task.cancel()
            for task in tasks:
                with suppress(asyncio.CancelledError):
                    await task
            with suppress(Refused):
                self.ingest.flush()
            self._log_refusals(is_end=True)


def _tell_failure(cause: Cause, problem: BaseException) -> None:
    log("store-failed", level=logging.ERROR, error=problem, reason=Reason.STORE.value, cause=cause.value)


def make_app(collector: Collector) -> Starlette:
    """The application of a collector."""
    one = "/v1/surveys/{survey}"
    routes = [
        Route(f"{one}/reports", collector.reports, methods=["POST"]),  # first: it is asked for most
        *collector.operator.routes(),
        *collector.administration.routes(),
        *collector.reading.routes(),
        *collector.outlets.routes(),
        Route("/openapi.json", collector.openapi),
        Route("/surveys/{survey}", collector.form),
        Route("/form/{part}", collector.form_part),
        Route(f"{one}/plan", collector.plan),
        Route(f"{one}/intake", collector.intake),
    ]
    return Starlette(
        routes=routes,
        lifespan=collector.running,
        exception_handlers={
            HTTPException: _http_problem,
            ClientDisconnect: _gone,
            TacitError: _problem,
            Exception: _problem,
        },
    )


async def _gone(request: Request, error: Exception) -> Response:
    """Answer nobody: the sender hung up before all of the message was there, and nothing went wrong here."""
    return await _problem(request, Refused(Reason.MALFORMED, "the message ended too early."))


async def _problem(request: Request, error: Exception) -> Response:
    status, content, headers = problem(error)
    if reason_of(error) is Reason.FAULT:
        log("fault", level=logging.ERROR, error=error)
    return Response(msgspec.json.encode(content), status, headers, "application/problem+json")


async def _http_problem(request: Request, error: Exception) -> Response:
    status = getattr(error, "status_code", 500)
    reason = {404: Reason.UNKNOWN, 405: Reason.METHOD}.get(status, Reason.MALFORMED)
    words = {Reason.UNKNOWN: "there is nothing at this address.", Reason.METHOD: "this address takes another method."}
    answer = await _problem(request, Refused(reason, words.get(reason, "the request cannot be read.")))
    for name, value in (getattr(error, "headers", None) or {}).items():
        answer.headers[name] = value
    return answer
