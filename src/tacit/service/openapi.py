"""The description of a collector's addresses in the form of OpenAPI 3.1."""

from __future__ import annotations

from typing import Any, Final

from tacit import __version__
from tacit._base.languages import LANGUAGES
from tacit.collection.wire.message import ID_BYTES
from tacit.service.refusals import STATUS
from tacit.service.settings import EVERY, MOST_LATE

_TEXT: Final = {"type": "string"}
_NUMBER: Final = {"type": "number"}
_SURVEY: Final = {"name": "survey", "in": "path", "required": True, "schema": _TEXT}
_HEX: Final = "^[0-9a-fA-F]*$"
# what is public needs no token, unless the survey is not; whoever has one may send it
_SECURITY: Final[dict[str | None, list[dict[str, list[str]]]]] = {None: [], "public": [{}, {"token": []}]}
_PROBLEM: Final[dict[str, Any]] = {
    "description": "Refused; the type says why.",
    "content": {"application/problem+json": {"schema": {"$ref": "#/components/schemas/Problem"}}},
}
_SCHEMAS: Final[dict[str, Any]] = {
    "Problem": {
        "type": "object",
        "required": ["type", "title", "status", "detail"],
        "properties": {"type": _TEXT, "title": _TEXT, "status": {"type": "integer"}, "detail": _TEXT},
    },
    "Report": {
        "type": "object",
        "required": ["id", "report"],
        "additionalProperties": False,
        "properties": {
            "id": {"type": "string", "pattern": _HEX, "minLength": 2 * ID_BYTES, "maxLength": 2 * ID_BYTES},
            "report": {"type": "string", "pattern": _HEX},
            **{name: {"type": ["string", "null"]} for name in ("time", "place", "kind")},
        },
    },
    "NewSurvey": {
        "type": "object",
        "required": ["name", "plan"],
        "additionalProperties": False,
        "properties": {
            "name": _TEXT,
            "plan": {"type": "object"},
            "late": {"type": ["integer", "null"], "minimum": 0, "maximum": MOST_LATE},
            "open": {"type": ["boolean", "null"]},
            "release_every": {"enum": [*EVERY, None]},
            "public": {"type": ["boolean", "null"]},
            **{key: {"type": ["string", "null"]} for key in ("title", "noun")},
            "language": {"enum": [*LANGUAGES, None]},
        },
    },
    "NewToken": {
        "type": "object",
        "required": ["scope"],
        "additionalProperties": False,
        "properties": {
            "scope": {"enum": ["write", "read", "admin"]},
            **{name: {"type": ["string", "null"]} for name in ("survey", "name")},
        },
    },
    "Counted": {
        "type": "object",
        "required": ["outcome", "n_reports"],
        "properties": {"outcome": {"enum": ["counted", "seen"]}, "n_reports": {"type": "integer", "minimum": 1}},
    },
    "Intake": {
        "type": "object",
        "required": ["plan", "access", "is_simulation", "first", "last", "first_label", "last_label"],
        "properties": {
            "plan": _TEXT,
            "access": {"enum": ["allowed", "no-token", "no-right"]},
            "is_simulation": {"type": "boolean"},
            **{end: {"type": ["integer", "null"], "minimum": 0} for end in ("first", "last")},
            **{f"{end}_label": {"type": ["string", "null"]} for end in ("first", "last")},
        },
    },
    "Releases": {
        "type": "object",
        "required": ["every", "is_public", "releases"],
        "properties": {
            "every": {"enum": list(EVERY)},
            "is_public": {"type": "boolean"},
            "releases": {"type": "array", "items": {"$ref": "#/components/schemas/Published"}},
        },
    },
    "Published": {
        "type": "object",
        "required": ["number", "first", "last", "n_periods", "checksum", "sha256", "n_bytes", "signed_by"],
        "properties": {
            **{key: {"type": "integer", "minimum": 1} for key in ("number", "n_periods", "n_bytes")},
            **{key: {"type": "string", "format": "date"} for key in ("first", "last")},
            **dict.fromkeys(("checksum", "sha256", "release", "page"), _TEXT),
            "signed_by": {"type": ["string", "null"]},
        },
    },
    "Key": {
        "type": "object",
        "required": ["algorithm", "key"],
        "properties": {"algorithm": {"const": "Ed25519"}, "key": {"type": "string", "pattern": "^[0-9a-f]{64}$"}},
    },
    "Closed": {
        "type": "object",
        "required": ["n_closed", "release", "alarms"],
        "properties": {
            "n_closed": {"type": "integer", "minimum": 0},
            "release": {"type": ["integer", "null"]},
            "alarms": {"type": "array", "items": _TEXT},
        },
    },
    "Answer": {
        "type": "object",
        "required": ["value", "lower", "upper", "level", "standard_error", "is_simulation"],
        "properties": {
            **dict.fromkeys(("value", "lower", "upper", "level", "standard_error"), _NUMBER),
            "is_simulation": {"type": "boolean"},
        },
    },
}


