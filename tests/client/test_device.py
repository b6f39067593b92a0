"""A device randomizes before anything is kept or sent, keeps to its plan and its budget, and loses nothing."""

from __future__ import annotations

import json
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from datetime import UTC, date, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tacit.cli import console
from tacit.client import Device, Outbox
from tacit.client.outbox import Intake
from tacit.client.published import PublishedSurvey
from tacit.client.stations import messages_of, queue_reports
from tacit.collection.tallying import tally_reports
from tacit.collection.wire import MessageFormat, RandomizingWriter
from tacit.counts.tally import Tally
from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.errors import BudgetExhausted, FormatError, PlanError, PlanMismatch, SettingError
from tacit.mechanisms.registry import plan_for
from tacit.randomness import SecureRandomness

DOMAIN = Domain(TimeAxis("2026-11-01", "day", "Europe/Paris"), PlaceAxis.of(["north", "south", "west"]))
PLAN = plan_for(DOMAIN, epsilon=2.0)
NOON = datetime(2026, 11, 17, 12, tzinfo=UTC)
COUNTED = (200, {}, b'{"outcome": "counted", "n_reports": 1}')


def refusal(status, kind, title="Title", detail="no."):
    """The answer of a collector that does not count a message."""
    document = {"type": f"urn:tacit:problem:{kind}", "title": title, "detail": detail}
    return status, {}, json.dumps(document).encode()


class Peer(ThreadingHTTPServer):
    """A server that gives a plan and answers reports as it is told, over a real connection."""

    def __init__(self, plan):
        super().__init__(("127.0.0.1", 0), Handler)
        self.document = plan.to_dict() | {"fingerprint": plan.fingerprint}
        self.answers: list[tuple[int, dict[str, str], bytes]] = []
        self.received: list[bytes] = []
        self.status, self.n_asked = 200, 0
        self.intake = {
            "plan": plan.fingerprint,
            "access": "allowed",
            "is_simulation": False,
            "first": 0,
            "last": 10_000,
        }
        self.url = f"http://127.0.0.1:{self.server_address[1]}/v1/surveys/visits"


class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        if not self.path.endswith("/intake"):
            self.reply(200, {}, json.dumps(self.server.document).encode())
            return
        self.server.n_asked += 1
        self.reply(self.server.status, {}, json.dumps(self.server.intake).encode())

    def do_POST(self):
        self.server.received.append(self.rfile.read(int(self.headers["Content-Length"])))
        answers = self.server.answers
        self.reply(*(answers.pop(0) if answers else COUNTED))

    def reply(self, status, headers, content):
        if status == 0:  # the connection is cut before an answer
            self.connection.close()
            return
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


@contextmanager
def peer(plan=PLAN):
    server = Peer(plan)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def test_what_is_queued_and_sent_is_a_message_of_the_plan_and_nothing_true(tmp_path):
    with peer() as server:
        device = Device(server.url, tmp_path, per_period=3)
        for _ in range(3):
            device.report("south", time=NOON)
        assert len(device.outbox) == 3
        kept = b"".join(path.read_bytes() for path in tmp_path.rglob("*.message"))
        assert b"south" not in kept
        assert b"south" not in (tmp_path / "spent.json").read_bytes()
        assert device.send().n_counted == 3
        assert len(device.outbox) == 0
        batches = [MessageFormat.of(PLAN).parse(data) for data in server.received]
        assert [batch.bins.tolist() for batch in batches] == [[16]] * 3
        assert not any(batch.provenance.is_simulation for batch in batches)


def test_a_device_makes_no_more_reports_of_a_period_than_it_may_even_after_a_restart(tmp_path):
    with peer() as server:
        device = Device(server.url, tmp_path, per_period=2)
        device.report("south", time=NOON)
        device.report("south", time=NOON)
        for one in (device, Device(server.url, tmp_path, per_period=2)):
            with pytest.raises(BudgetExhausted, match="2 of 2"):
                one.report("south", time=NOON)
        assert len(device.outbox) == 2
        device.report("south", time=datetime(2026, 11, 18, 12, tzinfo=UTC))


def test_processes_that_share_a_folder_share_its_budget(tmp_path):
    """Ten devices of one folder, each as another process would have it, report at a time."""
    with peer() as server:
        devices = [Device(server.url, tmp_path, per_period=3) for _ in range(10)]
        together = threading.Barrier(10)

        def reported(device):
            together.wait()
            try:
                device.report("south", time=NOON)
            except BudgetExhausted:
                return False
            return True

        with ThreadPoolExecutor(10) as pool:
            assert sum(pool.map(reported, devices)) == 3
        assert len(devices[0].outbox) == 3


