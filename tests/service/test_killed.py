"""A collector that is killed under load has counted every message that it acknowledged, and none twice."""

from __future__ import annotations

import signal
import threading
import time
from datetime import UTC, datetime

import numpy as np
import pytest

from service_worlds import collector, survey_of
from tacit.client import Outbox
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.randomness import SecureRandomness

N_SENDERS, N_MESSAGES, N_KILLS = 3, 40, 2


@pytest.mark.slow
def test_killed_again_and_again_it_counts_every_message_once(database, tmp_path):
    places = PlaceAxis.of([f"place {number}" for number in range(17)])
    survey = survey_of(Domain(TimeAxis("2026-01-01", "day"), places), late=3)
    today = survey.now(datetime.now(UTC))
    expected = np.zeros(17, np.int64)
    with collector(database, tmp_path / "collected", survey) as (running, store, token):
        boxes = [Outbox(tmp_path / f"sender {n}", running.url, token=token) for n in range(N_SENDERS)]
        for box in boxes:
            for _ in range(N_MESSAGES):
                cells = np.arange(10) % 17
                data = survey.form.randomize(np.full(10, today), cells, randomness=SecureRandomness())
                batch = survey.form.parse(data)
                expected += survey.form.mechanism.statistics(batch.reports, batch.run_lengths)[0]
                box.put(data, batch.id)

        def work(box):
            while len(box):
                assert not box.send(tries=1).refused
                time.sleep(0.02)

        threads = [threading.Thread(target=work, args=(box,)) for box in boxes]
        for thread in threads:
            thread.start()
        n_kills = 0
        while n_kills < N_KILLS and any(thread.is_alive() for thread in threads):
            time.sleep(0.1)
            running.stop(signal.SIGKILL)
            running.start()
            n_kills += 1
        for thread in threads:
            thread.join(120)
        assert not any(len(box) for box in boxes)
        tally = store.tally(survey)
        assert tally.n_reports == 10 * N_SENDERS * N_MESSAGES
        assert tally.statistics[today].tolist() == expected.tolist()
        assert running.stop(signal.SIGTERM) == 0
        assert '"event": "stopped"' in running.log.read_text()
    assert n_kills == N_KILLS
