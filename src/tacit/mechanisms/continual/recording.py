"""What a counter tells its ledger: where it was started, and what it counts, before it counts it."""

from __future__ import annotations

import hashlib
import hmac
import json
from collections import defaultdict
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import numpy as np

from tacit._base.arrays import IntArray
from tacit.counts.continual_noise import ContinualNoise
from tacit.domain import Domain, TimeAxis
from tacit.mechanisms.continual.stream import Stream
from tacit.privacy.ledger import Ledger
from tacit.privacy.unit import Unit

_DIGEST_BYTES: Final = 16  # 128 bits: nobody finds other counts of the same digest


def release_name(noise_model: ContinualNoise, domain: Domain, unit: Unit) -> str:
    """What the ledger knows a counter by: all that decides its numbers but the events."""
    content = json.dumps([noise_model.to_dict(), domain.to_dict(with_gazetteer=False), unit.to_dict()], sort_keys=True)
    return f"counter {hashlib.sha256(content.encode()).hexdigest()[:16]}"


def place_of(state: Path) -> bytes:
    """What a spend is bound to: the file in which the one counter stands that it pays for."""
    return hashlib.sha256(str(state.resolve()).encode()).digest()


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
    """Digests of dates, places and numbers, for counts whose events nobody showed; a day of zeros has none."""
    cells = stream.domain.place.cells
    bins = range(first, first + len(rows))
    texts: dict[str, list[str]] = defaultdict(list)
    for bin, days, row in zip(bins, days_of_bins(stream.domain.time, bins), rows.tolist(), strict=True):
        if any(row):
            numbers = row[0] if len(row) == 1 else [[cells[place], n] for place, n in enumerate(row) if n]
            for day in days:
                texts[day].append(f"{stream.domain.time.label(bin)}:{json.dumps(numbers)}")
    return {day: hmac.digest(key, "\n".join(parts).encode(), hashlib.sha256) for day, parts in texts.items()}


def days_of_bins(time: TimeAxis, bins: range) -> list[list[str]]:
    """The calendar days that each of these bins has a part of."""
    edges = time.without_end().starts(bins.stop + 1)[bins.start :]
    first = edges[:-1].astype("datetime64[D]")
    last = (edges[1:] - np.timedelta64(1, "s")).astype("datetime64[D]")
    return [np.arange(low, high + 1).astype(str).tolist() for low, high in zip(first, last, strict=True)]