_TOKEN_FORM: Final = {
    "required": True,
    "content": {
        "application/x-www-form-urlencoded": {
            "schema": {"type": "object", "required": ["token"], "properties": {"token": {"type": "string"}}}
        }
    },
}


def document() -> dict[str, Any]:
    """Return the document."""
    levels = [_query(name) for name in ("by", "place", "kind")]
    boxes = [_query(name) for name in ("first", "last")] + [_query(name, many=True) for name in ("place", "kind")]
    period = {"name": "period", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 0}}
    name = {"name": "name", "in": "path", "required": True, "schema": _TEXT}
    number = {"name": "number", "in": "path", "required": True, "schema": {"type": "integer", "minimum": 1}}
    part = {"name": "part", "in": "path", "required": True, "schema": _TEXT}
    messages = {
        "required": True,
        "content": {
            "application/vnd.tacit.message": {"schema": {"type": "string", "format": "binary"}},
            "application/json": {"schema": {"$ref": "#/components/schemas/Report"}},
        },
    }
    one = "/v1/surveys/{survey}"
    return {
        "openapi": "3.1.0",
        "info": {"title": "Tacit collector", "version": __version__},
        "paths": {
            "/health": {
                "get": _done("Whether the collector and its store answer, and the store can write.", access=None)
            },
            "/metrics": {"get": _done("Sums for Prometheus.", kind="text/plain", access="admin")},
            "/operator": {"get": _done("The operator's page.", kind="text/html", access=None)},
            "/operator/{part}": _on([part], get=_done("A part of it.", kind="text/javascript", access=None)),
            "/v1/operator": {"get": _done("What that page shows.", access="admin")},
            "/v1/surveys": {
                "get": _done("All surveys.", access="admin"),
                "post": _done("Make a survey.", access="admin") | _takes("NewSurvey"),
            },
            "/v1/tokens": {
                "get": _done("Names of tokens.", access="admin"),
                "post": _done("Make a token.", access="admin") | _takes("NewToken"),
            },
            "/v1/tokens/{name}": _on([name], delete=_done("Take a token back.", access="admin")),
            "/openapi.json": {"get": _done("This document.", access=None)},
            "/surveys/{survey}": _on([_SURVEY], get=_done("The survey's form.", kind="text/html", access=None)),
            "/form/{part}": _on([part], get=_done("A part of the form.", kind="text/javascript", access=None)),
            f"{one}/plan": _on([_SURVEY], get=_done("The public plan.", access=None)),
            f"{one}/intake": _on(
                [_SURVEY],
                get=_done(
                    "Which periods are taken now, and whether this token may send.", schema="Intake", access="public"
                ),
            ),
            f"{one}/reports": _on(
                [_SURVEY], post=_done("Count a message once.", schema="Counted") | {"requestBody": messages}
            ),
            f"{one}/counts": _on([_SURVEY, *levels], get=_done("Counts of closed periods.")),
            f"{one}/answer": _on([_SURVEY, *boxes], get=_done("One count with its interval.", schema="Answer")),
            f"{one}/release": _on(
                [_SURVEY, *levels],
                get=_done("A release of closed periods.", kind="application/vnd.apache.parquet"),
            ),
            f"{one}/tally": _on([_SURVEY], get=_done("Their tally.", kind="application/octet-stream")),
            f"{one}/reports/{{period}}": _on(
                [_SURVEY, period], get=_done("The sorted reports of a period.", kind="application/octet-stream")
            ),
            f"{one}/releases": _on(
                [_SURVEY], get=_done("What is published, the newest first.", schema="Releases", access="public")
            ),
            f"{one}/releases/{{number}}": _on(
                [_SURVEY, number],
                get=_unless_known("One release.", kind="application/vnd.apache.parquet"),
            ),
            f"{one}/releases/{{number}}/page": _on([_SURVEY, number], get=_moved("Where its page is.", "308")),
            "/surveys/{survey}/{number}.parquet": _on(
                [_SURVEY, number],
                get=_unless_known("The same release, beside its page.", kind="application/vnd.apache.parquet"),
            ),
            "/surveys/{survey}/{number}": _on([_SURVEY, number], get=_for_people("The page of one release.")),
            "/surveys/{survey}/page": _on(
                [_SURVEY],
                get=_for_people("The page of the newest release.", "404"),
                post=_moved("Open the pages of a survey in this browser.", "303") | {"requestBody": _TOKEN_FORM},
            ),
            "/v1/key": {"get": _done("The public key of signed releases.", schema="Key", access=None)},
            f"{one}/state": _on([_SURVEY], get=_done("Sums for the operator.", access="admin")),
            f"{one}/close": _on(
                [_SURVEY, _query("until")],
                post=_done("Close periods that are over, and publish.", schema="Closed", access="admin"),
            ),
        },
        "components": {
            "schemas": _SCHEMAS,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
        },
    }


