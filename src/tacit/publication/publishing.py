"""From events to a publication in one call: plan, reports or counts, release, page, forecast and statement.

A publication lives in a folder of its own and goes on in stretches of time: run again on a file that has grown, it
publishes the new days and continues the release. What was agreed on stands in ``publication.toml``; it is written after
whoever publishes has seen what it costs, and before anything is paid. A run that was stopped at any point is taken up
by the same call: the ledger knows what is paid, and files that are there are not made again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path
from typing import Any

from tacit._base.languages import ENGLISH, LANGUAGES
from tacit._base.validation import check_one_of
from tacit.collection.curating import CountedEvents, curate_events, refusal_of
from tacit.collection.randomizing import ReadEvents, is_interrupted, randomize_events
from tacit.collection.wire import ReportFile
from tacit.domain import Domain, Gazetteer, KindAxis, PlaceAxis, TimeAxis
from tacit.domain.step import When
from tacit.errors import DataError, Remedy, SettingError
from tacit.events import Events, Reason, SourceDescription, names_in, open_events
from tacit.events.badrows import check_loss
from tacit.events.passes import Progress
from tacit.mechanisms.planner import CURATOR, Wanted
from tacit.pages.page import plural_of
from tacit.plan import Plan
from tacit.privacy.budget import Budget
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger, default_ledger
from tacit.privacy.unit import Unit
from tacit.publication.agreement import AGREED, Agreement, check_same, counted_in
from tacit.publication.beginning import (
    FRAME,
    Beginning,
    check_stretch,
    day_of,
    described_as,
    kinds_of,
    places_of,
)
from tacit.publication.preview import Preview
from tacit.publication.publication import Publication
from tacit.publication.writing import Folder, check_folder, check_key, folder_name
from tacit.release import Release
from tacit.release.signing import SigningKey, signing_key

Look = Callable[[Preview], None]


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
    them. ``places`` are a list or a table of what everybody may know; without a column of places events are counted in
    all. The ``first`` and the ``last`` day become public, too, and so does the time ``zone``.

    With ``trust="curator"`` whoever runs this is trusted to count exactly, and noise is added; with ``trust="nobody"``
    every event is randomized before it is counted. ``epsilon`` limits what that gives away; or it follows from
    ``target``, the error that single counts may have: ``"40"`` events, or ``"5%"`` of ``expected_events``.

    Pages and statement are in the ``language`` that was named, "en" or "fr", or in which the publication began.

    The same call after an interruption goes on at no further cost; with a later ``last`` on events that have grown it
    publishes the new days, and the release goes on; with nothing new it leaves every file as it is. Events of which
    there are reports already are refused, unless their sum is accepted with ``again``. ``look`` is shown a
    :class:`Preview` before anything is paid, and may refuse by raising; ``begin`` is told every step as it begins,
    ``progress`` how much of the events is read. A ``seed`` makes a simulation, which protects nobody. With
    ``sign_with``, a private key or its file, the release is signed; one that was signed stays so.
    """
    work = _Publishing(
        root=Path(folder if folder is not None else folder_name(data_set)),
        events=Path(events) if isinstance(events, str) else events,
        polygons=polygons,
        book=None if seed is not None else Ledger(ledger or default_ledger()),
        seed=seed,
        key=signing_key(sign_with),
        budget=budget,
        accept_loss=accept_loss,
        again=again,
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


@dataclass(frozen=True, slots=True, kw_only=True)
class _Publishing:
    """One run: the events, the folder, who pays, and who looks before."""

    root: Path
    events: object
    polygons: str | Path | None
    book: Ledger | None
    seed: int | None
    key: SigningKey | None
    budget: float | None
    accept_loss: bool
    again: bool
    look: Look | None
    progress: Progress | None
    begin: Callable[[str], None]

    def new_stretch(self, agreed: Agreement, plan: Plan, stretch: tuple[str, str]) -> Agreement:
        """Publish one more stretch of time under a plan; nothing is written before it is agreed on."""
        check_stretch(*stretch, plan.domain.time.step)
        longer = replace(agreed, stretches=(*agreed.stretches, stretch))

        def agree() -> None:
            self.root.mkdir(parents=True, exist_ok=True)
            plan.write(self._plan_file(plan, stretch[0]))
            longer.write(self.root)

        try:
            self._make(longer, plan, stretch, agree)
        except BaseException:
            if not (self._file(plan, stretch[0]).exists() or self._is_unfinished(plan, agreed.data_set)):
                self._forget(agreed, plan, stretch[0])  # nothing was paid: another call may agree on something else
            raise
        return longer

    def _forget(self, agreed: Agreement, plan: Plan, first: str) -> None:
        if agreed.stretches:
            agreed.write(self.root)
        else:
            (self.root / AGREED).unlink(missing_ok=True)
        if plan.is_central or not agreed.stretches:
            self._plan_file(plan, first).unlink(missing_ok=True)

    def next_stretch(self, agreed: Agreement, last: str) -> Agreement:
        """Publish the days up to ``last``, as privately as those before."""
        before = agreed.plan(self.root)
        stretch = (_after(agreed.stretches[-1][1]), last)
        if not before.is_central:
            if "time" in before.private:
                raise SettingError("reports that hide the time are of one stretch. Publish later days apart.")
            return self.new_stretch(agreed, before, stretch)
        old = before.domain
        time = TimeAxis.between(*stretch, step=old.time.step, zone=old.time.zone)
        wanted = Wanted(
            Domain(time, old.place, old.kind),
            CURATOR,
            before.private,
            before.delta or None,
            before.rho or None,
            before.protected_unit,
        )
        plan, _ = wanted.plan(None if before.rho else before.epsilon, name=before.name)
        return self.new_stretch(agreed, plan, stretch)

    def finished(self, agreed: Agreement) -> Agreement:
        """Take up what an interrupted run left: stretches that were agreed on and not made."""
        for stretch in agreed.stretches:
            self._make(agreed, agreed.plan(self.root, stretch), stretch, lambda: None)
        return agreed

    def _plan_file(self, plan: Plan, first: str) -> Path:
        return self.root / (f"plan-{first}.toml" if plan.is_central else "plan.toml")

    def _file(self, plan: Plan, first: str) -> Path:
        return self.root / (f"counts-{first}.parquet" if plan.is_central else f"reports-{first}.reports")

    def _make(self, agreed: Agreement, plan: Plan, stretch: tuple[str, str], agree: Callable[[], None]) -> None:
        """Count or randomize a stretch, unless its file is there and paid for."""
        path, name = self._file(plan, stretch[0]), agreed.data_set
        if path.exists() and not (stretch == agreed.stretches[-1] and self._is_unfinished(plan, name)):
            return
        self.begin(f"Counting the events of {stretch[0]} to {stretch[1]}")
        events = self._opened(agreed, plan)
        if plan.is_central:
            self._count(agreed, plan, stretch, events, path, agree)
            return
        self._check_join(agreed, plan, stretch)
        bins = self._bins(plan, stretch)

        def seen(read: ReadEvents) -> None:
            self._show(agreed, plan, stretch, read, events)
            agree()

        self.root.mkdir(parents=True, exist_ok=True)
        randomize_events(
            events,
            plan,
            path,
            ledger=self.book,
            data_set=name,
            seed=self.seed,
            again=self.again,
            only=bins,
            overwrite=False,
            progress=self.progress,
            look=seen,
        )

    def _check_join(self, agreed: Agreement, plan: Plan, stretch: tuple[str, str]) -> None:
        """Refuse, before anything is paid, reports that could not be counted together with those of other stretches."""
        others = [self._file(plan, one[0]) for one in agreed.stretches if one != stretch]
        there = [path for path in others if path.exists()]
        if there and (self.again or any(ReportFile.open(one, check=False).provenance.prior_epsilon for one in there)):
            raise SettingError(
                "reports of days that were randomized before are counted on their own: they cannot join other days of "
                "a publication. Nothing was spent.",
                remedy=Remedy.PUBLISH_ELSEWHERE,
            )

    def _is_unfinished(self, plan: Plan, data_set: str) -> bool:
        """Whether the ledger still holds the key of a run, so that its file may not be the last word."""
        if self.book is None:
            return False
        if plan.is_central:
            return self.book.is_unfinished(data_set, plan.fingerprint)
        return is_interrupted(self.book, data_set, plan)

    def _count(
        self,
        agreed: Agreement,
        plan: Plan,
        stretch: tuple[str, str],
        events: Events,
        path: Path,
        agree: Callable[[], None],
    ) -> None:
        def seen(counted: CountedEvents) -> None:
            self._show(agreed, plan, stretch, counted, events)
            agree()

        allowed = None if self.budget is None else Budget(epsilon=self.budget, delta=plan.delta)
        done = curate_events(
            events,
            plan,
            ledger=self.book,
            data_set=agreed.data_set,
            budget=allowed,
            seed=self.seed,
            progress=self.progress,
            look=seen,
        )
        Release.of(plan, done.estimate).write(path)
        if self.book is not None:
            self.book.finish(done.spend)

    def _show(
        self, agreed: Agreement, plan: Plan, stretch: tuple[str, str], read: ReadEvents | CountedEvents, events: Events
    ) -> None:
        """Show what is about to be published and why it would be refused, and refuse it then."""
        refusal = refusal_of(lambda: self._check_rows(stretch, read)) or read.refusal
        if self.look is not None:
            unknown: tuple[tuple[str, int], ...] = ()
            if Reason.UNKNOWN_PLACE in read.bad_rows.counts and agreed.source.place is not None:
                unknown = self._unknown(agreed, plan, events)
            self.look(
                Preview(
                    plan=plan,
                    first=stretch[0],
                    last=stretch[1],
                    n_events=read.n_events,
                    n_rows=read.n_rows,
                    n_left_out=read.n_left_out,
                    bad_rows=read.bad_rows,
                    unknown=unknown,
                    n_empty=0 if read.last_bin is None else self._bins(plan, stretch).stop - 1 - read.last_bin,
                    n_busy=read.n_busy,
                    prior=self._prior(agreed, plan, stretch),
                    ledger=None if self.book is None else self.book.path,
                    is_new_ledger=self.book is not None and self.book.is_new,
                    refusal=refusal,
                )
            )
        if refusal is not None:
            raise refusal

    def _check_rows(self, stretch: tuple[str, str], read: ReadEvents | CountedEvents) -> None:
        """Refuse what loses too many rows, and what has no event."""
        check_loss(read, is_accepted=self.accept_loss)
        if not read.n_events and not self.accept_loss:
            found = f"no event lies between {stretch[0]} and {stretch[1]} in a known place"
            raise DataError(
                f"{found if read.n_rows else 'the events have no row'}. Nothing was spent.", remedy=Remedy.ACCEPT_LOSS
            )

    def _bins(self, plan: Plan, stretch: tuple[str, str]) -> slice:
        return plan.domain.time.range(*stretch)

    def _prior(self, agreed: Agreement, plan: Plan, stretch: tuple[str, str]) -> Guarantee:
        """Return what the ledger knows of these days beside this stretch."""
        if self.book is None or self._is_unfinished(plan, agreed.data_set):
            return Guarantee()
        first, last = map(date.fromisoformat, stretch)
        days = ((first + timedelta(days=number)).isoformat() for number in range((last - first).days + 1))
        return self.book.remaining(agreed.data_set, dict.fromkeys(days, b"")).guarantee

    def _unknown(self, agreed: Agreement, plan: Plan, events: Events) -> tuple[tuple[str, int], ...]:
        assert agreed.source.place is not None
        names = names_in(self.events, column=agreed.source.place, options=events.options)
        cells = plan.domain.place.match(list(names))
        return tuple((name, n) for (name, n), cell in zip(names.items(), cells, strict=True) if cell == -1)

    def _opened(self, agreed: Agreement, plan: Plan) -> Events:
        columns = replace(agreed.source.columns, where=agreed.where)
        if not plan.protected_unit.is_of_a_person:
            columns = replace(columns, user=None)
        options = replace(agreed.source.options(), polygons=self.polygons)
        if agreed.source.format == FRAME:
            options = replace(options, format=None)
        return open_events(self.events, columns=columns, domain=plan.domain, options=options)

    def written(self, agreed: Agreement, *, days_ahead: int) -> Publication:
        """Write release, page, statement and forecast of all stretches together, unless they are there already."""
        plan = agreed.plan(self.root)
        paths = [self._file(agreed.plan(self.root, stretch), stretch[0]) for stretch in agreed.stretches]
        folder = Folder(self.root, agreed, self.polygons, days_ahead, self.key, self.begin)
        return folder.written(plan, paths, ledger=None if self.book is None else self.book.path)


def _after(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()
