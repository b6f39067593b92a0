"""All experiments are run, one that fails stops no other, and the page says what became of each."""

from __future__ import annotations

import doctest
from importlib import import_module
from pathlib import Path

import pytest
from experiments.findings import ROOT
from experiments.reproduce import Experiment, Running, discover, main, start

from experiments import reproduce

RUN = """
import argparse, json
from pathlib import Path

parser = argparse.ArgumentParser()
parser.add_argument("--out", type=Path)
parser.add_argument("--reduced", action="store_true")
chosen = parser.parse_args()
print("said by {name}")
if "{name}" == "crashes":
    raise SystemExit("no")
said = dict(source="paper, Table 1", title="T {name}", claim="c", verdict="holds", because="b", seed="1")
finding = said | dict(key="{name}", tables=[], pictures=[])
command = "python -m experiments.{name}.run" + (" --reduced" if chosen.reduced else "")
found = dict(experiment="{name}", command=command, findings=[finding])
(chosen.out / "findings.json").write_text(json.dumps(found))
raise SystemExit({code})
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """A repository of three small experiments: one comes back, one does not, one does not even finish."""
    for name, code, minutes in (("fine", 0, 0.5), ("outside", 1, 3), ("crashes", 1, None)):
        folder = tmp_path / "experiments" / name
        folder.mkdir(parents=True)
        (folder / "run.py").write_text(RUN.format(name=name, code=code))
        if minutes is not None:
            (folder / "params.toml").write_text(f"[run]\nminutes = {minutes}\n")
    (tmp_path / "experiments" / "templates").mkdir()
    return tmp_path


def test_every_folder_with_a_run_is_found_longest_first(root: Path) -> None:
    found = discover(root / "experiments")
    assert found == [Experiment("outside", 3.0), Experiment("crashes", 2.0), Experiment("fine", 0.5)]


def test_every_experiment_here_has_its_files_and_names_its_command() -> None:
    for one in discover(ROOT / "experiments"):
        folder = ROOT / "experiments" / one.name
        for name in ("README.md", "params.toml", "expected.csv", "run.py"):
            assert (folder / name).is_file(), f"{one.name} lacks {name}"
        assert f"python -m experiments.{one.name}.run" in (folder / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("name", ["findings", "reproduction_page", "paper_appendix_a.bounds", "paper_table2.run"])
def test_examples_in_docstrings_run(name: str) -> None:
    tried = doctest.testmod(import_module(f"experiments.{name}"))
    assert tried.attempted > 0
    assert tried.failed == 0


def test_a_failing_experiment_stops_no_other_and_is_named_at_the_end(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--reduced", "--out", str(root / "out")], root=root) == 1
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("FAILED") for line in lines) == 2
    assert any(line.startswith("FAILED   crashes: did not finish (exit code 1). What it said: ") for line in lines)
    assert any(line.startswith("FAILED   outside: outside their tolerances.") for line in lines)
    assert lines[-1] == f"Open {root / 'out' / 'reproduction.html'}"
    assert "said by crashes" in (root / "out" / "crashes" / "log.txt").read_text()
    page = (root / "out" / "reproduction.html").read_text(encoding="utf-8")
    assert "crashes: did not finish (exit code 1)" in page
    assert "T fine" in page
    assert "T outside" in page
    assert "Reduced size" in page


def test_one_alone_is_run_and_stands_beside_what_others_left(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    out = str(root / "out")
    assert main(["--only", "outside", "--out", out], root=root) == 1
    assert main(["--only", "fine", "--out", out], root=root) == 0
    printed = capsys.readouterr().out
    assert "1 experiment, 2 at a time, in about 0:30 minutes." in printed
    assert "[1/1]    fine: came back, 0:0" in printed
    page = (root / "out" / "reproduction.html").read_text(encoding="utf-8")
    assert "from an earlier run" in page
    assert "T outside" in page


def test_what_an_earlier_run_found_does_not_stand_for_one_that_crashes(root: Path) -> None:
    left = root / "out" / "crashes" / "findings.json"
    left.parent.mkdir(parents=True)
    left.write_text("{}")
    assert main(["--only", "crashes", "--out", str(root / "out")], root=root) == 1
    assert not left.exists()


def test_an_unknown_experiment_is_refused_with_the_names_there_are(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(["--only", "nothing"], root=root)
    assert "fine" in capsys.readouterr().err


def test_a_reproduction_that_is_stopped_leaves_nothing_running(root: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (root / "experiments" / "fine" / "run.py").write_text("import time\ntime.sleep(600)\n")
    started = []

    def stop(seconds: float) -> None:
        raise KeyboardInterrupt

    def keep(*words, **settings) -> Running:
        started.append(start(*words, **settings))
        return started[-1]

    monkeypatch.setattr(reproduce, "start", keep)
    monkeypatch.setattr("experiments.reproduce.time.sleep", stop)
    with pytest.raises(KeyboardInterrupt):
        main(["--only", "fine", "--out", str(root / "out")], root=root)
    assert started[0].process.poll() is not None
