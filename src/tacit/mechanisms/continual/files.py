"""A counter on disk: a private state and a public history that agree after any interruption.

The new state is written first, whole, with the totals it publishes; then they are appended to the history. So there are
three moments to be interrupted at, and what the next start finds tells them apart:

* before the state is in its place: the bins were not counted; giving them again draws the same noise;
* after it, before all lines are in the history: the missing ones are completed from the state;
* after that: all is done.

Noise is never drawn for two different counts of a bin. A state older than its history is refused; and the ledger that
the counter was paid from notes the counts of every bin before they are counted, so that two counters which go on from
one state, in copies of both files, cannot count differently.

A counter that protects persons has a third file, which is private too: what was counted of each of them
(:mod:`tacit.mechanisms.continual.contributions`). It is written before the state, under a name of its own.
"""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import defaultdict
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from tacit._base.arrays import IntArray
from tacit._base.fields import checksum_of, pack_array, text, whole, whole_numbers
from tacit._base.files import alone, check_writable, write_new, write_whole
from tacit._base.reading import parse_json, read_document, reading
from tacit.domain import TimeAxis
from tacit.errors import DataError, FormatError, PlanMismatch, Remedy, SettingError
from tacit.mechanisms.continual.contributions import Contributions, bounding_key, remove_others
from tacit.mechanisms.continual.counter import Counter, CounterState, Rows, Stream
from tacit.mechanisms.continual.history import History, Labels, append, head_of, lines_of, read_text
from tacit.privacy.guarantee import heads_from_dict, heads_to_dict
from tacit.privacy.ledger import Ledger, Spend

FORMAT: Final = 1
_LEAST: Final = -(1 << 61)  # sums and totals stay within 61 bits, whatever their sign
_DIGEST_BYTES: Final = 16  # 128 bits: nobody finds other counts of the same digest
_LONGEST_WINDOWS: Final = {"week": 7, "month": 31, "year": 366}  # in days
_BINS_A_RECORD: Final = 4096  # written to both files at once; as many as the counter counts at once


@dataclass(frozen=True, slots=True, eq=False)
class SavedState:
    """The private state as a file: a counter with the key of its noise, its true sums, and what was published last.

    ``latest`` are the totals of the last bins that were published, to complete the history with. ``spend`` is the
    ledger's name for what was paid, ``ledger_heads`` its head when the last bins were noted. For its owner only (mode
    600).

    JSON: ``format``, ``kind`` (``"counter state"``), ``warning``, ``stream`` as in the history, ``spend``, ``key`` (32
    bytes in hexadecimal), ``position`` (bins counted), ``memory`` (packed arrays: true sums and noises that later
    totals need), ``latest`` and ``checksum``, the SHA-256 of the rest with its keys sorted. ``memory`` may change with
    a version.
    """

    counter: Counter
    state: CounterState
    latest: IntArray
    spend: str
    ledger_heads: tuple[str, ...] = ()

    def __repr__(self) -> str:
        return f"SavedState({self.counter.stream.identity}, {self.state.position} bins, values withheld)"

    def to_dict(self) -> dict[str, Any]:
        return {
            "stream": self.counter.stream.to_dict(),
            "spend": self.spend,
            "key": self.counter.key.hex(),
            "position": self.state.position,
            "memory": {name: pack_array(part, effort=1) for name, part in self.state.memory.items()},
            "latest": pack_array(self.latest, effort=1),
        } | heads_to_dict(self.ledger_heads)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> SavedState:
        stream = Stream.from_dict(content["stream"])
        counter = Counter(stream, bytes.fromhex(content["key"]))
        memory = {name: whole_numbers(content["memory"], name, least=_LEAST) for name in content["memory"]}
        state = counter.restored(whole(content, "position"), memory)
        latest = whole_numbers(content, "latest", least=_LEAST).reshape(-1, stream.n_columns)
        return cls(counter, state, latest, text(content, "spend"), heads_from_dict(content))

    def write(self, path: Path) -> None:
        """Write the state beside the old one, see it on the disk, and put it in its place: whole or not at all."""
        content: dict[str, Any] = {
            "format": FORMAT,
            "kind": "counter state",
            "warning": "Private: holds true sums and the key of the noise. Guard it like the events.",
        } | self.to_dict()
        written = json.dumps(content | {"checksum": checksum_of(content)}, sort_keys=True, ensure_ascii=False)
        write_whole(path, written.encode(), is_private=True)

    @classmethod
    def read(cls, path: Path) -> SavedState:
        """Read a state and check that nothing in it was changed."""
        remedy = "Restore it from a copy that is as new as the history; nothing was counted."
        with reading(path, "a counter's state", remedy, missing=Remedy.START_COUNTER):
            content = parse_json(read_document(path))
            if content["kind"] != "counter state":
                raise ValueError("kind")
            if content["format"] != FORMAT:
                raise FormatError(f"{path} has format {content['format']}, not {FORMAT}. Install a newer Tacit.")
            if content["checksum"] != checksum_of(content):
                raise ValueError("checksum")
            return cls.from_dict(content)


