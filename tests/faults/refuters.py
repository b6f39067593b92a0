"""What finds faults: audits at their default settings, and checks that list, drive or compare."""

from __future__ import annotations

import itertools
import math
import os
import sqlite3
import stat
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from decimal import Context, Decimal, localcontext
from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from counter_worlds import counter, counts
from driven_reports import driven_row, listed_row, made
from faults.planting import Refuter, Setting, checked
from reference_samplers import reports_of
from small_worlds import EVERY_ROW, days_and_places
from tacit._base.files import write_whole
from tacit._base.rounding import at_most, epsilon_at_most, percent_at_most
from tacit.audit import Audit, audit_bound_choice, audit_counter, audit_memo, audit_plan, audit_repeated_reports, suites
from tacit.audit.testing import assert_frequencies, check_channel, check_randomizer
from tacit.collection.curating import add_events
from tacit.collection.randomizing import randomize_events
from tacit.collection.tallying import estimate_tally
from tacit.collection.wire import RandomizingWriter, ReportFile, ReportWriter
from tacit.collection.wire.message import encode_message, parse_message
from tacit.counts.continual_noise import Epochs
from tacit.counts.node_distributions import DiscreteGaussian, DiscreteLaplace, NodeDistribution
from tacit.counts.provenance import Provenance
from tacit.counts.tally import ExactTally, Tally
from tacit.domain import Domain, KindAxis, PlaceAxis, TimeAxis
from tacit.errors import TacitError
from tacit.events import ContributionBound, EventColumns, ReadOptions, open_events
from tacit.mechanisms.central.bound_choice import BoundChoice
from tacit.mechanisms.central.table import central_mechanism_of, central_plan_for
from tacit.mechanisms.continual import Counter, CounterFiles, pick, start_counter
from tacit.mechanisms.continual.engines import NodeDraws
from tacit.mechanisms.local.memo import DeviceMemo
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.local.memoized_hashing import LongitudinalHashing
from tacit.mechanisms.registry import MECHANISMS, mechanism_of, plan_for
from tacit.privacy import shuffling as shufflers
from tacit.privacy.cost import Cost
from tacit.privacy.guarantee import PERSON_DAY, PRESENCE, REPLACEMENT, Guarantee
from tacit.privacy.ledger import Ledger
from tacit.privacy.spend import Spend
from tacit.privacy.unit import Unit
from tacit.randomness import KeyedRandomness, Randomness, SecureRandomness, SeededRandomness
from tacit.release import Release, Rules

SMALL = 1e-9
"""How often a check that samples fails by bad luck."""
EPSILON = 1.0
N_CELLS = 5


# ---- local randomizers


class _Refuted(Exception):
    """Ends a suite of audits."""


def _is_refuted(run: Callable[[], Iterable[Audit]]) -> bool:
    """Whether an audit of a suite refutes; those after it, half of the time and more, could not change that."""
    together = suites._together

    def stopping(step: Callable[[float], Audit]) -> Callable[[float], Audit]:
        def audited(confidence: float) -> Audit:
            done = step(confidence)
            if done.is_refuted:
                raise _Refuted
            return done

        return audited

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(suites, "_together", lambda steps, confidence: together([*map(stopping, steps)], confidence))
        try:
            return any(audit.is_refuted for audit in run())
        except _Refuted:
            return True


def audit_of_devices(name: str) -> Refuter:
    """The audit of a plan for devices, at its default number of reports."""

    def find(setting: Setting) -> bool:
        plan = plan_for(days_and_places(2, N_CELLS), epsilon=EPSILON, mechanism=name)
        source = SeededRandomness(setting.seed)
        return _is_refuted(lambda: audit_plan(plan, confidence=setting.confidence, randomness=source))

    return Refuter(f"audit of a plan for devices ({name})", find)


def _find_in_tables(setting: Setting) -> bool:
    """The audit of a plan whose reports hide the place and the kind, and answer for one table each."""
    domain = replace(days_and_places(2, 3), kind=KindAxis.of(["fire", "flood"]))
    plan = plan_for(domain, epsilon=EPSILON, mechanism="sampled tables", private=("place", "kind"))
    source = SeededRandomness(setting.seed)
    return _is_refuted(lambda: audit_plan(plan, confidence=setting.confidence, randomness=source))


audit_of_tables = Refuter("audit of a plan for devices (sampled tables)", _find_in_tables)


def contract_of(name: str) -> Refuter:
    """The whole contract of a randomizer."""

    def check(setting: Setting) -> None:
        entry = MECHANISMS[name]
        randomizer = entry.from_epsilon(EPSILON, 3)  # few enough that every report is listed
        check_randomizer(randomizer, seed=setting.seed, rebuild=lambda t: entry.from_thresholds(t, 3))

    return checked(f"contract of a randomizer ({name})", check)


def driven_words_of(name: str) -> Refuter:
    """The probability of every report of the last cell, found by driving randomize(), against the channel."""

    def check(setting: Setting) -> None:
        randomizer = made(name)
        last = randomizer.n_cells - 1
        assert driven_row(randomizer, last) == listed_row(randomizer, last)

    return checked(f"driven words against the channel ({name})", check)


def reference_of(name: str) -> Refuter:
    """Five thousand reports against the slow rule, from the same words."""

    def check(setting: Setting) -> None:
        randomizer = MECHANISMS[name].from_epsilon(EPSILON, N_CELLS)
        cells = np.arange(5000) * 7 % N_CELLS
        reports = randomizer.randomize(cells, randomness=SeededRandomness(setting.seed))
        expected = reports_of(randomizer, cells.tolist(), SeededRandomness(setting.seed))
        assert [int.from_bytes(row.tobytes(), "little") for row in reports] == expected

    return checked(f"reference sampler ({name})", check)


