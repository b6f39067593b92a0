"""tacit query: ask a release for any range of dates, places and kinds of events."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Annotated, Any, Final

import typer

from tacit._base.languages import listed
from tacit._base.rounding import percent, whole
from tacit._base.validation import check_at_least
from tacit.cli import console
from tacit.cli.key import read_release
from tacit.cli.options import FirstPeriod, KindNames, LastPeriod, OwnLevel, PlaceNames, ReleaseFile, SignedBy
from tacit.counts.estimate import Answer
from tacit.domain import Box
from tacit.errors import SettingError
from tacit.release import Release
from tacit.release.exports import csv_text, privacy_of
from tacit.release.questions import (
    RankedPlace,
    across_the_cut,
    answered,
    as_columns,
    described,
    ranked_places,
    read_boxes,
)
from tacit.release.release import CHANCE, LEVEL, contradiction, noun_beside

SHOWS_SINGLE_DAYS_FROM: Final = 1.7
"""The epsilon of reports below which a smoothed day is essentially the place's share of the public total."""
_LONGER: Final = ("week", "month", "year")
_MOST_NAMES: Final = 12  # a choice: a longer list of places is not read; --json has all of them


def query(
    release: ReleaseFile,
    first: FirstPeriod = None,
    last: LastPeriod = None,
    place: PlaceNames = None,
    kind: KindNames = None,
    level: OwnLevel = None,
    measured: Annotated[
        bool, typer.Option("--measured", help="Ask the measured counts, where others are smoothed by a model.")
    ] = False,
    top: Annotated[
        int | None, typer.Option(help="Instead of one number, the so many places with most events.", metavar="N")
    ] = None,
    boxes: Annotated[
        Path | None,
        typer.Option(
            help="Answer every row of a CSV file with columns from, to, place and kind, as CSV on standard output.",
            metavar="FILE",
        ),
    ] = None,
    list_places: Annotated[
        bool, typer.Option("--list-places", help="List the places, and kinds of events, that can be asked for.")
    ] = False,
    signed_by: SignedBy = None,
    as_json: Annotated[bool, typer.Option("--json", help="Answer as JSON, for programs.")] = False,
) -> None:
    """Answer how many events there were, with an interval for the true number.

    The number is the one to use first: smoothed by a model where the release has that, else measured.

    Example: [bold]tacit query release.parquet --from 2017-01 --to 2017-03 --place "CC Loue-Lison"[/bold]
    """
    asked = read_release(release, signed_by)
    restricted = {"--from": first, "--to": last, "--place": place, "--kind": kind, "--top": top, "--boxes": boxes}
    _check_alone(list_places, "--list-places", restricted, ())
    _check_alone(boxes is not None, "--boxes", restricted, ("--boxes",))
    _check_alone(top is not None, "--top", restricted, ("--from", "--to", "--kind", "--top"))
    if asked.is_simulation:
        console.warn("SIMULATION: this release was made with a known seed.")
    if list_places:
        _list_places(asked, as_json=as_json)
    elif boxes is not None:
        _answer_boxes(asked, boxes, level=level, measured=measured, as_json=as_json)
    elif top is not None:
        check_at_least(1, top=top)
        found = ranked_places(asked, first=first, last=last, kinds=kind or None, level=level, measured=measured)
        many = noun_beside(release)[1]
        _say_ranked(asked, found, top, many, level=level, measured=measured, as_json=as_json)
    else:
        box = asked.domain.box(first=first, last=last, places=place or None, kinds=kind or None)
        asked.check_shown(box)
        if as_json:
            one = answered(asked, box, level=level, measured=measured)
            _print_json(asked, answers=[one | _named(asked, box)])
        else:
            _say(asked, asked.answer_box(box, level=level, measured=measured), noun_beside(release), measured=measured)


def _check_alone(is_asked: bool, name: str, options: dict[str, Any], allowed: tuple[str, ...]) -> None:
    """Refuse options that a way of asking would not heed."""
    others = [option for option, value in options.items() if value not in (None, []) and option not in allowed]
    if is_asked and others:
        raise SettingError(f"{name} does not go with {listed(others)}. Leave one of them out.")


def _say(asked: Release, found: Answer, noun: tuple[str, str], *, measured: bool) -> None:
    _warn_of_missing(asked, found.box)
    what = console.box_words(asked.domain, found.box)
    if found.standard_error == 0:
        number = round(found.value)
        console.strong(f"{number:,} {noun[number != 1]}, exactly: the number of reports is public ({what})")
        return
    console.say_estimate(found, noun=noun)
    console.say_interval(found.level, (found.lower, found.upper), what)
    if not asked.is_reliable(found):
        console.say("That is not reliable: the error is too large a part of the number.")
    console.say(_basis_words(asked, measured=measured))
    if asked.has_refined_intervals and not measured:
        _warn_of_contradiction(asked, found.box)


def _warn_of_missing(asked: Release, box: Box) -> None:
    lacking = asked.rules.days_missing(asked.domain.time)[box.time]
    if n_days := int(lacking.sum()):
        n_periods = len(box.time)
        which = f"{int((lacking > 0).sum()):,} of {n_periods:,} periods have" if n_periods > 1 else "The period has"
        console.warn(
            f"{which} no data for some or all of the days ({console.counted(n_days, 'day')}); the answer lacks those."
        )


