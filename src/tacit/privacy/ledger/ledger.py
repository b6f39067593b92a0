"""The ledger: a durable record of what was spent on which data set by which release.

Randomizing the same events twice adds up, and so do two releases of their counts. The ledger knows events by the name
their owner declares, and by their content, day by day: a renamed, reordered or converted copy is noticed, and its owner
says whether the two names are of the same events. It spends before any noise is drawn, and refuses rather than
overspends. It holds keyed digests, never events; the key is in the ledger itself, so guard the file like the events.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from tacit._base.rounding import epsilon_at_most
from tacit._base.validation import check_positive
from tacit.errors import AlreadyRandomized, AlreadyReleased, DataError, Remedy, SettingError
from tacit.privacy.cost import Budget, Cost
from tacit.privacy.following import SELECTION
from tacit.privacy.guarantee import Guarantee
from tacit.privacy.ledger.budgets import agreed_budgets, budgets, check_admitted, declare_budget, room_in
from tacit.privacy.ledger.entries import (
    NO_REPORT,
    LedgerNoise,
    Randomization,
    Remaining,
    SpendEntry,
    entries_at,
    entries_named,
    finish_spend,
    head_at,
    keyed,
    note_bins,
    now,
    of_same_events,
    randomizations,
    secret_of,
    spend_to_resume,
    spends,
    unit_of,
    wipe_secret,
    write_randomization,
    write_spend,
)
from tacit.privacy.ledger.file import LedgerFile
from tacit.privacy.ledger.past import Past, Priced, check_may_follow, others_than
from tacit.privacy.ledger.touched import NEW, check_declared, check_zone, declare_names
from tacit.privacy.spend import SimulatedNoise, Spend, sealed
from tacit.privacy.unit import Unit

_EVENT: Final = Unit("event")


class Ledger:
    """The record in one SQLite file; safe to use from several processes at once.

    The file is made by the first entry: looking at a ledger and dry runs leave nothing behind.
    """

    def __init__(self, path: str | Path) -> None:
        self._file: Final = LedgerFile(path)

    def __repr__(self) -> str:
        return f"Ledger({str(self.path)!r})"

    @property
    def path(self) -> Path:
        return self._file.path

    @property
    def key(self) -> bytes:
        """The key of the digests by which events are known."""
        return self._file.key

    @property
    def is_new(self) -> bool:
        """Whether this object made the file: what was spent before is unknown."""
        return self._file.is_new

    @property
    def identity(self) -> str:
        """What tells this ledger from others, wherever its file lies; it tells nothing of its entries."""
        return self._file.identity

    @property
    def head(self) -> str:
        """The head of the chain as this object saw it last; empty before the first entry.

        It stands for all entries up to now, and tells nothing of them: it may be published.
        """
        return self._file.head

    @property
    def heads(self) -> tuple[str, ...]:
        """The head as files carry it: none before the first entry."""
        return (self.head,) if self.head else ()

    def verify(self, heads: Iterable[str]) -> str:
        """Refuse a ledger that does not hold these heads, and return its own: it is older than they are, or another."""
        return self._file.verify(heads)

    def spend(
        self,
        *,
        data_set: str,
        release: str,
        cost: Cost,
        days: Mapping[str, bytes] | None,
        budget: Budget | Cost | None = None,
        unit: Unit = _EVENT,
        input_digest: bytes = b"",
        spans_lines: bool = False,
        zone: str = "",
        dry_run: bool = False,
    ) -> Spend:
        """Write down the price of a release before its noise is drawn, or refuse what the budget does not hold.

        ``release`` names everything that decides the numbers but the events (a plan's fingerprint). ``days`` holds a
        keyed digest of the events of every day the release covers, empty for a day without events; ``None`` is the
        whole data set for ever. Releases that touch the same day add up, those of other days do not; the day that cost
        most counts. For persons those that touch the same window add up. ``budget`` declares the budget of a data set
        that has none; without any the first release is all there may be. ``unit`` is what the cost is for: a price for
        a person is refused in windows in which single events were protected before, which bounds nothing for it
        (:mod:`tacit.privacy.following`). ``input_digest`` stands for the exact counts: the noise
        is drawn for these only, and resumed only with the same. ``spans_lines`` notes that fields of the source may
        span lines, a condition of every statement from now on. ``zone`` is the time zone that the days are those of: a
        data set has one. A dry run returns the same, writes nothing and draws no
        noise.
        """
        _check_names(data_set=data_set, release=release)
        if cost == Cost():
            raise SettingError("a release must cost something. Give Cost.pure(epsilon) or Cost.zcdp(rho).")
        if days is not None and not days:
            raise SettingError("days must hold at least one day; got none. Give the days covered, or None for all.")
        identifier = os.urandom(8).hex()
        with self._file.snapshot() if dry_run else self._file.transaction() as connection:
            check_declared(connection, data_set, days)
            check_zone(connection, data_set, zone)
            own = Priced.of_release(data_set, cost, unit, is_counter=days is None, spans_lines=spans_lines)
            past = Past.of(connection, own)
            pasts = past.touched(connection, data_set, days, zone=zone)
            check_may_follow(past, pasts)
            given = Budget.of(budget) if isinstance(budget, Cost) else budget
            binding = agreed_budgets(connection, data_set, pasts, cost, given)
            check_admitted(connection, past, pasts, binding, data_set=data_set, release=release)
            spend = sealed(
                identifier=identifier,
                data_set=data_set,
                release=release,
                cost=cost,
                unit=unit,
                prior=past.guarantee(one.without(NEW) for one in pasts),
                days=None if days is None else (min(days), max(days)),
                is_forever=days is None,
                spans_lines=spans_lines,
                what_remains=str(room_in(past, pasts, binding)),
                source=None if dry_run else LedgerNoise(self._file, identifier),
            )
            write_spend(connection, spend, days, self._keyed(input_digest), zone)
        return spend

    def finish(self, spend: Spend) -> None:
        """Wipe the key of a spend whose release is written: its noise can never be drawn again."""
        if isinstance(spend.source, SimulatedNoise):
            spend.source.finish()
            return
        if spend.is_dry_run:
            raise SettingError("a dry run has nothing to finish. Spend for real first.")
        with self._file.transaction() as connection:
            row = connection.execute("SELECT id FROM spend WHERE identifier = ?", (spend.identifier,)).fetchone()
            if row is None:
                raise SettingError(f"{self.path} holds no spend {spend.identifier}. Finish it in its own ledger.")
            finish_spend(connection, *row)

    def resume(
        self,
        identifier: str | None = None,
        *,
        days: Mapping[str, bytes] | None = None,
        data_set: str | None = None,
        release: str | None = None,
        cost: Cost | None = None,
        input_digest: bytes = b"",
    ) -> Spend:
        """Take up a spend whose release was never written, with the same randomness and at no further cost.

        It is found by its identifier, or by its data set and release. Only the same events may meet the same noise:
        other ``days`` are refused, another ``input_digest`` than was given to :meth:`spend` or none where one was, and
        another ``cost`` if one is given.
        """
        with self._file.snapshot() as connection:
            row = spend_to_resume(connection, identifier, data_set, release, days, self._keyed(input_digest))
            prior = others_than(connection, (True, row["id"]))
            key = connection.execute("SELECT key FROM spend_key WHERE spend = ?", (row["id"],)).fetchone()
        found = Cost(row["epsilon"], row["rho"])
        if key is None:
            raise AlreadyReleased(
                f"release {row['release']} of {row['data_set']} was finished at {row['finished_at']}: its key is "
                "wiped and its noise cannot be drawn again. Use the release that was written, or spend again."
            )
        if cost is not None and cost != found:
            raise SettingError(
                f"release {row['release']} of {row['data_set']} was paid with {found}, not {cost}. "
                "Resume it with the settings it had; other noise needs a new spend."
            )
        return sealed(
            identifier=row["identifier"],
            data_set=row["data_set"],
            release=row["release"],
            cost=found,
            unit=unit_of(row["unit"], row["most"], row["most_per_cell"], row["window"]),
            prior=prior,
            days=None if days is None else (min(days), max(days)),
            is_forever=bool(row["is_forever"]),
            spans_lines=bool(row["spans_lines"]),
            what_remains="",
            source=LedgerNoise(self._file, row["identifier"]),
        )

    def resume_or_spend(
        self,
        *,
        data_set: str,
        release: str,
        cost: Cost,
        days: Mapping[str, bytes] | None,
        input_digest: bytes,
        **settings: Any,
    ) -> tuple[Spend, bool]:
        """Take up the spend of an interrupted release of these very events, or make one; says whether it was taken up.

        What is unfinished may be a release of other events: this one is then paid for, too. ``settings`` are the others
        of :meth:`spend`.
        """
        if self.is_unfinished(data_set, release):
            with suppress(DataError):
                taken = self.resume(data_set=data_set, release=release, cost=cost, days=days, input_digest=input_digest)
                return taken, True
        asked: dict[str, Any] = {
            "data_set": data_set,
            "release": release,
            "cost": cost,
            "days": days,
            "input_digest": input_digest,
        }
        return self.spend(**asked, **settings), False

    def can_resume(
        self, *, data_set: str, release: str, cost: Cost, days: Mapping[str, bytes] | None, input_digest: bytes
    ) -> bool:
        """Return whether an interrupted release of these very events would be taken up, at no further cost."""
        if self.is_unfinished(data_set, release):
            with suppress(DataError):
                self.resume(data_set=data_set, release=release, cost=cost, days=days, input_digest=input_digest)
                return True
        return False

    def is_unfinished(self, data_set: str, release: str) -> bool:
        """Return whether a spend for this release has a key that is not wiped."""
        return any(
            isinstance(entry, SpendEntry)
            and not entry.is_finished
            and (entry.data_set, entry.release) == (data_set, release)
            for entry in self.history()
        )

    def extend(self, identifier: str, days: Mapping[str, bytes]) -> None:
        """Note the events that a release for ever is about to receive, so that they are known by content too.

        They are paid already under the release's own name. What was spent on them under names declared the same is
        added, and days on which that exceeds a budget are refused. Noting the same again is free.
        """
        with self._file.transaction() as connection:
            row = connection.execute(
                "SELECT id, data_set, release, is_forever FROM spend WHERE identifier = ?", (identifier,)
            ).fetchone()
            if row is None or not row[3]:
                raise SettingError(f"{self.path} holds no counter {identifier}. Use the ledger that paid for it.")
            number, data_set, release, _ = row
            check_declared(connection, data_set, days)
            past = Past.of(connection)
            pasts = past.touched(connection, data_set, days)
            check_may_follow(past, pasts, (True, number))
            check_admitted(connection, past, pasts, budgets(connection), data_set=data_set, release=release)
            connection.executemany(
                "INSERT INTO spend_day SELECT :spend, :day, :digest WHERE NOT EXISTS "
                "(SELECT 1 FROM spend_day WHERE day = :day AND spend = :spend AND digest = :digest)",
                ({"spend": number, "day": day, "digest": digest} for day, digest in days.items()),
            )

    def note_bins(
        self, identifier: str, bins: Mapping[int, bytes], *, called: Callable[[int], str] = "bin {}".format
    ) -> None:
        """Note keyed digests of what a release for ever is about to count, and wipe its key: it is written by then.

        A bin that was noted with another digest is refused: its noise would show the difference. Noting the same again
        is free, and noting none only wipes the key. ``called`` names a bin for people.
        """
        with self._file.transaction() as connection:
            note_bins(connection, identifier, bins, called)

    def set_budget(
        self,
        data_set: str,
        budget: Budget | Cost | None = None,
        *,
        epsilon: float | None = None,
        rho: float | None = None,
        delta: float = 0.0,
    ) -> Budget:
        """Declare the most that all releases of the same events of this data set may cost together."""
        _check_names(data_set=data_set)
        if (budget is None) + (epsilon is None) + (rho is None) != 2:
            raise SettingError("a budget is either epsilon (with or without delta) or rho. Give exactly one.")
        declared: Budget
        if isinstance(budget, Budget):
            declared = budget
        elif isinstance(budget, Cost):
            declared = Budget.of(budget, delta=delta)
        else:
            declared = Budget(epsilon or 0.0, rho or 0.0, delta)
        with self._file.transaction() as connection:
            declare_budget(connection, data_set, declared, is_declared=True)
        return declared

    def remaining(self, data_set: str, days: Mapping[str, bytes] | None = None) -> Remaining:
        """Return what is spent on these days (on any day, if none are given), and what would fit."""
        with self._file.snapshot() as connection:
            past = Past.of(connection)
            pasts = past.touched(connection, data_set, days)
            known = budgets(connection)
        binding = {name: known[name] for one in pasts for name in sorted(one.names & known.keys())}
        own = known.get(data_set) or next(iter(binding.values()), (None, False))
        return Remaining(
            data_set,
            budget=own[0],
            is_declared=own[1],
            spent=Cost.parallel(*(Cost.sum(bill.prices) for bill in past.bills(pasts))),
            guarantee=past.guarantee(pasts),
            room=room_in(past, pasts, binding),
        )

    def holds(self, heads: Iterable[str]) -> bool:
        """Return whether this ledger had all of these heads."""
        return self._file.holds(heads)

    def others(self, release: str, data_set: str | None = None, *, heads: Iterable[str] = ()) -> Guarantee:
        """Return what all other entries promise about the events of a release, as the ledger stands now.

        ``release`` is what the entry was written under: a plan's fingerprint, or a counter's name. The ``heads`` that a
        file carries tell which entries it was made of: one spend, or reports of any data sets. Without them
        ``data_set`` tells, where several have such an entry. The price of the entries themselves is not in it.
        """
        with self._file.snapshot() as connection:
            named, shown = entries_named(connection, release), entries_at(connection, heads)
            # a statement that was issued again carries later heads too, which are not those of its one spend
            made_of = sorted((one for one in named if one[1] in shown), key=lambda one: shown[one[1]])
            found = (made_of[:1] if made_of[0][1][0] else made_of) if made_of else named
            names = sorted({name for name, _ in found})
            if data_set is not None and data_set not in names:
                raise SettingError(
                    f"data_set must be that of the release, {', '.join(names) or 'of which there is none'}; got "
                    f"data_set={data_set!r}. Leave it out, or use the ledger the release was paid from."
                )
            if not names:
                raise SettingError(f"{self.path} holds no entry of this release. Use the ledger it was paid from.")
            if not made_of and data_set is None and len(names) > 1:
                raise SettingError(
                    f"releases of {', '.join(names)} were made under the same plan.", remedy=Remedy.NAME_DATA_SET
                )
            entries = [entry for name, entry in found if made_of or data_set in (None, name)]
            return Guarantee.parallel(others_than(connection, entry) for entry in entries)

    def declare_same(self, data_set: str, other: str) -> None:
        """Write down that two names are of the same events: what was spent under one counts under the other."""
        self._declare(data_set, other, is_same=True)

    def declare_distinct(self, data_set: str, other: str) -> None:
        """Write down that two names are of different events, although some days of them look alike."""
        self._declare(data_set, other, is_same=False)

    def _declare(self, data_set: str, other: str, *, is_same: bool) -> None:
        _check_names(data_set=data_set, other=other)
        if data_set == other:
            raise SettingError(f"two names must be different; got {data_set} twice. Name the other data set.")
        with self._file.transaction() as connection:
            declare_names(connection, data_set, other, is_same=is_same)

    def _keyed(self, digest: bytes) -> bytes:
        """Return a digest of exact counts as it stands in the ledger; empty where none was given."""
        return keyed(self._file.key, digest) if digest else b""

    def data_sets(self) -> list[str]:
        """Return the names of all data sets with an entry or a budget."""
        with self._file.snapshot() as connection:
            rows = connection.execute(
                "SELECT data_set FROM randomization UNION SELECT data_set FROM spend UNION SELECT data_set FROM budget"
            ).fetchall()
        return sorted(name for (name,) in rows)

    def record_randomization(
        self,
        *,
        data_set: str,
        plan_id: str,
        private: tuple[str, ...],
        epsilon: float,
        days: Mapping[str, bytes],
        n_events: int,
        selection: Mapping[str, str],
        silent: Iterable[str] = (),
        again: bool = False,
        counts_digest: bytes = b"",
        spans_lines: bool = False,
        tells_kinds: bool = False,
        zone: str = "",
        dry_run: bool = False,
    ) -> Randomization:
        """Record a randomization before its noise is drawn, or refuse one of events that were randomized already.

        ``days`` holds a keyed digest of each day's events. A day counts as known when an entry of the same data set, or
        of one declared to be the same, touched it before. With ``again`` the repetition is allowed and the sum of the
        epsilons is recorded and returned; but not if another coordinate was ``private`` before, because what one run
        hides the other makes public, and no sum of epsilons covers that.

        A report's epsilon is for replacing an event, which is removing one and adding another: earlier releases of
        the counts enter the sum twice. Gaussian noise has no pure epsilon to add. A declared budget binds here too.

        ``tells_kinds`` says that the plan has kinds, so that the kind is hidden or public; without kinds it is neither.

        ``selection`` has a digest of the public settings that decide whether a row sends a report, for the row as such
        and for each coordinate (:meth:`tacit.events.Events.selection`). Another run of the same days must have counted
        the same, as far as hidden values decide it: of an event that one run counts and the other does not, everybody
        would see that.

        ``silent`` are days on which the reports show in public that there was no event: nothing hides one there.

        ``counts_digest`` stands for the exact counts. With one, the ledger keeps a secret from which the reports of
        these counts are drawn (:meth:`report_secret`) until they are written (:meth:`finish_randomization`).

        A dry run refuses the same, and writes nothing.
        """
        check_positive(epsilon=epsilon)
        if set(selection) != {*SELECTION} or not all(selection.values()):
            raise SettingError(f"selection must have a digest for each of {', '.join(SELECTION)}.")
        quiet = dict.fromkeys(silent, NO_REPORT)
        with self._file.snapshot() if dry_run else self._file.transaction() as connection:
            check_declared(connection, data_set, days)
            check_zone(connection, data_set, zone)
            own = Guarantee.of_reports(epsilon, private, tells_kinds=tells_kinds, spans_lines=spans_lines)
            past = Past.of(connection, Priced(data_set, own, selection=tuple(selection[part] for part in SELECTION)))
            check_may_follow(
                past, [one.of_reports for one in past.touched(connection, data_set, quiet | dict(days), zone=zone)]
            )
            everything = past.touched(connection, data_set, days, zone=zone)
            pasts = [one.without(NEW) for one in everything if one.is_of_days and one.is_known]
            check_may_follow(past, pasts)
            # with reports that hide the same there is a price, and without reports too
            replacement = past.guarantee(pasts).replacement or Cost()
            prior = replacement.epsilon
            if pasts and not again:
                done = "randomized or released" if any(one.is_released for one in pasts) else "randomized"
                is_open = any(
                    not entry.is_finished and (entry.data_set, entry.plan_id) == (data_set, plan_id)
                    for entry in randomizations(connection)
                )
                use = (
                    "A run under this plan was interrupted, or is still running. With the events as they were "
                    "then, the same call goes on at no cost."
                    if is_open
                    else "Use the reports you have."
                )
                raise AlreadyRandomized(
                    f"{sum(one.n_days for one in pasts)} of {len(days)} days of these events were {done} before, at "
                    f"epsilon {epsilon_at_most(prior)} in all. Doing it again would raise that to "
                    f"{epsilon_at_most(prior + epsilon)}. {use}",
                    remedy=Remedy.ACCEPT_AGAIN,
                )
            declared = {name: budget for name, budget in budgets(connection).items() if budget[1]}
            check_admitted(connection, past, everything, declared, data_set=data_set, release=plan_id)
            entry = Randomization(data_set, plan_id, epsilon, prior, n_events, now(), is_finished=not counts_digest)
            return write_randomization(
                connection, entry, own, quiet | dict(days), self._keyed(counts_digest), zone, _written(selection)
            )

    def same_randomization(
        self,
        *,
        data_set: str,
        plan_id: str,
        days: Mapping[str, bytes],
        counts_digest: bytes,
        selection: Mapping[str, str],
        is_finished: bool = False,
    ) -> Randomization | None:
        """Return the entry of these very events, if there is one: paid for and not written, or finished."""
        with self._file.snapshot() as connection:
            counts = keyed(self._file.key, counts_digest)
            return of_same_events(
                connection, data_set, plan_id, days, counts, _written(selection), is_finished=is_finished
            )

    def prior_of(self, entry: Randomization) -> Guarantee:
        """Return what all other entries promise about the events of a randomization, as the ledger stands now."""
        with self._file.snapshot() as connection:
            return others_than(connection, (False, entry.number))

    def report_secret(self, entry: Randomization) -> bytes:
        """Return the secret of an entry's reports, the same until they are written and wiped then."""
        with self._file.snapshot() as connection:
            return secret_of(connection, entry)

    def head_of(self, entry: Randomization) -> str:
        """Return the head of the chain when an entry was written: the same whenever its reports are drawn."""
        with self._file.snapshot() as connection:
            return head_at(connection, entry)

    def finish_randomization(self, entry: Randomization) -> None:
        """Wipe the secret of reports that are written: they can never be drawn again."""
        with self._file.transaction() as connection:
            wipe_secret(connection, entry)

    def history(self) -> list[Randomization | SpendEntry]:
        """Return all entries, oldest first."""
        with self._file.snapshot() as connection:
            entries: list[Randomization | SpendEntry] = [*randomizations(connection), *spends(connection)]
        return sorted(entries, key=lambda entry: entry.at)


def _written(selection: Mapping[str, str]) -> str:
    return json.dumps(dict(selection), sort_keys=True)


def _check_names(**names: str) -> None:
    for setting, name in names.items():
        if not (isinstance(name, str) and name.strip()):
            raise SettingError(f"{setting} must be a lasting name; got {setting}={name!r}. Give it one.")