def test_the_plan_is_fetched_once_and_a_weaker_one_is_never_taken(tmp_path):
    weaker = plan_for(DOMAIN, epsilon=8.0)
    with peer() as server:
        Device(server.url, tmp_path)
        server.document = weaker.to_dict() | {"fingerprint": weaker.fingerprint}
        assert Device(server.url, tmp_path).epsilon == 2.0
        with pytest.raises(PlanMismatch):
            Device(server.url, tmp_path / "other", plan_id=PLAN.fingerprint)
        assert not (tmp_path / "other" / "plan.json").exists()


def test_a_plan_whose_thresholds_give_more_than_its_epsilon_is_refused(tmp_path):
    stated = plan_for(DOMAIN, epsilon=8.0).to_dict()
    stated["privacy"]["epsilon"] = 2.0
    with peer() as server:
        server.document = stated
        with pytest.raises(PlanError, match="thresholds give"):
            Device(server.url, tmp_path)
        server.document = {"no": "plan"}
        with pytest.raises(PlanError):
            Device(server.url, tmp_path)


def test_a_place_that_is_not_the_plans_is_refused_unsaid_and_nothing_is_spent(tmp_path):
    with peer() as server:
        device = Device(server.url, tmp_path)
        with pytest.raises(SettingError) as refused:
            device.report("my secret place", time=NOON)
        assert "secret" not in str(refused.value)
        with pytest.raises(SettingError, match="place must be given"):
            device.report(time=NOON)
        with pytest.raises(SettingError, match="outside"):
            device.report("south", time=datetime(2020, 1, 1, tzinfo=UTC))
        device.report("south", time=NOON)


def test_kinds_and_local_times_are_understood(tmp_path):
    plan = plan_for(Domain(DOMAIN.time, DOMAIN.place, KindAxis.of(["x", "y"])), epsilon=2.0, private=("kind",))
    with peer(plan) as server:
        device = Device(server.url, tmp_path, per_period=5)
        device.report("south", "y", time=datetime(2026, 11, 17, 23, 30))
        device.report("south", "y", time=datetime(2026, 11, 17, 23, 30, tzinfo=UTC))
        device.send()
        found = {tuple(MessageFormat.of(plan).parse(data).bins.tolist()) for data in server.received}
        assert found == {(16 * 3 + 1,), (17 * 3 + 1,)}


@pytest.mark.parametrize("mechanism", ["longitudinal", "longitudinal hashing"])
def test_where_the_mechanism_remembers_the_memo_is_kept(tmp_path, mechanism):
    plan = plan_for(DOMAIN, epsilon=1.0, mechanism=mechanism)
    with peer(plan) as server:
        Device(server.url, tmp_path).report("south", time=NOON)
        before = (tmp_path / "memo.json").read_bytes()
        Device(server.url, tmp_path, per_period=2).report("south", time=NOON)
        assert (tmp_path / "memo.json").read_bytes() == before


def test_sent_again_with_the_same_id_after_a_cut_a_busy_answer_and_a_lost_answer(tmp_path):
    waits = []
    with peer() as server:
        device = Device(server.url, tmp_path)
        device.report("south", time=NOON)
        server.answers = [(0, {}, b""), (503, {"Retry-After": "7"}, b""), (429, {}, b""), COUNTED]
        assert device.send(sleep=waits.append).n_counted == 1
        assert len(set(server.received)) == 1
        assert len(server.received) >= 4
        assert waits[1] >= 7
        assert all(0 < wait <= 60 for wait in waits)


def test_offline_nothing_is_lost_and_later_it_is_sent(tmp_path):
    with peer() as server:
        device = Device(server.url, tmp_path)
        device.report("south", time=NOON)
        url = server.url
    assert Device(url, tmp_path).send(tries=2, sleep=lambda _: None).n_waiting == 1
    with pytest.raises(FormatError, match="gave no plan"):
        Device(url, tmp_path / "another")


def test_what_is_refused_for_good_is_kept_apart_with_the_reason(tmp_path):
    with peer() as server:
        device = Device(server.url, tmp_path)
        device.report("south", time=NOON)
        server.answers = [refusal(409, "late", "Too late", "no more reports are taken.")]
        sent = device.send()
        assert sent.refused == {"Too late: no more reports are taken.": 1}
        assert sent.n_waiting == 0
        assert len(list((tmp_path / "refused").glob("*.message"))) == 1


def untouched(folder):
    """Nothing was spent, drawn or queued."""
    return json.loads((folder / "spent.json").read_text()) == {} and not list(folder.rglob("*.message"))


