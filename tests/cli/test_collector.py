"""Surveys, tokens and backups of a collector from the command line, and what tacit serve shows where."""

from __future__ import annotations

import os
import pty
import re
import signal
import socket
import subprocess
import sys

import pytest

from service_worlds import free_port, survey_of, when_up
from tacit.service.store import Store
from tacit.service.tokens import EVERY_SURVEY, Scope

STORE = "sqlite:///collector.sqlite"


@pytest.fixture
def plan(tmp_path):
    survey_of().plan.write(tmp_path / "plan.toml")
    return "plan.toml"


def test_a_survey_is_made_once_and_shows_its_tokens_once(tacit, plan):
    made = tacit("collector", "survey", plan, "--survey", "visits")
    assert made.code == 0
    tokens = re.findall(r"shown once: (\S{43})$", made.out, re.MULTILINE)
    assert len(tokens) == 2
    again = tacit("collector", "survey", plan, "--survey", "visits")
    assert "there already" in again.out
    assert "shown once" not in again.out
    listed = tacit("collector", "tokens").out
    assert not any(token in listed for token in tokens)
    assert "visits" in tacit("collector", "surveys").out
    store = Store(STORE)
    scopes = [Scope.WRITE, Scope.READ]
    assert [store.tokens.allows(*pair, "visits") for pair in zip(tokens, scopes, strict=True)] == [True, True]
    store.close()


def test_a_survey_that_is_there_takes_the_options_that_are_given_and_keeps_the_rest(tacit, plan, tmp_path):
    survey = ("collector", "survey", plan, "--survey", "visits")
    tacit(*survey, "--late", 17)
    assert "with the same plan and settings" in tacit(*survey).out
    changed = tacit(*survey, "--public", "--late", 30, "--title", "Visits")
    assert changed.out.splitlines() == [
        "Survey visits: late is 30 now, and was 17.",
        "Survey visits: public is true now, and was false.",
        "Survey visits: title is Visits now, and was left out.",
        "A server that runs takes late and open at its next look for periods to close.",
    ]
    assert tacit(*survey, "--open").out.startswith("Survey visits: open is true now, and was false.\n")
    other = survey_of(epsilon=3.0)
    other.plan.write(tmp_path / "other.toml")
    refused = tacit("collector", "survey", "other.toml", "--survey", "visits", "--late", 2)
    assert refused.code == 2
    plans = (survey_of().form.plan_id[:12], other.form.plan_id[:12])
    assert "there is a survey visits already, whose plan is {}, and not {}.".format(*plans) in refused.err
    store = Store(STORE)
    found = store.survey("visits")
    assert (found.late, found.is_open, store.shelf.outlet(found).is_public) == (30, True, True)
    store.close()


def test_an_option_that_the_file_says_otherwise_is_told_to_hold_until_the_next_start(tacit, plan, tmp_path):
    (tmp_path / "tacit.toml").write_text(
        'store = "sqlite:///collector.sqlite"\n[surveys.visits]\nplan = "plan.toml"\nlate = 3\npublic = true\n'
    )
    survey = ("collector", "survey", plan, "--survey", "visits", "--config", "tacit.toml")
    tacit(*survey, "--late", 3)
    changed = tacit(*survey, "--late", 30, "--public", "--title", "Visits").out
    assert "tacit.toml says late = 3 for visits, and so it is again at the next start. Change it there.\n" in changed
    assert changed.count("tacit.toml says") == 1
    assert "tacit.toml says" not in tacit(*survey).out


