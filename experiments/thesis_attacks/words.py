"""The findings about attacks: claims, verdicts by the figures, tables and pictures."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import altair as alt
from experiments.findings import Finding, Picture, Shade, Table, Verdict, svg_of
from experiments.thesis_attacks.attacks import CLAIMED, CODED, FRESH, TACIT
from experiments.thesis_attacks.local_peak import Peak

CEILING = "most that epsilon allows"
SHADES = {
    FRESH: (Shade.OTHER, [2, 3]),
    CODED: (Shade.PUBLISHED, [1, 0]),
    CLAIMED: (Shade.CLAIMED, [7, 3]),
    TACIT: (Shade.TACIT, [1, 0]),
    CEILING: (Shade.TRUTH, [1, 3]),
}
WIDTH, HEIGHT = 420, 240
SOURCE = "thesis, section 12"


def true_finding(recovered: Mapping[int, int], n_days: int, seed: str) -> Finding:
    most = max(recovered)
    lines = [{"x": n, "y": days, "line": "days that come back exactly"} for n, days in recovered.items()]
    return Finding(
        key="thesis-attack-true-answers",
        source=SOURCE,
        title="Its published true answers give the days away",
        claim="The true answers of its test questions may stand beside the private ones in published results.",
        verdict=Verdict.FAILS if recovered[most] > n_days / 2 else Verdict.HOLDS,
        because=f"{most:,} true answers about ranges of its own lengths, none of a single day, give "
        f"{recovered[most]:,} of {n_days:,} days exactly: each links two prefix sums.",
        seed=seed,
        tables=(Table("Days known for certain", ("true answers published", "days"), tuple(sorted(recovered.items()))),),
        pictures=(
            _lines(
                "Days that come back exactly against the number of true answers published",
                lines,
                {"days that come back exactly": (Shade.PUBLISHED, [1, 0])},
                alt.X("x:Q", title="true answers published", scale=alt.Scale(type="log")),
                alt.Y("y:Q", title="days"),
            ),
        ),
    )


def counter_finding(n_exact: int, n_days: int, epsilon: float, largest_error: float, seed: str) -> Finding:
    return Finding(
        key="thesis-attack-counter",
        source=SOURCE,
        title="Its counter gives the days away without noise",
        claim=f"The continual counter protects every visit with the epsilon it was given, here {epsilon:g}.",
        verdict=Verdict.FAILS if n_exact else Verdict.HOLDS,
        because=f"Public answers alone give {n_exact:,} of {n_days:,} days, off by at most {largest_error:.0e}: a node "
        "and its second child less its first are twice the second child. Its epsilon is infinite.",
        seed=seed,
    )


def averaging_finding(recovered: Mapping[int, float], n_days: int, epsilon: float, seed: str) -> Finding:
    most = max(recovered)
    rows = tuple((n, f"{100 * share:.0f} %", f"{n * epsilon:g}") for n, share in recovered.items())
    return Finding(
        key="thesis-attack-averaging",
        source=SOURCE,
        title="Its first counter, which draws noise again at every question, breaks by asking again",
        claim=f"Fresh noise at every question keeps epsilon {epsilon:g}.",
        verdict=Verdict.FAILS if recovered[most] > 0.9 else Verdict.LARGER_EPSILON,
        because=f"Asked {most:,} times, {100 * recovered[most]:.0f} % of {n_days} days come back after averaging and "
        f"rounding; so many answers cost {most * epsilon:,g}, not {epsilon:g}.",
        seed=seed,
        tables=(Table("Days recovered by averaging", ("times asked", "days", "epsilon spent"), rows),),
        pictures=(
            _lines(
                "Share of days recovered against how often each was asked",
                [{"x": n, "y": share, "line": "recovered"} for n, share in recovered.items()],
                {"recovered": (Shade.PUBLISHED, [1, 0])},
                alt.X("x:Q", title="times asked", scale=alt.Scale(type="log")),
                alt.Y("y:Q", title="share of days", axis=alt.Axis(format="%")),
            ),
        ),
    )


def bits_finding(found: Mapping[str, Mapping[float, float]], n_days: int, n_ranges: int, seed: str) -> Finding:
    epsilons = sorted(next(iter(found.values())))
    ceiling = {epsilon: 1 / (1 + math.exp(-epsilon)) for epsilon in epsilons}
    shown = {**found, CEILING: ceiling}
    is_within = all(
        found[name][epsilon] <= ceiling[epsilon] + 0.03 for name in (CLAIMED, TACIT) for epsilon in epsilons
    )
    least, most = epsilons[0], epsilons[-1]
    return Finding(
        key="thesis-attack-epsilon",
        source=SOURCE,
        title="What epsilon does to a reconstruction attack",
        claim="A smaller epsilon makes a reconstruction attack worse.",
        verdict=Verdict.HOLDS if is_within else Verdict.FAILS,
        because=f"Where epsilon is kept, {n_ranges:,} answers tell an attacker {_percent(found[CLAIMED][least])} "
        f"(as claimed) and {_percent(found[TACIT][least])} (Tacit) of {n_days} days right at epsilon {least:g}, "
        f"{_percent(found[CLAIMED][most])} and {_percent(found[TACIT][most])} at {most:g}, never more than "
        f"{_percent(ceiling[most])}. As coded it is {_percent(found[CODED][least])} at any epsilon; noise drawn again "
        f"for every question gives {_percent(found[FRESH][least])} to {_percent(found[FRESH][most])}.",
        seed=seed,
        tables=(
            Table(
                "Days told right (a guess: 50 %)",
                ("epsilon", *shown),
                tuple((f"{one:g}", *(_percent(by[one]) for by in shown.values())) for one in epsilons),
            ),
        ),
        pictures=(
            _lines(
                "Share of days told right against epsilon, by mechanism",
                [{"x": one, "y": by[one], "line": name} for name, by in shown.items() for one in epsilons],
                SHADES,
                alt.X("x:Q", title="epsilon"),
                alt.Y("y:Q", title="days told right", axis=alt.Axis(format="%"), scale=alt.Scale(domain=[0.45, 1.0])),
            ),
        ),
    )


def peak_finding(peaks: Sequence[Peak], n_days: int, n_visits: int, seed: str) -> Finding:
    by_epsilon: dict[float, list[Peak]] = {}
    for one in peaks:
        by_epsilon.setdefault(one.epsilon, []).append(one)
    least, most = min(by_epsilon), max(by_epsilon)
    rows = tuple(
        (f"{one.epsilon:g}", f"{100 * one.individuals:.0f} %", f"{100 * one.at:.0f} %", f"{max(one.exact):,.0f}")
        for one in peaks
    )
    ends = {epsilon: _span([one.at for one in some]) for epsilon, some in by_epsilon.items()}
    return Finding(
        key="thesis-local-peak",
        source=SOURCE,
        title="Where the error of flat local counts starts to fall",
        claim="The error falls again beyond some share of the domain, or of the individuals: which one is open.",
        verdict=Verdict.ILLUSTRATION,
        because=f"By the share of the domain: at epsilon {least:g} the error is largest at {ends[least]} of the domain "
        f"whatever share of the visits lies inside. Only where most reports are true ones (epsilon {most:g}) does the "
        f"share of individuals move it: {ends[most]}.",
        seed=seed,
        tables=(
            Table(
                f"Largest error over {n_days} days, {n_visits:,} visits",
                ("epsilon", "visits inside", "largest at this share of the domain", "RMSE there"),
                rows,
            ),
        ),
        pictures=tuple(
            _lines(
                f"Error against the share of the domain, epsilon {epsilon:g}: exact (lines) and measured (points)",
                [
                    {"x": x, "y": y, "z": z, "line": f"{100 * one.individuals:.0f} % of visits inside"}
                    for one in some
                    for x, y, z in zip(one.domain, one.exact, one.measured, strict=True)
                ],
                {
                    f"{100 * one.individuals:.0f} % of visits inside": (Shade.CLAIMED, dash)
                    for one, dash in zip(some, ([1, 0], [7, 3], [2, 3]), strict=True)
                },
                alt.X("x:Q", title="share of the domain", axis=alt.Axis(format="%")),
                alt.Y("y:Q", title="RMSE, visits", axis=alt.Axis(format="~s")),
            )
            for epsilon, some in by_epsilon.items()
        ),
    )


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"


def _span(shares: Sequence[float]) -> str:
    low, high = _percent(min(shares)), _percent(max(shares))
    return low if low == high else f"{low} to {high}"


def _lines(
    caption: str,
    rows: Sequence[Mapping[str, object]],
    shades: Mapping[str, tuple[Shade, list[int]]],
    x: alt.X,
    y: alt.Y,
) -> Picture:
    """Lines with a colour and dash each; points of ``z`` where rows have them, else of the lines' own."""
    names, colors, dashes = list(shades), [color.value for color, _ in shades.values()], [d for _, d in shades.values()]
    legend = alt.Legend(title=None, orient="bottom", columns=2, symbolType="stroke", symbolSize=420)
    color = alt.Color("line:N", legend=legend, sort=None, scale=alt.Scale(domain=names, range=colors))
    dash = alt.StrokeDash("line:N", sort=None, scale=alt.Scale(domain=names, range=dashes))
    base = alt.Chart(alt.Data(values=list(rows)))
    points = alt.Y("z:Q") if any("z" in row for row in rows) else y
    lines = base.mark_line(strokeWidth=1.8).encode(x, y, color, dash)
    chart = lines + base.mark_point(filled=True, size=26).encode(x, points, color)
    return Picture(caption, svg_of(chart.properties(width=WIDTH, height=HEIGHT)))
