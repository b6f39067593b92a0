"""Pages that a collector serves: files that load their own parts, speak to this collector, and to nobody else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Final

from starlette.responses import Response

from tacit.service.refusals import Reason, Refused

POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
"""A page loads its own parts, speaks to its own collector, and is shown in no other page."""
_HEADERS: Final = {
    "Content-Security-Policy": POLICY,
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
_KINDS: Final = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".mjs": "text/javascript",
}


class Parts:
    """The files of a page, by name: those of a folder, and others under names of their own."""

    def __init__(self, folder: Path, names: Sequence[str], others: Mapping[str, Path] = MappingProxyType({})) -> None:
        self._files = {name: folder / name for name in names} | dict(others)

    def answer(self, name: str) -> Response:
        """Return a part; no other file can be asked for."""
        if name not in self._files:
            raise Refused(Reason.UNKNOWN, "there is nothing at this address.")
        path = self._files[name]
        return Response(path.read_bytes(), media_type=_KINDS[path.suffix], headers=_HEADERS)


def page_answer(page: str) -> Response:
    """Return a page that was filled in, which loads its parts as any other does."""
    return Response(page, media_type="text/html", headers=_HEADERS)
