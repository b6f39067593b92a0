"""Make a virtual environment and install Tacit with an extra into it, in place.

    python3 tools/environment.py .venv desk

The extras ``desk`` and ``test`` get the versions of ``requirements/constraints-<version of Python>.txt``. On a Python
without such a file they get what the ranges of ``pyproject.toml`` allow. Leaves the file ``<environment>/.<extra>`` as
a mark for make. Needs only the standard library.
"""

from __future__ import annotations

import subprocess
import sys
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
CONSTRAINED = ("desk", "test")  # the peers of ``bench`` need versions of their own


def constraints_for(version: tuple[int, int]) -> Path:
    """Return the file of versions that were tested together on a minor version of Python; it need not exist."""
    return ROOT / "requirements" / f"constraints-{version[0]}.{version[1]}.txt"


def constraint_options(extra: str, version: tuple[int, int]) -> list[str]:
    """Return the options of pip that hold an extra to the tested versions; none for another Python or extra."""
    path = constraints_for(version)
    if extra not in CONSTRAINED or not path.exists():
        return []
    return ["--constraint", str(path)]


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
    version = sys.version_info[:2]
    constraints = constraint_options(extra, version)
    if extra in CONSTRAINED and not constraints:
        print(
            f"No versions were tested for Python {version[0]}.{version[1]}: taking what pyproject.toml allows. "
            "Note them with: make constraints",
            flush=True,
        )
    subprocess.run([*pip, *constraints, "--editable", f".[{extra}]"], check=True)
    (folder / f".{extra}").touch()


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except subprocess.CalledProcessError as problem:
        sys.exit(f"Installing failed (see above); the command was: {' '.join(problem.cmd)}")