def _check_exact_epsilon(setting: Setting) -> None:
    """Epsilon is never below the logarithm of the largest ratio, to 80 digits, and never above what was asked for."""
    for entry, asked in itertools.product(MECHANISMS.values(), (0.3, 1.0, 2.2)):
        randomizer = entry.from_epsilon(asked, 3)
        largest = max(max(column) / min(column) for column in zip(*randomizer.channel(), strict=True) if max(column))
        with localcontext(Context(prec=80)):
            exact = (Decimal(largest.numerator) / Decimal(largest.denominator)).ln()
            assert Decimal(randomizer.epsilon) >= exact, "epsilon is rounded down"
        assert randomizer.epsilon <= asked, "the realized epsilon exceeds the one asked for"
        check_channel(randomizer)


exact_epsilon = checked("epsilon against the channel, to 80 digits", _check_exact_epsilon)


# ---- devices that remember

_RAPPOR = LongitudinalRappor.from_epsilon(epsilon=EPSILON, n_cells=N_CELLS)


def _check_memo(setting: Setting) -> None:
    """A device that is started again has the permanent bits it had, and they are on the disk before a report is."""
    path = setting.folder / "device.memo"
    path.unlink(missing_ok=True)
    memo = DeviceMemo.create(_RAPPOR, path)
    rows = []

    def sent(self: LongitudinalRappor, permanent: np.ndarray, *, randomness: Randomness) -> np.ndarray:
        kept = DeviceMemo.read(_RAPPOR, path)._rows.get(3)
        assert kept is not None, "bits are sent that are not on the disk"
        assert kept.tobytes() == permanent.tobytes(), "other bits are sent than are on the disk"
        return permanent

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LongitudinalRappor, "instantaneous", sent)
        rows.append(memo.report(3, randomness=SeededRandomness(setting.seed)).tobytes())
        for restart in range(6):
            again = DeviceMemo.read(_RAPPOR, path)
            rows.append(again.report(3, randomness=SeededRandomness(setting.seed + 1 + restart)).tobytes())
            rows.append(again.report(3, randomness=SeededRandomness(setting.seed + 50 + restart)).tobytes())
    assert len(set(rows)) == 1, "permanent bits were drawn again"


memo_survives = checked("a memo over restarts and power cuts", _check_memo)


def _find_repeated(setting: Setting) -> bool:
    source = SeededRandomness(setting.seed)
    return audit_repeated_reports(_RAPPOR, confidence=setting.confidence, randomness=source).is_refuted


repeated = Refuter("audit of repeated reports", _find_repeated)


def _find_memo_of_hashing(setting: Setting) -> bool:
    hashing = LongitudinalHashing.from_epsilon(epsilon=EPSILON, n_cells=N_CELLS)
    source = SeededRandomness(setting.seed)
    return audit_memo(hashing, confidence=setting.confidence, randomness=source).is_refuted


memo_of_hashing = Refuter("audit of a memo (longitudinal hashing)", _find_memo_of_hashing)


# ---- sources of words


def _check_sources(setting: Setting) -> None:
    first, second = SecureRandomness(), SecureRandomness()
    assert not set(first.words(100).tolist()) & set(second.words(100).tolist()), "two sources give the same words"
    assert len(set(first.words(1000).tolist())) == 1000, "words are given twice"
    key = bytes(range(32))
    whole = KeyedRandomness(key).words(20).tolist()
    assert KeyedRandomness(key, position=7).words(13).tolist() == whole[7:], "a position is not kept"
    assert len(set(whole)) == 20
    assert not first.is_simulation
    assert SeededRandomness(1).is_simulation, "seeded words are not labelled"


sources = checked("sources of random words", _check_sources)


# ---- noise of a curator

_DISTRIBUTIONS: dict[str, NodeDistribution] = {
    "Laplace of rate 1/2": DiscreteLaplace(Fraction(1, 2)),
    "Laplace of rate 1/200": DiscreteLaplace(Fraction(1, 200)),
    "Gaussian of variance 9": DiscreteGaussian(Fraction(9)),
    "Gaussian of variance 40,000": DiscreteGaussian(Fraction(40_000)),
}


def _check_draws(setting: Setting) -> None:
    """Draws have the stated distribution, value by value or in 40 ranges, and do not repeat."""
    for number, distribution in enumerate(_DISTRIBUTIONS.values()):
        drawn = distribution.draw(200_000, randomness=SeededRandomness(setting.seed + number))
        assert not np.array_equal(drawn[:60_000], drawn[65_536 : 65_536 + 60_000]), "noise repeats"
        many = distribution.draw(1_000_000, randomness=SeededRandomness(setting.seed + number + 10)).astype(float)
        error = math.sqrt((distribution.excess_kurtosis + 2) / many.size)
        # beyond seven standard errors lies less than 1e-11 of a normal distribution
        assert abs((many**2).mean() / distribution.variance - 1) < 7 * error, "the variance is another one than stated"
        sd = math.sqrt(distribution.variance)
        reach = math.ceil(12 * sd)
        values = np.arange(-reach, reach + 1)
        exponent = (
            -float(distribution.rate) * np.abs(values)
            if isinstance(distribution, DiscreteLaplace)
            else -(values**2) / (2 * sd**2)
        )
        mass = np.exp(exponent)
        mass /= mass.sum()
        edges = np.unique(np.concatenate([[-reach], np.round(np.linspace(-3 * sd, 3 * sd, 39)), [0, 1]])).astype(int)
        groups = np.searchsorted(edges, np.clip(values, -reach, reach), side="right") - 1
        chances = np.bincount(groups, weights=mass)
        found = np.bincount(np.searchsorted(edges, np.clip(drawn, -reach, reach), side="right") - 1)
        found = np.pad(found, (0, len(chances) - len(found)))
        assert_frequencies(found, chances, false_failure=SMALL / len(_DISTRIBUTIONS))


draws = checked("frequencies of noise", _check_draws)


