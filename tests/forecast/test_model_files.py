"""A model file holds what was learned and nothing that could run; damaged and newer ones are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from small_series import noisy_series, small_series
from tacit._base.fields import checksum_of
from tacit.errors import FormatError, PlanMismatch, SettingError
from tacit.forecast.baselines import SeasonalNaive, WeekdayMean
from tacit.forecast.model_files import FORMAT, SavedModel
from tacit.forecast.share_forecaster import ShareForecaster


def saved(path, forecaster=None, n_days=400):
    series = noisy_series(n_days=n_days)
    model = SavedModel((forecaster or WeekdayMean()).fit(series), series, plan="plan", about={"country": "FR"})
    model.write(path)
    return series


@pytest.mark.parametrize("forecaster", [WeekdayMean(years=1), SeasonalNaive(), ShareForecaster()])
def test_what_was_saved_says_the_same(tmp_path, forecaster):
    series = saved(tmp_path / "a.tacit", forecaster, n_days=120)
    loaded = SavedModel.read(tmp_path / "a.tacit")
    assert loaded.forecaster.get_params() == forecaster.get_params()
    assert (loaded.plan, loaded.about, loaded.series.columns) == ("plan", {"country": "FR"}, series.columns)
    mine, theirs = forecaster.predict(7), loaded.forecaster.predict(7)
    assert np.array_equal(mine.counts.means, theirs.counts.means)
    assert np.array_equal(mine.total_sum.variances, theirs.total_sum.variances)


def test_learning_twice_gives_the_same_bytes(tmp_path):
    for name in "ab":
        saved(tmp_path / f"{name}.tacit", ShareForecaster(), n_days=120)
    assert (tmp_path / "a.tacit").read_bytes() == (tmp_path / "b.tacit").read_bytes()


def test_newer_bins_are_taken_in_without_learning_anew(tmp_path):
    series = saved(tmp_path / "a.tacit", SeasonalNaive())
    model = SavedModel.read(tmp_path / "a.tacit")
    longer = noisy_series(n_days=407)
    assert model.n_newer(series, plan="plan") == 0
    assert model.n_newer(longer, plan="plan") == 7
    made = model.forecaster.updated(longer).predict(7)
    assert made.domain.time.label(0) == "2017-02-11"
    rolled = model.forecaster.predict_from(longer, np.array([407]), 7)
    assert made.counts.means == pytest.approx(rolled.counts.means[0], rel=0.05)
    assert not np.allclose(made.counts.means, model.forecaster.predict(7).counts.means, rtol=0.05)


@pytest.mark.parametrize("change", ["plan", "places", "axis"])
def test_a_series_of_another_plan_is_refused(tmp_path, change):
    saved(tmp_path / "a.tacit")
    model = SavedModel.read(tmp_path / "a.tacit")
    other = noisy_series(n_days=400)
    if change == "places":
        other = noisy_series(counts=np.ones((400, 2), np.int64))
    if change == "axis":
        other = noisy_series(n_days=400)
        object.__setattr__(other.domain.time, "zone", "UTC")
    with pytest.raises(PlanMismatch):
        model.n_newer(other, plan="another" if change == "plan" else "plan")


def test_a_series_that_ends_before_is_refused(tmp_path):
    saved(tmp_path / "a.tacit")
    with pytest.raises(SettingError, match="ends 10 periods earlier"):
        SavedModel.read(tmp_path / "a.tacit").n_newer(noisy_series(n_days=390), plan="plan")


def test_a_file_that_is_not_there_is_a_sentence(tmp_path):
    with pytest.raises(FormatError, match="there is no model"):
        SavedModel.read(tmp_path / "none.tacit")


def test_every_damage_is_refused(tmp_path):
    saved(tmp_path / "a.tacit")
    whole = (tmp_path / "a.tacit").read_bytes()
    draws = np.random.default_rng(3)
    damaged = [b"", b"{", whole[: len(whole) // 2], b"no document at all"]
    for _ in range(40):
        changed = bytearray(whole)
        changed[draws.integers(len(whole))] ^= 1 << draws.integers(8)
        damaged.append(bytes(changed))
    for number, content in enumerate(damaged):
        (tmp_path / "b.tacit").write_bytes(content)
        try:
            model = SavedModel.read(tmp_path / "b.tacit")
        except FormatError:
            continue
        # a bit that says nothing, such as one that turns a space into a tab
        assert json.loads(content) == json.loads(whole)
        assert number >= 4
        assert model.forecaster.predict(1).counts.means.shape == (1, 3)


def rewritten(path, **changes):
    content = json.loads(path.read_bytes()) | {name: part for name, part in changes.items() if name != "model"}
    content["model"] |= changes.get("model", {})
    path.write_text(json.dumps(content | {"checksum": checksum_of(content)}))


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"format": FORMAT + 1}, "newer Tacit"),
        ({"format": FORMAT - 1}, "older Tacit"),
        ({"kind": "release"}, "not a model"),
        ({"model": {"forecaster": "os.system"}}, "does not know"),
        ({"model": {"params": {"years": 1, "evil": 2}}}, "has no setting evil"),
        ({"model": {"learned": {}}}, "do not fit together"),
        ({"model": {"learned": [1, 2]}}, "do not fit together"),
    ],
)
def test_what_is_newer_or_does_not_fit_is_refused(tmp_path, changes, words):
    saved(tmp_path / "a.tacit")
    rewritten(tmp_path / "a.tacit", **changes)
    with pytest.raises(FormatError, match=words):
        SavedModel.read(tmp_path / "a.tacit")


def test_a_changed_model_does_not_agree_with_its_checksum(tmp_path):
    saved(tmp_path / "a.tacit")
    whole = (tmp_path / "a.tacit").read_bytes()
    (tmp_path / "a.tacit").write_bytes(whole.replace(b'"plan": "plan"', b'"plan": "plot"'))
    with pytest.raises(FormatError, match="checksum does not agree"):
        SavedModel.read(tmp_path / "a.tacit")


def test_an_array_of_objects_is_not_read(tmp_path):
    saved(tmp_path / "a.tacit")
    content = json.loads((tmp_path / "a.tacit").read_bytes())
    learned = content["model"]["learned"]
    learned["means"]["array"]["type"] = "|O"
    rewritten(tmp_path / "a.tacit", model={"learned": learned})
    with pytest.raises(FormatError, match="damaged"):
        SavedModel.read(tmp_path / "a.tacit")


def test_places_may_be_named_as_the_file_names_arrays(tmp_path):
    prior = {"north": 1.0, "south": 1.0, "array": 2.0}
    series = noisy_series(n_days=120)
    SavedModel(ShareForecaster().fit(series), series, about={"prior": prior}).write(tmp_path / "a.tacit")
    assert SavedModel.read(tmp_path / "a.tacit").about == {"prior": prior}


def test_an_exact_series_is_saved_too(tmp_path):
    series = small_series(n_days=100)
    SavedModel(WeekdayMean().fit(series), series).write(tmp_path / "a.tacit")
    assert SavedModel.read(tmp_path / "a.tacit").n_newer(series) == 0
