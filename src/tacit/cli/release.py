"""tacit release: estimate counts and write what may be published."""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Annotated

import numpy as np
import typer

from tacit import client, pages
from tacit._base.languages import ENGLISH
from tacit._base.rounding import percent
from tacit.cli import console
from tacit.cli.domains import agreed_plan
from tacit.cli.key import say_signed
from tacit.cli.ledger_file import LedgerFile
from tacit.cli.options import (
    Force,
    KindLevel,
    Language,
    OwnLevel,
    Panel,
    ReleaseOut,
    RuleOptions,
    SignWith,
    StatementOut,
    takes,
)
from tacit.collection.tallying import estimate_tally, histogram_reports, likelihood_of
from tacit.counts.estimate import Estimate
from tacit.counts.provenance import check_plan
from tacit.counts.tally import Tally
from tacit.domain import AXES
from tacit.errors import SettingError
from tacit.plan import Plan
from tacit.postprocess.refinements import REFINEMENTS, refinement_named
from tacit.release import Release, Rules
from tacit.release.exports import check_ending, key_for
from tacit.release.files import EXPORTED, is_release
from tacit.release.joining import stated_now
from tacit.release.release import BY_CHANCE, CHANCE, LEVEL, contradictions
from tacit.release.rules import SUPPRESSED


@takes(rules=Panel("What is shown of the counts", RuleOptions))
def release(
    rules: RuleOptions,
    tally: Annotated[
        Path | None,
        typer.Argument(
            metavar="[TALLY]",
            help="A tally, made by: tacit tally; or a release, to refine or show its counts otherwise, or to write "
            "it in another form, at no cost.",
        ),
    ] = None,
    plan: Annotated[
        Path | None,
        typer.Option(
            help="The plan (TOML), made by: tacit plan (default: plan.toml; with --from: the survey's own).",
            metavar="PLAN",
        ),
    ] = None,
    collector: Annotated[
        str | None,
        typer.Option(
            "--from",
            help="Instead of TALLY: a survey's address, such as https://counts.example/v1/surveys/visits. Its closed "
            "periods are released.",
            metavar="URL",
        ),
    ] = None,
    token: Annotated[
        str | None,
        typer.Option(help="With --from: the survey's token to read.", envvar="TACIT_TOKEN", metavar="TOKEN"),
    ] = None,
    by: Annotated[
        str | None, typer.Option(help="Add up to: day, week, month or year (default: the plan's step).")
    ] = None,
    place: Annotated[
        str | None, typer.Option(help="Add up to: region or department (default: the plan's level).")
    ] = None,
    kind: KindLevel = None,
    out: ReleaseOut = Path("release.parquet"),
    wide: Annotated[
        bool, typer.Option("--wide", help="A row for every period and a column for every place (.csv, .xlsx).")
    ] = False,
    calendar: Annotated[
        bool, typer.Option("--calendar", help="With --wide: columns of the weekday, month and year too.")
    ] = False,
    country: Annotated[
        str | None,
        typer.Option(help="With --calendar: a column of this country's public holidays: FR, DE, CH.", metavar="CODE"),
    ] = None,
    refine: Annotated[
        str | None,
        typer.Option(
            help=f"How to make the column to look at: {', '.join(REFINEMENTS)} (default: smooth where at least 60 "
            "periods have a public number of reports, else project)."
        ),
    ] = None,
    level: OwnLevel = None,
    statement: StatementOut = None,
    language: Language = ENGLISH,
    sign_with: SignWith = None,
    revises: Annotated[
        Path | None, typer.Option(help="The release that this one replaces; the version goes up.", metavar="RELEASE")
    ] = None,
    reports: Annotated[
        list[Path] | None,
        typer.Option(
            help="Report files behind the tally, all of them: --refine likelihood then uses the reports themselves.",
            metavar="FILE",
        ),
    ] = None,
    ledger: LedgerFile = None,
    force: Force = False,
) -> None:
    """Write counts with intervals and the privacy statement, in one file that may be published.

    Example: [bold]tacit release events.tally --plan plan.toml --by month --out release.parquet[/bold]
    """
    console.check_outputs((out, statement), (tally, plan, revises, *(reports or ())), force=force)
    if (tally is None) == (collector is None):
        raise SettingError("a release is made of a tally, or of a survey with --from URL. Give one of them.")
    check_ending(out, is_wide=wide)
    key = key_for(out, sign_with)
    if (calendar and not wide) or (country is not None and not calendar):
        raise SettingError("--calendar goes with --wide, and --country with --calendar. Add what is missing.")
    agreed_rules = rules.rules()
    if refine is not None:
        refinement_named(refine)  # a slip of the pen is told before the reports are read
    former = None if revises is None else Release.read(revises)
    if reports and refine != "likelihood":
        raise SettingError("--reports is for --refine likelihood alone. Leave it out, or add: --refine likelihood")
    if tally is not None and is_release(tally) and (reports or former is not None):
        raise SettingError("--reports and --revises are for a tally. Leave them out, or give the tally.")
    if collector is not None and reports:
        raise SettingError("--reports are files, and --from fetches its own. Leave --reports out.")
    with tempfile.TemporaryDirectory() as scratch, console.progress("Estimating counts"):
        if tally is not None and (is_release(tally) or tally.suffix in EXPORTED):  # a table is refused in words for it
            given = Release.read(tally)
            estimate = given.unbiased
            is_changed = any(one is not None for one in (by, place, kind, level, refine)) or not agreed_rules.are_none
            agreed_rules = replace(agreed_rules, missing=(*given.rules.missing, *agreed_rules.missing))
            made = (
                given.again(by=by, place=place, kind=kind, level=level, refine=refine, rules=agreed_rules)
                if is_changed
                else given
            )
        else:
            if tally is not None:
                named = None if plan is None else agreed_plan(plan)
                counts = Tally.read(tally)
                agreed = named or agreed_plan(Path("plan.toml"))
            else:
                agreed, counts, reports = _fetched(collector, token, plan, refine, Path(scratch))
            estimate = estimate_tally(counts, agreed)
            made = Release.of(
                agreed,
                estimate,
                by=by,
                place=place,
                kind=kind,
                level=0.95 if level is None else level,
                refine=likelihood_of(histogram_reports(reports, agreed), agreed) if reports else refine,
                rules=agreed_rules,
                revises=former,
            )
        made = stated_now(made, ledger)
        made.write(out, wide=wide, calendar=calendar, holidays=_holidays(made, country), sign_with=key)
    console.say(f"Wrote {out}: {console.size(made.domain.grid)}.")
    say_signed(key)
    if former is not None:
        _say_version(made, revises)
    say_rules(made)
    warn_of_contradictions(made)
    warn_of_missing_reports(estimate, agreed_rules)
    say_protection(made)
    if statement is not None:
        pages.make_statement_page(made, statement, language=language)
    say_next(made, out, statement)


