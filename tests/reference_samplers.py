"""The samplers of all local mechanisms again, one report at a time in whole numbers: slow, and short enough to read.

They take the words in the documented order and decide every coin by comparing whole numbers, so what they give has the
probabilities of the channel by inspection. What the library makes of the same words, with compiled and with plain
kernels and for any number of reports, must equal it.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate
from math import comb
from typing import Any

import numpy as np

from tacit._base import galois
from tacit.mechanisms.local.hadamard import HadamardResponse
from tacit.mechanisms.local.hashing import LocalHashing
from tacit.mechanisms.local.hierarchical import HierarchicalHistogram
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.local.memoized_hashing import LongitudinalHashing
from tacit.mechanisms.local.randomized_response import RandomizedResponse
from tacit.mechanisms.local.randomizer import LocalRandomizer
from tacit.mechanisms.local.sampled_levels import SampledLevels
from tacit.mechanisms.local.subset import SubsetSelection, coins_and_lanes
from tacit.mechanisms.local.tables import SampledTables
from tacit.mechanisms.local.unary import UnaryEncoding
from tacit.randomness import Randomness
from tacit.randomness.bernoulli import COIN, FEW, ROUNDS


def coins(count: int, threshold: int, source: Randomness) -> list[bool]:
    """Coins of a threshold: heads where a number of 64 digits, drawn digit by digit while open, is below it."""
    if threshold in (0, COIN):
        return [threshold == COIN] * count
    heads, still_open, left = [False] * count, list(range(count)), threshold
    for n_digits in ROUNDS:
        if len(still_open) <= FEW or not left:
            break
        n_words = -(-len(still_open) // 64)
        top, left = divmod(left << n_digits, COIN)
        digits = [top >> d & 1 for d in reversed(range(n_digits))]
        while not left and digits and not digits[-1]:  # a number that agrees so far is not below
            digits.pop()
        drawn = source.words(n_words * len(digits)).reshape(len(digits), n_words).tolist()
        undecided = []
        for place, coin in enumerate(still_open):
            number = [row[place // 64] >> place % 64 & 1 for row in drawn]
            heads[coin] = number < digits
            if number == digits:
                undecided.append(coin)
        still_open = undecided
    if left and still_open:
        for coin, word in zip(still_open, source.words(len(still_open)).tolist(), strict=True):
            heads[coin] = word < left
    return heads


def integers(limits: Sequence[int], n_rows: int, source: Randomness) -> list[list[int]]:
    """Rows of even integers below limits of at most 4096: a surplus of lanes is drawn again."""
    assert max(limits) <= 4096
    below = list(limits) * n_rows
    words = source.words(-(-len(below) // 4)).tolist()
    products = [(words[i // 4] >> 16 * (i % 4)) % (1 << 16) * limit for i, limit in enumerate(below)]
    values = [product >> 16 for product in products]
    again = [i for i, limit in enumerate(below) if products[i] % (1 << 16) < (1 << 16) % limit]
    while again:
        rejected = []
        for i, word in zip(again, source.words(len(again)).tolist(), strict=True):
            values[i], rest = divmod((word >> 32) * below[i], 1 << 32)
            if rest < (1 << 32) % below[i]:
                rejected.append(i)
        again = rejected
    return [values[row * len(limits) : (row + 1) * len(limits)] for row in range(n_rows)]


def reports_of(randomizer: LocalRandomizer, cells: Sequence[int], source: Randomness) -> list[int]:
    """The reports of cells as numbers, whose lowest byte is the first."""
    for kind, make in _MAKERS.items():
        if isinstance(randomizer, kind):
            return make(randomizer, cells, source)
    raise AssertionError(f"no reference for {type(randomizer).__name__}: write one")


def _unary(encoding: UnaryEncoding, cells: Sequence[int], source: Randomness) -> list[int]:
    k, n = encoding.n_cells, len(cells)
    noise = coins(n * k, encoding.zeros, source)
    if encoding.ones + encoding.zeros == COIN:
        truth = [not noise[r * k + cell] for r, cell in enumerate(cells)]
    else:
        truth = coins(n, encoding.ones, source)
    rows = [[truth[r] if j == cell else noise[r * k + j] for j in range(k)] for r, cell in enumerate(cells)]
    return [_number(row) for row in rows]


def _response(response: RandomizedResponse, cells: Sequence[int], source: Randomness) -> list[int]:
    drawn = integers((response.n_cells,), len(cells), source)
    kept = coins(len(cells), response.keep, source)
    return [cell if keep else other for cell, keep, (other,) in zip(cells, kept, drawn, strict=True)]


def _subset(selection: SubsetSelection, cells: Sequence[int], source: Randomness) -> list[int]:
    k, w = selection.n_cells, selection.size
    included, lines = (_ranked if k <= 33 else _repaired)(selection, len(cells), source)
    reports = []
    for cell, is_in, line in zip(cells, included, lines, strict=True):
        # the other cells stand in a line, where the last one has the place of the true one
        others = {k - 1 if place == cell else place for place in range(k - 1) if line >> place & 1}
        assert len(others) == w - is_in
        reports.append(sum(1 << j for j in others | ({cell} if is_in else set())))
    return reports


def _ranked(selection: SubsetSelection, n: int, source: Randomness) -> tuple[list[bool], list[int]]:
    """Coins and lines of few cells: a coin in the upper half of a word, a rank in the lower."""
    k, w, half = selection.n_cells, selection.size, 1 << 32
    words = source.words(n).tolist()
    first, rest = divmod(selection.include, half)
    is_open = [word // half == first for word in words]
    more = iter(source.words(sum(is_open)).tolist())
    included = [next(more) < rest * half if o else word // half < first for word, o in zip(words, is_open, strict=True)]
    limits = [comb(k - 1, w - is_in) for is_in in included]
    products = [word % half * limit for word, limit in zip(words, limits, strict=True)]
    while again := [r for r in range(n) if products[r] % half < half % limits[r]]:
        for r, word in zip(again, source.words(len(again)).tolist(), strict=True):
            products[r] = (word >> 32) * limits[r]
    return included, [
        _line_of_rank(product >> 32, k - 1, w - is_in) for product, is_in in zip(products, included, strict=True)
    ]


def _line_of_rank(rank: int, n_places: int, size: int) -> int:
    """By how many places are taken beyond the sixteenth, then by these as a number, then by the others."""
    n_lower, n_upper = min(n_places, 16), max(0, n_places - 16)
    for beyond in range(size + 1):
        lower_count = comb(n_lower, size - beyond)
        if rank < comb(n_upper, beyond) * lower_count:
            upper, lower = divmod(rank, lower_count)
            return _number_of_rank(upper, beyond) << 16 | _number_of_rank(lower, size - beyond)
        rank -= comb(n_upper, beyond) * lower_count
    raise AssertionError("a rank beyond the last")


def _number_of_rank(rank: int, size: int) -> int:
    """The number that has ``rank`` smaller ones of as many ones before it."""
    number = 0
    for left in range(size, 0, -1):
        place = left - 1
        while comb(place + 1, left) <= rank:
            place += 1
        number, rank = number | 1 << place, rank - comb(place, left)
    return number


def _repaired(selection: SubsetSelection, n: int, source: Randomness) -> tuple[list[bool], list[int]]:
    """Coins and lines of many cells: each place by coins of few digits, then repairs place by place."""
    k, w, n_words = selection.n_cells, selection.size, -(-selection.n_cells // 64)
    digits, n_lanes = coins_and_lanes(k, w)
    lines = [0] * n
    for digit in digits:
        words = source.words(n * n_words).tolist()
        for r in range(n):
            tossed = sum(word << 64 * i for i, word in enumerate(words[r * n_words : (r + 1) * n_words]))
            lines[r] = lines[r] | tossed if digit else lines[r] & tossed
    every_place = (1 << k - 1) - 1
    lines = [(~line if 2 * w > k else line) & every_place for line in lines]
    included = [word < selection.include for word in source.words(n).tolist()]
    lane_bits = 16 if k - 1 <= 4096 else 32
    lanes_a_word = 64 // lane_bits
    n_lane_words = -(-n_lanes // lanes_a_word)
    rows = list(range(n))
    while rows:
        words = source.words(len(rows) * n_lane_words).tolist()
        for i, r in enumerate(rows):
            for lane in range(n_lane_words * lanes_a_word):
                lacking = w - included[r] - lines[r].bit_count()
                word = words[i * n_lane_words + lane // lanes_a_word]
                drawn = word >> lane_bits * (lane % lanes_a_word) & (1 << lane_bits) - 1
                place, rest = divmod(drawn * (k - 1), 1 << lane_bits)
                if rest >= (1 << lane_bits) % (k - 1) and lacking:
                    lines[r] = lines[r] | 1 << place if lacking > 0 else lines[r] & ~(1 << place)
        rows = [r for r in rows if lines[r].bit_count() != w - included[r]]
    return included, lines


def _hadamard(response: HadamardResponse, cells: Sequence[int], source: Randomness) -> list[int]:
    width = {1: 1, 2: 2, 3: 4, 4: 4}[response.report_bytes]
    drawn = b"".join(word.to_bytes(8, "little") for word in source.words(-(-len(cells) * width // 8)).tolist())
    kept = coins(len(cells), response.keep, source)
    reports = []
    for r, cell in enumerate(cells):
        column = int.from_bytes(drawn[r * width : (r + 1) * width], "little") % (1 << response.n_bits)
        row = cell + 1
        if kept[r] and (row & column).bit_count() % 2:
            column ^= row & -row
        reports.append(column)
    return reports


def _hashing(hashing: LocalHashing, cells: Sequence[int], source: Randomness) -> list[int]:
    words = source.words(len(cells)).tolist()
    first, rest = hashing.keep >> 48, hashing.keep % (1 << 48) << 16
    is_open = [word >> 48 == first for word in words]
    more = iter(source.words(sum(is_open)).tolist())
    reports = []
    for cell, word, undecided in zip(cells, words, is_open, strict=True):
        keep = next(more) < rest if undecided else word >> 48 < first
        a = word % (1 << hashing.degree)
        product = int(galois.multiply(np.array([a]), np.array([cell]), hashing.degree)[0])
        value = product >> (hashing.degree - hashing.bits) if keep else word >> hashing.degree & hashing.n_values - 1
        reports.append(a | value << hashing.degree)
    return reports


def _longitudinal(rappor: LongitudinalRappor, cells: Sequence[int], source: Randomness) -> list[int]:
    assert rappor.n_bits is None, "one-hot bits"
    width, k = 8 * rappor.report_bytes, rappor.n_cells
    flips = coins(width * len(cells), rappor.permanent, source)
    if rappor.kept is None:
        truth = [not flips[r * width + cell] for r, cell in enumerate(cells)]
    else:
        truth = coins(len(cells), rappor.kept, source)
    ones, zeros = (coins(width * len(cells), threshold, source) for threshold in (rappor.ones, rappor.zeros))
    reports = []
    for r, cell in enumerate(cells):
        permanent = [truth[r] if j == cell else flips[r * width + j] for j in range(k)]
        reports.append(_number([(ones if permanent[j] else zeros)[r * width + j] for j in range(k)]))
    return reports


def _longitudinal_hashing(hashing: LongitudinalHashing, cells: Sequence[int], source: Randomness) -> list[int]:
    m, g = hashing.degree, hashing.n_values
    functions = [word % (1 << m) for word in source.words(len(cells)).tolist()]
    products = galois.multiply(np.array(functions), np.array(cells), m).tolist()
    values = [product >> (m - hashing.bits) for product in products]
    for threshold in (hashing.permanent_keep, hashing.keep):
        drawn = [word % g for word in source.words(len(cells)).tolist()]
        kept = coins(len(cells), threshold, source)
        values = [value if keep else other for value, keep, other in zip(values, kept, drawn, strict=True)]
    return [function + (value << m) for function, value in zip(functions, values, strict=True)]


def _sampled(histogram: SampledLevels[Any], cells: Sequence[int], source: Randomness) -> list[int]:
    edges = list(accumulate(histogram.chances))
    levels = [1 + sum(word >= edge for edge in edges[:-1]) for word in source.words(len(cells)).tolist()]
    reports = [0] * len(cells)
    for level, oracle in enumerate(histogram.oracles, 1):
        chosen = [r for r in range(len(cells)) if levels[r] == level]
        nodes = histogram.hierarchy.nodes_of(np.array([cells[r] for r in chosen], np.int64), level).tolist()
        for r, payload in zip(chosen, reports_of(oracle, nodes, source), strict=True):
            reports[r] = level + 256 * payload
    return reports


def _number(bits: Sequence[bool]) -> int:
    return sum(1 << j for j, bit in enumerate(bits) if bit)


_MAKERS = {
    UnaryEncoding: _unary,
    RandomizedResponse: _response,
    SubsetSelection: _subset,
    HadamardResponse: _hadamard,
    LocalHashing: _hashing,
    LongitudinalRappor: _longitudinal,
    LongitudinalHashing: _longitudinal_hashing,
    HierarchicalHistogram: _sampled,
    SampledTables: _sampled,
}