def test_whoever_is_too_late_is_not_told_that_a_closed_period_can_be_opened():
    plan_id, time = "0" * 32, TimeAxis("2026-11-01", "day")
    with pytest.raises(SettingError) as refused:
        Intake(plan_id, "allowed", False, range(16, 18)).check_periods(time, 3, 3)
    for words in (str(refused.value), console.REMEDIES[refused.value.remedy]):
        assert "stays closed" in words
        assert "late" not in words


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ({"access": "no-token"}, "none was given"),
        ({"access": "no-right"}, "was taken back"),
        ({"first": 17, "last": 18}, "takes reports of 2026-11-18 to 2026-11-19 now, and these are of 2026-11-17"),
        ({"first": None, "last": None}, "takes no reports now"),
        ({"is_simulation": True}, "simulated reports alone"),
    ],
)
def test_what_the_collector_would_refuse_is_refused_before_anything_is_spent(tmp_path, told, words):
    with peer() as server:
        device = Device(server.url, tmp_path, token="a-token")
        allowed, server.intake = server.intake, server.intake | told
        with pytest.raises(SettingError, match=words):
            Device(server.url, tmp_path, token="a-token").report("south", time=NOON)
        assert untouched(tmp_path)
        server.intake = allowed
        device.report("south", time=NOON)
        assert device.send().n_counted == 1


@pytest.mark.parametrize(
    ("begins", "n_bins", "words"),
    [
        (-2, None, r"period of now, \S+, is closed already.* The next one, \S+, is taken when it begins\. Nothing"),
        (-2, 3, "closed already.* It was the last one"),
        (-9, 3, "it is over; its last period was"),
        (2, None, "it begins with"),
    ],
)
def test_why_no_period_is_taken_is_said(begins, n_bins, words):
    first = (datetime.now(UTC) + timedelta(days=begins)).date().isoformat()
    none = Intake(PLAN.fingerprint, "allowed", False, range(0))
    with pytest.raises(SettingError, match=words):
        none.check_periods(TimeAxis(first, "day", n_bins=n_bins), 0, 0)


def test_another_plan_at_the_address_is_noticed_before_anything_is_spent(tmp_path):
    with peer() as server:
        Device(server.url, tmp_path)
        server.intake["plan"] = "0" * 32
        with pytest.raises(PlanMismatch):
            Device(server.url, tmp_path).report("south", time=NOON)
        assert untouched(tmp_path)


@pytest.mark.parametrize(
    ("status", "answer"), [(503, {}), (404, {}), (200, {"a page": "of the network"}), (200, "hello")]
)
def test_what_is_no_answer_of_a_collector_stops_nothing(tmp_path, monkeypatch, status, answer):
    with peer() as server:
        server.status, server.intake = status, answer
        device = Device(server.url, tmp_path, per_period=3)
        monkeypatch.setattr(device, "_now", lambda: device._asked_in or 0)
        for _ in range(3):
            device.report("south", time=NOON)
        assert len(device.outbox) == 3
        assert server.n_asked == 1  # not for every report
        device.send()
        device.report("south", time=datetime(2026, 11, 16, 12, tzinfo=UTC))
        assert server.n_asked == 2


def test_a_device_asks_once_in_a_period_so_that_nobody_sees_when_its_events_are(tmp_path, monkeypatch):
    with peer() as server:
        device = Device(server.url, tmp_path, per_period=9)
        now = device._now()
        monkeypatch.setattr(device, "_now", lambda: now)
        for _ in range(5):
            device.report("south")
        assert server.n_asked == 1
        monkeypatch.setattr(device, "_now", lambda: now + 1)
        device.report("south")
        assert server.n_asked == 2
        server.answers = [refusal(409, "late")]
        device.send()
        device.report("south")
        assert server.n_asked == 3


@pytest.mark.parametrize("status", [401, 403])
def test_messages_wait_until_the_token_is_mended(tmp_path, status):
    with peer() as server:
        device = Device(server.url, tmp_path, per_period=2)
        device.report("south", time=NOON)
        device.report("west", time=NOON)
        server.answers = [refusal(status, "no-right", "Not allowed", "this token was taken back.")]
        sent = device.send()
        assert (sent.n_counted, sent.n_waiting, sent.refused) == (0, 2, {})
        assert sent.held_up == "Not allowed: this token was taken back."
        assert len(server.received) == 1
        assert Device(server.url, tmp_path, token="mended").send().n_counted == 2


def test_a_message_that_is_damaged_on_its_way_is_sent_again_and_waits_if_it_always_is(tmp_path):
    damaged = refusal(400, "damaged", "Damaged")
    with peer() as server:
        device = Device(server.url, tmp_path, per_period=2)
        device.report("south", time=NOON)
        server.answers = [damaged]
        assert device.send(sleep=lambda _: None).n_counted == 1
        device.report("south", time=NOON)
        server.answers = [damaged] * 3
        sent = device.send(tries=3, sleep=lambda _: None)
        assert (sent.n_waiting, sent.refused, sent.held_up) == (1, {}, "Damaged: no.")


