"""Files that come from elsewhere, damaged by hundreds: each ends in a sentence of ours, or is read and can be used.

Half of the damage is to bytes, half to what a well-formed file says, with its checksum made right again. Every run
draws its own.
"""

from __future__ import annotations

import contextlib
import hashlib
import io
import json
import tomllib
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import tomli_w

import counter_worlds
from damaged_files import archive_of, distorted, flipped, json_text, members, outcomes, wrong_array
from small_series import noisy_series
from small_worlds import days_places_and_kinds, reported, simulated
from tacit._base.fields import checksum_of, pack_array, unpack_array
from tacit.collection.tallying import estimate_tally, tally_reports
from tacit.collection.wire import ReportWriter
from tacit.counts.provenance import Provenance
from tacit.counts.tally import Tally
from tacit.domain import Domain, Gazetteer, KindAxis, PlaceAxis, TimeAxis
from tacit.events.places import Polygons
from tacit.forecast.forecaster import forecaster_named
from tacit.forecast.model_files import SavedModel
from tacit.mechanisms.continual.contributions import Contributions, path_of
from tacit.mechanisms.continual.files import SavedState
from tacit.mechanisms.continual.history import History, first_check
from tacit.mechanisms.local.memo import DeviceMemo
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.local.memoized_hashing import LongitudinalHashing
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.plan import Plan
from tacit.postprocess import smooth
from tacit.privacy.unit import Unit
from tacit.randomness import SeededRandomness
from tacit.release import Release, SigningKey

COUNTS = np.random.default_rng(5).poisson(20, (12, 4))
Damage = Callable[[bytes, np.random.Generator], bytes]


def half(structured: Damage) -> Damage:
    """Damage to the bytes, or to what they say, each half of the time."""
    return lambda content, rng: structured(content, rng) if rng.random() < 0.5 else flipped(content, rng)


def checked(content: dict[str, Any]) -> dict[str, Any]:
    """Plain data with the checksum that a forger would give them."""
    rest = {name: part for name, part in content.items() if name != "checksum"}
    text = json.dumps(rest, sort_keys=True, ensure_ascii=False)
    return rest | {"checksum": hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()}


# ---- tallies


def tally_bytes(folder: Path) -> bytes:
    simulated(COUNTS)[1].write(folder / "a.tally")
    return (folder / "a.tally").read_bytes()


def header_of(content: Any) -> bytes:
    out = io.BytesIO()
    np.save(out, np.array(json_text(content)))
    return out.getvalue()


def other_tally(content: bytes, rng: np.random.Generator) -> bytes:
    parts = members(content)
    header = json.loads(str(np.load(io.BytesIO(parts["header.npy"]))))
    header.pop("checksum")  # as earlier versions wrote it, so that the rest is looked at
    parts["header.npy"] = header_of(header)
    name = list(parts)[int(rng.integers(0, len(parts)))]
    way = rng.integers(0, 4)
    if way == 0:
        del parts[name]
    elif way == 1 or name == "header.npy":
        parts["header.npy"] = header_of(distorted(header, rng))
    else:
        parts[name] = wrong_array(np.load(io.BytesIO(parts[name])), rng)
    return archive_of(parts, twice=name if way == 3 else "")


def use_tally(path: Path) -> None:
    plan, _ = simulated(COUNTS)
    tally = Tally.read(path)
    assert tally.reports.min(initial=0) >= 0
    estimate_tally(tally, plan).noise.standard_errors()


# ---- a counter's two files


def state_bytes(folder: Path) -> bytes:
    made = counter_worlds.files(folder)
    made.add(counter_worlds.counts(5), first=0)
    return made.state_path.read_bytes()


def other_state(content: bytes, rng: np.random.Generator) -> bytes:
    forged = checked(distorted(json.loads(content), rng))
    return json_text(forged).encode()


def use_state(path: Path) -> None:
    saved = SavedState.read(path)
    saved.counter.step(saved.state, [1] * saved.counter.stream.n_columns)


PERSONS = Unit.person(most=3)


