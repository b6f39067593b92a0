"""Note the versions that pip chooses today for everything that demo and tests need.

    python3 tools/constraints.py

Writes ``requirements/constraints-<version of Python>.txt``, for the Python that runs it: names and versions, nothing
about where they came from. Run the tests before you commit it. Needs only the standard library.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

from environment import ROOT, constraints_for

_OWN = "tacit"


def chosen(extra: str) -> dict[str, str]:
    """Return the version of every package that pip would install with an extra, by its name in lower case."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        python = Path(folder) / ("Scripts/python.exe" if sys.platform == "win32" else "bin/python")
        report = Path(folder) / "report.json"
        pip = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "--quiet"]
        subprocess.run([*pip, "--upgrade", "pip>=24"], check=True)
        asked = ["--dry-run", "--ignore-installed", "--report", str(report), f"{ROOT}[{extra}]"]
        subprocess.run([*pip, *asked], check=True)
        found = json.loads(report.read_text(encoding="utf-8"))["install"]
    named = {part["metadata"]["name"].lower().replace("_", "-"): part["metadata"]["version"] for part in found}
    return {name: version for name, version in sorted(named.items()) if name != _OWN}


def main() -> None:
    path = constraints_for(sys.version_info[:2])
    versions = chosen("test")
    head = (
        f"# The versions that demo and tests use on Python {sys.version_info[0]}.{sys.version_info[1]}. "
        "Made by: make constraints\n"
    )
    path.parent.mkdir(exist_ok=True)
    path.write_text(head + "".join(f"{name}=={version}\n" for name, version in versions.items()), encoding="utf-8")
    print(f"{path.relative_to(ROOT)}: {len(versions)} versions. Run make test before you commit it.")


if __name__ == "__main__":
    main()
