"""tacit serve: run a collector."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit._base.extras import require
from tacit.cli import console
from tacit.cli.sources import agreed_plan
from tacit.errors import SettingError


def serve(
    plan: Annotated[
        Path | None,
        typer.Argument(metavar="[PLAN]", help="A plan, made by: tacit plan. Its survey is made if it is not there."),
    ] = None,
    survey: Annotated[
        str | None, typer.Option(help="The survey's name in addresses (default: the plan's name).", metavar="NAME")
    ] = None,
    late: Annotated[int, typer.Option(help="For how many periods after its own a report is still taken.", min=0)] = 1,
    open_: Annotated[bool, typer.Option("--open", help="Let anybody send reports, without a token.")] = False,
    store: Annotated[
        str,
        typer.Option(
            help="Where counts are kept: sqlite:///FILE or postgresql://USER@HOST/NAME.", envvar="TACIT_STORE"
        ),
    ] = "sqlite:///collector.sqlite",
    folder: Annotated[
        Path, typer.Option(help="Where the reports of closed periods are written.", envvar="TACIT_COLLECTED")
    ] = Path("collected"),
    host: Annotated[str, typer.Option(help="The address to listen at.", envvar="TACIT_HOST")] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at.", envvar="TACIT_PORT")] = 8420,
) -> None:
    """Collect randomized reports over the network, count each once, and answer questions about them.

    Example: [bold]tacit serve plan.toml --survey visits[/bold]
    """
    for module in ("starlette", "uvicorn", "msgspec", "sqlalchemy"):
        require(module, extra="service")
    from tacit.collection.wire import MessageFormat
    from tacit.service import serving
    from tacit.service.store import Scope, Store
    from tacit.service.survey import Survey

    kept = Store(store)
    if plan is None and not kept.surveys():
        raise SettingError("there is no survey yet. Name a plan: tacit serve plan.toml")
    if not kept.tokens.has_admin():
        console.say(f"Administrator's token, shown once: {kept.tokens.new(Scope.ADMIN)}")
    if plan is not None:
        agreed = agreed_plan(plan)
        named = Survey(survey or agreed.name, MessageFormat.of(agreed), late, open_)
        is_new = named.id not in [one.id for one in kept.surveys()]
        kept.add_survey(named)
        if is_new:
            if not open_:
                console.say(
                    f"Token to send reports to {named.id}, shown once: {kept.tokens.new(Scope.WRITE, named.id)}"
                )
            console.say(f"Token to read counts of {named.id}, shown once: {kept.tokens.new(Scope.READ, named.id)}")
    for one in kept.surveys():
        console.say(f"Survey {one.id}: http://{host}:{port}/v1/surveys/{one.id}/plan")
    serving.serve(kept, folder, host=host, port=port)
