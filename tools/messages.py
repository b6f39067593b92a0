"""Write the catalog of a language again: every sentence that pages and statements say, with the translations it has.

    python tools/messages.py

Sentences that are new stand at their place with an empty translation, and those that nothing says any more are gone.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator
from pathlib import Path

from jinja2 import Environment

from tacit._base.languages import LANGUAGES, read_catalog
from tacit.pages.embedding import sentences_of

SOURCE = Path(__file__).parents[1] / "src" / "tacit"
CATALOGS = SOURCE / "_base" / "catalogs"
HEAD = """msgid ""
msgstr ""
"Language: {language}\\n"
"Content-Type: text/plain; charset=UTF-8\\n"
"Plural-Forms: nplurals=2; plural=(n > 1);\\n"
"""

Message = tuple[str, tuple[str, ...]]
"""Where a message comes from, empty but for sentences of files; and its form, or its two."""


_SPEAKS = re.compile(r"\b(n?gettext|message|stored)[(,]")
"""A call of what marks a message, or ``partial`` of it; to be found in every module that has one."""


def of_python(text: str) -> Iterator[Message]:
    """Return the messages of calls in a module: ``gettext("…")``, ``message("…")``, ``partial(ngettext, "…", "…")``."""
    if not _SPEAKS.search(text):  # to parse all modules takes seconds
        return
    calls = [node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Call)]
    for node in sorted(calls, key=lambda node: (node.lineno, node.col_offset)):
        if not isinstance(node.func, ast.Name):
            continue
        name, values = node.func.id, node.args
        if name == "partial" and values and isinstance(values[0], ast.Name):
            name, values = values[0].id, values[1:]
        wanted = {"gettext": 1, "message": 1, "stored": 1, "ngettext": 2}.get(name, 0)
        forms = tuple(
            value.value for value in values[:wanted] if isinstance(value, ast.Constant) and isinstance(value.value, str)
        )
        if wanted and len(forms) == wanted:
            yield ("file" if name == "stored" else ""), forms


def of_template(text: str) -> Iterator[Message]:
    """Return the messages of a template: ``{% trans %}`` and ``_("…")``."""
    environment = Environment(extensions=["jinja2.ext.i18n"], trim_blocks=True, lstrip_blocks=True)
    for _, _, found in environment.extract_translations(text, ("_", "gettext", "ngettext")):  # type: ignore[attr-defined]
        forms = found if isinstance(found, tuple) else (found,)
        yield "", tuple(form for form in forms if isinstance(form, str))


def messages() -> dict[str, list[Message]]:
    """Return the messages of every file that has some, each where it is first met; by the file's path."""
    found: dict[str, list[Message]] = {}
    seen: set[tuple[str, str]] = set()
    readers = {
        ".py": of_python,
        ".html": of_template,
        ".js": lambda text: (("", forms) for forms in sentences_of(text)),
    }
    for path in sorted(SOURCE.rglob("*")):
        if path.suffix not in readers or "__pycache__" in path.parts:
            continue
        for context, forms in readers[path.suffix](path.read_text(encoding="utf-8")):
            if forms and (context, forms[0]) not in seen:
                seen.add((context, forms[0]))
                found.setdefault(path.relative_to(SOURCE).as_posix(), []).append((context, forms))
    return found


def entry(context: str, forms: tuple[str, ...], translations: tuple[str, ...]) -> str:
    """Return one message as a PO file has it."""
    lines = [f"msgctxt {quoted(context)}"] if context else []
    lines.append(f"msgid {quoted(forms[0])}")
    if len(forms) == 1:
        return "\n".join([*lines, f"msgstr {quoted((*translations, '')[0])}"])
    lines.append(f"msgid_plural {quoted(forms[1])}")
    one, many = (*translations, "", "")[:2]
    return "\n".join([*lines, f"msgstr[0] {quoted(one)}", f"msgstr[1] {quoted(many)}"])


def quoted(text: str) -> str:
    """Return a text as PO files quote it."""
    return json.dumps(text, ensure_ascii=False)


def main() -> None:
    """Write every catalog again."""
    for language in LANGUAGES[1:]:
        path = CATALOGS / f"{language}.po"
        known = read_catalog(path.read_text(encoding="utf-8")) if path.exists() else {}
        parts = [HEAD.format(language=language)]
        for source, found in messages().items():
            entries = [entry(c, forms, known.get((f"{c}\x04" if c else "") + forms[0], ())) for c, forms in found]
            parts.append(f"# {source}\n" + "\n\n".join(entries) + "\n")
        path.write_text("\n".join(parts), encoding="utf-8")
        missing = sum(not all(forms) for forms in read_catalog(path.read_text(encoding="utf-8")).values())
        print(f"{path.name}: {missing} without a translation")


if __name__ == "__main__":
    main()
