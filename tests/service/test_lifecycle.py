"""What a report becomes, as docs/data-lifecycle.md says: any order of sending, closing and being stopped ends there."""

from __future__ import annotations

import shutil
import tempfile
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
import sqlalchemy as sa
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, invariant, multiple, rule

from service_worlds import NOON, message, survey_of
from tacit.collection.wire import ReportFile
from tacit.service import mixing
from tacit.service.commits import Outcome
from tacit.service.refusals import Refused
from tacit.service.schema import RUN, SEEN
from tacit.service.store import Store

SURVEY = survey_of(late=1)


class Lifecycle(RuleBasedStateMachine):
    """A collector that is sent messages, in and out of time and again, that closes periods, and that is stopped."""

    messages = Bundle("messages")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.url = f"sqlite:///{self.folder / 'collector.sqlite'}"
        self.store = Store(self.url)
        self.store.add_survey(SURVEY)
        self.clock, self.n_closed = NOON, 0
        self.counted: dict[bytes, tuple[int, list[bytes]]] = {}

    def teardown(self) -> None:
        self.store.close()
        shutil.rmtree(self.folder)

    @rule(target=messages, day=st.integers(-2, 2), n=st.integers(1, 3))
    def prepare(self, day, n):
        now = SURVEY.now(self.clock)
        return message(SURVEY, [max(0, now + day)] * n)

    @rule(some=st.lists(messages, min_size=1, max_size=4))
    def send(self, some):
        """One message or several in one transaction, new ones and ones that were sent before."""
        added = []
        for data in some:
            try:
                added.append(SURVEY.addition(data, self.clock))
            except Refused:
                continue
        for one, outcome in zip(added, self.store.add(added), strict=True):
            if outcome is Outcome.COUNTED:
                assert one.message_id not in self.counted
                self.counted[one.message_id] = one.periods[0], [row.tobytes() for row in one.reports]
            elif outcome is Outcome.SEEN:
                assert one.message_id in self.counted

    @rule(days=st.integers(-1, 2))
    def let_time_pass(self, days):
        """The clock may jump back, too."""
        self.clock += timedelta(days=days)

    @rule()
    def close(self):
        mixing.close_due(self.store, SURVEY, self.clock, self.folder)
        assert self.store.unmixed(SURVEY) == []

    @rule(step=st.sampled_from(["make_folders", "_check", "ReportWriter"]))
    def close_and_be_stopped(self, step):
        with pytest.MonkeyPatch.context() as stopped:
            stopped.setattr(mixing, step, lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt))
            try:
                mixing.close_due(self.store, SURVEY, self.clock, self.folder)
            except KeyboardInterrupt:
                self.start_again()

    @rule(target=messages)
    def start_again(self):
        self.store.close()
        self.store = Store(self.url)
        return multiple()

    @invariant()
    def the_tally_is_the_sum_of_what_was_counted(self):
        tally = self.store.tally(SURVEY)
        expected = Counter()
        for period, reports in self.counted.values():
            expected[period] += len(reports)
        assert {bin: n for bin, n in enumerate(tally.reports.tolist()) if n} == dict(expected)

    @invariant()
    def every_report_is_in_the_store_or_in_its_file_and_every_id_is_known(self):
        with self.store._reading() as connection:
            seen = {bytes(one) for one in connection.execute(sa.select(SEEN.c.message)).scalars()}
            runs = connection.execute(sa.select(RUN.c.bin, RUN.c.reports)).all()
        assert seen == self.counted.keys()
        width = SURVEY.form.report_bytes
        kept = Counter(
            (row.bin, row.reports[at : at + width]) for row in runs for at in range(0, len(row.reports), width)
        )
        waiting = set(self.store.unmixed(SURVEY))
        for path in (self.folder / SURVEY.id).glob("*.reports"):
            if int(path.stem) in waiting:
                continue  # written, and not yet known to be safe: the rows are still there
            for bins, lengths, rows in ReportFile.open(path).batches():
                assert len(bins) == 1
                kept.update((int(bins[0]), row.tobytes()) for row in rows)
                assert lengths.sum() == len(rows)
        assert kept == Counter((period, one) for period, reports in self.counted.values() for one in reports)

    @invariant()
    def a_closed_period_is_never_opened(self):
        n_closed = self.store.n_closed(SURVEY)
        assert n_closed >= self.n_closed
        self.n_closed = n_closed


TestLifecycle = pytest.mark.slow(Lifecycle.TestCase)
TestLifecycle.settings = settings(max_examples=15, stateful_step_count=25, deadline=None)
