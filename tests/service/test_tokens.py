"""Tokens allow what they were made for, are listed by name alone, and can be taken back, on both databases."""

from __future__ import annotations

import sqlite3

import pytest
import sqlalchemy as sa
from alembic.config import Config
from alembic.runtime.environment import EnvironmentContext
from alembic.script import ScriptDirectory

from service_worlds import survey_of
from tacit.errors import SettingError
from tacit.service import migrations
from tacit.service.letting_in import token_in
from tacit.service.store import Store
from tacit.service.tokens import CONFIGURED, EVERY_SURVEY, NamedToken, Scope

SURVEY = survey_of()


def test_tokens_allow_what_they_were_made_for_until_they_are_taken_back(store):
    store.add_survey(SURVEY)
    write, read, admin = (store.tokens.new(scope, "visits", name=f"one-{scope.value}") for scope in Scope)
    allowed = {
        (one, scope): store.tokens.allows(token, scope, "visits")
        for one, token in (("write", write), ("read", read), ("admin", admin))
        for scope in Scope
    }
    assert {key for key, is_allowed in allowed.items() if is_allowed} == {
        ("write", Scope.WRITE),
        ("read", Scope.READ),
        *(("admin", scope) for scope in Scope),
    }
    assert not store.tokens.allows(write, Scope.WRITE, "other")
    assert not store.tokens.allows("", Scope.READ, "visits")
    assert store.tokens.revoke("one-write")
    assert not store.tokens.revoke("one-write")
    assert not store.tokens.allows(write, Scope.WRITE, "visits")


def test_a_list_of_tokens_shows_names_and_scopes_and_no_token(store):
    tokens = [store.tokens.new(Scope.READ, "visits", name="b"), store.tokens.new(Scope.ADMIN, "visits", name="a")]
    assert store.tokens.listed() == [
        NamedToken("a", Scope.ADMIN, EVERY_SURVEY),
        NamedToken("b", Scope.READ, "visits"),
    ]
    assert not any(token in str(store.tokens.listed()) for token in tokens)
    store.tokens.new(Scope.WRITE, "visits")
    assert len(store.tokens.listed()) == 3


@pytest.mark.parametrize("name", ["a", "With Blanks", "", CONFIGURED, "x" * 65])
def test_a_name_that_is_taken_or_is_none_is_refused(store, name):
    store.tokens.new(Scope.READ, "visits", name="a")
    with pytest.raises(SettingError):
        store.tokens.new(Scope.READ, "visits", name=name)
    assert len(store.tokens.listed()) == 1


def test_the_configured_token_of_the_administrator_replaces_the_one_before(store):
    first, second = "f" * 32, "s" * 32
    store.tokens.configure_admin(first)
    store.tokens.configure_admin(first)
    store.tokens.configure_admin(second)
    assert [store.tokens.allows(one, Scope.ADMIN, EVERY_SURVEY) for one in (first, second)] == [False, True]
    assert store.tokens.listed() == [NamedToken(CONFIGURED, Scope.ADMIN, EVERY_SURVEY)]
    with pytest.raises(SettingError, match="32 letters") as refused:
        store.tokens.configure_admin("short-and-secret")
    assert "short-and-secret" not in str(refused.value)


def test_a_configured_token_that_was_taken_back_is_never_let_in_again(store):
    first, second = "f" * 32, "s" * 32
    store.tokens.configure_admin(first)
    assert store.tokens.revoke(CONFIGURED)
    assert not store.tokens.revoke(CONFIGURED)
    assert not any(store.tokens.allows(first, scope, "visits") for scope in Scope)
    assert (store.tokens.listed(), store.tokens.has_admin()) == ([], False)
    for _ in range(2):  # also after another one was configured
        with pytest.raises(SettingError, match="was taken back") as refused:
            store.tokens.configure_admin(first)
        assert first not in str(refused.value)
        store.tokens.configure_admin(second)
    made = store.tokens.new(Scope.ADMIN, name="by-hand")
    store.tokens.revoke("by-hand")
    with pytest.raises(SettingError, match="was taken back"):
        store.tokens.configure_admin(made)


def test_tokens_of_an_earlier_store_still_work_and_have_names_now(database):
    engine = sa.create_engine(database.replace("postgresql://", "postgresql+psycopg://"))
    config = Config()
    config.set_main_option("script_location", str(migrations._HERE))
    script = ScriptDirectory.from_config(config)
    with (
        engine.begin() as connection,
        EnvironmentContext(config, script, fn=lambda found, _: script._upgrade_revs("0001", found)) as steps,
    ):
        steps.configure(connection=connection)
        steps.run_migrations()
        digest = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"  # sha256 of "test", as published
        row = {"digest": bytes.fromhex(digest), "scope": "read"}
        connection.execute(sa.text("INSERT INTO token VALUES (:digest, 'visits', :scope)"), row)
    engine.dispose()
    store = Store(database)
    assert store.tokens.allows("test", Scope.READ, "visits")
    assert [one.scope for one in store.tokens.listed()] == [Scope.READ]
    store.close()


def test_the_store_has_no_token(tmp_path):
    store = Store(f"sqlite:///{tmp_path / 'a.sqlite'}")
    token = store.tokens.new(Scope.WRITE, "visits")
    store.close()
    with sqlite3.connect(tmp_path / "a.sqlite") as connection:
        assert token not in "\n".join(connection.iterdump())
    connection.close()


@pytest.mark.parametrize("body", [b"token=%F0%BB%9C%BD", b"token=a%0D%0Ab", b"token=", b"other=1", b"\xff\xfe"])
def test_what_a_cookie_cannot_hold_is_no_token(body):
    assert token_in(body) == ""
    assert token_in(b"token=Ab-_9") == "Ab-_9"
