"""Plans for devices and for a curator, and the comparison that writes nothing."""

from __future__ import annotations

import re

import pytest

from small_worlds import DOUBS
from tacit._base.rounding import epsilon_at_most
from tacit.cli.plan import QuestionOptions
from tacit.mechanisms.central.table import central_mechanism_of
from tacit.mechanisms.local.unary import UnaryEncoding
from tacit.mechanisms.registry import mechanism_of
from tacit.plan import Plan
from tacit.privacy.unit import Unit

YEARS = ("--from", "2016-01-01", "--to", "2018-12-31")  # 1,096 days


def rows_of(table: str) -> dict[str, list[str]]:
    """The rows of a printed table by their first cell."""
    lines = [line.split("│") for line in table.splitlines() if "│" in line]
    return {first.strip(): [cell.strip() for cell in cells] for first, *cells in lines}


def number(cell: str) -> float:
    return float(cell.rstrip("*").replace(",", ""))


@pytest.mark.slow
def test_a_comparison_prints_every_mechanism_and_writes_nothing(tacit, tmp_path):
    ran = tacit("plan", *DOUBS, *YEARS, "--compare", "--trust", "curator", "--epsilon", "1", "--expected-events", "1e6")
    assert ran.code == 0, ran.err
    assert list(tmp_path.iterdir()) == []
    assert "1,096 periods x 17 places, about 1,000,000 events; a trusted curator spends epsilon 1 per event." in ran.out
    rows = rows_of(ran.out)
    assert {"(the answer itself)", "flat laplace", "tree laplace 2^11", "counter (smooth tree) laplace"} <= rows.keys()
    assert rows["flat laplace"][0] == "1.36*"
    assert number(rows["(the answer itself)"][0]) == pytest.approx(1e6 / 1096 / 17, abs=0.1)
    assert "For points alone: flat laplace, 1.36." in ran.out
    assert "Counters publish after every period" in ran.out
    assert sum("*" in cell for row in rows.values() for cell in row) == 3


@pytest.mark.slow
def test_a_wanted_error_gives_the_plan_its_epsilon(tacit, tmp_path):
    ran = tacit("plan", *DOUBS, *YEARS, "--trust", "curator", "--target", "40", "--ask", "points,30")
    assert ran.code == 0, ran.err
    plan = Plan.read(tmp_path / "plan.toml")
    assert f"An error of 40 events takes epsilon {epsilon_at_most(plan.epsilon)}." in ran.out
    ran = tacit("plan", *DOUBS, *YEARS, "--target", "20%", "--expected-events", "1e6", "--ask", "30", "--force")
    assert ran.code == 0, ran.err
    assert 0.5 < Plan.read(tmp_path / "plan.toml").epsilon < 5


def test_a_plan_may_have_a_place_for_events_elsewhere(tacit, tmp_path):
    for trust in ("nobody", "curator"):
        words = ("plan", *DOUBS, *YEARS, "--epsilon", "1", "--trust", trust, "--force")
        assert tacit(*words).code == 0
        without = Plan.read(tmp_path / "plan.toml")
        assert tacit(*words, "--elsewhere").code == 0
        plan = Plan.read(tmp_path / "plan.toml")
        assert plan.domain.place.cells == (*without.domain.place.cells, "elsewhere")
        assert plan.domain.place.elsewhere == 17
        assert plan.fingerprint != without.fingerprint


@pytest.mark.slow
def test_a_comparison_of_devices_has_the_bytes_of_reports(tacit):
    ran = tacit(
        "plan", *DOUBS, *YEARS, "--compare", "--private", "time", "--epsilon", "1", "--expected-events-per-bin", "1000"
    )
    rows = rows_of(ran.out)
    assert "about 1,096,000 events; devices that trust nobody hide the time, epsilon 1 per event." in ran.out
    assert rows["subset"][-1] == "137"
    assert any(name.startswith("hierarchical ") for name in rows)
    assert "Nothing can answer points: the least error is " in ran.out
    assert re.search(r"takes epsilon \d+\.\d+ or [\d,]+ events in all; or ask for longer ranges\.", ran.out)


def test_gaussian_noise_is_compared_where_there_is_a_delta_or_rho(tacit):
    asked = (
        "plan",
        *DOUBS,
        *YEARS,
        "--compare",
        "--trust",
        "curator",
        "--expected-events",
        "1e6",
        "--ask",
        "points,30",
    )
    both = tacit(*asked, "--epsilon", "1", "--delta", "1e-6").out
    assert "epsilon 1, delta 1e-06 per event" in both
    assert {"flat laplace", "flat gaussian"} <= rows_of(both).keys()
    alone = rows_of(tacit(*asked, "--rho", "0.1").out)
    assert "flat gaussian" in alone
    assert "flat laplace" not in alone