def audit_of_curator(name: str, **settings: object) -> Refuter:
    """The audit of a curator's plan, at its default number of runs."""

    def find(setting: Setting) -> bool:
        options = {"epsilon": EPSILON, "mechanism": "flat"} | settings
        kinds = KindAxis.of(["fire", "flood"]) if options["mechanism"] == "tables" else None
        plan = central_plan_for(replace(days_and_places(16, 3), kind=kinds), **options)  # type: ignore[arg-type]
        source = SeededRandomness(setting.seed)
        return _is_refuted(lambda: audit_plan(plan, confidence=setting.confidence, randomness=source))

    return Refuter(f"audit of a curator's plan ({name})", find)


flat = audit_of_curator("flat counts")
flat_gaussian = audit_of_curator("flat counts, Gaussian", epsilon=None, rho=0.5, delta=1e-6)
tree = audit_of_curator("tree", mechanism="tree", fan_outs=(4, 4))
tree_of_days = audit_of_curator("tree of user-days", mechanism="tree", fan_outs=(4, 4), unit="user-day", most=3)
_persons = {"mechanism": "tree", "fan_outs": (4, 4), "unit": "person", "most": 4, "most_per_cell": 2}
tree_of_persons = audit_of_curator("tree of persons", **_persons)
gaussian_tree_of_persons = audit_of_curator("tree of persons, Gaussian", epsilon=None, rho=0.5, delta=1e-6, **_persons)


def _find_choice(setting: Setting) -> bool:
    choice = BoundChoice((1, 2, 5), quantile=0.95, epsilon=EPSILON)
    source = SeededRandomness(setting.seed)
    return audit_bound_choice(choice, confidence=setting.confidence, randomness=source).is_refuted


bound_choice = Refuter("audit of a bound that is chosen privately", _find_choice)

tables = audit_of_curator("tables", epsilon=None, rho=0.5, delta=1e-6, mechanism="tables")


def _check_unmeasured(setting: Setting) -> None:
    """What a release is made of holds no exact sum: the root is not measured, and not there."""
    plan = central_plan_for(days_and_places(16, 3), epsilon=EPSILON, mechanism="tree", fan_outs=(4, 4))
    mechanism = central_mechanism_of(plan)
    counts = ExactTally(np.arange(48).reshape(16, 3))
    nodes = mechanism.noisy_nodes(counts, plan, spend=Spend.simulation(mechanism.cost, seed=setting.seed))
    assert not nodes[mechanism.hierarchy.level_slice(0)].any(), "an exact sum is left"


unmeasured = checked("nodes that are not measured are blank", _check_unmeasured)


def _check_independent(setting: Setting) -> None:
    """Noises of any two nodes, places or days are uncorrelated; and a release asked for twice is the same."""
    n_runs = 2000
    places, kinds = days_and_places(16, n_runs), KindAxis.of(["fire", "flood"])
    days = replace(days_and_places(n_runs, 3), kind=kinds)
    plans = (
        central_plan_for(places, epsilon=EPSILON, mechanism="tree", fan_outs=(4, 4)),
        central_plan_for(days, rho=0.5, delta=1e-6, mechanism="tables"),
    )
    for plan in plans:
        mechanism = central_mechanism_of(plan)
        spend, counts = Spend.simulation(mechanism.cost, seed=setting.seed), ExactTally(np.full(plan.domain.shape, 10))
        is_measured = [distribution is not None for distribution in mechanism.distributions]
        exact, measured = mechanism.sum_nodes(counts.reveal()), np.repeat(is_measured, mechanism.level_sizes)
        noise = (mechanism.noisy_nodes(counts, plan, spend=spend) - exact)[measured].astype(float)
        again = (mechanism.noisy_nodes(counts, plan, spend=spend) - exact)[measured]
        assert np.array_equal(noise, again), "noise is drawn again"
        assert len({column.tobytes() for column in noise.T}) == n_runs, "two places or days share their noise"
        # a correlation of 2,000 pairs of heavy-tailed noises beyond 0.3 is 13 standard errors off
        between_nodes = np.abs(np.corrcoef(noise) - np.eye(len(noise))).max()
        assert between_nodes < 0.3, "two nodes share their noise"


independent = checked("noises of nodes and places are independent", _check_independent)


def _check_price(setting: Setting) -> None:
    """A release is refused under a spend of another price, and a spend cannot be made without the ledger."""
    plan = central_plan_for(days_and_places(4, 3), epsilon=EPSILON)
    mechanism, counts = central_mechanism_of(plan), ExactTally(np.ones((4, 3), np.int64))
    cheap = Spend.simulation(Cost.pure(EPSILON / 10), seed=setting.seed)
    _refused(lambda: mechanism.measure(counts, plan, spend=cheap), "a release is paid with less than it costs")
    _refused(lambda: replace(cheap, seal=object()), "a spend is forged")


price = checked("releases cost what was spent", _check_price)


# ---- counters


def audit_of_counter(name: str, cost: Cost, *, unit: Unit | None = None) -> Refuter:
    def find(setting: Setting) -> bool:
        domain = Domain(TimeAxis.between("2025-01-01", None), PlaceAxis.of(["north"]))
        spend = Spend.simulation(cost, seed=1)
        stream = Counter.start(spend, domain, horizon=8, unit=unit or Unit()).stream
        source = SeededRandomness(setting.seed)
        return _is_refuted(lambda: audit_counter(stream, confidence=setting.confidence, randomness=source))

    return Refuter(f"audit of a counter ({name})", find)


counter_events = audit_of_counter("events", Cost.pure(EPSILON))
counter_gaussian = audit_of_counter("Gaussian noise", Cost.zcdp(0.5))
counter_days = audit_of_counter("user-days", Cost.pure(EPSILON), unit=Unit.user_day(most=3))


def _check_restart(setting: Setting) -> None:
    """A counter that is stopped and goes on publishes what it would have published."""
    at_once, first, second = (counter(seed=setting.seed) for _ in range(3))
    _, expected = at_once.steps(at_once.begin(), counts(40))
    state, published = first.steps(first.begin(), counts(40)[:17])
    _, rest = second.steps(state, counts(40)[17:])
    assert np.array_equal(np.concatenate([published, rest]), expected), "noise was drawn again after a restart"


