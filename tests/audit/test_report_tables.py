"""Reports of any kind become tables in which no way to give a value away is lost."""

from __future__ import annotations

import math

import numpy as np
import pytest

from tacit.audit import audit_randomizer
from tacit.audit.plug_ins import ReportTables
from tacit.errors import SettingError
from tacit.randomness import SeededRandomness


def test_bytes_keep_their_length_even_if_they_end_in_zeros():
    table = ReportTables().of([b"a", b"a\0"])
    assert table.dtype == np.uint8
    assert table[:, 0].tolist() == [1, 2]


def test_words_of_bits_are_taken_apart_and_their_length_is_kept():
    tables = ReportTables()
    assert tables.of(["01", "110"]).tolist() == [["2", "2", "0", "1", ""], ["3", "3", "1", "1", "0"]]
    assert tables.of(["1"]).tolist() == [["1", "1", "1", "", ""]]


def test_fields_that_are_numbers_are_read_as_numbers_unless_they_name_something():
    assert ReportTables().of(["3;7", "5;7"]).dtype.kind == "U"
    table = ReportTables().of(["0.5 nan", "-inf 2"])
    assert table[0].tolist()[:3] == [7.0, 2.0, 0.5]
    assert math.isnan(table[0, 3])
    assert table[1, 2] == -math.inf


def test_anything_else_is_compared_by_how_it_is_written():
    for reports in ([{"a": 1}, None], [[1], [1, 2]], iter([(1, "x"), (2, "y")])):
        table = ReportTables().of(reports)
        assert len(table) == 2
        assert table[0].tolist() != table[1].tolist()


def test_reports_that_change_their_kind_are_refused():
    for first, then in ((np.zeros((2, 3)), np.zeros((2, 4))), ([b"a"], ["a"]), (np.zeros(2), ["a"])):
        tables = ReportTables()
        tables.of(first)
        with pytest.raises(SettingError, match="reports must all be"):
            tables.of(then)


def leaks(seed):
    rng = np.random.default_rng(seed)

    def random_bytes(values, n_bytes):
        return rng.integers(0, 256, (len(values), n_bytes), dtype=np.uint8)

    def one_bit_of_many(values):
        noise = random_bytes(values, 16)
        noise[:, 7] = noise[:, 7] & 0xFE | (values & 1).astype(np.uint8)
        return [row.tobytes() for row in noise]

    def one_pair(values):  # 3 and 11 are 2 apart, and 1 from every other
        share = 0.25 * np.exp(np.where(values == 3, 1.0, np.where(values == 11, -1.0, 0.0)))
        return (rng.random(len(values)) < share).astype(int)

    return {
        "no number": lambda values: np.where(values == 3, np.nan, rng.normal(size=len(values))),
        "infinity": lambda values: np.where(values == 3, np.inf, rng.normal(size=len(values))),
        "minus zero": lambda values: np.where(values == 3, -0.0, 0.0),
        "lengths of lists": lambda values: [[1] * (1 + value) for value in values.tolist()],
        "zeros at the end": lambda values: [b"a" + b"\0" * value for value in values.tolist()],
        "length of a random word": lambda values: [
            row.tobytes().hex() + "0" * (value == 16)
            for row, value in zip(random_bytes(values, 16), values.tolist(), strict=True)
        ],
        "one bit of many": one_bit_of_many,
        "a number in a line": lambda values: [f"{value + rng.laplace(0, 4):.9f}" for value in values.tolist()],
        "noise on every cell": lambda values: (np.arange(17) == values[:, None]) + rng.laplace(0, 1, (len(values), 17)),
        "nothing for one value": lambda values: [None if value == 5 else 1 for value in values.tolist()],
        "one pair alone": one_pair,
    }


@pytest.mark.false_failure(1e-6)
@pytest.mark.parametrize("name", leaks(0))
def test_every_way_to_give_values_away_is_found(name, seed):
    """The weakest have an epsilon of 2: a pair of 136, which takes more runs to find, and noise on every cell."""
    n_reports = 200_000 if name == "one pair alone" else 20_000
    audit = audit_randomizer(
        leaks(seed)[name], epsilon=1.0, values=17, n_reports=n_reports, randomness=SeededRandomness(seed)
    )
    assert audit.is_refuted
    assert audit.n_runs == n_reports
