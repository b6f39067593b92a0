"""Signed releases: every byte is covered, by the key that is named and no other."""

from __future__ import annotations

import json
import stat

import duckdb
import numpy as np
import polars as pl
import pyarrow.parquet as pq
import pytest

from small_worlds import simulated_estimate
from tacit.errors import FormatError, SettingError
from tacit.publication.publication import open_publication
from tacit.release import Release, SigningKey
from tacit.release.signing import _BLOCK_BYTES, _footer, public_key, signer_of

PLAN, ESTIMATE = simulated_estimate(np.random.default_rng(3).poisson(8, (12, 3)))


@pytest.fixture(scope="module")
def release():
    return Release.of(PLAN, ESTIMATE)


@pytest.fixture
def key(tmp_path):
    return SigningKey.create(tmp_path / "publisher.key")


@pytest.fixture
def other(tmp_path):
    return SigningKey.create(tmp_path / "other.key")


@pytest.fixture
def signed(release, key, tmp_path):
    path = tmp_path / "signed.parquet"
    release.write(path, sign_with=key)
    return path


def block_of(path):
    content = path.read_bytes()
    at = _footer(content)
    return content[: at - _BLOCK_BYTES], content[at - _BLOCK_BYTES : at], content[at:]


def test_a_key_is_private_and_its_public_key_stands_beside_it(key, tmp_path):
    private, public = tmp_path / "publisher.key", tmp_path / "publisher.pub"
    assert stat.S_IMODE(private.stat().st_mode) == 0o600
    assert public.read_text() == f"{key.public}\n"
    assert public_key(public) == public_key(key.public.upper()) == key.public
    assert SigningKey.read(private).public == key.public
    assert private.read_text().splitlines()[1] not in repr(key)
    with pytest.raises(SettingError, match="exists"):
        SigningKey.create(private)
    private.chmod(0o644)
    with pytest.raises(FormatError, match="chmod 600"):
        SigningKey.read(private)


def test_a_signed_release_reads_as_before_and_names_its_key(release, signed, key, tmp_path):
    found = Release.read(signed)
    assert found.signed_by == key.public
    assert found.checksum == release.checksum
    assert Release.read(signed, signed_by=key.public).signed_by == key.public
    assert Release.read(signed, signed_by=tmp_path / "publisher.pub").signed_by == key.public
    assert open_publication(signed, signed_by=key.public).release.signed_by == key.public
    release.write(tmp_path / "plain.parquet")
    assert Release.read(tmp_path / "plain.parquet").signed_by == ""
    head, _, tail = block_of(signed)
    assert head + tail == (tmp_path / "plain.parquet").read_bytes()


def test_what_is_made_of_a_signed_release_is_not_signed(signed):
    found = Release.read(signed)
    assert found.coarsen(time="month").signed_by == ""
    assert found.again(refine="raw").signed_by == ""


def test_programs_that_know_no_signatures_read_the_same_table(signed, tmp_path, release):
    release.write(tmp_path / "plain.parquet")
    for read in (pq.read_table, pl.read_parquet, lambda path: duckdb.read_parquet(str(path)).fetchall()):
        one, two = read(signed), read(tmp_path / "plain.parquet")
        assert one == two if isinstance(one, list) else one.equals(two)