restart = checked("a counter over restarts", _check_restart)


def _check_own_noise(setting: Setting) -> None:
    """Every node of a counter has noise of its own: in its section, its number and its place."""
    noise = counter().stream.noise_model.node_noise
    draws = NodeDraws(bytes(range(32)), 8)
    seen = [draws.take(noise, section, first, first + 6) for section in (0, 1, 2) for first in (0, 6, 40_000)]
    for one, other in itertools.combinations(seen, 2):
        assert not np.array_equal(one, other), "two nodes share their noise"
    assert all(len({tuple(column) for column in part.T}) == 8 for part in seen), "places share their noise"
    noise_model = Epochs(4, Cost.pure(0.1), ((), (), ()))
    made = counter(Cost.pure(0.1), domain=days_and_places(28, 20), horizon=None, noise_model=noise_model)
    _, totals = made.steps(made.begin(), np.zeros((28, 20), np.int64))
    steps = np.diff(np.concatenate([np.zeros((1, 20)), np.asarray(totals, float)]), axis=0)
    assert not np.array_equal(steps[0:4], steps[4:8]), "two epochs share their noise"


own_noise = checked("noises of a counter's nodes differ", _check_own_noise)


# ---- the ledger

_DAYS = {"2018-01-01": b"a" * 16, "2018-01-02": b"b" * 16}
_OTHER_DAYS = {"2018-02-01": b"c" * 16}


def _ledger(setting: Setting) -> Ledger:
    _ledger.number += 1  # type: ignore[attr-defined]
    return Ledger(setting.folder / f"ledger-{_ledger.number}.sqlite")  # type: ignore[attr-defined]


_ledger.number = 0  # type: ignore[attr-defined]


def _spend(ledger: Ledger, epsilon: float = 1.0, **settings: object) -> Spend:
    options = {"data_set": "fires", "release": "first", "days": _DAYS} | settings
    return ledger.spend(cost=Cost.pure(epsilon), **options)  # type: ignore[arg-type]


def _refused(action: Callable[[], object], words: str) -> None:
    try:
        action()
    except TacitError:
        return
    raise AssertionError(words)


def _check_paid_first(setting: Setting) -> None:
    ledger = _ledger(setting)
    paid = _spend(ledger)
    assert [entry.identifier for entry in ledger.history()] == [paid.identifier], "noise could be drawn unpaid"  # type: ignore[union-attr]
    dry = _spend(ledger, 0.5, release="second", days=_OTHER_DAYS, dry_run=True)
    assert len(ledger.history()) == 1, "a dry run is written down"
    _refused(lambda: dry.draw("second", b"counts"), "a dry run draws noise")


paid_first = checked("the ledger is paid before noise is drawn", _check_paid_first)


def _check_budget(setting: Setting) -> None:
    ledger = _ledger(setting)
    ledger.set_budget("fires", epsilon=2.0)
    first = _spend(ledger)
    second = _spend(ledger, 0.5, release="second")
    assert first.prior != second.prior, "what was spent before is forgotten"
    _refused(lambda: _spend(ledger, 1.0, release="third"), "a budget is overspent")
    _refused(lambda: _spend(ledger, 1.0, release="fourth", data_set="copy"), "a renamed copy has a budget of its own")
    assert ledger.remaining("fires").spent.epsilon == 1.5
    _spend(ledger, 1.0, release="fifth", days=_OTHER_DAYS)


budget = checked("the ledger adds up and refuses", _check_budget)


def _check_randomized_once(setting: Setting) -> None:
    ledger = _ledger(setting)

    def randomize(private: tuple[str, ...] = ("place",), *, again: bool = False, **parts: str) -> float:
        return ledger.record_randomization(
            data_set="fires",
            plan_id="plan",
            private=private,
            epsilon=2.0,
            days=_DAYS,
            n_events=9,
            selection=EVERY_ROW | parts,
            again=again,
        ).prior_epsilon

    assert randomize() == 0.0
    _refused(randomize, "events are randomized twice")
    _refused(lambda: randomize(("time",), again=True), "what one run hides the other makes public")
    _refused(lambda: randomize(again=True, kind="fires"), "one run counts kinds that the other leaves out")
    assert randomize(again=True) == 2.0, "what was spent before is forgotten"


randomized_once = checked("the ledger refuses to randomize twice", _check_randomized_once)


def _check_counted_alike(setting: Setting) -> None:
    """Of the two events one is a fire: only that one has a report in a run of fires."""
    ledger, table = (
        _ledger(setting),
        pa.table({"day": ["2018-01-01"] * 2, "kind": ["fire", "fall"], "place": ["a"] * 2}),
    )
    columns, time = EventColumns(time="day", place="place", kind="kind"), TimeAxis.between("2018-01-01", "2018-01-02")

    def randomize(*kinds: str) -> None:
        domain = Domain(time, PlaceAxis.of(["a", "b"]), KindAxis.of(kinds))
        events = open_events(table, columns=columns, domain=domain, options=ReadOptions(date_format="year-first"))
        plan = plan_for(domain, epsilon=EPSILON, private=("place", "kind"))
        randomize_events(events, plan, setting.folder / "reports", ledger=ledger, data_set="events", again=True)

    randomize("fire", "fall")
    _refused(lambda: randomize("fire"), "runs of reports tell the kind by being there")
    randomize("fall", "fire")


counted_alike = checked("runs of reports count the same rows", _check_counted_alike)


def _check_units(setting: Setting) -> None:
    ledger = _ledger(setting)
    ledger.set_budget("fires", epsilon=9.0)
    _spend(ledger)
    _refused(
        lambda: _spend(ledger, release="second", unit=Unit.user_day(most=2)), "a person's day is promised after events"
    )


units = checked("the ledger keeps units apart", _check_units)


