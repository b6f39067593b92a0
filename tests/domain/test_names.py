from __future__ import annotations

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tacit.domain.names import fold_code, fold_name, split_qualifier


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("Besançon", "besancon"),
        ("BESANCON", "besancon"),
        ("  Besançon\t", "besancon"),
        ("Besanc\u0327on", "besancon"),
        ("Saint-Vit", "saint vit"),
        ("St Vit", "saint vit"),
        ("ST-VIT", "saint vit"),
        ("St.Vit", "saint vit"),
        ("St. Vit", "saint vit"),
        ("Ste-Suzanne", "sainte suzanne"),
        ("STE. SUZANNE", "sainte suzanne"),
        ("Labergement-Sainte-Marie", "labergement sainte marie"),
        ("Labergement Ste Marie", "labergement sainte marie"),
        ("Stains", "stains"),
        ("L'Isle-sur-le-Doubs", "l isle sur le doubs"),
        ("L’Isle sur le Doubs", "l isle sur le doubs"),
        ("Isle-sur-le-Doubs (L')", "l isle sur le doubs"),
        ("RUSSEY (LE)", "le russey"),
        ("Le Russey", "le russey"),
        ("Mont‑d’Or", "mont d or"),
        ("Œuilly", "oeuilly"),
        ("OEUILLY", "oeuilly"),
        ("Étupes", "etupes"),
        ("Noël-Cerneux", "noel cerneux"),
        ("Aarhus Ø", "aarhus o"),
        ("Łódź", "lodz"),
        ("Straße", "strasse"),
        ("ﬁne", "fine"),
        ("İzmir", "izmir"),
        ("", ""),
        (" - ’ ", ""),
    ],
)
def test_names_fold_to_what_people_mean(written, folded):
    assert fold_name(written) == folded


@given(st.text())
@pytest.mark.slow
def test_folding_twice_changes_nothing(text):
    assert fold_name(fold_name(text)) == fold_name(text)


@given(st.text())
def test_composed_and_decomposed_letters_fold_alike(text):
    folded = {fold_name(unicodedata.normalize(form, text)) for form in ("NFC", "NFD", "NFKC", "NFKD")}
    assert len(folded) == 1


def test_articles_are_part_of_a_name():
    assert fold_name("Le Russey") != fold_name("Russey")


@pytest.mark.parametrize(
    ("code", "folded"), [("25056", "25056"), ("01001", "1001"), ("2A004", "2a004"), ("0", "0"), (" 25056 ", "25056")]
)
def test_codes_survive_a_spreadsheet(code, folded):
    assert fold_code(code) == folded


@pytest.mark.parametrize(
    ("name", "parts"),
    [("Foucherans (Jura)", ("Foucherans", "Jura")), ("Foucherans", None), ("(Jura)", None), ("A (B) C", None)],
)
def test_what_tells_namesakes_apart_stands_in_parentheses(name, parts):
    assert split_qualifier(name) == parts