@pytest.mark.false_failure(0)
def test_a_changed_byte_anywhere_is_refused(signed, seed, tmp_path):
    content = bytearray(signed.read_bytes())
    rng = np.random.default_rng(seed)
    at = _footer(bytes(content))
    inside = range(at - _BLOCK_BYTES + 8, at)  # of the block all but its first letters
    places = {*rng.integers(0, len(content), 100).tolist(), *inside, 0, 4, at - _BLOCK_BYTES - 1, at, len(content) - 1}
    path = tmp_path / "changed.parquet"
    for place in places:
        content[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(content)
        with pytest.raises(FormatError):
            Release.read(path, signed_by=signer_of(signed))
        content[place] = signed.read_bytes()[place]


def test_a_changed_byte_that_the_checksum_does_not_cover_is_refused_for_its_signature(signed, tmp_path):
    """The statement in plain words stands beside the table for people; only the signature covers it."""
    content = signed.read_bytes()
    words = b"simulation"
    assert words in content
    path = tmp_path / "changed.parquet"
    path.write_bytes(content.replace(words, b"sImulation"))
    with pytest.raises(FormatError, match="signature does not hold"):
        Release.read(path)


def test_a_signature_of_another_release_is_refused(signed, release, key, tmp_path):
    path = tmp_path / "swapped.parquet"
    Release.of(PLAN, ESTIMATE, refine="raw").write(path, sign_with=key)
    head, _, tail = block_of(path)
    path.write_bytes(head + block_of(signed)[1] + tail)
    with pytest.raises(FormatError, match="signature does not hold"):
        Release.read(path)


def test_a_signature_that_was_taken_away_is_missed_where_it_is_demanded(signed, key):
    head, _, tail = block_of(signed)
    signed.write_bytes(head + tail)
    assert Release.read(signed).signed_by == ""
    with pytest.raises(FormatError, match="not signed"):
        Release.read(signed, signed_by=key.public)


def test_another_key_is_refused_also_around_the_right_signature(release, key, other, signed, tmp_path):
    path = tmp_path / "other.parquet"
    release.write(path, sign_with=other)
    with pytest.raises(FormatError, match="another key"):
        Release.read(path, signed_by=key.public)
    path.write_bytes(other.signed(signed.read_bytes()))  # signed twice: the outer one is looked at
    with pytest.raises(FormatError, match="another key"):
        Release.read(path, signed_by=key.public)
    head, block, tail = block_of(signed)
    named = block[:9] + bytes.fromhex(other.public) + block[41:]
    path.write_bytes(head + named + tail)
    with pytest.raises(FormatError, match="does not hold"):
        Release.read(path)


def test_a_newer_form_is_told_from_damage(signed):
    head, block, tail = block_of(signed)
    signed.write_bytes(head + block[:8] + b"\x02" + block[9:] + tail)
    with pytest.raises(FormatError, match="newer"):
        Release.read(signed)


def test_what_is_no_key_is_refused(tmp_path, signed):
    (tmp_path / "words").write_text("not a key")
    for given, words in ((tmp_path / "none", "there is no public key"), (tmp_path / "words", "not a public key")):
        with pytest.raises(FormatError, match=words):
            Release.read(signed, signed_by=given)
    for given in (tmp_path / "none", tmp_path / "words"):
        given.touch(mode=0o600)
        with pytest.raises(FormatError):
            SigningKey.read(given)


def test_tables_for_other_programs_are_not_signed(release, key, tmp_path):
    with pytest.raises(SettingError, match=r"only the \.parquet"):
        release.write(tmp_path / "a.csv", sign_with=key)
    assert not (tmp_path / "a.csv").exists()


def test_the_shell_makes_a_key_signs_and_demands(tacit, release, tmp_path):
    release.write(tmp_path / "r.parquet")
    made = tacit("key", "publisher.key")
    assert made.code == 0, made.err
    key = (tmp_path / "publisher.pub").read_text().strip()
    assert key in made.out
    ran = tacit("release", "r.parquet", "--out", "s.parquet", "--sign-with", "publisher.key")
    assert ran.code == 0, ran.err
    assert f"Signed with the key {key}" in ran.out
    for words in (("query",), ("page", "--out", "p.html"), ("forecast",)):
        ran = tacit(words[0], "s.parquet", *words[1:], "--signed-by", "publisher.pub")
        assert ran.code == 0, ran.err
        assert f"Signed with the key {key}" in ran.err
        refused = tacit(words[0], "r.parquet", *words[1:2], *(["q.html"] if words[1:] else []), "--signed-by", key)
        assert (refused.code, "not signed" in refused.err) == (FormatError.exit_code, True)
    assert json.loads(tacit("query", "s.parquet", "--json").out)["signed_by"] == key
    assert json.loads(tacit("query", "r.parquet", "--json").out)["signed_by"] is None
    refused = tacit("release", "r.parquet", "--out", "s.csv", "--sign-with", "publisher.key")
    assert refused.code == SettingError.exit_code
    assert "no private key" in tacit("release", "r.parquet", "--out", "t.parquet", "--sign-with", "none.key").err
    assert not (tmp_path / "t.parquet").exists()
