"""From events to exact counts: what a central mechanism is given, and what the ledger must know of it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final

import numpy as np

from tacit.counts.tally import ExactTally
from tacit.domain import Domain
from tacit.errors import SettingError
from tacit.events import BadRowSummary, DayDigest, Events, TableNotes
from tacit.events.reader import Progress
from tacit.mechanisms.central.tree import LARGEST_TOTAL
from tacit.privacy.ledger import Ledger
from tacit.privacy.unit import Unit

EVENT: Final = Unit("event")
_KEY_BYTES: Final = 32  # as long as the ledger's own key


def digest_key(ledger: Ledger | None) -> bytes:
    """Return the key of the digests by which a ledger knows events; zeros for a simulation, which it never sees."""
    return bytes(_KEY_BYTES) if ledger is None else ledger.key


@dataclass(frozen=True, slots=True, eq=False)
class CountedEvents:
    """Exact counts, the keyed digest of each day for the ledger, and what became of the rows.

    All of it is for the curator: the mechanism sees the tally, the ledger the days, the screen the rest. ``n_events``
    were counted; ``n_beyond`` more, in ``n_rows_beyond`` rows, lay beyond the bound on a user's day. ``n_full_cells``
    cells held more events than are counted in one. ``table`` tells of repeated rows and of periods without a row, in a
    table of counts.
    """

    domain: Domain
    tally: ExactTally
    days: Mapping[str, bytes] = field(repr=False)
    n_events: int = field(repr=False)
    n_beyond: int = field(repr=False)
    n_rows_beyond: int = field(repr=False)
    n_full_cells: int = field(repr=False)
    n_rows: int
    n_left_out: int
    bad_rows: BadRowSummary
    table: TableNotes | None = field(repr=False)


def count_events(events: Events, *, key: bytes, unit: Unit = EVENT, progress: Progress | None = None) -> CountedEvents:
    """Count the events of every cell in one pass, with the digests by which the ledger knows them.

    ``key`` is the ledger's; the digests are those of randomization, so that either knows what the other did. Where the
    unit is a user's day, its first ``unit.most`` events are counted (:mod:`tacit.events.bounding`); the column of users
    must then be named, and only then: to name users and protect events would promise more than is kept. The time axis
    must have an end, for the data may not decide which cells are published.

    Nothing is refused because of what rows hold (unless strict reading was asked for): a row that cannot be counted is
    set aside by itself, no row at all counts as zeros, and a cell counts at most ``2**53 // n_cells`` events, so that
    all cells together are exact as floats. Whether a release exists tells nothing, then, of any row.

    >>> import pyarrow as pa
    >>> from tacit.domain import PlaceAxis, TimeAxis
    >>> from tacit.events import EventColumns, ReadOptions, open_events
    >>> table = pa.table({"day": ["2018-01-01", "2018-01-02"], "town": ["South", "South"]})
    >>> domain = Domain(TimeAxis.between("2018-01-01", "2018-01-02"), PlaceAxis.of(["North", "South"]))
    >>> columns, written = EventColumns(time="day", place="town"), ReadOptions(date_format="year-first")
    >>> events = open_events(table, columns=columns, domain=domain, options=written)
    >>> counted = count_events(events, key=bytes(32))
    >>> counted.tally, list(counted.days)
    (ExactTally(2 x 2 cells, values withheld), ['2018-01-01', '2018-01-02'])
    """
    if events.domain.time.n_bins is None:
        raise SettingError(
            "the time axis must have an end where exact counts are released; got none. "
            "Give the last day: the data must not tell where the counts end."
        )
    most = unit.most if unit.name == "user-day" else None
    if most is None and events.columns.user is not None:
        raise SettingError(
            f"user must be left out where single events are protected; got user={events.columns.user!r}. "
            "Leave it out, or protect the unit user-day."
        )
    digest = DayDigest(key, events.domain)
    counts = events.count(progress=progress, digest=digest, most_per_user_day=most)
    most_in_a_cell = LARGEST_TOTAL // counts.domain.n_cells
    tally = ExactTally(np.minimum(counts.counts, most_in_a_cell))
    return CountedEvents(
        domain=counts.domain,
        tally=tally,
        days=digest.digests(),
        n_events=int(tally.reveal().sum()),
        n_full_cells=int(np.count_nonzero(counts.counts > most_in_a_cell)),
        n_beyond=counts.n_beyond,
        n_rows_beyond=counts.n_rows_beyond,
        n_rows=counts.n_rows,
        n_left_out=counts.n_left_out,
        bad_rows=counts.bad_rows,
        table=counts.table,
    )
