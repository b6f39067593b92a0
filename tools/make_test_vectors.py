"""Write the test vectors that every implementation of Tacit shares: tests/vectors/*.json.

    python tools/make_test_vectors.py            # write them again, after a mechanism was added
    python tools/make_test_vectors.py --check    # say which differ, and write nothing

The random words behind every vector are listed in it, so another language needs no keystream of ours. Words and
thresholds are hexadecimal text, because not every JSON reader keeps whole numbers beyond 2**53.
"""

from __future__ import annotations

import json
import math
import sys
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tacit.audit.testing import RecordedWords
from tacit.collection.wire import encode_message
from tacit.counts.provenance import Provenance
from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.domain.step import STEPS
from tacit.mechanisms.local.memo import DeviceMemo
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for
from tacit.plan import Plan
from tacit.randomness import SeededRandomness
from tacit.randomness.bernoulli import COIN, bernoulli_bits

FOLDER = Path(__file__).parents[1] / "tests" / "vectors"
THRESHOLDS = (0, 1, COIN // 4, COIN // 2, COIN // 3, 3 * (COIN // 4), COIN - 1, COIN)
MANY = {COIN // 4: (1024, 1025), COIN // 3: (1025, 5000, 40_000)}  # coins enough for none to three rounds
SHAPES = ((2, 0.5), (3, 2.0), (8, 1.0), (17, 2.2), (17, 5.89), (100, 1.0))
MORE_SHAPES = {"subset": ((24, 1.0), (33, 0.1), (300, 3.0), (5000, 8.0))}  # two blocks, no coins, wide lanes
N_REPORTS = 6
PRIVATE = (("place",), ("kind",), ("place", "kind"), ("time", "place", "kind"))  # of plans with kinds
MESSAGES = Domain(TimeAxis.between("2018-01-01", "2018-01-31"), PlaceAxis.of([f"place {i}" for i in range(17)]))
ID = bytes(range(16))  # of messages: devices draw their own
CHANGES = {  # of clocks, on the wall
    "Europe/Paris": ("2018-03-25T02:00", "2018-10-28T02:00"),
    "America/New_York": ("2026-03-08T02:00", "2026-11-01T02:00"),
    "America/Sao_Paulo": ("2018-11-04T00:00", "2018-02-17T23:00"),  # at midnight
    "Australia/Lord_Howe": ("2018-10-07T02:00", "2018-04-01T01:30"),  # by half an hour
    "Pacific/Apia": ("2011-12-30T00:00", "2011-09-24T03:00"),  # by a whole day
    "Asia/Kathmandu": ("2024-02-29T00:00", "2024-12-31T18:15"),  # never, 5:45 from UTC
    "UTC": ("2024-02-29T00:00", "2024-12-30T00:00"),
}
AROUND = np.concatenate([np.arange(-26 * 3600, 27 * 3600, 14_400), [-1801, -1800, -1, 0, 1, 1799, 1800, 3599, 3600]])
EVENTS = [[4, 2, 1], [0, 1, 0], [4, 0, 1], [0, 1, 1], [2, 2, 0], [4, 2, 1]]  # time, place and kind


def plans() -> dict[str, Any]:
    """Plans, the bytes under their fingerprints, and the fingerprints."""
    ended = Domain(TimeAxis.between("2018-01-01", "2018-03-31", zone="Europe/Paris"), PlaceAxis.of(["north", "été"]))
    hourly = Domain(TimeAxis("2018-01-01", "2 hours"), PlaceAxis.of([f"place {number}" for number in range(17)]))
    kinds = replace(ended, kind=KindAxis.of(["fire", "aid"]).with_elsewhere())
    outside = Domain(
        TimeAxis.between("2018", None, step="week", zone="Europe/Paris"), PlaceAxis.of(["a"]).with_elsewhere()
    )
    part = Domain(TimeAxis.between("2018-01-05", "2018-03-14", step="month"), PlaceAxis.of(['"a"\\', "b / c", "日本"]))
    remembered = plan_for(ended, epsilon=1.0, mechanism="longitudinal hashing")
    made = [
        *(plan_for(ended, epsilon=2.0, mechanism=name) for name in sorted(MECHANISMS)),
        plan_for(hourly, f=0.5),
        plan_for(ended, epsilon=1.0, mechanism="unary", private=("time",)),
        plan_for(ended, epsilon=0.1, mechanism="unary", private=("time", "place")),
        plan_for(kinds, epsilon=math.log(3), private=("kind",)),
        plan_for(outside, epsilon=1e-4, mechanism="unary"),
        plan_for(part, epsilon=2.5e-05, mechanism="unary"),
        plan_for(part, epsilon=1e-06, mechanism="unary", private=("time",)),
        replace(remembered, unit="device"),
        replace(remembered, unit="device", n_reports=365),
    ]
    return _file(
        "The fingerprint of a plan is the first 32 hexadecimal digits of the SHA-256 of its canonical bytes (UTF-8).",
        [
            {
                "plan": plan.to_dict() | {"fingerprint": plan.fingerprint},
                "canonical": plan.canonical_bytes().decode(),
                "fingerprint": plan.fingerprint,
            }
            for plan in made
        ],
    )


def coins() -> dict[str, Any]:
    """Coins of several thresholds from listed words."""
    vectors = []
    for number, threshold in enumerate(THRESHOLDS):
        for n_coins in (1, 64, 100, *MANY.get(threshold, ())):
            source = RecordedWords(SeededRandomness(number))
            heads = bernoulli_bits(n_coins, threshold, source)
            bits = np.unpackbits(heads.astype("<u8").view(np.uint8), bitorder="little")[:n_coins]
            vectors.append(
                {"threshold": hex(threshold), "words": _words(source), "coins": "".join(map(str, bits.tolist()))}
            )
    return _file(
        "Coins of probability threshold / 2**64 from random words, in the order of randomness/bernoulli.py: the "
        "words are used in the order listed, all of them; coin i is character i, 1 for heads.",
        vectors,
    )


def reports(name: str) -> dict[str, Any]:
    """Reports of one mechanism from listed words: one at a time, several at once, and what they add up to."""
    vectors = []
    for number, (n_cells, epsilon) in enumerate((*SHAPES, *MORE_SHAPES.get(name, ()))):
        randomizer = MECHANISMS[name].from_epsilon(epsilon, n_cells)
        spread = [cell * (n_cells - 1) // (N_REPORTS - 1) for cell in range(N_REPORTS)]
        for cells in ([0], [n_cells - 1], spread):
            source = RecordedWords(SeededRandomness(number))
            rows = randomizer.randomize(np.array(cells), randomness=source)
            vectors.append(
                {
                    "n_cells": n_cells,
                    "epsilon": randomizer.epsilon,
                    "thresholds": _hexed(randomizer.thresholds()),
                    "cells": cells,
                    "words": _words(source),
                    "reports": [row.tobytes().hex() for row in rows],
                    "statistics": randomizer.statistics(rows, np.array([len(rows)]))[0].tolist(),
                }
            )
    return _file(
        f"Reports of the mechanism {name!r}: the true cells, the random words drawn in this order, the report of each "
        "cell as bytes, and how many of the reports support each cell.",
        vectors,
    )


def messages() -> dict[str, Any]:
    """Messages of every mechanism, with what was put in."""
    vectors = []
    for name in sorted(MECHANISMS):
        plan = plan_for(MESSAGES, epsilon=2.0, mechanism=name)
        for n_reports, prior_epsilon in ((0, 0.0), (1, 0.0), (5, 2.5)):
            vectors.append(_message(plan, n_reports, prior_epsilon))
    return _file(
        "Messages: the reports and their public bins in the order they were put in, and the bytes that come out.",
        vectors,
    )


def _message(plan: Plan, n_reports: int, prior_epsilon: float) -> dict[str, Any]:
    label = Provenance.of_reports(plan.fingerprint, n_reports != 1, prior_epsilon)
    rows = mechanism_of(plan).randomize(np.arange(n_reports), randomness=SeededRandomness(n_reports))
    bins = np.array([30, 2, 30, 2, 7][:n_reports], np.int64)
    return {
        "plan": plan.fingerprint,
        "mechanism": plan.mechanism,
        "is_simulation": label.is_simulation,
        "prior_epsilon": label.prior_epsilon,
        "id": ID.hex(),
        "n_public": plan.n_public,
        "report_bytes": rows.shape[1],
        "bins": bins.tolist(),
        "reports": [row.tobytes().hex() for row in rows],
        "message": encode_message(plan, bins, rows, label, id=ID).hex(),
    }


def messages_with_kinds() -> dict[str, Any]:
    """Messages of every mechanism from events that have kinds, whichever coordinates are private."""
    domain = Domain(
        TimeAxis.between("2018-01-01", "2018-01-05", zone="Europe/Paris"),
        PlaceAxis.of(["north", "été", "south"]),
        KindAxis.of(["fire", "aid"]),
    )
    asked = {("place", "kind"): {"place": 1.0, "kind": 1.0}}  # tables by place and by kind, beside the joint one
    made = [
        _message_of_events(
            plan_for(domain, epsilon=2.0, mechanism=name, private=private, asked=asked.get(private))
            if name == "sampled tables"
            else plan_for(domain, epsilon=2.0, mechanism=name, private=private)
        )
        for name in sorted(MECHANISMS)
        for private in PRIVATE
    ]
    return _file(
        "Messages of events with kinds: the plan, each event as its numbers of time, place and kind, the public bin "
        "and the private cell that follow from them, the random words drawn in this order, the report of each event "
        "as bytes, and the message.",
        made,
    )


def _message_of_events(plan: Plan) -> dict[str, Any]:
    times, places, kinds = np.array(EVENTS).T
    bins, cells = plan.split(times, places * plan.domain.n_kinds + kinds)
    source = RecordedWords(SeededRandomness(len(EVENTS)))
    rows = mechanism_of(plan).randomize(cells, randomness=source)
    return {
        "plan": plan.to_dict() | {"fingerprint": plan.fingerprint},
        "events": EVENTS,
        "bins": bins.tolist(),
        "cells": cells.tolist(),
        "words": _words(source),
        "reports": [row.tobytes().hex() for row in rows],
        "id": ID.hex(),
        "message": encode_message(plan, bins, rows, Provenance.of_reports(plan.fingerprint, False, 0.0), id=ID).hex(),
    }


def times() -> dict[str, Any]:
    """The bins of instants and of wall-clock times, in the hours around changes of clocks and at the ends of axes."""
    vectors = []
    for step in STEPS:
        for zone, changes in CHANGES.items():
            around = [np.datetime64(change, "s") + offset for change in changes for offset in AROUND]
            vectors.append(_times(TimeAxis.between("2006", None, step=step, zone=zone), np.array(around)))
        # days that are counted, and the seconds beside them
        first, last = np.datetime64("2018-01-05", "s"), np.datetime64("2018-03-14", "s")
        near = np.array([day + second for day in (first, last, last + 86_400) for second in (-1, 0, 43_200)])
        vectors.append(_times(TimeAxis.between("2018-01-05", "2018-03-14", step=step, zone="Europe/Paris"), near))
    return _file(
        "Bins of a plan's time axis: of instants (UTC) and of wall-clock times in the axis' zone; -1 is outside of it.",
        vectors,
    )


def _times(axis: TimeAxis, when: NDArray[np.datetime64]) -> dict[str, Any]:
    plan = plan_for(Domain(axis, PlaceAxis.of(["north", "south"])), epsilon=1.0)
    return {
        "plan": plan.to_dict() | {"fingerprint": plan.fingerprint},
        "times": when.astype(str).tolist(),
        "bins_of_utc": axis.bins_of_utc(when).tolist(),
        "bins_of_local": axis.bins_of_local(when).tolist(),
    }


def memos() -> dict[str, Any]:
    """The reports of one device that remembers, one after the other, and its memo in the end."""
    vectors = []
    for name in sorted(name for name, entry in MECHANISMS.items() if entry.is_repeated):
        for n_cells in (3, 17):
            cells = [1, 1, 0, n_cells - 1, 1, 0]
            vectors.append(_memo(MECHANISMS[name].from_epsilon(1.0, n_cells), name, cells))
    bloom = LongitudinalRappor.from_parameters(f=0.5, q=0.75, p=0.5, n_cells=9, hashes=2, n_bits=16)
    return _file(
        "Reports of a device from its memo: the cells it held in this order, the random words drawn for all reports "
        "together, the reports as bytes, and the content of the memo's file after the last of them.",
        [*vectors, _memo(bloom, "longitudinal", [8, 2, 8])],
    )


def _memo(mechanism: Any, name: str, cells: list[int]) -> dict[str, Any]:
    source = RecordedWords(SeededRandomness(len(cells)))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "memo.json"
        memo = DeviceMemo.create(mechanism, path)
        reports = [memo.report(cell, randomness=source).tobytes().hex() for cell in cells]
        content = json.loads(path.read_text(encoding="utf-8"))
    return {
        "mechanism": name,
        "n_cells": mechanism.n_cells,
        "thresholds": _hexed(mechanism.thresholds()),
        "cells": cells,
        "words": _words(source),
        "reports": reports,
        "memo": content,
    }


def vectors() -> dict[str, str]:
    """The content of every file, by its name."""
    made = {"plan": plans(), "coins": coins(), "message": messages(), "message-kinds": messages_with_kinds()}
    made |= {"times": times(), "memo": memos()}
    made |= {f"reports-{name.replace(' ', '-')}": reports(name) for name in sorted(MECHANISMS)}
    return {f"{name}.json": _text(content) for name, content in made.items()}


def _text(content: dict[str, Any]) -> str:
    """JSON with a line for each vector, so that a change shows where it is."""
    lines = ",\n".join(json.dumps(vector, ensure_ascii=False) for vector in content.pop("vectors"))
    head = json.dumps(content, ensure_ascii=False)
    return f'{head[:-1]}, "vectors": [\n{lines}\n]}}\n'


def _file(about: str, content: list[dict[str, Any]]) -> dict[str, Any]:
    return {"format": 1, "about": about, "vectors": content}


def _words(source: RecordedWords) -> list[str]:
    return [f"{word:016x}" for word in source.drawn]


def _hexed(thresholds: dict[str, int]) -> dict[str, str]:
    return {name: hex(threshold) for name, threshold in thresholds.items()}


def main() -> int:
    made = vectors()
    differing = []
    for name, text in made.items():
        path = FOLDER / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            differing.append(name)
    if "--check" not in sys.argv:
        FOLDER.mkdir(exist_ok=True)
        for name in differing:
            (FOLDER / name).write_text(made[name], encoding="utf-8")
    print(f"{len(made)} files of vectors; changed: {', '.join(differing) or 'none'}")
    return int("--check" in sys.argv and bool(differing))


if __name__ == "__main__":
    sys.exit(main())
