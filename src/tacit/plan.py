"""The plan: the frozen public agreement on what is counted and how privately, as pure data.

A plan says what is counted (the domain), which coordinates of an event are private, the mechanism by name with its
integers (the thresholds of its coins, the shape of its tree), and for whom the epsilon holds. Between devices and a
collector thresholds travel in the plan because ``exp`` differs between platforms; whoever reads a plan checks them
against epsilon (:func:`tacit.mechanisms.registry.mechanism_of`).
"""

from __future__ import annotations

import hashlib
import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.extras import require
from tacit._base.fields import number, text, texts, whole
from tacit._base.files import write_whole
from tacit._base.reading import parse_json, read_document, reading
from tacit._base.validation import check_at_least, check_one_of, check_positive, check_share
from tacit.domain import AXES, Domain, Gazetteer, Layout
from tacit.errors import FormatError, PlanError, Remedy, SettingError, TacitError
from tacit.privacy.device import DeviceFigures, remembers
from tacit.privacy.epsilon import check_epsilon
from tacit.privacy.unit import Unit
from tacit.randomness.bernoulli import COIN

FORMATS: Final = (1, 2, 3, 4)
"""4 where the unit is a person or a device, or events in one cell are bounded apart, 3 where the domain has kinds, 2
where it has a place elsewhere: readers of 1 do not know them. All other plans stay 1, so that they keep their
fingerprints."""
LOCAL: Final = "replace"
CENTRAL: Final = "add or remove"


