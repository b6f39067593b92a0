"""Every sentence of pages and statements stands in the catalogs, in French as in English."""

from __future__ import annotations

import re
from pathlib import Path

import jinja2
import pytest
from jinja2 import nodes
from tools.messages import CATALOGS, SOURCE, messages

from tacit._base.languages import (
    figures,
    gettext,
    is_singular,
    ngettext,
    read_catalog,
    retold,
    speaking,
    spoken,
)
from tacit.errors import SettingError
from tacit.pages import make_page, make_statement_page
from tacit.pages.page import filled
from tacit.pages.words import ahead, counted, how_often, moment, number, period, plural, short_moment, span

TEMPLATES = SOURCE / "pages" / "templates"
FORM = SOURCE / "service" / "form"
CATALOG = read_catalog((CATALOGS / "fr.po").read_text(encoding="utf-8"))
SAID = {
    (f"{context}\x04" if context else "") + forms[0]: forms for found in messages().values() for context, forms in found
}
PLACEHOLDER = re.compile(r"%\((\w+)\)s")
# nouns that French may leave to the sentence, because it does not know their gender
NOUNS = {"step", "place", "places", "kind"}


def test_every_sentence_has_its_french_and_nothing_else_has():
    assert len(SAID) > 500
    assert [key for key in SAID if key not in CATALOG or not all(CATALOG[key])] == [], "run python tools/messages.py"
    assert [key for key in CATALOG if key not in SAID] == [], "run python tools/messages.py"


@pytest.mark.parametrize("key", [key for key, forms in SAID.items() if len(forms) == 2])
def test_plurals_have_two_forms_in_french(key):
    assert len(CATALOG[key]) == 2


def test_values_are_the_same_in_french():
    for key, forms in SAID.items():
        for own, english in zip(CATALOG[key], forms, strict=True):
            wanted, found = set(PLACEHOLDER.findall(english)), set(PLACEHOLDER.findall(own))
            assert found <= wanted, key
            assert wanted - found <= NOUNS, key
            assert PLACEHOLDER.sub("", own.replace("%%", "")).count("%") == 0, key


def test_tags_are_the_same_in_french():
    for key, forms in SAID.items():
        for own, english in zip(CATALOG[key], forms, strict=True):
            assert sorted(re.findall(r"<[^>]+>", own)) == sorted(re.findall(r"<[^>]+>", english)), key


def test_french_is_set_as_french_is():
    for key, forms in CATALOG.items():
        for form in forms:
            text = PLACEHOLDER.sub("x", re.sub(r"<[^>]+>", "", form))
            assert not re.search(r"[^\u00a0](?<!^)[:»]|[^\u202f](?<!^)[;?!]|«[^\u00a0]", text.replace("://", "")), key
            assert "'" not in text, key
            assert '"' not in text, key


NOUN = r"%\((?:events|places?|kinds?|steps?)\)s"
PARTICIPLE = r"(?!plus\b)\w{2,}(?:é|és|ée|ées|us|is|ises)\b"
AGREES = re.compile(
    rf"{NOUN}(?: sans \w+(?: \w+)?)?(?: sont| ont été)? {PARTICIPLE}|\b[Ss]ont {PARTICIPLE} [^.;]*{NOUN}"
    rf"|\b(?:[Dd]erniers|[Pp]remiers) {NOUN}"
)


def test_no_word_agrees_with_a_noun_whose_gender_nobody_knows():
    assert AGREES.search("%(events)s attendus %(when)s")
    assert AGREES.search("%(steps)s sans données ont été écartés")
    assert [form for forms in CATALOG.values() for form in forms if AGREES.search(form)] == []


def literal_html(path: Path) -> str:
    """What stands in a template outside of every expression, as one text."""
    environment = jinja2.Environment(extensions=["jinja2.ext.i18n"])
    tree = environment.parse(path.read_text(encoding="utf-8"))
    return "\u25a1".join(node.data for node in tree.find_all(nodes.TemplateData))


