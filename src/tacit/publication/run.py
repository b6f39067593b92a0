"""One run of a publication: each stretch of time counted or randomized, paid for once, and joined to those before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from pathlib import Path

from tacit.collection.curating import CountedEvents, curate_events, refusal_of
from tacit.collection.randomizing import ReadEvents, is_interrupted, randomize_events
from tacit.collection.wire import ReportFile
from tacit.domain import Domain, TimeAxis
from tacit.errors import DataError, Remedy, SettingError
from tacit.events import Events, Reason, names_in, open_events
from tacit.events.badrows import check_loss
from tacit.events.passes import Progress
from tacit.mechanisms.planner import CURATOR, Wanted
from tacit.plan import Plan
from tacit.privacy.cost import Budget
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger import Ledger
from tacit.publication.agreement import Agreement
from tacit.publication.beginning import FRAME, check_stretch
from tacit.publication.preview import Preview
from tacit.publication.publication import Publication
from tacit.publication.writing import Folder
from tacit.release import Release
from tacit.release.release import AGREED
from tacit.release.signing import SigningKey

Look = Callable[[Preview], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Run:
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
    other_ledger: bool
    look: Look | None
    progress: Progress | None
    begin: Callable[[str], None]

    def new_stretch(self, agreed: Agreement, plan: Plan, stretch: tuple[str, str]) -> Agreement:
        """Publish one more stretch of time under a plan; nothing is written before it is agreed on."""
        check_stretch(*stretch, plan.domain.time.step)
        self._check_ledger(agreed)
        paying = "" if self.book is None else self.book.identity
        longer = replace(agreed, stretches=(*agreed.stretches, stretch), ledger=paying)

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
        is_moved = self.other_ledger and self.book is not None and self.book.path.exists()
        return replace(agreed, ledger=self.book.identity) if is_moved and self.book is not None else agreed

    def _plan_file(self, plan: Plan, first: str) -> Path:
        return self.root / (f"plan-{first}.toml" if plan.is_central else "plan.toml")

    def _file(self, plan: Plan, first: str) -> Path:
        return self.root / (f"counts-{first}.parquet" if plan.is_central else f"reports-{first}.reports")

    def _make(self, agreed: Agreement, plan: Plan, stretch: tuple[str, str], agree: Callable[[], None]) -> None:
        """Count or randomize a stretch, unless its file is there and paid for."""
        path, name = self._file(plan, stretch[0]), agreed.data_set
        if path.exists() and not (stretch == agreed.stretches[-1] and self._is_unfinished(plan, name)):
            return
        self._check_ledger(agreed)
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

    def _check_ledger(self, agreed: Agreement) -> None:
        """Refuse to pay from another ledger than before, which does not know what was spent on these events."""
        if self.book is None or self.other_ledger or agreed.ledger in ("", self.book.identity):
            return
        new = ", which is new," if not self.book.path.exists() else ""
        raise SettingError(
            f"the ledger {self.book.path}{new} is not the one that paid for {self.root} so far: it does not know what "
            "was spent on these events. Nothing was spent.",
            remedy=Remedy.GO_ON_UNDER_ANOTHER,
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
        if refusal is not None and refusal.remedy is Remedy.ACCEPT_AGAIN and len(agreed.stretches) > 1:
            refusal = type(refusal)(refusal.problem, remedy=Remedy.PUBLISH_APART)  # the sum cannot join other days
        if self.look is not None:
            bins = self._bins(plan, stretch)
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
                    n_empty=0 if read.last_bin is None else bins.stop - max(bins.start, read.last_bin + 1),
                    n_busy=read.n_busy,
                    prior=self._prior(agreed, plan, stretch),
                    ledger=None if self.book is None else self.book.path,
                    is_new_ledger=self.book is not None and not self.book.path.exists(),
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
        try:
            return folder.written(plan, paths, ledger=None if self.book is None else self.book.path)
        except BaseException as problem:
            problem.add_note("The events are counted and paid for. Run the same again: it goes on at no further cost.")
            raise


def _after(day: str) -> str:
    return (date.fromisoformat(day) + timedelta(days=1)).isoformat()
