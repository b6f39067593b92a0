"""Every reason for which a collector does not count a message or answer a question, and its form on the wire.

Errors become problem documents (RFC 9457) here and nowhere else. A document names the reason, the rule and what to do;
it repeats nothing that was sent.
"""

from __future__ import annotations

import re
from enum import Enum, unique
from http import HTTPStatus
from typing import Any, Final

from tacit.errors import (
    DamagedMessage,
    FormatError,
    NoInterval,
    NotShown,
    PlanError,
    PlanMismatch,
    Remedy,
    SettingError,
    TacitError,
)


@unique
class Reason(Enum):
    """Why something is refused. The value is the last part of a problem's type, and the label of its counter."""

    MALFORMED = "malformed"
    DAMAGED = "damaged"
    OTHER_PLAN = "other-plan"
    LABEL = "label"
    EMPTY = "empty"
    EARLY = "early"
    LATE = "late"
    CLOSED = "closed"
    TOO_LARGE = "too-large"
    TOO_SLOW = "too-slow"
    TOO_MANY = "too-many"
    BUSY = "busy"
    NO_TOKEN = "no-token"
    NO_RIGHT = "no-right"
    UNKNOWN = "unknown"
    METHOD = "method"
    MEDIA_TYPE = "media-type"
    PLAN = "plan"
    QUESTION = "question"
    NOT_SHOWN = "not-shown"
    STORE = "store"
    FAULT = "fault"


STATUS: Final = {
    Reason.MALFORMED: HTTPStatus.BAD_REQUEST,
    Reason.DAMAGED: HTTPStatus.BAD_REQUEST,
    Reason.OTHER_PLAN: HTTPStatus.CONFLICT,
    Reason.LABEL: HTTPStatus.CONFLICT,
    Reason.EMPTY: HTTPStatus.BAD_REQUEST,
    Reason.EARLY: HTTPStatus.CONFLICT,
    Reason.LATE: HTTPStatus.CONFLICT,
    Reason.CLOSED: HTTPStatus.CONFLICT,
    Reason.TOO_LARGE: HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
    Reason.TOO_SLOW: HTTPStatus.REQUEST_TIMEOUT,
    Reason.TOO_MANY: HTTPStatus.TOO_MANY_REQUESTS,
    Reason.BUSY: HTTPStatus.SERVICE_UNAVAILABLE,
    Reason.NO_TOKEN: HTTPStatus.UNAUTHORIZED,
    Reason.NO_RIGHT: HTTPStatus.FORBIDDEN,
    Reason.UNKNOWN: HTTPStatus.NOT_FOUND,
    Reason.METHOD: HTTPStatus.METHOD_NOT_ALLOWED,
    Reason.MEDIA_TYPE: HTTPStatus.UNSUPPORTED_MEDIA_TYPE,
    Reason.PLAN: HTTPStatus.BAD_REQUEST,
    Reason.QUESTION: HTTPStatus.BAD_REQUEST,
    Reason.NOT_SHOWN: HTTPStatus.NOT_FOUND,
    Reason.STORE: HTTPStatus.SERVICE_UNAVAILABLE,
    Reason.FAULT: HTTPStatus.INTERNAL_SERVER_ERROR,
}
"""The status of each reason. A client sends the same message again after 429, 503 and *damaged*; after 401 and 403 when
its token is mended; after no other."""
TITLES: Final = {
    Reason.MALFORMED: "Not a message of this survey",
    Reason.DAMAGED: "Damaged on its way",
    Reason.OTHER_PLAN: "Made under another plan",
    Reason.LABEL: "Not the reports that this survey takes",
    Reason.EMPTY: "Nothing to count",
    Reason.EARLY: "Too early",
    Reason.LATE: "Too late",
    Reason.CLOSED: "The period is closed",
    Reason.TOO_LARGE: "Too large",
    Reason.TOO_SLOW: "Too slow",
    Reason.TOO_MANY: "Too many at a time",
    Reason.BUSY: "Busy",
    Reason.NO_TOKEN: "A token is needed",
    Reason.NO_RIGHT: "Not allowed",
    Reason.UNKNOWN: "There is no such thing",
    Reason.METHOD: "Not done with this address",
    Reason.MEDIA_TYPE: "Not a form that is read here",
    Reason.PLAN: "Not a plan that can be collected under",
    Reason.QUESTION: "The request cannot be answered as it stands",
    Reason.NOT_SHOWN: "Not shown",
    Reason.STORE: "The store does not answer",
    Reason.FAULT: "A fault of this collector",
}
_REASONS: Final = (
    (PlanMismatch, Reason.OTHER_PLAN),
    (DamagedMessage, Reason.DAMAGED),
    (FormatError, Reason.MALFORMED),
    (NotShown, Reason.NOT_SHOWN),
    (NoInterval, Reason.QUESTION),
    (PlanError, Reason.PLAN),
    (SettingError, Reason.QUESTION),
)
"""The reason of each kind of error, the first that fits; of any other it is a fault."""
_REMEDIES: Final = {
    Remedy.MAKE_PLAN: "Send the content of a plan's file in JSON, unchanged.",
    Remedy.RANDOMIZE_INSTEAD: "Send a plan for devices.",
    Remedy.COUNT_INSTEAD: "Send a plan for devices.",
}
"""What to do, in words for whoever writes a client. Other remedies are functions of Python, and are left out."""


_PARAMETERS: Final = {"step": "by", "places": "place", "kinds": "kind"}
"""What a request calls the settings that errors of the rooms below begin with."""


class Refused(TacitError):
    """A request that a collector does not honour, with its reason."""

    def __init__(self, reason: Reason, problem: str, *, retry_after: int | None = None) -> None:
        super().__init__(problem)
        self.reason, self.retry_after = reason, retry_after


def reason_of(error: Exception) -> Reason:
    """Return why an error refuses."""
    if isinstance(error, Refused):
        return error.reason
    return next((reason for kind, reason in _REASONS if isinstance(error, kind)), Reason.FAULT)


def _in_words(error: Exception) -> str:
    """Return what is told of an error, with settings named as they are in a request; of a fault nothing."""
    if not isinstance(error, TacitError):
        return "Something went wrong here. Nothing was counted; try again later."
    words = error.said(lambda remedy, _: _REMEDIES.get(remedy, ""))
    settings = "|".join(_PARAMETERS)
    return re.sub(rf"^({settings})(?= must )|(?<=; got )({settings})(?==)", lambda name: _PARAMETERS[name[0]], words)


def problem(error: Exception) -> tuple[int, dict[str, Any], dict[str, str]]:
    """Return the status, the problem document and the headers of an error; of a fault nothing is told.

    >>> status, document, headers = problem(Refused(Reason.TOO_MANY, "Wait a little.", retry_after=3))
    >>> status, document["type"], document["title"], headers
    (429, 'urn:tacit:problem:too-many', 'Too many at a time', {'Retry-After': '3'})
    >>> problem(ZeroDivisionError("with a value in it"))[1]["detail"]
    'Something went wrong here. Nothing was counted; try again later.'
    """
    reason = reason_of(error)
    document = {
        "type": f"urn:tacit:problem:{reason.value}",
        "title": TITLES[reason],
        "status": int(STATUS[reason]),
        "detail": _in_words(error),
    }
    seconds = getattr(error, "retry_after", None)
    headers = {} if seconds is None else {"Retry-After": str(seconds)}
    if reason is Reason.TOO_SLOW:
        headers["Connection"] = "close"  # the rest is not waited for
    if reason is Reason.NO_TOKEN:
        headers["WWW-Authenticate"] = "Bearer"
    return int(STATUS[reason]), document, headers
