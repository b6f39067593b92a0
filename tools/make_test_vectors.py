"""Write the test vectors that every implementation of Tacit shares: tests/vectors/*.json.

    python tools/make_test_vectors.py            # write them again, after a mechanism was added
    python tools/make_test_vectors.py --check    # say which differ, and write nothing

The random words behind every vector are listed in it, so another language needs no keystream of ours. Words and
thresholds are hexadecimal text, because not every JSON reader keeps whole numbers beyond 2**53.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import numpy as np

from tacit.audit.testing import RecordedWords
from tacit.collection.wire import encode_message
from tacit.counts.provenance import Provenance
from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for
from tacit.plan import Plan
from tacit.randomness import SeededRandomness
from tacit.randomness.bernoulli import COIN, bernoulli_bits

FOLDER = Path(__file__).parents[1] / "tests" / "vectors"
THRESHOLDS = (0, 1, COIN // 4, COIN // 2, COIN // 3, 3 * (COIN // 4), COIN - 1, COIN)
MANY = {COIN // 4: (1025,), COIN // 3: (1025, 5000, 40_000)}  # coins enough for one, two and three rounds
SHAPES = ((2, 0.5), (3, 2.0), (8, 1.0), (17, 2.2), (17, 5.89), (100, 1.0))
MORE_SHAPES = {"subset": ((24, 1.0), (33, 0.1), (300, 3.0), (5000, 8.0))}  # two blocks, no coins, wide lanes
N_REPORTS = 6
PRIVATE = (("place",), ("kind",), ("place", "kind"), ("time", "place", "kind"))  # of plans with kinds
MESSAGES = Domain(TimeAxis.between("2018-01-01", "2018-01-31"), PlaceAxis.of([f"place {i}" for i in range(17)]))
ID = bytes(range(16))  # of messages: devices draw their own
EVENTS = [[4, 2, 1], [0, 1, 0], [4, 0, 1], [0, 1, 1], [2, 2, 0], [4, 2, 1]]  # time, place and kind


def plans() -> dict[str, Any]:
    """Plans, the bytes under their fingerprints, and the fingerprints."""
    ended = Domain(TimeAxis.between("2018-01-01", "2018-03-31", zone="Europe/Paris"), PlaceAxis.of(["north", "été"]))
    hourly = Domain(TimeAxis("2018-01-01", "2 hours"), PlaceAxis.of([f"place {number}" for number in range(17)]))
    made = [
        *(plan_for(ended, epsilon=2.0, mechanism=name) for name in sorted(MECHANISMS)),
        plan_for(hourly, f=0.5),
        plan_for(ended, epsilon=1.0, mechanism="unary", private=("time",)),
        plan_for(ended, epsilon=0.1, mechanism="unary", private=("time", "place")),
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


def vectors() -> dict[str, str]:
    """The content of every file, by its name."""
    made = {"plan": plans(), "coins": coins(), "message": messages(), "message-kinds": messages_with_kinds()}
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
