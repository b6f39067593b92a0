"""Kernels that turn random words into coins, integers and noise, compiled. ``draws_plain`` says what each does."""

from __future__ import annotations

import sys
from typing import Any

import llvmlite.binding as llvm
import llvmlite.ir as ir
import numba
import numpy as np
from numba.extending import intrinsic
from numpy.typing import NDArray

from tacit._base.kernels.compiling import compiled
from tacit._base.kernels.draws_plain import DEPOSITS

# numbers of bits as words: numba would make floats of a word and a Python number
_0, _1, _6, _8, _32, _63, _64, _255 = (np.uint64(number) for number in (0, 1, 6, 8, 32, 63, 64, 255))
_LOWER = np.uint64((1 << 32) - 1)
_TILE = 512  # draws whose words and results stay in the first cache together


@compiled
def slice_digits(
    words: NDArray[np.uint64],
    digits: NDArray[np.uint8],
    last_lanes: np.uint64,
    heads: NDArray[np.uint64],
    undecided: NDArray[np.uint64],
) -> int:
    n = heads.size
    if digits.size == 2:
        _slice_two(words, digits, heads, undecided)
    elif digits.size == 3:
        _slice_three(words, digits, heads, undecided)
    else:
        for i in range(n):
            heads[i], undecided[i] = _0, ~_0
        for d in range(digits.size):
            digit, mask = words[d * n : (d + 1) * n], _mask(digits[d])
            for i in range(n):
                heads[i], undecided[i] = _one_digit(digit[i], mask, heads[i], undecided[i])
    heads[n - 1] &= last_lanes
    undecided[n - 1] &= last_lanes
    n_open = 0
    for i in range(n):
        n_open += _ones(undecided[i])
    return n_open


@compiled
def _slice_two(
    words: NDArray[np.uint64],
    digits: NDArray[np.uint8],
    heads: NDArray[np.uint64],
    undecided: NDArray[np.uint64],
) -> None:
    """All digits of a word while it is in a register: half as long as digit by digit."""
    n, m0, m1 = heads.size, _mask(digits[0]), _mask(digits[1])
    for i in range(n):
        won, still = _one_digit(words[i], m0, _0, ~_0)
        heads[i], undecided[i] = _one_digit(words[n + i], m1, won, still)


@compiled
def _slice_three(
    words: NDArray[np.uint64],
    digits: NDArray[np.uint8],
    heads: NDArray[np.uint64],
    undecided: NDArray[np.uint64],
) -> None:
    n, m0, m1, m2 = heads.size, _mask(digits[0]), _mask(digits[1]), _mask(digits[2])
    for i in range(n):
        won, still = _one_digit(words[i], m0, _0, ~_0)
        won, still = _one_digit(words[n + i], m1, won, still)
        heads[i], undecided[i] = _one_digit(words[2 * n + i], m2, won, still)


@compiled
def _one_digit(word: Any, mask: Any, won: Any, still: Any) -> tuple[Any, Any]:
    differs = word ^ mask
    return won | (still & differs & mask), still & ~differs


@compiled
def _mask(digit: Any) -> Any:
    return _0 - np.uint64(digit)


@compiled
def _ones(word: Any) -> Any:
    """The number of bits set: the compiler knows this loop and makes one instruction of it."""
    count = _0
    while word != 0:
        word &= word - _1
        count += _1
    return count


@compiled
def deal(undecided: NDArray[np.uint64], coins: NDArray[np.uint64], heads: NDArray[np.uint64]) -> None:
    taken = _0
    for i in range(heads.size):
        at, shift = taken >> _6, taken & _63
        next_coins = (coins[at] >> shift) | ((coins[at + _1] << _1) << (_63 - shift))
        heads[i] |= _deposited(next_coins, undecided[i])
        taken += _ones(undecided[i])