def persons_bytes(folder: Path) -> bytes:
    made = counter_worlds.files(folder, counter_worlds.counter(unit=PERSONS))
    noted = made.contributions()
    noted.add(np.array([[7, 1], [5, 2]], np.uint64), np.array([2, 3]))
    made.add(counter_worlds.counts(1), first=0, contributions=noted)
    return path_of(made.state_path, 1).read_bytes()


def use_persons(path: Path) -> None:
    counter = counter_worlds.counter(unit=PERSONS)
    state = path.with_name("state")
    path_of(state, 1).write_bytes(path.read_bytes())
    Contributions.read(state, counter.key, counter.stream.identity, 1).before(np.array([[5, 2]], np.uint64))


def history_bytes(folder: Path) -> bytes:
    made = counter_worlds.files(folder)
    made.add(counter_worlds.counts(5), first=0)
    return made.history_path.read_bytes()


def other_history(content: bytes, rng: np.random.Generator) -> bytes:
    mark = b"# tacit: "
    lines = content.splitlines(keepends=True)
    at = next(number for number, line in enumerate(lines) if line.startswith(mark))
    about = distorted(json.loads(lines[at][len(mark) :]), rng)
    lines[at] = mark + json_text(about).encode() + b"\n"
    import zlib

    check = first_check(b"".join(lines[: at + 2]))
    for number in range(at + 2, len(lines)):
        body = lines[number][:-9]
        if rng.random() < 0.1:
            body = body.replace(b",", b",9" * int(rng.integers(1, 30)), 1)
        check = zlib.crc32(body, check)
        lines[number] = body + b"%08x\n" % check
    return b"".join(lines)


def use_history(path: Path) -> None:
    history = History.read(path)
    if history.n_bins:
        history.answer()
        history.estimate(delta=0.0)


# ---- models


def model_bytes(folder: Path, name: str) -> bytes:
    series = noisy_series(n_days=60)
    SavedModel(forecaster_named(name).fit(series), series, plan="a plan", about={"country": "FR"}).write(folder / "m")
    return (folder / "m").read_bytes()


def other_model(content: bytes, rng: np.random.Generator) -> bytes:
    manifest = json.loads(content)
    arrays = list(_packed_arrays(manifest))
    if rng.integers(0, 2):
        manifest = distorted(manifest, rng)
    else:
        one = arrays[int(rng.integers(0, len(arrays)))]
        with suppress(Exception):  # an array of a kind that is never packed
            one |= pack_array(np.load(io.BytesIO(wrong_array(unpack_array(one), rng))))
    with suppress(Exception):  # what the damage left may be no document
        # one that agrees, so that the rest is looked at
        manifest["checksum"] = checksum_of(manifest)
    return json_text(manifest).encode()


def _packed_arrays(content: Any) -> Iterator[dict[str, Any]]:
    if isinstance(content, dict) and "zlib" in content:
        yield content
    for part in content.values() if isinstance(content, dict) else content if isinstance(content, list) else ():
        yield from _packed_arrays(part)


def use_model(path: Path) -> None:
    SavedModel.read(path).forecaster.predict(2).totals.intervals(0.8)


# ---- releases


def release_bytes(folder: Path, kind: str) -> bytes:
    plan, tally = simulated(COUNTS)
    if kind == "kinds":
        plan = plan_for(days_places_and_kinds(12, 2), epsilon=2.0, mechanism="unary", private=("place", "kind"))
        tally = reported(plan, np.hstack([COUNTS, COUNTS[:, :2]]), 1)
    estimate = estimate_tally(tally, plan)
    refine = smooth if kind == "smooth" else None
    Release.of(plan, estimate, refine=refine).write(folder / "r.parquet")
    return (folder / "r.parquet").read_bytes()


def signed_bytes(folder: Path) -> bytes:
    return SigningKey.create(folder / "a.key").signed(release_bytes(folder, "plain"))


def forged_release(about: dict[str, Any], columns: dict[str, Any], rng: np.random.Generator) -> dict[str, Any]:
    from tacit.release import files

    about = distorted(about, rng)
    if isinstance(about, dict):
        with contextlib.suppress(TypeError, ValueError, RecursionError):
            about["checksum"] = files._checksum(about, columns)
    return about


