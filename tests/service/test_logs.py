"""Logs of a busy run with every kind of refusal: nothing of a request is in them, and every line is one JSON object."""

from __future__ import annotations

import io
import json
import logging
import re
import secrets
import signal
import socket
import sys
import threading
import warnings
from dataclasses import replace
from datetime import UTC, datetime

import httpx2
import pytest

from service_worlds import collector, message, survey_of
from tacit.domain import Domain, PlaceAxis, TimeAxis
from tacit.service.app import MESSAGE_TYPE
from tacit.service.logs import JsonLines, log, write_logs
from tacit.service.tokens import Scope

PLACES = ("Quingey-sur-Loue", "Besançon-Planoise", "Ornans-le-Vieux", "Pontarlier-Nord")
SECRET = "a-value-that-nobody-may-read"


@pytest.fixture
def lines():
    """All logs of this process, as the server sends them; what was set before is set again."""
    root, ours = logging.getLogger(), logging.getLogger("tacit.service")
    handlers, levels, hooks = root.handlers[:], (root.level, ours.level), (threading.excepthook, sys.unraisablehook)
    stream = io.StringIO()
    write_logs(stream)
    yield lambda: [json.loads(line) for line in stream.getvalue().splitlines()]
    logging.captureWarnings(False)
    threading.excepthook, sys.unraisablehook = hooks
    root.handlers[:] = handlers
    root.setLevel(levels[0])
    ours.setLevel(levels[1])


def test_an_event_has_a_name_numbers_and_a_time_in_minutes(lines):
    log("closed", survey="visits", periods=3)
    (line,) = lines()
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\dZ", line.pop("at"))
    assert line == {"level": "info", "event": "closed", "survey": "visits", "periods": 3}


def test_of_an_error_the_type_and_the_place_are_logged_and_not_its_words(lines):
    try:
        int(SECRET)
    except ValueError as error:
        log("fault", level=logging.ERROR, error=error)
        logging.getLogger("uvicorn.error").error("failed with %s", SECRET, exc_info=True)
        logging.getLogger("asyncio").error(f"Future exception was never retrieved: {SECRET}")
    thread = threading.Thread(target=int, args=(SECRET,))
    thread.start()
    thread.join()
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.warn(SECRET, stacklevel=1)
    found = lines()
    assert SECRET not in str(found)
    assert [one["event"] for one in found] == ["fault", "library", "library", "fault", "library"]
    assert found[0]["error"] == found[1]["error"] == found[3]["error"] == "ValueError"
    assert found[0]["where"].startswith("test_logs.py:")
    assert [one["library"] for one in found if one["event"] == "library"] == ["uvicorn", "asyncio", "py"]


def test_a_line_end_in_a_field_does_not_make_two_lines():
    record = logging.LogRecord("tacit.service", logging.INFO, "", 0, "closed\n{}", (), None)
    assert "\n" not in JsonLines().format(record)


@pytest.mark.slow
def test_a_busy_run_with_every_refusal_logs_no_report_token_place_or_address(tmp_path):
    domain = Domain(TimeAxis("2026-01-01", "day"), PlaceAxis.of(PLACES))
    survey = survey_of(domain, late=1)
    other = survey_of(domain, epsilon=1.0)
    today = survey.now(datetime.now(UTC))
    sent: list[bytes] = []
    with collector(f"sqlite:///{tmp_path / 'a.sqlite'}", tmp_path / "collected", survey) as (running, store, token):
        tokens = [token, *(store.tokens.new(scope, "visits") for scope in (Scope.READ, Scope.ADMIN)), SECRET]
        base = running.url.partition("/v1/")[0]
        headers = {"Authorization": f"Bearer {token}", "Content-Type": MESSAGE_TYPE}
        single = {"id": secrets.token_hex(16), "report": "00", "time": "2025-03-04T08:15:30Z", "place": PLACES[0]}

        def ask(content=b"", where=f"{running.url}/reports", method="POST", **changed):
            sent.append(content)
            return httpx2.request(method, where, content=content, headers=headers | changed, timeout=60).status_code

        def with_label(**changed):
            batch = survey.form.parse(message(survey, [today]))
            return survey.form.encode(batch.bins, batch.reports, replace(batch.provenance, **changed))

        reader, administrator = ({"Authorization": f"Bearer {one}"} for one in tokens[1:3])
        large = secrets.token_bytes((16 << 20) + 1)
        answers = {
            "counted": ask(message(survey, [today] * 300)),
            "large and counted": ask(message(survey, [today] * 20_000)),
            "malformed": ask(secrets.token_bytes(90)),
            "JSON": ask(json.dumps(single).encode(), **{"Content-Type": "application/json"}),
            "other plan": ask(message(other, [today])),
            "label": ask(with_label(is_simulation=True)),
            "early": ask(message(survey, [today + 3])),
            "late": ask(message(survey, [today - 5])),
            "too large": ask(large),
            "no token": ask(message(survey, [today]), Authorization=""),
            "no right": ask(message(survey, [today]), Authorization=f"Bearer {SECRET}"),
            "media type": ask(message(survey, [today]), **{"Content-Type": "text/plain"}),
            "unknown": ask(where=f"{base}/{PLACES[0]}", method="GET"),
            "unknown survey": ask(where=f"{base}/v1/surveys/{SECRET}/plan", method="GET"),
            "method": ask(where=f"{running.url}/plan", method="DELETE"),
            "question": ask(where=f"{running.url}/answer?place={PLACES[1]}", method="GET", **reader),
            "operator": ask(where=f"{base}/v1/operator", method="GET", **administrator),
        }
        sent.append(message(survey, [today] * 9))
        with socket.create_connection(("127.0.0.1", running.port)) as connection:  # cut in the middle
            head = f"POST /v1/surveys/visits/reports HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n"
            connection.sendall(f"{head}Content-Length: 5000\r\n\r\n".encode() + sent[-1])
        with socket.create_connection(("127.0.0.1", running.port)) as connection:  # no HTTP at all
            connection.sendall(SECRET.encode() + b"\r\n\r\n")
            connection.recv(1000)
        assert running.stop(signal.SIGTERM) == 0
        logged = running.log.read_bytes()
    assert {answers["counted"], answers["large and counted"], answers["operator"]} == {200}
    assert all(400 <= status < 500 for name, status in answers.items() if status != 200), answers
    found = [json.loads(line) for line in logged.splitlines()]
    refused = {one["reason"] for one in found if one["event"] == "refused"}
    assert refused >= {
        *("malformed", "other-plan", "label", "early", "late", "too-large", "no-token", "no-right", "media-type")
    }
    assert found[0]["event"] == "started"
    assert found[-1]["event"] == "stopped"
    text = logged.decode()
    told = (*PLACES, *tokens, "127.0.0.1", "localhost")
    assert [word for word in told if word in text or json.dumps(word)[1:-1] in text] == []
    assert str(running.port) not in text
    for content in sent:  # eight bytes anywhere of anything that was sent
        pieces = {content[start : start + 8] for start in range(0, min(len(content), 4096) - 8, 4)}
        assert not any(piece in logged or piece.hex().encode() in logged for piece in pieces if len(set(piece)) > 2)