@pytest.mark.slow
def test_a_target_finds_the_epsilon_or_the_number_of_events(tacit):
    asked = ("plan", *DOUBS, *YEARS, "--compare", "--trust", "curator", "--ask", "points")
    found = tacit(*asked, "--target", "10", "--expected-events", "1e6").out
    (epsilon,) = re.findall(r"An error of 10 events takes epsilon ([\d.]+)\.$", found, re.MULTILINE)
    assert float(epsilon) == pytest.approx(0.1414, rel=0.01)
    assert rows_of(found)["flat laplace"] == ["10.0*"] or number(rows_of(found)["flat laplace"][0]) <= 10
    found = tacit(*asked, "--target", "5%", "--epsilon", "0.5").out
    (events,) = re.findall(r"An error of 5% of the answer takes ([\d,]+) events in all\.", found)
    assert float(events.replace(",", "")) == pytest.approx(8**0.5 / 0.05 * 1096 * 17, rel=0.02)
    said = tacit(*asked, "--target", "1", "--epsilon", "0.5", "--expected-events", "1e6").out
    assert "Nothing errs by at most 1 events for all of these questions. It takes epsilon 1.31" in said
    said = tacit(
        "plan", *DOUBS, *YEARS, "--compare", "--expected-events", "1e9", "--target", "0.001", "--ask", "totals"
    ).out
    assert said == "No epsilon up to 32 gives answers that err by at most 0.001 events; more would protect nobody.\n"


def test_a_curators_plan_has_the_mechanism_of_least_error_for_what_is_asked(tacit, tmp_path):
    asked = ("plan", *DOUBS, *YEARS, "--trust", "curator", "--epsilon", "1")
    ran = tacit(*asked)
    assert ran.code == 0, ran.err
    assert "Next: tacit count EVENTS" in ran.out
    assert re.search(r"For points, random ranges and running totals, tree laplace [\d ×^]+ errs least of \d+", ran.out)
    plan = Plan.read(tmp_path / "plan.toml")
    assert (plan.is_central, plan.mechanism, plan.epsilon) == (True, "tree", 1.0)
    tacit(*asked, "--ask", "points", "--out", "flat.toml")
    assert Plan.read(tmp_path / "flat.toml").mechanism == "flat"


@pytest.mark.slow
def test_gaussian_noise_is_planned_where_it_errs_less_and_no_delta_where_it_does_not(tacit, tmp_path):
    asked = ("plan", *DOUBS, *YEARS, "--trust", "curator", "--epsilon", "1", "--unit", "user-day", "--most", "3")
    tacit(*asked, "--delta", "1e-9", "--out", "a.toml")
    pure = Plan.read(tmp_path / "a.toml")
    assert (pure.delta, pure.rho, pure.most, pure.unit) == (0.0, 0.0, 3, "user-day")
    tacit(*asked, "--delta", "0.05", "--ask", "ranges", "--out", "b.toml")
    gaussian = Plan.read(tmp_path / "b.toml")
    assert gaussian.delta == 0.05
    assert gaussian.rho > 0
    assert "Epsilon 1 at delta 1e-09" not in tacit(*asked, "--delta", "1e-9", "--out", "c.toml").out


@pytest.mark.slow
def test_persons_are_planned_with_their_bounds_and_the_noise_that_errs_less(tacit, tmp_path):
    person = ("--unit", "person", "--most", "20", "--most-per-cell", "1", "--window", "month")
    asked = (
        "plan",
        *DOUBS,
        *YEARS,
        "--trust",
        "curator",
        "--epsilon",
        "1",
        "--delta",
        "1e-6",
        "--ask",
        "points",
        *person,
    )
    ran = tacit(*asked, "--out", "a.toml")
    assert "per person of at most 20 events in a month, 1 in one cell" in " ".join(ran.out.split())
    made = Plan.read(tmp_path / "a.toml")
    assert made.protected_unit == Unit.person(most=20, most_per_cell=1, window="month")
    # Laplace noise would follow 20, Gaussian noise the root of 20
    assert made.rho > 0
    assert tacit(*asked[:-4], "--out", "b.toml").code == 0
    assert Plan.read(tmp_path / "b.toml").protected_unit == Unit.person(most=20)
    compared = tacit(*asked, "--compare", "--expected-events", "1000000")
    assert "flat gaussian" in compared.out
    assert "per person of at most 20 events in a month" in " ".join(compared.out.split())


