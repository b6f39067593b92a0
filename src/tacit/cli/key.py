"""tacit key: make the key that releases are signed with."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tacit.cli import console
from tacit.release import Release
from tacit.release.signing import SigningKey


def key(
    file: Annotated[Path, typer.Argument(metavar="FILE", help="Where to write the private key; it must not exist.")],
) -> None:
    """Make a key to sign releases with: a private file, and the public key beside it.

    Give the public key to your readers in a way they trust. Whoever has the private one can sign in your name.

    Example: [bold]tacit key publisher.key[/bold]
    """
    made = SigningKey.create(file)
    console.say(f"Wrote {file}: the private key. Keep it to yourself, and a copy of it in a safe place.")
    console.say(f"Wrote {file.with_suffix('.pub')}: the public key, for everybody who reads your releases:")
    console.strong(made.public)
    console.say(f"Next: tacit release TALLY --sign-with {file}, and: tacit query RELEASE --signed-by {made.public}")


def read_release(path: Path, signed_by: str | None) -> Release:
    """Read a release, and say with which key it is signed."""
    found = Release.read(path, signed_by=signed_by)
    if found.signed_by:
        told = (
            "as was demanded" if signed_by else "make sure that it is its publisher's, and demand it with --signed-by"
        )
        console.note(f"Signed with the key {found.signed_by}: {told}.")
    return found


def say_signed(key: SigningKey | None) -> None:
    """Say with which key a release was signed."""
    if key is not None:
        console.say(f"Signed with the key {key.public}.")
