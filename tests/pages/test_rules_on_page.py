"""What rules leave out is not in the page either, and missing is another word than suppressed and zero."""

from __future__ import annotations

import base64
import re

import numpy as np
import pytest

pytest.importorskip("jinja2")

from small_worlds import simulated_estimate
from tacit.figures import counts_by, shades
from tacit.pages import make_page
from tacit.pages.sections import matrix, series
from tacit.pages.selection import select
from tacit.release import Release, Rules

COUNTS = np.random.default_rng(3).poisson([60, 12, 0.2], (90, 3))
PLAN, ESTIMATE = simulated_estimate(COUNTS, f=0.2)
RULES = Rules.parse(suppress=("relative error > 0.5",), grey=("count < 300",), missing=("2018-02-01/2018-02-28",))


@pytest.fixture(scope="module")
def release():
    return Release.of(PLAN, ESTIMATE, refine="project", rules=RULES)


def test_months_are_shaded_by_their_status(release):
    months = counts_by(release, "month")
    assert set(months.status[1]) == {"missing"}
    assert months.status[0, 2] == "suppressed"
    assert shades(months, 1, (10,)) == [-3, -3, -3]
    assert shades(months, 0, (10,))[2] == -2
    assert months.places_columns(1)["estimate"] == [None] * 3
    assert months.places_columns(0)["estimate"][2] is None


def test_no_number_of_a_hidden_cell_is_in_the_page(tmp_path, release):
    selection = select(release)
    content = series(selection.series["month"])
    assert [row[1] for row in content["estimate"]] == [None] * 3
    assert content["status"][0][1] == "missing"
    words = {cell["hidden"] for row in matrix(selection)["rows"] for cell in row["cells"]}
    assert {"", "suppressed", "no data"} <= words
    make_page(release, tmp_path / "page.html")
    text = (tmp_path / "page.html").read_text(encoding="utf-8")
    assert '<td class="little">suppressed</td>' in text
    assert '<td class="little">no data</td>' in text
    tables = [base64.b64decode(part).decode("utf-8-sig") for part in re.findall(r"base64,([A-Za-z0-9+/=]+)\"", text)]
    (monthly,) = (table for table in tables if "\n2018-02,place 0" in table)
    assert "2018-02,place 0,,,,,no,missing" in monthly
    assert re.search(r"2018-01,place 2,,,,,no,suppressed", monthly)


def test_without_rules_nothing_speaks_of_them(tmp_path):
    plain = Release.of(PLAN, ESTIMATE, refine="project")
    assert "status" not in series(select(plain).series["month"])
    make_page(plain, tmp_path / "page.html")
    assert '<td class="little">suppressed' not in (tmp_path / "page.html").read_text(encoding="utf-8")
