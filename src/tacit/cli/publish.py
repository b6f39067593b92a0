"""tacit publish: from events to a folder with everything that may be published, in one command."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from tacit._base.rounding import percent_at_most, whole
from tacit.cli import console
from tacit.cli.check import confirm_description, describe
from tacit.cli.ledger_file import LedgerFile, data_set_name, say_ledger
from tacit.cli.options import (
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
from tacit.cli.release import say_protection
from tacit.cli.sources import (
    Settings,
    check_command,
    columns_of,
    description_of,
    kinds_of,
    named_source,
    options_of,
    places_of,
    say_bad_rows,
    zone_of,
)
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.errors import SettingError
from tacit.events import SourceDescription, names_in, scan_span
from tacit.events.source_description import ROLES
from tacit.events.sources import format_of
from tacit.mechanisms.planner import CURATOR, NOBODY
from tacit.pages.figures import largest_belief
from tacit.privacy.ledger import Ledger, default_ledger
from tacit.publication import Preview, publishing
from tacit.publication.agreement import Agreement
from tacit.publication.preview import USUAL_EPSILONS, expected_errors

_NAMES_SHOWN: Final = 12  # of places on the screen: two lines of them
_PLACES: Final = (
    "the places, whose list is published: in a table, --places TABLE; all names in the events, if they are public, "
    "--places-from-events; or none, for events in all: --places none"
)
_WHOM: Final = {NOBODY: "nobody: every event is randomized", CURATOR: "you, the curator: noise is added to counts"}


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
    root = folder or Path(publishing.folder_name(name))
    is_asking = not yes and console.is_attended()
    agreed = Agreement.read(root)
    begun = _Beginning(source, domain, whose, places_from_events, is_asking)
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
        if domain.last is None and is_asking:
            settings["last"] = typer.prompt("Up to which day, which becomes public?", default=end)
    else:
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
    console.say(f"Next: tacit query {root / 'release.parquet'} --from DATE --to DATE --place NAME")


class _Beginning:
    """What a new publication needs to know: taken from options, else proposed and asked for."""

    def __init__(
        self,
        source: UserSourceOptions,
        domain: DomainOptions,
        whose: UnitOptions,
        takes_names: bool,
        is_asking: bool,
    ) -> None:
        self._source, self._domain, self._whose = source, domain, whose
        self._takes_names, self._is_asking = takes_names, is_asking

    def check_all_named(self, trust: str | None, *, is_priced: bool) -> None:
        """Refuse what nobody is asked for and no option says, all of it at once."""
        source, domain, known = self._source, self._domain, description_of(self._source)
        columns = columns_of(source, known)
        named = named_source(source)
        missing = {
            "the column of dates: --time COLUMN": known is None and source.time is None,
            "the time zone of the events' clocks: --zone ZONE": domain.zone is None
            and getattr(known, "zone", None) is None,
            "how the source is written, confirmed once by someone who knows it: "
            f"{check_command(source)} --confirm": known is None
            and isinstance(named, Path)
            and format_of(named) == "csv",
            _PLACES: columns.place is not None and domain.places is None and not self._takes_names,
            "the first and the last day, which become public: --from DATE --to DATE": None
            in (domain.first, domain.last),
            "whom to trust: --trust curator, or --trust nobody": trust is None,
            "how much to give away, --epsilon 1, or the error that counts may have: --target 40": not is_priced,
        }
        if said := [words for words, is_missing in missing.items() if is_missing]:
            raise SettingError("\n  ".join(["these must be said, and nobody is there to ask:", *said]))

    def described(self) -> SourceDescription:
        """Return how the source is written: as confirmed before, or as proposed and confirmed now."""
        known, zone = description_of(self._source), self._domain.zone
        if known is not None:
            named = columns_of(self._source, known)
            known = replace(known, **{role: getattr(named, role) for role in ROLES})
        if zone is None and self._is_asking and (known is None or known.zone is None):
            zone = typer.prompt("Which time zone do the events' clocks show?")
        zone = zone_of(zone, known)
        if known is not None:
            return replace(known, zone=zone)
        proposal = describe(self._source, zone, with_kinds=self._source.kind is not None)
        if proposal.is_csv:
            console.say(f"How {self._source.file} is written:")
            for sentence in proposal.sentences():
                console.say(f"  {sentence}")
            confirm_description(self._source, proposal, confirm=False)
            if description_of(self._source) is None:
                raise SettingError("the description was not confirmed. Nothing was published.")
        return proposal

    def places(self, described: SourceDescription) -> PlaceAxis:
        """Return the places that are counted: of a table, of the events where their names are public, or none."""
        domain = self._domain
        if domain.places is not None:
            return places_of(domain, "region")
        if domain.places_column or domain.level is not None:
            raise SettingError("--places-column and --level are for a table of places. Name it: --places TABLE")
        if described.place is None:
            return PlaceAxis.everything()
        names = names_in(
            named_source(self._source), column=described.place, options=described.options(options_of(self._source))
        )
        if not self._takes_names:
            self._say_names(names)
            question = "Are these names public, whatever rows there are, and are they all the places to count?"
            if not typer.confirm(question):
                raise SettingError(f"the places must be said: {_PLACES}")
        axis = PlaceAxis.of(sorted(names), described.place)
        return axis.with_elsewhere() if domain.elsewhere else axis

    def span(self, described: SourceDescription) -> tuple[str, str]:
        """Return the first and the last day: as named, else proposed from the events and confirmed."""
        first, last = self._domain.first, self._domain.last
        if first is None or last is None:
            found = scan_span(
                named_source(self._source),
                columns=described.columns,
                options=described.options(options_of(self._source)),
                zone=str(described.zone),
            )
            first = first or typer.prompt("The first day to count, which becomes public", default=str(found.first)[:10])
            last = last or typer.prompt("The last day to count, which becomes public", default=str(found.last)[:10])
        return str(first), str(last)

    def price(
        self, described: SourceDescription, domain: Domain, trust: str | None, epsilon: float | None, target: str | None
    ) -> tuple[str, float | None]:
        """Ask whom to trust and how much to give away, by a table of what counts would err by."""
        settings = Settings(
            named_source(self._source),
            columns_of(self._source, described),
            described.options(options_of(self._source)),
        )
        with console.progress("Counting events") as report:
            n_events = settings.open(domain).count(progress=report).n_events
        unit = self._whose.protected()
        rows = []
        for one in USUAL_EPSILONS if epsilon is None else (epsilon,):
            errors = expected_errors(domain, unit, one, n_events)
            rows += [
                [
                    f"{one:g}",
                    _WHOM[error.trust],
                    error.unit,
                    percent_at_most(largest_belief(one, 2)),
                    f"± {whole(error.one)}",
                    f"± {whole(error.thirty)}",
                ]
                for error in errors
                if trust in (None, error.trust)
            ]
        console.strong("What a count of one place will be off by, and how sure somebody can become of an event")
        step = domain.time.step
        console.table(
            ["epsilon", "whom you trust", "protected", "sure at most", f"one {step}", f"30 {step}s"], rows, left=3
        )
        trust = trust or typer.prompt("Whom do you trust with exact counts: curator (you) or nobody?")
        if epsilon is None and target is None:
            epsilon = float(typer.prompt("Which epsilon?", type=float))
        return trust, epsilon

    def _say_names(self, names: dict[str, int]) -> None:
        console.strong("For your eyes only: the names of places in the events, with their rows")
        shown = ", ".join(f"{name} ({n:,})" for name, n in names.items())
        console.say(f"{console.counted(len(names), 'name')}: {shown}")
        console.say("Look at the last ones, which are rare: a name that should not be there becomes public.")


def _show(preview: Preview, root: Path, *, is_asking: bool) -> None:
    """Show what is about to be published and at what price, and ask."""
    console.strong("Exact figures, for your eyes only")
    console.say(
        f"{console.counted(preview.n_rows, 'row')} read, {console.counted(preview.n_events, 'event')} counted from "
        f"{preview.first} to {preview.last}."
    )
    if preview.n_left_out:
        console.say(f"{console.counted(preview.n_left_out, 'row')} of other days, or left out by --where.")
    say_bad_rows(preview.bad_rows)
    if preview.unknown:
        shown = ", ".join(f"{name} ({console.counted(n, 'row')})" for name, n in preview.unknown[:_NAMES_SHOWN])
        more = "" if len(preview.unknown) <= _NAMES_SHOWN else f" and {len(preview.unknown) - _NAMES_SHOWN:,} more"
        console.warn(f"Names that are none of the places: {shown}{more}.")
    if preview.n_empty:
        console.warn(
            f"The last {console.counted(preview.n_empty, preview.plan.domain.time.step)} up to {preview.last} have no "
            "event, and will be published so for ever. If the events are not all there yet, name an earlier last day."
        )
    console.strong("What it costs, with all that was made of these days before")
    for sentence in (*preview.promises, preview.public):
        console.say(sentence)
    step = preview.plan.domain.time.step
    console.strong("What a count of one place will be off by")
    rows = [[_WHOM[one.trust], one.unit, f"± {whole(one.one)}", f"± {whole(one.thirty)}"] for one in preview.errors()]
    console.table(["whom you trust", "protected", f"one {step}", f"30 {step}s"], rows, left=2)
    if preview.ledger is not None:
        new = ", which is new: earlier spending is unknown" if preview.is_new_ledger else ""
        console.say(f"It is paid from the ledger {preview.ledger}{new}, and goes to {root}.")
    if is_asking and not typer.confirm("Publish it?"):
        raise SettingError("it was not published. Nothing was spent.")
