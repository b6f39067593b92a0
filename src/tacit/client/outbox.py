"""Messages on their way to a collector: on the disk until they are counted, sent again with the same id.

A message lies in ``waiting`` under its id. When the collector has counted it, now or earlier, the file goes. One that
the collector refuses for good moves to ``refused``, so that nothing is lost without a word. What lies here is
randomized: it tells a finder no more than it tells the collector.
"""

from __future__ import annotations

import random
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tacit._base.extras import require
from tacit._base.files import make_folders, write_whole
from tacit.errors import FormatError, SettingError

MESSAGE_TYPE: Final = "application/vnd.tacit.message"
# what proxies and collectors say when the same may be counted later
_TRY_AGAIN: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_TIMEOUT_SECONDS: Final = 30.0  # far longer than a commit takes, so that a slow answer is not asked for twice
_LONGEST_WAIT: Final = 60.0  # seconds between two tries: the collector is back soon after, and is not pressed


@dataclass(frozen=True, slots=True)
class Sent:
    """What became of the messages that were waiting."""

    n_counted: int = 0
    n_waiting: int = 0
    refused: dict[str, int] = field(default_factory=dict)
    """How many messages were refused for good, by what the collector said."""


class Outbox:
    """The messages of one device or station for one survey, in a folder."""

    def __init__(self, folder: str | Path, url: str, *, token: str | None = None) -> None:
        if not url.startswith(("https://", "http://")):
            raise SettingError(f"the address of a survey begins with https://; got {url!r}.")
        self.url: Final = url.rstrip("/")
        self._waiting, self._refused = Path(folder) / "waiting", Path(folder) / "refused"
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        for one in (self._waiting, self._refused):
            make_folders(one)

    def put(self, message: bytes, id: bytes) -> None:
        """Take a message; on return it is on the disk."""
        write_whole(self._waiting / f"{id.hex()}.message", message)

    def __len__(self) -> int:
        return len(self._paths())

    def _paths(self) -> list[Path]:
        return sorted(self._waiting.glob("*.message"))  # by random ids: the order says nothing

    def fetch(self, what: str) -> Any:
        """Return a public document of the survey, such as its plan."""
        httpx2 = require("httpx2", extra="client")
        try:
            answer = httpx2.get(f"{self.url}/{what}", headers=self._headers, timeout=_TIMEOUT_SECONDS)
            answer.raise_for_status()
            return answer.json()
        except (httpx2.HTTPError, ValueError) as problem:
            raise FormatError(
                f"{self.url} gave no {what} ({type(problem).__name__}). Check the address, or try again later."
            ) from None

    def send(
        self,
        *,
        tries: int = 5,
        progress: Callable[[int, int], None] | None = None,
        sleep: Callable[[float], None] = time.sleep,
    ) -> Sent:
        """Send what waits. A message that cannot be delivered after so many tries stays, and so do those after it."""
        httpx2 = require("httpx2", extra="client")
        paths, n_counted, refused = self._paths(), 0, Counter[str]()
        with httpx2.Client(headers=self._headers, timeout=_TIMEOUT_SECONDS) as client:
            for path in paths:
                told = self._deliver(httpx2, client, path, tries, sleep)
                if told is None:
                    break
                if told:
                    refused[told] += 1
                    path.rename(self._refused / path.name)
                else:
                    n_counted += 1
                    path.unlink()
                if progress is not None:
                    progress(n_counted + refused.total(), len(paths))
        return Sent(n_counted, len(self), dict(refused))

    def _deliver(self, httpx2: Any, client: Any, path: Path, tries: int, sleep: Callable[[float], None]) -> str | None:
        """Return "" for a message that is counted, why it never will be, or None if nobody answered."""
        content = path.read_bytes()
        for number in range(tries):
            # no secret: senders that were cut off together shall not come back together
            wait = min(_LONGEST_WAIT, 2.0**number) * random.uniform(0.5, 1.0)
            try:
                answer = client.post(f"{self.url}/reports", content=content, headers={"Content-Type": MESSAGE_TYPE})
            except httpx2.HTTPError:
                answer = None
            if answer is not None and answer.status_code == 200:
                return ""
            if answer is not None and answer.status_code not in _TRY_AGAIN:
                return _reason(answer)
            if number + 1 < tries:
                told = "" if answer is None else answer.headers.get("Retry-After", "")
                sleep(max(wait, min(_LONGEST_WAIT, float(told)) if told.isdigit() else 0.0))
        return None


def _reason(answer: Any) -> str:
    """Return what a collector said of a message that it will never count."""
    try:
        told = answer.json()
        return f"{told['title']}: {told['detail']}"
    except (ValueError, KeyError, TypeError):
        return f"HTTP status {answer.status_code}"
