"""A small domain and a short way to write and count files."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.events import EventColumns, EventCounts, Events, ReadOptions, open_events, propose_source

TOWNS = """town,region,outside
Besançon,West,
Saint-Vit,West,
Ornans,South,
Pontarlier,South,
Bonnal,North,yes
"""


@pytest.fixture(scope="session")
def places() -> PlaceAxis:
    """Two regions, four towns, and one town known to lie outside."""
    return PlaceAxis.from_gazetteer(Gazetteer.from_text(TOWNS))


@pytest.fixture(scope="session")
def domain(places: PlaceAxis) -> Domain:
    return Domain(TimeAxis.between("2018-01-01", "2018-12-31", zone="Europe/Paris"), places)


@pytest.fixture
def write(tmp_path: Path) -> Callable[..., Path]:
    """Write text or bytes to a file in a fresh folder."""

    def write(content: str | bytes, name: str = "events.csv", encoding: str = "utf-8") -> Path:
        path = tmp_path / name
        data = content.encode(encoding) if isinstance(content, str) else content
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return write


@pytest.fixture
def opened(domain: Domain) -> Callable[..., Events]:
    """Open a source with the columns of the examples, as proposed where the settings do not say how it is written."""

    def opened(source: object, time: str = "SDate", place: str | None = "Town", **settings: Any) -> Events:
        columns = {name: settings.pop(name) for name in tuple(settings) if name in EventColumns.__dataclass_fields__}
        own_domain = settings.pop("domain", domain)
        mapping = EventColumns(time, place, **columns)
        options = ReadOptions(**settings)
        if hasattr(source, "read_next_batch"):  # a stream would be used up by a look at it
            options = replace(options, date_format=options.date_format or "year-first")
        else:
            proposal = propose_source(source, columns=mapping, options=options)
            options = proposal.description.options(options)
            if proposal.dates is not None and not proposal.dates.needs_order:
                options = replace(options, date_format="year-first")
        return open_events(source, columns=mapping, domain=own_domain, options=options)

    return opened


@pytest.fixture
def count(opened: Callable[..., Events]) -> Callable[..., EventCounts]:
    """Open a source and count it."""
    return lambda source, *names, **settings: opened(source, *names, **settings).count()