class CounterFiles:
    """The two files of a counter, opened by one process at a time.

    Every change is on the disk when the call returns. Between calls others may add: each call reads what is there.
    ``ledger`` is the one that the counter was paid from; only a simulation is made and goes on without.
    """

    def __init__(self, state: str | Path, history: str | Path | None = None, *, ledger: Ledger | None = None) -> None:
        self.ledger: Final = ledger
        self.state_path: Final = Path(state)
        self.history_path: Final = Path(history) if history is not None else default_history(self.state_path)
        if self.state_path == self.history_path:
            raise SettingError("the private state and the public history must be two files. Name another history.")
        self._labels: Labels | None = None
        self._seen: tuple[SavedState, int, int] | None = None

    def __repr__(self) -> str:
        return f"CounterFiles({str(self.state_path)!r}, {str(self.history_path)!r})"

    def create(self, counter: Counter, *, spend: Spend) -> None:
        """Write a new counter and finish its spend; refuse to overwrite another.

        The key is wiped from the ledger as soon as the state is on the disk: no second counter can be made of it. What
        an interrupted start left of this one is completed.
        """
        self._check_ledger(counter.stream)
        for path in (self.state_path, self.history_path):
            check_writable(path)
        if self.state_path.exists():
            found = SavedState.read(self.state_path).counter.stream.identity
            if found != counter.stream.identity:
                raise SettingError(f"{self.state_path} holds another counter. Choose another name.")
        elif self.history_path.exists():
            raise SettingError(f"{self.history_path} exists already. Choose another name.")
        else:
            SavedState(counter, counter.begin(), _nothing(counter.stream), spend.identifier).write(self.state_path)
        self.complete()

    def complete(self) -> Stream:
        """Finish what an interrupted start left: the spend first, then the head of the history."""
        saved = SavedState.read(self.state_path)
        ledger = self._check_ledger(saved.counter.stream, saved.ledger_heads)
        if ledger is not None:
            ledger.note_bins(saved.spend, {})
        with self._opened():
            return saved.counter.stream

    @property
    def spend(self) -> str:
        """The ledger's name for what was paid."""
        return SavedState.read(self.state_path).spend

    @property
    def has_history(self) -> bool:
        """Whether the history was begun: its head is whole."""
        try:
            return read_text(self.history_path).history.stream == self.stream()
        except FormatError:
            return False

    def history(self) -> History:
        """Return what was published, completed first if an interruption left it short."""
        with self._opened():
            return read_text(self.history_path).history

    def stream(self) -> Stream:
        """Return the public description of the counter."""
        return SavedState.read(self.state_path).counter.stream

    def check_turn(self, first: int) -> None:
        """Refuse a bin that is not the next to be counted."""
        with self._opened() as (saved, _, _):
            _check_turn(saved.counter.stream, first, saved.state.position)

    @property
    def bounding_key(self) -> bytes:
        """The key by which persons are told apart."""
        return bounding_key(SavedState.read(self.state_path).counter.key)

    def contributions(self) -> Contributions | None:
        """Return what was counted of each person so far, for bounding and for :meth:`add`; none for other units."""
        with self._opened() as (saved, _, _):
            stream = saved.counter.stream
            if stream.unit.name != "person":
                return None
            return Contributions.read(self.state_path, saved.counter.key, stream.identity, saved.state.position)

    def add(
        self,
        counts: Rows,
        *,
        first: int | None = None,
        days: Mapping[str, bytes] | None = None,
        contributions: Contributions | None = None,
    ) -> IntArray:
        """Count the next bins, a row each, and publish: returns their totals, which are on the disk by then.

        ``first`` is the number of the first of these bins. Give it where the same counts might be given twice: bins
        that are counted already are refused, and so are gaps. ``days`` are digests of the events under the ledger's
        key (:class:`tacit.events.DayDigest`), by which it knows them under any name; without, the numbers stand for
        them. Where persons are protected, ``contributions`` are those of :meth:`contributions`, with what these counts
        hold of each person noted in them.
        """
        with self._opened() as (saved, n_bytes, check):
            counter, state = saved.counter, saved.state
            if first is not None:
                _check_turn(counter.stream, first, state.position)
            rows = counter.check(state, counts)
            _check_persons(counter.stream, state.position, len(rows), contributions)
            ledger = self._check_ledger(counter.stream, saved.ledger_heads)
            published = [_nothing(counter.stream)]
            for start in range(0, len(rows), _BINS_A_RECORD):
                position, some = state.position, rows[start : start + _BINS_A_RECORD]
                state, totals = counter.steps(state, some)
                if ledger is not None:
                    record(ledger, saved.spend, counter.stream, position, some, days)
                lines, check = lines_of(self._labels_of(counter.stream), position, totals, check)
                saved = SavedState(counter, state, totals, saved.spend, () if ledger is None else (ledger.head,))
                self._seen = None  # until both files are known to be written
                if contributions is not None:
                    forget = _forgotten(counter.stream, state.position)
                    contributions.advanced(state.position, forget=forget).write(self.state_path, counter.key)
                saved.write(self.state_path)
                append(self.history_path, lines, at=n_bytes)
                if contributions is not None:
                    remove_others(self.state_path, state.position)
                n_bytes += len(lines)
                published.append(totals)
            self._seen = (saved, n_bytes, check)
            return np.concatenate(published)

    @contextmanager
    def _opened(self) -> Iterator[tuple[SavedState, int, int]]:
        """Open state and history, completed and found to agree, with nobody else at work on them."""
        saved = SavedState.read(self.state_path)
        if not self.history_path.exists():
            if saved.state.position:
                raise FormatError(f"there is no history at {self.history_path}. Restore it; nothing was counted.")
            write_new(self.history_path, head_of(saved.counter.stream))
        with alone(self.history_path):
            saved = SavedState.read(self.state_path)  # it may have moved on while waiting
            yield self._agreed(saved)

    def _agreed(self, saved: SavedState) -> tuple[SavedState, int, int]:
        if self._seen is not None:
            last, n_bytes, check = self._seen
            is_same = last.counter.stream.identity == saved.counter.stream.identity
            if is_same and last.state.position == saved.state.position and n_bytes == self.history_path.stat().st_size:
                return replace(saved, counter=last.counter), n_bytes, check
        if saved.state.position == 0:
            self._restore_head(saved.counter.stream)
        text = read_text(self.history_path)
        stream, position, latest = saved.counter.stream, saved.state.position, saved.latest
        if text.history.stream != stream:
            raise PlanMismatch(
                f"{self.history_path} is the history of counter {text.history.stream.identity}, {self.state_path} the "
                f"state of {stream.identity}. Put files of the same counter together; nothing was counted."
            )
        n_bins = text.history.n_bins
        # what is not whole at the end is the state's own only if the state tells what it should be
        if n_bins + text.is_torn > position:
            text.refuse_damage(self.history_path)
            raise FormatError(
                f"{self.state_path} is older than {self.history_path}: it knows {position} of at least "
                f"{n_bins + text.is_torn} published bins. "
                "Going on from it would draw the same noise for other counts and undo its protection. Restore the "
                "newest state; nothing was counted."
            )
        n_known = min(n_bins - (position - len(latest)), len(latest))
        if n_known < 0:
            text.refuse_damage(self.history_path)
            raise FormatError(
                f"{self.history_path} has lost records: {n_bins} of {position} bins are there. "
                "Restore it from a copy; nothing was counted."
            )
        if not np.array_equal(text.history.totals[n_bins - n_known :], latest[:n_known]):
            raise FormatError(
                f"{self.history_path} and {self.state_path} tell different totals for the same bins. "
                "Restore the files of one and the same counter; nothing was counted."
            )
        lines, check = lines_of(self._labels_of(stream), n_bins, latest[n_known:], text.check)
        if lines or text.is_torn:
            append(self.history_path, lines, at=text.n_bytes)
        return saved, text.n_bytes + len(lines), check

    def _check_ledger(self, stream: Stream, heads: tuple[str, ...] = ()) -> Ledger | None:
        """Return the ledger that paid, which holds these heads and the counter's own; none for a simulation."""
        if stream.is_simulation:
            return None
        if self.ledger is None:
            raise SettingError(
                "a counter needs the ledger that paid for it, to note what it counts. Give that ledger; "
                "nothing was counted."
            )
        self.ledger.verify([*stream.ledger_heads, *heads])
        return self.ledger

    def _restore_head(self, stream: Stream) -> None:
        """Complete a head that was not finished when the counter was started."""
        head = head_of(stream)
        found = self.history_path.read_bytes()
        if len(found) < len(head) and head.startswith(found):
            append(self.history_path, head, at=0)

    def _labels_of(self, stream: Stream) -> Labels:
        if self._labels is None:
            self._labels = Labels(stream)
        return self._labels


