"""Making a release and its page, here or in a process of its own.

A large release takes seconds of Python, and reports would wait for them. A collector that serves makes releases in a
child process with a lower priority: it gets the tally of closed periods and the plan, and gives back the bytes of both
files. It has neither the store nor the key. What it finds wrong is raised here; what it logs goes where our logs go.
"""

from __future__ import annotations

import json
import logging
import os
import pickle
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from tacit._base.languages import ENGLISH, gettext, message, speaking
from tacit.collection.tallying import estimate_tally
from tacit.counts.tally import Tally
from tacit.errors import TacitError
from tacit.pages import make_page
from tacit.plan import Plan
from tacit.release import Release
from tacit.release.files import parquet_bytes
from tacit.service.logs import log, write_logs

REPORT_HERE: Final = message("Report without telling")
DOWNLOAD: Final = message("This release as a file")
_LOWER: Final = 10  # of nice: about a tenth of a busy core. With 5 it is a third, and reports wait longer


@dataclass(frozen=True, slots=True)
class Order:
    """All that a release is made of: a plan as JSON, the tally of closed periods, the release before, and words."""

    plan: str
    tally: Tally
    former: Path | None
    links: Mapping[str, str]
    """Sentences of the catalogs, and where they lead."""
    title: str = ""
    noun: str = ""
    language: str = ENGLISH


@dataclass(frozen=True, slots=True)
class Made:
    """A release that was made: its checksum, and the bytes of its file and of its page."""

    checksum: str
    file: bytes
    page: bytes


Make = Callable[[Order], Made]


def make_here(order: Order) -> Made:
    """Make a release and its page in this process."""
    plan = Plan.from_dict(json.loads(order.plan))
    former = None if order.former is None else Release.read(order.former)
    made = Release.of(plan, estimate_tally(order.tally, plan), revises=former)
    with speaking(order.language):
        links = {gettext(words): address for words, address in order.links.items()}
    with tempfile.TemporaryDirectory() as folder:
        page = make_page(
            made,
            Path(folder) / "page.html",
            title=order.title or None,
            noun=order.noun or None,
            language=order.language,
            links=links,
        )
        return Made(made.checksum, parquet_bytes(made), page.read_bytes())


class MakingStopped(Exception):
    """The process that made a release ended before it was done: it was stopped, or the machine has no memory left."""


@dataclass(slots=True)
class Apart:
    """Makes releases in processes of their own, one at a time."""

    _process: subprocess.Popen[bytes] | None = None
    _is_over: bool = False

    def __call__(self, order: Order) -> Made:
        if self._is_over:
            raise MakingStopped
        # not in our group of processes: Ctrl-C is for us, and we stop it
        command = [sys.executable, "-c", "from tacit.service.making import main; main()"]
        with subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, start_new_session=True
        ) as self._process:
            answer, _ = self._process.communicate(pickle.dumps(order))
        if self._process.returncode:
            raise MakingStopped
        made = pickle.loads(answer)
        if isinstance(made, TacitError):
            raise made
        assert isinstance(made, Made)
        return made

    def stop(self) -> None:
        """Stop what is being made, and make no more."""
        self._is_over = True
        if self._process is not None:
            self._process.kill()


def main() -> None:
    """Make what is ordered on standard input, and write it to standard output; nothing else comes there."""
    answers = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    write_logs(sys.stderr)
    if hasattr(os, "nice"):
        os.nice(_LOWER)
    order = pickle.load(sys.stdin.buffer)
    answer: Made | TacitError
    try:
        answer = make_here(order)
    except TacitError as error:
        answer = error
    except Exception as error:
        log("fault", level=logging.ERROR, error=error)
        raise SystemExit(1) from None
    with answers:
        pickle.dump(answer, answers)
