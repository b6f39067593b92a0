"""Let a fuzzer that follows the branches taken (atheris, libFuzzer) look for bytes that a collector cannot stand.

pip install atheris
python tools/fuzz_messages.py --runs 1000000

The bytes are read as a message of every mechanism, with a checksum that agrees and without one, and as a single report
in JSON. Whatever is counted must add up; what is refused must be refused by an error of ours. Anything else ends the
run with the bytes in a file ``crash-*``. The tests damage messages too, without atheris
(tests/collection/wire/test_fuzz.py, tests/service/test_forged_messages.py).
"""

from __future__ import annotations

import argparse
import hashlib
import sys
import tempfile
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import numpy as np

try:
    import atheris
except ImportError:
    sys.exit("atheris is not installed. Run: pip install atheris")

with atheris.instrument_imports(include=["tacit.collection.wire", "tacit.service.survey", "tacit.service.single"]):
    from tacit.collection.wire import MessageFormat
    from tacit.counts.provenance import Provenance
    from tacit.domain import Domain, PlaceAxis, TimeAxis
    from tacit.errors import TacitError
    from tacit.mechanisms.registry import MECHANISMS, plan_for
    from tacit.randomness import SecureRandomness
    from tacit.service.refusals import Reason, reason_of
    from tacit.service.single import addition_of
    from tacit.service.survey import Survey

NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
DOMAIN = Domain(TimeAxis("2026-11-01", "day"), PlaceAxis.of([f"place {number}" for number in range(9)]))
LONGEST = 400  # bytes: a message of some bins and reports. Longer ones take other sizes, not other branches
SURVEYS = [
    Survey("visits", MessageFormat.of(plan_for(DOMAIN, epsilon=1.5, mechanism=name)), late=5) for name in MECHANISMS
]
SEALED, SINGLE = 64, 128  # added to a mechanism's number: with a checksum that agrees, or as a report in JSON
outcomes: Counter[str] = Counter()


def seeds() -> list[bytes]:
    """Messages and a report of every mechanism, each behind a byte that says how it is read."""
    made = []
    for number, survey in enumerate(SURVEYS):
        for n in (1, 7):
            reports = survey.form.mechanism.randomize(np.arange(n) % 9, randomness=SecureRandomness())
            label = Provenance(survey.form.plan_id)
            message = survey.form.encode(12 + np.arange(n) % 5, reports, label)
            made += [bytes([number]) + message, bytes([SEALED + number]) + message]
        single = f'{{"id": "{"00" * 16}", "report": "{reports[0].tobytes().hex()}", "time": "2026-11-17T09:30"}}'
        made.append(bytes([SINGLE + number]) + single.encode())
    return made


def look(data: bytes) -> None:
    """Read some bytes as a collector does."""
    if not data:
        outcomes["nothing"] += 1
        return
    survey, content = SURVEYS[data[0] % SEALED % len(SURVEYS)], data[1:]
    is_single = data[0] >= SINGLE
    if not is_single and data[0] >= SEALED:
        content = content[:-8] + hashlib.sha256(content[:-8]).digest()[:8]
    try:
        added = addition_of(content, survey, NOON) if is_single else survey.addition(content, NOON)
    except TacitError as refused:
        reason = reason_of(refused)
        if reason is Reason.FAULT:
            raise
        outcomes[reason.value] += 1
        return
    assert added.n_reports == int(added.run_lengths.sum()) == len(added.reports) > 0
    assert added.statistics.shape == (len(added.bins), survey.form.mechanism.n_statistics)
    assert 0 <= added.periods[0] <= added.periods[1] <= 16
    outcomes["counted"] += 1


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=1_000_000)
    n_runs = parser.parse_args().runs

    def looked(data: bytes) -> None:
        look(data)
        if outcomes.total() == n_runs:  # the fuzzer ends the process without a word to Python
            print("what became of them:", dict(outcomes.most_common()), flush=True)

    with tempfile.TemporaryDirectory() as folder:
        for number, content in enumerate(seeds()):
            (Path(folder) / str(number)).write_bytes(content)
        options = [f"-runs={n_runs}", f"-max_len={LONGEST}", "-rss_limit_mb=2048", "-print_final_stats=1"]
        atheris.Setup([sys.argv[0], folder, *options], looked)
        atheris.Fuzz()


if __name__ == "__main__":
    main()
