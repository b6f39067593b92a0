"""Links lead somewhere, named files exist, citations are in the bibliography, and the bibliography is cited."""

from __future__ import annotations

import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BIBLIOGRAPHY = ROOT / "docs" / "references.bib"
IMAGES = ROOT / "docs" / "images"
NOT_OURS = {"demo", "out", "build", "dist", "node_modules"}
DOCUMENTS = sorted(
    path
    for path in ROOT.rglob("*.md")
    if not any(part in NOT_OURS or part.startswith(".") for part in path.relative_to(ROOT).parts)
)
LARGEST_IMAGE_BYTES = 400_000

KEY = r"[A-Z][A-Za-z]+(?:18|19|20)\d\d[a-z]?"
REQUIRED_FIELDS = {
    "article": {"author", "title", "journal", "volume", "year"},
    "inproceedings": {"author", "title", "booktitle", "pages", "year"},
    "book": {"author", "title", "publisher", "year"},
    "misc": {"author", "title", "howpublished", "year"},
}


def without_code(text: str) -> str:
    """A document without fenced blocks and code spans, whose brackets are no links."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    return re.sub(r"`[^`\n]*`", "code", text)


def links_of(text: str) -> Iterator[str]:
    """The targets of links and images that are not on the web."""
    for target in re.findall(r"\]\(([^()\s]+)\)|(?:src|href)=\"([^\"]+)\"", without_code(text)):
        link = target[0] or target[1]
        if not re.match(r"[a-z]+:", link):
            yield link


def anchors_of(text: str) -> set[str]:
    """The anchors that GitHub gives the headings of a document."""
    headings = re.findall(r"^#+ (.+)$", without_code(text), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


def broken_links(text: str, folder: Path) -> list[str]:
    """The links of a document in this folder that lead nowhere."""
    return [link for link in links_of(text) if not _resolves(link, text, folder)]


def _resolves(link: str, text: str, folder: Path) -> bool:
    path, _, anchor = link.partition("#")
    if path and not (folder / path).exists():
        return False
    target = (folder / path).read_text(encoding="utf-8") if path and anchor else text
    return not anchor or anchor in anchors_of(target)


def entries() -> dict[str, tuple[str, set[str]]]:
    """The kind and the fields of every entry of the bibliography, by key."""
    found = re.findall(
        r"^@(\w+)\{(\w+),\n(.*?)^\}$", BIBLIOGRAPHY.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL
    )
    return {key: (kind, set(re.findall(r"^  (\w+)\s+=", body, re.MULTILINE))) for kind, key, body in found}


def cited_in_documents() -> set[str]:
    return {key for path in DOCUMENTS for key in re.findall(rf"\[@({KEY})\]", path.read_text(encoding="utf-8"))}


def cited_in_code() -> set[str]:
    paths = (ROOT / "src").rglob("*.py")
    return {key for path in paths for key in re.findall(rf"\b{KEY}\b", path.read_text(encoding="utf-8"))}


def modules_of(text: str) -> set[str]:
    """The files of Python that a document names in code spans."""
    return set(re.findall(r"`((?:\w+/)*\w+\.py)`", text))


def test_every_file_of_python_that_is_named_exists():
    files = {"/" + path.relative_to(ROOT).as_posix() for path in ROOT.rglob("*.py") if ".venv" not in path.parts}
    named = {name for document in DOCUMENTS for name in modules_of(document.read_text(encoding="utf-8"))}
    lost = {name for name in named if not any(file.endswith("/" + name) for file in files)}
    assert lost == set()
    assert len(named) > 50


@pytest.mark.parametrize("path", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_every_relative_link_resolves(path):
    text = path.read_text(encoding="utf-8")
    assert broken_links(text, path.parent) == []


def test_a_link_that_leads_nowhere_is_caught():
    text = (
        '# One\n[a](README.md) [b](nowhere.md) [c](#one) [d](#two) [e](README.md#no-such-heading) <img src="x.png">'
        "\n```\n[f](in-code.md)\n```\n[g](https://example.org/)"
    )
    assert broken_links(text, ROOT) == ["nowhere.md", "#two", "README.md#no-such-heading", "x.png"]


def test_every_citation_is_in_the_bibliography_and_the_reverse():
    assert cited_in_documents() | cited_in_code() == entries().keys()


def test_references_named_in_docstrings_are_found():
    assert {"Warner1965", "Erlingsson2014", "Wang2017", "Arcolezi2020"} <= cited_in_code()


def test_the_bibliography_is_complete_and_in_order():
    found = entries()
    assert list(found) == sorted(found)
    assert BIBLIOGRAPHY.read_text(encoding="utf-8").count("\n@") == len(found)
    for key, (kind, given) in found.items():
        assert REQUIRED_FIELDS[kind] <= given, key


def test_images_are_small_and_used():
    used = {Path(link).name for path in DOCUMENTS for link in links_of(path.read_text(encoding="utf-8"))}
    for path in IMAGES.iterdir():
        assert path.stat().st_size < LARGEST_IMAGE_BYTES
        assert path.name in used


def test_every_image_is_described():
    for path in DOCUMENTS:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"!\[\s*\]\(", text)
        assert all(len(alt) > 40 for alt in re.findall(r"<img [^>]*?alt=\"([^\"]*)\"", text))
        assert len(re.findall(r"<img ", text)) == len(re.findall(r"<img [^>]*?alt=\"", text))


def test_drawings_have_a_title_and_a_description():
    for path in IMAGES.glob("*.svg"):
        tags = [child.tag.rpartition("}")[2] for child in ET.parse(path).getroot()]
        assert {"title", "desc"} <= set(tags), path.name


def test_documents_name_no_folder_of_somebodys_computer():
    for path in (*DOCUMENTS, BIBLIOGRAPHY, ROOT / "CITATION.cff"):
        assert not re.search(r"(?<![\w.~])/(?:work|root|home|tmp|Users)/", path.read_text(encoding="utf-8")), path.name