def test_tables_are_planned_where_places_and_kinds_are_asked_about(tacit, tmp_path):
    asked = ("plan", *DOUBS, *YEARS, "--kinds", "fire,flood,fall", "--ask", "points by place,points by kind")
    tacit(*asked, "--trust", "curator", "--rho", "0.1", "--delta", "1e-6", "--out", "a.toml")
    made = Plan.read(tmp_path / "a.toml")
    assert made.mechanism == "tables"
    assert dict(made.thresholds)["share joint"] < 10 < dict(made.thresholds)["share kind"]
    devices = (*asked, "--epsilon", "1", "--private", "place,kind")
    assert "sampled tables errs least of" in " ".join(tacit(*devices, "--out", "b.toml").out.split())
    made = Plan.read(tmp_path / "b.toml")
    assert made.mechanism == "sampled tables"
    assert dict(made.thresholds)["table 3 chance"] / 2**64 < 0.001
    compared = tacit(*devices[:-2], "--private", "place,kind", "--compare", "--expected-events", "100000")
    rows = rows_of(compared.out)
    assert {"sampled tables", "split epsilon (SPL)", "fake data (RS+FD)"} <= rows.keys()
    assert "Best for these questions together: sampled tables" in compared.out


def test_mechanism_and_fan_outs_can_be_named(tacit, tmp_path):
    asked = ("plan", *DOUBS, *YEARS, "--trust", "curator", "--epsilon", "1")
    tacit(*asked, "--fan-outs", "10,11,10", "--out", "a.toml")
    assert central_mechanism_of(Plan.read(tmp_path / "a.toml")).hierarchy.level_sizes == (1, 10, 110, 1096)
    tacit(*asked, "--mechanism", "calendar tree", "--out", "b.toml")
    assert Plan.read(tmp_path / "b.toml").mechanism == "calendar tree"
    assert tacit(*asked, "--fan-outs", "10,x", "--out", "c.toml").code == 2
    assert not (tmp_path / "c.toml").exists()


def test_devices_may_have_a_tree_of_ones_own(tacit, tmp_path):
    words = ("--private", "time", "--epsilon", "1", "--mechanism", "hierarchical", "--fan-outs", "10,11,10")
    ran = tacit("plan", *DOUBS, *YEARS, *words, "--oracle", "OUE")
    assert ran.code == 0, ran.err
    made = mechanism_of(Plan.read(tmp_path / "plan.toml"))
    assert made.hierarchy.level_sizes == (1, 10, 110, 1096)
    assert {type(oracle) for oracle in made.oracles} == {UnaryEncoding}


def test_devices_get_a_tree_where_ranges_are_asked(tacit, tmp_path):
    ran = tacit("plan", *DOUBS, *YEARS, "--private", "time", "--epsilon", "1", "--ask", "ranges")
    assert ran.code == 0, ran.err
    assert Plan.read(tmp_path / "plan.toml").mechanism == "hierarchical"
    assert re.search(r"For random ranges, hierarchical [\d ×^]+ errs least of \d+ mechanisms and fan-outs", ran.out)


