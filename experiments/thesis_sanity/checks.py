"""What a hundred structures, asked the same range, show: the thesis' sanity checks, and its doubts taken seriously."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import altair as alt
import numpy as np
from experiments.findings import Finding, Picture, Shade, Table, Verdict, svg_of
from experiments.thesis_structures.as_coded import height_by_logarithms
from experiments.thesis_structures.charts import HEIGHT, ROOM, SHADES
from experiments.thesis_structures.lengths import EPSILONS
from experiments.thesis_structures.measuring import (
    CENTRAL_FLAT,
    CLAIMED,
    CODED,
    HIERARCHY,
    LOCAL_FLAT,
    METHODS,
    TACIT,
    TREE,
    Case,
    true_epsilon,
    verdict_of,
    words_of,
)
from experiments.thesis_structures.structures import Floats, Integers, Structures, height_of

FAR = 4.0  # standard errors
EXACT = 1e-6  # what rounding of floating-point sums may leave


@dataclass(frozen=True, eq=False)
class Asked:
    """Structures of all kinds and the one range that all are asked."""

    made: dict[Case, Structures]
    counts: Integers
    first: int
    stop: int
    seed: str
    number: int

    @property
    def truth(self) -> int:
        return int(self.counts[self.first : self.stop].sum())

    def case(self, structure: str, method: str) -> Case:
        return next(case for case in self.made if (case.structure, case.method) == (structure, method))

    def answers(self, case: Case) -> Floats:
        return self.made[case].answers(np.array([self.first]), np.array([self.stop]))[:, 0]

    def bias(self, case: Case) -> float:
        """How far the mean answer lies from the truth, in its standard errors."""
        answers = self.answers(case)
        return float((answers.mean() - self.truth) / (answers.std(ddof=1) / math.sqrt(len(answers))))

    def whole_domain_error(self, structure: str, method: str = CODED) -> float:
        whole = self.made[self.case(structure, method)].answers(np.array([0]), np.array([len(self.counts)]))
        return float(np.abs(whole - self.counts.sum()).max())

    def largest_error_of_three_nodes(self) -> float:
        """How far parent + second child - first child lies from the truth, at most, over all published parents."""
        case = self.case(TREE, CODED)
        true = replace(case, method=CLAIMED, epsilon=math.inf).made(self.counts, 1, 0).levels
        worst = 0.0
        for depth in range(len(true) - 1):
            published, exact = (
                levels[depth] + levels[depth + 1][:, 1 :: case.degree] - levels[depth + 1][:, :: case.degree]
                for levels in (self.made[case].levels, true)
            )
            worst = max(worst, float(np.abs(published - exact).max()))
        return worst


def distributions(asked: Asked, number: str, structures: Sequence[str]) -> Finding:
    cases = [asked.case(structure, method) for structure in structures for method in METHODS]
    is_centred = {
        method: all(abs(asked.bias(case)) < FAR for case in cases if case.method == method) for method in METHODS
    }
    rows = tuple(
        (
            case.structure,
            case.method,
            words_of(true_epsilon(case)),
            float(answers.mean()),
            float(answers.std(ddof=1)),
            f"{asked.bias(case):+.1f}",
        )
        for case in cases
        for answers in [asked.answers(case)]
    )
    head = ("structure", "method", "true ε", "mean answer", "standard deviation", "mean − truth, standard errors")
    n_structures = len(asked.answers(cases[0]))
    worst = max((asked.bias(case) for case in cases), key=abs)
    return Finding(
        f"thesis-figure-{number}",
        f"thesis, Figure {number}",
        f"The same range asked of {n_structures} structures: {structures[0]} and {structures[1]}",
        "The answers of many structures to the same range are spread around the true one as expected.",
        verdict_of(coded=is_centred[CODED], claimed=is_centred[CLAIMED]),
        f"Every mean lies within {abs(worst):.1f} standard errors of the truth, {asked.truth:,}. The text does not say "
        "which structures stand in which figure; here the curator's come first. A right centre says nothing about "
        "privacy: the tree, as coded, has none.",
        asked.seed,
        (Table(f"Answers of {n_structures} structures at a claimed ε of {cases[0].epsilon:g}", head, rows),),
        (_picture(asked, structures),),
    )


def _picture(asked: Asked, structures: Sequence[str]) -> Picture:
    """How the answers are distributed, beside the truth."""
    panels = []
    for structure in structures:
        points = []
        for method in METHODS:
            answers = np.sort(asked.answers(asked.case(structure, method)))
            shares = np.arange(1, len(answers) + 1) / len(answers)
            points += [
                {"answer": answer, "share": share, "method": method}
                for answer, share in zip(answers.tolist(), shares.tolist(), strict=True)
            ]
        color = alt.Color(
            "method:N",
            scale=alt.Scale(domain=list(METHODS), range=[SHADES[method].value for method in METHODS]),
            legend=alt.Legend(title=None, orient="bottom", symbolType="stroke", symbolStrokeWidth=3, symbolSize=420),
        )
        x = alt.X("answer:Q", title="answer, visits", scale=alt.Scale(zero=False), axis=alt.Axis(tickCount=5))
        y = alt.Y("share:Q", title="share of structures", axis=alt.Axis(format="%"))
        steps = alt.Chart(alt.Data(values=points)).mark_line(interpolate="step-after", strokeWidth=1.8)
        truth = alt.Chart(alt.Data(values=[{"answer": asked.truth}])).mark_rule(
            color=Shade.TRUTH.value, strokeDash=[3, 3]
        )
        title = f"{structure} (as coded: true ε {words_of(true_epsilon(asked.case(structure, CODED)))})"
        panels.append((steps.encode(x, y, color) + truth.encode(x)).properties(width=360, height=HEIGHT, title=title))
    caption = f"Distribution of answers to one range: {structures[0]} and {structures[1]}; dashed: the true answer"
    return Picture(caption, svg_of(alt.hconcat(*panels, spacing=24).properties(padding=ROOM)))


def averaging(asked: Asked) -> Finding:
    rows = []
    for case in asked.made:
        answers = asked.answers(case)
        n_answers = len(answers)
        rows.append(
            (
                case.structure,
                case.method,
                f"{n_answers * case.epsilon:g}",
                words_of(n_answers * true_epsilon(case)),
                float(answers.std(ddof=1)),
                float(answers.std(ddof=1)) / math.sqrt(n_answers),
            )
        )
    n_answers = len(asked.answers(next(iter(asked.made))))
    costs = {case: n_answers * true_epsilon(case) for case in asked.made}
    promised = n_answers * next(iter(asked.made)).epsilon
    is_kept = {
        m: all(cost <= promised * (1 + 1e-9) for case, cost in costs.items() if case.method == m) for m in METHODS
    }
    return Finding(
        "thesis-claim-averaging",
        "thesis, section 9.7",
        f"Averaging {n_answers} answers costs {n_answers} times epsilon",
        f"The mean of {n_answers} answers is private with {n_answers}·ε.",
        Verdict.LARGER_EPSILON if is_kept[CLAIMED] and not is_kept[CODED] else verdict_of(coded=True, claimed=True),
        f"True of what is claimed: {promised:g}; as coded the local structures cost "
        f"{costs[asked.case(LOCAL_FLAT, CODED)]:.0f} (flat) and {costs[asked.case(HIERARCHY, CODED)]:.0f} (hierarchy), "
        f"and the tree has no bound. The mean errs {math.sqrt(n_answers):.0f} times less than one answer.",
        asked.seed,
        (
            Table(
                f"The mean of {n_answers} answers to the same range",
                ("structure", "method", "claimed cost", "true cost", "error of one answer", "error of the mean"),
                tuple(rows),
            ),
        ),
    )


def level_means(asked: Asked) -> Finding:
    """The sums of all levels: of the thesis' hierarchy, each is the number of visits that chose it, scaled up."""
    total = int(asked.counts.sum())
    rows, furthest = [], {}
    for method in (CODED, CLAIMED):
        distances = []
        for depth, level in enumerate(asked.made[asked.case(HIERARCHY, method)].levels):
            sums = level.sum(axis=1)
            spread = float(sums.std(ddof=1))
            distance = float((sums.mean() - total) / (spread / math.sqrt(len(sums)))) if spread > EXACT else 0.0
            distances.append(abs(distance))
            rows.append((method, depth, level.shape[1], float(sums.mean()), spread, f"{distance:+.1f}"))
        furthest[method] = max(distances)
    fused = asked.made[asked.case(HIERARCHY, TACIT)].levels[0].sum(axis=1)
    rows.append((TACIT, "all, fused", len(asked.counts), float(fused.mean()), float(fused.std(ddof=1)), "exact"))
    return Finding(
        "thesis-claim-level-means",
        "thesis, section 9.7",
        "All levels of a local hierarchy have about the same mean",
        "The mean of all levels should roughly be the same.",
        verdict_of(coded=furthest[CODED] < FAR, claimed=furthest[CLAIMED] < FAR),
        f"The sums of all levels lie within {furthest[CODED]:.1f} standard errors of the {total:,} visits as coded and "
        f"{furthest[CLAIMED]:.1f} as claimed; Tacit's levels are fused and add up to the public number exactly.",
        asked.seed,
        (
            Table(
                "Sums of the levels, in visits",
                ("method", "level", "nodes", "mean", "standard deviation", "mean − truth, standard errors"),
                tuple(rows),
            ),
        ),
    )