def _fetched(
    url: str | None, token: str | None, plan: Path | None, refine: str | None, scratch: Path
) -> tuple[Plan, Tally, list[Path]]:
    """Fetch the plan, the tally and, where they are asked for, the reports of a survey; another plan is refused."""
    survey = client.PublishedSurvey(str(url), token=token)
    agreed = None if plan is None else agreed_plan(plan)
    found = survey.plan(scratch)
    if agreed is not None:
        check_plan(f"what {survey.url} collects", found.fingerprint, agreed.fingerprint)
    counts = survey.tally(found, scratch)
    return found, counts, survey.reports(found, counts, scratch) if refine == "likelihood" else []


def _holidays(made: Release, country: str | None) -> dict[str, str] | None:
    if country is None:
        return None
    from tacit.forecast.holidays import public_holidays  # loads what few tables need

    return public_holidays(made.domain.time, country=country)


def say_protection(made: Release) -> None:
    """Say what a release promises, or that a simulation protects nobody."""
    if made.is_simulation:
        console.warn("SIMULATION: made with a known seed, this release protects nobody. Do not publish it.")
    else:
        console.say_promises(made.statement.promises, is_alone=made.statement.is_alone)


def say_next(made: Release, out: Path, statement: Path | None) -> None:
    """Say where the statement is, and what to do with a release."""
    if statement is not None:
        console.say(f"Wrote {statement}: the privacy statement.")
    if out.suffix in EXPORTED:
        console.say("That file is for spreadsheets and other programs. Tacit itself reads the release as .parquet.")
        return
    console.say(f"Next: {question_about(made, out)}, or: tacit page {out}")


