"""Options that tacit serve and tacit collector share, and what both do with them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tacit._base.extras import require
from tacit.cli import console
from tacit.cli.domains import agreed_plan
from tacit.cli.options import Noun, Title, known_language
from tacit.service.settings import Settings, SurveySettings, help_of

if TYPE_CHECKING:
    from tacit.service.starting import Added
    from tacit.service.store import Store
    from tacit.service.survey import Survey
    from tacit.service.tokens import Scope

Config = Annotated[
    Path | None,
    typer.Option(help="A file of settings (TOML).", metavar="FILE", envvar="TACIT_CONFIG", show_envvar=True),
]


@dataclass(frozen=True, kw_only=True)
class SurveyOptions:
    """The options that say how a survey collects and publishes; what is left out stays as it was."""

    survey: Annotated[
        str | None, typer.Option(help="The survey's name in addresses (default: the plan's name).", metavar="NAME")
    ] = None
    late: Annotated[
        int | None,
        typer.Option(
            help="For how many periods after its own a report is still taken (default: as it was, else 1).",
            metavar="PERIODS",
        ),
    ] = None
    open_: Annotated[
        bool | None,
        typer.Option(
            "--open/--not-open",
            help="Whether anybody may send reports, without a token (default: as it was, else not).",
        ),
    ] = None
    release_every: Annotated[
        str | None,
        typer.Option(
            help="How often a release is made: period, day, week, month, year or never (default: as it was, else "
            "month).",
            metavar="HOW OFTEN",
        ),
    ] = None
    public: Annotated[
        bool | None,
        typer.Option(
            "--public/--not-public", help="Whether releases and pages need no token (default: as it was, else they do)."
        ),
    ] = None
    title: Title = None
    noun: Noun = None
    language: Annotated[
        str | None,
        typer.Option(
            help="The language of its pages: en or fr (default: as it was, else en).",
            metavar="LANGUAGE",
            callback=known_language,
        ),
    ] = None

    def of(self, plan: Path) -> SurveySettings:
        """Return the settings of the survey of a plan's file."""
        return SurveySettings(
            self.survey or "",
            plan,
            self.late,
            self.open_,
            self.release_every,
            self.public,
            self.title,
            self.noun,
            self.language,
        )


def setting(name: str) -> Any:
    """Return the option of a setting. Its variable is read with the file, so that one place knows what comes first."""
    return typer.Option(help=help_of(name), show_default=False)


def check_installed() -> None:
    """Refuse where the parts of a collector are not installed."""
    for module in ("starlette", "uvicorn", "msgspec", "sqlalchemy", "alembic"):
        require(module, extra="service")


def made_survey(named: SurveySettings) -> Survey:
    """Return the survey of a plan's file; without a name it has the plan's."""
    from tacit.collection.wire import MessageFormat
    from tacit.service.starting import new_survey

    agreed = agreed_plan(named.plan)
    return new_survey(named.name or agreed.name, MessageFormat.of(agreed), named)


def opened_store(settings: Settings) -> Store:
    """Return the store that settings name, its tables up to date."""
    from tacit.service.store import Store

    return Store(settings.store)


def say_changes(added: Added) -> None:
    """Say what is different from before."""
    for change in added.changes:
        console.say(f"Survey {added.survey.id}: {change}")


_MEANINGS = {"admin": "Administrator's token", "write": "Token to send reports", "read": "Token to read counts"}


def say_tokens(tokens: Mapping[Scope, str], survey: str = "") -> None:
    """Show new tokens, which nobody can show again."""
    for scope, token in tokens.items():
        of = f" of {survey}" if survey else ""
        console.say(f"{_MEANINGS[scope.value]}{of}, shown once: {token}")
