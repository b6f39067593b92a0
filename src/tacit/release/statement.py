"""The privacy statement: what a release promises, to whom, and what it does not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, Final

from tacit.errors import FormatError
from tacit.plan import Plan
from tacit.provenance import Provenance
from tacit.rounding import at_most, epsilon_at_most, percent_at_most

_MECHANISM_WORDS: Final = {
    "unary": "unary encoding (basic one-time RAPPOR)",
    "optimized unary": "optimized unary encoding",
    "tuned unary": "tuned unary encoding",
    "response": "randomized response",
    "subset": "subset selection",
    "hashing": "local hashing",
    "binary hashing": "binary local hashing",
    "hadamard": "Hadamard response",
    "longitudinal": "longitudinal RAPPOR, both coins drawn anew",
}
_PRIVATE_WORDS: Final = {
    ("place",): "The place of every single event",
    ("time",): "The time of every single event",
    ("time", "place"): "The time and the place of every single event",
}
_PUBLIC_WORDS: Final = {
    ("place",): "That an event happened, and in which period: the number of reports per period is exact and public",
    ("time",): "That an event happened, and at which place: the number of reports per place is exact and public",
    ("time", "place"): "That an event happened: the total number of reports is exact and public",
}
_SIMULATION: Final = (
    "SIMULATION: the noise came from a known seed. Whoever knows the seed can undo it, so this release protects nobody "
    "and must not be published as private."
)
_AGAIN_AND_AGAIN: Final = (
    "All figures above are for one report about each event. A device that reports the same value again and again from "
    "its memo gives away more: up to the plan's epsilon for any number of reports, which is larger and not stated here."
)


@dataclass(frozen=True, slots=True)
class PrivacyStatement:
    """The guarantee as data; :meth:`paragraphs` says it in plain words."""

    epsilon: float
    prior_epsilon: float
    mechanism: str
    private: tuple[str, ...]
    n_values: int
    unit: str
    neighbors: str
    unbiased_steps: tuple[str, ...]
    refined_steps: tuple[str, ...]
    is_simulation: bool

    @classmethod
    def of(
        cls,
        plan: Plan,
        provenance: Provenance,
        *,
        unbiased_steps: tuple[str, ...],
        refined_steps: tuple[str, ...],
    ) -> PrivacyStatement:
        return cls(
            epsilon=plan.epsilon,
            prior_epsilon=provenance.prior_epsilon,
            mechanism=plan.mechanism,
            private=plan.private,
            n_values=plan.n_private,
            unit=plan.unit,
            neighbors=plan.neighbors,
            unbiased_steps=unbiased_steps,
            refined_steps=refined_steps,
            is_simulation=provenance.is_simulation,
        )

    @property
    def total_epsilon(self) -> float:
        """The epsilon of all randomizations of these events together."""
        return self.epsilon + self.prior_epsilon

    @property
    def odds(self) -> float:
        """By how much one report can change the odds between two values, at most."""
        return math.exp(self.total_epsilon)

    @property
    def largest_belief(self) -> float:
        """The most an attacker can believe in a value after the report, having held all values equally likely."""
        return self.odds / (self.odds + self.n_values - 1)

    def paragraphs(self) -> list[tuple[str, str]]:
        """Headings and plain sentences, in reading order."""
        hidden = " and ".join(self.private)
        total, prior = epsilon_at_most(self.total_epsilon), epsilon_at_most(self.prior_epsilon)
        parts = [("Simulation", _SIMULATION)] if self.is_simulation else []
        parts += [
            (
                "What is protected",
                f"{_PRIVATE_WORDS[self.private]}. Someone who knows everything about an event but its {hidden}, and "
                f"sees all that was collected about it, can change the odds between any two values by a factor of at "
                f"most {at_most(self.odds)} (epsilon {total}). Whoever thought all {self.n_values} values equally "
                f"likely ({1 / self.n_values:.1%} each) can be at most {percent_at_most(self.largest_belief)} sure "
                "afterwards.",
            ),
            (
                "For whom",
                f"For each {self.unit} on its own, against everyone, the collector included. Neighbouring inputs: one "
                f"{self.unit}'s {hidden} replaced by any other. A person behind several events is protected once for "
                "each of them, and the epsilons of their events add up.",
            ),
            (
                "How",
                f"Every report was randomized before it was counted, by {self._mechanism_words}, with epsilon "
                f"{epsilon_at_most(self.epsilon)} per event computed from the integer thresholds that were used.",
            ),
        ]
        if self.prior_epsilon:
            parts.append(
                (
                    "Randomized more than once",
                    f"The same events had been randomized before, at epsilon {prior}; together with this release that "
                    f"is epsilon {total}, and all figures above count it.",
                )
            )
        if self.mechanism == "longitudinal":
            parts.append(("Reported again and again", _AGAIN_AND_AGAIN))
        parts += [
            (
                "What was done afterwards",
                f"Column 'unbiased': {_steps(self.unbiased_steps)}. Column 'refined': {_steps(self.refined_steps)}. "
                "These steps saw only randomized reports, so they cost no privacy.",
            ),
            (
                "What is not protected",
                f"{_PUBLIC_WORDS[self.private]}. Nor what everyone can learn from the counts themselves, such as that "
                "one region has more events than another.",
            ),
        ]
        return parts

    def text(self) -> str:
        """The statement as lines of plain text."""
        return "\n".join(f"{heading}: {sentence}" for heading, sentence in self.paragraphs())

    def to_dict(self) -> dict[str, Any]:
        return asdict(self) | {"text": self.text()}

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> PrivacyStatement:
        try:
            fields = {name: content[name] for name in cls.__dataclass_fields__}
            for name in ("private", "unbiased_steps", "refined_steps"):
                fields[name] = tuple(fields[name])
            return cls(**fields)
        except (KeyError, TypeError):
            raise FormatError("the privacy statement is damaged. Ask for the release anew.") from None

    @property
    def _mechanism_words(self) -> str:
        return _MECHANISM_WORDS.get(self.mechanism, self.mechanism)


def _steps(steps: tuple[str, ...]) -> str:
    return ", then ".join(steps) if steps else "estimated without bias, nothing else"
