"""What a collector tells whoever has a token to read: the plan, and the tally or the reports of closed periods.

What comes is checked as a file of a stranger is: the plan's thresholds against its epsilon, tally and reports against
the plan.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

from tacit._base.extras import require
from tacit._base.files import written_whole
from tacit._base.reading import LARGEST_EXPANDED, parse_json
from tacit.client.outbox import authorization
from tacit.collection.wire import MessageFormat
from tacit.counts.provenance import check_plan
from tacit.counts.tally import Tally
from tacit.errors import FormatError, NotShown, PlanError, SettingError, TacitError
from tacit.plan import Plan

_TIMEOUT_SECONDS: Final = 60.0  # a collector adds up all closed periods before it answers


class PublishedSurvey:
    """A survey at its address, such as ``https://counts.example/v1/surveys/visits``, read with a token."""

    def __init__(self, url: str, *, token: str | None = None) -> None:
        if not url.startswith(("https://", "http://")):
            raise SettingError(f"the address of a survey begins with https://; got {url!r}.")
        self.url: Final = url.rstrip("/")
        self._headers = authorization(token)

    def plan(self, folder: Path) -> Plan:
        """Return the survey's plan, if its thresholds give its epsilon."""
        path = self._fetched("plan", folder / "plan.json")
        try:
            plan = Plan.from_dict(parse_json(path.read_bytes()))
            MessageFormat.of(plan)
        except (TacitError, ValueError, KeyError, TypeError, AttributeError):
            raise PlanError(
                f"{self.url} gave no plan whose thresholds give its epsilon. Do not use it; tell its operator."
            ) from None
        return plan

    def tally(self, plan: Plan, folder: Path) -> Tally:
        """Return the tally of all closed periods, which must be of this plan."""
        path = self._fetched("tally", folder / "survey.tally")
        try:
            found = Tally.read(path)
        except FormatError:
            raise FormatError(f"{self.url} gave a damaged tally. Try again, or tell its operator.") from None
        check_plan(f"the tally of {self.url}", found.provenance.plan_id, plan.fingerprint)
        return found

    def reports(self, plan: Plan, tally: Tally, folder: Path) -> list[Path]:
        """Return the report files of all closed periods that have any, as many reports as the tally says."""
        per_period = plan.public_per_period if "time" not in plan.private else len(tally.reports)
        n_of_periods = tally.reports.reshape(-1, per_period).sum(axis=1)
        return [
            self._fetched(f"reports/{period}", folder / f"{period:08d}.reports")
            for period in n_of_periods.nonzero()[0].tolist()
        ]

    def _fetched(self, what: str, path: Path) -> Path:
        httpx2 = require("httpx2", extra="client")
        try:
            with (
                httpx2.Client(headers=self._headers, timeout=_TIMEOUT_SECONDS) as client,
                client.stream("GET", f"{self.url}/{what}") as answer,
            ):
                if answer.status_code != 200:
                    answer.read()
                    raise self._refusal(answer, what)
                n_bytes = 0
                with written_whole(path, is_private=True) as file:
                    for part in answer.iter_bytes():
                        n_bytes += len(part)
                        if n_bytes > LARGEST_EXPANDED:
                            raise FormatError(f"{self.url}/{what} is too large to read. Check the address.")
                        file.write(part)
        except (httpx2.HTTPError, httpx2.InvalidURL) as problem:
            raise FormatError(
                f"{self.url} does not answer ({type(problem).__name__}). Check the address and the connection, or try "
                "again later."
            ) from None
        return path

    def _refusal(self, answer: Any, what: str) -> TacitError:
        """What a collector said, in words for whoever reads; anything else at the address is not one."""
        try:
            told = answer.json()
            kind, detail = str(told["type"]).rpartition(":")[2], str(told["detail"])
        except (ValueError, KeyError, TypeError):
            return FormatError(
                f"{self.url}/{what} answered with the HTTP status {answer.status_code}: there is no collector. Check "
                "the address, which is like https://HOST/v1/surveys/NAME."
            )
        if kind in ("no-token", "no-right"):
            problem = (
                "no token was given" if kind == "no-token" else "the token given is another one, or was taken back"
            )
            return SettingError(f"{self.url} asks for the survey's token to read, and {problem}. Give the right one.")
        if kind == "not-shown":
            return NotShown(f"{self.url}: {detail} Try again when a period has ended.")
        return FormatError(f"{self.url}/{what}: {detail} Check the address, or try again later.")