def _check_key(setting: Setting) -> None:
    ledger = _ledger(setting)
    paid = _spend(ledger, input_digest=b"counts")
    words = paid.draw("first", b"counts").words(4).tolist()
    assert paid.draw("first", b"counts").words(4).tolist() == words, "noise is drawn again"
    _refused(lambda: paid.draw("first", b"other counts"), "two inputs get the same noise")
    _refused(lambda: paid.draw("second", b"counts"), "two releases get the same noise")
    ledger.finish(paid)
    _refused(lambda: paid.draw("first", b"counts"), "a key is not wiped")
    again = {"data_set": "fires", "release": "first", "days": _DAYS, "input_digest": b"counts"}
    _refused(lambda: ledger.resume(**again), "a finished release is resumed")  # type: ignore[arg-type]


key = checked("noise is drawn for one input, until it is written", _check_key)


def _check_heads(setting: Setting) -> None:
    """A head stays with what it was published on, and a ledger that does not hold it is refused."""
    ledger, other = _ledger(setting), _ledger(setting)
    _spend(ledger)
    _spend(other)
    label = Provenance("plan", ledger_heads=ledger.heads)
    assert Provenance.from_dict(label.to_dict()).ledger_heads == ledger.heads != (), "a label loses its head"
    assert {*ledger.heads, *other.heads} == {*(label + Provenance("plan", ledger_heads=other.heads)).ledger_heads}, (
        "a sum loses a head"
    )
    ledger.verify(ledger.heads)
    _refused(lambda: other.verify(ledger.heads), "another ledger passes for the one that paid")


heads = checked("heads of ledgers in what is published", _check_heads)


def _check_chain(setting: Setting) -> None:
    ledger = _ledger(setting)
    _spend(ledger)
    with closing(sqlite3.connect(ledger.path, isolation_level=None)) as connection:
        connection.execute("UPDATE spend SET epsilon = 0.01")
    _refused(lambda: Ledger(ledger.path).history(), "an edited epsilon is believed")


chain = checked("an edited ledger is refused", _check_chain)


def _check_zones(setting: Setting) -> None:
    """An event at 20:00 in London is on the next day in Tokyo: releases of the two days may both hold it."""
    ledger = _ledger(setting)
    ledger.set_budget("fires", epsilon=9.0)
    _spend(ledger, days={"2025-01-01": b""}, zone="UTC")
    tokyo = {"release": "second", "days": {"2025-01-02": b""}, "zone": "Asia/Tokyo"}
    _refused(lambda: _spend(ledger, **tokyo), "days of two time zones are taken for different events")


zones = checked("the ledger keeps time zones apart", _check_zones)


def _check_issued_again(setting: Setting) -> None:
    """What is said of a release, and of what was issued again of it, counts all entries about its events."""
    ledger = _ledger(setting)
    ledger.set_budget("fires", epsilon=9.0)
    _spend(ledger).draw("first", b"counts")
    own = ledger.heads
    _spend(ledger, 2.0, release="second")
    _spend(ledger, data_set="other", days=_OTHER_DAYS).draw("first", b"counts")
    for shown in (own, (*own, *ledger.heads)):
        assert ledger.others("first", heads=shown).presence == Cost.pure(2.0), "a later release is forgotten"
        _refused(lambda shown=shown: ledger.others("first", "other", heads=shown), "a release is taken for another's")  # type: ignore[misc]


issued_again = checked("statements that are issued again", _check_issued_again)


# ---- what is promised after several entries

_ROWS = tuple(itertools.product((0, 1), (0, 1)))  # of whom, and where
_TABLES = [rows for n in range(4) for rows in itertools.product(_ROWS, repeat=n)]
_Table = tuple[tuple[int, int], ...]


def _first_of_each(rows: _Table, most: int) -> np.ndarray:
    """The counts of two places, when the first ``most`` rows of each person are counted."""
    kept = [row for at, row in enumerate(rows) if sum(row[0] == other[0] for other in rows[:at]) < most]
    return np.bincount([place for _, place in kept], minlength=2)


def _changes(rows: _Table) -> Iterable[tuple[str, _Table]]:
    """All tables that one step leads to, with the question that asks for it."""
    for at in range(len(rows)):
        yield PRESENCE, rows[:at] + rows[at + 1 :]
        for other in _ROWS:
            yield REPLACEMENT, (*rows[:at], other, *rows[at + 1 :])
    for person in (0, 1):
        yield PERSON_DAY, tuple(row for row in rows if row[0] != person)


def _check_promises(setting: Setting) -> None:
    """No promise is below the largest distance of the counts of any two tables of three rows."""
    for most in (0, 1, 2):  # 0 for single events
        unit = Unit.user_day(most=most) if most else Unit()
        laplace = Guarantee.of_release(Cost.pure(EPSILON), unit)
        gaussian = Guarantee.of_release(Cost.zcdp(EPSILON), unit)
        for rows in _TABLES:
            counts = _first_of_each(rows, most or len(rows))
            for question, others in _changes(rows):
                distance = np.abs(counts - _first_of_each(others, most or len(rows)))
                pure, rho = laplace.of_question(question), gaussian.of_question(question)
                if pure is None or rho is None:
                    continue
                assert pure.epsilon >= EPSILON * distance.sum() / unit.sensitivity, (
                    f"{question} is promised too cheaply"
                )
                assert rho.rho >= EPSILON * (distance**2).sum() / unit.sensitivity**2, (
                    f"{question} costs too little rho"
                )
    single, reports = Guarantee.of_release(Cost.pure(1.0), Unit()), Guarantee.of_reports(3.0, ("place",))
    days = Guarantee.of_release(Cost.pure(1.0), Unit.user_day(most=2))
    # a person may have any number of events
    assert single.person_day is None, "a release of single events promises a person's day"
    assert (days + single).person_day is None, "what one entry leaves open is forgotten"
    # the number of reports is public
    assert reports.presence is None, "presence is promised after reports"
    assert (reports + single).presence is None, "presence is promised after reports and a release"
    assert (reports + single).replacement.epsilon == 5.0
    # the columns (1) and (-1) of a strategy with weights of both signs are twice as far apart as each is long
    counter = Guarantee.of_release(Cost.zcdp(1.0), Unit(), is_counter=True)
    assert counter.replacement.rho >= 2**2, "negative weights are forgotten"


