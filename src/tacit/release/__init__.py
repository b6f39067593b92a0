"""The table that leaves for the public, with its statement."""

from tacit.release.joining import join
from tacit.release.release import Release
from tacit.release.rules import Rule, Rules
from tacit.release.statement import PrivacyStatement
from tacit.release.versions import Version

__all__ = ["PrivacyStatement", "Release", "Rule", "Rules", "Version", "join"]