@dataclass(frozen=True)  # no slots: the fingerprint is kept
class Plan:
    """The agreement on who counts what, and how privately.

    ``private`` names the coordinates hidden by the mechanism: ``("place",)`` for one report per event on a public
    day, ``("time",)`` for a public place, both for neither. ``unit`` is whom epsilon protects, ``neighbors`` what may
    differ between two inputs the attacker must not tell apart: ``"replace"`` a value where devices randomize,
    ``"add or remove"`` a unit where a trusted curator counts. A ``"user-day"`` is all that one person did in a day, a
    ``"person"`` all that one did in a ``window`` or in the whole release; of these at most ``most`` events count, and
    at most ``most_per_cell`` of them in one cell (:class:`~tacit.privacy.unit.Unit`). Where the noise is Gaussian,
    ``rho`` is what it costs (zero-concentrated differential privacy), and epsilon is what that amounts to at ``delta``.
    A ``"device"`` reports again and again from a memo: epsilon is for one report, and ``n_reports`` are expected of
    each about one value (0: one in every period).
    """

    domain: Domain
    mechanism: str
    epsilon: float
    thresholds: tuple[tuple[str, int], ...]
    private: tuple[str, ...] = ("place",)
    unit: str = "event"
    neighbors: str = LOCAL
    name: str = "counts"
    most: int = 1
    rho: float = 0.0
    delta: float = 0.0
    most_per_cell: int = 0
    window: str | None = None
    n_reports: int = 0

    def __post_init__(self) -> None:
        check_epsilon(self.epsilon)
        for name in ("epsilon", "rho", "delta"):  # a file has floats: 1 and 1.0 are one plan, with one fingerprint
            object.__setattr__(self, name, float(getattr(self, name)))
        axes = self.domain.axes
        if not self.private or tuple(axis for axis in axes if axis in self.private) != self.private:
            raise SettingError(
                f"private must name one or more of {', '.join(axes)}, in this order; got private={self.private}. "
                "Name what the device hides."
            )
        check_one_of((LOCAL, CENTRAL), neighbors=self.neighbors)
        check_one_of(("event", "user-day", "person") if self.is_central else ("event", "device"), unit=self.unit)
        self._check_devices()
        unit = Unit(self.unit, self.most, self.most_per_cell, self.window)  # refuses bounds that do not fit it
        object.__setattr__(self, "most_per_cell", unit.most_per_cell)
        object.__setattr__(self, "window", unit.window)
        if self.is_central and self.private != axes:
            raise SettingError(
                f"a trusted curator hides {', '.join(axes[:-1])} and {axes[-1]} alike. Leave private out."
            )
        if self.rho or self.delta:
            if not self.is_central:
                raise SettingError("rho and delta belong to a trusted curator's noise. Give epsilon alone.")
            check_positive(rho=self.rho)
            check_share(delta=self.delta)
        if "time" in self.private and self.domain.time.n_bins is None:
            raise SettingError("a private time needs a time axis with an end. Give the last day.")
        for name, threshold in self.thresholds:
            if not 0 <= threshold <= COIN:
                raise PlanError(f"threshold {name} must lie between 0 and 2**64. Make the plan again.")

    def _check_devices(self) -> None:
        check_at_least(0, n_reports=self.n_reports)
        if self.unit == "device":
            if not remembers(dict(self.thresholds)):
                raise SettingError(
                    f"the unit device needs a mechanism that remembers; got mechanism={self.mechanism}. "
                    "Take longitudinal, optimized longitudinal or longitudinal hashing."
                )
        elif self.n_reports:
            raise SettingError(
                f"n_reports must be left out for the unit {self.unit}; got n_reports={self.n_reports}. It belongs to "
                "devices that report again and again: use the unit device."
            )

    @property
    def is_central(self) -> bool:
        """Whether a trusted curator counts; otherwise devices randomize and trust nobody."""
        return self.neighbors == CENTRAL

    @property
    def format(self) -> int:
        """The number of the form in which this plan is written."""
        if self.unit in ("person", "device") or self.most_per_cell < self.most:
            return 4
        if self.domain.kind is not None:
            return 3
        return 2 if self.domain.place.has_elsewhere else 1

    @property
    def public(self) -> tuple[str, ...]:
        """The coordinates that everybody may see."""
        return tuple(axis for axis in self.domain.axes if axis not in self.private)

    @property
    def protected_unit(self) -> Unit:
        """The unit that epsilon protects, with how much of it is counted."""
        return Unit(self.unit, self.most, self.most_per_cell, self.window)

    @property
    def device_figures(self) -> DeviceFigures | None:
        """The epsilons of one device's reports over years; None where the mechanism remembers nothing."""
        if self.is_central:
            return None
        n_reports = self.n_reports or (self.domain.time.n_bins if self.unit == "device" else self.n_public)
        return DeviceFigures.of(dict(self.thresholds), self.n_private, n_reports)

    @property
    def n_private(self) -> int:
        """The number of values a report may stand for."""
        return self._own_layout.n_private

    @property
    def private_sizes(self) -> tuple[int, ...]:
        """The sizes of the private coordinates."""
        return self._own_layout.private_sizes

    @property
    def n_public(self) -> int | None:
        """The number of public bins a report may stand in; None if the time axis has no end."""
        return None if self.domain.time.n_bins is None else self._own_layout.n_public

    @property
    def public_per_period(self) -> int:
        """The number of public bins of a period where the time is public: one, or one for each public place or kind."""
        return Layout(self.private, (1, self.domain.place.n_cells, self.domain.n_kinds)).n_public

    @cached_property
    def fingerprint(self) -> str:
        """A short name for this agreement: equal plans have equal fingerprints, on every platform.

        It covers all that two parties must agree on: neither the plan's name, nor the table of towns, nor the end of a
        public time axis, which may be extended.
        """
        return hashlib.sha256(self.canonical_bytes()).hexdigest()[:32]

    def canonical_bytes(self) -> bytes:
        """Return the bytes under the fingerprint: JSON with sorted keys and no spaces."""
        content = self.to_dict()
        del content["name"], content["fingerprint"]
        content["domain"] = self.domain.to_dict(with_end="time" in self.private, with_gazetteer=False)
        return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()

    def split(
        self, time_bins: NDArray[np.int64], columns: NDArray[np.integer]
    ) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Divide events into what everybody may see and what the randomizer must hide: (public, private)."""
        return self._own_layout.split(time_bins, np.asarray(columns, np.int64))

    def bounded_domain(self, n_public: int) -> Domain:
        """Return the domain that a tally of ``n_public`` bins covers, with an end on its time axis."""
        if "time" in self.private or self.domain.time.n_bins is not None:
            return self.domain
        if n_public < 1:
            raise SettingError("the tally holds no report yet, and the plan's time axis has no end. Collect first.")
        return self.domain.with_end(-(-n_public // self.public_per_period))

    @property
    def _own_layout(self) -> Layout:
        """The layout of the plan's own domain; one bin stands for a time axis without an end."""
        return self.layout(self.domain.with_end(1) if self.domain.time.n_bins is None else self.domain)

    def layout(self, domain: Domain) -> Layout:
        """Return how an array over a domain with an end is divided into public bins and private values."""
        return Layout(self.private, domain.sizes)

    def in_bins(self, rows: NDArray[np.int64], domain: Domain) -> NDArray[np.int64]:
        """Return a tally's rows for all public bins of a domain: zeros for those after its last report.

        Where nothing is public there is one bin, whatever number of rows the tally has.
        """
        n_bins = self.layout(domain).n_public
        found = np.zeros((n_bins, *rows.shape[1:]), np.int64)
        if len(self.private) == len(domain.grid):
            found[0] = rows.sum(axis=0)
        else:
            found[: len(rows)] = rows
        return found

    def totals(self, reports: NDArray[np.int64], domain: Domain) -> NDArray[np.int64]:
        """Lay the reports of all public bins out so that they broadcast against the domain's grid."""
        axes = zip(AXES, domain.grid, strict=False)
        return reports.reshape([1 if axis in self.private else size for axis, size in axes])

    def to_dict(self, *, with_rows: bool = True) -> dict[str, Any]:
        """Return plain values for JSON or TOML; ``with_rows`` of a table of places that does not come with Tacit."""
        return {
            "format": self.format,
            "name": self.name,
            "fingerprint": "",
            "privacy": {
                "epsilon": self.epsilon,
                "private": list(self.private),
                "unit": self.unit,
                "neighbors": self.neighbors,
                **({"most": self.most} if self.protected_unit.is_of_a_person else {}),
                **({"most_per_cell": self.most_per_cell} if self.most_per_cell < self.most else {}),
                **({"window": self.window} if self.unit == "person" and self.window else {}),
                **({"n_reports": self.n_reports} if self.n_reports else {}),
                **({"rho": self.rho, "delta": self.delta} if self.rho else {}),
            },
            "mechanism": {"name": self.mechanism, "thresholds": {n: hex(t) for n, t in self.thresholds}},
            "domain": self.domain.to_dict(with_rows=with_rows),
        }

    @classmethod
    def from_dict(cls, content: Mapping[str, Any], *, gazetteer: Gazetteer | str | Path | None = None) -> Plan:
        """Read a plan from plain data; a fingerprint in it must agree with the rest."""
        if isinstance(content, Mapping) and content.get("format", 1) not in FORMATS:
            known = " or ".join(map(str, FORMATS))
            raise FormatError(f"the plan has format {content['format']}, not {known}. Install a newer Tacit.")
        try:
            privacy, mechanism = content["privacy"], content["mechanism"]
            plan = cls(
                domain=Domain.from_dict(content["domain"], gazetteer=gazetteer),
                mechanism=text(mechanism, "name"),
                epsilon=number(privacy, "epsilon"),
                thresholds=tuple(sorted((name, _threshold(t)) for name, t in mechanism["thresholds"].items())),
                private=texts(privacy, "private"),
                unit=text(privacy, "unit"),
                neighbors=text(privacy, "neighbors"),
                name=text({"name": "counts"} | dict(content), "name"),
                most=whole({"most": 1} | privacy, "most", least=1),
                rho=number({"rho": 0.0} | privacy, "rho"),
                delta=number({"delta": 0.0} | privacy, "delta"),
                most_per_cell=whole({"most_per_cell": 0} | privacy, "most_per_cell"),
                window=text(privacy, "window") if "window" in privacy else None,
                n_reports=whole({"n_reports": 0} | privacy, "n_reports"),
            )
            if whole(content, "format") != plan.format:
                raise ValueError("format")
        except FormatError as problem:
            raise problem.about(f"the plan is damaged: {problem.problem}", PlanError) from None
        except TacitError:
            raise
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as problem:
            raise PlanError(f"the plan lacks or garbles {problem}.", remedy=Remedy.MAKE_PLAN) from None
        stated = content.get("fingerprint", "")
        if stated and stated != plan.fingerprint:
            raise PlanError(
                f"the plan says fingerprint {stated}, but its content has {plan.fingerprint}: it was edited after it "
                "was made.",
                remedy=Remedy.MAKE_PLAN,
            )
        return plan

    def to_json(self) -> str:
        """Return the plan as a collector serves it and as the browser client reads it: its plain values as JSON."""
        return json.dumps(self.to_dict() | {"fingerprint": self.fingerprint}, ensure_ascii=False, indent=1) + "\n"

    def write(self, path: str | Path) -> None:
        """Write the plan as TOML, or as JSON to a file that is called ``*.json``."""
        if Path(path).suffix == ".json":
            write_whole(Path(path), self.to_json().encode())
            return
        content = self.to_dict() | {"fingerprint": self.fingerprint}
        whom = "everyone who asks how counts were made" if self.is_central else "every device"
        head = f"# A Tacit plan. Public: share it with {whom}. Do not edit it by hand.\n"
        write_whole(
            Path(path), (head + require("tomli_w", extra="cli").dumps(content, multiline_strings=True)).encode()
        )

    @classmethod
    def read(cls, path: str | Path, *, gazetteer: Gazetteer | str | Path | None = None) -> Plan:
        """Read a plan from TOML, or from JSON in a file ``*.json``, and check that it was not edited.

        ``gazetteer`` is the table of places, or the file where it is, for a plan that does not carry its own. No path
        that stands in a plan is opened.
        """
        path = Path(path)
        keeps = (PlanError, FormatError, SettingError)
        with reading(path, "a plan", Remedy.MAKE_PLAN, missing=Remedy.NAME_PLAN, refusal=PlanError, keeps=keeps):
            try:
                document = read_document(path).decode()
                content = parse_json(document) if path.suffix == ".json" else tomllib.loads(document)
            except (UnicodeDecodeError, tomllib.TOMLDecodeError, json.JSONDecodeError) as problem:
                raise PlanError(f"{path} is not a plan: {problem}.", remedy=Remedy.MAKE_PLAN) from None
            return cls.from_dict(content, gazetteer=gazetteer)


def _threshold(value: str) -> int:
    """Return a threshold from its hexadecimal digits; 2**64 has 17 of them and two for the sign of the base."""
    if not isinstance(value, str) or len(value) > len(hex(COIN)):
        raise ValueError("thresholds")
    return int(value, 16)
