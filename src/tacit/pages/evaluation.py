"""The laboratory's page: what private counts of somebody's events are off by, and forecasts from them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from tacit._base.arrays import FloatArray
from tacit._base.extras import require
from tacit._base.languages import ENGLISH, figures, gettext, in_its_language, message
from tacit.domain import Domain
from tacit.pages.embedding import chart_library, csv_link, json_for_script, policy, resource
from tacit.pages.figures import LABORATORY, ON_PAGE, Palette, chart_labels
from tacit.pages.figures.charts import MOST_PLACES, finished, watermark
from tacit.pages.figures.forecasts import DASHES
from tacit.pages.page import page_style, write_page
from tacit.pages.sections import without_rows
from tacit.pages.tables import rows_in_words
from tacit.pages.words import decimals, level_noun, moment, number, plural

if TYPE_CHECKING:
    import altair

TRUTH: Final = message("truth")
_SHAPES: Final = (
    "circle",
    "square",
    "triangle-up",
    "diamond",
    "cross",
    "triangle-down",
)  # told apart at a glance


class Scores(NamedTuple):
    """Errors averaged over places: mean absolute, and root of the mean square."""

    mae: float
    rmse: float


@dataclass(frozen=True, slots=True, eq=False)
class Evaluation:
    """What private counts and forecasts were off by, at several epsilons; it holds the truth.

    ``rates`` are error rates of every period by (method, epsilon, period), ``scores`` those of forecasts by (model,
    epsilon), None for raw counts. ``days`` are counts of places by day: the truth, then what each model expected.
    """

    domain: Domain
    seed: int
    first_test_day: str
    n_events: int
    epsilons: tuple[float, ...]
    rates: Mapping[tuple[str, float, str], FloatArray]
    scores: Mapping[tuple[str, float | None], Scores]
    days: Mapping[str, Mapping[str, FloatArray]]

    def remarks(self) -> list[str]:
        """Return what a reader of the figures must know."""
        return [
            f"{LABORATORY}: made of {self.n_events:,} exact events, from {self.domain.time.label(0)} to "
            f"{self.domain.time.label(self.domain.shape[0] - 1)}, in {self.domain.place.n_cells} "
            f"{plural(self.domain.place.level)}.",
            f"Simulated reports, seed {self.seed}: nothing was spent and nothing is private here.",
        ]

    def rate_rows(self) -> list[dict[str, str]]:
        """Return a row for every epsilon and method: the mean error rate of each period."""
        rows: dict[tuple[float, str], dict[str, str]] = {}
        for (method, epsilon, period), found in self.rates.items():
            row = rows.setdefault((epsilon, method), {"epsilon": figures(f"{epsilon:.3g}"), "method": method})
            row[period] = figures(f"{found.mean():.4f}")
        return list(rows.values())

    def score_rows(self) -> list[dict[str, str]]:
        """Return a row for every model and epsilon: its errors one day ahead."""
        return [
            {
                "epsilon": "" if epsilon is None else figures(f"{epsilon:.3g}"),
                "model": model,
                "mae": decimals(scores.mae, 3),
                "rmse": decimals(scores.rmse, 3),
            }
            for (model, epsilon), scores in self.scores.items()
        ]

    def table(self) -> list[tuple[str, str, str, str, float]]:
        """Return every figure as a row: what it is, whose, at which epsilon, of what, and its value."""
        rates = [
            ("error rate", method, f"{epsilon:.6g}", period, round(float(found.mean()), 6))
            for (method, epsilon, period), found in self.rates.items()
        ]
        scores = [
            (name, model, "" if epsilon is None else f"{epsilon:.6g}", "day", round(value, 6))
            for (model, epsilon), found in self.scores.items()
            for name, value in zip(("MAE", "RMSE"), found, strict=True)
        ]
        return rates + scores


@in_its_language
def make_evaluation_page(
    found: Evaluation, path: str | Path, *, title: str | None = None, language: str = ENGLISH
) -> Path:
    """Write an evaluation as one HTML file; every sheet says that it is not for publication."""
    charts: dict[str, Any] = {"rates": rates_chart(found, palette=ON_PAGE)}
    names = chart_labels(found.domain.place.cells)
    days = []
    for number_of, (day, counts) in enumerate(found.days.items()):
        largest = sorted(range(len(names)), key=lambda place: -counts[TRUTH][place])[:MOST_PLACES]
        kept = {who: values[largest] for who, values in counts.items()}
        charts[f"day-{number_of}"] = day_chart(kept, [names[place] for place in largest], palette=ON_PAGE)
        rows = [
            {"place": names[place], "counts": [decimals(float(values[place]), 1) for values in counts.values()]}
            for place in largest
        ]
        days.append(
            {"label": moment(day), "chart": f"day-{number_of}", "who": list(map(_said_of, counts)), "rows": rows}
        )
    scripts = [chart_library(), resource("figures.js"), resource("backtest.js")]
    table = found.table()
    return write_page(
        path,
        "laboratory.html",
        {
            "title": title or gettext("Laboratory: what private counts of these events are worth"),
            "stamps": [gettext(LABORATORY)],
            "style": page_style(),
            "policy": policy(scripts),
            "scripts": scripts,
            # these charts keep their rows: there are few, and none is exchanged
            "data": json_for_script({"specs": {name: without_rows(chart, "none") for name, chart in charts.items()}}),
            "synthetic": None,
            "mark": gettext(LABORATORY),
            "found": found,
            "place": level_noun(found.domain.place.level),
            "n_events": number(found.n_events),
            "first": moment(found.domain.time.label(0)),
            "last": moment(found.domain.time.label(found.domain.shape[0] - 1)),
            "first_test": moment(found.first_test_day),
            "rates": found.rate_rows(),
            "scores": found.score_rows(),
            "days": days,
            "table": csv_link(
                ("figure", "method", "epsilon", "period", "value", "label"),
                [(*row, found.remarks()[0]) for row in table],
            ),
            "n_rows": rows_in_words(len(table)),
        },
    )


def rates_chart(found: Evaluation, *, palette: Palette) -> altair.LayerChart:
    """Draw the mean error rate of a day against epsilon, a dash for each method."""
    alt = require("altair", extra="pages")
    rows = [
        {"epsilon": epsilon, "method": gettext(method), "rate": round(float(rates.mean()), 6)}
        for (method, epsilon, period), rates in found.rates.items()
        if period == "day"
    ]
    names = list(dict.fromkeys(row["method"] for row in rows))
    base = alt.Chart(alt.Data(name="rates", values=rows)).encode(
        x=alt.X(
            "epsilon:Q", title=gettext("epsilon (more protection on the left)"), scale=alt.Scale(type="log", nice=False)
        ),
        y=alt.Y("rate:Q", title=None, axis=alt.Axis(tickCount=5, format="~g")),
        strokeDash=alt.StrokeDash(
            "method:N",
            scale=alt.Scale(domain=names, range=[list(dash) for dash in DASHES[: len(names)]]),
            legend=alt.Legend(title=None, orient="top", columns=1, symbolSize=400, labelLimit=420),
        ),
    )
    layers = [
        base.mark_line(color=palette.accent, aria=False),
        base.mark_point(filled=True, color=palette.accent, size=30, opacity=1, aria=False).encode(
            strokeDash=alt.StrokeDash("method:N")
        ),
        watermark(alt, palette),
    ]
    return finished(layers, palette, height=240)


def _said_of(who: str) -> str:
    """Return the truth, or a model and what it learned from, in the language of the page."""
    model, comma, learned = who.rpartition(", ")
    return f"{gettext(model)}{comma}{gettext(learned)}" if comma else gettext(who)


def day_chart(counts: Mapping[str, FloatArray], names: Sequence[str], *, palette: Palette) -> altair.LayerChart:
    """Draw true counts of one day by place as bars, and what models expected as marks (the paper's Figure 9)."""
    alt = require("altair", extra="pages")
    rows = [
        {"name": name, "count": round(float(count), 3), "who": _said_of(who), "is_true": who == TRUTH}
        for who, values in counts.items()
        for name, count in zip(names, values, strict=True)
    ]
    who = [_said_of(name) for name in counts if name != TRUTH]
    base = alt.Chart(alt.Data(name="day", values=rows)).encode(
        y=alt.Y("name:N", title=None, sort=list(names), axis=alt.Axis(labelLimit=170, grid=True, gridDash=[1, 3])),
        x=alt.X("count:Q", title=gettext("events"), axis=alt.Axis(tickCount=6)),
    )
    bars = base.transform_filter("datum.is_true").mark_bar(
        color=palette.band, stroke=palette.ink, strokeWidth=0.6, height=9, aria=False
    )
    marks = (
        base.transform_filter("!datum.is_true")
        .mark_point(size=45, strokeWidth=1.5, opacity=1, color=palette.accent, aria=False)
        .encode(
            shape=alt.Shape(
                "who:N",
                scale=alt.Scale(domain=who, range=[_SHAPES[place % len(_SHAPES)] for place in range(len(who))]),
                legend=alt.Legend(title=None, orient="top", columns=1, labelLimit=420),
            )
        )
    )
    return finished([bars, marks, watermark(alt, palette)], palette, height=18 * len(names))
