"""From events to a publication in one call: plan, reports or counts, release, page, forecast and statement.

A publication lives in a folder of its own and goes on in stretches of time: run again on a file that has grown, it
publishes the new days and continues the release. What was agreed on stands in ``publication.toml``; it is written after
whoever publishes has seen what it costs, and before anything is paid. A run that was stopped at any point is taken up
by the same call: the ledger knows what is paid, and files that are there are not made again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from tacit._base.languages import ENGLISH, LANGUAGES
from tacit._base.validation import check_one_of
from tacit.domain import Gazetteer, KindAxis, PlaceAxis
from tacit.domain.step import When
from tacit.events import SourceDescription
from tacit.events.passes import Progress
from tacit.pages.page import plural_of
from tacit.privacy.ledger import Ledger, default_ledger
from tacit.privacy.unit import Unit
from tacit.publication.agreement import Agreement, check_same, counted_in
from tacit.publication.beginning import Beginning, day_of, described_as, kinds_of, places_of
from tacit.publication.publication import Publication
from tacit.publication.run import Look, Run
from tacit.publication.writing import check_folder, check_key, folder_name
from tacit.release.signing import SigningKey, signing_key


def publish(
    events: object,
    *,
    data_set: str,
    time: str | None = None,
    place: str | None = None,
    kind: str | None = None,
    count: str | None = None,
    user: str | None = None,
    where: Sequence[str] = (),
    places: Sequence[str] | str | Path | Gazetteer | PlaceAxis | None = None,
    kinds: Sequence[str] | str | Path | Gazetteer | KindAxis | None = None,
    first: When | None = None,
    last: When | None = None,
    step: str | None = None,
    zone: str | None = None,
    trust: str | None = None,
    epsilon: float | None = None,
    target: str | None = None,
    expected_events: float | None = None,
    delta: float | None = None,
    unit: Unit | str | None = None,
    private: Sequence[str] | None = None,
    date_format: str | None = None,
    description: SourceDescription | None = None,
    polygons: str | Path | None = None,
    folder: str | Path | None = None,
    ledger: str | Path | None = None,
    budget: float | None = None,
    accept_loss: bool = False,
    again: bool = False,
    other_ledger: bool = False,
    days_ahead: int = 7,
    title: str | None = None,
    noun: str | None = None,
    language: str | None = None,
    seed: int | None = None,
    sign_with: SigningKey | str | Path | None = None,
    look: Look | None = None,
    progress: Progress | None = None,
    begin: Callable[[str], None] | None = None,
) -> Publication:
    """Publish the counts of events, and everything around them, into a folder; return the publication.

    ``events`` are a frame (pandas, polars, Arrow), a file (CSV, Parquet) or a :class:`~tacit.events.SqlQuery`; ``time``
    and ``place`` name their columns, and ``data_set`` names them for ever: by it the ledger knows what was spent on
    them. Text needs a ``description`` of how it is written; without one, the first call reads the one beside the file
    (``trips.csv.source.toml``), and what that says need not be named. ``places`` are a list or a table of what
    everybody may know; without a column of places events are counted in all. The ``first`` and the ``last`` day become
    public, too, and so does the time ``zone``.

    With ``trust="curator"`` whoever runs this is trusted to count exactly, and noise is added; with ``trust="nobody"``
    every event is randomized before it is counted. ``epsilon`` limits what that gives away; or it follows from
    ``target``, the error that single counts may have: ``"40"`` events, or ``"5%"`` of ``expected_events``.

    Pages and statement are in the ``language`` that was named, "en" or "fr", or in which the publication began.

    The same call after an interruption goes on at no further cost; with a later ``last`` on events that have grown it
    publishes the new days, and the release goes on; with nothing new it leaves every file as it is. Days that were
    published stay as they are, whatever rows there are of them by now. Events of which
    there are reports already are refused, unless their sum is accepted with ``again``. A ledger that has not paid for
    the publication so far is refused, unless ``other_ledger`` says that it knows all that was spent. ``look`` is shown
    a :class:`Preview` before anything is paid, and may refuse by raising; ``begin`` is told every step as it begins,
    ``progress`` how much of the events is read. A ``seed`` makes a simulation, which protects nobody. With
    ``sign_with``, a private key or its file, the release is signed; one that was signed stays so.
    """
    work = Run(
        root=Path(folder if folder is not None else folder_name(data_set)),
        events=Path(events) if isinstance(events, str) else events,
        polygons=polygons,
        book=None if seed is not None else Ledger(ledger or default_ledger()),
        seed=seed,
        key=signing_key(sign_with),
        budget=budget,
        accept_loss=accept_loss,
        again=again,
        other_ledger=other_ledger,
        look=look,
        progress=progress,
        begin=begin or (lambda _: None),
    )
    check_key(work.root, work.key)
    plural_of(noun)  # refused before anything is paid
    check_one_of(LANGUAGES, language=language or ENGLISH)
    agreed = Agreement.read(work.root)
    protected = Unit(unit) if isinstance(unit, str) else unit
    named: dict[str, Any] = {"time": time, "place": place, "kind": kind, "count": count, "user": user}
    if agreed is None:
        check_folder(work.root)
        source = described_as(events, named, date_format, description, zone)
        agreed = Agreement(data_set, source, tuple(where)).shown_as(language, title, noun)
        begun = Beginning(
            places=places,
            kinds=kinds,
            first=day_of(first, "first"),
            step=step or "day",
            zone=source.zone or zone,
            trust=trust,
            epsilon=epsilon,
            target=target,
            expected_events=expected_events,
            delta=delta,
            unit=protected or Unit(),
            private=private,
        )
        stretch = (begun.first, day_of(last, "last"))
        agreed = work.new_stretch(agreed, begun.plan(source, stretch[1], data_set), stretch)
    else:
        plan = agreed.plan(work.root)
        given = named | {
            "data_set": data_set,
            "epsilon": epsilon,
            "target": target,
            "trust": trust,
            "zone": zone,
            "where": tuple(where) or None,
            "step": step,
            "first": None if first is None else day_of(first, "first"),
            "unit": protected,
            "delta": delta,
            "private": None if private is None else tuple(private),
            "places": None if places is None else counted_in(places_of(places, agreed.source)),
            "kinds": counted_in(kinds_of(kinds)),
        }
        check_same(agreed, given, plan)
        end = agreed.stretches[-1][1]
        until = end if last is None else agreed.check_end(day_of(last, "last"))
        agreed = work.finished(agreed.shown_as(language, title, noun))
        if until > end:
            agreed = work.next_stretch(agreed, until)
    return work.written(agreed, days_ahead=days_ahead)
