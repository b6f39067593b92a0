"""Signatures of releases: Ed25519 over every byte of the file, inside the file.

A Parquet file ends with its footer, and nothing refers to what stands just before it. There the block of a signature
is put: readers that do not know it do not see it. Without the block the file is byte for byte the one that was signed.

::

    PAR1 and the table | block | footer, its length, PAR1
    block: "TACITSIG", 1 byte version, 32 bytes public key, 64 bytes signature
    signed: "tacit-release-signature-1\\n" and the SHA-256 of the file without the block

A signature says that whoever has the key wrote these bytes. It says nothing about who that is, and whoever takes it
away leaves an unsigned file: readers who rely on it name the key that they expect.
"""

from __future__ import annotations

import hashlib
import os
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final

from tacit._base.files import check_writable, write_new
from tacit._base.reading import check_regular, claim, read_document, reading
from tacit.errors import FormatError, Remedy, SettingError

if TYPE_CHECKING:  # most releases are not signed, and reading them shall not wait for these
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

_MAGIC: Final = b"TACITSIG"
_VERSION: Final = b"\x01"
_CONTEXT: Final = b"tacit-release-signature-1\n"
_KEY_BYTES, _SIGNATURE_BYTES = 32, 64  # of Ed25519 (RFC 8032)
_BLOCK_BYTES: Final = len(_MAGIC) + len(_VERSION) + _KEY_BYTES + _SIGNATURE_BYTES
_END: Final = b"PAR1"
_TAIL_BYTES: Final = 8  # the footer's length and PAR1, at the end of every Parquet file
_FOR_OTHERS: Final = 0o007  # permissions of those who are neither the owner nor in its group
_HEX: Final = re.compile(r"[0-9a-f]{64}")  # a public key in words


def public_key(given: str | Path) -> str:
    """Return a public key, 64 hexadecimal digits, from these or from the file that ``tacit key`` made of them.

    >>> public_key("AB" * 32)[:8]
    'abababab'
    """
    words = str(given).strip().lower()
    if not _HEX.fullmatch(words):
        path = Path(given)
        asked = "Ask whoever publishes for it."
        with reading(path, "a public key", "Give the .pub file, or its 64 digits.", missing=asked):
            words = read_document(path).decode("ascii").strip().lower()
            if not _HEX.fullmatch(words):
                raise ValueError("no public key")
    return words