def default_history(state: Path) -> Path:
    """Return the default path of the history: beside the state, with an ending of its own."""
    return state.with_suffix(".history.csv")


def _nothing(stream: Stream) -> IntArray:
    return np.empty((0, stream.n_columns), np.int64)


def _check_turn(stream: Stream, first: int, position: int) -> None:
    if first < position:
        raise DataError(
            f"{stream.domain.time.label(first)} is counted already; the next is {_next(stream, position)}. Counting a "
            "bin twice would change what was published. Nothing was counted."
        )
    if first > position:
        raise DataError(
            f"{stream.domain.time.label(first)} comes too early; the next to be counted is {_next(stream, position)}. "
            "Add the bins between, with zeros where nothing happened. Nothing was counted."
        )


def _check_persons(stream: Stream, position: int, n_bins: int, contributions: Contributions | None) -> None:
    """Refuse counts of which nobody knows whose they are, where persons are protected."""
    if stream.unit.name != "person":
        return
    if contributions is None or (contributions.identity, contributions.position) != (stream.identity, position):
        raise SettingError(
            "a counter of persons needs to know what each of them adds to these bins. Add events with their persons, "
            "by add_events; nothing was counted."
        )
    if n_bins > _BINS_A_RECORD:
        raise SettingError(
            f"at most {_BINS_A_RECORD:,} periods must be added at once where persons are protected; got {n_bins:,}. "
            "Add them in parts; nothing was counted."
        )


