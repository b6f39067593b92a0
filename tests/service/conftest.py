"""A database of each kind, new for every test."""

from __future__ import annotations

import secrets
import shutil
from pathlib import Path

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


@pytest.fixture(scope="session")
def new_store(tmp_path_factory) -> Path:
    """The file of a store that holds nothing. To make its tables takes five times as long as to copy them.

    That a store makes them in an empty file is tested by test_store.py, which opens such files.
    """
    path = tmp_path_factory.mktemp("store") / "new.sqlite"
    Store(f"sqlite:///{path}").close()
    return path


@pytest.fixture
def store(database, new_store):
    if database.startswith("sqlite:///"):
        shutil.copyfile(new_store, database.removeprefix("sqlite:///"))
    made = Store(database)
    yield made
    made.close()


@pytest.fixture
def world(tmp_path, new_store):
    """A collector of a survey of days and 17 places, with all of its tokens."""
    shutil.copyfile(new_store, tmp_path / "collector.sqlite")
    store = Store(f"sqlite:///{tmp_path / 'collector.sqlite'}")
    made = World(store, tmp_path / "collected", survey_of(late=1))
    with made.client:
        yield made
    store.close()
