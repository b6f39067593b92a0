"""tacit publish: from events to a folder with everything that may be published, in one command."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any, Final

import typer

from tacit.cli import console
from tacit.cli.domains import kinds_of, say_kinds
from tacit.cli.ledger_file import LedgerFile, data_set_name, say_ledger
from tacit.cli.options import (
    LEDGER,
    AcceptLoss,
    Again,
    DataSetName,
    DomainOptions,
    MostEpsilon,
    Noun,
    Panel,
    SignWith,
    SimulationSeed,
    Title,
    UnitOptions,
    UserSourceOptions,
    known_language,
    takes,
)
from tacit.cli.publish_questions import WHOM, Beginning, check_given, off_by, off_by_words
from tacit.cli.release import question_about, say_protection
from tacit.cli.sources import named_source, say_bad_rows
from tacit.domain import Domain, TimeAxis
from tacit.errors import SettingError
from tacit.pages.page import plural_of
from tacit.privacy.ledger import Ledger, default_ledger
from tacit.publication import Preview, publishing
from tacit.publication.agreement import Agreement
from tacit.publication.writing import check_folder, folder_name

_NAMES_SHOWN: Final = 12  # of places on the screen: two lines of them


@takes(source=UserSourceOptions, domain=DomainOptions, whose=Panel("Whom a curator protects", UnitOptions))
def publish(
    source: UserSourceOptions,
    domain: DomainOptions,
    whose: UnitOptions,
    places_from_events: Annotated[
        bool,
        typer.Option("--places-from-events", help="Take the names in the events for the places, and make them public."),
    ] = False,
    trust: Annotated[
        str | None, typer.Option(help="nobody (every event is randomized) or curator (you count and add noise).")
    ] = None,
    epsilon: Annotated[float | None, typer.Option(help="How much may be given away; smaller is safer.")] = None,
    target: Annotated[
        str | None,
        typer.Option(
            help="The error that a count may have, instead of epsilon: 40 (events), or 5% of it.", metavar="ERROR"
        ),
    ] = None,
    expected_events: Annotated[
        float | None, typer.Option(help="How many events to expect, for --target: a public guess.", metavar="N")
    ] = None,
    delta: Annotated[float | None, typer.Option(help="For a curator: allows Gaussian noise, such as 1e-6.")] = None,
    folder: Annotated[
        Path | None, typer.Option(help="Where everything goes (default: a folder with the data set's name).")
    ] = None,
    data_set: DataSetName = None,
    budget: MostEpsilon = None,
    ledger: LedgerFile = None,
    accept_loss: AcceptLoss = False,
    again: Again = False,
    other_ledger: Annotated[
        bool,
        typer.Option(
            "--other-ledger",
            help="Go on under another ledger than before: it must know all that was spent on these events.",
            rich_help_panel=LEDGER,
        ),
    ] = False,
    yes: Annotated[
        bool, typer.Option("--yes", help="Ask nothing: what is not named, or was not confirmed before, is refused.")
    ] = False,
    title: Title = None,
    noun: Noun = None,
    language: Annotated[
        str | None,
        typer.Option(
            help="The language of pages and statement: en, or fr, beside which the English statement stands and binds "
            "(default: as it began, en).",
            metavar="LANGUAGE",
            callback=known_language,
        ),
    ] = None,
    days_ahead: Annotated[int, typer.Option(help="Forecast so many days; 0 for none.", metavar="DAYS")] = 7,
    sign_with: SignWith = None,
    seed: SimulationSeed = None,
) -> None:
    """Publish the counts of events: plan, release, page, statement and forecast, in one folder.

    What it would cost and give away is shown first, and how far off counts will be; then it asks. Stopped anywhere, the
    same command goes on at no further cost. Run again with a later --to on events that have grown, it publishes the new
    days and continues.

    Example: [bold]tacit publish trips.csv --time started_at --place station --zone America/New_York[/bold]
    """
    name = data_set or data_set_name(source)
    root = folder or Path(folder_name(name))
    is_asking = not yes and console.is_attended()
    agreed = Agreement.read(root)
    begun = Beginning(source, domain, whose, places_from_events, is_asking)
    check_given(domain, trust, epsilon, has_places_from_events=places_from_events)
    plural_of(noun)
    settings: dict[str, Any] = {
        "data_set": name,
        "first": domain.first,
        "last": domain.last,
        "step": domain.step,
        "epsilon": epsilon,
        "target": target,
        "expected_events": expected_events,
        "delta": delta,
        "trust": trust,
        "zone": domain.zone,
        "unit": None if whose == UnitOptions() else whose.protected(),
        "kinds": kinds_of(domain),
    }
    if agreed is not None:
        end = agreed.stretches[-1][1]
        console.say(f"{root} holds a publication up to {end}, which goes on.")
        settings |= {role: getattr(source, role) for role in ("time", "place", "kind", "count", "user")}
        if domain.places is not None:
            settings["places"] = begun.places(agreed.source)
        elif places_from_events:
            console.say("The places stay as it began: --places-from-events is for the first run.")
        if domain.last is None and is_asking:
            settings["last"] = begun.next_end(root, agreed)
    else:
        check_folder(root)
        is_priced = epsilon is not None or target is not None
        if not is_asking:
            begun.check_all_named(trust, is_priced=is_priced)
        settings["description"] = described = begun.described()
        settings["zone"] = described.zone
        settings["places"] = place = begun.places(described)
        settings["first"], settings["last"] = first, last = begun.span(described)
        if trust is None or not is_priced:
            time = TimeAxis.between(first, last, step=domain.step or "day", zone=str(described.zone))
            counted = Domain(time, place, settings["kinds"])
            settings["trust"], settings["epsilon"] = begun.price(described, counted, trust, epsilon, target)
    stages = console.Stages()

    def look(preview: Preview) -> None:
        stages.end()
        _show(preview, root, is_asking=is_asking)

    try:
        made = publishing.publish(
            named_source(source),
            folder=root,
            where=tuple(source.where or ()),
            polygons=source.polygons,
            ledger=ledger,
            budget=budget,
            accept_loss=accept_loss,
            again=again,
            other_ledger=other_ledger,
            days_ahead=days_ahead,
            title=title,
            noun=noun,
            language=language,
            seed=seed,
            sign_with=sign_with,
            look=look,
            progress=stages.report,
            begin=stages.begin,
            **settings,
        )
    finally:
        stages.end()
    if agreed is not None and agreed == Agreement.read(root):
        console.say("Nothing new: no day was added, and nothing that pages are made from has changed. All files stay.")
    elif agreed is not None and made.release.domain.time.days[1] == agreed.stretches[-1][1]:
        console.say("No new days: nothing was counted and nothing spent. The pages were made again.")
    say_protection(made.release)
    if seed is None:
        say_ledger(Ledger(ledger or default_ledger()))
    console.strong(f"Open {(root / 'page.html').resolve()} in a browser.")
    console.say(f"Next: {question_about(made.release, root / 'release.parquet')}")


def _show(preview: Preview, root: Path, *, is_asking: bool) -> None:
    """Show what is about to be published and at what price, and ask."""
    console.strong("Exact figures, for your eyes only")
    console.say(
        f"{console.counted(preview.n_rows, 'row')} read, {console.counted(preview.n_events, 'event')} counted from "
        f"{preview.first} to {preview.last}."
    )
    if preview.n_of_other_days:
        console.say(f"{console.counted(preview.n_of_other_days, 'row')} of other days, or left out by --where.")
    say_bad_rows(preview.fallen)
    if preview.lost:
        console.say(f"{preview.lost:.1%} of the rows of these days fall out.")
    if preview.unknown:
        shown = ", ".join(f"{name} ({console.counted(n, 'row')})" for name, n in preview.unknown[:_NAMES_SHOWN])
        more = "" if len(preview.unknown) <= _NAMES_SHOWN else f" and {len(preview.unknown) - _NAMES_SHOWN:,} more"
        console.warn(f"Names that are none of the places: {shown}{more}.")
    if preview.n_empty:
        console.warn(
            f"The last {console.counted(preview.n_empty, preview.plan.domain.time.step)} up to {preview.last} have no "
            "event, and will be published so for ever. If the events are not all there yet, name an earlier last day."
        )
    _say_domain(preview)
    console.strong("What it costs, with all that was made of these days before")
    for sentence in (*preview.promises, preview.public):
        console.say(sentence)
    step = preview.plan.domain.time.step
    console.strong(off_by_words(preview.plan.domain))
    rows = [[WHOM[one.trust], one.unit, off_by(one.one), off_by(one.thirty)] for one in preview.errors()]
    console.table(["whom you trust", "protected", f"one {step}", f"30 {step}s"], rows, left=2)
    if preview.ledger is not None:
        new = " It is new: earlier spending is unknown." if preview.is_new_ledger else ""
        console.say(f"It is written to {root}, and paid from the ledger {preview.ledger}.{new}")
    if preview.refusal is not None:
        return  # it is told instead of a question
    if is_asking and not typer.confirm("Publish it?"):
        raise SettingError("it was not published. Nothing was spent.")


def _say_domain(preview: Preview) -> None:
    """Say by which periods, clocks and places events are counted: all of it becomes public."""
    domain = preview.plan.domain
    console.strong("What is counted, which everybody will know")
    shown = ", ".join(domain.place.cells[:_NAMES_SHOWN])
    more = domain.place.n_cells - _NAMES_SHOWN
    where = f"in {console.counted(domain.place.n_cells, 'place')}: {shown}{f' and {more:,} more' if more > 0 else ''}."
    console.say(
        f"Events per {domain.time.step}, by the clocks of {domain.time.zone}, "
        + ("wherever they are." if domain.place.is_all else where)
    )
    say_kinds(domain)
