"""What the shell says to do about an error: its commands and options."""

from __future__ import annotations

from shlex import quote
from typing import Final

from tacit.errors import Remedy, TacitError

WORDS: Final = {
    Remedy.ACCEPT_AGAIN: "Else keep to the new days (--from), or accept the sum with --again.",
    Remedy.ALLOW_MORE: "Ask for less, keep to new days, or allow more: "
    "tacit ledger --budget {data_set} --epsilon EPSILON",
    Remedy.AUDIT_FEWER: "Make more, or audit with fewer: --runs",
    Remedy.CHANGE_BUDGET: "Leave the budget out, or change it first: "
    "tacit ledger --budget {data_set} --epsilon EPSILON",
    Remedy.CHOOSE_DATE_ORDER: "Say which it is: --date-format day-first, or --date-format month-first",
    Remedy.CHOOSE_HISTORY: "Choose another name with --history.",
    Remedy.CHOOSE_HORIZON: "Give for example: --horizon 7, or --horizon month",
    Remedy.CHOOSE_STATE: "Choose another name with --out.",
    Remedy.COUNT_INSTEAD: "Use tacit count, or make a plan with: tacit plan",
    Remedy.DECLARE_COPY: "Say first whether {data_set} and {other} are the same events: tacit ledger same {data_set} "
    "{other}; or, if they only look alike on such days: tacit ledger distinct {data_set} {other}",
    Remedy.DESCRIBE_AGAIN: "Describe it again with: tacit check --force, or name the right file.",
    Remedy.DESCRIBE_SOURCE: "Make one with: tacit check",
    Remedy.FIT_AGAIN: "Else fit again without --load.",
    Remedy.GIVE_NAMES: "Look at its first line: if it holds no column names, give them with --names.",
    Remedy.GIVE_TABLE: "Name the table: --places FILE",
    Remedy.HIDE_THE_SAME: "Use a plan that hides the same; --again does not help here.",
    Remedy.KEEP_SUPPRESSED: "Make it again without --suppress, or with --keep-suppressed.",
    Remedy.KEEP_TO_NEW_DAYS: "Keep to the new days (--from); --again does not help here.",
    Remedy.LEAVE_OUT_REVISES: "Leave out --revises.",
    Remedy.LEAVE_OUT_TOWNS: "Leave --towns out.",
    Remedy.LEAVE_OUT_USERS: "Leave out --user, or start one with --unit user-day.",
    Remedy.MAKE_PLAN: "Make one with: tacit plan",
    Remedy.MAKE_RELEASE: "Make one with: tacit release",
    Remedy.MAKE_REPORTS: "Make one with: tacit randomize",
    Remedy.MAKE_TALLY: "Make one with: tacit tally",
    Remedy.NAME_DATA_SET: "Say which: --data-set NAME",
    Remedy.NAME_PLACES_COLUMN: "Rename a column, or say which it is: --places-column {meaning}=COLUMN",
    Remedy.NAME_USERS: "Add: --user COLUMN",
    Remedy.OVERWRITE: "Choose another name, or overwrite it with --force.",
    Remedy.RANDOMIZE_INSTEAD: "Use tacit randomize, or make a plan with: tacit plan --trust curator",
    Remedy.RELEASE_COARSER: "Release it again with --by or --place, or with --keep-suppressed.",
    Remedy.RELEASE_FROM_REPORTS: "Release it again, with --reports and --by or --place.",
    Remedy.SAVE_MODEL: "Make one with: tacit forecast --save",
    Remedy.START_COUNTER: "Start one with: tacit counter start",
}


def in_shell(problem: TacitError) -> str:
    """Return the message of an error, with what to do in the words of the shell."""
    return problem.said(
        lambda remedy, names: WORDS[remedy].format(**{name: quote(value) for name, value in names.items()})
    )
