"""tacit audit: what it says, and what it leaves with."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pytest

from small_worlds import DOUBS
from tacit.audit import AUDITS
from tacit.collection.wire import ReportWriter
from tacit.counts.provenance import Provenance
from tacit.mechanisms.registry import mechanism_of
from tacit.plan import Plan
from tacit.randomness import SeededRandomness

ROOT = Path(__file__).parents[2]
SURE = ("--confidence", "0.999999")


@pytest.fixture(autouse=True)
def _own_path(monkeypatch):
    """What a plug-in's folder adds is forgotten, and the mechanisms with faults can be found."""
    monkeypatch.setattr(sys, "path", [str(ROOT), *sys.path])


@pytest.fixture
def plug_ins(tmp_path):
    name = f"plug_ins_{tmp_path.name.replace('-', '_')}"
    (tmp_path / f"{name}.py").write_text(
        "import numpy as np\n"
        "from experiments.audits.broken import FloatLaplace, PerBitUnary, ThesisCounter, ThesisOracle\n"
        "from tacit.mechanisms.registry import MECHANISMS\n"
        "thesis = ThesisOracle(0.405, 17, 1)\n"
        "per_bit = PerBitUnary(2.2, 17, 1)\n"
        "laplace = FloatLaplace(1.0, 1)\n"
        "draws = np.random.default_rng(2)\n"
        "redrawn = lambda counts: lambda: [counts.sum() + draws.laplace(0, 1)]\n"
        "tree = ThesisCounter(1.0, 3, 1, fault='dependent')\n"
        "dependent = lambda counts: tree(counts[None, :])[0]\n"
        "ours = MECHANISMS['subset'].from_epsilon(1.0, 9)\n"
        "truth = lambda value: f'it is {value}'\n"
        "breaks = lambda values: values / 0 + undefined\n"
        "number = 5\n",
        encoding="utf-8",
    )
    return name


@pytest.mark.slow
def test_our_own_mechanism_under_a_plan_is_not_refuted(tacit):
    tacit("plan", *DOUBS, "--from", "2018-01-01", "--to", "2018-01-31", "--epsilon", "2.2")
    ran = tacit("audit", "plan.toml", "--runs", "300000", *SURE)
    assert ran.code == 0, ran.err
    assert "local randomizer │     2.2 │" in ran.out
    assert "300,000 │ not refuted" in ran.out
    assert "no proof" in ran.out


@pytest.mark.slow
def test_a_curators_plan_and_a_counter_are_not_refuted(tacit):
    tacit("plan", *DOUBS, "--trust", "curator", "--from", "2018-01-01", "--to", "2018-01-08", "--epsilon", "1")
    ran = tacit("audit", "plan.toml", "--runs", "3000", *SURE)
    assert ran.code == 0, ran.err
    for name in ("published answers", "dependent noise", "the same question twice", "reconstruction", "floating-point"):
        assert name in ran.out
    started = tacit(
        "counter", "start", *DOUBS, "--from", "2018-01-01", "--horizon", "8", "--epsilon", "1", "--seed", "1"
    )
    assert started.code == 0, started.err
    (history,) = Path().glob("*.csv")
    ran = tacit("audit", "--counter", history, "--runs", "3000", *SURE)
    assert ran.code == 0, ran.err
    assert "published answers" in ran.out


def test_a_function_that_gives_away_more_is_refuted_with_exit_code_1(tacit, plug_ins):
    words = ("--function", f"{plug_ins}:thesis", "--epsilon", "0.405", "--values", "17", "--runs", "100000", *SURE)
    ran = tacit("audit", *words)
    assert ran.code == 1
    assert "REFUTED" in ran.out
    ran = tacit("audit", *words, "--json")
    assert ran.code == 1
    content = json.loads(ran.out)
    assert content["refuted"]
    assert content["audits"][0]["claimed_epsilon"] == 0.405
    assert 0.405 < content["audits"][0]["lower_bound"] < 0.96


@pytest.mark.parametrize(
    ("name", "words", "finds"),
    [
        ("per_bit", ("--epsilon", "2.2", "--values", "17", "--runs", "20000"), "local randomizer"),
        ("truth", ("--epsilon", "1", "--values", "north,south", "--each", "--runs", "500"), "local randomizer"),
        ("laplace", ("--epsilon", "1", "--counts", "2", "--runs", "2000"), "floating-point noise"),
        ("redrawn", ("--epsilon", "1", "--counts", "2", "--runs", "600"), "the mean of 256 equal questions"),
        ("dependent", ("--epsilon", "1", "--counts", "8", "--runs", "1000"), "dependent noise"),
    ],
)
def test_every_kind_of_function_is_refuted_by_the_audit_made_for_it(tacit, plug_ins, name, words, finds):
    ran = tacit("audit", "--function", f"{plug_ins}:{name}", *words, "--json")
    assert ran.code == 1, ran.err
    verdicts = {audit["audit"]: audit["verdict"] for audit in json.loads(ran.out)["audits"]}
    assert verdicts[finds] == "refuted"


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("thesis_oracle", ("--epsilon", "0.405", "--values", "17", "--runs", "60000")),
        ("rappor_last_bit", ("--epsilon", "2.2", "--values", "17", "--runs", "20000")),
        ("rappor_true_bit", ("--epsilon", "2.2", "--values", "17", "--runs", "20000")),
        ("per_bit_unary", ("--epsilon", "2.2", "--values", "17", "--runs", "20000")),
        ("seed_left_in", ("--epsilon", "1", "--values", "2", "--runs", "1000")),
        ("thesis_counter_scale", ("--epsilon", "1", "--counts", "16", "--runs", "20000")),
        ("thesis_counter_dependent", ("--epsilon", "1", "--counts", "16", "--runs", "500")),
        ("thesis_counter_redrawn", ("--epsilon", "1", "--counts", "16", "--runs", "500")),
        ("float_laplace", ("--epsilon", "1", "--counts", "4", "--runs", "2000")),
    ],
)
def test_what_must_be_refuted_is_refuted_by_its_name(tacit, name, words):
    ran = tacit("audit", "--function", f"experiments.audits.named:{name}", *words)
    assert ran.code == 1, ran.err
    assert "REFUTED" in ran.out


