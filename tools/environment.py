"""Make a virtual environment and install Tacit with an extra into it, in place.

    python3 tools/environment.py .venv desk

Leaves the file ``<environment>/.<extra>`` as a mark for make. Needs only the standard library.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path


def main(environment: str, extra: str) -> None:
    if sys.version_info < (3, 11):
        sys.exit(f"Tacit needs Python 3.11 or later; this is {sys.version.split()[0]}. Run: make PYTHON=python3.12 ...")
    folder = Path(environment)
    python = folder / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
    if not python.exists():
        print(f"Making the virtual environment {folder} ...", flush=True)
        try:
            venv.create(folder, with_pip=True)
        except (subprocess.CalledProcessError, OSError):
            sys.exit("Python's venv module is incomplete here. On Debian or Ubuntu run: apt-get install python3-venv")
    print(f"Installing tacit[{extra}]; the first time takes a minute or two ...", flush=True)
    pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
    subprocess.run([*pip, "--upgrade", "pip>=24"], check=True)
    subprocess.run([*pip, "--editable", f".[{extra}]"], check=True)
    (folder / f".{extra}").touch()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except subprocess.CalledProcessError as problem:
        sys.exit(f"Installing failed (see above); the command was: {' '.join(problem.cmd)}")
