"""A plan is pure data: the same bytes everywhere, and no edit goes unnoticed."""

from __future__ import annotations

import tomllib
from dataclasses import replace

import numpy as np
import pytest
import tomli_w
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain import Domain, Gazetteer, PlaceAxis, TimeAxis
from tacit.errors import FormatError, PlanError, SettingError
from tacit.mechanisms.central.table import central_plan_for
from tacit.mechanisms.planner import choose, plan_for_devices
from tacit.mechanisms.registry import mechanism_of, plan_for
from tacit.plan import Plan
from tacit.privacy.unit import Unit
from tacit.randomness.bernoulli import COIN

DOMAIN = Domain(
    TimeAxis.between("2018-01-01", "2018-12-31", zone="Europe/Paris"), PlaceAxis.of(["Nord", "Süd", "l'Est"])
)
DOUBS = Domain(TimeAxis.between("2006-01-01", None), PlaceAxis.from_gazetteer(Gazetteer.builtin("doubs")))


@pytest.fixture
def plan():
    return plan_for(DOMAIN, f=0.5, name="interventions")


def edited(plan, path, change):
    plan.write(path)
    content = tomllib.loads(path.read_text(encoding="utf-8"))
    change(content)
    path.write_text(tomli_w.dumps(content), encoding="utf-8")
    return path


@pytest.mark.parametrize("name", ["plan.toml", "plan.json"])
@given(st.floats(0.01, 10))
def test_a_written_plan_reads_back_the_same(tmp_path_factory, name, epsilon):
    path = tmp_path_factory.mktemp("plan") / name
    for domain in (DOMAIN, DOUBS):
        plan = plan_for(domain, epsilon=epsilon)
        plan.write(path)
        again = Plan.read(path)
        assert again == plan
        assert again.fingerprint == plan.fingerprint
        assert mechanism_of(again) == mechanism_of(plan)


BY_PERSON = [
    Unit.user_day(most=3, most_per_cell=2),
    Unit.person(most=20),
    Unit.person(most=20, most_per_cell=5, window="month"),
]


@pytest.mark.parametrize("epsilon", [1, np.float64(1.0)])
def test_a_whole_number_is_the_same_epsilon(tmp_path, epsilon):
    """A plan that could not be read again would be noticed after the payment."""
    made = central_plan_for(DOMAIN, epsilon=epsilon, mechanism="flat")
    made.write(tmp_path / "plan.toml")
    assert Plan.read(tmp_path / "plan.toml") == made == central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat")


def plan_of(unit):
    return replace(central_plan_for(DOMAIN, epsilon=1.0, mechanism="flat", unit="user-day", most=3), **unit.settings)


@pytest.mark.parametrize("unit", [Unit(), Unit.user_day(most=3), *BY_PERSON])
def test_a_plan_keeps_the_bounds_on_what_is_counted_of_a_person(unit, tmp_path):
    plan = plan_of(unit)
    plan.write(tmp_path / "plan.toml")
    again = Plan.read(tmp_path / "plan.toml")
    assert again == plan
    assert again.protected_unit == unit
    assert again.format == (4 if unit in BY_PERSON else 1)


def test_every_bound_and_the_window_are_part_of_the_fingerprint():
    units = [Unit.person(most=20, most_per_cell=cell, window=window) for cell in (5, 20) for window in (None, "month")]
    assert len({plan_of(unit).fingerprint for unit in units}) == len(units)


def test_plans_of_days_and_events_keep_their_fingerprints():
    assert plan_of(Unit()).fingerprint == "8d69a6bc9b75eb622428c3ec71814c52"
    assert plan_of(Unit.user_day(most=3)).fingerprint == "15c2b83ddfd411a472e2477d988155eb"