def whole_domain(asked: Asked) -> Finding:
    errors = {(s, m): asked.whole_domain_error(s, m) for s in (LOCAL_FLAT, HIERARCHY) for m in METHODS}
    is_exact = {method: errors[LOCAL_FLAT, method] < EXACT for method in METHODS}
    rows = tuple((structure, method, f"{error:.3g}") for (structure, method), error in errors.items())
    return Finding(
        "thesis-claim-whole-domain",
        "thesis, section 10.3.2",
        "The whole domain is answered exactly by devices",
        "Asked for the whole domain, the local flat structure always gives the true answer.",
        verdict_of(coded=is_exact[CODED], claimed=is_exact[CLAIMED]),
        f"The largest error is {errors[LOCAL_FLAT, CODED]:.1g} visits, rounding: every visit sends one report, and "
        f"their number is known. The hierarchy, as coded, asks its useless root and errs by up to "
        f"{errors[HIERARCHY, CODED]:,.0f}.",
        asked.seed,
        (Table("Largest error of the whole domain, in visits", ("structure", "method", "error"), rows),),
    )


def presence(asked: Asked) -> Finding:
    """One visit more, and the exact total tells; what the visit says is another matter."""
    one_more = asked.counts.copy()
    one_more[-1] += 1
    case = asked.case(LOCAL_FLAT, CODED)
    again = replace(case, method=CLAIMED).made(one_more, len(asked.answers(case)), asked.number)
    before = asked.made[asked.case(LOCAL_FLAT, CLAIMED)]
    whole = np.array([0]), np.array([len(asked.counts)])
    rises = again.answers(*whole) - before.answers(*whole)
    is_seen = bool(np.all(np.abs(rises - 1) < EXACT))
    return Finding(
        "thesis-claim-presence",
        "thesis, section 10.3.2",
        "The doubt: a new user is seen in the exact total",
        "If one user joins and the answer for the whole domain goes up by one, this user is known to be in it.",
        Verdict.HOLDS if is_seen else Verdict.FAILS,
        f"It goes up by exactly 1 in all {len(rises)} structures, also where the oracle is right. Local privacy hides "
        f"what a report says (the odds of two days change by exp {case.epsilon:g} at most), never that it was sent: "
        "if only those with a property send one, having sent one is the property. Give everybody a cell.",
        asked.seed,
    )


