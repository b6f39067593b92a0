"""A device's side of a survey: randomize first, queue on the disk, send until it is counted."""

from tacit.client.device import Device
from tacit.client.outbox import Outbox, Sent

__all__ = ["Device", "Outbox", "Sent"]