def other_parquet(content: bytes, rng: np.random.Generator) -> bytes:
    import pyarrow as pa
    import pyarrow.parquet as pq

    table = pq.read_table(io.BytesIO(content))
    about = json.loads(table.schema.metadata[b"tacit"])
    columns = {name: table.column(name).to_numpy(zero_copy_only=False) for name in table.column_names}
    way = rng.integers(0, 4)
    if way == 0:
        name = table.column_names[int(rng.integers(0, table.num_columns))]
        wrong = [
            pa.nulls(table.num_rows),
            pa.array(["x"] * table.num_rows),
            pa.array([[1]] * table.num_rows),
            pa.array(np.full(table.num_rows, np.nan)),
            pa.array(np.arange(table.num_rows), pa.timestamp("s")),
        ]
        table = table.set_column(
            table.column_names.index(name), name, wrong[int(rng.integers(0, len(wrong)))]
        ).replace_schema_metadata(table.schema.metadata)
    about = forged_release(about, columns, rng)
    table = table.replace_schema_metadata({b"tacit": json_text(about).encode(), b"privacy": b"x"})
    out = io.BytesIO()
    pq.write_table(table, out)
    return out.getvalue()


def use_release(path: Path) -> None:
    release = Release.read(path)
    release.answer()
    release.columns()
    str(release)


# ---- plans, reports, memos, tables of places, polygons


