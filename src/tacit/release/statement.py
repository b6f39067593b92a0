"""The privacy statement: what a release promises, to whom, and what it does not."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, asdict, dataclass
from typing import Any, Final

from tacit._base.rounding import at_most, epsilon_at_most, percent_at_most
from tacit.counts.provenance import Provenance
from tacit.domain import AXES
from tacit.errors import FormatError
from tacit.plan import CENTRAL, Plan
from tacit.privacy.cost import Cost
from tacit.privacy.device import DeviceFigures
from tacit.privacy.epsilon import largest_rho
from tacit.privacy.guarantee import NOTHING, PERSON_DAY, PRESENCE, REPLACEMENT, USUAL_DELTA, Guarantee
from tacit.privacy.unit import Unit
from tacit.release.rules import NO_RULES, Rules
from tacit.release.versions import FIRST, Version

_MECHANISM_WORDS: Final = {
    "unary": "unary encoding (basic one-time RAPPOR)",
    "optimized unary": "optimized unary encoding",
    "tuned unary": "tuned unary encoding",
    "response": "randomized response",
    "subset": "subset selection",
    "hashing": "local hashing",
    "binary hashing": "binary local hashing",
    "hadamard": "Hadamard response",
    "hierarchical": "a hierarchical histogram, each report answering for one level of a tree",
    "longitudinal": "longitudinal RAPPOR, both coins drawn again for each report",
    "optimized longitudinal": "longitudinal optimized unary encoding (L-OSUE), both coins drawn again for each report",
    "longitudinal hashing": "longitudinal local hashing (LOLOHA), all coins drawn again for each report",
    "binary longitudinal hashing": "binary longitudinal hashing (BiLOLOHA), all coins drawn again for each report",
}
_PUBLIC_WORDS: Final = {
    "time": ("in which period", "period"),
    "place": ("at which place", "place"),
    "kind": ("of which kind", "kind"),
}
"""What a report tells of a coordinate that it does not hide, and the noun for it."""
_AGAIN_AND_AGAIN: Final = (
    "All figures above are for one report about each event. A device that reports the same value again and again from "
    "its memo gives away more: up to the plan's epsilon for any number of reports, which is larger and not stated here."
)


def local_paragraphs(about: PrivacyStatement) -> list[tuple[str, str]]:
    """Headings and plain sentences about randomized reports."""
    hidden = _joined(about.guarantee.hidden)
    whom = "everyone, the collector included" if about.is_alone else "everyone who sees what was published"
    total = epsilon_at_most(about.total_epsilon)
    how = _MECHANISM_WORDS.get(about.mechanism, about.mechanism)
    parts = [
        (
            "What is protected",
            f"The {_joined(about.guarantee.hidden, 'the ')} of every single event. "
            f"Someone who knows everything about an event but its {hidden}, "
            f"and sees all that was collected about it, can change the odds between any two values by a factor of at "
            f"most {at_most(about.odds)} (epsilon {total}). Whoever thought all {about.n_alternatives} values equally "
            f"likely ({1 / about.n_alternatives:.1%} each) can be at most {percent_at_most(about.largest_belief)} sure "
            "afterwards.",
        ),
        (
            "For whom",
            f"For each {about.unit} on its own, against {whom}. Neighbouring inputs: one "
            f"{about.unit}'s {hidden} replaced by any other. A person behind several events is protected once for "
            "each of them, and the epsilons of their events add up.",
        ),
        (
            "How",
            f"Every report was randomized before it was counted, by {how}, with epsilon "
            f"{epsilon_at_most(about.epsilon)} per event computed from the integer thresholds that were used.",
        ),
    ]
    if not about.is_alone:
        parts.append(
            (
                "Counted more than once",
                "Other reports or releases were made of the same events. All figures count them: together with this "
                f"release they cost epsilon {total} for {about.neighboring_inputs}.",
            )
        )
    if "longitudinal" in about.mechanism:
        again = _AGAIN_AND_AGAIN if about.device is None else " ".join(about.device.sentences())
        parts.append(("Reported again and again", again))
    parts += [
        (
            "What was done afterwards",
            f"{about.step_words} These steps saw only randomized reports, so they cost no privacy.",
        ),
        (
            "What is not protected",
            f"{_published(about)}. Nor what everyone can learn from the counts themselves, such "
            "as that one region has more events than another.",
        ),
    ]
    return parts


def _joined(nouns: Sequence[str], article: str = "") -> str:
    """Nouns as a sentence lists them, all but the first with an article."""
    first, *others = nouns
    if not others:
        return first
    return f"{', '.join([first, *(article + noun for noun in others[:-1])])} and {article}{others[-1]}"


def _published(about: PrivacyStatement) -> str:
    """What reports publish, as the first half of a sentence."""
    axes = [axis for axis in AXES if axis not in about.guarantee.hidden and (axis != "kind" or about.has_kinds)]
    told, nouns = ([_PUBLIC_WORDS[axis][which] for axis in axes] for which in (0, 1))
    if not axes:
        return "That an event happened: the total number of reports is exact and public"
    also = f"and {told[0]}" if len(told) == 1 else _joined(told)
    return f"That an event happened, {also}: the number of reports per {_joined(nouns)} is exact and public"


_NOISE_WORDS: Final = {
    "flat": "on every count",
    "tree": "on a tree of periods for every place",
    "calendar tree": "on a calendar of periods in longer periods for every place",
    "place tree": "on a tree of places in larger places for every period",
    "tables": "on tables by place, by kind and of both for every period",
    "counter": "on the running total of every place, published after every period",
}
_WHOM: Final = {PRESENCE: "event on its own", REPLACEMENT: "event on its own", PERSON_DAY: "person and day"}
_ALTERNATIVES: Final = {
    PRESENCE: "'it is among the data' and 'it is not'",
    PERSON_DAY: "'it is among the data' and 'it is not'",
    REPLACEMENT: "any two of them",
}


def _noise_words(about: PrivacyStatement) -> str:
    """On what noise was added; where there are kinds, every place has a count of each."""
    words = _NOISE_WORDS[about.mechanism]
    return words.replace("every place", "every place and kind") if about.has_kinds else words


def _protects(about: PrivacyStatement) -> str:
    """What nobody can tell from all that was published, up to the stated odds."""
    if about.question == REPLACEMENT:
        hidden = _joined(about.guarantee.hidden, "the ")
        return (
            f"The {hidden} of every single event. That an event happened is public, with all else that reports of the "
            "same events publish."
        )
    return (Unit("event") if about.question == PRESENCE else Unit(about.unit, about.most)).protects


def central_paragraphs(about: PrivacyStatement) -> list[tuple[str, str]]:
    """Headings and plain sentences about noisy counts."""
    total = epsilon_at_most(about.total_epsilon)
    but = f", but for a chance of at most {about.delta:g} (delta)" if about.delta else ""
    cost = f"rho {epsilon_at_most(about.rho)}, which is epsilon" if about.rho else "epsilon"
    how = f"discrete {'Gaussian' if about.rho else 'Laplace'} noise {_noise_words(about)}"
    unit = Unit(about.unit, about.most) if about.question == PERSON_DAY else Unit("event")
    rule = f" {unit.rule}" if about.question == PERSON_DAY else ""
    parts = [
        (
            "What is protected",
            f"{_protects(about)} Someone who knows everything else and sees all that was published of the data can "
            f"change the odds between {_ALTERNATIVES[about.question]} by a factor of at most {at_most(about.odds)} "
            f"(epsilon {total}){but}. Whoever thought both equally likely can be at most "
            f"{percent_at_most(about.largest_belief)} sure afterwards.",
        ),
        (
            "For whom",
            f"For each {_WHOM[about.question]}, against everyone who sees the release; not against the curator, who "
            f"holds the events. Neighbouring inputs: {about.neighboring_inputs}.{rule}",
        ),
        (
            "How",
            f"Whole-number noise was added to exact counts before anything was published: {how}, at "
            f"{cost} {epsilon_at_most(about.epsilon)} per {about.unit}. The noise has exactly the stated "
            "distribution: no digit was rounded and no tail cut off.",
        ),
    ]
    if not about.is_alone:
        parts.append(
            (
                "Counted more than once",
                "Other reports or releases were made of the same events. All figures count them: together with this "
                f"release they cost epsilon {total} for {about.neighboring_inputs}.",
            )
        )
    parts += [
        (
            "What was done afterwards",
            f"{about.step_words} These steps saw only noisy counts, so they cost no privacy.",
        ),
        (
            "What is not protected",
            f"{unit.does_not_protect} Nor what everyone can learn from the counts themselves, such "
            "as that one region has more events than another.",
        ),
    ]
    return parts


_SIMULATION: Final = (
    "SIMULATION: the noise came from a known seed. Whoever knows the seed can undo it, so this release protects nobody "
    "and must not be published as private."
)


_SPANNING: Final = (
    "Fields of the source of these events may span lines. A row with a quote that is not closed is read together with "
    "the rows after it, so all that is said here holds only as long as no such row gets into the source."
)
_VOID: Final = (
    "Nothing of a single event any more. Reports of the same events exist of which some hide the time and publish the "
    "place, others hide the place and publish the time: together they publish both."
)
_NOT_PROTECTION: Final = "Rules are for readers: every count was private before any rule."
_GONE: Final = (
    "They are not in this release, and sums that need them cannot be asked. Of their sizes the noise model holds means "
    "alone."
)
_LEFT_OVER: Final = (
    "Where a single count is suppressed of those that make up a public number of reports, it is what the others leave."
)
_MODELS: Final = {
    "smoothing over time": "Later data revise earlier refined counts.",
    "filtering over time": "No later data are in a refined count, and none revise it.",
}
"""How the step begins after which refined counts are a model's, and what later data do to them."""
_OF_A_MODEL: Final = (
    "Column 'refined' comes from a model, and so does its interval, refined_lower to refined_upper: it holds on "
    "average over places and periods if the model fits, and least for days that were unusual. {later} In "
    "the release's table standard_error, lower and upper belong to 'unbiased', reliable to 'refined'."
)
_KEPT: Final = "They are blank in the table, but this release still holds them, so that sums over them can be asked."


