"""Fitted forecasters as files: what was learned, of which release, in one archive without any code in it.

A model file is a zip archive: ``model.json`` says what it is, and arrays stand beside it as ``0.npy``, ``1.npy`` and
so on, NumPy's format without pickled objects. Nothing in it is run when it is read. The same release, settings and
seed give the same bytes.

``model.json`` has ``format``, ``kind`` (``"forecaster"``), ``plan`` (the fingerprint), ``release`` (the checksum),
``time``, ``places``, ``kinds`` where there are any, ``about`` (the calendar and the names of the tables it knew),
``model`` and ``checksum``, the SHA-256 of the rest of the document with its keys sorted, and of every array's file in
order. ``model`` has ``forecaster`` (its name), ``params`` and ``learned``; one forecaster within another has the same
three. In ``about`` and ``model`` a dictionary stands under ``dict``, and an array is named by its number under
``array``. Who reads a model finds time, places, kinds and release in the series that it learned from.
"""

from __future__ import annotations

import hashlib
import io
import json
import zipfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.fields import read_array, read_members, text, whole
from tacit._base.files import write_whole
from tacit._base.reading import parse_json, reading
from tacit.counts.count_distribution import LARGEST
from tacit.counts.series import Series
from tacit.errors import FormatError, PlanMismatch, Remedy, SettingError
from tacit.forecast.forecaster import FORECASTERS, Forecaster, forecaster_from_dict

FORMAT: Final = 6  # of this file; earlier ones are refused
_MANIFEST: Final = "model.json"
_EPOCH: Final = (1980, 1, 1, 0, 0, 0)  # the first time that zip knows: the same bytes whenever a file is written
_FAR: Final = 1e3
"""Standard deviations from the mean that any quantile asked for stays within."""
_TRIED: Final = 8
"""Periods that a model must be able to forecast to be taken for whole: one more than a week has days."""
_ARRAY: Final = "array"
_DICT: Final = "dict"


@dataclass(frozen=True, slots=True, eq=False)
class SavedModel:
    """A fitted forecaster, the series that it learned from, and the fingerprint of its plan.

    ``about`` is what else a later forecast must know, as plain data: the country of the holidays, say.
    """

    forecaster: Forecaster
    series: Series
    plan: str = ""
    about: Mapping[str, Any] = field(default_factory=dict)

    def n_newer(self, series: Series, *, plan: str = "") -> int:
        """Return how many bins a series has beyond those learned from; another plan, or an earlier end, is refused."""
        if plan != self.plan or series.columns != self.series.columns:
            raise PlanMismatch(
                "the model was learned from a release of another plan. Forecast a release of its own plan.",
                remedy=Remedy.FIT_AGAIN,
            )
        mine, other = self.series.domain.time, series.domain.time
        if mine.without_end() != other.without_end():
            raise PlanMismatch(
                "the model was learned from counts over another time axis. Forecast a release with the same periods.",
                remedy=Remedy.FIT_AGAIN,
            )
        newer = (other.n_bins or 0) - (mine.n_bins or 0)
        if newer < 0:
            raise SettingError(
                f"the release must reach as far as the model has seen; it ends {-newer} periods earlier.",
                remedy=Remedy.FIT_AGAIN,
            )
        return newer

    def write(self, path: str | Path) -> None:
        """Write the model; the file appears whole or not at all."""
        arrays: list[NDArray[Any]] = []
        domain = self.series.domain
        manifest = {
            "format": FORMAT,
            "kind": "forecaster",
            "plan": self.plan,
            "release": self.series.origin,
            "time": domain.time.to_dict(),
            "places": list(domain.place.cells),
            **({} if domain.kind is None else {"kinds": list(domain.kind.cells)}),
            "about": _plain(self.about, arrays),
            "model": _plain(self.forecaster.to_dict(), arrays),
        }
        # as it is read back: what JSON makes of numbers counts in
        manifest = json.loads(json.dumps(manifest))
        manifest["checksum"] = _checksum(manifest, arrays)
        out = io.BytesIO()
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
            written = json.dumps(manifest, ensure_ascii=False, indent=1, sort_keys=True)
            archive.writestr(_member(_MANIFEST), written.encode())
            for number, array in enumerate(arrays):
                archive.writestr(_member(f"{number}.npy"), _npy(array))
        write_whole(Path(path), out.getvalue())

    @classmethod
    def read(cls, path: str | Path) -> SavedModel:
        """Read a model written by :meth:`write`; one that is damaged or newer is refused."""
        remedy = "Fit and save it again."
        with reading(path, "a model", remedy, missing=Remedy.SAVE_MODEL):
            manifest, arrays = _content(Path(path))
        with reading(path, "a whole model", f"Its parts do not fit together. {remedy}"):
            model = _model(manifest, arrays)
            _try(model.forecaster)
        return model