def true_epsilons(asked: Asked) -> Finding:
    n_days = len(asked.counts)
    kinds = [(CENTRAL_FLAT, None), (TREE, 2), (LOCAL_FLAT, None), *((HIERARCHY, degree) for degree in (2, 3, 4))]
    rows = tuple(
        (f"{epsilon:g}", *(words_of(true_epsilon(Case(kind, CODED, n_days, epsilon, of))) for kind, of in kinds))
        for epsilon in EPSILONS
    )
    names = [kind if of is None else f"{kind}, degree {of}" for kind, of in kinds]
    names[1] = f"{TREE}, any degree"
    local = [true_epsilon(Case(kind, CODED, n_days, 1.0, of)) for kind, of in kinds[2:]]
    return Finding(
        "thesis-claim-local-epsilon",
        "thesis, sections 8.1 and 14.1",
        "The epsilon that the local structures really give",
        "Keeping the value with e^ε/(e^ε + g − 1) and else drawing any of the g values gives ε.",
        Verdict.HOLDS if max(local) <= 1 else Verdict.LARGER_EPSILON,
        f"The draw may name the true value again, so that ε = 1 is really {min(local):.2f} to {max(local):.2f}, and "
        f"0.2 is {rows[-1][3]} to {rows[-1][4]}. As claimed and by Tacit the true ε is the claimed one.",
        asked.seed,
        (Table("True ε of the structures as coded", ("claimed ε", *names), rows),),
    )


def recovered_nodes(asked: Asked) -> Finding:
    worst = asked.largest_error_of_three_nodes()
    return Finding(
        "thesis-claim-tree-epsilon",
        "thesis, sections 7.2 and 14.1.3",
        "The epsilon that the continual tree really gives",
        "Noise on every node of the tree makes it private with ε.",
        Verdict.FAILS if worst < EXACT else Verdict.HOLDS,
        "The first child's noise is the second child's plus the parent's, so that parent + second child − first child "
        f"is exact: over all parents of all structures the largest error is {worst:.1g} visits. No ε bounds that; "
        "and the scale is log2(levels)/ε where levels/ε is needed.",
        asked.seed,
    )


def degree_five(asked: Asked) -> Finding:
    """A quotient of logarithms, rounded up, after the domain was padded to a power."""
    wrong = {
        degree: sum(
            height_by_logarithms(degree ** height_by_logarithms(n_days, degree), degree) != height_of(n_days, degree)
            for n_days in range(2, 2049)
        )
        for degree in (2, 3, 4, 5)
    }
    return Finding(
        "thesis-claim-any-degree",
        "thesis, section 14.1",
        "Trees of any degree",
        "The structures work for any degree.",
        Verdict.FAILS if any(wrong.values()) else Verdict.HOLDS,
        f"Heights are rounded quotients of floating-point logarithms: for degree 5 they are wrong for {wrong[5]:,} "
        f"of 2,047 domains; for degrees 2, 3 and 4, which the thesis measures, for {wrong[2] + wrong[3] + wrong[4]}.",
        asked.seed,
        (Table("Domains of 2 to 2,048 days whose height is wrong", ("degree", "wrong"), tuple(wrong.items())),),
    )
