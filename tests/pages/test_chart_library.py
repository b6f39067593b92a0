"""The script that draws charts is made once, and kept where Python keeps compiled modules."""

from __future__ import annotations

import sys

import pytest

from tacit.pages import embedding


class Bundler:
    """Makes a script by the number of times it was asked."""

    __version__ = "9"

    def __init__(self):
        self.n_asked = 0

    def javascript_bundle(self, snippet):
        self.n_asked += 1
        return f"made({self.n_asked}); {snippet} </script>"


@pytest.fixture
def made(monkeypatch, tmp_path):
    """Ask a bundler for the script of a package that lies in a folder of its own; give the script and the bundler."""
    bundler = Bundler()
    monkeypatch.setattr(embedding, "require", lambda *words, **more: bundler)
    monkeypatch.setattr(embedding, "__file__", str(tmp_path / "embedding.py"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    return lambda: (embedding.chart_library.__wrapped__(), bundler.n_asked)


def test_it_is_made_once(made, tmp_path):
    (tmp_path / "__pycache__").mkdir()
    first, again = made(), made()
    assert first == again
    assert first[1] == 1
    assert "<\\/script>" in first[0]


def test_it_is_made_each_time_where_nothing_can_be_kept(made, tmp_path):
    assert [made()[1], made()[1]] == [1, 2]
    assert list(tmp_path.iterdir()) == []


def test_nothing_is_kept_where_python_keeps_nothing(made, monkeypatch, tmp_path):
    (tmp_path / "__pycache__").mkdir()
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    made()
    assert list((tmp_path / "__pycache__").iterdir()) == []