def plan_bytes(folder: Path) -> bytes:
    domain = Domain(TimeAxis.between("2018-01-01", None), PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")))
    plan_for(domain, epsilon=2.0).write(folder / "p")
    return (folder / "p").read_bytes()


def plan_with_kinds_bytes(folder: Path) -> bytes:
    (folder / "k.csv").write_bytes(TABLE_OF_KINDS)
    kind = KindAxis.from_gazetteer(Gazetteer.read(folder / "k.csv", of="kinds")).with_elsewhere()
    domain = Domain(TimeAxis.between("2018-01-01", "2018-01-09"), PlaceAxis.of(["north", "south"]), kind)
    plan_for(domain, epsilon=2.0, private=("place", "kind")).write(folder / "p")
    return (folder / "p").read_bytes()


def other_plan(content: bytes, rng: np.random.Generator) -> bytes:
    for _ in range(100):
        changed = distorted(tomllib.loads(content.decode()), rng)
        if rng.random() < 0.7 and isinstance(changed, dict):
            changed.pop("fingerprint", None)  # so that what follows is looked at
        try:
            return tomli_w.dumps(changed).encode()
        except (TypeError, ValueError, AttributeError, UnicodeEncodeError, RecursionError):
            continue  # TOML cannot say it
    return content


def use_plan(path: Path) -> None:
    plan = Plan.read(path)
    mechanism_of(plan).randomize(np.array([0]), randomness=SeededRandomness(1))
    plan.fingerprint  # noqa: B018


def report_bytes(folder: Path) -> bytes:
    plan, _ = simulated(COUNTS)
    rows = mechanism_of(plan).randomize(np.arange(40) % 4, randomness=SeededRandomness(1))
    with ReportWriter(folder / "r", Provenance(plan.fingerprint, is_simulation=True), rows.shape[1]) as writer:
        writer.add(np.arange(40) % 12, rows)
    return (folder / "r").read_bytes()


def other_report(content: bytes, rng: np.random.Generator) -> bytes:
    length = int.from_bytes(content[8:12], "little")
    header = json_text(distorted(json.loads(content[12 : 12 + length]), rng)).encode()
    body = content[12 + length : -32]
    if rng.random() < 0.3:
        body = flipped(body, rng)
    whole = content[:8] + len(header).to_bytes(4, "little") + header + body
    return whole + hashlib.sha256(whole).digest()


def use_report(path: Path) -> None:
    tally_reports([path], simulated(COUNTS)[0])


RAPPOR = LongitudinalRappor.from_epsilons(epsilon_infinity=2.0, epsilon_1=0.5, n_cells=9)


def memo_bytes(folder: Path) -> bytes:
    DeviceMemo.create(RAPPOR, folder / "memo").report(3, randomness=SeededRandomness(1))
    return (folder / "memo").read_bytes()


HASHING = LongitudinalHashing.from_epsilons(epsilon_infinity=2.0, epsilon_1=0.5, n_cells=9)


def hashing_memo_bytes(folder: Path) -> bytes:
    DeviceMemo.create(HASHING, folder / "memo").report(3, randomness=SeededRandomness(1))
    return (folder / "memo").read_bytes()


def json_damage(content: bytes, rng: np.random.Generator) -> bytes:
    return json_text(distorted(json.loads(content), rng)).encode()


PLACES = b"town;region;code;population;outside\nAarhus C;Aarhus;1;20;no\nViby;Aarhus;2;30;no\nElse;Odder;3;1;yes\n"
TABLE_OF_KINDS = b"kind;group;alias;outside\nfire;danger;blaze|incendie;no\nfall;help;;no\nfalse alarm;help;;yes\n"
SQUARE = [[[0, 0], [1, 0], [1, 1], [0, 1], [0, 0]]]
POLYGONS = json.dumps(
    {
        "type": "FeatureCollection",
        "features": [
            {"type": "Feature", "properties": {"name": name}, "geometry": {"type": "Polygon", "coordinates": SQUARE}}
            for name in ("north", "south")
        ],
    }
).encode()


@dataclass(frozen=True)
class Kind:
    """A kind of file: how many are damaged, how a whole one is made, damaged, and read and used."""

    number: int
    make: Callable[[Path], bytes]
    damage: Damage
    use: Callable[[Path], Any]


KINDS = {
    "tally": Kind(270, tally_bytes, half(other_tally), use_tally),
    "counter state": Kind(600, state_bytes, half(other_state), use_state),
    "counter persons": Kind(150, persons_bytes, flipped, use_persons),
    "counter history": Kind(300, history_bytes, half(other_history), use_history),
    "model weekday-mean": Kind(300, lambda f: model_bytes(f, "weekday mean"), half(other_model), use_model),
    "model share": Kind(180, lambda f: model_bytes(f, "total x share"), half(other_model), use_model),
    "model seasonal-naive": Kind(150, lambda f: model_bytes(f, "seasonal naive"), half(other_model), use_model),
    "release": Kind(450, lambda f: release_bytes(f, "plain"), half(other_parquet), use_release),
    "signed release": Kind(150, signed_bytes, flipped, use_release),
    "smoothed release": Kind(300, lambda f: release_bytes(f, "smooth"), half(other_parquet), use_release),
    "release with kinds": Kind(150, lambda f: release_bytes(f, "kinds"), half(other_parquet), use_release),
    "plan": Kind(450, plan_bytes, half(other_plan), use_plan),
    "report file": Kind(300, report_bytes, half(other_report), use_report),
    "memo": Kind(300, memo_bytes, half(json_damage), lambda p: DeviceMemo.read(RAPPOR, p)),
    "memo of hashing": Kind(150, hashing_memo_bytes, half(json_damage), lambda p: DeviceMemo.read(HASHING, p)),
    "table of places": Kind(300, lambda f: PLACES, flipped, Gazetteer.read),
    "plan with kinds": Kind(150, plan_with_kinds_bytes, half(other_plan), use_plan),
    "table of kinds": Kind(150, lambda f: TABLE_OF_KINDS, flipped, lambda p: Gazetteer.read(p, of="kinds")),
    "polygons": Kind(180, lambda f: POLYGONS, half(json_damage), Polygons.read),
}
_FOLDER = [Path()]


@pytest.mark.false_failure(1e-7)
@pytest.mark.parametrize("name", KINDS)
def test_damaged_files_end_in_a_sentence_or_in_a_reading(name, seed, tmp_path):
    kind = KINDS[name]
    rng = np.random.default_rng(seed)
    folder = tmp_path / "whole"
    folder.mkdir()
    _FOLDER[0] = folder
    content = kind.make(folder)
    path = tmp_path / "strange file"

    def use(damaged: bytes) -> None:
        path.write_bytes(damaged)
        kind.use(path)

    use(content)  # a whole one is read

    def damaged() -> Iterator[bytes]:
        for _ in range(kind.number):
            yield kind.damage(content, rng)

    found = outcomes(damaged(), use)
    assert found["refused"] > kind.number // 8, found
    failed = {words: number for words, number in found.items() if words not in ("read", "refused")}
    assert not failed, (sum(failed.values()), found)
