"""Adding tallies is a distribution; exact counts stay where they are."""

from __future__ import annotations

import copy
import json
import pickle

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from tacit.counts.provenance import Provenance
from tacit.counts.tally import ExactTally, Tally
from tacit.errors import FormatError, PlanMismatch, SettingError


@st.composite
def tallies(draw):
    n_bins = draw(st.integers(0, 4))
    statistics = draw(arrays(np.int64, (n_bins, 3), elements=st.integers(0, 1000)))
    more = draw(arrays(np.int64, n_bins, elements=st.integers(0, 1000)))
    return Tally(
        Provenance.of_reports("plan", draw(st.booleans()), draw(st.sampled_from([0.0, 1.5, 2.0]))),
        statistics,
        statistics.max(axis=1, initial=0) + more,  # no cell is supported by more reports than there are
    )


@given(tallies(), tallies(), tallies())
def test_adding_is_associative_and_commutative_and_has_a_zero(a, b, c):
    assert (a + b) + c == a + (b + c)
    assert a + b == b + a
    assert a + Tally.zero("plan", 3) == a


@given(tallies(), tallies())
def test_adding_changes_neither_side_and_keeps_every_report(a, b):
    before = (a.statistics.copy(), b.statistics.copy())
    total = a + b
    np.testing.assert_array_equal(before[0], a.statistics)
    np.testing.assert_array_equal(before[1], b.statistics)
    assert total.n_reports == a.n_reports + b.n_reports
    assert total.statistics.sum() == a.statistics.sum() + b.statistics.sum()


@given(tallies(), tallies())
def test_one_simulated_part_makes_the_whole_a_simulation(a, b):
    total = (a + b).provenance
    assert total.is_simulation == (a.provenance.is_simulation or b.provenance.is_simulation)
    assert total.prior_epsilon == max(a.provenance.prior_epsilon, b.provenance.prior_epsilon)


def test_tallies_of_different_plans_do_not_add():
    with pytest.raises(PlanMismatch, match="estimate each on its own"):
        Tally.zero("one", 3) + Tally.zero("other", 3)


def test_a_tally_adds_to_tallies_only():
    with pytest.raises(TypeError):
        Tally.zero("plan", 3) + 1


def test_a_tally_cannot_be_changed():
    tally = Tally(Provenance("plan"), np.zeros((1, 2), np.int64), np.zeros(1, np.int64))
    with pytest.raises(ValueError, match="read-only"):
        tally.statistics[0, 0] = 1


def test_rows_and_reports_must_agree():
    with pytest.raises(SettingError):
        Tally(Provenance("plan"), np.zeros((2, 2), np.int64), np.zeros(1, np.int64))


@given(tally=tallies())
def test_a_written_tally_reads_back_the_same(tally, tmp_path_factory):
    path = tmp_path_factory.mktemp("tally") / "a.tally"
    tally.write(path)
    assert Tally.read(path) == tally


@pytest.mark.parametrize("content", [b"", b"PK not a zip", b"\x93NUMPY"])
def test_a_damaged_tally_is_refused(tmp_path, content):
    path = tmp_path / "a.tally"
    path.write_bytes(content)
    with pytest.raises(FormatError, match="tally_reports"):
        Tally.read(path)