def test_tokens_are_made_listed_and_taken_back(tacit, plan):
    tacit("collector", "survey", plan, "--survey", "visits", "--open")
    made = tacit("collector", "token", "--survey", "visits", "--scope", "read", "--name", "desk")
    token = made.out.split()[-1]
    admin = tacit("collector", "token", "--scope", "admin", "--name", "me").out.split()[-1]
    listed = tacit("collector", "tokens").out
    assert re.search(r"desk\s+│ read\s+│ visits", listed)
    assert re.search(r"me\s+│ admin\s+│ \*", listed)
    assert token not in listed
    assert tacit("collector", "revoke", "desk").code == 0
    store = Store(STORE)
    assert not store.tokens.allows(token, Scope.READ, "visits")
    assert store.tokens.allows(admin, Scope.ADMIN, EVERY_SURVEY)
    store.close()
    for words, said in (
        (["revoke", "desk"], "there is no token desk"),
        (["token", "--survey", "none"], "no survey of this name"),
        (["token", "--survey", "visits", "--scope", "all"], "--scope must be write, read or admin"),
        (["token", "--scope", "read"], "for one survey"),
        (["token", "--survey", "visits", "--name", "me"], "there is a token me already"),
    ):
        ran = tacit("collector", *words)
        assert ran.code != 0
        assert said in ran.err


def test_a_store_that_is_not_there_is_a_wrong_name(tacit, tmp_path):
    ran = tacit("collector", "tokens", "--store", "sqlite:///none.sqlite")
    assert ran.code == 2
    assert "there is no store at none.sqlite" in ran.err
    assert not (tmp_path / "none.sqlite").exists()


def test_a_start_with_an_administrators_token_that_was_taken_back_is_refused_and_makes_nothing(tacit, plan, tmp_path):
    (tmp_path / "token").write_text("t" * 40)
    (tmp_path / "tacit.toml").write_text('admin_token_file = "token"\nstore = "sqlite:///collector.sqlite"\n')
    store = Store(STORE)
    store.tokens.configure_admin("t" * 40)
    store.close()
    revoked = tacit("collector", "revoke", "configured")
    assert "is taken back." in revoked.out
    assert "Write a new token" in revoked.out
    ran = tacit("serve", plan, "--config", "tacit.toml")
    assert (ran.code, "admin_token was taken back. Write a new token" in ran.err) == (2, True), ran.err
    assert "t" * 40 not in ran.out + ran.err
    assert "visits" not in tacit("collector", "surveys").out


def test_a_backup_is_made_and_restored(tacit, plan):
    tacit("collector", "survey", plan, "--survey", "visits")
    assert tacit("collector", "backup", "kept").out == "kept: 3 rows and 0 files.\n"
    restored = tacit("collector", "restore", "kept", "--store", "sqlite:///b.sqlite")
    assert restored.out == "3 rows and 0 files are back.\n"
    assert tacit("collector", "restore", "kept").code == 2
    assert "visits" in tacit("collector", "surveys", "--store", "sqlite:///b.sqlite").out


def test_a_restore_that_fails_leaves_no_store(tacit, plan, tmp_path):
    tacit("collector", "survey", plan, "--survey", "visits")
    tacit("collector", "backup", "kept")
    (tmp_path / "kept" / "store.sqlite").write_bytes(b"damaged")
    assert tacit("collector", "restore", "kept", "--store", "sqlite:///b.sqlite").code == 4
    assert tacit("collector", "restore", "none", "--store", "sqlite:///b.sqlite").code == 4
    assert [path.name for path in tmp_path.glob("b.sqlite*")] == []
    assert tacit("collector", "restore", "kept").code == 4
    assert "visits" in tacit("collector", "surveys").out  # one that was there stays


def test_what_is_wrong_in_a_file_is_named_as_it_stands_there(tacit, plan, tmp_path):
    for text, said in (
        ('[surveys.visits]\nplan = "plan.toml"\nrelease_every = "hour"\n', "surveys.visits.release_every must be"),
        ("most_bytes = 3\n", "tacit.toml: most_bytes must be"),
    ):
        (tmp_path / "tacit.toml").write_text(text)
        ran = tacit("serve", "--config", "tacit.toml")
        assert (ran.code, said in ran.err) == (2, True), ran.err
        assert "--" not in ran.err
    ran = tacit("serve", plan, "--release-every", "hour")
    assert "--release-every must be" in ran.err


