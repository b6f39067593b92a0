"""A disk that loses whatever was not synced: what a folder would hold if the power failed now."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_NAMING = ("replace", "rename", "link", "unlink")


class LossyDisk:
    """Watches the calls that sync and name files of one folder, and knows what of it is safe.

    Content is safe as it was at the last ``fsync`` of its file, a name as it was at the last ``fsync`` of the folder.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._names = self._named()
        self._contents = {inode: (folder / name).read_bytes() for name, inode in self._names.items()}

    def after_power_failure(self, *, keeps_names: bool) -> dict[str, bytes]:
        """The files and contents that are left. Some disks keep new names although they lose contents."""
        names = self._named() if keeps_names else self._names
        return {name: self._contents.get(inode, b"") for name, inode in names.items()}

    @contextmanager
    def watched(self, monkeypatch: pytest.MonkeyPatch, look: Callable[[], None]) -> Iterator[None]:
        """Call ``look`` before and after every call that syncs or names: the power may fail at each of them."""
        with monkeypatch.context() as patch:
            for called in ("fsync", *_NAMING):
                patch.setattr(os, called, self._looked_at(getattr(os, called), look))
            yield
        look()

    def _looked_at(self, call: Callable[..., None], look: Callable[[], None]) -> Callable[..., None]:
        def watched(*given: object, **named: object) -> None:
            look()
            call(*given, **named)
            if call.__name__ == "fsync":
                self._synced(given[0])
            look()

        return watched

    def _synced(self, descriptor: object) -> None:
        assert isinstance(descriptor, int)
        found = os.fstat(descriptor)
        if os.path.samestat(found, self.folder.stat()):
            self._names = self._named()
            return
        for name, inode in self._named().items():
            if inode == found.st_ino:
                self._contents[inode] = (self.folder / name).read_bytes()

    def _named(self) -> dict[str, int]:
        return {file.name: file.stat().st_ino for file in self.folder.iterdir() if file.is_file()}
