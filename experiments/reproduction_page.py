"""One page of everything the experiments found: complete in itself, opens without a network."""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import jinja2

from experiments.findings import Finding, Findings, Table, Verdict

TITLE: Final = "What became of the claims"
TEMPLATES: Final = Path(__file__).parent / "templates"
LONG_TABLE: Final = 20
GROUPS: Final = {
    "paper": (
        "The paper",
        "Arcolezi and others: forecasting firefighters' interventions per region from reports under local differential "
        "privacy. Its data are not public; synthetic interventions with its Table 2 stand in for them.",
    ),
    "thesis": (
        "The thesis",
        "Range queries over daily visits to a library: as coded in its appendix, faults included; as claimed; Tacit.",
    ),
    "audit": ("Audits", "Lower bounds on the epsilon that mechanisms really give, and attacks on what they release."),
    "other": ("Tacit's own claims", "What Tacit says it gains, measured."),
}
KINDS: Final = ("Table", "Figure", "abstract", "section", "chapter", "Appendix", "appendix")
SIGNS: Final = {
    Verdict.HOLDS: ("holds", "✓"),
    Verdict.LARGER_EPSILON: ("larger", "▲"),
    Verdict.FAILS: ("fails", "✗"),
    Verdict.ILLUSTRATION: ("illustration", "○"),
}


@dataclass(frozen=True)
class Outcome:
    """How a run of an experiment ended: its exit code, None where it was not run this time, and whether it got so far
    as to leave findings."""

    experiment: str
    code: int | None
    seconds: float | None = None
    is_finished: bool = True

    @property
    def words(self) -> str:
        """What the exit code says.

        >>> Outcome("paper_table3", 1).words
        'outside their tolerances'
        """
        if self.code is None:
            return "from an earlier run"
        if not self.is_finished:
            return f"did not finish (exit code {self.code})"
        return "outside their tolerances" if self.code else "came back"


