"""How a person opens a page that needs the token to read: a form asks for it once, and the browser keeps it.

The token comes in the body of a request and stays in a cookie that no script reads. It is never part of an address, so
neither logs nor histories nor links have it. The cookie belongs to the pages of one survey, and is gone when the
browser is closed; it opens what the token opens, and no longer than that.
"""

from __future__ import annotations

import base64
import hashlib
from typing import Final
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import Response

from tacit._base.languages import message
from tacit.service.wording import page_of

COOKIE: Final = "tacit-read"
_AT_HOME: Final = ("localhost", "127.0.0.1", "::1")  # where browsers keep no cookie for TLS alone, as there is none
_STYLE: Final = (
    "body{font:1rem/1.5 system-ui,sans-serif;max-width:30rem;margin:3rem auto;padding:0 1rem}"
    "input,button{font:inherit;padding:.5rem;box-sizing:border-box;width:100%;margin:.25rem 0}"
)
ASKED: Final = message("This survey's pages are not public.")
WRONG: Final = message("This token does not open this survey's pages, or was taken back.")


def wants_page(request: Request) -> bool:
    """Return whether a person asks, with a browser, and not a program."""
    return "text/html" in request.headers.get("accept", "")


def form(said: str, status: int, language: str) -> Response:
    """Return the page that asks for the token, in a language; ``said`` is a sentence of the catalogs."""
    digest = base64.b64encode(hashlib.sha256(_STYLE.encode()).digest()).decode()
    policy = f"default-src 'none'; style-src 'sha256-{digest}'; form-action 'self'; base-uri 'none'"
    headers = {
        "Content-Security-Policy": f"{policy}; frame-ancestors 'none'",
        "Referrer-Policy": "no-referrer",
        "Cache-Control": "no-store",
        "WWW-Authenticate": "Bearer",
    }
    return Response(page_of("token.html", language, style=_STYLE, said=said), status, headers, "text/html")


def token_in(body: bytes) -> str:
    """Return the token of a form that was sent, or nothing: what a cookie cannot hold is no token."""
    token = parse_qs(body.decode("ascii", "replace")).get("token", [""])[0].strip()
    return token if token.isascii() and token.isprintable() else ""


def opened(request: Request, token: str) -> Response:
    """Return the way to the page, with a cookie that opens it.

    Its path is left out: the browser takes the folder of this address, also behind a proxy that adds to it.
    """
    answer = Response(status_code=303, headers={"Location": "page", "Cache-Control": "no-store"})
    is_secure = request.url.hostname not in _AT_HOME
    answer.set_cookie(COOKIE, token, path=None, httponly=True, samesite="lax", secure=is_secure)
    return answer