@dataclass(frozen=True, slots=True)
class PrivacyStatement:
    """The guarantee as data; :meth:`paragraphs` says it in plain words."""

    epsilon: float
    guarantee: Guarantee
    mechanism: str
    private: tuple[str, ...]
    n_values: int
    unit: str
    neighbors: str
    unbiased_steps: tuple[str, ...]
    refined_steps: tuple[str, ...]
    is_simulation: bool
    most: int = 1
    rho: float = 0.0
    delta: float = 0.0
    version: Version = FIRST
    suppressed: tuple[str, ...] = ()
    keeps_suppressed: bool = False
    fields_span_lines: bool = False
    device: DeviceFigures | None = None
    has_kinds: bool = False

    @classmethod
    def of(
        cls,
        plan: Plan,
        provenance: Provenance,
        *,
        unbiased_steps: tuple[str, ...],
        refined_steps: tuple[str, ...],
        version: Version = FIRST,
        rules: Rules = NO_RULES,
    ) -> PrivacyStatement:
        unit, spans = _unit(plan), provenance.fields_span_lines
        own = _own(plan.epsilon, plan.rho, plan.private, plan.mechanism, unit, spans)
        guarantee = own if provenance.prior.is_of_nothing else provenance.prior + own
        return cls(
            epsilon=plan.epsilon,
            guarantee=guarantee,
            mechanism=plan.mechanism,
            private=plan.private,
            n_values=2 if plan.is_central else plan.n_private,
            unit=plan.unit,
            neighbors=plan.neighbors,
            unbiased_steps=unbiased_steps,
            refined_steps=refined_steps,
            is_simulation=provenance.is_simulation,
            most=plan.most,
            rho=plan.rho,
            delta=plan.delta or (0.0 if guarantee.is_pure else USUAL_DELTA),
            version=version,
            suppressed=tuple(map(str, rules.suppress)),
            keeps_suppressed=rules.keep_suppressed and bool(rules.suppress),
            fields_span_lines=spans,
            device=None if plan.is_central else DeviceFigures.of(dict(plan.thresholds), plan.n_private, plan.n_public),
            has_kinds=plan.domain.kind is not None,
        )

    @property
    def is_central(self) -> bool:
        """Whether a trusted curator counted; otherwise devices randomized."""
        return self.neighbors == CENTRAL

    @property
    def protected(self) -> Unit | None:
        """The unit that a curator's release protects; none for reports."""
        return Unit(self.unit, self.most) if self.is_central else None

    @property
    def is_alone(self) -> bool:
        """Whether nothing else was made of the same events."""
        return self.guarantee == self._own

    @property
    def question(self) -> str:
        """The strongest of the questions to which the figures of the statement still are an answer."""
        return self.guarantee.strongest(self.protected)[0]

    @property
    def is_void(self) -> bool:
        """Whether nothing that was promised about single events holds any more."""
        return self.question == NOTHING

    @property
    def about_what(self) -> str:
        """What nobody can tell beyond the stated odds, as the object of a sentence."""
        if self.question == REPLACEMENT and self.guarantee.has_reports:
            return f"an event's {_joined(self.guarantee.hidden)}"
        nouns = {PRESENCE: "an event", REPLACEMENT: "an event", PERSON_DAY: "a person's day", NOTHING: "nothing"}
        return nouns[self.question]

    @property
    def neighboring_inputs(self) -> str:
        """Which two inputs nobody can tell apart beyond the stated odds."""
        if self.is_void:
            return "none"
        if self.question == REPLACEMENT:
            what = f"one event's {_joined(self.guarantee.hidden)}" if self.guarantee.has_reports else "one event"
            return f"{what} replaced by any other"
        whole = "one event" if self.question == PRESENCE else "all events of one person on one day"
        return f"{whole} added or removed"

    @property
    def total_epsilon(self) -> float:
        """The epsilon of everything made of these events together, for the strongest question; infinite if void."""
        return self.epsilon if self.is_alone else self._epsilon_of(self.guarantee)

    def total_at(self, epsilon: float, prior: Guarantee) -> float:
        """Return the total had this release had another epsilon, with ``prior`` promised by all others."""
        if self.is_alone:
            return epsilon
        rho = largest_rho(epsilon, self.delta) if self.rho else 0.0
        own = _own(epsilon, rho, self.private, self.mechanism, self.protected, self.fields_span_lines)
        return self._epsilon_of(prior + own)

    def _epsilon_of(self, guarantee: Guarantee) -> float:
        cost = guarantee.strongest(self.protected)[1]
        if cost is None:
            return math.inf
        return cost.epsilon if cost.is_pure else cost.epsilon_at(self.delta)

    @property
    def _own(self) -> Guarantee:
        return _own(self.epsilon, self.rho, self.private, self.mechanism, self.protected, self.fields_span_lines)

    @property
    def promises(self) -> tuple[str, ...]:
        """What may be relied on, a sentence for each question: the same words on every screen, page and file."""
        return self.guarantee.sentences(self.delta)

    @property
    def odds(self) -> float:
        """By how much the odds between two alternatives can change, at most."""
        return math.exp(self.total_epsilon)

    @property
    def largest_belief(self) -> float:
        """The most an attacker can believe in a value after the report, having held all values equally likely."""
        return 1.0 if self.is_void else self.odds / (self.odds + self.n_alternatives - 1)

    @property
    def n_alternatives(self) -> int:
        """How many values an attacker chooses among; two, which is the worst case, if other reports publish a part."""
        return self.n_values if self.is_central or self.guarantee.hidden == self.private else 2

    def paragraphs(self) -> list[tuple[str, str]]:
        """Headings and plain sentences, in reading order."""
        parts = [("Simulation", _SIMULATION)] if self.is_simulation else []
        if self.is_void:
            parts.append(("What is protected", _VOID))
        else:
            parts += central_paragraphs(self) if self.is_central else local_paragraphs(self)
        if not self.is_simulation:
            parts.append(("Who may rely on what", f"{' '.join(self.promises)} {self._as_of}"))
        if self.guarantee.spans_lines:
            parts.append(("How events were read", _SPANNING))
        for begins, later in _MODELS.items():
            if any(step.startswith(begins) for step in self.refined_steps):
                parts.append(("What a model says", _OF_A_MODEL.format(later=later)))
        if self.suppressed:
            parts.append(("What is left out", self._suppression_words))
        if self.version.number > 1:
            words = self.version.words(is_central=self.is_central, is_alone=self.is_alone)
            parts.append(("Version", words))
        return parts

    @property
    def _as_of(self) -> str:
        made = "" if self.is_alone else "Other reports or releases of the same events are counted in these figures. "
        return f"{made}Later ones add up: whoever publishes them states this again."

    @property
    def _suppression_words(self) -> str:
        which = f"Suppressed is every count for which: {' or '.join(self.suppressed)}."
        if self.keeps_suppressed:
            return f"{which} {_KEPT} {_NOT_PROTECTION}"
        return " ".join((which, _GONE, *(() if self.is_central else (_LEFT_OVER,)), _NOT_PROTECTION))

    def text(self) -> str:
        """The statement as lines of plain text."""
        return "\n".join(f"{heading}: {sentence}" for heading, sentence in self.paragraphs())

    def to_dict(self) -> dict[str, Any]:
        content = asdict(self) | {
            "guarantee": self.guarantee.to_dict(),
            "total_epsilon": None if self.is_void else self.total_epsilon,
            "version": self.version.to_dict(),
            "text": self.text(),
        }
        if self.version == FIRST:  # as files of releases had it before there were versions
            del content["version"]
        if not self.fields_span_lines:
            del content["fields_span_lines"]
        if self.device is None:
            del content["device"]
        if not self.has_kinds:
            del content["has_kinds"]
        if not self.suppressed:
            del content["suppressed"], content["keeps_suppressed"]
        return content

    @classmethod
    def from_dict(cls, content: Mapping[str, Any]) -> PrivacyStatement:
        try:
            fields = {
                name: content[name]
                for name, field in cls.__dataclass_fields__.items()
                if field.default is MISSING or name in content
            }
            for name in ("private", "unbiased_steps", "refined_steps", "suppressed"):
                if name in fields:
                    fields[name] = tuple(fields[name])
            fields["guarantee"] = Guarantee.from_dict(fields["guarantee"])
            if "device" in fields:
                fields["device"] = DeviceFigures(**fields["device"])
            if "version" in fields:
                fields["version"] = Version.from_dict(fields["version"])
            return cls(**fields)
        except (KeyError, TypeError):
            raise FormatError("the privacy statement is damaged. Ask for the release again.") from None

    @property
    def step_words(self) -> str:
        """What was done to each column, in a sentence each."""
        columns = (("unbiased", self.unbiased_steps), ("refined", self.refined_steps))
        return " ".join(f"Column '{name}': {_steps(steps)}." for name, steps in columns)


def _unit(plan: Plan) -> Unit | None:
    return plan.protected_unit if plan.is_central else None


def _own(
    epsilon: float, rho: float, private: tuple[str, ...], mechanism: str, unit: Unit | None, spans_lines: bool
) -> Guarantee:
    """Return what the release promises by itself: noise for a unit, or reports."""
    if unit is None:
        return Guarantee.of_reports(epsilon, private, spans_lines=spans_lines)
    cost = Cost(rho=rho) if rho else Cost(epsilon=epsilon)
    return Guarantee.of_release(cost, unit, is_counter=mechanism == "counter", spans_lines=spans_lines)


def _steps(steps: tuple[str, ...]) -> str:
    return ", then ".join(steps) if steps else "estimated without bias, nothing else"