def question_about(made: Release, path: Path) -> str:
    """Return the command that asks a release, with the options that it has an answer for."""
    place = "" if made.domain.place.is_all else " --place NAME"
    kind = "" if made.domain.kind is None else " --kind NAME"
    return f"tacit query {path} --from DATE --to DATE{place}{kind}"


def _say_version(made: Release, revises: Path | None) -> None:
    version = made.version
    costs = ", and costs events counted there nothing more" if version.costs_nothing_more else ""
    console.say(f"Version {version.number}: it replaces {revises}{costs}.")
    if version.n_fewer:
        console.warn(
            f"In {console.counted(version.n_fewer, 'public bin')} there are fewer reports than in {revises}: reports "
            "were taken out, and the statement says so. If they should be there, tally all report files together."
        )
    if version.n_other:
        console.warn(
            f"In {console.counted(version.n_other, 'public bin')} there are as many reports as in {revises}, but other "
            "ones: reports were replaced. New reports about the same events cost them the sum of both epsilons; the "
            "statement says so."
        )
    elif version.replaced_in:
        console.warn(f"In version {version.replaced_in} reports were replaced, and the statement still says so.")


def warn_of_contradictions(release: Release) -> None:
    """Warn where more counts contradict the model than chance explains."""
    is_apart = contradictions(release)
    n_apart = int(is_apart.sum())
    if n_apart > BY_CHANCE * is_apart.size:
        console.warn(
            f"In {n_apart:,} of {console.counted(is_apart.size, 'count')} the {percent(LEVEL)} intervals of measured "
            f"and smoothed numbers do not overlap: they contradict the model. {CHANCE} Refine otherwise, or use the "
            "measured ones."
        )


def say_rules(release: Release) -> None:
    """Say what is not in the table, whether the file holds it all the same, and what can be worked out."""
    if release.rules.suppress:
        _say_suppressed(release)
    if release.rules.missing:
        time = release.domain.time
        n_whole, n_partly = (int(release.rules.missing_bins(time, partly=partly).sum()) for partly in (False, True))
        found = [f"{console.counted(n_whole, 'period')} without any data"] if n_whole else []
        found += [f"{console.counted(n_partly, 'period')} without some of the days"] if n_partly else []
        console.say(f"Missing: {' and '.join(found)}.")


def warn_of_missing_reports(estimate: Estimate, rules: Rules) -> None:
    """Warn of reports on days that are said to have no data."""
    totals, (n_times, _) = estimate.totals, estimate.domain.shape
    if not rules.missing or totals is None or totals.shape[0] != n_times:
        return
    n_reports = int(totals[rules.missing_bins(estimate.domain.time)].sum())
    if n_reports:
        console.warn(
            f"{console.counted(n_reports, 'report')} came in on days that are said to have no data (--missing). Their "
            "number is public, and longer periods count them. Leave out the days that have data."
        )


def _say_suppressed(release: Release) -> None:
    is_suppressed = release.statuses() == SUPPRESSED
    n_suppressed = int(is_suppressed.sum())
    if not n_suppressed:
        console.say("No count is suppressed.")
        return
    what = f"Suppressed {n_suppressed:,} of {console.counted(is_suppressed.size, 'count')}"
    if release.rules.keep_suppressed:
        console.warn(
            f"{what}: they are blank in the table, but the file still holds them (--keep-suppressed). Leave that out "
            "if whoever gets the file must not see them."
        )
        return
    console.say(f"{what}: they are not in the file, and sums that need them cannot be asked.")
    layout = release.unbiased.public_layout
    if layout is None or layout.n_private == 1:
        return
    n_alone = int(np.count_nonzero(layout.rows(is_suppressed).sum(axis=1) == 1))
    if n_alone:
        axes = AXES[: len(release.domain.grid)]
        of = console.noun_of([axis for axis in axes if axis not in layout.private], "public bin")
        one = console.noun_of(layout.private, "count")
        console.warn(
            f"In {console.counted(n_alone, of)} a single {one} is suppressed: its count is what the others leave of "
            "the public number of reports."
        )
