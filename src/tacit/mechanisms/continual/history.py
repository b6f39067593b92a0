"""The running totals published after every bin, and their file: text that grows at its end, a line a bin.

The head of the file holds the description of the stream, so that any reader can compute errors and intervals. Each line
ends with a check over it and all lines before it. A last line that was not finished is no record: readers leave it out,
and the counter's next start completes it from the state. Anything else that is wrong is damage.
"""

from __future__ import annotations

import csv
import io
import json
import math
import os
import zlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import numpy as np

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.files import harmless
from tacit._base.languages import stored
from tacit._base.reading import parse_json, read_document, reading
from tacit._base.validation import check_share
from tacit.counts.estimate import Answer, Estimate
from tacit.counts.noise import FactorizationNoise
from tacit.counts.provenance import Provenance
from tacit.domain import Box, Domain
from tacit.domain.step import When
from tacit.errors import FormatError, Remedy, SettingError
from tacit.mechanisms.continual.counter import Stream
from tacit.plan import CENTRAL, Plan
from tacit.privacy.epsilon import LARGEST_EPSILON
from tacit.privacy.guarantee import Guarantee

_CAUSAL: Final = stored("differences of running totals")
_AHEAD: Final = stored(
    "differences of running totals with noise drawn ahead, which protects only events that do not react to what is "
    "published"
)


@dataclass(frozen=True, slots=True, eq=False)
class History:
    """The published totals of a stream, a row for each bin, in units of 1/``stream.noise_model.grid``.

    Every answer is a difference of two published totals, so that the same question has the same answer and parts add
    up: what holds for [a, b) and [b, c) adds to what holds for [a, c), to the last digit.
    """

    stream: Stream
    totals: IntArray

    def __post_init__(self) -> None:
        if self.totals.ndim != 2 or self.totals.shape[1] != self.stream.n_columns:
            raise SettingError(f"totals must have {self.stream.n_columns} columns; got shape={self.totals.shape}.")
        self.totals.flags.writeable = False

    @classmethod
    def empty(cls, stream: Stream) -> History:
        return cls(stream, np.empty((0, stream.n_columns), np.int64))

    @classmethod
    def read(cls, path: str | Path) -> History:
        """Read a published history; a last line that is not finished is left out."""
        text = read_text(Path(path))
        text.refuse_damage(Path(path))
        return text.history

    def extended(self, published: IntArray) -> History:
        """Return the history with the totals of more bins."""
        return History(self.stream, np.concatenate([self.totals, published.reshape(-1, self.stream.n_columns)]))

    def __repr__(self) -> str:
        label = ", simulation" if self.stream.is_simulation else ""
        return f"History({self.n_bins} bins x {self.stream.n_columns} columns, {self.stream.noise_model.cost}{label})"

    @property
    def n_bins(self) -> int:
        return len(self.totals)

    @property
    def domain(self) -> Domain:
        """The domain of the bins so far."""
        if not self.n_bins:
            raise SettingError("nothing was counted yet, so there is nothing to ask. Add the counts of a bin first.")
        return self.stream.domain.with_end(self.n_bins)

    def counts(self, first: IntArray, stop: IntArray) -> FloatArray:
        """Return the published counts of bins ``first`` .. ``stop`` - 1, for many ranges at once, column by column."""
        first, stop = np.broadcast_arrays(np.atleast_1d(first), np.atleast_1d(stop))
        if not ((first >= 0) & (first <= stop) & (stop <= self.n_bins)).all():
            raise SettingError(f"every range must run forward within the {self.n_bins} bins so far. Swap or cut it.")
        totals = np.concatenate([np.zeros((1, self.stream.n_columns), np.int64), self.totals])
        counts: FloatArray = (totals[stop] - totals[first]) / self.stream.noise_model.grid
        return counts

    def answer(
        self,
        first: When | None = None,
        last: When | None = None,
        places: list[str] | None = None,
        *,
        kinds: list[str] | None = None,
        level: float = 0.95,
    ) -> Answer:
        """Return the number of events from ``first`` to ``last``, both included, in these places and of these kinds.

        What is left out is not restricted.
        """
        return self.answer_box(self.domain.box(first, last, places, kinds), level=level)

    def answer_box(self, box: Box, *, level: float = 0.95) -> Answer:
        """Return the number of events in a box."""
        check_share(level=level)
        weights = box.weights(self.domain)
        noise = self.noise()
        first, stop = np.array([box.time.start]), np.array([box.time.stop])
        value = float(self.counts(first, stop)[0, list(box.columns)].sum())
        lower, upper = noise.interval(value, weights, level)
        variance = float(self.stream.noise_model.range_variances(first, stop)[0]) * len(box.columns)
        return Answer(value, math.sqrt(variance), lower, upper, level, box, self.stream.is_simulation)

    def noise(self) -> FactorizationNoise:
        """Return the noise of the counts of all bins so far."""
        return FactorizationNoise(self.stream.noise_model, self.domain.shape)

    def plan(self, *, delta: float = 0.0) -> Plan:
        """Return the plan that a release states. Gaussian noise has an epsilon only together with a ``delta``."""
        stream, cost = self.stream, self.stream.noise_model.cost
        if not delta and not cost.is_pure:
            raise SettingError(
                "delta must be given where Gaussian noise was used; got none. Take one far below 1 in the number of "
                "people, such as 1e-6."
            )
        if cost.rho and cost.epsilon_at(delta) > LARGEST_EPSILON:
            raise SettingError(
                f"delta must be such that {cost} amounts to an epsilon of at most {LARGEST_EPSILON:g}; got "
                f"delta={delta:g}. Take a larger one, up to 1 in ten times the number of people."
            )
        return Plan(
            domain=self.domain,
            mechanism="counter",
            epsilon=cost.epsilon_at(delta) if cost.rho else cost.epsilon,
            thresholds=(),
            private=self.domain.axes,
            **stream.unit.settings,
            neighbors=CENTRAL,
            rho=cost.rho,
            delta=delta if cost.rho else 0.0,
        )

    def restated(self, prior: Guarantee, *, ledger_heads: tuple[str, ...]) -> History:
        """Return the same totals when other entries about the events promise ``prior``, by the ledger of this head.

        The history itself says what they had promised when the counter was started.
        """
        return History(replace(self.stream, prior=prior, ledger_heads=ledger_heads), self.totals)

    def estimate(self, *, delta: float = 0.0) -> Estimate:
        """Return the counts of all bins so far as an estimate that knows its errors, under :meth:`plan`."""
        return Estimate(
            domain=self.domain,
            values=np.diff(self.totals, axis=0, prepend=0) / self.stream.noise_model.grid,
            noise=self.noise(),
            totals=None,
            steps=(_CAUSAL if self.stream.noise_model.is_causal else _AHEAD,),
            provenance=Provenance(
                self.plan(delta=delta).fingerprint,
                self.stream.is_simulation,
                self.stream.prior,
                self.stream.ledger_heads,
            ),
        )