CURATOR = ("--trust", "curator")
COMPARED = ("--compare", "--epsilon", "1", "--expected-events", "1000")


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--trust", "everybody", "--epsilon", "1"), "trust must be one of nobody, curator"),
        (CURATOR, "give either epsilon or rho"),
        ((*CURATOR, "--epsilon", "1", "--rho", "1"), "give either epsilon or rho"),
        ((*CURATOR, "--epsilon", "0"), "epsilon must be a number of at least"),
        ((*CURATOR, "--epsilon", "nan"), "epsilon must be a number of at least"),
        ((*CURATOR, "--rho", "0.1"), "rho needs a delta"),
        ((*CURATOR, "--f", "0.5"), "leave out --f"),
        ((*CURATOR, "--epsilon", "1", "--private", "time"), "leave out --private"),
        ((*CURATOR, "--epsilon", "1", "--unit", "household"), "unit must be one of"),
        ((*CURATOR, "--epsilon", "1", "--most", "4"), "most must be 1 for the unit event"),
        (("--epsilon", "1", "--delta", "1e-6"), "leave out --delta"),
        (("--epsilon", "1", "--unit", "user-day"), "leave out --unit"),
        ((*CURATOR, "--epsilon", "1", "--unit", "person", "--most", "3", "--most-per-cell", "4"), "most-per-cell must"),
        ((*CURATOR, "--epsilon", "1", "--unit", "person", "--most-per-cell", "0"), "most-per-cell must"),
        ((*CURATOR, "--epsilon", "1", "--unit", "person", "--window", "hour"), "window must be one of"),
        (("--epsilon", "1", "--fan-outs", "4,4"), "the product of --fan-outs must be at least the number of values"),
        (("--epsilon", "1", "--fan-outs", "5,4", "--oracle", "response"), "oracle must be one of"),
        (("--epsilon", "1", "--fan-outs", "5,4", "--unit", "device"), "leave out --fan-outs"),
        ((*CURATOR, "--epsilon", "1", "--oracle", "subset"), "leave out --oracle"),
        (("--epsilon", "1", "--target", "5%"), "leave out --epsilon"),
        (("--target", "5%"), "Add how many events to expect"),
        (("--target", "40"), "Add how many events to expect"),
        (("--target", "0.0001", "--expected-events", "1e6"), "No plan was written"),
        (("--compare",), "Add: --epsilon 1, or --target 5%"),
        (("--compare", "--epsilon", "1"), "Add how many events to expect"),
        (("--compare", "--target", "5%"), "Add how many events to expect"),
        ((*COMPARED, "--expected-events-per-bin", "5"), "Give --expected-events or --expected-events-per-bin"),
        ((*COMPARED, "--mechanism", "subset"), "leave out --mechanism"),
        ((*COMPARED, "--ask", "5000"), "length must be at most the number of bins, 1,096"),
        ((*COMPARED, "--ask", "everything"), "a question must be points, ranges, totals or a length"),
        ((*COMPARED, "--target", "little"), "target must be a number of events or a share"),
        (
            ("--compare", "--epsilon", "1", "--expected-events", "-5"),
            "--expected-events must be a finite number above 0",
        ),
        (("--compare", "--epsilon", "1", "--target", "5"), "target must be a share of the answer"),
    ],
)
def test_bad_words_are_refused_and_nothing_is_written(tacit, tmp_path, words, message):
    ran = tacit("plan", *DOUBS, *YEARS, *words)
    assert ran.code == 2
    assert message in ran.err
    assert list(tmp_path.iterdir()) == []


def test_a_time_without_an_end_cannot_be_compared(tacit):
    ran = tacit("plan", *DOUBS, "--from", "2018-01-01", *COMPARED)
    assert ran.code == 2
    assert "Add the last day: --to" in ran.err


def test_events_are_counted_in_all():
    assert QuestionOptions(expected_events=500.0).n_events(10) == 500
    assert QuestionOptions(expected_events_per_bin=50.0).n_events(10) == 500
    assert QuestionOptions().n_events(10) is None


def test_devices_that_report_for_years_get_what_errs_least_and_four_epsilons(tacit, tmp_path):
    words = ("plan", *DOUBS, *YEARS, "--unit", "device", "--epsilon", "1", "--epsilon-infinity", "4", "--reports", "7")
    ran = tacit(*words)
    assert ran.code == 0, ran.err
    plan = Plan.read(tmp_path / "plan.toml")
    assert (plan.unit, plan.mechanism, plan.n_reports) == ("device", "optimized longitudinal", 7)
    said = " ".join(ran.out.split())
    for sentence in (
        "the mean over 7 reports of each device errs least",
        "One report: epsilon 1.",
        f"7 reports about one value: epsilon {epsilon_at_most(plan.device_figures.epsilon_n)}.",
        "Any number of reports about one value: epsilon 4.",
        "Values that change, for ever: epsilon 68, of which of 17 values a device had.",
    ):
        assert sentence in said
    ran = tacit(*words, "--values", "0", "--epsilon-of-values", "8", "--force")
    assert "epsilon 8, of which of 4 hash values" in " ".join(ran.out.split())
    assert Plan.read(tmp_path / "plan.toml").mechanism == "longitudinal hashing"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--reports", "7", "--epsilon", "1"), "add --unit device"),
        (("--unit", "device"), "epsilon must be given for the unit device"),
        (("--unit", "device", "--epsilon", "1", "--mechanism", "unary"), "leave out --mechanism"),
        (
            ("--unit", "device", "--epsilon", "1", "--trust", "curator", "--mechanism", "flat"),
            "unit must be one of event",
        ),
    ],
)
def test_what_does_not_fit_devices_is_refused(tacit, words, said):
    ran = tacit("plan", *DOUBS, *YEARS, *words)
    assert ran.code == 2
    assert said in " ".join(ran.err.split())