@pytest.mark.parametrize("n_reports", [0, 365])
def test_a_plan_for_devices_gives_four_epsilons(n_reports, tmp_path):
    plan, chosen = plan_for_devices(DOMAIN, epsilon=1.0, epsilon_infinity=3.0, n_reports=n_reports)
    plan.write(tmp_path / "plan.toml")
    again = Plan.read(tmp_path / "plan.toml")
    assert again == plan
    assert (again.unit, again.format, again.epsilon) == ("device", 4, 1.0)
    figures = again.device_figures
    assert figures.n_reports == chosen.n_reports == 365  # a year of days
    assert figures.epsilon_1 < figures.epsilon_n <= figures.epsilon_infinity == 3.0 < figures.epsilon_of_values
    assert figures.epsilon_n == chosen.epsilon_after


def test_a_device_needs_a_memo_and_only_a_device_reports_again(plan):
    with pytest.raises(SettingError, match="unit device needs a mechanism that remembers; got mechanism=unary"):
        replace(plan, unit="device")
    with pytest.raises(SettingError, match="n_reports must be left out for the unit event"):
        replace(plan, n_reports=7)
    with pytest.raises(SettingError, match="unit must be one of event, user-day, person"):
        plan_of(Unit("device"))


def test_the_fingerprint_is_the_same_forever():
    """Golden: changing the canonical bytes would orphan every report ever collected."""
    plan = plan_for(Domain(TimeAxis.between("2018-01-01", None), PlaceAxis.of(["a", "b"])), f=0.5)
    assert plan.canonical_bytes() == (
        b'{"domain":{"place":{"cells":["a","b"],"level":"place"},"time":{"start":"2018-01-01","step":"day","zone":"UTC"}},'
        b'"format":1,"mechanism":{"name":"unary","thresholds":{"ones":"0xc000000000000000","zeros":"0x4000000000000000"}},'
        b'"privacy":{"epsilon":2.1972245773362196,"neighbors":"replace","private":["place"],"unit":"event"}}'
    )
    assert plan.fingerprint == "2a3782e211e56f9dd61719f11723d34b"


def test_neither_the_name_nor_the_end_of_time_changes_the_fingerprint(plan):
    longer = Domain(DOMAIN.time.with_end(10_000), DOMAIN.place)
    endless = Domain(DOMAIN.time.without_end(), DOMAIN.place)
    prints = {plan_for(d, f=0.5, name=n).fingerprint for d in (DOMAIN, longer, endless) for n in ("a", "b")}
    assert prints == {plan.fingerprint}


def test_what_two_parties_must_agree_on_changes_the_fingerprint(plan):
    others = [
        plan_for(DOMAIN, f=0.6),
        plan_for(DOMAIN, f=0.5, private=("time",)),
        plan_for(Domain(DOMAIN.time, PlaceAxis.of(["Nord", "l'Est", "Süd"])), f=0.5),
        plan_for(Domain(TimeAxis.between("2018-01-01", "2018-12-31", zone="UTC"), DOMAIN.place), f=0.5),
        plan_for(Domain(TimeAxis.between("2018-01-02", "2018-12-31", zone="Europe/Paris"), DOMAIN.place), f=0.5),
    ]
    assert len({plan.fingerprint, *(other.fingerprint for other in others)}) == 1 + len(others)


def test_a_private_time_fixes_the_end_too():
    longer = Domain(DOMAIN.time.with_end(10_000), DOMAIN.place)
    prints = {plan_for(d, f=0.5, private=("time",)).fingerprint for d in (DOMAIN, longer)}
    assert len(prints) == 2


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c["privacy"].update(epsilon=0.1),
        lambda c: c["mechanism"]["thresholds"].update(zeros="0x1"),
        lambda c: c["privacy"].update(private=["time"]),
        lambda c: c["domain"]["place"]["cells"].reverse(),
    ],
)
def test_an_edited_plan_is_refused(plan, tmp_path, change):
    with pytest.raises(PlanError, match="edited after it was made"):
        Plan.read(edited(plan, tmp_path / "plan.toml", change))


@pytest.mark.parametrize("text", ["", "{", "[1]", "null", '{"format": 1}', '{"format": 1, "format": 1}', "[privacy]"])
def test_what_is_no_plan_in_json_is_refused(tmp_path, text):
    (tmp_path / "plan.json").write_text(text, encoding="utf-8")
    with pytest.raises(PlanError):
        Plan.read(tmp_path / "plan.json")


