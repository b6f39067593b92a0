"""The privacy statement: what a release promises, to whom, and what it does not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import MISSING, asdict, dataclass, replace
from typing import Any, Final

from tacit._base.languages import ENGLISH, gettext, listed, message, retold, speaking
from tacit.counts.provenance import Provenance
from tacit.errors import FormatError
from tacit.plan import CENTRAL, Plan
from tacit.privacy.cost import Cost
from tacit.privacy.device import DeviceFigures
from tacit.privacy.epsilon import largest_belief, largest_rho
from tacit.privacy.guarantee import USUAL_DELTA, Guarantee, added_or_removed
from tacit.privacy.questions import NOTHING, PRESENCE, REPLACEMENT, person_in
from tacit.privacy.unit import Span, Unit
from tacit.release.paragraphs import central_paragraphs, local_paragraphs
from tacit.release.rules import NO_RULES, Rules
from tacit.release.versions import FIRST, Version

_SIMULATION: Final = message(
    "SIMULATION: the noise came from a known seed. Whoever knows the seed can undo it, so this release protects nobody "
    "and must not be published as private."
)


_SPANNING: Final = message(
    "Fields of the source of these events may span lines. A row with a quote that is not closed is read together with "
    "the rows after it, so all that is said here holds only as long as no such row gets into the source."
)
_VOID: Final = message(
    "Nothing of a single event any more. Reports of the same events exist of which some hide the time and publish the "
    "place, others hide the place and publish the time: together they publish both."
)
_VOID_WITH_KINDS: Final = message(
    "Nothing of a single event any more. Reports of the same events exist of which each hides what another publishes."
)
_NOT_PROTECTION: Final = message("Rules are for readers: every count was private before any rule.")
_GONE: Final = message(
    "They are not in this release, and sums that need them cannot be asked. Of their sizes the noise model holds means "
    "alone."
)
_LEFT_OVER: Final = message(
    "Where a single count is suppressed of those that make up a public number of reports, it is what the others leave."
)
FILTERING: Final = "filtering over time"
"""How the step begins after which every period is what it was on its day, from itself and those before."""
_MODELS: Final = {
    "smoothing over time": message("Later data revise earlier smoothed counts."),
    FILTERING: message("No later data are in a smoothed count, and none revise it."),
}
"""The beginnings of steps after which refined counts are a model's, and what later data do to such counts."""
_OF_A_MODEL: Final = message(
    "The counts to use first are smoothed: they come from a model, and so do their intervals, which hold on average "
    "over places and periods if the model fits, and least for days that were unusual. For those days use the measured "
    "counts, which no model has touched. %(later)s"
)
_KEPT: Final = message(
    "They are blank in the table, but this release still holds them, so that sums over them can be asked."
)


