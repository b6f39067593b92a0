"""The table that leaves for the public, with its statement. The names are loaded when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.release.joining import join as join
    from tacit.release.release import Release as Release
    from tacit.release.rules import Rule as Rule
    from tacit.release.rules import Rules as Rules
    from tacit.release.signing import SigningKey as SigningKey
    from tacit.release.statement import PrivacyStatement as PrivacyStatement
    from tacit.release.versions import Version as Version

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "tacit.release.joining": "join",
        "tacit.release.release": "Release",
        "tacit.release.rules": "Rule Rules",
        "tacit.release.signing": "SigningKey",
        "tacit.release.statement": "PrivacyStatement",
        "tacit.release.versions": "Version",
    },
)
