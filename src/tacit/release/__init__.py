"""The table that leaves for the public, with its statement. The names are loaded when they are first used."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.release.joining import join
    from tacit.release.release import Release
    from tacit.release.rules import Rule, Rules
    from tacit.release.signing import SigningKey
    from tacit.release.statement import PrivacyStatement
    from tacit.release.versions import Version

__all__ = ["PrivacyStatement", "Release", "Rule", "Rules", "SigningKey", "Version", "join"]

_HOMES: Final = {
    "PrivacyStatement": "tacit.release.statement",
    "Release": "tacit.release.release",
    "Rule": "tacit.release.rules",
    "Rules": "tacit.release.rules",
    "SigningKey": "tacit.release.signing",
    "Version": "tacit.release.versions",
    "join": "tacit.release.joining",
}

__getattr__, __dir__ = lazy_names(__name__, _HOMES)
