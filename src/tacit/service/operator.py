"""What the operator asks and does: the state of surveys, closing, health, and numbers for Prometheus.

Everything here is a sum over all senders; nothing is of one device.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import Response
from starlette.routing import Route

from tacit.service.access import Access, in_json
from tacit.service.mixing import close_due
from tacit.service.store import Store
from tacit.service.tokens import EVERY_SURVEY, Scope


class Operator:
    """The handlers of the operator's addresses."""

    def __init__(self, store: Store, access: Access, folder: Path, clock: Callable[[], datetime]) -> None:
        self.store, self.access, self.folder, self.clock = store, access, folder, clock

    def routes(self) -> list[Route]:
        """The addresses that these handlers serve."""
        one = "/v1/surveys/{survey}"
        return [
            Route("/health", self.health),
            Route("/metrics", self.metrics),
            Route(f"{one}/state", self.state),
            Route(f"{one}/close", self.close, methods=["POST"]),
        ]

    async def state(self, request: Request) -> Response:
        """What the operator sees of a survey: sums alone, nothing of any device."""
        survey = await self.access.allowed_survey(request, Scope.ADMIN)

        def found() -> dict[str, Any]:
            tally = self.store.tally(survey)
            return {
                "survey": survey.id,
                "plan": survey.form.plan_id,
                "n_reports": tally.n_reports,
                "n_closed": self.store.n_closed(survey),
                "refusals": self.store.refusals(survey),
                "alarms": self.store.alarms(survey),
            }

        return in_json(await run_in_threadpool(found))

    async def close(self, request: Request) -> Response:
        """Close the periods that are over, and mix their reports."""
        survey = await self.access.allowed_survey(request, Scope.ADMIN)
        await run_in_threadpool(close_due, self.store, survey, self.clock(), self.folder)
        return in_json({"n_closed": await run_in_threadpool(self.store.n_closed, survey)})

    async def health(self, request: Request) -> Response:
        """Whether the collector and its store answer."""
        await run_in_threadpool(self.store.check)
        return in_json({"status": "ok"})

    async def metrics(self, request: Request) -> Response:
        """Numbers for Prometheus, of this process and of the store; sums over all senders."""
        await self.access.check_token(request, Scope.ADMIN, EVERY_SURVEY)

        def lines() -> list[str]:
            found = ["# TYPE tacit_reports_total counter"]
            surveys = self.store.surveys()
            found += [f'tacit_reports_total{{survey="{one.id}"}} {self.store.tally(one).n_reports}' for one in surveys]
            found.append("# TYPE tacit_refusals_total counter")
            for one in surveys:
                for reason, n in self.store.refusals(one).items():
                    found.append(f'tacit_refusals_total{{survey="{one.id}",reason="{reason}"}} {n}')
            return found

        text = "\n".join(await run_in_threadpool(lines)) + "\n"
        return Response(text, media_type="text/plain; version=0.0.4")