def test_a_plan_in_json_that_was_edited_is_refused(plan, tmp_path):
    (tmp_path / "plan.json").write_text(plan.to_json().replace('"epsilon": 2', '"epsilon": 1'), encoding="utf-8")
    with pytest.raises(PlanError, match="edited after it was made"):
        Plan.read(tmp_path / "plan.json")


def test_an_edited_plan_without_its_fingerprint_still_cannot_claim_a_smaller_epsilon(plan, tmp_path):
    def change(content):
        del content["fingerprint"]
        content["privacy"]["epsilon"] = 0.1

    lying = Plan.read(edited(plan, tmp_path / "plan.toml", change))
    with pytest.raises(PlanError, match=r"states epsilon 0.1, but its thresholds give 2\.197"):
        mechanism_of(lying)


def test_a_plan_that_states_more_than_it_needs_is_refused_too():
    plan = plan_for(DOMAIN, epsilon=1.0, mechanism="unary")
    wasteful = Plan(DOMAIN, "unary", 1.5, plan.thresholds)
    with pytest.raises(PlanError, match="thresholds give"):
        mechanism_of(wasteful)


@pytest.mark.parametrize(
    "change",
    [
        lambda c: c.pop("privacy"),
        lambda c: c["mechanism"].pop("thresholds"),
        lambda c: c["mechanism"]["thresholds"].update(ones="many"),
        lambda c: c["mechanism"].update(thresholds=[1, 2]),
        lambda c: c["privacy"].update(epsilon="much"),
        lambda c: c["domain"].pop("time"),
        lambda c: c["domain"]["time"].update(zone="Europe/Atlantis"),
    ],
)
def test_a_damaged_plan_is_refused_with_a_sentence(plan, tmp_path, change):
    with pytest.raises((PlanError, SettingError)):
        Plan.read(edited(plan, tmp_path / "plan.toml", change))


def test_thresholds_that_fit_no_mechanism_are_refused():
    for thresholds in ((("ones", 5),), (("ones", 5), ("zeros", 9)), ()):
        with pytest.raises(PlanError, match="do not fit"):
            mechanism_of(Plan(DOMAIN, "unary", 1.0, thresholds))
    with pytest.raises(PlanError, match="unknown to this version"):
        mechanism_of(Plan(DOMAIN, "telepathy", 1.0, ()))
    with pytest.raises(PlanError, match="2\\*\\*64"):
        Plan(DOMAIN, "unary", 1.0, (("ones", COIN + 1),))


def test_a_later_format_asks_for_a_newer_version(plan, tmp_path):
    with pytest.raises(FormatError, match="newer Tacit"):
        Plan.read(edited(plan, tmp_path / "plan.toml", lambda c: c.update(format=5)))


@pytest.mark.parametrize("content", [b"", b"not toml = = =", b"\xff\xfe", b"a = 1"])
def test_a_file_that_is_no_plan_is_refused(tmp_path, content):
    path = tmp_path / "plan.toml"
    path.write_bytes(content)
    with pytest.raises(PlanError, match="plan_for"):
        Plan.read(path)
    with pytest.raises(PlanError, match="no plan at"):
        Plan.read(tmp_path / "none.toml")


def test_private_and_public_coordinates_are_divided():
    time, place = np.array([0, 3, 364]), np.array([2, 0, 1])
    for private, public, hidden in [
        (("place",), [0, 3, 364], [2, 0, 1]),
        (("time",), [2, 0, 1], [0, 3, 364]),
        (("time", "place"), [0, 0, 0], [2, 9, 1093]),
    ]:
        plan = plan_for(DOMAIN, f=0.5, private=private)
        got_public, got_private = plan.split(time, place)
        assert got_public.tolist() == public
        assert got_private.tolist() == hidden
        assert got_private.max() < plan.n_private


@pytest.mark.parametrize("private", [(), ("place", "time"), ("town",)])
def test_private_coordinates_are_named_in_order(private):
    with pytest.raises(SettingError, match="private must name one or more of time, place, in this order"):
        plan_for(DOMAIN, f=0.5, private=private)


