"""What the documents say of commands, errors, mechanisms, numbers and files is what the code does."""

from __future__ import annotations

import ast
import inspect
import json
import math
import re
import tomllib
from dataclasses import fields, replace
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tacit
from old_formats import document_of
from small_worlds import days_places_and_kinds, reported, simulated, simulated_estimate
from tacit import errors
from tacit._base.rounding import at_most, percent_at_most
from tacit.cli.app import COMMANDS, load_command
from tacit.collection.tallying import estimate_tally
from tacit.collection.wire import ReportWriter
from tacit.counts import noise
from tacit.counts.continual_noise import CONTINUAL_NOISE, KaryTree
from tacit.counts.node_distributions import DiscreteGaussian, DiscreteLaplace
from tacit.counts.oracle_distributions import ORACLE_DISTRIBUTIONS
from tacit.counts.provenance import Provenance
from tacit.domain import Domain, Grouping, Layout, PlaceAxis, TimeAxis
from tacit.domain.hierarchy import Hierarchy
from tacit.events import Reason
from tacit.mechanisms.central.table import CENTRAL_MECHANISMS
from tacit.mechanisms.continual import Counter
from tacit.mechanisms.continual import compare as compare_counters
from tacit.mechanisms.continual import pick as pick_noise_model
from tacit.mechanisms.local.unary import UnaryEncoding
from tacit.mechanisms.planner import choose
from tacit.mechanisms.registry import MECHANISMS, plan_for
from tacit.plan import Plan
from tacit.postprocess import filtered, smooth
from tacit.privacy import compose
from tacit.privacy.cost import Cost
from tacit.privacy.spend import Spend
from tacit.release import PrivacyStatement, Release
from tacit.release import files as release_files
from tacit.release.exports import MEANINGS
from tacit.release.questions import answered
from tacit.statespace.posterior_noise import StrataNoise

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
SOURCE = ROOT / "src" / "tacit"
README = (ROOT / "README.md").read_text(encoding="utf-8")
READING = (DOCS / "guides" / "reading-events.md").read_text(encoding="utf-8")
FORMATS = (DOCS / "file-formats.md").read_text(encoding="utf-8")
LIMITS = (DOCS / "limits.md").read_text(encoding="utf-8")
NOTATION = (DOCS / "notation.md").read_text(encoding="utf-8")
ARCHITECTURE = (DOCS / "architecture.md").read_text(encoding="utf-8")
EVERYTHING = [path.read_text(encoding="utf-8") for path in (*ROOT.glob("*.md"), *DOCS.rglob("*.md"))]

OTHER_PROGRAMS_OPTIONS = {"--help", "--version"}
EXIT_CODES_OF_THE_COMMAND_LINE = {0, 70, 130, 143}


def section(text: str, heading: str) -> str:
    """The part of a document under a heading, up to the next of its depth."""
    found = re.search(rf"^(?P<mark>#+) {re.escape(heading)}$", text, re.MULTILINE)
    assert found is not None, heading
    rest = text[found.end() :]
    end = re.search(rf"^#{{1,{len(found['mark'])}}} ", rest, re.MULTILINE)
    return rest[: end.start()] if end else rest