promises = checked("promises against distances of listed counts", _check_promises)


def _check_persons(setting: Setting) -> None:
    """Days, a week and a month that do not begin together, in one ledger: at 1 each, and all of them add up."""
    ledger = _ledger(setting)
    ledger.set_budget("fires", epsilon=20.0)
    days = dict.fromkeys(("2025-05-31", "2025-06-01", "2025-06-02"), b"")
    month = Unit.person(most=1, window="month")
    _spend(ledger, release="days", unit=Unit.user_day(most=1), days=days)
    _spend(ledger, release="week", unit=Unit.person(most=1, window="week"), days=days)
    _spend(ledger, release="first of June", unit=month, days={"2025-06-01": b""})
    _spend(ledger, release="second of June", unit=month, days={"2025-06-02": b""})
    promised = dict(ledger.remaining("fires").guarantee.persons)
    # June has two days, a week within and a part of one, and both of the others
    assert promised.get("person-month") == Cost.pure(2 + 3 + 2), "prices for a person do not add up over a month"


window_prices = checked("prices for persons over windows", _check_persons)


# ---- statements, releases and files


def _check_rounding(setting: Setting) -> None:
    values = np.random.default_rng(setting.seed).uniform(0.01, 20, 300).tolist()
    for value in values:
        assert float(epsilon_at_most(value)) >= value * (1 - 1e-8), "an epsilon is rounded down"
        assert float(at_most(value)) >= value * (1 - 1e-8), "odds are rounded down"
        assert float(percent_at_most(value / 20)[:-1]) >= 5 * value * (1 - 1e-8), "a belief is rounded down"


rounding = checked("statements are rounded up", _check_rounding)


def _check_costs(setting: Setting) -> None:
    a, b = Cost.pure(0.1), Cost.zcdp(0.3)
    assert Cost.sum([a, a, b]).epsilon >= 2 * Fraction(0.1), "a sum is too small"
    assert Cost.sum([a, b]).rho == 0.3
    assert Cost.parallel(Cost.pure(0.1), Cost.pure(0.4)).epsilon == 0.4, "the dearest day does not count"
    for rho, delta in itertools.product((0.01, 0.5, 2.0), (1e-3, 1e-9)):
        alphas = 1 + np.exp(np.linspace(-12, 12, 20_001))
        bounds = rho * alphas + np.log1p(-1 / alphas) + (math.log(1 / delta) - np.log(alphas)) / (alphas - 1)
        assert Cost.zcdp(rho).epsilon_at(delta) >= bounds.min() * (1 - 1e-5), (
            "a rho is converted to too small an epsilon"
        )


costs = checked("sums and conversions of costs", _check_costs)

_PLAN = plan_for(days_and_places(20, 3), f=0.5)


