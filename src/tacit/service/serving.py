"""Running a collector: one process that listens, logs no values, and stops gracefully."""

from __future__ import annotations

import logging
import sys
from pathlib import Path
from typing import Final

from tacit._base.extras import require
from tacit._base.files import make_folders
from tacit.service.access import Limits
from tacit.service.app import Collector, make_app
from tacit.service.store import Store

_GRACE_SECONDS: Final = 20  # for requests that were begun; a transaction takes far less
_LINE: Final = '{"at":"%(asctime)s","level":"%(levelname)s","what":"%(message)s"}'


def serve(store: Store, folder: Path, *, host: str, port: int, limits: Limits | None = None) -> None:
    """Listen until told to stop; what was acknowledged is on the disk whatever happens."""
    uvicorn = require("uvicorn", extra="service")
    make_folders(folder)
    logging.basicConfig(level=logging.INFO, stream=sys.stderr, format=_LINE)
    # no access log and no proxy headers: who asked is nobody's business
    uvicorn.run(
        make_app(Collector(store, folder, limits=limits)),
        host=host,
        port=port,
        access_log=False,
        proxy_headers=False,
        server_header=False,
        log_config=None,
        timeout_graceful_shutdown=_GRACE_SECONDS,
    )
