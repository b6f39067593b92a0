"""What leaves for the public: a table with its statement."""

from tacit.release.release import Release
from tacit.release.statement import PrivacyStatement

__all__ = ["PrivacyStatement", "Release"]
