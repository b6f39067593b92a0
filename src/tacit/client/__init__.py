"""A device's side of a survey: randomize first, queue on the disk, send until it is counted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tacit._base.lazy import lazy_names

if TYPE_CHECKING:
    from tacit.client.device import Device as Device
    from tacit.client.outbox import Outbox as Outbox
    from tacit.client.outbox import Sent as Sent
    from tacit.client.published import PublishedSurvey as PublishedSurvey

__getattr__, __dir__, __all__ = lazy_names(
    __name__,
    {
        "tacit.client.device": "Device",
        "tacit.client.outbox": "Outbox Sent",
        "tacit.client.published": "PublishedSurvey",
    },
)
