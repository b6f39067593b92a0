"""The exact probabilities of what a sampler gives, found by driving it with chosen random words.

A sampler is a function of independent uniform words. It is looked at as an automaton: a state is what is left to
decide after some words. The next word is cut where the sampler decides otherwise, each part leads to a state, and parts
have the measure of their words. Nothing is known of the sampler beforehand but how its first words are laid out; its
thresholds are found by bisection. The probability of every outcome follows as a fraction, loops of words drawn again
included, by eliminating one state after the other.

Two states count as the same where ``TAILS`` continuations give the same outcomes from as many words; a run of values
counts as one part where its ends and some values between them do. A sampler that treats a word in its midst in its own
way, such as a back door, could pass; one that errs in a threshold, in a case or in the order of its words cannot.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

WORD_BITS = 64
TAILS = 24
"""Continuations by which two states are told apart. Half as many confuse states whose rarest outcome has 5 percent."""
SHORT = 4
"""One continuation in so many tells values of a word apart while a boundary is searched: a quarter of the work."""
TAIL_WORDS = 32
"""Words of a continuation: more than a report of the mechanisms listed takes, 24, and a few drawn again."""
PROBES = 12
"""Random values at which a word is tried before boundaries are searched between them."""


@dataclass(frozen=True)
class Field:
    """Bits of a word that are decided on together: cut into runs, or, where ``is_listed``, value by value."""

    first_bit: int
    n_bits: int
    is_listed: bool = False


WHOLE = (Field(0, WORD_BITS),)
Layout = Mapping[int, tuple[Field, ...]]
"""The fields of the words that are not compared as wholes, by their position."""
Sampler = Callable[["DrivenWords"], object]


class DrivenWords:
    """Gives the words listed, one after the other, and knows how many were drawn."""

    is_simulation = True

    def __init__(self, words: Sequence[int]) -> None:
        self._words = np.array(words, np.uint64)
        self.n_drawn = 0

    def words(self, count: int) -> NDArray[np.uint64]:
        out = np.empty(count, np.uint64)
        self.fill(out)
        return out

    def fill(self, out: NDArray[np.uint64]) -> None:
        assert self.n_drawn + out.size <= self._words.size, "the sampler draws more words than it was expected to"
        out.reshape(-1)[:] = self._words[self.n_drawn : self.n_drawn + out.size]
        self.n_drawn += out.size


@dataclass(frozen=True)
class State:
    """Words that were drawn, and those bits of the next one that are decided on already."""

    words: tuple[int, ...] = ()
    partial: int = 0
    n_fields: int = 0


Signature = tuple[object, ...]
"""How many fields of a word are decided on, then what each continuation leads to and how many words more it takes."""


class DrivenLaw:
    """The distribution of a sampler, state by state."""

    def __init__(self, sampler: Sampler, layout: Layout, n_tails: int = TAILS) -> None:
        self._sampler, self._layout, self._n_tails = sampler, layout, n_tails
        source = random.Random(2026)  # any tails serve; these make a failure repeatable
        self._tails = [[source.getrandbits(WORD_BITS) for _ in range(TAIL_WORDS)] for _ in range(n_tails)]
        self._random = source
        self._moves: dict[Signature, dict[Signature, Fraction]] = {}
        self._outcomes: dict[Signature, object] = {}
        self._seen: dict[tuple[int, ...], object] = {}  # what the words that were drawn led to
        self._lengths: list[int] = []  # how many words were ever drawn
        self._known: dict[tuple[int, int], set[int]] = {}  # boundaries of a word and field that other states have

    def probabilities(self) -> dict[object, Fraction]:
        """The probability of every outcome, as exact fractions that add up to 1."""
        start = self._explore(State())
        if start in self._outcomes:
            return {self._outcomes[start]: Fraction(1)}
        for name in [name for name in self._moves if name != start]:
            self._eliminate(name)
        moves = _without_loop(self._moves[start], start)
        distribution: dict[object, Fraction] = {}
        for name, chance in moves.items():
            distribution[self._outcomes[name]] = distribution.get(self._outcomes[name], Fraction(0)) + chance
        assert sum(distribution.values()) == 1
        return distribution

    def _explore(self, state: State) -> Signature:
        pending = [(state, first := self._signature(state, self._n_tails))]
        while pending:
            state, name = pending.pop()
            if name in self._moves or name in self._outcomes:
                continue
            if self._is_final(state):
                self._outcomes[name], _ = self._draw(state.words)
                continue
            moves: dict[Signature, Fraction] = {}
            for child, measure in self._parts(state):
                to = self._signature(child, self._n_tails)
                moves[to] = moves.get(to, Fraction(0)) + measure
                pending.append((child, to))
            self._moves[name] = moves
        return first

    def _parts(self, state: State) -> list[tuple[State, Fraction]]:
        """The parts of the next field's values that lead to one state each, and their measure."""
        fields = self._fields(state)
        field = fields[state.n_fields]
        size = 1 << field.n_bits

        def child(value: int) -> State:
            partial = state.partial | value << field.first_bit
            if state.n_fields + 1 < len(fields):
                return State(state.words, partial, state.n_fields + 1)
            used = sum((1 << f.n_bits) - 1 << f.first_bit for f in fields)
            # the bits that no field has must not matter: they are other ones each time
            return State((*state.words, partial | self._random.getrandbits(WORD_BITS) & ~used))

        def look(value: int) -> Signature:
            return self._signature(child(value), self._n_tails // SHORT)

        def answer(value: int, tail: int) -> object:
            return self._answer(child(value), tail)

        if field.is_listed:
            starts: Sequence[int] = range(size)
        else:
            known = self._known.setdefault((len(state.words), state.n_fields), set())
            starts = _runs(size, look, answer, known, self._random)
            known.update(starts[1:])
        ends = [*starts[1:], size]
        return [(child(first), Fraction(end - first, size)) for first, end in zip(starts, ends, strict=True)]

    def _fields(self, state: State) -> tuple[Field, ...]:
        return self._layout.get(len(state.words), WHOLE)

    def _is_final(self, state: State) -> bool:
        return self._draw((*state.words, *self._tails[0]))[1] <= len(state.words)

    def _signature(self, state: State, n_tails: int) -> Signature:
        return (state.n_fields, *(self._answer(state, tail) for tail in range(n_tails)))

    def _answer(self, state: State, tail: int) -> object:
        """What a continuation leads to, and how many words more it takes."""
        mask = sum((1 << f.n_bits) - 1 << f.first_bit for f in self._fields(state)[: state.n_fields])
        first, *rest = self._tails[tail]
        outcome, n_drawn = self._draw((*state.words, state.partial | first & ~mask, *rest))
        return outcome, n_drawn - len(state.words)

    def _draw(self, words: tuple[int, ...]) -> tuple[object, int]:
        """What words lead to and how many of them are drawn; words that were drawn before are not drawn again."""
        for n_drawn in self._lengths:
            if words[:n_drawn] in self._seen:
                return self._seen[words[:n_drawn]], n_drawn
        source = DrivenWords(words)
        outcome = self._sampler(source)
        self._seen[words[: source.n_drawn]] = outcome
        if source.n_drawn not in self._lengths:
            self._lengths.append(source.n_drawn)
        return outcome, source.n_drawn

    def _eliminate(self, name: Signature) -> None:
        """Lead all ways through a state past it."""
        onward = _without_loop(self._moves.pop(name), name)
        for moves in self._moves.values():
            chance = moves.pop(name, None)
            if chance is not None:
                for to, further in onward.items():
                    moves[to] = moves.get(to, Fraction(0)) + chance * further


def _without_loop(moves: dict[Signature, Fraction], name: Signature) -> dict[Signature, Fraction]:
    """The moves that leave a state, once it is left."""
    stay = moves.get(name, Fraction(0))
    return {to: chance / (1 - stay) for to, chance in moves.items() if to != name}


Look = Callable[[int], Signature]
"""How a value of a word looks: what some continuations lead to."""
Answer = Callable[[int, int], object]
"""What one continuation, by its number, leads to from a value."""


def _runs(size: int, look: Look, answer: Answer, known: set[int], source: random.Random) -> list[int]:
    """The first values of the runs that look alike, by bisection between values that do not."""
    tried = {0, size - 1, *known, *(value - 1 for value in known), *(source.randrange(size) for _ in range(PROBES))}
    seen = [(value, look(value)) for value in sorted(tried)]
    starts = [0]
    for (low, below), (high, above) in pairwise(seen):
        while below != above:
            low = _next_start((low, below), (high, above), look, answer)
            below = look(low)
            starts.append(low)
    return starts


def _next_start(begin: tuple[int, Signature], end: tuple[int, Signature], look: Look, answer: Answer) -> int:
    """The first value after the beginning that looks different, as the end does.

    One continuation that tells the two apart is followed, which is a sixth of the work. The value before the one found
    must look like the beginning; where it does not, another continuation changes earlier.
    """
    (low, below), (high, above) = begin, end
    while True:
        tail = next(tail for tail in range(len(below) - 1) if below[1 + tail] != above[1 + tail])
        last, beyond = low, high  # the last value that is known to answer as the beginning, and one that does not
        while beyond - last > 1:
            middle = (last + beyond) // 2
            if answer(middle, tail) == below[1 + tail]:
                last = middle
            else:
                beyond = middle
        if last == low or (found := look(last)) == below:
            return beyond
        high, above = last, found
