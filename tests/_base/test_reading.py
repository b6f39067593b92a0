"""What is read from files of strangers is bounded before it is computed with."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tacit._base.reading import MOST_DIGITS, exact_fraction


@pytest.mark.parametrize("form", ["{}", "1/{}", "{}/7"])
def test_a_fraction_of_more_digits_than_the_limit_is_refused(form):
    longest = "9" * MOST_DIGITS
    assert exact_fraction(form.format(longest)) == Fraction(form.format(longest))
    with pytest.raises(ValueError, match="no fraction"):
        exact_fraction(form.format(longest + "9"))


@pytest.mark.parametrize("text", ["1e400000000", "1.5", "-1", "+1", " 1", "1/2/3", "", "/", "²", "1_000"])
def test_only_plain_digits_are_a_fraction(text):
    with pytest.raises(ValueError, match="no fraction"):
        exact_fraction(text)
