"""The one-call interface: publish events, and use what was published."""

from tacit.publication.preview import Preview
from tacit.publication.publication import Publication
from tacit.publication.publication import open_publication as open
from tacit.publication.publishing import publish

__all__ = ["Preview", "Publication", "open", "publish"]