def plain_strings(path: Path) -> list[str]:
    """Strings of a template's expressions that read like words, but for those that are translated."""
    environment = jinja2.Environment(extensions=["jinja2.ext.i18n"])
    tree = environment.parse(path.read_text(encoding="utf-8"))
    said = {
        id(value)
        for call in tree.find_all(nodes.Call)
        if isinstance(call.node, nodes.Name) and call.node.name in ("_", "gettext", "ngettext")
        for value in call.args
    }
    found = [node for node in tree.find_all(nodes.Const) if isinstance(node.value, str) and id(node) not in said]
    return [node.value for node in found if re.search(r"[A-Za-z]{2,} [a-z]|^[A-Z][a-z]+$", node.value)]


TEMPLATE_PATHS = sorted([*TEMPLATES.glob("*.html"), *FORM.glob("*.html")])
SCRIPT_PATHS = [
    *(TEMPLATES / name for name in ("answers.js", "ask.js", "backtest.js", "figures.js", "forecast.js", "page.js")),
    FORM / "form.js",
]
# names of formats, measures and mechanisms, and the line above the text that binds
SAME_EVERYWHERE = {"CSV,", "RAPPOR", "MAE", "RMSE", "ε =", "The binding text, in English", "±"}


@pytest.mark.parametrize("path", TEMPLATE_PATHS, ids=lambda path: path.name)
def test_no_template_holds_words_of_its_own(path):
    html = re.sub(r"<(code|style|script)\b.*?</\1>", "", literal_html(path), flags=re.DOTALL)
    html = re.sub(r"<meta[^>]*>", "", html)
    labels = re.findall(r'(?:aria-label|placeholder|title|alt)="([^"]*)"', html)
    texts = re.sub(r"<[^<>]*>", "\u25a1", html).split("\u25a1")
    left = {text.strip() for text in [*texts, *labels]} - SAME_EVERYWHERE
    # the rest of a tag that an expression parts, and a class that one ends, are no words
    assert [text for text in left if re.search(r"[A-Za-z]{2,}", text) and "=" not in text and text[-1] != "-"] == []
    assert plain_strings(path) == []


@pytest.mark.parametrize("path", SCRIPT_PATHS, ids=lambda path: path.name)
def test_no_script_says_a_sentence_of_its_own(path):
    script = re.sub(r"(?<!:)//[^\n]*", "", path.read_text(encoding="utf-8"))
    script = re.sub(r'\bsay(?:Many)?\(\s*"(?:[^"\\]|\\.)*"(?:,\s*"(?:[^"\\]|\\.)*")?', "say(", script)
    found = re.findall(r'"([^"\\\n]*)"|`([^`\\\n]*)`', script)
    texts = [re.sub(r"\$\{[^}]*\}", "", text) for pair in found for text in pair]
    # a selector is no sentence, and the table that a page makes has its remarks in English, as all files have
    known = re.compile(r"use strict|[.\[#].*| *[;:?)].*")
    assert [t for t in texts if re.search(r"[A-Za-z]{2,} [a-z]{2,}", t) and not known.fullmatch(t)] == []


def test_none_and_one_are_singular_in_french_and_one_alone_in_english():
    rows = ("%(n)s row", "%(n)s rows")
    assert [ngettext(*rows, n, n=n) for n in (0, 1, 2)] == ["0 rows", "1 row", "2 rows"]
    with speaking("fr"):
        assert [ngettext(*rows, n, n=n) for n in (0, 1, 2)] == ["0 ligne", "1 ligne", "2 lignes"]
        assert [counted(n, "jour") for n in (0, 1, 2)] == ["0 jour", "1 jour", "2 jours"]
        assert is_singular(0)
        assert not is_singular(2)
    assert not is_singular(0)