FORMAT: Final = 1
_MARK: Final = "# tacit: "
_FEW_LABELS: Final = 64  # are named one by one; more are named together, which takes memory and less time for each


@dataclass(frozen=True, slots=True, eq=False)
class HistoryText:
    """The text of a history file: its records up to the first that is not whole, where they end, and their check.

    ``is_torn`` if something follows them, ``is_damaged`` if that is more than one unfinished record.
    """

    history: History
    n_bytes: int
    check: int
    is_torn: bool
    is_damaged: bool

    def refuse_damage(self, path: Path) -> None:
        """Refuse a damaged history: damage is not for a reader to mend."""
        if self.is_damaged:
            raise FormatError(
                f"{path} is damaged in record {self.history.n_bins}: its check does not agree. Restore it from a copy; "
                "what was published stays published."
            )


def head_of(stream: Stream) -> bytes:
    """Return the lines before the first record."""
    grid = stream.noise_model.grid
    unit = "events" if grid == 1 else f"1/{grid} of an event"
    about = {"format": FORMAT, "kind": "counter history", "stream": stream.to_dict()}
    columns = io.StringIO()
    csv.writer(columns, lineterminator="\n").writerow(["bin", "period", *map(harmless, stream.domain.columns), "check"])
    promise = "SIMULATION: protects nobody." if stream.is_simulation else " ".join(stream.guarantee.sentences())
    words = [
        "A Tacit counter. It may be published: these are running totals with noise, after every period.",
        f"Totals are in units of {unit}. The count of a range is the difference of two totals.",
        f"Costs {stream.noise_model.cost} per {stream.unit}. {promise}",
        f"Does not protect: {stream.unit.does_not_protect}",
        "Later releases of the same events add up: whoever publishes states the sum beside this history.",
    ]
    if not stream.noise_model.is_causal:
        words.append("Its noise was drawn ahead: it protects only events that do not react to what is published.")
    text = "".join(f"# {line}\n" for line in words)
    text += f"{_MARK}{json.dumps(about, sort_keys=True, ensure_ascii=False)}\n{columns.getvalue()}"
    return text.encode()


