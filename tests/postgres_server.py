"""A PostgreSQL server of the tests' own: made in a temporary folder, reached through a socket in it, stopped after."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest

USER, PASSWORD = "reader", "s3cret-word"
MISSING = (
    "queries are tested against a PostgreSQL server, and none can be started here: {what}. "
    "Run: apt-get install postgresql, or set TACIT_POSTGRES to the folder of initdb and pg_ctl."
)


@dataclass(frozen=True)
class Server:
    """A running server: its folder, which holds its socket, and how its programs are called."""

    folder: Path
    programs: Path
    prefix: tuple[str, ...]
    is_durable: bool = False
    """Whether it waits for the disk, as it should; tests gain nothing from it."""

    def url(self, database: str = "postgres", password: str = PASSWORD) -> str:
        """The address of a database."""
        return f"postgresql://{USER}:{password}@/{database}?host={self.folder}"

    def run(self, script: str, database: str = "postgres") -> None:
        """Run statements as the owner of everything."""
        command = [str(self.programs / "psql"), "-qv", "ON_ERROR_STOP=1", "-h", str(self.folder), "-U", USER, database]
        environment = os.environ | {"PGPASSWORD": PASSWORD}
        subprocess.run(command, input=script, text=True, check=True, env=environment, stdout=subprocess.DEVNULL)

    def stop(self, how: str = "immediate") -> None:
        """Stop it: at once, as if it had crashed, or after open transactions."""
        _call(self, "pg_ctl", "-D", self.folder / "data", "-m", how, "-w", "stop")

    def start(self) -> None:
        """Start it, again with the same data."""
        settings = (
            f"-k {self.folder} -c listen_addresses='' -c fsync={'on' if self.is_durable else 'off'} "
            "-c timezone=America/New_York"
        )
        _call(self, "pg_ctl", "-D", self.folder / "data", "-l", self.folder / "log", "-w", "-o", settings, "start")

    def process(self) -> int:
        """The number of its first process."""
        return int((self.folder / "data" / "postmaster.pid").read_text().split()[0])

    def environment(self) -> dict[str, str]:
        """What lets an address leave out host, user and password."""
        return {"PGHOST": str(self.folder), "PGUSER": USER, "PGPASSWORD": PASSWORD}


@contextmanager
def running(*, is_durable: bool = False, has_small_log: bool = True) -> Iterator[Server]:
    """Start a server, and stop it at the end; fails where that is not possible.

    Its log has small segments, so that a limit on the size of files can be small. One that is timed has its own size:
    small ones are made all the time, and each waits for the disk.
    """
    programs, prefix = _programs(), _as_another_user()
    folder = Path(tempfile.mkdtemp(prefix="tacit-pg-", dir="/tmp"))  # the path of a socket must be short
    server = Server(folder, programs, prefix, is_durable)
    try:
        (folder / "password").write_text(PASSWORD)
        if prefix:
            for path in (folder, folder / "password"):
                shutil.chown(path, prefix[2])
        _call(server, "initdb", "-D", folder / "data", "-U", USER, "-A", "scram-sha-256", "-E", "UTF8", "--no-locale",
              "--no-sync", *["--wal-segsize=1"][:has_small_log], "--pwfile", folder / "password")  # fmt: skip
        server.start()
        try:
            yield server
        finally:
            server.stop()
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _programs() -> Path:
    """The folder of initdb and pg_ctl; Debian keeps them off the path."""
    named, found = os.environ.get("TACIT_POSTGRES"), shutil.which("initdb")
    folders = [Path(named)] if named else [Path(found).resolve().parent] if found else []
    folders += sorted(Path("/usr/lib/postgresql").glob("*/bin"), reverse=True)
    whole = [one for one in folders if (one / "initdb").exists() and (one / "pg_ctl").exists()]
    if not whole:
        pytest.fail(MISSING.format(what="initdb and pg_ctl were not found"))
    return whole[0]


def _as_another_user() -> tuple[str, ...]:
    """What runs a command as an unprivileged user where the tests are run by root, which the server refuses."""
    if os.geteuid() != 0:
        return ()
    if shutil.which("runuser") is None:
        pytest.fail(MISSING.format(what="root may not run it, and there is no runuser"))
    known = {entry.pw_name for entry in pwd.getpwall()}
    return ("runuser", "-u", "postgres" if "postgres" in known else "nobody", "--")


def _call(server: Server, program: str, *words: object) -> None:
    command = [*server.prefix, str(server.programs / program), *map(str, words)]
    # a server keeps what it is given open: a pipe would never end
    with (server.folder / "said").open("a") as said:
        code = subprocess.run(command, stdout=said, stderr=said, stdin=subprocess.DEVNULL, cwd="/").returncode
    if code:
        pytest.fail(MISSING.format(what=f"{program} failed: {(server.folder / 'said').read_text()[-500:]}"))
