"""tacit serve: run a collector."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import collector_options as options
from tacit.cli import console
from tacit.cli.options import takes
from tacit.errors import SettingError
from tacit.release.signing import signing_key as signing_key_of
from tacit.service.settings import read_settings


@takes(asked=options.SurveyOptions)
def serve(
    asked: options.SurveyOptions,
    plan: Annotated[
        Path | None,
        typer.Argument(metavar="[PLAN]", help="A plan, made by: tacit plan. Its survey is made if it is not there."),
    ] = None,
    config: options.Config = None,
    store: Annotated[str | None, options.setting("store")] = None,
    folder: Annotated[Path | None, options.setting("folder")] = None,
    signing_key: Annotated[Path | None, options.setting("signing_key")] = None,
    host: Annotated[str | None, options.setting("host")] = None,
    port: Annotated[int | None, options.setting("port")] = None,
    most_bytes: Annotated[int | None, options.setting("most_bytes")] = None,
    body_seconds: Annotated[float | None, options.setting("body_seconds")] = None,
    per_second: Annotated[float | None, options.setting("per_second")] = None,
    close_every: Annotated[float | None, options.setting("close_every")] = None,
    grace: Annotated[int | None, options.setting("grace")] = None,
) -> None:
    """Collect randomized reports over the network, count each once, and answer questions about them.

    An option comes before a variable of the environment, a variable before the file of --config.

    Example: [bold]tacit serve plan.toml --survey visits[/bold]
    """
    options.check_installed()
    given = {
        **{"store": store, "folder": folder, "host": host, "port": port, "most_bytes": most_bytes},
        **{"body_seconds": body_seconds, "per_second": per_second, "close_every": close_every, "grace": grace},
        "signing_key": signing_key,
    }
    settings, named = read_settings(config, given)
    if plan is not None:
        named = [*named, asked.of(plan)]
    elif asked.survey is not None:
        raise SettingError("--survey names the survey of a plan. Name the plan too: tacit serve plan.toml")
    surveys = [options.made_survey(one) for one in named]
    signing_key_of(settings.signing_key)  # refused before a survey is made
    from tacit.service import serving
    from tacit.service.starting import add_surveys, first_tokens
    from tacit.service.tokens import Scope

    kept = options.opened_store(settings)
    if not surveys and not kept.surveys():
        raise SettingError("there is no survey yet. Name a plan: tacit serve plan.toml")
    collector, listening = serving.prepare(kept, settings)  # refused before a survey is made
    with listening:
        added = add_surveys(kept, list(zip(surveys, named, strict=True)))
        if settings.admin_token is not None:
            kept.tokens.configure_admin(settings.admin_token)
        new = [one.survey for one in added if one.is_new]
        if sys.stdout.isatty():
            if not kept.tokens.has_admin():
                options.say_tokens({Scope.ADMIN: kept.tokens.new(Scope.ADMIN)})
            for one in new:
                options.say_tokens(first_tokens(kept, one), one.id)
        elif new or not kept.tokens.has_admin():
            # what is not a terminal is a log, and a log is kept
            console.say("No token is shown here, for this is no terminal. Make them with: tacit collector token")
        for changed in added:
            options.say_changes(changed)
        for one in kept.surveys():
            console.say(f"Survey {one.id}: http://{settings.host}:{settings.port}/surveys/{one.id}")
        console.say(f"Operator: http://{settings.host}:{settings.port}/operator")
        sys.stdout.flush()
        serving.serve(collector, listening)