def test_numbers_days_and_shares_are_written_as_in_french():
    with speaking("fr"):
        assert number(-1234567.8) == "−1\u202f234\u202f568"
        assert figures("12.5%") == "12,5\u00a0%"
        assert period("2026-11-17") == "17 novembre 2026"
        assert period("2026-W03") == "semaine 3 de 2026"
        assert moment("2019-01-01") == "mardi 1er janvier 2019"
        assert short_moment("2019-02-05") == "mar. 5 févr."
        assert span("2006-01-01", "2018-12-31") == "de 2006 à 2018"
        assert span("2018-03-05", "2018-03-30") == "du 5 mars 2018 au 30 mars 2018"
        assert ahead(1, "week") == "la prochaine semaine"
        assert ahead(7, "day") == "les 7 prochains jours"
        assert how_often(0.95) == "19 fois sur 20"
        assert [plural(noun) for noun in ("commune", "mois", "lieu", "période de 6 heures")] == [
            "communes",
            "mois",
            "lieux",
            "périodes de 6 heures",
        ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("Ornans", "d’Ornans"),
        ("Évillers", "d’Évillers"),
        ("Hérimoncourt", "d’Hérimoncourt"),
        ("Yverdon", "d’Yverdon"),
        ("Besançon", "de Besançon"),
        ("Houtaud", "de Houtaud"),
        ("Yaoundé", "de Yaoundé"),
        ("11", "de 11"),
    ],
)
def test_french_elides_before_names_that_begin_with_a_vowel_or_a_mute_h(name, said):
    largest = (
        "%(place)s has the largest estimate, but %(n)s other interval overlaps its own.",
        "%(place)s has the largest estimate, but %(n)s other intervals overlap its own.",
    )
    with speaking("fr"):
        for n in (1, 2):
            assert f" est celle {said}, mais " in ngettext(*largest, n, n=n, place=name)
        assert gettext("%(first)s to %(last)s", first=name, last="x") == f"{said} à x"
    assert gettext("%(first)s to %(last)s", first=name, last="x") == f"{name} to x"


def test_templates_elide_as_sentences_of_python_do_and_escape_what_they_are_given():
    asked = "{% trans %}{{ first }} to {{ last }}{% endtrans %}"
    with speaking("fr"):
        assert span("2018-04", "2018-06") == "d’avril 2018 à juin 2018"
        assert filled(asked, {"first": "avril", "last": "<b>"}) == "d’avril à &lt;b&gt;"
    assert filled(asked, {"first": "<i>", "last": "x"}) == "&lt;i&gt; to x"


def test_sentences_of_files_are_told_again_with_their_values():
    ended = "3 of 9 public bins not within 0.01 of its largest log-likelihood after 7 rounds"
    step = f"maximum likelihood of the reports ({ended})"
    assert retold(step) == step
    with speaking("fr"):
        assert retold(step).startswith("maximum de vraisemblance des rapports (3 cellules publiques sur 9")
        assert retold("relative error > 0.5") == "erreur relative > 0,5"
        assert retold("a step of my own") == "a step of my own"


def test_a_language_ends_with_its_page_and_an_unknown_one_is_refused(release, tmp_path):
    make_statement_page(release, tmp_path / "statement.html", language="fr")
    assert spoken() == "en"
    with pytest.raises(SettingError, match="language must be one of en, fr; got language=de"):
        make_page(release, tmp_path / "page.html", language="de")
    assert not (tmp_path / "page.html").exists()


def test_the_french_statement_says_that_the_english_one_binds_and_holds_it(release, read, tmp_path):
    document = read(make_statement_page(release, tmp_path / "statement.html", language="fr"))
    assert document.all("html")[0].attributes["lang"] == "fr"
    section = next(e for e in document.all("section") if e.attributes["aria-labelledby"] == "statement-title")
    first = next(e for e in section.walk() if e.tag in ("p", "dl"))
    assert first.text.startswith("Seul le texte anglais de cette déclaration fait foi.")
    french, english = section.all("dl")
    binding = section.all("details")[0]
    assert binding.attributes["lang"] == "en"
    assert english in binding.walk()
    said = [(e.all("dt")[0].text, e.all("dd")[0].text) for e in english.all("div")]
    assert said == [(heading, " ".join(text.split())) for heading, text in release.statement.paragraphs()]
    assert len(french.all("dt")) == len(said)
    assert "confidentialité" in french.text


def test_files_keep_the_english_text_whoever_writes_them(release):
    with speaking("fr"):
        assert gettext("What is protected") == "Ce qui est protégé"
        assert release.statement.paragraphs()[0][0] == "Ce qui est protégé"
        assert release.statement.to_dict()["text"].startswith("What is protected: The place of every single event.")


def test_words_of_the_user_stay_as_they_are(release, read, tmp_path):
    page = make_page(release, tmp_path / "page.html", language="fr", noun="sortie/sorties", title="Sorties du SDIS")
    text = read(page).text
    assert "Sorties par région et par jour" in text
    assert "CC du Val de Morteau" in text
    assert "événements au total" not in text


def test_the_catalog_is_shipped_beside_the_package():
    assert (Path(CATALOGS) / "fr.po").is_relative_to(SOURCE)