def _query(name: str, *, many: bool = False) -> dict[str, Any]:
    return {"name": name, "in": "query", "schema": {"type": "array", "items": _TEXT} if many else _TEXT}


def _takes(schema: str) -> dict[str, Any]:
    """A request whose body is one JSON object."""
    content = {"application/json": {"schema": {"$ref": f"#/components/schemas/{schema}"}}}
    return {"requestBody": {"required": True, "content": content}}


def _on(parameters: list[dict[str, Any]], **methods: dict[str, Any]) -> dict[str, Any]:
    return {"parameters": parameters, **methods}


def _done(
    summary: str, *, kind: str = "application/json", schema: str | None = None, access: str | None = "token"
) -> dict[str, Any]:
    """An operation that answers with 200, or with a problem."""
    content: dict[str, Any] = {"schema": {"$ref": f"#/components/schemas/{schema}"}} if schema else {}
    statuses = sorted({int(status) for status in STATUS.values()})
    return {
        "summary": summary,
        "responses": {"200": {"description": "Done.", "content": {kind: content}}}
        | {str(status): _PROBLEM for status in statuses},
        "security": _SECURITY.get(access, [{"token": []}]),
    }


def _unless_known(summary: str, *, kind: str = "text/html") -> dict[str, Any]:
    """An operation that sends a file which never changes, unless the asker has it."""
    found = _done(summary, kind=kind, access="public")
    return found | {"responses": found["responses"] | {"304": {"description": "What you have is what there is."}}}


def _for_people(summary: str, *more: str) -> dict[str, Any]:
    """A page; where it needs a token, or there is none yet, people are told so in words."""
    return _told_people(_unless_known(summary), "401", "403", *more)


def _moved(summary: str, status: str) -> dict[str, Any]:
    """An operation that answers with another address."""
    found = _told_people(_done(summary, access="public"), "401", "403")
    others = {code: answer for code, answer in found["responses"].items() if code != "200"}
    return found | {"responses": others | {status: {"description": "There."}}}


def _told_people(found: dict[str, Any], *statuses: str) -> dict[str, Any]:
    told = {**_PROBLEM, "content": {**_PROBLEM["content"], "text/html": {}}}
    return found | {"responses": found["responses"] | dict.fromkeys(statuses, told)}