def test_a_private_time_needs_an_end():
    with pytest.raises(SettingError, match="an end"):
        plan_for(DOUBS, f=0.5, private=("time",))


@pytest.mark.parametrize("settings", [{}, {"epsilon": 1.0, "f": 0.5}])
def test_a_plan_is_made_by_epsilon_or_by_f(settings):
    with pytest.raises(SettingError, match="either epsilon or f"):
        plan_for(DOMAIN, **settings)


@pytest.mark.parametrize("private", [("place",), ("time",)])
@pytest.mark.parametrize("epsilon", [0.1, 1.0, 2.2, 5.9])
def test_a_plan_has_the_mechanism_that_errs_least_unless_another_is_named(private, epsilon):
    made = plan_for(DOMAIN, epsilon=epsilon, private=private)
    assert made.mechanism == choose(made.n_private, epsilon).candidate.name
    assert plan_for(DOMAIN, epsilon=epsilon, private=private, mechanism="unary").mechanism == "unary"
    assert plan_for(DOMAIN, f=0.5, private=private).mechanism == "unary"


@pytest.mark.parametrize("name", ["SUE", "rappor", "One-time RAPPOR".lower(), "unary", "symmetric_unary_encoding"])
def test_the_fields_names_are_understood(name):
    assert plan_for(DOMAIN, epsilon=1.0, mechanism=name).mechanism == "unary"


def test_an_unknown_mechanism_names_the_known_ones():
    with pytest.raises(SettingError, match="one of unary"):
        plan_for(DOMAIN, epsilon=1.0, mechanism="magic")


@pytest.mark.parametrize("mechanism", ["hadamard", "optimized unary"])
def test_an_epsilon_that_thresholds_cannot_give_is_refused_when_the_plan_is_made(mechanism):
    with pytest.raises(SettingError, match="another mechanism"):
        plan_for(DOUBS, epsilon=32.0, mechanism=mechanism)


def test_a_plan_of_a_hundred_thousand_brackets_is_refused(tmp_path):
    (tmp_path / "plan.toml").write_text("a=" + "[" * 100_000)
    with pytest.raises(PlanError):
        Plan.read(tmp_path / "plan.toml")


def test_a_plan_with_a_place_elsewhere_has_a_number_that_earlier_readers_refuse(tmp_path):
    """And no other plan has it: numbers stand under the fingerprint."""
    usual = plan_for(DOMAIN, f=0.5)
    plan = plan_for(Domain(DOMAIN.time, DOMAIN.place.with_elsewhere()), f=0.5)
    assert (usual.to_dict()["format"], plan.to_dict()["format"]) == (1, 2)
    plan.write(tmp_path / "plan.toml")
    assert Plan.read(tmp_path / "plan.toml") == plan
    for some, other in ((usual, 2), (plan, 1), (plan, True)):
        with pytest.raises(PlanError, match=r"garbles format|format must be"):
            Plan.from_dict(some.to_dict() | {"format": other})


@pytest.mark.parametrize(
    "command",
    [("randomize", "events.csv", "--time", "day"), ("tally", "a.reports"), ("release", "a.tally"), ("audit",)],
)
@pytest.mark.parametrize(
    "change", [{"epsilon": 0.1}, {"epsilon": -1.0}, {"zeros": "0x1"}, {"zeros": hex(2**64 + 1)}, {"ones": "0x2"}]
)
def test_a_refusal_of_a_plans_numbers_names_its_file(tacit, plan, tmp_path, change, command):
    def edit(content):
        del content["fingerprint"]
        content["privacy"] |= {name: value for name, value in change.items() if name in content["privacy"]}
        content["mechanism"]["thresholds"] |= {n: v for n, v in change.items() if n not in content["privacy"]}

    edited(plan, tmp_path / "odd.toml", edit)
    named = ("odd.toml",) if command == ("audit",) else ("--plan", "odd.toml")
    ran = tacit(*command, *named)
    assert ran.code in (2, 4)
    assert "odd.toml" in ran.err, ran.err