def _reports(n: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    cells = np.sort(np.arange(n) % 3)  # sorted by place, as a file of events may be
    return np.arange(n) % 20, mechanism_of(_PLAN).randomize(cells, randomness=SeededRandomness(seed))


def _check_order(setting: Setting) -> None:
    """Neither the order of reports nor their length tells anything of the events."""
    bins, reports = _reports(600, setting.seed)
    label = Provenance(_PLAN.fingerprint, is_simulation=True)
    shuffled = np.random.default_rng(setting.seed).permutation(600)
    orders, id = (np.arange(600), shuffled), bytes(16)  # which is drawn for each message, and differs else
    messages = [encode_message(_PLAN, bins[order], reports[order], label, id=id) for order in orders]
    assert messages[0] == messages[1], "a message tells the order of events"
    files = []
    for number, order in enumerate((np.arange(600), shuffled)):
        path = setting.folder / f"{number}.reports"
        with ReportWriter(path, label, mechanism_of(_PLAN).report_bytes) as writer:
            writer.add(bins[order], reports[order])
        files.append(path.read_bytes())
    assert files[0] == files[1], "a report file tells the order of events"
    files = [setting.folder / "drawn.reports", setting.folder / "sorted.reports"]
    cells = np.sort(np.arange(600) % 3)
    with RandomizingWriter(files[0], _PLAN, randomness=SeededRandomness(setting.seed)) as drawn:
        drawn.add(bins, cells)
    with ReportWriter(files[1], label, mechanism_of(_PLAN).report_bytes) as writer:
        for numbers, lengths, some in ReportFile.open(files[0]).batches():
            writer.add(np.repeat(numbers, lengths), some)
    assert files[0].read_bytes() == files[1].read_bytes(), "a file drawn from counts tells the order of cells"
    first, last = (
        encode_message(_PLAN, bins[:9], mechanism_of(_PLAN).randomize(cells, randomness=SeededRandomness(1)), label)
        for cells in (np.zeros(9, np.int64), np.full(9, 2))
    )
    assert len(first) == len(last), "the length of a message depends on the values"


order = checked("order and length of reports", _check_order)


def _check_public_part(setting: Setting) -> None:
    """Of events that differ in private coordinates alone, report files have the same public bins."""
    domain = replace(days_and_places(2, 3), kind=KindAxis.of(["fire", "flood"]))
    plan = plan_for(domain, epsilon=EPSILON, private=("place", "kind"))
    path = setting.folder / "one.reports"
    bins = []
    for column in range(domain.n_columns):
        with RandomizingWriter(path, plan, randomness=SeededRandomness(setting.seed), overwrite=True) as writer:
            writer.add(np.array([1]), np.array([column]))
        bins.append(ReportFile.open(path).bins.tolist())
    assert all(found == bins[0] for found in bins), "the public bin tells the place or the kind"


public_part = checked("public part of reports", _check_public_part)


def _check_other_words(setting: Setting) -> None:
    """Of counts that differ in one event no report is drawn from the same words, whatever the secret."""
    days = [f"2018-01-{day:02d}" for day in range(1, 11) for _ in range(40)] + ["2018-01-11"]
    drawn = []
    for number, n_events in enumerate((400, 401)):
        table = pa.table({"day": days[:n_events], "place": ["place 1"] * n_events})
        options = ReadOptions(date_format="year-first")
        events = open_events(table, columns=EventColumns("day", "place"), domain=_PLAN.domain, options=options)
        path = setting.folder / f"counts {number}.reports"
        randomize_events(events, _PLAN, path, seed=setting.seed, ledger=None, data_set="fires", overwrite=True)
        _, _, reports = next(ReportFile.open(path).batches())
        drawn.append(reports[:400].tobytes())
    assert drawn[0] != drawn[1], "two versions of the events share their noise"


other_words = checked("reports of neighbouring counts", _check_other_words)


def _check_silent(setting: Setting) -> None:
    """A file without a report on a day shows that there was no event: no release of that day hides one."""
    table = pa.table({"day": ["2018-01-01", "2018-01-03"], "place": ["place 1"] * 2})
    options = ReadOptions(date_format="year-first")
    events = open_events(table, columns=EventColumns("day", "place"), domain=_PLAN.domain, options=options)
    ledger, path = _ledger(setting), setting.folder / "silent.reports"
    ledger.set_budget("fires", epsilon=9.0)
    randomize_events(events, _PLAN, path, ledger=ledger, data_set="fires", overwrite=True)
    paid = _spend(ledger, days={"2018-01-02": b""})
    assert paid.guarantee.presence is None, "an empty day of reports is taken for one without reports"


silent = checked("days without a report", _check_silent)


def _check_formulas(setting: Setting) -> None:
    """No text in the CSV file of a release begins as a formula does."""
    names = ("=1+1", "+2", "-3", "@SUM(A1)")
    plan = plan_for(Domain(_PLAN.domain.time, PlaceAxis.of(names)), f=0.5)
    tally = Tally(Provenance(plan.fingerprint), np.ones((20, 4), np.int64), np.full(20, 4))
    path = setting.folder / "formulas.csv"
    path.unlink(missing_ok=True)
    Release.of(plan, estimate_tally(tally, plan), refine="raw").write(path)
    text = path.read_text(encoding="utf-8")
    assert all(f"'{name}," in text for name in names), "names are not in the file"
    assert not any(line.startswith(names) for line in text.splitlines()), "a spreadsheet would run a name"


formulas = checked("names that look like formulas", _check_formulas)


def _check_elsewhere(setting: Setting) -> None:
    """With a cell for it, an event whose place is unknown, outside or blank is counted like any other."""
    table = pa.table({"day": ["2018-01-01"] * 3, "place": ["place 1", "Atlantis", ""]})
    domain = Domain(_PLAN.domain.time, _PLAN.domain.place.with_elsewhere())
    options = ReadOptions(date_format="year-first")
    counted = open_events(table, columns=EventColumns("day", "place"), domain=domain, options=options).count()
    assert counted.counts[0].tolist() == [0, 1, 0, 2], "an event is told by its missing report"


elsewhere = checked("events that lie elsewhere", _check_elsewhere)


def _check_durable(setting: Setting) -> None:
    """A file and the folder that names it are on the disk before anybody is told that it is written."""
    synced: list[bool] = []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(os, "fsync", lambda number: synced.append(stat.S_ISDIR(os.fstat(number).st_mode)))
        write_whole(setting.folder / "durable", b"content")
    assert synced == [False, True], "a power failure takes back what was written"


durable = checked("files are seen on the disk", _check_durable)


def _check_label(setting: Setting) -> None:
    """A seed shows in everything that comes of it."""
    bins, reports = _reports(60, setting.seed)
    label = Provenance(_PLAN.fingerprint, is_simulation=True)
    assert parse_message(encode_message(_PLAN, bins, reports, label), _PLAN).provenance == label
    path = setting.folder / "labelled.reports"
    with ReportWriter(path, label, mechanism_of(_PLAN).report_bytes) as writer:
        writer.add(bins, reports)
    assert ReportFile.open(path).provenance == label, "a file loses its label"
    simulated = Tally(label, np.ones((20, 3), np.int64), np.full(20, 3))
    real = Tally(Provenance(_PLAN.fingerprint), np.ones((20, 3), np.int64), np.full(20, 3))
    for tally in (simulated + real, real + simulated):
        assert tally.provenance == label, "a sum loses its label"
        release = Release.of(_PLAN, estimate_tally(tally, _PLAN))
        assert release.is_simulation
        assert "SIMULATION" in release.statement.text(), "a statement loses its label"


label = checked("labels of simulations", _check_label)

_SUPPRESSED = Rules.parse(suppress=("count < 10",))


def _check_suppressed(setting: Setting) -> None:
    """What is suppressed is gone from the file and from the noise model."""
    counts = np.random.default_rng(3).poisson([30, 8, 2, 0], (20, 4))
    plan = plan_for(days_and_places(20, 4), epsilon=3.0, mechanism="response")
    mechanism, per_day = mechanism_of(plan), counts.sum(axis=1)
    cells = np.repeat(np.tile(np.arange(4), 20), counts.ravel())
    reports = mechanism.randomize(cells, randomness=SeededRandomness(setting.seed))
    tally = Tally(Provenance(plan.fingerprint), mechanism.statistics(reports, per_day), per_day)
    path = setting.folder / "release.parquet"
    path.unlink(missing_ok=True)
    Release.of(plan, estimate_tally(tally, plan), refine="project", rules=_SUPPRESSED).write(path)
    release = Release.read(path)
    is_gone = release.statuses() == "suppressed"
    assert is_gone.any()
    for values in (release.unbiased.values, release.refined.values):
        assert np.isnan(values[is_gone]).all(), "a suppressed value remains"
    noise = release.unbiased.noise
    for row, gone in zip(noise.counts, is_gone, strict=True):  # type: ignore[attr-defined]
        assert len(set(row[gone].round(9))) <= 1, "the noise model remembers suppressed values"


suppressed = checked("suppressed values are gone", _check_suppressed)


# ---- events

_PLACES = ("North", "South", "East")
_AXES = Domain(TimeAxis.between("2018-01-01", "2018-01-04", zone="UTC"), PlaceAxis.of(_PLACES))
_Row = tuple[str, int, int]


def _table(rows: list[_Row]) -> pa.Table:
    """Rows (user, hour since the start, place) as a table."""
    start = datetime(2018, 1, 1, tzinfo=UTC)
    return pa.table(
        {
            "when": pa.array([start + timedelta(hours=hour) for _, hour, _ in rows], pa.timestamp("us", tz="UTC")),
            "where": pa.array([_PLACES[place] for *_, place in rows], pa.string()),
            "who": pa.array([user for user, *_ in rows], pa.string()),
        }
    )


def _counted(rows: list[_Row], bound: ContributionBound | None) -> np.ndarray:
    """Counts of rows."""
    table, user = _table(rows), None if bound is None else "who"
    events = open_events(table, columns=EventColumns("when", "where", user=user), domain=_AXES)
    return events.count(bound=bound).counts


def _check_persons(setting: Setting) -> None:
    """All rows of one person in one window added or removed change the counts by at most the bounds."""
    source = np.random.default_rng(setting.seed)
    for most, most_per_cell, window in ((1, 1, "day"), (2, 2, "day"), (4, 1, None), (5, 2, None)):
        bound = ContributionBound(most, most_per_cell, window, key=source.bytes(32))
        for _ in range(6):
            rows = [("abc"[u], int(h), int(p)) for u, h, p in source.integers(0, [3, 48, 3], (30, 3))]
            whole = _counted(rows, bound)
            for user, day in {(user, hour // 24 if window else 0) for user, hour, _ in rows}:
                without = [row for row in rows if (row[0], row[1] // 24 if window else 0) != (user, day)]
                change = np.abs(whole - _counted(without, bound))
                assert change.sum() <= most, f"a person changes the counts by {change.sum()}"
                assert change.max() <= most_per_cell, f"a person changes a count by {change.max()}"


persons = checked("counts with and without each person's window", _check_persons)


def _check_counter_of_persons(setting: Setting) -> None:
    """Over its life a counter counts of one person at most the bound, also when it is opened again for every day."""
    unit = Unit.person(most=3, most_per_cell=2)
    path = setting.folder / f"persons-{setting.seed}.counter"
    endless = replace(_AXES, time=_AXES.time.without_end())
    noise_model = pick(Cost.pure(EPSILON), 8, most=unit.most)
    start_counter(CounterFiles(path), noise_model, endless, data_set="visits", unit=unit, seed=setting.seed)
    table = _table([("a", 24 * day + hour, hour % 3) for day in range(4) for hour in range(4)])
    columns, n_counted = EventColumns("when", "where", user="who"), 0
    for day in range(4):
        found = add_events(
            CounterFiles(path),
            lambda domain: open_events(table, columns=columns, domain=domain),
            first=_AXES.time.label(day),
        )
        n_counted += int(found.counts[day].sum())
    assert n_counted <= unit.most, f"{n_counted} events of a person are counted"


counter_of_persons = checked("what a counter counts of a person", _check_counter_of_persons)


def _check_rows(setting: Setting) -> None:
    """One row added or removed changes the count of its own cell by one, and nothing else."""
    source = np.random.default_rng(setting.seed)
    rows = [("a", int(h), int(p)) for h, p in source.integers(0, [120, 3], (30, 2))]  # some lie outside the four days
    whole = _counted(rows, None)
    for position, (_, hour, place) in enumerate(rows):
        expected = whole.copy()
        if hour < 96:
            expected[hour // 24, place] -= 1
        without = _counted([*rows[:position], *rows[position + 1 :]], None)
        assert np.array_equal(without, expected), "a row influences what is counted of another"


rows = checked("counts with and without each row", _check_rows)


# ---- shuffling


def _outcome_distribution(values: tuple[int, ...], n_cells: int, epsilon: float) -> dict[tuple[int, ...], float]:
    """The exact distribution of the counts that a shuffler lets out."""
    distribution = {(0,) * n_cells: 1.0}
    for value in values:
        after: dict[tuple[int, ...], float] = {}
        for found, mass in distribution.items():
            for said in range(n_cells):
                share = (math.exp(epsilon) if said == value else 1) / (math.exp(epsilon) + n_cells - 1)
                then = tuple(c + (i == said) for i, c in enumerate(found))
                after[then] = after.get(then, 0.0) + mass * share
        distribution = after
    return distribution


def _check_shuffling(setting: Setting) -> None:
    """The numerical bound holds for every small case, and the closed form has its figures and its condition."""
    n_cells, n_reports, local = 3, 5, 1.5
    for delta in (0.2, 0.02):
        bound = math.exp(shufflers.response_bound(local, n_cells, n_reports, delta=delta))
        for others in itertools.combinations_with_replacement(range(n_cells), n_reports - 1):
            a, b = (_outcome_distribution((value, *others), n_cells, local) for value in (0, 1))
            exact = sum(max(0.0, a.get(found, 0.0) - bound * b.get(found, 0.0)) for found in a)
            assert exact <= delta * (1 + 1e-9), "the numerical bound does not hold"
    assert shufflers.closed_form(2.197, 80, delta=1e-6) is None, "the closed form is used where it does not hold"
    # the figures of theorem 3.1, worked out by hand
    assert shufflers.closed_form(2.197, 2449, delta=1e-6) == pytest.approx(0.93, abs=0.005)
    assert shufflers.closed_form(2.197, 29388, delta=1e-6) == pytest.approx(0.36, abs=0.005)


shuffling = checked("bounds of shuffling", _check_shuffling)
