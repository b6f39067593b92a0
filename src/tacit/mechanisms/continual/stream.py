"""What everyone may know of a counter: what it counts, by which noise model, at what price."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from tacit.counts.continual_noise import ContinualNoise, continual_noise_from_dict
from tacit.domain import Domain
from tacit.errors import FormatError, SettingError, TacitError
from tacit.privacy.cost import Cost
from tacit.privacy.guarantee import Guarantee, heads_from_dict, heads_to_dict
from tacit.privacy.unit import Unit


@dataclass(frozen=True)
class Stream:
    """The public side of a counter; it stands at the head of the published history.

    ``identity`` tells one counter from another: no two that draw different noise share it. ``prior`` is what other
    entries about the same events had promised when the counter was started. ``ledger_heads`` is the head of the ledger
    that paid.
    """

    noise_model: ContinualNoise
    domain: Domain
    unit: Unit
    identity: str
    is_simulation: bool = False
    prior: Guarantee = field(default_factory=Guarantee)
    ledger_heads: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.domain.time.n_bins is not None and self.domain.time.n_bins > self.noise_model.horizon:
            raise SettingError(
                f"horizon must be at least the {self.domain.time.n_bins} bins of the time axis; "
                f"got horizon={self.noise_model.horizon}. Count by a noise model of as many bins."
            )
        if getattr(self.noise_model, "most", self.unit.sensitivity) != self.unit.sensitivity:
            raise SettingError(
                f"the noise model must be for the {self.unit.sensitivity} counts of a {self.unit}; got another number. "
                "Make it with the unit's sensitivity."
            )
        if self.unit.name == "user-day" and "hour" in self.domain.time.step:
            raise SettingError(
                f"step must be a day or longer where user-days are protected; got step={self.domain.time.step}. "
                "A person's day would lie in several bins."
            )

    @property
    def guarantee(self) -> Guarantee:
        """What this counter and all other entries about the same events promise together."""
        return self.prior + Guarantee.of_release(self.noise_model.cost, self.unit, is_counter=True)

    @property
    def n_places(self) -> int:
        return self.domain.place.n_cells

    @property
    def n_bins(self) -> int:
        """After how many bins the counter ends."""
        return self.domain.time.n_bins or self.noise_model.horizon

    def to_dict(self) -> dict[str, Any]:
        return {
            "identity": self.identity,
            "law": self.noise_model.to_dict(),
            "domain": self.domain.to_dict(),
            "unit": self.unit.to_dict(),
            "is_simulation": self.is_simulation,
            "prior": self.prior.to_dict(),
        } | heads_to_dict(self.ledger_heads)

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> Stream:
        try:
            if not isinstance(content["is_simulation"], bool) or not isinstance(content["identity"], str):
                raise TypeError("label")
            return cls(
                noise_model=continual_noise_from_dict(content["law"]),
                domain=Domain.from_dict(content["domain"]),
                unit=Unit.from_dict(content["unit"]),
                identity=content["identity"],
                is_simulation=content["is_simulation"],
                prior=_prior(content["prior"]),
                ledger_heads=heads_from_dict(content),
            )
        except (KeyError, TypeError, ValueError, AttributeError, TacitError):
            raise FormatError("the description of the counter is damaged. Restore the file from a copy.") from None


def _prior(content: Mapping[str, Any]) -> Guarantee:
    """Read what other entries had promised; a counter of an earlier version tells one sum alone."""
    if "presence" in content:
        return Guarantee.from_dict(content)
    return Guarantee.of_a_sum(Cost.from_dict(content), is_local=False)


def identity_of(key: bytes, noise_model: ContinualNoise, domain: Domain) -> str:
    """A name that follows from the key and all that decides what is published, and tells nothing about the key."""
    content = json.dumps(
        [noise_model.to_dict(), domain.to_dict(with_gazetteer=False)], sort_keys=True, ensure_ascii=False
    )
    return hashlib.blake2b(content.encode(), digest_size=16, key=key, person=b"counter name").hexdigest()
