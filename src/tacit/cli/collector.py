"""tacit collector: surveys, tokens and backups of a collector, beside the server or while none runs."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tacit.cli import collector_options as options
from tacit.cli import console
from tacit.cli.app import new_group
from tacit.cli.options import takes
from tacit.errors import SettingError
from tacit.service.settings import Settings, read_settings

if TYPE_CHECKING:
    from tacit.service.store import Store

app = new_group("collector", no_args_is_help=True)

StoreAddress = Annotated[str | None, options.setting("store")]
Folder = Annotated[Path | None, options.setting("folder")]


@contextmanager
def _opened(
    config: Path | None, store: str | None, folder: Path | None = None, *, may_be_new: bool = False
) -> Iterator[tuple[Store, Settings]]:
    """Give the store of the settings. A file of SQLite that is not there is a wrong name, unless one is to be made."""
    options.check_installed()
    settings, _ = read_settings(config, {"store": store, "folder": folder})
    path = Path(settings.store.removeprefix("sqlite:///"))
    is_new = settings.store.startswith("sqlite:///") and not path.exists()
    if is_new and not may_be_new:
        raise SettingError(f"there is no store at {path}. Name it: --store sqlite:///FILE, or --config FILE")
    try:
        kept = options.opened_store(settings)
        try:
            yield kept, settings
        finally:
            is_new = is_new and not kept.n_rows()
            kept.close()
    except BaseException:
        for one in (path, path.with_name(f"{path.name}-wal"), path.with_name(f"{path.name}-shm")) if is_new else ():
            one.unlink(missing_ok=True)
        raise


@app.command("survey", no_args_is_help=True)
@takes(asked=options.SurveyOptions)
def survey(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="A plan, made by: tacit plan")],
    asked: options.SurveyOptions,
    config: options.Config = None,
    store: StoreAddress = None,
) -> None:
    """Make a survey from a plan, and show its first tokens once. A server that runs takes reports for it at once.

    Of a survey that is there, the options that are given change, and its plan cannot.

    Example: [bold]tacit collector survey plan.toml --survey visits[/bold]
    """
    named = asked.of(plan)
    made = options.made_survey(named)
    from tacit.service.starting import add_surveys, differing, first_tokens

    with _opened(config, store, may_be_new=True) as (kept, _):
        (added,) = add_surveys(kept, [(made, named)])
        options.say_changes(added)
        for key, value in differing(named, made.id, read_settings(config, {"store": store})[1]):
            console.say(
                f"{config} says {key} = {value} for {made.id}, and so it is again at the next start. Change it there."
            )
        if added.changes:
            if any(one.startswith(("late ", "open ")) for one in added.changes):
                console.say("A server that runs takes late and open at its next look for periods to close.")
            return
        if not added.is_new:
            console.say(f"Survey {made.id} is there already, with the same plan and settings.")
            return
        console.say(f"Survey {made.id} is made.")
        options.say_tokens(first_tokens(kept, made), made.id)


@app.command("surveys")
def surveys(config: options.Config = None, store: StoreAddress = None) -> None:
    """List the surveys, with sums."""
    with _opened(config, store) as (kept, _):
        rows = [
            [one.id, one.form.plan_id[:12], "open" if one.is_open else "by token", one.late, n_reports, n_closed]
            for one in kept.surveys()
            for n_reports, n_closed in [(f"{kept.n_reports(one):,}", kept.n_closed(one))]
        ]
    console.table(["survey", "plan", "reports", "late", "counted", "closed periods"], rows, left=3)


@app.command("token", no_args_is_help=True)
def token(
    survey: Annotated[str | None, typer.Option(help="The survey it is for.", metavar="NAME")] = None,
    scope: Annotated[str, typer.Option(help="What it allows: write, read or admin.")] = "write",
    name: Annotated[str | None, typer.Option(help="By what it is listed and taken back.", metavar="NAME")] = None,
    config: options.Config = None,
    store: StoreAddress = None,
) -> None:
    """Make a token, and show it once.

    Example: [bold]tacit collector token --survey visits --scope write --name station-3[/bold]
    """
    from tacit.service.starting import new_token

    with _opened(config, store) as (kept, _):
        options.say_tokens(*new_token(kept, scope, survey, name))


@app.command("tokens")
def tokens(config: options.Config = None, store: StoreAddress = None) -> None:
    """List the names of all tokens, and what they allow. No token is shown again."""
    with _opened(config, store) as (kept, _):
        rows = [[one.name, one.scope.value, one.survey] for one in kept.tokens.listed()]
    console.table(["name", "allows to", "survey"], rows, left=3)


@app.command("revoke", no_args_is_help=True)
def revoke(
    name: Annotated[str, typer.Argument(metavar="NAME", help="A name that tacit collector tokens lists.")],
    config: options.Config = None,
    store: StoreAddress = None,
) -> None:
    """Take a token back. A server that runs refuses it a second later.

    Example: [bold]tacit collector revoke station-3[/bold]
    """
    from tacit.service.tokens import CONFIGURED

    with _opened(config, store) as (kept, _):
        if not kept.tokens.revoke(name):
            raise SettingError(f"there is no token {name}. List them: tacit collector tokens")
        console.say(f"Token {name} is taken back.")
        if name == CONFIGURED:
            console.say(
                "Write a new token to the file or variable of admin_token: a server does not start with this one."
            )


@app.command("backup", no_args_is_help=True)
def backup(
    to: Annotated[Path, typer.Argument(metavar="BACKUP", help="A folder that is not there yet.")],
    config: options.Config = None,
    store: StoreAddress = None,
    folder: Folder = None,
) -> None:
    """Copy the store and the files of closed periods to a new folder. The server may go on.

    Example: [bold]tacit collector backup backups/2026-11-17[/bold]
    """
    from tacit.service.backup import make_backup

    with _opened(config, store, folder) as (kept, settings):
        made = make_backup(kept, settings.folder, to)
    console.say(f"{to}: {console.counted(made.n_rows, 'row')} and {console.counted(made.n_files, 'file')}.")


@app.command("restore", no_args_is_help=True)
def restore(
    backup: Annotated[Path, typer.Argument(metavar="BACKUP", help="A folder made by: tacit collector backup")],
    config: options.Config = None,
    store: StoreAddress = None,
    folder: Folder = None,
) -> None:
    """Copy a backup into an empty store and an empty folder.

    Example: [bold]tacit collector restore backups/2026-11-17 --store sqlite:///collector.sqlite[/bold]
    """
    from tacit.service.backup import restore_backup

    with _opened(config, store, folder, may_be_new=True) as (kept, settings):
        made = restore_backup(backup, kept, settings.folder)
    console.say(f"{console.counted(made.n_rows, 'row')} and {console.counted(made.n_files, 'file')} are back.")