def test_a_cut_tally_is_refused(tmp_path):
    path = tmp_path / "a.tally"
    Tally(Provenance("plan"), np.ones((50, 17), np.int64), np.ones(50, np.int64)).write(path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(FormatError):
        Tally.read(path)


def test_a_missing_tally_is_refused(tmp_path):
    with pytest.raises(FormatError, match="no tally"):
        Tally.read(tmp_path / "none")


def test_exact_counts_show_no_value_and_have_no_file_form():
    exact = ExactTally(np.array([[123457, 2]]))
    assert "123457" not in repr(exact)
    assert "123457" not in str(exact)
    for leave in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(SettingError, match="no file form"):
            leave(exact)
    assert not hasattr(exact, "write")


def test_any_damage_to_a_tally_is_a_sentence(tmp_path):
    """One bit of every byte is turned: the file is refused by its name, or what is read of it is what was written.

    The archive repeats names and dates that nobody reads, and compression has bits that say nothing. Most bytes matter.
    """
    path = tmp_path / "a.tally"
    rng = np.random.default_rng(1)  # numbers that compression leaves as long as they are
    whole = Tally(Provenance("plan"), rng.integers(0, 1 << 40, (6, 5)), np.full(6, 1 << 40))
    whole.write(path)
    content, n_refused = path.read_bytes(), 0
    for at in range(len(content)):
        changed = bytearray(content)
        changed[at] ^= 1 << at % 8
        path.write_bytes(bytes(changed))
        try:
            read = Tally.read(path)
        except FormatError as refused:
            assert str(path) in str(refused)  # noqa: PT017
            n_refused += 1
        else:
            assert read.provenance == whole.provenance
            assert read.statistics.tolist() == whole.statistics.tolist()
            assert read.reports.tolist() == whole.reports.tolist()
    assert n_refused > len(content) / 2


@pytest.mark.parametrize("prior", [-1, float("nan"), float("inf"), 1e308])
def test_a_prior_epsilon_beyond_all_measure_is_refused(prior):
    with pytest.raises(SettingError, match="prior_epsilon"):
        Provenance.of_reports("plan", False, prior)


@pytest.mark.parametrize(
    ("field", "value"),
    [
        *(("is_simulation", value) for value in ("no", None, 0, [])),
        *(("plan", value) for value in (None, 7, True, ["a"], {"a": 1})),
        *(("prior_epsilon", value) for value in ("1", None, True, [])),
        ("fields_span_lines", "no"),
    ],
)
def test_a_field_of_a_label_that_is_of_another_type_is_refused_by_its_name(field, value):
    good = {"plan": "a", "is_simulation": False, "prior_epsilon": 0.0}
    with pytest.raises(FormatError, match=f"^{field} must be "):
        Provenance.from_dict(good | {field: value})


def written(path, statistics, reports, **header):
    """A tally file with anything in it, without a checksum, as earlier versions wrote them."""
    about = {"format": 1, "kind": "tally"} | Provenance("plan").to_dict() | header
    with path.open("wb") as file:
        np.savez_compressed(file, header=np.array(json.dumps(about)), statistics=statistics, reports=reports)
    return path


def test_a_tally_without_a_checksum_is_read(tmp_path):
    path = written(tmp_path / "a.tally", np.array([[1, 2]]), np.array([3]))
    assert Tally.read(path) == Tally(Provenance("plan"), np.array([[1, 2]]), np.array([3]))


@pytest.mark.parametrize(
    ("statistics", "reports"),
    [
        ([[1, 2]], [-3]),
        ([[1, -2]], [3]),
        ([[1, 4]], [3]),
        ([[1.0, 2.0]], [3.0]),
        ([[1, float("nan")]], [3]),
        ([[1, float("inf")]], [3]),
        ([[1j, 2]], [3]),
        ([[1, 2]], [1 << 63]),
        ([[1, 2]], [(1 << 53) + 1]),
        ([[1, 2], [1, 2]], [1 << 53, 1 << 53]),
        ([[True, False]], [3]),
        ([["1", "2"]], [3]),
        ([1, 2], [3, 3]),
        ([[1, 2]], [3, 3]),
        ([[1, 2]], 3),
    ],
)
def test_numbers_that_no_reports_give_are_refused(tmp_path, statistics, reports):
    path = written(tmp_path / "a.tally", np.array(statistics), np.array(reports))
    with pytest.raises(FormatError, match=r"a\.tally.*tally"):
        Tally.read(path)


@pytest.mark.parametrize("header", [{"plan": "other"}, {"is_simulation": True}, {"prior_epsilon": 1.0}])
def test_a_changed_label_does_not_agree_with_the_checksum(tmp_path, header):
    path = tmp_path / "a.tally"
    tally = Tally(Provenance("plan"), np.array([[1, 2]]), np.array([3]))
    tally.write(path)
    with np.load(path) as content:
        checksum = json.loads(str(content["header"]))["checksum"]
    with pytest.raises(FormatError, match="checksum does not agree"):
        Tally.read(written(path, tally.statistics, tally.reports, checksum=checksum, **header))


def test_tallies_that_together_hold_too_many_reports_do_not_add():
    many = Tally(Provenance("plan"), np.array([[0, 0]]), np.array([1 << 53]))
    with pytest.raises(SettingError, match="at most"):
        many + many
