"""What tacit publish asks for where no option says it: proposed from the events, checked as soon as it is answered."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Final, TypeVar

import numpy as np
import typer

from tacit._base.rounding import percent_at_most, whole
from tacit._base.validation import check_one_of
from tacit.cli import console
from tacit.cli.check import confirm_description, describe
from tacit.cli.domains import NO_PLACES, places_of, zone_of
from tacit.cli.options import DomainOptions, UnitOptions, UserSourceOptions
from tacit.cli.sources import Settings, agreeing, check_command, columns_of, description_of, named_source, options_of
from tacit.domain import Domain, PlaceAxis
from tacit.domain.zone import zone_info
from tacit.errors import SettingError, TacitError
from tacit.events import SourceDescription, Span, names_in, propose_columns, scan_span
from tacit.events.proposal import check_looks
from tacit.events.sources import format_of
from tacit.mechanisms.planner import CURATOR, NOBODY
from tacit.privacy.epsilon import check_epsilon
from tacit.publication.agreement import Agreement
from tacit.publication.beginning import check_stretch, day_of
from tacit.publication.preview import USUAL_EPSILONS, ExpectedError, expected_errors

WHOM: Final = {NOBODY: "nobody: every event is randomized", CURATOR: "you, the curator: noise on counts"}
_PLACES: Final = (
    "the places, whose list is published: in a table, --places TABLE; all names in the events, if they are public, "
    "--places-from-events; or none, for events in all: --places none"
)
_SMALL: Final = 10  # events: below, whole numbers would hide half of an error
Asked = TypeVar("Asked")


def ask(question: str, read: Callable[[str], Asked], *, default: str | None = None) -> Asked:
    """Ask until the answer can be read; what is wrong with one is said at once."""
    while True:
        answer = str(typer.prompt(question, default=default)).strip()
        try:
            return read(answer)
        except TacitError as refused:
            console.warn(console.in_shell(refused))


def read_trust(answer: str) -> str:
    """Return whom to trust."""
    check_one_of((CURATOR, NOBODY), trust=answer)
    return answer


def read_epsilon(answer: str) -> float:
    """Return a number that can be an epsilon."""
    try:
        epsilon = float(answer)
    except ValueError:
        raise SettingError(f"epsilon must be a number such as 1 or 0.5; got epsilon={answer}. Name one.") from None
    check_epsilon(epsilon)
    return epsilon


def read_zone(answer: str) -> str:
    """Return the name of a time zone."""
    zone_info(answer)
    return answer


def check_given(
    domain: DomainOptions, trust: str | None, epsilon: float | None, *, has_places_from_events: bool
) -> None:
    """Refuse options that can be seen to be wrong before anything is read or asked."""
    if has_places_from_events and domain.places is not None:
        raise SettingError("--places and --places-from-events name the places in two ways. Leave one out.")
    if domain.zone is not None:
        read_zone(domain.zone)
    if trust is not None:
        read_trust(trust)
    if epsilon is not None:
        check_epsilon(epsilon)
    first, last = (None if day is None else day_of(day, name) for day, name in _days(domain))
    if first is not None and last is not None:
        check_stretch(first, last, domain.step or "day")


def _days(domain: DomainOptions) -> tuple[tuple[str | None, str], tuple[str | None, str]]:
    return (domain.first, "first"), (domain.last, "last")


def sure_at_most(error: ExpectedError) -> str:
    """Return of what somebody can be how sure at most, as the statement has it."""
    about = f"its {error.hidden}, of {error.n_values:,}" if error.trust == NOBODY else "that it is there"
    return f"{about}: {percent_at_most(error.belief)}"


def off_by_words(domain: Domain) -> str:
    """Return what the errors are of, as a heading: without places there is one count a period."""
    return f"What a count{'' if domain.place.is_all else ' of one place'} will be off by"


def off_by(error: float) -> str:
    """Return a standard error for the screen; a small one with a digit more."""
    return f"± {error:.1f}" if error < _SMALL else f"± {whole(error)}"


class Beginning:
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
            f"{check_command(source, given=domain)} --confirm": known is None
            and isinstance(named, Path)
            and format_of(named) == "csv",
            _PLACES: columns.place is not None and domain.places is None and not self._takes_names,
            "the first and the last day, which become public: --from DATE --to DATE": None
            in (domain.first, domain.last),
            "whom to trust: --trust curator, or --trust nobody": trust is None,
            "how much to give away, --epsilon 1, or the error that counts may have: --target 40": not is_priced,
        }
        if known is None and isinstance(named, Path) and format_of(named) == "csv":
            check_looks(named, options=options_of(source))  # what no description would help is said first
        if said := [words for words, is_missing in missing.items() if is_missing]:
            raise SettingError("\n  ".join(["these must be said, and nobody is there to ask:", *said]))

    def described(self) -> SourceDescription:
        """Return how the source is written: as confirmed before, or as proposed and confirmed now."""
        known, zone = description_of(self._source), self._domain.zone
        if known is None and self._source.time is None and self._is_asking:
            self._ask_columns()
        if known is not None:
            known = agreeing(self._source, known)
        if zone is None and self._is_asking and (known is None or known.zone is None):
            zone = ask("Which time zone do the events' clocks show? Such as Europe/Paris", read_zone)
        zone = zone_of(zone, known)
        if known is not None:
            return replace(known, zone=zone)
        proposal = describe(self._source, zone, with_kinds=self._source.kind is not None)
        if proposal.is_csv:
            console.say(f"How {self._source.file} is written:")
            for sentence in proposal.sentences():
                console.say(f"  {sentence}")
            otherwise = check_command(self._source, given=self._domain)
            confirm_description(
                self._source, proposal, confirm=False, otherwise=f"Say what is not as proposed: {otherwise}"
            )
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
        first, last, step = self._domain.first, self._domain.last, self._domain.step or "day"
        if first is not None and last is not None:
            return first, last
        with console.progress("Looking for the first and last date") as report:
            found = scan_span(
                named_source(self._source),
                columns=described.columns,
                options=described.options(options_of(self._source)),
                zone=str(described.zone),
                progress=report,
            )
        _say_far(found)

        def read_first(answer: str) -> str:
            check_stretch(day_of(answer, "first"), last, step)
            return answer

        def read_last(answer: str) -> str:
            check_stretch(first, day_of(answer, "last"), step)
            return answer

        if first is None:
            first = ask("The first day to count, which becomes public", read_first, default=found.main[0])
        if last is None:
            last = ask("The last day to count, which becomes public", read_last, default=found.main[1])
        return first, last

    def next_end(self, root: Path, agreed: Agreement) -> str:
        """Ask up to which day a publication shall go on."""
        plan, end = agreed.plan(root), agreed.stretches[-1][1]

        def read(answer: str) -> str:
            last = agreed.check_end(day_of(answer, "last"))
            check_stretch(None, last, plan.domain.time.step)
            return last

        return ask("Up to which day, which becomes public?", read, default=end)

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
            counts = settings.open(domain).count(progress=report)
        n_busy = int(np.count_nonzero(counts.counts.sum(axis=1)))
        unit = self._whose.protected()
        rows = []
        for one in USUAL_EPSILONS if epsilon is None else (epsilon,):
            errors = expected_errors(domain, unit, one, counts.n_events, n_busy)
            rows += [
                [
                    f"{one:g}",
                    error.trust,
                    error.unit,
                    sure_at_most(error),
                    off_by(error.one),
                    off_by(error.thirty),
                ]
                for error in errors
                if trust in (None, error.trust)
            ]
        console.strong(f"{off_by_words(domain)}, and how sure somebody can become of an event")
        step = domain.time.step
        hidden = f"all {step}s" if domain.n_columns == 1 else "all places" if domain.kind is None else "all of these"
        console.table(
            ["epsilon", "whom you trust", "protected", "sure at most", f"one {step}", f"30 {step}s"], rows, left=4
        )
        console.say(
            "Trust nobody, and every event is randomized; trust the curator, you, and counts get noise. Sure at most: "
            f"somebody who thought {hidden} equally likely, or it as likely as not that the event is there, and now "
            "sees all that is published."
        )
        trust = trust or ask("Whom do you trust with exact counts: curator (you) or nobody?", read_trust)
        if epsilon is None and target is None:
            epsilon = ask("Which epsilon?", read_epsilon)
        return trust, epsilon

    def _ask_columns(self) -> None:
        """Ask which columns hold the times and the places, where no option names the first: proposed by their looks."""
        names, found = propose_columns(named_source(self._source), options=options_of(self._source))
        console.say(f"{self._source.shown} has {console.counted(len(names), 'column')}: {', '.join(names)}.")

        def read(answer: str) -> str:
            if answer not in (*names, NO_PLACES):
                raise SettingError(f"there is no column {answer}. It has: {', '.join(names)}.")
            return answer

        time = ask("Which column holds the date or time of an event?", read, default=found["time"])
        place = self._source.place
        if place is None and self._domain.places != NO_PLACES:
            question = f"Which column holds its place? ({NO_PLACES}: count events in all)"
            place = ask(question, read, default=found.get("place", NO_PLACES))
        self._source = replace(self._source, time=time, place=None if place == NO_PLACES else place)

    def _say_names(self, names: dict[str, int]) -> None:
        console.strong("For your eyes only: the names of places in the events, with their rows")
        shown = ", ".join(f"{name} ({n:,})" for name, n in names.items())
        console.say(f"{console.counted(len(names), 'name')}: {shown}")
        console.say("Look at the last ones, which are rare: a name that should not be there becomes public.")


def _say_far(span: Span) -> None:
    """Warn of dates far from the rest, which the proposed days leave out."""
    if span.n_far:
        first, last = str(span.first)[:10], str(span.last)[:10]
        ends = [day for day, own in ((first, span.main[0]), (last, span.main[1])) if day != own]
        console.warn(
            f"For your eyes only: {console.counted(span.n_far, 'row')} have dates far from the rest, as far as "
            f"{' and '.join(ends)}. Often such dates stand for unknown ones. The days proposed leave them out: they "
            "are not counted then."
        )
    console.say("The days below are proposed from the events. Confirm them, or name others that are public knowledge.")
