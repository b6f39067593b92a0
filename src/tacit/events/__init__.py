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

from typing import TYPE_CHECKING

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.events.badrows import BadRowSummary as BadRowSummary
    from tacit.events.badrows import Reason as Reason
    from tacit.events.contribution_bound import ContributionBound as ContributionBound
    from tacit.events.counts import EventCounts as EventCounts
    from tacit.events.counts import EventSummary as EventSummary
    from tacit.events.counts import KindSummary as KindSummary
    from tacit.events.counts import TableNotes as TableNotes
    from tacit.events.counts import YearSummary as YearSummary
    from tacit.events.counts import summarize as summarize
    from tacit.events.digest import DayDigest as DayDigest
    from tacit.events.interpret import EventBatch as EventBatch
    from tacit.events.mapping import Condition as Condition
    from tacit.events.mapping import EventColumns as EventColumns
    from tacit.events.mapping import ReadOptions as ReadOptions
    from tacit.events.places import Polygons as Polygons
    from tacit.events.proposal import DateFinding as DateFinding
    from tacit.events.proposal import Proposal as Proposal
    from tacit.events.proposal import propose_columns as propose_columns
    from tacit.events.proposal import propose_source as propose_source
    from tacit.events.reader import Events as Events
    from tacit.events.reader import open_events as open_events
    from tacit.events.scan import Span as Span
    from tacit.events.scan import names_in as names_in
    from tacit.events.scan import scan_span as scan_span
    from tacit.events.source_description import SourceDescription as SourceDescription
    from tacit.events.sources import SqlQuery as SqlQuery

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "tacit.events.badrows": "BadRowSummary Reason",
        "tacit.events.contribution_bound": "ContributionBound",
        "tacit.events.counts": "EventCounts EventSummary KindSummary TableNotes YearSummary summarize",
        "tacit.events.digest": "DayDigest",
        "tacit.events.interpret": "EventBatch",
        "tacit.events.mapping": "Condition EventColumns ReadOptions",
        "tacit.events.places": "Polygons",
        "tacit.events.proposal": "DateFinding Proposal propose_columns propose_source",
        "tacit.events.reader": "Events open_events",
        "tacit.events.scan": "Span names_in scan_span",
        "tacit.events.source_description": "SourceDescription",
        "tacit.events.sources": "SqlQuery",
    },
)