_ABOUT: Final = {
    PRESENCE: message("an event"),
    REPLACEMENT: message("an event"),
    NOTHING: message("nothing"),
    person_in("day"): message("a person's day"),
    person_in("week"): message("a person's week"),
    person_in("month"): message("a person's month"),
    person_in("year"): message("a person's year"),
    person_in(None): message("a person"),
}


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
    most_per_cell: int = 0
    window: str | None = None
    days: Span | None = None

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
        unit, spans = plan.protected_unit, provenance.fields_span_lines
        days = plan.domain.time.days if plan.is_central and plan.mechanism != "counter" else None
        is_longer = unit.name == "person" or bool(provenance.prior.asked)
        about = cls(
            epsilon=plan.epsilon,
            guarantee=provenance.prior,
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
            version=version,
            suppressed=tuple(map(str, rules.suppress)),
            keeps_suppressed=rules.keep_suppressed and bool(rules.suppress),
            fields_span_lines=spans,
            device=plan.device_figures,
            has_kinds=plan.domain.kind is not None,
            most_per_cell=plan.most_per_cell if plan.most_per_cell < plan.most else 0,
            window=plan.window if plan.unit == "person" else None,
            days=days if is_longer else None,
        )
        guarantee = provenance.prior + about._own
        return replace(about, guarantee=guarantee, delta=plan.delta or (0.0 if guarantee.is_pure else USUAL_DELTA))

    @property
    def is_central(self) -> bool:
        """Whether a trusted curator counted; otherwise devices randomized."""
        return self.neighbors == CENTRAL

    @property
    def protected(self) -> Unit | None:
        """The unit that a curator's release protects; none for reports."""
        return Unit(self.unit, self.most, self.most_per_cell, self.window) if self.is_central else None

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
        """The thing that nobody can tell beyond the stated odds, as the object of a sentence."""
        if self.question == REPLACEMENT and self.guarantee.has_reports:
            return gettext("an event's %(hidden)s", hidden=listed([gettext(name) for name in self.guarantee.hidden]))
        return gettext(_ABOUT[self.question])

    @property
    def neighboring_inputs(self) -> str:
        """The two inputs that nobody can tell apart beyond the stated odds."""
        if self.is_void:
            return gettext("none")
        if self.question == PRESENCE:
            whole = gettext("One event added or removed")
        elif self.question != REPLACEMENT:
            whole = added_or_removed(self.question)
        elif self.guarantee.has_reports:
            whole = gettext("One event's %(replaced)s", replaced=self.guarantee.replaced)
        else:
            whole = gettext("One event replaced by any other")
        return f"{whole[0].lower()}{whole[1:]}"

    @property
    def total_epsilon(self) -> float:
        """The epsilon of everything made of these events together, for the strongest question; infinite if void."""
        return self.epsilon if self.is_alone else self._epsilon_of(self.guarantee)

    def total_at(self, epsilon: float, prior: Guarantee) -> float:
        """Return the total had this release had another epsilon, with ``prior`` promised by all others."""
        if self.is_alone:
            return epsilon
        rho = largest_rho(epsilon, self.delta) if self.rho else 0.0
        own = replace(self, epsilon=epsilon, rho=rho)._own
        return self._epsilon_of(prior + own)

    def _epsilon_of(self, guarantee: Guarantee) -> float:
        cost = guarantee.strongest(self.protected)[1]
        if cost is None:
            return math.inf
        return cost.epsilon if cost.is_pure else cost.epsilon_at(self.delta)

    @property
    def _own(self) -> Guarantee:
        """Return what the release promises by itself: noise for a unit, or reports."""
        spans = self.fields_span_lines
        if self.protected is None:
            return Guarantee.of_reports(self.epsilon, self.private, tells_kinds=self.has_kinds, spans_lines=spans)
        return Guarantee.of_release(
            Cost(rho=self.rho) if self.rho else Cost(epsilon=self.epsilon),
            self.protected,
            is_counter=self.mechanism == "counter",
            spans_lines=spans,
            days=self.days,
            asked=self.guarantee.asked,
        )

    @property
    def promises(self) -> tuple[str, ...]:
        """The sentences that may be relied on, one for each question: the same on every screen, page and file."""
        return self.guarantee.sentences(self.delta)

    @property
    def odds(self) -> float:
        """The largest factor by which the odds between two alternatives can change."""
        return math.exp(self.total_epsilon)

    @property
    def largest_belief(self) -> float:
        """The most an attacker can believe in a value after the report, having held all values equally likely."""
        return 1.0 if self.is_void else largest_belief(self.total_epsilon, self.n_alternatives)

    @property
    def n_alternatives(self) -> int:
        """The number of values an attacker chooses among; two, the worst case, if other reports publish a part."""
        return self.n_values if self.is_central or self.guarantee.hidden == self.private else 2

    def paragraphs(self) -> list[tuple[str, str]]:
        """Return headings and plain sentences, in reading order."""
        parts = [(gettext("Simulation"), gettext(_SIMULATION))] if self.is_simulation else []
        if self.is_void:
            void = _VOID_WITH_KINDS if self.guarantee.tells_kinds else _VOID
            parts.append((gettext("What is protected"), gettext(void)))
        else:
            parts += central_paragraphs(self) if self.is_central else local_paragraphs(self)
        if not self.is_simulation:
            parts.append((gettext("Who may rely on what"), f"{' '.join(self.promises)} {self._as_of}"))
        if self.guarantee.spans_lines:
            parts.append((gettext("How events were read"), gettext(_SPANNING)))
        for begins, later in _MODELS.items():
            if any(step.startswith(begins) for step in self.refined_steps):
                parts.append((gettext("What a model says"), gettext(_OF_A_MODEL, later=gettext(later))))
        if self.suppressed:
            parts.append((gettext("What is left out"), self._suppression_words))
        if self.version.number > 1:
            words = self.version.words(is_central=self.is_central, is_alone=self.is_alone)
            parts.append((gettext("Version"), words))
        return parts

    @property
    def _as_of(self) -> str:
        later = gettext("Later ones add up: whoever publishes them states this again.")
        if self.is_alone:
            return later
        return f"{gettext('Other reports or releases of the same events are counted in these figures.')} {later}"

    @property
    def _suppression_words(self) -> str:
        rules = gettext(" or ").join(map(retold, self.suppressed))
        which = gettext("Suppressed is every count for which: %(rules)s.", rules=rules)
        if self.keeps_suppressed:
            return " ".join((which, gettext(_KEPT), gettext(_NOT_PROTECTION)))
        also = () if self.is_central else (_LEFT_OVER,)
        return " ".join((which, *map(gettext, (_GONE, *also, _NOT_PROTECTION))))

    def text(self) -> str:
        """Return the statement as lines of plain text."""
        parts = self.paragraphs()
        return "\n".join(gettext("%(heading)s: %(text)s", heading=heading, text=text) for heading, text in parts)

    def to_dict(self) -> dict[str, Any]:
        with speaking(ENGLISH):  # the text that binds
            text = self.text()
        content = asdict(self) | {
            "guarantee": self.guarantee.to_dict(),
            "total_epsilon": None if self.is_void else self.total_epsilon,
            "version": self.version.to_dict(),
            "text": text,
        }
        if self.version == FIRST:  # as files of releases had it before there were versions
            del content["version"]
        if not self.fields_span_lines:
            del content["fields_span_lines"]
        # what was added later stands in a file only where it says something
        for name in ("device", "has_kinds", "most_per_cell", "window", "days"):
            if not getattr(self, name):
                del content[name]
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
            for name in ("private", "unbiased_steps", "refined_steps", "suppressed", "days"):
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
        """Sentences that say what was done to measured and to refined counts, which a model smoothed or none did."""
        is_smoothed = any(step.startswith(tuple(_MODELS)) for step in self.refined_steps)
        refined = _steps(self.refined_steps)
        return " ".join(
            (
                gettext("Measured counts: %(steps)s.", steps=_steps(self.unbiased_steps)),
                gettext("Smoothed counts: %(steps)s.", steps=refined)
                if is_smoothed
                else gettext("Refined counts: %(steps)s.", steps=refined),
            )
        )


def _steps(steps: tuple[str, ...]) -> str:
    if not steps:
        return gettext("estimated without bias, nothing else")
    return gettext(", then ").join(map(retold, steps))