class Labels:
    """The names of bins, made in advance where many are needed."""

    def __init__(self, stream: Stream) -> None:
        self._time: Final = stream.domain.time
        self._known: list[str] = self._time.labels() if self._time.n_bins and self._time.n_bins <= _FEW_LABELS else []

    def between(self, first: int, stop: int) -> list[str]:
        if stop <= len(self._known):
            return self._known[first:stop]
        if stop - first <= _FEW_LABELS:
            return [self._time.label(bin) for bin in range(first, stop)]
        if self._time.n_bins is None:
            try:
                self._known = self._time.labels(2 * stop)
            except SettingError:  # beyond the calendar
                self._known = self._time.labels(stop)
        else:
            self._known = self._time.labels()
        return self._known[first:stop]


def lines_of(labels: Labels, first: int, totals: IntArray, check: int) -> tuple[bytes, int]:
    """Return records of bins from ``first`` on, and the check of the last."""
    lines = []
    named = zip(labels.between(first, first + len(totals)), totals.tolist(), strict=True)
    for bin, (label, row) in enumerate(named, first):
        line = f"{bin},{label},{','.join(map(str, row))},".encode()
        check = zlib.crc32(line, check)
        lines.append(line + b"%08x\n" % check)
    return b"".join(lines), check


def first_check(head: bytes) -> int:
    return zlib.crc32(head)


def read_text(path: Path) -> HistoryText:
    """Read a history file with what is needed to go on writing it."""
    with reading(path, "a counter history", "Restore it from a copy.", missing=Remedy.START_COUNTER):
        content = read_document(path)
        stream, head = _head(content)
        return _records(stream, content, len(head), first_check(head))


def _head(content: bytes) -> tuple[Stream, bytes]:
    end = 0
    about: dict[str, Any] = {}
    while content[end : end + 1] == b"#":
        stop = content.index(b"\n", end) + 1
        line = content[end:stop].decode()
        if line.startswith(_MARK):
            about = parse_json(line[len(_MARK) :])
        end = stop
    if about["kind"] != "counter history":
        raise ValueError("kind")
    if about["format"] != FORMAT:
        raise FormatError(f"the history has format {about['format']}, not {FORMAT}. Install a newer Tacit.")
    stream = Stream.from_dict(about["stream"])
    stop = content.index(b"\n", end) + 1
    columns = next(csv.reader([content[end:stop].decode()]))
    names = stream.domain.columns
    # earlier versions wrote names as they are
    if columns not in [["bin", "period", *some, "check"] for some in (map(harmless, names), names)]:
        raise ValueError("columns")
    return stream, content[:stop]


def _records(stream: Stream, content: bytes, start: int, check: int) -> HistoryText:
    rows: list[list[int]] = []
    end = start
    is_damaged = False
    while end < len(content):
        newline = content.find(b"\n", end)
        line = content[end:newline] if newline >= 0 else b""
        body = line[:-8]
        after = zlib.crc32(body, check)
        parts = body.split(b",")
        is_whole = line[-8:] == b"%08x" % after and len(parts) == stream.n_columns + 3 and parts[0] == b"%d" % len(rows)
        if not is_whole:
            is_damaged = 0 <= newline < len(content) - 1
            break
        rows.append([int(part) for part in parts[2:-1]])
        end, check = newline + 1, after
    totals = np.array(rows, np.int64).reshape(-1, stream.n_columns)
    return HistoryText(History(stream, totals), end, check, is_torn=end < len(content), is_damaged=is_damaged)


def append(path: Path, lines: bytes, *, at: int) -> None:
    """Write records at a place in the file, cut what follows, and see them on the disk."""
    with path.open("r+b") as file:
        file.seek(at)
        file.write(lines)
        file.truncate()
        file.flush()
        os.fsync(file.fileno())