def _forgotten(stream: Stream, position: int) -> int:
    """Return the bin up to which all windows of persons are over, with a day to spare for clocks that are set back."""
    if stream.unit.window is None:
        return 0
    edges = stream.domain.time.without_end().starts(position + 1)
    over = edges[-1] - np.timedelta64(_LONGEST_WINDOWS[stream.unit.window] + 1, "D")
    return max(0, int(np.searchsorted(edges, over, "right")) - 1)


def _next(stream: Stream, position: int) -> str:
    return "none: the counter has ended" if position >= stream.n_bins else stream.domain.time.label(position)


def record(
    ledger: Ledger, spend: str, stream: Stream, first: int, rows: IntArray, days: Mapping[str, bytes] | None
) -> None:
    """Note the counts of bins from ``first`` on before they are counted, or refuse them.

    ``days`` are the digests of the events (:class:`tacit.events.DayDigest`), by which the ledger knows a copy of them
    under another name; without them the numbers stand for the events. A bin that was noted with other counts is
    refused: two counters that go on from one state would draw the same noise, and their difference would be exact.
    """
    if not len(rows):
        return
    bins = range(first, first + len(rows))
    every = [day for named in days_of_bins(stream.domain.time, bins) for day in named]
    known = days_of_counts(ledger.key, stream, first, rows) if days is None else days
    ledger.extend(spend, {day: known.get(day, b"") for day in every})
    ledger.note_bins(
        spend,
        {
            bin: hmac.digest(ledger.key, b"%d:" % bin + row.astype("<i8").tobytes(), hashlib.sha256)[:_DIGEST_BYTES]
            for bin, row in zip(bins, rows, strict=True)
        },
        called=stream.domain.time.label,
    )


def days_of_counts(key: bytes, stream: Stream, first: int, rows: IntArray) -> dict[str, bytes]:
    """Return digests of dates, places and numbers, for counts whose events nobody showed; a day of zeros has none.

    Kinds are added up, as digests of events leave them out.
    """
    cells = stream.domain.place.cells
    bins = range(first, first + len(rows))
    rows = rows.reshape(len(rows), len(cells), stream.domain.n_kinds).sum(axis=2)
    texts: dict[str, list[str]] = defaultdict(list)
    for bin, days, row in zip(bins, days_of_bins(stream.domain.time, bins), rows.tolist(), strict=True):
        if any(row):
            numbers = row[0] if len(row) == 1 else [[cells[place], n] for place, n in enumerate(row) if n]
            for day in days:
                texts[day].append(f"{stream.domain.time.label(bin)}:{json.dumps(numbers)}")
    return {day: hmac.digest(key, "\n".join(parts).encode(), hashlib.sha256) for day, parts in texts.items()}


def days_of_bins(time: TimeAxis, bins: range) -> list[list[str]]:
    """Return the calendar days that each of these bins has a part of."""
    edges = time.without_end().starts(bins.stop + 1)[bins.start :]
    first = edges[:-1].astype("datetime64[D]")
    last = (edges[1:] - np.timedelta64(1, "s")).astype("datetime64[D]")
    return [np.arange(low, high + 1).astype(str).tolist() for low, high in zip(first, last, strict=True)]