def test_a_key_that_cannot_be_read_is_refused_before_anything_is_made(tacit, plan, tmp_path):
    (tmp_path / "a.key").write_text("no key")
    (tmp_path / "a.key").chmod(0o644)
    assert "a.key: everybody may read it." in tacit("serve", plan, "--signing-key", "a.key").err
    (tmp_path / "a.key").chmod(0o600)
    for key in ("a.key", "none.key"):
        ran = tacit("serve", plan, "--signing-key", key)
        assert (ran.code, "started" in ran.err) == (4, False)
        assert key in ran.err
    assert not (tmp_path / "collector.sqlite").exists()


@pytest.mark.parametrize("wrong", ["token", "port", "late", "plan"])
def test_what_cannot_be_served_makes_no_survey(tacit, plan, tmp_path, monkeypatch, wrong):
    """The next start would show no tokens of a survey that is there."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        words = {"port": ["--port", taken.getsockname()[1]], "late": ["--late", 10**30]}.get(wrong, [])
        if wrong == "token":
            monkeypatch.setenv("TACIT_ADMIN_TOKEN", "short")
        if wrong == "plan":
            path = tmp_path / plan
            path.write_text(re.sub(r"(?m)^name = .*$", r'name = "a\\u0000b"', path.read_text(), count=1))
        ran = tacit("serve", plan, "--survey", "visits", *words)
    assert ran.code in (2, 4)
    said = {"token": "admin_token must have", "port": "cannot be listened at", "late": "--late must be a whole number"}
    assert said.get(wrong, "the plan's name must be on one line") in ran.err
    assert not (tmp_path / "collector.sqlite").exists() or not Store(STORE).surveys()


def test_postgresql_without_its_driver_is_told_in_one_sentence(tacit, plan, monkeypatch):
    monkeypatch.setitem(sys.modules, "psycopg", None)  # as if it were not installed
    ran = tacit("serve", plan, "--store", "postgresql://a@127.0.0.1:1/b")
    assert ran.code == 2
    assert "this needs psycopg, which is not installed. Run: pip install 'tacit[postgres]'" in ran.err


def test_what_serve_is_told_wrongly_changes_nothing(tacit, plan, tmp_path):
    for words, said in (
        ([], "there is no survey yet"),
        (["--survey", "visits"], "Name the plan too"),
        ([plan, "--port", "70000"], "--port must be a whole number, from 1 to 65,535"),
        ([plan, "--config", "none.toml"], "there is no file none.toml"),
    ):
        ran = tacit("serve", *words)
        assert ran.code == 2
        assert said in ran.err
    (tmp_path / "tacit.toml").write_text('[surveys.a]\nplan = "plan.toml"\n[surveys.b]\nplan = "none.toml"\n')
    assert tacit("serve", "--config", "tacit.toml").code == 4
    assert not (tmp_path / "collector.sqlite").exists() or not Store(STORE).surveys()


@pytest.mark.slow
@pytest.mark.parametrize("is_terminal", [True, False])
def test_serve_shows_tokens_on_a_terminal_and_nowhere_else(plan, tmp_path, is_terminal):
    port = free_port()
    words = ["serve", plan, "--survey", "visits", "--port", str(port)]
    counted = "atexit.register(lambda: print('frozen', gc.get_freeze_count(), file=sys.stderr))"
    code = f"import atexit, gc, sys; {counted}; from tacit.cli import main; main()"
    command = [sys.executable, "-c", code, *words]
    ours, theirs = pty.openpty() if is_terminal else os.pipe()
    log = (tmp_path / "log").open("wb")
    process = subprocess.Popen(command, cwd=tmp_path, stdout=theirs, stderr=log, env=os.environ | {"COLUMNS": "200"})
    os.close(theirs)
    when_up(port, process)
    said = os.read(ours, 100_000).decode()
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    os.close(ours)
    log.close()
    frozen = re.search(r"^frozen (\d+)$", (tmp_path / "log").read_text(), re.MULTILINE)
    assert int(frozen[1]) > 10_000  # what was loaded is out of searches for garbage
    assert said.count("shown once") == (3 if is_terminal else 0)
    assert ("Make them with: tacit collector token" in said) == (not is_terminal)
    store = Store(f"sqlite:///{tmp_path / 'collector.sqlite'}")
    assert len(store.tokens.listed()) == (3 if is_terminal else 0)
    store.close()
