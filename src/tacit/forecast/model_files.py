"""Fitted forecasters as files: what was learned, of which release, in one document without any code in it.

A model file is JSON. It has ``format``, ``kind`` (``"forecaster"``), ``plan`` (the fingerprint), ``release`` (the
checksum), ``time``, ``places``, ``kinds`` where there are any, ``about`` (the calendar and the names of the tables it
knew), ``model`` and ``checksum``, the SHA-256 of the rest of the document with its keys sorted. ``model`` has
``forecaster`` (its name), ``params`` and ``learned``; one forecaster within another has the same three. An array is
packed as in other files, under ``array``. Nothing in it is run when it is read. The same release, settings and seed
give the same bytes. Who reads a model finds time, places, kinds and release in the series that it learned from.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import numpy as np

from tacit._base.fields import checksum_of, pack_array, text, unpack_array, whole
from tacit._base.files import write_whole
from tacit._base.reading import parse_json, read_document, reading
from tacit.counts.count_distribution import LARGEST
from tacit.counts.series import Series
from tacit.errors import FormatError, PlanMismatch, Remedy, SettingError
from tacit.forecast.forecaster import FORECASTERS, Forecaster, forecaster_from_dict

FORMAT: Final = 8  # of this file; earlier ones are refused
_FAR: Final = 1e3
"""Standard deviations from the mean that any quantile asked for stays within."""
_TRIED: Final = 8
"""Periods that a model must be able to forecast to be taken for whole: one more than a week has days."""
_ARRAY: Final = "array"


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
        domain = self.series.domain
        content = {
            "format": FORMAT,
            "kind": "forecaster",
            "plan": self.plan,
            "release": self.series.origin,
            "time": domain.time.to_dict(),
            "places": list(domain.place.cells),
            **({} if domain.kind is None else {"kinds": list(domain.kind.cells)}),
            "about": _packed(self.about),
            "model": _packed(self.forecaster.to_dict()),
        }
        written = content | {"checksum": checksum_of(content)}
        write_whole(Path(path), json.dumps(written, ensure_ascii=False, indent=1).encode())

    @classmethod
    def read(cls, path: str | Path) -> SavedModel:
        """Read a model written by :meth:`write`; one that is damaged or newer is refused."""
        remedy = "Fit and save it again."
        with reading(path, "a model", remedy, missing=Remedy.SAVE_MODEL):
            content = _content(Path(path))
        with reading(path, "a whole model", f"Its parts do not fit together. {remedy}"):
            model = _model(content)
            _try(model.forecaster)
        return model


def _content(path: Path) -> dict[str, Any]:
    content = parse_json(read_document(path))
    if content["kind"] != "forecaster":
        raise ValueError("no model")
    if (found := whole(content, "format")) != FORMAT:
        newer, older = ("a newer", "Install a newer Tacit, or fit it again"), ("an older", "Fit and save it again")
        age, way = newer if found > FORMAT else older
        raise FormatError(
            f"the model was written by {age} Tacit: its format is {found}, and this version reads {FORMAT}. {way}."
        )
    if content["checksum"] != checksum_of(content):
        raise FormatError("the model was changed or damaged: its checksum does not agree. Fit and save it again.")
    return content


def _model(content: Mapping[str, Any]) -> SavedModel:
    model = _unpacked(content["model"])
    if text(model, "forecaster") not in FORECASTERS:
        raise FormatError(
            "the model holds a forecaster that this version does not know. Fit it again with one it does."
        )
    series = Series.from_dict(model["learned"]["series"])
    return SavedModel(forecaster_from_dict(model), series, text(content, "plan"), _unpacked(content["about"]))


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


def _packed(value: Any) -> Any:
    """Return plain data for JSON, arrays packed."""
    if isinstance(value, np.ndarray):
        return {_ARRAY: pack_array(value)}
    if isinstance(value, Mapping):
        return {str(name): _packed(part) for name, part in value.items()}
    if isinstance(value, (list, tuple)):
        return [_packed(part) for part in value]
    return value.item() if isinstance(value, np.generic) else value


def _unpacked(value: Any) -> Any:
    if isinstance(value, list):
        return [_unpacked(part) for part in value]
    if not isinstance(value, dict):
        return value
    if isinstance(value.get(_ARRAY), dict):  # a place of this name has a number
        return unpack_array(value[_ARRAY])
    return {name: _unpacked(part) for name, part in value.items()}
