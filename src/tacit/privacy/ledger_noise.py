"""The noise of a spend, drawn from the key in the ledger: for one release of one input, and until it is finished."""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass

from tacit.errors import SettingError
from tacit.privacy.ledger_file import LedgerFile
from tacit.randomness.source import KeyedRandomness


@dataclass(frozen=True, slots=True)
class LedgerNoise:
    """What a spend draws from. The ledger remembers what was drawn for, so that no copy of the spend is another."""

    file: LedgerFile
    identifier: str

    @property
    def is_simulation(self) -> bool:
        return False

    @property
    def head(self) -> str:
        return self.file.head

    def draw(self, release: str, input_digest: bytes) -> KeyedRandomness:
        """The words of the key from the first on, for the release that was paid for and for the first input only."""
        with self.file.transaction() as connection:
            row = connection.execute(
                "SELECT release, input, drawn, key FROM spend LEFT JOIN spend_key ON spend = id WHERE identifier = ?",
                (self.identifier,),
            ).fetchone()
            if row is None:
                raise SettingError(f"{self.file.path} holds no spend {self.identifier}. Spend anew.")
            paid, given, drawn, key = row
            if release != paid:
                raise SettingError(
                    f"this spend pays for release {paid}, not for {release}. The same noise on two releases would "
                    "give the events away. Spend for this one too."
                )
            if key is None:
                raise SettingError(
                    f"release {paid} is finished: its noise is never drawn again. Use what was written, or spend anew."
                )
            wanted = keyed(self.file.key, input_digest)
            if (given and given != wanted) or (drawn is not None and drawn != wanted):
                raise SettingError(
                    f"this spend pays for release {paid} of other counts. The same noise on two tables of counts "
                    "would give their difference away. Spend anew for these."
                )
            if drawn is None:
                connection.execute("UPDATE spend SET drawn = ? WHERE identifier = ?", (wanted, self.identifier))
        return KeyedRandomness(key)


def keyed(key: bytes, digest: bytes) -> bytes:
    """A digest as it stands in the ledger: without the ledger's key nobody can try which counts it fits."""
    if not isinstance(digest, bytes):
        raise SettingError("input_digest must be bytes. Give a digest of the exact counts.")
    return hmac.digest(key, digest, hashlib.sha256)