def test_a_randomizer_object_knows_its_own_epsilon(tacit, plug_ins):
    ran = tacit("audit", "--function", f"{plug_ins}:ours", "--runs", "200000", *SURE)
    assert ran.code == 0, ran.err
    assert "not refuted" in ran.out


@pytest.mark.slow
def test_a_command_is_audited_by_its_lines(tacit, tmp_path):
    (tmp_path / "honest.py").write_text(
        "import sys\nfor line in sys.stdin:\n    print(line.strip())\n", encoding="utf-8"
    )
    run = f"{sys.executable} honest.py"
    ran = tacit("audit", "--command", run, "--epsilon", "2.2", "--values", "17", "--runs", "2000")
    assert ran.code == 1
    ran = tacit("audit", "--command", run, "--epsilon", "2.2", "--counts", "3", "--runs", "1000")
    assert ran.code == 1
    assert "published answers" in ran.out


def test_whoever_makes_reports_of_a_plan_is_audited_by_its_form(tacit, tmp_path):
    tacit("plan", *DOUBS, "--from", "2018-01-01", "--to", "2018-01-31", "--epsilon", "2.2")
    plan = Plan.read("plan.toml")
    mechanism = mechanism_of(plan)
    source = SeededRandomness(5)
    for value in (0, 9):
        reports = mechanism.randomize(np.full(20_000, value), randomness=source)
        with ReportWriter(f"{value}.reports", Provenance(plan.fingerprint, True), mechanism.report_bytes) as writer:
            writer.add(np.zeros(20_000, np.int64), reports)
    ran = tacit("audit", "plan.toml", "--made", "0=0.reports", "--made", "9=9.reports", *SURE)
    assert ran.code == 0, ran.err
    assert "values 0 and 9" in ran.out
    third = np.repeat(mechanism.randomize(np.array([4]), randomness=source), 20_000, axis=0)
    with ReportWriter("4.reports", Provenance(plan.fingerprint, True), mechanism.report_bytes) as writer:
        writer.add(np.zeros(20_000, np.int64), third)
    ran = tacit("audit", "plan.toml", "--made", "0=0.reports", "--made", "9=9.reports", "--made", "4=4.reports")
    assert ran.code == 1, ran.err  # whichever two give most away
    assert "and 4" in ran.out
    code = "import sys; [print(f'{1 << int(line):06x}') for line in sys.stdin]"
    (tmp_path / "bare.py").write_text(code, encoding="utf-8")
    ran = tacit("audit", "plan.toml", "--command", f"{sys.executable} bare.py", "--runs", "1000")
    assert ran.code == 1


def test_the_audits_are_listed(tacit):
    ran = tacit("audit", "--list")
    assert ran.code == 0
    assert all(name in ran.out for name in AUDITS)


def test_the_same_seed_gives_the_same_audit(tacit):
    tacit("plan", *DOUBS, "--from", "2018-01-01", "--to", "2018-01-31", "--epsilon", "2.2")
    words = ("audit", "plan.toml", "--runs", "20000", "--seed", "4")
    assert tacit(*words).out == tacit(*words).out


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("--epsilon", "1"), "one thing must be audited at a time"),
        (("plan.toml", "--function", "a:b"), "one thing must be audited at a time"),
        (("plan.toml", "--epsilon", "1"), "state their own epsilon"),
        (("--function", "{}:thesis", "--values", "17"), "needs the claimed epsilon"),
        (("--function", "{}:thesis", "--epsilon", "1"), "what is taken"),
        (("--function", "{}:nothing", "--epsilon", "1", "--values", "3"), "Check the spelling"),
        (("--function", "{}:number", "--epsilon", "1", "--values", "3"), "must be a function"),
        (("--function", "{}:breaks", "--epsilon", "1", "--values", "3"), "failed"),
        (("--function", "{}:thesis", "--epsilon", "-1", "--values", "3"), "epsilon must be"),
        (("--function", "{}:thesis", "--epsilon", "1", "--values", "1"), "values must be"),
        (("--function", "{}:thesis", "--epsilon", "1", "--values", "3", "--runs", "5"), "--runs must be"),
        (("--function", "{}:thesis", "--epsilon", "1", "--values", "3", "--confidence", "2"), "confidence must be"),
        (("--function", "{}:thesis", "--epsilon", "1", "--counts", "3", "--each"), "Leave it out"),
        (("--function", "{}:thesis", "--epsilon", "1", "--values", "3", "--unit", "2"), "values have none"),
        (("--function", "{}:ours", "--delta", "1e-6"), "knows its values and has no delta"),
        (("--command", "cat", "--epsilon", "1", "--values", "3", "--each"), "reads a value a line anyway"),
        (("--made", "0=a.reports", "--function", "{}:thesis"), "belong to a plan"),
        (("plan.toml", "--made", "0=a.reports", "--command", "cat"), "one thing must be audited"),
    ],
)
def test_what_cannot_be_audited_is_refused_with_exit_code_2(tacit, plug_ins, words, message):
    tacit("plan", *DOUBS, "--from", "2018-01-01", "--to", "2018-01-31", "--epsilon", "2.2")
    ran = tacit("audit", *(word.format(plug_ins) for word in words))
    assert ran.code == 2, ran.err
    assert message in ran.err