@dataclass(frozen=True, slots=True)
class SigningKey:
    """A private key. It is never shown."""

    private: Ed25519PrivateKey

    def __repr__(self) -> str:
        return f"SigningKey({self.public})"

    @property
    def public(self) -> str:
        """The public key, 64 hexadecimal digits."""
        return self.private.public_key().public_bytes_raw().hex()

    @classmethod
    def create(cls, path: str | Path) -> SigningKey:
        """Make a key and write it to a private file, and the public key beside it with the ending .pub."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        made, path = cls(Ed25519PrivateKey.generate()), Path(path)
        public = path.with_suffix(".pub")
        if path == public:
            raise SettingError(f"the private key must not end in .pub, as the public one does; got {path}.")
        for one in (path, public):
            check_writable(one)
            if one.exists():
                raise SettingError(f"{one} exists, and a key that is lost cannot be made again. Choose another name.")
        content = made.private.private_bytes(
            serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        )
        if not write_new(path, content, is_private=True) or not write_new(public, f"{made.public}\n".encode()):
            raise SettingError(f"{path} was just made by somebody else. Choose another name.")
        return made

    @classmethod
    def read(cls, path: str | Path) -> SigningKey:
        """Read a private key that only its owner, or the group, may read."""
        from cryptography.hazmat.primitives import serialization
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

        path = Path(path)
        with reading(path, "a private key", Remedy.MAKE_KEY):
            check_regular(path)
            if os.name == "posix" and path.stat().st_mode & _FOR_OTHERS:
                raise FormatError(f"{path}: everybody may read it. Keep it to yourself: chmod 600 {path}")
            private = serialization.load_pem_private_key(read_document(path), password=None)
            if not isinstance(private, Ed25519PrivateKey):
                raise ValueError("another kind of key")
            return cls(private)

    def signed(self, content: bytes) -> bytes:
        """Return the bytes of a Parquet file with a signature over all of them."""
        at = _footer(content)
        signature = self.private.sign(_message(content))
        block = _MAGIC + _VERSION + bytes.fromhex(self.public) + signature
        return content[:at] + block + content[at:]


def signing_key(given: SigningKey | str | Path | None) -> SigningKey | None:
    """Return a key that was given as such or by its file."""
    return given if given is None or isinstance(given, SigningKey) else SigningKey.read(given)


def signer_of(path: Path) -> str:
    """Return the public key that a file names as its signer, unchecked; empty where there is no signature."""
    size = path.stat().st_size
    if size < len(_END) + _BLOCK_BYTES + _TAIL_BYTES:
        return ""
    with path.open("rb") as file:
        file.seek(size - _TAIL_BYTES)
        at = size - _TAIL_BYTES - int.from_bytes(file.read(4), "little")
        if at < len(_END) + _BLOCK_BYTES:
            return ""
        file.seek(at - _BLOCK_BYTES)
        return _signer(file.read(_BLOCK_BYTES))


def checked(path: Path, expected: str | None) -> tuple[bytes | None, str]:
    """Return the bytes of a signed file whose signature holds, and the key; None and "" of one that has none.

    The bytes are returned so that what is read afterwards is what was checked. The ``expected`` public key, where
    one is named, must be the one that signed.
    """
    signer = signer_of(path)
    if not signer:
        if expected is not None:
            raise FormatError(
                f"the release is not signed, and a signature by {expected[:16]}… is demanded. Do not trust it; ask "
                "for the signed one."
            )
        return None, ""
    claim(path.stat().st_size)
    content = path.read_bytes()
    at = _footer(content)
    block, plain = content[at - _BLOCK_BYTES : at], content[: at - _BLOCK_BYTES] + content[at:]
    signer = _signer(block)
    if not signer or block[len(_MAGIC) : len(_MAGIC) + 1] != _VERSION:
        raise FormatError("the release is signed in a newer form. Install a newer Tacit.")
    if not _holds(signer, block[-_SIGNATURE_BYTES:], plain):
        raise FormatError(
            "the release's signature does not hold: the file was changed or damaged after it was signed, or the "
            "signature is of another file. Do not trust it; ask for it again."
        )
    if expected is not None and signer != expected:
        raise FormatError(
            f"the release is signed with another key: {signer[:16]}… instead of {expected[:16]}…. Do not trust it, or "
            "ask its publisher for the key."
        )
    return plain, signer


def _holds(signer: str, signature: bytes, plain: bytes) -> bool:
    from cryptography.exceptions import InvalidSignature
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

    try:
        Ed25519PublicKey.from_public_bytes(bytes.fromhex(signer)).verify(signature, _message(plain))
    except (InvalidSignature, ValueError):
        return False
    return True


def _signer(block: bytes) -> str:
    if len(block) != _BLOCK_BYTES or not block.startswith(_MAGIC):
        return ""
    return block[len(_MAGIC) + len(_VERSION) :][:_KEY_BYTES].hex()


def _footer(content: bytes) -> int:
    """Return where the footer of a Parquet file begins."""
    at = len(content) - _TAIL_BYTES - int.from_bytes(content[-_TAIL_BYTES:-4], "little")
    if not content.startswith(_END) or not content.endswith(_END) or at < len(_END):
        raise FormatError("no Parquet file, or a damaged one. Ask for it again.")
    return at


def _message(plain: bytes) -> bytes:
    return _CONTEXT + hashlib.sha256(plain).digest()
