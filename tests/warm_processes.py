"""Commands in processes of their own that do not load their modules first: forked from one that has loaded them.

To start a collector takes a second of processor time, and nearly all of it is loading. What a process that is started
in the usual way does until it answers is tested by tests/end_to_end/test_deploy.py and tests/cli/test_collector.py.
"""

from __future__ import annotations

import atexit
import json
import os
import signal
import subprocess
import sys
import time
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from threading import Lock
from typing import Any

_FORKING = """
import encodings.idna, json, os, sys
import anyio, anyio._core._sockets, httptools, uvicorn, uvicorn.protocols.http.httptools_impl, uvloop
import tacit.cli, tacit.cli.app, tacit.cli.serve, tacit.service.serving
for line in sys.stdin:
    asked = json.loads(line)
    if "pid" in asked:
        pid, status = os.waitpid(asked["pid"], os.WNOHANG)
        print(os.waitstatus_to_exitcode(status) if pid else "running", flush=True)
        continue
    pid = os.fork()
    if pid:
        print(pid, flush=True)
        continue
    nothing = os.open(os.devnull, os.O_RDWR)
    for kept, target in ((nothing, 0), (nothing, 1), (os.open(asked["log"], os.O_WRONLY | os.O_APPEND), 2)):
        os.dup2(kept, target)
    os.chdir(asked["folder"])
    os.environ.clear()
    os.environ.update(asked["environment"])
    sys.argv = ["tacit", *asked["words"]]
    code = 1
    try:
        tacit.cli.main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else int(end.code is not None)
    finally:
        sys.stderr.flush()
        os._exit(code)
"""


@cache
def _loaded() -> subprocess.Popen[str]:
    """The process that has loaded what a collector needs; it ends with this one."""
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1] / "src")}
    process = subprocess.Popen(
        [sys.executable, "-c", _FORKING], env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    atexit.register(process.kill)
    return process


_ASKING = Lock()  # tests start and stop collectors from several threads


def _ask(**asked: Any) -> str:
    with _ASKING:
        process = _loaded()
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(json.dumps(asked) + "\n")
        process.stdin.flush()
        return process.stdout.readline().strip()


@dataclass
class WarmProcess:
    """A command in a process of its own, with what ``subprocess.Popen`` offers of it."""

    pid: int
    returncode: int | None = None

    @classmethod
    def start(cls, words: list[str], log: Path) -> WarmProcess:
        """Start a command whose errors and log are added to a file."""
        log.touch()
        return cls(int(_ask(words=words, log=str(log), folder=str(Path.cwd()), environment=dict(os.environ))))

    def poll(self) -> int | None:
        if self.returncode is None and (said := _ask(pid=self.pid)) != "running":
            self.returncode = int(said)
        return self.returncode

    def wait(self, timeout: float) -> int:
        end = time.monotonic() + timeout
        while (code := self.poll()) is None:
            assert time.monotonic() < end, "the process does not end"
            time.sleep(0.005)
        return code

    def send_signal(self, how: int) -> None:
        if self.poll() is None:
            os.kill(self.pid, how)

    def kill(self) -> None:
        self.send_signal(signal.SIGKILL)