@intrinsic
def deposited_by_instruction(_: Any, bits: Any, lanes: Any) -> Any:
    """Move the lowest bits to the lanes that are set, in order: one instruction of x86 processors."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        word = ir.IntType(64)
        pdep = builder.module.declare_intrinsic("llvm.x86.bmi.pdep.64", (), ir.FunctionType(word, (word, word)))
        return builder.call(pdep, arguments)

    return numba.uint64(numba.uint64, numba.uint64), generate


@compiled
def deposited_by_table(bits: Any, lanes: Any) -> Any:
    """Move the lowest bits to the lanes that are set, in order, eight lanes at a time."""
    moved = _0
    for eight in range(_0, np.uint64(64), _8):
        here = (lanes >> eight) & _255
        n_here = _ones(here)
        moved |= np.uint64(DEPOSITS[here, bits & ((_1 << n_here) - _1)]) << eight
        bits >>= n_here
    return moved


def _has_instruction() -> bool:
    """Return whether the processor compiled for deposits bits faster than the table does: the first two Zens do not."""
    settings = vars(numba.config)
    is_host = settings["CPU_NAME"] is None and settings["CPU_FEATURES"] is None and sys.maxsize > 1 << 32
    return is_host and llvm.get_host_cpu_features().get("bmi2", False) and llvm.get_host_cpu_name() not in _SLOW


_SLOW = ("znver1", "znver2")
_deposited: Any = deposited_by_instruction if _has_instruction() else deposited_by_table


def scale(lanes: NDArray[Any], limits: NDArray[Any], surplus: NDArray[Any], values: NDArray[Any]) -> NDArray[np.int64]:
    is_short, rejected = np.zeros(limits.size, np.uint8), np.empty(lanes.size, np.int64)
    twice = np.empty(0, np.uint32 if lanes.itemsize == 2 else np.uint64)
    return rejected[: _scale(lanes, limits, surplus, values, twice, is_short, is_short.view(np.uint64), rejected)]


@compiled
def _scale(
    lanes: NDArray[Any],
    limits: NDArray[Any],
    surplus: NDArray[Any],
    values: NDArray[Any],
    twice: NDArray[Any],
    is_short: NDArray[np.uint8],
    eights: NDArray[np.uint64],
    rejected: NDArray[np.int64],
) -> int:
    """Lanes of 16 or of 32 bits; ``twice`` is an empty array of the type of twice as many, which holds the products."""
    narrow, wide = lanes.dtype.type, twice.dtype.type
    base = wide(wide(narrow(~narrow(0))) + wide(1))  # a power of two: the compiler shifts
    n_rejected = 0
    for first in range(0, lanes.size, limits.size):
        part, out = lanes[first : first + limits.size], values[first : first + limits.size]
        for i in range(part.size):
            out[i] = narrow(wide(wide(part[i]) * wide(limits[i])) // base)
        is_any = narrow(0)
        for i in range(part.size):
            is_any = narrow(is_any | narrow(narrow(wide(part[i]) * wide(limits[i])) < surplus[i]))
        if is_any:
            for i in range(part.size):
                is_short[i] = narrow(wide(part[i]) * wide(limits[i])) < surplus[i]
            n_rejected = _list(is_short, eights, part.size, first, n_rejected, rejected)
    return n_rejected


@compiled
def _list(
    is_short: NDArray[np.uint8],
    eights: NDArray[np.uint64],
    n: int,
    first: int,
    n_rejected: int,
    rejected: NDArray[np.int64],
) -> int:
    """List the rejected among ``n`` lanes; few are, so eight are looked at together."""
    for eight in range((n + 7) // 8):
        if eights[eight]:
            for i in range(8 * eight, min(8 * eight + 8, n)):
                if is_short[i]:
                    rejected[n_rejected] = first + i
                    n_rejected += 1
    return n_rejected


@compiled
def invert(
    words: NDArray[np.uint64],
    thresholds: NDArray[np.uint64],
    guide: NDArray[np.uint16],
    guide_bits: Any,
    out: NDArray[np.int64],
) -> bool:
    next_thresholds = np.empty(_TILE, np.uint64)
    bits, is_any = np.uint64(guide_bits), _0
    offset, shortest = _1 << bits, bits + _1
    for first in range(0, words.size, _TILE):
        part, below = words[first : first + _TILE], out[first : first + _TILE]
        for i in range(part.size):
            rest = (~part[i] >> _1) + offset
            length = _length(rest) - shortest
            k = np.uint64(guide[(length << bits) + (rest >> length) - offset])
            k += np.uint64(thresholds[k] < part[i] >> _1)
            below[i], next_thresholds[i] = k, thresholds[k]
        for i in range(part.size):
            is_any |= np.uint64(next_thresholds[i] == part[i] >> _1)
    return bool(is_any != 0)


@compiled
def _length(word: Any) -> Any:
    """The number of binary digits: the compiler knows this loop and makes one instruction of it."""
    length = _0
    while word != 0:
        word >>= _1
        length += _1
    return length


@compiled
def join(blocks: NDArray[np.int64], low: NDArray[np.int64], n_low_bits: int) -> None:
    for i in range(blocks.size):
        blocks[i] = (1 + ((blocks[i] - 1) << n_low_bits) + low[i]) * (blocks[i] > 0)


@compiled
def sign(words: NDArray[np.uint64], magnitudes: NDArray[np.int64]) -> None:
    for i in range(words.size):
        odd = np.int64(words[i] & _1)
        magnitudes[i] = (magnitudes[i] ^ -odd) + odd


@compiled
def place(
    signs: NDArray[np.uint64],
    places: NDArray[np.uint64],
    coins: NDArray[np.uint64],
    n_low_bits: Any,
    factors: NDArray[np.uint64],
    error: Any,
    values: NDArray[np.int64],
    rejected: NDArray[np.bool_],
    is_open: NDArray[np.bool_],
) -> bool:
    bits, most, is_any = np.uint64(n_low_bits), np.uint64(error), False
    mask = np.uint64(factors.shape[1] - 1)
    group_bits = _length(mask)
    for i in range(values.size):
        x, y = np.uint64(values[i]), places[i] >> (_64 - bits)
        rest = y * (y + (x << (bits + _1)))
        chance = factors[0, rest & mask]
        for group in range(1, len(factors)):
            rest >>= group_bits
            chance = _upper_half(chance, factors[group, rest & mask])
        magnitude, odd = (x << bits) + y, signs[i] & _1
        is_negative_zero = (magnitude | (odd ^ _1)) == 0
        is_tails = coins[i] >= chance
        rejected[i] = is_tails | is_negative_zero
        is_open[i] = ((is_tails & (coins[i] - chance <= most)) | (rest > mask)) & (not is_negative_zero)
        is_any |= is_open[i]
        values[i] = np.int64((magnitude ^ (_0 - odd)) + odd)
    return is_any


@compiled
def _upper_half(a: Any, b: Any) -> Any:
    a_high, a_low, b_high, b_low = a >> _32, a & _LOWER, b >> _32, b & _LOWER
    middle = a_high * b_low + ((a_low * b_low) >> _32)
    other = a_low * b_high + (middle & _LOWER)
    return a_high * b_high + (middle >> _32) + (other >> _32)


@compiled
def take_back(
    noise: NDArray[np.int64],
    buffers: NDArray[np.int64],
    decays: NDArray[np.int64],
    decay_shifts: NDArray[np.int64],
    weights: NDArray[np.int64],
    weight_shifts: NDArray[np.int64],
    guard_bits: Any,
) -> None:
    half = (np.int64(1) << np.int64(guard_bits)) >> np.int64(1)
    for t in range(noise.shape[0]):
        for place in range(noise.shape[1]):
            fed_back = half
            for j in range(len(decays)):
                fed_back += _product(buffers[j, place], weights[j], weight_shifts[j])
            left = noise[t, place] - (fed_back >> np.int64(guard_bits))
            noise[t, place] = left
            for j in range(len(decays)):
                decayed = _product(buffers[j, place], decays[j], decay_shifts[j])
                buffers[j, place] += (left << np.int64(guard_bits)) - decayed


@compiled
def _product(buffer: Any, factor: Any, shift: Any) -> Any:
    low = ((buffer & np.int64(0xFFFF)) * factor) >> np.int64(16)
    return ((buffer >> np.int64(16)) * factor + low) >> (shift - np.int64(16))
