"""A backtest as a page: which forecaster did best, by how much, and how far ahead."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tacit.forecast.backtest import Leaderboard
from tacit.pages.embedding import chart_library, csv_link, json_for_script, policy, resource
from tacit.pages.figures import LABORATORY, ON_PAGE
from tacit.pages.figures.forecasts import leaderboard_chart, leads_chart
from tacit.pages.forecast_words import ahead, moment
from tacit.pages.page import common_parts, write_page
from tacit.pages.sections import without_rows
from tacit.pages.words import counted, percent, step_noun
from tacit.release import Release


def make_backtest_page(
    board: Leaderboard,
    release: Release,
    path: str | Path,
    *,
    has_covariates: bool = False,
    title: str | None = None,
    synthetic: str | None = None,
) -> Path:
    """Write a leaderboard as one HTML file; where the truth was looked at, every sheet says so."""
    step = step_noun(release.domain.time.step)
    has_leads = board.horizon > 1 and board.is_mixed
    charts: dict[str, Any] = {"models": leaderboard_chart(board, palette=ON_PAGE)}
    if has_leads:
        charts["leads"] = leads_chart(board, palette=ON_PAGE)
    # these charts keep their rows: there are few, and none is exchanged
    data = {"specs": {name: without_rows(chart, "none") for name, chart in charts.items()}}
    scripts = [chart_library(), resource("figures.js"), resource("backtest.js")]
    columns = board.columns()
    rows = list(zip(*columns.values(), strict=True))
    return write_page(
        path,
        "backtest.html",
        common_parts(release, title or f"Backtest: {release.plan.name}", synthetic, is_laboratory=board.is_laboratory)
        | {
            "policy": policy(scripts),
            "scripts": scripts,
            "data": json_for_script(data),
            "board": board,
            "mark": LABORATORY,
            "step": step,
            "reach": ahead(board.horizon, release.domain.time.step),
            "first": moment(board.first),
            "last": moment(board.last),
            "is_exact": board.best.mae is not None,
            "has_leads": has_leads,
            "has_covariates": has_covariates,
            "noise_words": f"Here the noise is {percent(board.noise_share)} of all squared errors of the best model.",
            "table": {
                "href": csv_link(tuple(columns), rows, remarks=board.remarks()),
                "file": "backtest.csv",
                "size": counted(len(rows), "row"),
            },
        },
    )
