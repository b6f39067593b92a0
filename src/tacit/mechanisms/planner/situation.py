"""The situation: what is counted, whom one trusts, what may be spent; and the questions that will be asked.

An error is predicted for a *kind* of question (single bins, ranges of a length, ranges of any length, running totals):
the root of the mean variance over all of its ranges, each equally likely. Where there are too many to list, evenly
spread ones stand in for all of them. They are placed by fractions of the golden ratio and its like, so that they fall
into step with no tree.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import groupby
from typing import Final, Protocol

import numpy as np
from numpy.typing import NDArray

from tacit._base.arrays import FloatArray, IntArray
from tacit._base.validation import check_at_least, check_one_of, check_positive
from tacit.domain import AXES
from tacit.errors import SettingError
from tacit.privacy.cost import check_delta, check_rho
from tacit.privacy.epsilon import check_epsilon, largest_rho
from tacit.privacy.unit import Unit

KINDS: Final = ("points", "ranges", "totals")
JOINT: Final = "joint"
TABLES: Final = ("total", "place", "kind", JOINT)
"""The subjects of a question besides time: everything, a place, a kind, or a kind in a place."""
MOST_RANGES: Final = 1 << 15
"""So many ranges are listed one by one; of more, so many stand in for all. Doubled, twice the time."""

_GOLDEN: Final = 0.6180339887498949  # the golden ratio less 1, whose multiples fall most evenly
_PLASTIC: Final = (0.7548776662466927, 0.5698402909980532)  # the golden ratio's like in the plane


@dataclass(frozen=True, slots=True)
class Question:
    """A kind of question about the bins of one place, or of one kind in one place.

    ``points`` are single bins, ``totals`` all bins up to one of them, ``ranges`` all runs of ``length`` bins, or of any
    length when there is none. A ``table`` says what is added up besides: by ``place`` all kinds, by ``kind`` all
    places, for the ``total`` both, for the ``joint`` table nothing.

    >>> [str(question) for question in Question.parse("points, 7, ranges, totals by kind")]
    ['points', 'ranges of 7', 'random ranges', 'running totals by kind']
    >>> first, stop = Question("ranges", 2).ranges(4)
    >>> first.tolist(), stop.tolist()
    ([0, 1, 2], [2, 3, 4])
    """

    kind: str
    length: int | None = None
    table: str = JOINT

    def __post_init__(self) -> None:
        check_one_of(KINDS, kind=self.kind)
        check_one_of(TABLES, table=self.table)
        if self.length is not None:
            check_at_least(1, length=self.length)
            if self.kind != "ranges":
                raise SettingError(f"length belongs to ranges; got length={self.length} for {self.kind}. Leave it out.")

    @classmethod
    def parse(cls, words: str | Iterable[str]) -> tuple[Question, ...]:
        """Read words such as ``points, 7, 30 by place, ranges, totals``; a number is a length of ranges."""
        listed = words.split(",") if isinstance(words, str) else list(words)
        return tuple(dict.fromkeys(cls._of_word(word.strip()) for word in listed))

    @classmethod
    def _of_word(cls, word: str) -> Question:
        asked, _, table = word.partition(" by ")
        table = table.strip() or JOINT
        if asked in KINDS and table in TABLES:
            return cls(asked, table=table)
        if asked.isascii() and asked.isdigit() and int(asked) and table in TABLES:
            return cls("ranges", int(asked), table)
        raise SettingError(
            "a question must be points, ranges, totals or a length in bins, and may end in by place, by kind or by "
            f"total; got question={word}."
        )

    def __str__(self) -> str:
        words = {"points": "points", "ranges": "random ranges", "totals": "running totals"}[self.kind]
        return (words if self.length is None else f"ranges of {self.length:,}") + self._by

    @property
    def _by(self) -> str:
        return "" if self.table == JOINT else f" by {self.table}"

    @property
    def heading(self) -> str:
        """The question above a column of a table."""
        words = {"points": "points", "ranges": "any length", "totals": "totals"}[self.kind]
        return (words if self.length is None else f"{self.length:,} long") + self._by

    def check(self, n_bins: int) -> None:
        """Refuse a length beyond the domain."""
        if self.length is not None and self.length > n_bins:
            raise SettingError(
                f"length must be at most the number of bins, {n_bins:,}; got length={self.length:,}. "
                "Ask for shorter ranges or count over a longer time."
            )

    def mean_length(self, n_bins: int) -> float:
        """Return the number of bins that a question of this kind adds up, on average."""
        if self.kind == "ranges":
            return float(self.length) if self.length is not None else (n_bins + 2) / 3
        return 1.0 if self.kind == "points" else (n_bins + 1) / 2

    def ranges(self, n_bins: int) -> tuple[IntArray, IntArray]:
        """Return all ranges of this kind, or as many as stand in for them: first bins, and bins after the last."""
        check_at_least(1, n_bins=n_bins)
        self.check(n_bins)
        if self.kind == "ranges" and self.length is None:
            return _any_ranges(n_bins)
        if self.kind == "totals":
            stop = positions(n_bins) + 1
            return np.zeros_like(stop), stop
        length = self.length or 1
        first = positions(n_bins - length + 1)
        return first, first + length


def positions(count: int, most: int = MOST_RANGES) -> IntArray:
    """Return the numbers 0 .. count - 1, or evenly spread ones of them where they are more than ``most``.

    >>> positions(3).tolist(), positions(100, 5).tolist()
    ([0, 1, 2], [61, 23, 85, 47, 9])
    """
    if count <= most:
        return np.arange(count)
    return (np.arange(1, most + 1) * _GOLDEN % 1 * count).astype(np.int64)


@lru_cache(maxsize=8)
def _any_ranges(n_bins: int) -> tuple[IntArray, IntArray]:
    first, stop = _listed_ranges(n_bins)
    for shared in (first, stop):
        shared.flags.writeable = False
    return first, stop


def _listed_ranges(n_bins: int) -> tuple[IntArray, IntArray]:
    if n_bins * (n_bins + 1) // 2 <= MOST_RANGES:
        first, last = np.triu_indices(n_bins)
        return first.astype(np.int64), last.astype(np.int64) + 1
    across, along = (np.arange(1, MOST_RANGES + 1) * step % 1 for step in _PLASTIC)
    # of all N (N + 1) / 2 ranges, r (2 N - r + 1) / 2 have a length of at most r
    twice = n_bins + 0.5
    length = np.ceil(twice - np.sqrt(twice**2 - across * n_bins * (n_bins + 1))).astype(np.int64).clip(1, n_bins)
    first = (along * (n_bins - length + 1)).astype(np.int64)
    return first, first + length


NOBODY: Final = "nobody"
CURATOR: Final = "curator"


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """Counts of ``n_bins`` periods in each of ``n_places`` places, of about ``n_events`` events in all.

    Where events have kinds, each place has ``n_kinds`` counts, and questions are about one kind in one place.

    Whoever trusts ``nobody`` has devices randomize, and says what their reports hide (``private``); a trusted
    ``curator`` hides time and place alike and may spend ``rho``, or epsilon with a ``delta``, on Gaussian noise.
    Events are taken to be spread evenly: what each bin really holds is not known beforehand and changes errors little.
    """

    n_bins: int
    n_places: int = 1
    n_events: float
    trust: str = NOBODY
    private: tuple[str, ...] = ("time",)
    epsilon: float | None = None
    delta: float | None = None
    rho: float | None = None
    unit: Unit = field(default_factory=Unit)
    n_kinds: int = 1

    def __post_init__(self) -> None:
        check_at_least(1, n_bins=self.n_bins, n_places=self.n_places, n_kinds=self.n_kinds)
        check_positive(n_events=self.n_events)
        check_one_of((NOBODY, CURATOR), trust=self.trust)
        if self.epsilon is not None:
            check_epsilon(self.epsilon)
        if self.trust == NOBODY:
            self._check_local()
        else:
            self._check_budget()

    def _check_local(self) -> None:
        if self.epsilon is None or self.rho is not None or self.delta is not None:
            raise SettingError(
                "devices spend epsilon alone; delta and rho belong to a trusted curator. Give epsilon only."
            )
        if self.unit != Unit():
            raise SettingError(
                f"devices hide single events; got unit={self.unit}. Only a curator can bound a person's."
            )
        if not self.private or self.private != tuple(axis for axis in AXES if axis in self.private):
            raise SettingError(
                f"private must name one or more of {', '.join(AXES)}, in this order; got private={self.private}."
            )

    def _check_budget(self) -> None:
        if (self.epsilon is None) == (self.rho is None):
            raise SettingError("a curator spends either epsilon or rho. Give one of them.")
        if self.rho is not None:
            check_rho(self.rho)
        if self.delta is not None:
            check_delta(self.delta)

    @property
    def is_central(self) -> bool:
        return self.trust == CURATOR

    @property
    def gaussian_rho(self) -> float | None:
        """The cost of Gaussian noise, if it is allowed at all: rho itself, or what fits epsilon and delta."""
        if self.rho is not None or self.epsilon is None or self.delta is None:
            return self.rho
        return largest_rho(self.epsilon, self.delta)

    @property
    def n_hidden(self) -> int:
        """The number of values that a report may stand for."""
        return math.prod(self.sizes[axis] for axis in self.private)

    @property
    def sizes(self) -> dict[str, int]:
        """The number of bins, places and kinds, by the names of their axes."""
        return dict(zip(AXES, (self.n_bins, self.n_places, self.n_kinds), strict=True))

    def hidden_in(self, box: Box) -> tuple[int, int]:
        """Return how many private values, and how many public bins, a sum of places and kinds adds up in a period."""
        summed = dict(zip(AXES[1:], box, strict=True))
        hidden = math.prod(n for axis, n in summed.items() if axis in self.private)
        return hidden, math.prod(box) // hidden

    @property
    def n_cells(self) -> int:
        """The number of counts in all."""
        return self.n_bins * self.n_places * self.n_kinds

    @property
    def reports_together(self) -> float:
        """The number of reports estimated together: those of a public bin, of a public place or kind, or all."""
        return self.n_events * self.n_hidden / self.n_cells

    def box(self, question: Question) -> Box:
        """Return the number of places and of kinds that a question adds up."""
        n_places = 1 if question.table in ("place", JOINT) else self.n_places
        return n_places, 1 if question.table in ("kind", JOINT) else self.n_kinds

    def asked(self, questions: Iterable[Question]) -> dict[str, float]:
        """Return the tables that questions are about, each with weight 1, by their names in plans of tables."""
        if self.is_central:
            return {question.table: 1.0 for question in questions}
        kept = {JOINT: set(AXES), "place": {"time", "place"}, "kind": {"time", "kind"}, "total": {"time"}}
        found = {}
        for question in questions:
            axes = [axis for axis in self.private if axis in kept[question.table]]
            if axes:  # otherwise the number of reports is the answer
                found[JOINT if len(axes) == len(self.private) else " ".join(axes)] = 1.0
        return found or {JOINT: 1.0}

    def expected(self, question: Question) -> float:
        """Return the true answer to expect, on average over the questions of a kind."""
        n_cells = math.prod(self.box(question))
        return self.n_events / self.n_cells * n_cells * question.mean_length(self.n_bins)

    def with_epsilon(self, epsilon: float) -> Situation:
        return replace(self, epsilon=epsilon)

    def with_events(self, n_events: float) -> Situation:
        return replace(self, n_events=n_events)


Box = tuple[int, int]
"""Of how many places and how many kinds counts are added up."""


class RangeVariances(Protocol):
    """The variances of answers to ranges of bins; :class:`~tacit.counts.tree_least_squares.TreeFusion` has them."""

    def range_variances(self, first: NDArray[np.integer], stop: NDArray[np.integer]) -> FloatArray:
        """Return the variances of the sums of the bins from ``first`` up to but not including ``stop``."""


@dataclass(frozen=True, slots=True)
class QuadraticVariance:
    """The variance of a sum of bins: ``single`` for each, and ``shared`` for each pair (a bin with itself too)."""

    single: float
    shared: float = 0.0

    def range_variances(self, first: NDArray[np.integer], stop: NDArray[np.integer]) -> FloatArray:
        lengths = (np.asarray(stop) - np.asarray(first)).astype(np.float64)
        return np.maximum(self.single * lengths + self.shared * lengths**2, 0.0)


@dataclass(frozen=True, eq=False)
class Contender:
    """A mechanism by the name a plan knows it by, with the kind of a curator's noise and the fan-outs of a tree.

    Fan-outs stand root first. ``is_designed`` says that they, and what each level gets, were searched for; in other
    trees all levels are alike. ``is_continual`` says that it publishes after every bin; all others publish once, when
    all bins are full. ``variances`` gives those of ranges of bins, at one place and of one kind; ``of_box`` gives them
    for sums of places and kinds; left out, counts of two places or kinds err independently. One that ``is_shown_only``
    is there to be compared with, and no plan knows it.
    """

    mechanism: str
    variances: RangeVariances
    noise: str = ""
    fan_outs: tuple[int, ...] = ()
    report_bytes: int | None = None
    is_designed: bool = False
    is_continual: bool = False
    of_box: Callable[[Box], RangeVariances] | None = None
    is_shown_only: bool = False

    @property
    def name(self) -> str:
        """The mechanism and its noise."""
        return f"{self.mechanism} {self.noise}".rstrip()

    @property
    def is_plannable(self) -> bool:
        """Whether a plan can agree on it: devices' trees are designed, and a counter that runs on has its own file."""
        return not (self.is_continual or self.is_shown_only) and (self.is_designed or self.mechanism != "hierarchical")

    def rmse(self, question: Question, n_bins: int, box: Box = (1, 1)) -> float:
        """Return the root of the mean variance over all questions of a kind, about so many places and kinds."""
        is_one = self.of_box is None or box == (1, 1)
        variances = self.variances if is_one or self.of_box is None else self.of_box(box)
        mean = float(np.mean(variances.range_variances(*question.ranges(n_bins)))) * (math.prod(box) if is_one else 1)
        return math.sqrt(max(mean, 0.0))  # rounding may leave a sum that is known a little below zero

    @property
    def shape(self) -> str:
        """The fan-outs for people, runs of equal ones as powers.

        >>> Contender("tree", QuadraticVariance(1.0), fan_outs=(4, 2, 2, 2)).shape
        '4 × 2^3'
        """
        runs = ((fan_out, len(list(run))) for fan_out, run in groupby(self.fan_outs))
        return " × ".join(f"{fan_out}^{times}" if times > 1 else f"{fan_out}" for fan_out, times in runs)

    def __str__(self) -> str:
        return f"{self.name} {self.shape}".rstrip()