def _basis_words(asked: Release, *, measured: bool) -> str:
    """Return words that say which number it is, and when to use the other."""
    if not asked.has_refined_intervals:
        return "Measured: from the noisy counts asked for alone, without bias."
    is_filtered = asked.basis == "filtered"
    if measured:
        closer = "closer for single periods" if is_filtered else "closer on average"
        return (
            f"Measured: from the noisy counts asked for alone, without bias. The {asked.basis} number, without "
            f"--measured, is {closer}."
        )
    if is_filtered:
        return (
            "Filtered: each period by a model of itself and those before, as it stood on its day. A sum of several has "
            "a wide interval: ask it with --measured, or a release that was made with --refine smooth."
        )
    words = (
        "Smoothed: by a model of all periods and places, closer on average than the measured number. The interval "
        "holds on average over places and periods if the model fits."
    )
    if (
        not asked.plan.is_central
        and asked.plan.epsilon < SHOWS_SINGLE_DAYS_FROM
        and asked.domain.time.step not in _LONGER
    ):
        words += f" Below epsilon {SHOWS_SINGLE_DAYS_FROM} it cannot show the anomaly of a single day."
    return f"{words} For what was unusual, ask with --measured."


def _warn_of_contradiction(asked: Release, box: Box) -> None:
    unbiased = contradiction(asked, box)
    if unbiased is not None:
        console.warn(
            f"The measured number contradicts the model here: its {percent(LEVEL)} interval, {whole(unbiased.lower)} "
            f"to {whole(unbiased.upper)}, does not overlap that of the smoothed one. {CHANCE}"
        )


def _say_ranked(
    asked: Release,
    found: list[RankedPlace],
    top: int,
    many: str,
    *,
    level: float | None,
    measured: bool,
    as_json: bool,
) -> None:
    unsure, possible = across_the_cut(found, top)
    shown = found[:top]
    if as_json:
        answers = [
            {"rank": rank, "place": place, "may_not_belong": place in unsure}
            | described(asked, one.box, one, level=level, measured=measured)
            for rank, (place, one) in enumerate(shown, 1)
        ]
        _print_json(asked, answers=answers, may_belong=possible)
        return
    _warn_of_missing(asked, shown[0].answer.box)
    console.table(
        ["", "Place", many.capitalize(), f"{percent(shown[0].answer.level)} interval"],
        [
            [rank, place, whole(one.shown), f"{whole(one.lower)} to {whole(one.upper)}"]
            for rank, (place, one) in enumerate(shown, 1)
        ],
        left=2,
    )
    n_hidden = asked.domain.place.n_cells - len(found)
    if n_hidden:
        console.say(f"{console.counted(n_hidden, 'place')} not ranked: suppressed or without data.")
    console.say(_rank_words(unsure, possible, is_cut=len(found) > top))
    console.say(_basis_words(asked, measured=measured))


def _rank_words(unsure: list[str], possible: list[str], *, is_cut: bool) -> str:
    words = (
        "Ranks are uncertain: an interval holds for its place alone, and where two overlap the true order may differ."
    )
    if possible:
        return f"{words} By their intervals these may not belong here: {_few(unsure)}. These may: {_few(possible)}."
    return f"{words} No interval of another place reaches into this list." if is_cut else words


def _few(names: list[str]) -> str:
    if len(names) <= _MOST_NAMES:
        return listed(names)
    return f"{', '.join(names[:_MOST_NAMES])} and {len(names) - _MOST_NAMES:,} more"


def _answer_boxes(asked: Release, path: Path, *, level: float | None, measured: bool, as_json: bool) -> None:
    answers = [row | answered(asked, box, level=level, measured=measured) for row, box in read_boxes(path, asked)]
    if as_json:
        _print_json(asked, answers=answers)
    else:
        typer.echo(csv_text(as_columns(asked, answers)), nl=False)


def _list_places(asked: Release, *, as_json: bool) -> None:
    domain = asked.domain
    kinds = None if domain.kind is None else domain.kind.cells
    if as_json:
        _print_json(asked, places=domain.place.cells, kinds=kinds)
        return
    for heading, names in (("Places", domain.place.cells), ("Kinds", kinds)):
        if names is not None:
            console.strong(heading)
            for name in names:
                console.say(name)


def _named(asked: Release, box: Box) -> dict[str, Any]:
    """Return the places and kinds of a box, by name."""
    domain = asked.domain
    places = {column // domain.n_kinds for column in box.columns}
    kinds = {column % domain.n_kinds for column in box.columns}
    return {
        "places": [domain.place.cells[number] for number in sorted(places)],
        "kinds": None if domain.kind is None else [domain.kind.cells[number] for number in sorted(kinds)],
    }


def _print_json(asked: Release, **content: Any) -> None:
    about = privacy_of(asked) | {"simulation": asked.is_simulation, "release": asked.checksum}
    about["signed_by"] = asked.signed_by or None
    if math.isinf(about["epsilon"]):  # no number of JSON
        about["epsilon"] = None
    typer.echo(json.dumps(about | content, ensure_ascii=False, indent=2))
