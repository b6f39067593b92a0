"""Data, scripts and tables that a page carries inside itself; none of them can break out of its place."""

from __future__ import annotations

import base64
import csv
import hashlib
import html
import io
import json
import re
import sys
from collections.abc import Iterable, Sequence
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any, Final

from tacit._base.extras import require
from tacit._base.files import harmless, write_whole
from tacit._base.languages import translated_by_number

# inside <script>, "<" could end the element or begin a comment that hides its end; the two separators end a line in
# older JavaScript
_IN_SCRIPT: Final = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026", "\u2028": "\\u2028", "\u2029": "\\u2029"}


def json_for_script(content: Any) -> str:
    """Return JSON that may stand inside a script element, whatever its strings hold.

    >>> print(json_for_script({"name": "</script><!--"}))
    {"name":"\\u003c/script\\u003e\\u003c!--"}
    """
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"), allow_nan=False)
    for character, escape in _IN_SCRIPT.items():
        text = text.replace(character, escape)
    return text


def csv_link(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Return a data: address that holds a CSV table and nothing else, so that every program reads it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows([harmless(cell) for cell in row] for row in rows)
    return "data:text/csv;charset=utf-8;base64," + base64.b64encode(out.getvalue().encode("utf-8-sig")).decode()


def resource(name: str) -> str:
    """Return a file that comes with the pages."""
    return resources.files("tacit.pages").joinpath("templates", name).read_text(encoding="utf-8")


_LONGEST_OWN: Final = 100_000  # characters of a script of ours: the chart library is far longer, and says nothing
_SAID: Final = re.compile(r"""\b(?:say|sayMany)\(\s*("(?:[^"\\]|\\.)*")(?:,\s*("(?:[^"\\]|\\.)*"))?""")
"""A call of ``say`` or ``sayMany`` in a script, with its sentence or the two forms of it."""


def sentences_of(script: str) -> list[tuple[str, ...]]:
    """Return the sentences that a script says: one, or one and many, of each call.

    >>> sentences_of('say("no data") + sayMany("%(n)s day", "%(n)s days", n, { n })')
    [('no data',), ('%(n)s day', '%(n)s days')]
    """
    return [tuple(json.loads(form) for form in found if form) for found in _SAID.findall(script)]


def messages_of(scripts: Iterable[str]) -> str:
    """Return the sentences of scripts in the language that is spoken, by their English, as JSON for the page."""
    found = {
        forms[0]: [translated_by_number(forms[0], forms[-1], number) for number in (1, 2)][: len(forms)]
        for script in scripts
        if len(script) < _LONGEST_OWN
        for forms in sentences_of(script)
    }
    return json_for_script(found)


@cache
def chart_library() -> str:
    """Return Vega, Vega-Lite and Vega-Embed in one script, with their licences.

    Making the script takes two seconds, so it is kept where Python keeps compiled modules, if that can be written.
    """
    bundler = require("vl_convert", extra="pages")
    kept = Path(__file__).with_name("__pycache__") / f"chart_library-{bundler.__version__}.js"
    try:
        library = kept.read_text(encoding="utf-8")
    except OSError:
        library = bundler.javascript_bundle("window.vegaEmbed = vegaEmbed;")
        if not sys.dont_write_bytecode:
            with suppress(OSError):
                write_whole(kept, library.encode())
    licences = resource("licences.txt")
    assert "*/" not in licences
    return f"/*\n{licences}*/\n" + library.replace("</script", "<\\/script").replace("<!--", "\\x3c!--")


_POLICY: Final = re.compile(r'<meta http-equiv="Content-Security-Policy" content="([^"]*)">')


def policy_of(page: str) -> str:
    """Return the content security policy that a page has, for a server that sends it along."""
    found = _POLICY.search(page)
    assert found is not None, "every page has a policy"
    return html.unescape(found[1])


def policy(scripts: Iterable[str]) -> str:
    """Return a content security policy: these scripts, no other, and no connection to anywhere.

    Vega interprets its expressions (``ast`` in figures.js), so nothing is compiled from text in the browser. Styles
    stand in attributes, hence unsafe-inline for them.
    """
    digests = [base64.b64encode(hashlib.sha256(script.encode()).digest()).decode() for script in scripts]
    allowed = " ".join(f"'sha256-{digest}'" for digest in digests) or "'none'"
    return (
        f"default-src 'none'; script-src {allowed}; style-src 'unsafe-inline'; img-src data:; "
        "base-uri 'none'; form-action 'none'"
    )
