"""Running a collector: one process that listens, logs no values, and stops gracefully."""

from __future__ import annotations

import gc
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from tacit import __version__
from tacit._base.extras import require
from tacit._base.files import make_folders
from tacit.errors import SettingError
from tacit.service.app import Collector, make_app
from tacit.service.logs import log, write_logs
from tacit.service.making import Apart
from tacit.service.settings import Settings
from tacit.service.store import Store


def prepare(store: Store, settings: Settings) -> tuple[Collector, socket.socket]:
    """Return a collector and the socket that it listens at; what cannot be served is refused, and no survey changes."""
    require("uvicorn", extra="service")
    if settings.admin_token is not None:
        store.tokens.check_not_revoked(settings.admin_token)
    make_folders(settings.folder)
    # refuses a key that cannot be read, or is missing
    collector = Collector(store, settings.folder, settings=settings, apart=Apart())
    return collector, _listening(settings.host, settings.port)


def serve(collector: Collector, listening: socket.socket) -> None:
    """Answer until told to stop; what was acknowledged is on the disk whatever happens.

    At SIGTERM or SIGINT no more connections are taken, requests that were begun are answered for ``settings.grace``
    seconds at most, and the call returns.
    """
    uvicorn = require("uvicorn", extra="service")
    write_logs(sys.stderr)
    log("started", version=__version__, surveys=len(collector.store.surveys()))
    # no access log and no proxy headers: who asked is nobody's business
    config = uvicorn.Config(
        make_app(collector),
        access_log=False,
        proxy_headers=False,
        server_header=False,
        log_config=None,
        timeout_graceful_shutdown=collector.settings.grace,
    )
    settle()
    with _deaf_to_signals():
        uvicorn.Server(config).run(sockets=[listening])
    collector.store.close()
    log("stopped")


def settle() -> None:
    """Leave what is loaded by now out of all later searches for garbage.

    It stays to the end, and to look through it takes 80 ms, for which every report would wait.
    """
    gc.collect()
    gc.freeze()


def _listening(host: str, port: int) -> socket.socket:
    """A socket that listens; one that cannot be had is refused before anything is started."""
    try:
        family = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0][0]
        return socket.create_server((host, port), family=family)
    except OSError as problem:
        raise SettingError(
            f"{host} port {port} cannot be listened at ({problem.strerror}). Choose another host or port, or stop what "
            "listens there."
        ) from None


@contextmanager
def _deaf_to_signals() -> Iterator[None]:
    """The server raises the signal that stopped it once more at the end; here it has done its work."""
    before = {one: signal.signal(one, lambda *_: None) for one in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for one, handler in before.items():
            signal.signal(one, handler)