def rows_of(text: str) -> list[list[str]]:
    """The cells of the rows of a table, without its head."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    rules = [number for number, row in enumerate(rows) if all(set(cell) <= set("-: ") for cell in row)]
    return [row for number, row in enumerate(rows) if number not in rules and number + 1 not in rules]


def code_spans(cell: str) -> list[str]:
    return re.findall(r"`([^`]+)`", cell)


def commands() -> set[str]:
    return set(COMMANDS)


def options_of(command: Any) -> set[str]:
    """The options of a command and of the commands within it."""
    own = {word for option in command.params for word in (*option.opts, *option.secondary_opts)}
    return own.union(*(options_of(inner) for inner in getattr(command, "commands", {}).values()))


def test_every_command_has_a_row_in_the_readme_and_every_row_is_a_command():
    named = [code_spans(row[0])[0] for row in rows_of(section(README, "Commands"))]
    assert sorted(named) == sorted(f"tacit {command}" for command in commands())


def test_every_command_named_anywhere_exists():
    named = {word for text in EVERYTHING for word in re.findall(r"`tacit ([a-z]\w*)", text)}
    named |= {word for text in EVERYTHING for word in re.findall(r"^\$? ?tacit ([a-z]\w*)", text, re.MULTILINE)}
    assert named <= commands()
    assert {"check", "randomize", "query"} <= named


def test_every_option_named_anywhere_exists():
    known = set().union(*(options_of(load_command(name)) for name in COMMANDS))
    named = {word for text in EVERYTHING for word in re.findall(r"`(--[a-z][a-z-]*)", text)}
    assert named - OTHER_PROGRAMS_OPTIONS <= known
    assert {"--time", "--again", "--laboratory"} <= named


def test_exit_codes_are_documented():
    classes = [one for _, one in inspect.getmembers(errors, inspect.isclass) if issubclass(one, errors.TacitError)]
    codes = {one.exit_code for one in classes} | EXIT_CODES_OF_THE_COMMAND_LINE
    (sentence,) = re.findall(r"Exit codes: (.+?)\.", README.replace("\n", " "))
    assert {int(part.split()[0]) for part in sentence.split(",")} == codes


def drawn_tree(text: str) -> dict[str, str | None]:
    """Who stands under whom in a tree drawn with lines."""
    parents: dict[str, str | None] = {}
    above: list[str] = []
    for line in re.findall(r"^    ((?:│   |    |├── |└── )*)([A-Z]\w*)", text, re.MULTILINE):
        depth = len(line[0]) // 4
        above[depth:] = [line[1]]
        parents[line[1]] = above[depth - 1] if depth else None
    return parents


def test_the_tree_of_errors_is_drawn_as_it_is():
    real = {
        name: next((base.__name__ for base in one.__bases__ if issubclass(base, errors.TacitError)), None)
        for name, one in inspect.getmembers(errors, inspect.isclass)
        if issubclass(one, errors.TacitError)
    }
    assert drawn_tree(errors.__doc__ or "") == real


def test_a_drawn_tree_is_read_by_its_lines():
    drawn = drawn_tree("::\n\n    A\n    ├── B      words\n    │   └── C\n    └── D\n")
    assert drawn == {"A": None, "B": "A", "C": "B", "D": "A"}


@pytest.mark.parametrize("name", MECHANISMS)
def test_every_mechanism_promises_privacy_error_cost_and_names_its_reference(name):
    promises = re.findall(
        r"^\s*(Privacy|Error|Cost|Reference):\s+\S", MECHANISMS[name].kind.__doc__ or "", re.MULTILINE
    )
    assert promises == ["Privacy", "Error", "Cost", "Reference"]


def test_names_of_mechanisms_are_listed():
    listed = {code_spans(row[0])[0]: row for row in rows_of(section(NOTATION, "Names of mechanisms"))}
    assert listed.keys() == MECHANISMS.keys()
    for name, entry in MECHANISMS.items():
        assert set(code_spans(listed[name][1])) == {entry.name, *entry.aliases}


def numbers_of(row: list[str]) -> list[float]:
    return [float(re.sub(r"[^\d.]", "", cell)) for cell in row]


def test_the_readmes_table_of_epsilons_is_computed_and_its_bounds_are_rounded_up():
    rows = rows_of(section(README, "The guarantee in plain words"))
    assert len(rows) >= 5
    plan, _ = simulated(np.zeros((1, 17), np.int64))
    for row in rows:
        epsilon, *_, in_month, in_year = numbers_of(row)
        statement = PrivacyStatement.of(
            plan_for(plan.domain, epsilon=epsilon), Provenance("any"), unbiased_steps=(), refined_steps=()
        )
        assert row[1] == at_most(statement.odds)
        assert row[2] == percent_at_most(statement.largest_belief).replace("%", " %")
        assert in_month == round(math.sqrt(choose(17, epsilon, n_reports=2_500).candidate.mean_variance))
        assert in_year == round(math.sqrt(choose(17, epsilon, n_reports=30_000).candidate.mean_variance))


def test_a_region_of_two_fifths_errs_at_most_twice_as_much_as_the_mean():
    assert "one with 40 % of all events errs up to twice as much" in " ".join(README.split())
    for row in rows_of(section(README, "The guarantee in plain words")):
        chosen = choose(17, numbers_of(row)[0]).candidate
        assert chosen.variance(0.4) <= 4 * chosen.mean_variance


def test_the_errors_that_the_limits_name_are_computed():
    (named,) = re.findall(
        r"at ε = 2.2 and 2,500 events a month it is between (\d+) and (\d+) for any region with up to 1,000 of them",
        " ".join(LIMITS.split()),
    )
    chosen = choose(17, 2.2, n_reports=2_500).candidate
    least, most = (math.sqrt(chosen.variance(share)) for share in (0, 0.4))
    assert tuple(map(int, named)) == (math.floor(least), math.ceil(most))


def test_the_errors_of_counters_that_the_guide_names_are_computed():
    guide = " ".join((DOCS / "guides" / "running-counts.md").read_text(encoding="utf-8").split())
    pure, gaussian = Cost.pure(1.0), Cost.approximate(1.0, 1e-6)

    def named(cost: Cost, n_bins: int | None, *, reacts: bool = True) -> str:
        best = compare_counters(cost, n_bins, reacts=reacts)[0]
        return f"{math.sqrt(best.mean):.0f} (at most {math.sqrt(best.largest):.0f})"

    endless = named(pure, None)
    known = named(pure, 2048).split()[0]
    assert f"errs by {endless.replace(' (', ' on average (')}, one that knew its end by {known}." in guide
    assert f"errs by {named(gaussian, None)} over 2,048 days, against {endless} with Laplace noise" in guide
    assert f"errs by {named(pure, 365, reacts=False)} instead of {named(pure, 365)}." in guide


def test_the_sums_of_many_releases_that_the_guide_names_are_computed():
    guide = (DOCS / "guides" / "budgets.md").read_text(encoding="utf-8")
    others = compose([Cost.pure(0.1)] * 100, delta=1e-6).others
    assert others.keys() == {"sequential", "zCDP", "optimal"}
    adding, zcdp, optimal = (f"{others[name]:.3g}" for name in ("sequential", "zCDP", "optimal"))
    assert f"{adding} by adding, {zcdp} by zCDP, {optimal} by optimal composition" in guide


def test_the_table_of_f_is_computed():
    rows = [row for row in rows_of(section(NOTATION, "Formulas")) if re.fullmatch(r"[\d.]+", row[0])]
    assert len(rows) == 3
    for row in rows:
        f, epsilon, p, q, variance = numbers_of(row)
        unary = UnaryEncoding.rappor(f=f, n_cells=17)
        assert (p, q) == pytest.approx((float(unary.p), float(unary.q)))
        assert epsilon == pytest.approx(unary.epsilon, abs=0.0051)
        assert variance == pytest.approx(float(unary.q * (1 - unary.q) / (unary.p - unary.q) ** 2), rel=2e-3)


def test_the_thresholds_and_the_reports_of_every_mechanism_are_documented():
    listed = {name: code_spans(row[1]) for row in rows_of(section(FORMATS, "Plan")) for name in code_spans(row[0])}
    assert listed.keys() == MECHANISMS.keys()
    for name, entry in MECHANISMS.items():
        thresholds = entry.from_epsilon(1.0, 17).thresholds()
        assert listed[name] == sorted(
            {re.sub(r"^(level|table) \d+ |(?<=axis) \d+$", "", threshold) for threshold in thresholds}
        )
    rows = [row for row in rows_of(section(FORMATS, "Reports")) if len(row) == 3]
    reported = [name for row in rows for name in code_spans(row[0])]
    assert sorted(reported) == sorted(MECHANISMS)


def test_every_reason_for_a_bad_row_is_listed_in_its_order():
    assert [row[0] for row in rows_of(section(READING, "Bad rows"))] == [reason.value for reason in Reason]


def test_the_rooms_are_those_that_are_enforced():
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    (layers,) = (one["layers"] for one in settings["tool"]["importlinter"]["contracts"] if one["type"] == "layers")
    drawn = [code_spans(row[0]) for row in rows_of(section(ARCHITECTURE, "The rooms"))]
    assert drawn == [layer.split(" | ") for layer in layers]


def where_to_go() -> list[tuple[str, list[tuple[str, str]]]]:
    """Each room that has a heading, with the file and the name to look for of its rows."""
    _, *parts = re.split(r"^### ", section(ARCHITECTURE, "Where do I go to change …"), flags=re.MULTILINE)
    rows = [[(code_spans(row[1]), code_spans(row[2])) for row in rows_of(part)] for part in parts]
    rooms = [room for part in parts for room in code_spans(part.splitlines()[0])]
    return list(zip(rooms, [[(file, name) for (file,), (name,) in of_room] for of_room in rows], strict=True))


def names_defined(body: list[ast.stmt]) -> set[str]:
    """What a module defines at its top; methods and fields of its classes as ``Class.name``."""
    defined = {node.name for node in body if isinstance(node, ast.FunctionDef | ast.ClassDef)}
    for node in body:
        targets = node.targets if isinstance(node, ast.Assign) else [getattr(node, "target", None)]
        each = [name for target in targets for name in getattr(target, "elts", [target])]
        defined |= {name.id for name in each if isinstance(name, ast.Name)}
        if isinstance(node, ast.ClassDef):
            defined |= {f"{node.name}.{name}" for name in names_defined(node.body)}
    return defined


def test_what_changes_is_found_where_the_architecture_says():
    for _, rows in where_to_go():
        for file, name in rows:
            text = (SOURCE / file).read_text(encoding="utf-8")
            is_there = name in (names_defined(ast.parse(text).body) if file.endswith(".py") else text)
            assert is_there, f"{file} has no {name}"


def test_every_source_file_has_a_row_in_the_architecture():
    suffixes = {".py", ".html", ".js", ".css", ".txt", ".csv"}
    files = [path for path in SOURCE.rglob("*") if path.suffix in suffixes and "__pycache__" not in path.parts]
    named = {file for _, rows in where_to_go() for file, _ in rows}
    left_out = {str(path.relative_to(SOURCE)) for path in files if not only_passes_names_on(path)} - named
    assert not left_out


def only_passes_names_on(path: Path) -> bool:
    """Whether a file is the ``__init__`` of a package that defines no function and no class."""
    if path.name != "__init__.py":
        return False
    body = ast.parse(path.read_text(encoding="utf-8")).body
    return not any(isinstance(node, ast.FunctionDef | ast.ClassDef) for node in body)


def test_the_files_of_the_architecture_stand_under_their_rooms_in_their_order():
    rooms = [room for row in rows_of(section(ARCHITECTURE, "The rooms")) for room in code_spans(row[0])]
    assert [room for room, _ in where_to_go()] == rooms
    for room, rows in where_to_go():
        assert {Path(file).parts[0].removesuffix(".py") for file, _ in rows} - {"__init__"} == {room}


def test_the_columns_of_a_release_are_those_documented():
    rows = rows_of(section(FORMATS, "Release"))
    documented = [name for row in rows for name in code_spans(row[0])]
    plan = plan_for(days_places_and_kinds(2, 3), epsilon=1.0, mechanism="unary")
    with_kinds = Release.of(plan, estimate_tally(reported(plan, np.full((2, 9), 50), 1), plan))
    assert documented == list(with_kinds.columns())
    plan, estimate = simulated_estimate(np.full((2, 3), 50))
    assert [name for name in documented if name != "kind"] == list(Release.of(plan, estimate).columns())


def test_the_document_inside_a_release_has_the_keys_documented(tmp_path):
    plan, estimate = simulated_estimate(np.full((2, 3), 50))
    Release.of(plan, estimate).write(tmp_path / "release.parquet")
    about = document_of(tmp_path / "release.parquet")
    (listed,) = re.findall(r"has the keys (.+?)\. In", section(FORMATS, "The document of a release").replace("\n", " "))
    assert code_spans(re.sub(r"\(.*?\)", "", listed)) == list(about)


def test_the_columns_of_a_table_and_the_fields_of_an_answer_are_those_documented():
    rows = rows_of(section(FORMATS, "Tables for people and other programs"))
    assert {row[0].strip("`"): row[1] for row in rows} == MEANINGS
    plan, estimate = simulated_estimate(np.full((2, 3), 50))
    release = Release.of(plan, estimate)
    fields = answered(release, release.domain.box())
    assert fields.keys() <= set(code_spans(section(FORMATS, "Answers for programs")))


def test_the_header_of_a_report_file_has_the_keys_documented(tmp_path):
    with ReportWriter(tmp_path / "a.reports", Provenance("plan"), 1):
        pass
    data = (tmp_path / "a.reports").read_bytes()
    header = json.loads(data[12 : 12 + int.from_bytes(data[8:12], "little")])
    (row,) = (row for row in rows_of(section(FORMATS, "Reports")) if row[0] == "that many")
    assert sorted(code_spans(row[1])) == sorted(header)


def test_the_plan_shown_has_the_keys_of_a_plan():
    (shown,) = re.findall(r"^```toml plan\n(.*?)^```$", FORMATS, re.MULTILINE | re.DOTALL)
    plan, _ = simulated(np.zeros((90, 2), np.int64))
    assert _keys(tomllib.loads(shown)) == _keys(plan.to_dict())
    assert Plan.from_dict(tomllib.loads(shown) | {"fingerprint": ""}).epsilon == plan.epsilon


def _keys(content: object) -> object:
    return {name: _keys(value) for name, value in content.items()} if isinstance(content, dict) else None


def test_the_noise_models_and_their_fields_are_listed():
    _, estimate = simulated_estimate(np.full((40, 3), 5))
    coarser = estimate.noise.coarsen(Grouping.of_columns(np.arange(40) // 20, np.zeros(3, np.int64), (2, 1)))
    distribution = DiscreteLaplace(Fraction(1))
    histogram = MECHANISMS["hierarchical"].from_epsilon(1.0, 4)
    tables = MECHANISMS["sampled tables"].from_epsilon(1.0, 6)
    tree, distributions = histogram.hierarchy, tuple(oracle.distribution for oracle in histogram.oracles)
    of_a_curator = noise.TreeNoise(Hierarchy.of_degree(40, 7), (None, distribution, distribution), (40, 3))
    models = [
        model.to_dict()
        for model in (
            estimate.noise,
            coarser,
            noise.SampledNoise(
                tree,
                distributions,
                histogram.chances,
                np.array([8]),
                Layout(("time",), (4, 1, 1)),
                np.full((1, 4), 2.0),
            ),
            noise.SampledNoise(
                tables.hierarchy,
                tuple(oracle.distribution for oracle in tables.oracles),
                tables.chances,
                np.array([8]),
                Layout(("time", "place"), (3, 2, 1)),
                np.full((1, 6), 2.0),
            ),
            noise.TreeNoise(Hierarchy.of_degree(4, 2), (None, distribution, distribution), (4, 1)),
            noise.MarginalNoise((None, distribution, distribution, distribution), (4, 3, 2)),
            noise.JoinedNoise((of_a_curator, of_a_curator)),
            noise.FactorizationNoise(KaryTree.binary(4, Cost.pure(1.0)), (4, 1)),
            smooth(estimate).noise,
            smooth(replace(estimate, noise=of_a_curator, totals=None)).noise,
            filtered(estimate).noise,
            StrataNoise((filtered(estimate, non_negative=False).noise,), (np.arange(3),)),
            noise.NoStatedNoise("why"),
        )
    ]
    listed = {code_spans(row[0])[0]: code_spans(row[1]) for row in rows_of(section(FORMATS, "Noise models"))}
    assert {model["kind"] for model in models} == release_files.NOISE_KINDS.keys()
    assert release_files.NOISE_KINDS.keys() <= listed.keys()
    for model in models:
        assert ["kind", *listed[model["kind"]]] == list(model)
    assert listed.keys() == release_files.NOISE_KINDS.keys() | ORACLE_DISTRIBUTIONS.keys()
    for kind, distribution in ORACLE_DISTRIBUTIONS.items():
        assert listed[kind] == list(inspect.signature(distribution).parameters)


def test_the_distributions_of_central_noise_and_their_fields_are_listed():
    listed = {
        code_spans(row[0])[0]: code_spans(row[1]) for row in rows_of(section(FORMATS, "Distributions of central noise"))
    }
    nodes = [DiscreteLaplace(Fraction(1)), DiscreteGaussian(Fraction(1))]
    pure, gaussian = Cost.pure(1.0), Cost.zcdp(0.5)
    streams = [one.noise_model for one in compare_counters(pure, 64, reacts=False)]
    streams += [pick_noise_model(pure), pick_noise_model(gaussian)]
    assert {distribution.kind for distribution in streams} == CONTINUAL_NOISE.keys()
    content = [distribution.to_dict() for distribution in (*nodes, *streams)]
    assert {distribution["kind"] for distribution in content} == listed.keys()
    for distribution in content:
        assert ["kind", *listed[distribution["kind"]]] == list(distribution)


def test_the_mechanisms_of_a_curators_plan_are_listed():
    rows = rows_of(section(FORMATS, "A curator's plan"))
    assert [code_spans(row[0])[0] for row in rows] == list(CENTRAL_MECHANISMS)
    listed = {code_spans(row[0])[0]: row for row in rows_of(section(NOTATION, "Names of a curator's mechanisms"))}
    assert listed.keys() == CENTRAL_MECHANISMS.keys()
    for name, entry in CENTRAL_MECHANISMS.items():
        assert set(code_spans(listed[name][1])) == {entry.name, *entry.aliases}


def test_the_stream_of_a_counters_history_has_the_keys_documented():
    time = TimeAxis.between("2025-01-01", "2025-01-31")
    spend = Spend.simulation(Cost.pure(1.0), seed=1)
    stream = Counter.start(spend, Domain(time, PlaceAxis.of(["north"]))).stream.to_dict()
    assert stream.keys() <= set(code_spans(section(FORMATS, "A counter's history")))


def test_the_parts_of_a_statement_are_listed():
    named = set(code_spans(section(FORMATS, "The document of a release")))
    assert {field.name for field in fields(PrivacyStatement)} - {"unbiased_steps", "refined_steps"} <= named


def test_every_benchmark_has_a_section_that_begins_with_its_command():
    text = (ROOT / "benchmarks" / "README.md").read_text(encoding="utf-8")
    scripts = {path.name for path in (ROOT / "benchmarks").glob("*.py")} - {"measure.py"}
    assert set(re.findall(r"^## .+: `python benchmarks/(\w+\.py)`$", text, re.MULTILINE)) == scripts
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    assert set(re.findall(r"benchmarks/(\w+\.py)", makefile)) == scripts


def test_every_decision_is_listed_and_has_its_four_parts():
    index = (DOCS / "decisions" / "README.md").read_text(encoding="utf-8")
    decisions = sorted((DOCS / "decisions").glob("2*.md"))
    assert re.findall(r"\((2[^)]+\.md)\)", index) != []
    assert sorted(re.findall(r"\((2[^)]+\.md)\)", index)) == [path.name for path in decisions]
    for path in decisions:
        text = path.read_text(encoding="utf-8")
        assert re.findall(r"^## (.+)$", text, re.MULTILINE) == ["Context", "Decision", "Consequences", "Turned down"]
        assert f"*{path.name[:10]}*" in text


def test_the_citation_names_this_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (.+)$", citation, re.MULTILINE) == [tacit.__version__]


def test_the_changelog_has_a_section_for_privacy():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    versions = re.split(r"^## ", changelog, flags=re.MULTILINE)[1:]
    assert versions[0].startswith("[Unreleased]") or versions[0].startswith(f"[{tacit.__version__}]")
    assert "### Privacy" in versions[0]
