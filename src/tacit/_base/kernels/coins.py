"""The coin kernels, compiled. ``coins_plain`` says what each does."""

from __future__ import annotations

import sys
from typing import Any

import llvmlite.binding as llvm
import llvmlite.ir as ir
import numba
import numpy as np
from numba.extending import intrinsic
from numpy.typing import NDArray

from tacit._base.kernels.coins_plain import DEPOSITS
from tacit._base.kernels.compiling import compiled

_0, _1, _6, _8, _63, _255 = (np.uint64(number) for number in (0, 1, 6, 8, 63, 255))


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
    """Whether the processor compiled for deposits bits faster than the table does: the first two Zens do not."""
    settings = vars(numba.config)
    is_host = settings["CPU_NAME"] is None and settings["CPU_FEATURES"] is None and sys.maxsize > 1 << 32
    return is_host and llvm.get_host_cpu_features().get("bmi2", False) and llvm.get_host_cpu_name() not in _SLOW


_SLOW = ("znver1", "znver2")
_deposited: Any = deposited_by_instruction if _has_instruction() else deposited_by_table
