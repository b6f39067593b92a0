"""What a device must remember between reports: its permanent bits, one row for every value it has held.

A memo is private. Whoever reads it knows which values the device has held, so it stays on the device: it has no wire
form, shows no value, and its file may be read by its owner alone. It must not be lost either: a device that draws its
permanent bits again spends epsilon_infinity again.

The file is JSON with ``format``, ``kind`` (``"memo"``), ``notice``, ``mechanism`` (``name``, ``n_cells`` and
``thresholds`` in hexadecimal), ``is_simulation`` and ``permanent``: the packed permanent bits of each value held, in
hexadecimal under the number of its cell.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from tacit._base.files import write_whole
from tacit.errors import FormatError, SettingError
from tacit.mechanisms.local.memoized import LongitudinalRappor
from tacit.mechanisms.local.randomizer import checked_cells
from tacit.randomness import Randomness

FORMAT: Final = 1
NOTICE: Final = (
    "PRIVATE. This file says which values the device has held. Keep it on the device; do not send or copy it."
)


class DeviceMemo:
    """The permanent bits of one device, in memory or in a file.

    With a file, new permanent bits are on the disk before the first report made of them exists, so a crash or a
    restart never draws them again. One process at a time may use a file.

    >>> from tacit.randomness import SeededRandomness
    >>> rappor = LongitudinalRappor.from_epsilons(epsilon_infinity=4.0, epsilon_1=1.0, n_cells=17)
    >>> memo = DeviceMemo(rappor)
    >>> memo.report(3, randomness=SeededRandomness(1)).shape
    (3,)
    >>> memo
    DeviceMemo(values withheld, simulation)
    """

    __slots__ = ("_is_simulation", "_path", "_rows", "rappor")

    def __init__(self, rappor: LongitudinalRappor) -> None:
        if rappor.permanent == 0:
            raise SettingError(
                "f must be above 0 for a device that reports more than once; got f=0, where averaging its reports "
                "gives the value away. Choose a larger f."
            )
        self.rappor = rappor
        self._path: Path | None = None
        self._rows: dict[int, NDArray[np.uint8]] = {}
        self._is_simulation: bool | None = None

    @classmethod
    def create(cls, rappor: LongitudinalRappor, path: str | Path) -> DeviceMemo:
        """Start an empty memo in a new file; a file that is there is never replaced."""
        memo = cls(rappor)
        memo._path = Path(path).resolve()  # a link must keep pointing at the memo
        if memo._path.exists():
            raise SettingError(
                f"there is a file at {path} already. Go on with DeviceMemo.read: a new memo would draw permanent bits "
                "again, which spends epsilon_infinity again."
            )
        memo._save()
        return memo

    @classmethod
    def read(cls, rappor: LongitudinalRappor, path: str | Path) -> DeviceMemo:
        """Go on with the memo of a file, made under the same mechanism."""
        memo = cls(rappor)
        memo._path = Path(path).resolve()  # a link must keep pointing at the memo
        try:
            content: dict[str, Any] = json.loads(memo._path.read_text(encoding="utf-8"))
            if content["kind"] != "memo" or content["format"] != FORMAT:
                raise FormatError(f"{path} is not a memo of format {FORMAT}. Install a newer Tacit.")
            if content["mechanism"] != memo._mechanism():
                raise FormatError(f"the memo at {path} belongs to another mechanism. Use the plan it was made under.")
            memo._is_simulation = content["is_simulation"]
            memo._rows = {int(cell): memo._row(bits) for cell, bits in content["permanent"].items()}
            checked_cells(np.array(list(memo._rows), np.int64), rappor.n_cells)
        except FileNotFoundError:
            raise FormatError(
                f"there is no memo at {path}. Bring it back from a backup; only for a device that never reported, "
                "start one with DeviceMemo.create."
            ) from None
        except (OSError, ValueError, KeyError, TypeError, AttributeError, OverflowError, RecursionError):
            raise FormatError(
                f"{path} is not a memo, or is damaged. Bring it back from a backup: a new one spends epsilon_infinity "
                "again."
            ) from None
        return memo

    def __repr__(self) -> str:
        return f"DeviceMemo(values withheld{', simulation' if self._is_simulation else ''})"

    def __reduce__(self) -> str:
        raise SettingError("a memo stays on its device. Use a file of its own: DeviceMemo.create.")

    def report(self, cell: int, *, randomness: Randomness) -> NDArray[np.uint8]:
        """Make one report about a value: fresh coins around permanent bits that are drawn only the first time."""
        permanent = self._remembered(cell, randomness)
        (report,) = self.rappor.instantaneous(permanent[None, :], randomness=randomness)
        return np.asarray(report, np.uint8)

    def _remembered(self, cell: int, randomness: Randomness) -> NDArray[np.uint8]:
        if self._is_simulation is None:
            self._is_simulation = randomness.is_simulation
        if self._is_simulation != randomness.is_simulation:
            raise SettingError(
                "a memo must be used with the kind of randomness it was made with: simulated permanent bits protect "
                "nobody, and secure ones are not for simulations. Make a memo of its own for a simulation."
            )
        if cell not in self._rows:
            rows = self.rappor.permanent_bits(np.array([cell]), randomness=randomness)
            self._rows[int(cell)] = rows[0]
            try:
                self._save()
            except BaseException:
                del self._rows[int(cell)]  # nothing may be sent of bits that would be forgotten
                raise
        return self._rows[cell]

    def _mechanism(self) -> dict[str, Any]:
        thresholds = {name: hex(threshold) for name, threshold in self.rappor.thresholds().items()}
        return {"name": "longitudinal", "n_cells": self.rappor.n_cells, "thresholds": thresholds}

    def _row(self, bits: str) -> NDArray[np.uint8]:
        row = np.frombuffer(bytes.fromhex(bits), np.uint8)
        try:
            self.rappor.statistics(row[None, :], np.array([1]))
        except FormatError:
            raise ValueError("not a row of bits") from None
        return row

    def _save(self) -> None:
        if self._path is None:
            return
        content = {
            "format": FORMAT,
            "kind": "memo",
            "notice": NOTICE,
            "mechanism": self._mechanism(),
            "is_simulation": self._is_simulation,
            # in order of the cells, not of the days on which they were first held
            "permanent": {str(cell): self._rows[cell].tobytes().hex() for cell in sorted(self._rows)},
        }
        write_whole(self._path, json.dumps(content, indent=1).encode(), is_private=True)


class FleetMemo:
    """The permanent bits of many simulated devices, in memory.

    >>> from tacit.randomness import SeededRandomness
    >>> rappor = LongitudinalRappor.from_epsilons(epsilon_infinity=4.0, epsilon_1=1.0, n_cells=17)
    >>> fleet, source = FleetMemo(rappor), SeededRandomness(1)
    >>> days = [fleet.randomize(np.arange(1000), np.arange(1000) % 17, randomness=source) for _ in range(3)]
    >>> days[0].shape
    (1000, 3)
    """

    __slots__ = ("_keys", "_rows", "rappor")

    def __init__(self, rappor: LongitudinalRappor) -> None:
        self.rappor = rappor
        self._keys = np.empty(0, np.int64)
        self._rows = np.empty((0, rappor.report_bytes), np.uint8)

    def __repr__(self) -> str:
        return "FleetMemo(values withheld)"

    def randomize(
        self, devices: NDArray[np.integer], cells: NDArray[np.integer], *, randomness: Randomness
    ) -> NDArray[np.uint8]:
        """Make one report for each pair of a device's number and the cell it holds now."""
        cells = checked_cells(cells, self.rappor.n_cells).astype(np.int64)
        devices = np.asarray(devices, np.int64)
        largest = (1 << 62) // self.rappor.n_cells
        if devices.size and not (devices.min() >= 0 and devices.max() < largest):
            raise SettingError(f"devices must be numbers from 0 to {largest - 1}. Number the devices again.")
        keys = devices * self.rappor.n_cells + cells
        new = np.setdiff1d(keys, self._keys)
        drawn = self.rappor.permanent_bits(new % self.rappor.n_cells, randomness=randomness)
        all_keys = np.concatenate([self._keys, new])
        order = np.argsort(all_keys)
        self._keys = all_keys[order]
        self._rows = np.concatenate([self._rows, drawn])[order]
        permanent = self._rows[np.searchsorted(self._keys, keys)]
        return self.rappor.instantaneous(permanent, randomness=randomness)