def _content(path: Path) -> tuple[dict[str, Any], dict[int, NDArray[Any]]]:
    parts = read_members(path)
    manifest = parse_json(parts.pop(_MANIFEST))
    if manifest["kind"] != "forecaster":
        raise ValueError("no model")
    if (found := whole(manifest, "format")) != FORMAT:
        age = "a newer Tacit: its" if found > FORMAT else "an older Tacit: its"
        raise FormatError(
            f"the model was written by {age} format is {found}, and this version reads {FORMAT}. "
            + ("Install a newer Tacit, or fit it again." if found > FORMAT else "Fit and save it again.")
        )
    arrays = {int(name.removesuffix(".npy")): read_array(part) for name, part in parts.items()}
    if sorted(arrays) != list(range(len(arrays))) or any(array.dtype.kind not in "biufU" for array in arrays.values()):
        raise ValueError("arrays")
    if manifest["checksum"] != _checksum(manifest, [arrays[n] for n in range(len(arrays))]):
        raise FormatError("the model was changed or damaged: its checksum does not agree. Fit and save it again.")
    return manifest, arrays


def _checksum(manifest: Mapping[str, Any], arrays: Sequence[NDArray[Any]]) -> str:
    """Return the SHA-256 of the manifest without its checksum, and of every array as it stands in the file."""
    content = {name: part for name, part in manifest.items() if name != "checksum"}
    digest = hashlib.sha256(json.dumps(content, sort_keys=True, ensure_ascii=False).encode())
    for array in arrays:
        digest.update(_npy(array))
    return digest.hexdigest()


def _model(manifest: Mapping[str, Any], arrays: Mapping[int, NDArray[Any]]) -> SavedModel:
    content = _filled(manifest["model"], arrays)
    if text(content, "forecaster") not in FORECASTERS:
        raise FormatError(
            "the model holds a forecaster that this version does not know. Fit it again with one it does."
        )
    series, about = Series.from_dict(content["learned"]["series"]), _filled(manifest["about"], arrays)
    return SavedModel(forecaster_from_dict(content), series, text(manifest, "plan"), about)


def _try(forecaster: Forecaster) -> None:
    """Forecast a few periods, so that parts which do not fit together are found here and not later.

    What a whole model refuses, days after its tables end, say, is no damage.
    """
    with np.errstate(divide="raise", invalid="raise", over="raise"), suppress(SettingError):
        forecast = forecaster.predict(_TRIED)
        for found in (forecast.totals, forecast.counts):
            largest = found.means + _FAR * np.sqrt(found.variances)
            if not (found.means.min() >= 0 and largest.max() <= LARGEST):  # written so that NaN fails too
                raise ValueError("numbers that are no counts")


def _member(name: str) -> zipfile.ZipInfo:
    member = zipfile.ZipInfo(name, _EPOCH)  # the time of day is no part of a model
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    return member


def _npy(array: NDArray[Any]) -> bytes:
    out = io.BytesIO()
    np.lib.format.write_array(out, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    return out.getvalue()


def _plain(value: Any, arrays: list[NDArray[Any]]) -> Any:
    """Return plain data for JSON; arrays go to a list of their own, and dictionaries say that they are such."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            raise TypeError("an array of objects cannot be saved")
        arrays.append(value)
        return {_ARRAY: len(arrays) - 1}
    if isinstance(value, Mapping):
        return {_DICT: {str(name): _plain(part, arrays) for name, part in value.items()}}
    if isinstance(value, (list, tuple)):
        return [_plain(part, arrays) for part in value]
    if isinstance(value, np.generic):
        return value.item()
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    raise TypeError(f"{type(value).__name__} cannot be saved")


def _filled(value: Any, arrays: Mapping[int, NDArray[Any]]) -> Any:
    if isinstance(value, list):
        return [_filled(part, arrays) for part in value]
    if isinstance(value, dict):
        if value.keys() == {_ARRAY}:
            return arrays[value[_ARRAY]]
        return {name: _filled(part, arrays) for name, part in value[_DICT].items()}
    return value
