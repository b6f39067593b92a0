"""The addresses that read a survey: counts, answers, a release, the tally and the reports of closed periods."""

from __future__ import annotations

import tempfile
from collections.abc import Mapping
from pathlib import Path

from starlette.concurrency import run_in_threadpool
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from tacit.collection.tallying import estimate_tally
from tacit.counts.tally import Tally
from tacit.release import Release
from tacit.service.access import Access, asked, in_json
from tacit.service.mixing import report_file
from tacit.service.outlet import number_of
from tacit.service.refusals import Reason, Refused
from tacit.service.store import Store
from tacit.service.survey import Survey
from tacit.service.tokens import Scope


class Reading:
    """The handlers of whoever has a token to read."""

    def __init__(self, store: Store, access: Access, folder: Path) -> None:
        self.store, self.access, self.folder = store, access, folder

    def routes(self) -> list[Route]:
        """The addresses that these handlers serve."""
        one = "/v1/surveys/{survey}"
        return [
            Route(f"{one}/counts", self.counts),
            Route(f"{one}/answer", self.answer),
            Route(f"{one}/release", self.release),
            Route(f"{one}/tally", self.tally),
            Route(f"{one}/reports/{{period}}", self.report_file),
        ]

    async def counts(self, request: Request) -> Response:
        """Estimated counts with intervals, of closed periods."""
        survey = await self.access.allowed_survey(request, Scope.READ)
        levels = asked(request, "by", "place", "kind")
        made = await run_in_threadpool(self._release, survey, levels)
        rows = {name: column.tolist() for name, column in made.table().items()}
        return in_json({"is_simulation": made.is_simulation, "columns": rows})

    async def answer(self, request: Request) -> Response:
        """How many events there were in a range of closed periods, in some places and of some kinds."""
        survey = await self.access.allowed_survey(request, Scope.READ)
        ends = asked(request, "first", "last")
        places, kinds = (request.query_params.getlist(axis) or None for axis in ("place", "kind"))
        made = await run_in_threadpool(self._release, survey, {})
        found = made.answer(first=ends.get("first"), last=ends.get("last"), places=places, kinds=kinds)
        return in_json(
            {
                "value": found.value,
                "lower": found.lower,
                "upper": found.upper,
                "level": found.level,
                "standard_error": found.standard_error,
                "is_simulation": found.is_simulation,
            }
        )

    async def release(self, request: Request) -> Response:
        """A release of closed periods, as a file that Tacit reads."""
        survey = await self.access.allowed_survey(request, Scope.READ)
        levels = asked(request, "by", "place", "kind")

        def written() -> bytes:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "release.parquet"
                self._release(survey, levels).write(path)
                return path.read_bytes()

        content = await run_in_threadpool(written)
        name = f'attachment; filename="{survey.id}.parquet"'
        return Response(content, media_type="application/vnd.apache.parquet", headers={"Content-Disposition": name})

    async def tally(self, request: Request) -> Response:
        """The tally of closed periods, for tacit release."""
        survey = await self.access.allowed_survey(request, Scope.READ)

        def written() -> bytes:
            with tempfile.TemporaryDirectory() as folder:
                path = Path(folder) / "survey.tally"
                self._closed_tally(survey).write(path)
                return path.read_bytes()

        return Response(await run_in_threadpool(written), media_type="application/octet-stream")

    async def report_file(self, request: Request) -> Response:
        """The sorted reports of a closed period."""
        survey = await self.access.allowed_survey(request, Scope.READ)
        path = report_file(survey, number_of(request.path_params["period"]), self.folder)
        if not path.exists():
            raise Refused(Reason.UNKNOWN, "there is no file of this period: it is open, or had no reports.")
        return FileResponse(path, media_type="application/octet-stream")

    def _closed_tally(self, survey: Survey) -> Tally:
        n_closed = self.store.n_closed(survey)
        tally = self.store.tally(survey, n_bins=survey.n_bins(n_closed))
        if not tally.n_reports:
            raise Refused(Reason.NOT_SHOWN, "no period with reports is closed yet.")
        return tally

    def _release(self, survey: Survey, levels: Mapping[str, str]) -> Release:
        if "place" in levels and survey.plan.domain.place.gazetteer is None:
            raise Refused(Reason.QUESTION, "place must be left out: the places of this survey have no larger ones.")
        estimate = estimate_tally(self._closed_tally(survey), survey.plan)
        by, place, kind = (levels.get(name) for name in ("by", "place", "kind"))
        return Release.of(survey.plan, estimate, by=by, place=place, kind=kind)