def make_page(path: Path, experiments: Sequence[Findings], outcomes: Sequence[Outcome] = ()) -> Path:
    """Write the page of these findings; ``outcomes`` say which experiments failed to come back."""
    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(TEMPLATES),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.globals["badge"] = _badge
    script = (TEMPLATES / "reproduction.js").read_text(encoding="utf-8")
    shown = [(one, finding) for one in experiments for finding in one.findings]
    by_name = {outcome.experiment: outcome for outcome in outcomes}
    context = {
        "title": TITLE,
        "policy": _policy(script),
        "style": (TEMPLATES / "reproduction.css").read_text(encoding="utf-8"),
        "script": script,
        "has_real_data": any("real data" in table.caption for _, finding in shown for table in finding.tables),
        "has_reduced": any(one.is_reduced for one in experiments),
        "failed": [f"{outcome.experiment}: {outcome.words}" for outcome in outcomes if outcome.code],
        "verdicts": [_verdict(each) | {"count": sum(f.verdict == each for _, f in shown)} for each in Verdict],
        "groups": list(_groups(shown)),
        "runs": [_run(one, by_name.get(one.experiment)) for one in experiments],
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(environment.get_template("reproduction.html").render(context), encoding="utf-8")
    return path


def _groups(shown: Sequence[tuple[Findings, Finding]]) -> Iterable[dict[str, Any]]:
    for key, (title, words) in GROUPS.items():
        inside = [(one, finding) for one, finding in shown if _group_of(finding) == key]
        inside.sort(key=lambda pair: _order(pair[1].source))
        if inside:
            findings = [_finding(one, finding) for one, finding in inside]
            yield {"key": f"group-{key}", "title": title, "words": words, "findings": findings}


def _group_of(finding: Finding) -> str:
    start = finding.key.partition("-")[0]
    return start if start in GROUPS else "other"


def _order(source: str) -> tuple[int, float]:
    """Tables, figures, sections, appendices, each by number; others after them, as they were given.

    >>> sorted(["thesis, Figure 12", "thesis, Figure 6", "thesis, Table 1"], key=_order)
    ['thesis, Table 1', 'thesis, Figure 6', 'thesis, Figure 12']
    """
    found = re.search(rf"({'|'.join(KINDS)})s? (\d+(?:\.\d+)?)?", source + " ")
    if not found:
        return len(KINDS), 0.0
    return KINDS.index(found[1]), float(found[2] or 0)


def _finding(one: Findings, finding: Finding) -> dict[str, Any]:
    return {
        "key": finding.key,
        "source": finding.source,
        "place": finding.source.partition(", ")[2],
        "title": finding.title,
        "claim": finding.claim,
        "because": finding.because,
        "seed": finding.seed,
        "verdict": _verdict(finding.verdict),
        "command": one.command,
        "is_reduced": one.is_reduced,
        "tables": [_table(table) for table in finding.tables],
        "pictures": [
            {"caption": picture.caption, "svg": _embedded(picture.svg, f"{finding.key}-{number}")}
            for number, picture in enumerate(finding.pictures)
        ],
    }


def _verdict(verdict: Verdict) -> dict[str, Any]:
    key, sign = SIGNS[verdict]
    return {"key": key, "sign": sign, "word": verdict.value}


@jinja2.pass_eval_context
def _badge(context: Any, verdict: dict[str, Any]) -> Any:
    from markupsafe import Markup

    return Markup('<span class="badge {key}"><span aria-hidden="true">{sign}</span> {word}</span>').format(**verdict)


def _table(table: Table) -> dict[str, Any]:
    columns = [
        {"name": name, "is_number": all(_is_number(row[place]) for row in table.rows)}
        for place, name in enumerate(table.columns)
    ]
    long = [any(isinstance(row[n], int) and abs(row[n]) >= 10_000 for row in table.rows) for n in range(len(columns))]
    rows = [[written(cell, is_long=long[n]) for n, cell in enumerate(row)] for row in table.rows]
    return {"caption": table.caption, "columns": columns, "rows": rows, "is_long": len(rows) > LONG_TABLE}


def _is_number(cell: str | float | int) -> bool:
    return not isinstance(cell, str) or re.match(r"[-−+±≥≤<>~]? ?[\d.∞–—]|$", cell) is not None


def written(cell: str | float | int, *, is_long: bool = False) -> str:
    """A cell as it is read: numbers with four digits, whole ones with commas in a column of long ones.

    >>> [written(cell) for cell in ("f = .5", 2006, 0.0012091, 3.0, 1234.567, 2.5e-7)]
    ['f = .5', '2006', '0.001209', '3', '1,235', '2.5e-07']
    >>> written(2006, is_long=True)
    '2,006'
    """
    if isinstance(cell, str):
        return cell
    if isinstance(cell, int):
        return f"{cell:,}" if is_long else str(cell)
    return f"{cell:,.0f}" if abs(cell) >= 1_000 else f"{cell:.4g}"


def _embedded(svg: str, prefix: str) -> str:
    """SVG that stands among others: names of its own, nothing that runs or loads; its caption is read in its place."""
    if re.search(r"<\s*(script|foreignObject|iframe|image|a)\b|\bon\w+\s*=|href\s*=\s*[\"'](?!#)", svg):
        raise ValueError(f"the picture {prefix} must not run scripts or load anything")
    svg = re.sub(r'\bid="([^"]+)"', rf'id="{prefix}-\1"', svg[svg.index("<svg") :])
    svg = re.sub(r"url\(#([^)]+)\)", rf"url(#{prefix}-\1)", svg)
    svg = re.sub(r'href="#([^"]+)"', rf'href="#{prefix}-\1"', svg)
    opening, mark, rest = svg.partition(">")
    opening = re.sub(r'\s(role|aria-label|class)="[^"]*"', "", opening)
    return f'{opening} aria-hidden="true"{mark}{rest}'


def _run(one: Findings, outcome: Outcome | None) -> dict[str, str]:
    outcome = outcome or Outcome(one.experiment, None)
    seconds = "" if outcome.seconds is None else f"{outcome.seconds:.0f}"
    return {"name": one.experiment, "command": one.command, "words": outcome.words, "seconds": seconds}


def _policy(script: str) -> str:
    digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
    return (
        f"default-src 'none'; script-src 'sha256-{digest}'; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
