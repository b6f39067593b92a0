"""Events from files, frames and databases, as cells of a domain.

1. Say which column holds what (:class:`EventColumns`) and how it is written (:class:`ReadOptions`), or take both from a
   :class:`SourceDescription`. :func:`propose_source` proposes one, to be confirmed by who knows the source: what is
   done with a row depends on that row and on these public settings alone.
2. :func:`open_events` opens a CSV or Parquet file, the result of a :class:`SqlQuery` or any frame with the Arrow
   capsule protocol, and finds the columns.
3. :meth:`Events.batches` gives the good rows a batch at a time, :meth:`Events.count` their exact counts. Bad rows are
   set aside, counted by :class:`Reason` and known by their row numbers; a value appears in no message.

Memory does not grow with the number of rows. :func:`scan_span` finds the first and last date, :func:`summarize` makes
the curator's summary, and :class:`DayDigest` knows the same events again. With a column of users,
:meth:`Events.count` bounds what one person adds (:class:`ContributionBound`).
"""

from __future__ import annotations

from tacit.events.badrows import BadRowSummary, Reason
from tacit.events.contribution_bound import ContributionBound
from tacit.events.counts import EventCounts, EventSummary, KindSummary, TableNotes, YearSummary, summarize
from tacit.events.digest import DayDigest
from tacit.events.interpret import EventBatch
from tacit.events.mapping import Condition, EventColumns, ReadOptions
from tacit.events.places import Polygons
from tacit.events.proposal import DateFinding, Proposal, propose_columns, propose_source
from tacit.events.reader import Events, open_events
from tacit.events.scan import Span, names_in, scan_span
from tacit.events.source_description import SourceDescription
from tacit.events.sources import SqlQuery

__all__ = [
    "BadRowSummary",
    "Condition",
    "ContributionBound",
    "DateFinding",
    "DayDigest",
    "EventBatch",
    "EventColumns",
    "EventCounts",
    "EventSummary",
    "Events",
    "KindSummary",
    "Polygons",
    "Proposal",
    "ReadOptions",
    "Reason",
    "SourceDescription",
    "Span",
    "SqlQuery",
    "TableNotes",
    "YearSummary",
    "names_in",
    "open_events",
    "propose_columns",
    "propose_source",
    "scan_span",
    "summarize",
]
