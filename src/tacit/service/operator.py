"""What the operator asks and does: state of surveys, closing, health, numbers for Prometheus, and a page of these.

Everything here is a sum over all senders; nothing is of one device.
"""

from __future__ import annotations

import platform
import shutil
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any, Final

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit import __version__
from tacit.service.access import Access, in_json
from tacit.service.activity import LEAST_SHOWN
from tacit.service.ingest import Ingest
from tacit.service.metrics import families, in_text
from tacit.service.mixing import close_due
from tacit.service.parts import Parts
from tacit.service.publishing import Publisher
from tacit.service.refusals import TITLES
from tacit.service.store import Store
from tacit.service.survey import Survey
from tacit.service.tokens import EVERY_SURVEY, Scope

_RELEASES_SHOWN: Final = 12  # the newest: a year of months. All of them are listed at the survey's address
_PAGE: Final = Parts(Path(__file__).parent / "operator_page", ("operator.html", "operator.css", "operator.js"))


class Operator:
    """The handlers of the operator's addresses."""

    def __init__(
        self,
        store: Store,
        access: Access,
        ingest: Ingest,
        folder: Path,
        clock: Callable[[], datetime],
        publisher: Publisher,
    ) -> None:
        self.store, self.access, self.ingest, self.folder, self.clock = store, access, ingest, folder, clock
        self.publisher = publisher

    def routes(self) -> list[Route]:
        """The addresses that these handlers serve."""
        one = "/v1/surveys/{survey}"
        return [
            Route("/health", self.health),
            Route("/metrics", self.metrics),
            Route("/operator", self.page),
            Route("/operator/{part}", self.page),
            Route("/v1/operator", self.overview),
            Route(f"{one}/state", self.state),
            Route(f"{one}/close", self.close, methods=["POST"]),
        ]

    async def page(self, request: Request) -> Response:
        """The operator's page, or one of its parts. It holds no number: it asks for them with a token."""
        return await run_in_threadpool(_PAGE.answer, request.path_params.get("part", "operator.html"))

    async def overview(self, request: Request) -> Response:
        """All that the page shows."""
        await self.access.check_token(request, Scope.ADMIN, EVERY_SURVEY)

        def found() -> dict[str, Any]:
            failure = self.store.failures.of_writing
            disk = shutil.disk_usage(self.folder if self.folder.exists() else self.folder.parent)
            return {
                "versions": {
                    "tacit": __version__,
                    "python": platform.python_version(),
                    "database": self.store.database(),
                },
                "store_bytes": self.store.size(),
                "store_failure": None if failure is None else failure.value,
                "disk": {"free": disk.free, "total": disk.total},
                "waiting": self.ingest.n_waiting,
                "commits": sum(self.ingest.activity.commits.counts),
                "failed_commits": self.ingest.activity.n_failed,
                "least_shown": LEAST_SHOWN,
                "titles": {reason.value: title for reason, title in TITLES.items()},
                "surveys": [self._survey(one) for one in self.store.surveys()],
                "tokens": [
                    {"name": one.name, "scope": one.scope.value, "survey": one.survey}
                    for one in self.store.tokens.listed()
                ],
            }

        return in_json(await run_in_threadpool(found))

    def _survey(self, survey: Survey) -> dict[str, Any]:
        n_closed, taken = self.store.n_closed(survey), survey.taken(self.clock())
        return self._state(survey) | {
            "is_open": survey.is_open,
            "is_simulation": survey.is_simulation,
            "late": survey.late,
            "epsilon": survey.plan.epsilon,
            "releases": [
                {"number": one.number, "until": survey.label(one.n_periods - 1), "is_signed": bool(one.signed_by)}
                for one in self.store.shelf.all(survey)[:_RELEASES_SHOWN]
            ],
            "is_public": self.store.shelf.outlet(survey).is_public,
            "hours": self.ingest.activity.hours(survey.id),
            "last_closed": survey.label(n_closed - 1),
            "open_periods": [survey.label(period) for period in taken if period >= n_closed],
        }

    def _state(self, survey: Survey) -> dict[str, Any]:
        return {
            "survey": survey.id,
            "plan": survey.form.plan_id,
            "n_reports": self.store.n_reports(survey),
            "n_closed": self.store.n_closed(survey),
            "refusals": self.ingest.refusals(survey),
            "alarms": self.store.alarms(survey),
        }

    async def state(self, request: Request) -> Response:
        """What the operator sees of a survey: sums alone, nothing of any device."""
        survey = await self.access.allowed_survey(request, Scope.ADMIN)
        return in_json(await run_in_threadpool(self._state, survey))

    async def close(self, request: Request) -> Response:
        """Close the periods that are over, mix their reports, and publish a release of all that is closed.

        The answer has the alarms of the survey, so that whoever publishes sees them.
        """
        survey = await self.access.allowed_survey(request, Scope.ADMIN)
        until = request.query_params.get("until")
        await run_in_threadpool(close_due, self.store, survey, self.clock(), self.folder, until=until)
        made = await run_in_threadpool(self.publisher.publish_due, survey, at_once=True)
        n_closed = await run_in_threadpool(self.store.n_closed, survey)
        alarms = await run_in_threadpool(self.store.alarms, survey)
        return in_json({"n_closed": n_closed, "release": None if made is None else made.number, "alarms": alarms})

    async def health(self, request: Request) -> Response:
        """Whether the collector and its store answer, and the store can write."""
        await run_in_threadpool(self.store.check)
        return in_json({"status": "ok"})

    async def metrics(self, request: Request) -> Response:
        """Numbers for Prometheus, of this process and of the store; sums over all senders."""
        await self.access.check_token(request, Scope.ADMIN, EVERY_SURVEY)

        def text() -> str:
            return in_text(families(self.store, self.ingest, self.folder), self.ingest.activity.commits)

        return Response(await run_in_threadpool(text), media_type="text/plain; version=0.0.4")
