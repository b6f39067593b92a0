"""A database of each kind, new for every test."""

from __future__ import annotations

import secrets

import pytest

from service_worlds import World, survey_of
from tacit.service.store import Store


@pytest.fixture(params=["sqlite", "postgresql"])
def database(request, tmp_path) -> str:
    """The address of an empty database."""
    if request.param == "sqlite":
        return f"sqlite:///{tmp_path / 'collector.sqlite'}"
    server = request.getfixturevalue("postgres")
    name = f"collector_{secrets.token_hex(6)}"
    server.run(f"CREATE DATABASE {name}")
    return server.url(name)


@pytest.fixture
def store(database):
    made = Store(database)
    yield made
    made.close()


@pytest.fixture
def world(tmp_path):
    """A collector of a survey of days and 17 places, with all of its tokens."""
    store = Store(f"sqlite:///{tmp_path / 'collector.sqlite'}")
    made = World(store, tmp_path / "collected", survey_of(late=1))
    with made.client:
        yield made
    store.close()