@pytest.mark.parametrize("harm", [lambda _: b"", lambda data: data[:20], lambda data: data[:-9] + b"?" + data[-8:]])
def test_a_message_that_was_damaged_on_the_disk_is_not_sent_and_said_to_be_lost(tmp_path, harm):
    with peer() as server:
        device = Device(server.url, tmp_path)
        device.report("south", time=NOON)
        (path,) = (tmp_path / "waiting").iterdir()
        path.write_bytes(harm(path.read_bytes()))
        ((why, n),) = device.send().refused.items()
        assert "Damaged on this disk" in why
        assert n == 1
        assert server.received == []
        assert (tmp_path / "refused" / path.name).exists()


@pytest.mark.parametrize(
    "answer", [(404, {}, b"<html>"), (413, {}, b"{}"), (302, {}, b""), (200, {}, b"<html>"), (200, {}, b"{}")]
)
def test_a_message_waits_where_something_else_than_a_collector_answers(tmp_path, answer):
    with peer() as server:
        device = Device(server.url, tmp_path)
        device.report("south", time=NOON)
        server.answers = [answer]
        sent = device.send()
        assert (sent.n_counted, sent.n_waiting, sent.refused) == (0, 1, {})
        assert sent.held_up == f"What answered is no collector: HTTP status {answer[0]}."
        assert device.send().n_counted == 1


@pytest.mark.parametrize("time", ["2026-11-18", date(2026, 11, 18)])
def test_a_time_that_is_no_datetime_is_refused_unsaid(tmp_path, time):
    with peer() as server:
        device = Device(server.url, tmp_path)
        with pytest.raises(SettingError, match="must be a datetime; got one of type") as refused:
            device.report("south", time=time)
        assert "2026" not in str(refused.value)
        assert untouched(tmp_path)


@pytest.mark.parametrize("token", ["secret\n", "secret ", "", "sécret", "two words"])
def test_a_token_that_no_request_can_carry_is_refused_unsaid_and_nothing_is_spent(tmp_path, token):
    with peer() as server:
        Device(server.url, tmp_path, token="secret")
        with pytest.raises(SettingError, match="the token must have letters, digits") as refused:
            Device(server.url, tmp_path, token=token)
        assert "cret" not in str(refused.value)
        assert json.loads((tmp_path / "spent.json").read_text()) == {}
        with pytest.raises(SettingError, match="the token must have letters"):
            PublishedSurvey(server.url, token=token)


@pytest.mark.parametrize("name", ["plan.json", "spent.json"])
@pytest.mark.parametrize("content", [b"", None])
def test_a_device_that_lost_its_plan_or_account_is_told_to_restore_it(tmp_path, name, content):
    with peer() as server:
        Device(server.url, tmp_path).report("south", time=NOON)
        (tmp_path / name).unlink() if content is None else (tmp_path / name).write_bytes(content)
        if name == "plan.json" and content is None:  # the plan is public, and what was spent is still known
            with pytest.raises(BudgetExhausted):
                Device(server.url, tmp_path).report("south", time=NOON)
            return
        with pytest.raises((FormatError, PlanError), match="would not know what it has reported"):
            Device(server.url, tmp_path)


def test_a_folder_among_the_messages_is_no_message(tmp_path):
    with peer() as server:
        device = Device(server.url, tmp_path)
        (tmp_path / "waiting" / "x.message").mkdir()
        device.report("south", time=NOON)
        assert device.send().n_counted == 1


def test_an_address_without_a_scheme_is_refused(tmp_path):
    with pytest.raises(SettingError, match="https://"):
        Outbox(tmp_path, "counts.example/v1/surveys/visits")


def test_a_report_file_becomes_the_same_messages_each_time(tmp_path, monkeypatch):
    import numpy as np

    monkeypatch.setattr("tacit.client.stations.REPORTS_AT_ONCE", 7)
    path = tmp_path / "a.reports"
    with RandomizingWriter(path, PLAN, randomness=SecureRandomness()) as writer:
        writer.add(np.arange(40) % 5, np.arange(40) % 3)
    made = list(messages_of(path, PLAN))
    assert made == list(messages_of(path, PLAN))
    form = MessageFormat.of(PLAN)
    total = Tally.zero(PLAN.fingerprint, form.mechanism.n_statistics)
    for id, message in made:
        batch = form.parse(message)
        assert len(batch.bins) == 1  # each message is of one period
        assert batch.id == id
        assert batch.n_reports <= 7
        total += form.tally(batch)
    assert total == tally_reports([path], PLAN)
    with peer() as server:
        outbox = Outbox(tmp_path / "outbox", server.url)
        ids = queue_reports(path, PLAN, outbox)
        assert ids == queue_reports(path, PLAN, outbox)
        assert len(ids) == len(made) == len(outbox)
