"""The files of deploy/: the container's instructions are read, and what they run is run in a fresh environment."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
import sysconfig
import tomllib
import venv
from pathlib import Path

import httpx2
import pytest

from service_worlds import free_port, survey_of, when_up
from tacit.service.settings import Settings, read_settings

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
GUIDE = ROOT / "docs" / "guides" / "running-a-collector.md"


def instructions() -> list[tuple[str, str]]:
    """The instructions of the container file, each with its words."""
    text = re.sub(r"\\\n", " ", (DEPLOY / "Containerfile").read_text(encoding="utf-8"))
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("#")]
    found = [tuple(line.split(maxsplit=1)) for line in lines]
    known = {*("FROM", "WORKDIR", "COPY", "RUN", "USER", "VOLUME", "ENV", "EXPOSE", "HEALTHCHECK", "STOPSIGNAL", "CMD")}
    assert {name for name, _ in found} <= known
    return found


def words_of(name: str) -> list[str]:
    return [words for one, words in instructions() if one == name]


def test_every_file_that_the_container_copies_is_there():
    for words in words_of("COPY"):
        *sources, _ = words.split()
        if not sources[0].startswith("--from="):
            assert all((ROOT / source).exists() for source in sources), words


def test_the_container_runs_as_nobody_special_with_one_volume_and_no_secret():
    named = [name for name, _ in instructions()]
    (user,) = words_of("USER")
    assert int(user) > 0
    assert f"--uid {user} " in next(words for words in words_of("RUN") if words.startswith("useradd"))
    assert named.index("USER") < named.index("CMD")
    assert words_of("VOLUME") == ["/data"]
    assert all("slim" in words for words in words_of("FROM"))
    settings = dict(pair.split("=") for words in words_of("ENV") for pair in words.split())
    assert settings.keys() <= {"TACIT_HOST", "PYTHONUNBUFFERED"}
    text = (DEPLOY / "Containerfile").read_text(encoding="utf-8").lower()
    assert not re.search(r"token|password|secret(?! is in the image)", text)
    assert words_of("EXPOSE") == [str(Settings().port)]


def test_the_other_files_say_what_the_settings_say():
    proxy = (DEPLOY / "nginx.conf").read_text(encoding="utf-8")
    assert f"client_max_body_size {Settings().most_bytes >> 20}m;" in proxy
    assert f"proxy_pass http://{Settings().host}:{Settings().port};" in proxy
    assert "access_log off;" in proxy
    unit = (DEPLOY / "tacit.service").read_text(encoding="utf-8")
    assert int(re.search(r"TimeoutStopSec=(\d+)", unit)[1]) > Settings().grace
    for command in re.findall(r"ExecStart=\S+/tacit (.*)", unit):
        assert command == "serve --config /etc/tacit/tacit.toml"
    guide = GUIDE.read_text(encoding="utf-8")
    for name in ("Containerfile", "tacit.toml", "tacit.service", "nginx.conf"):
        assert f"../../deploy/{name}" in guide


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """A new environment with the wheel that the container builds; its libraries are those of this one."""
    folder = tmp_path_factory.mktemp("container")
    wheels = folder / "wheels"
    build, install, _ = words_of("RUN")
    ours = {"python": sys.executable, "/wheels": str(wheels)}
    command = [ours.get(word, word) for word in shlex.split(build)]
    subprocess.run(command, cwd=ROOT, check=True, stdout=subprocess.DEVNULL)
    venv.create(folder / "venv", with_pip=False)
    python = folder / "venv" / "bin" / "python"
    site = next((folder / "venv" / "lib").glob("python*/site-packages"))
    (site / "libraries.pth").write_text(sysconfig.get_path("purelib") + "\n")
    first, _, rest = install.partition(" && ")
    assert rest == "rm -r /wheels"
    words = shlex.split(first.replace("/wheels/constraints.txt", str(ROOT / "requirements/constraints-3.11.txt")))
    words = [ours.get(word, word) for word in words]
    at = words.index("install")
    more = ["--no-deps", "--no-index", "--quiet", "--disable-pip-version-check", "--no-compile", "--force-reinstall"]
    command = [*words[:at], "--python", str(python), "install", *more, *words[at + 1 :]]
    subprocess.run(command, check=True, stderr=subprocess.DEVNULL)
    return python


@pytest.mark.slow
def test_what_the_container_runs_starts_answers_and_stops(installed, tmp_path):
    data, port, token = tmp_path / "data", free_port(), "0123456789abcdef" * 4
    data.mkdir()
    survey_of().plan.write(data / "visits.toml")
    (data / "tacit.toml").write_bytes((DEPLOY / "tacit.toml").read_bytes())
    (data / "admin-token").write_text(f"{token}\n")
    where = "import tacit; print(tacit.__file__)"
    found = subprocess.run([installed, "-c", where], capture_output=True, text=True, cwd=data).stdout
    assert found.startswith(str(installed.parents[1]))
    command = json.loads(words_of("CMD")[0])
    assert command[0] == "tacit"
    command = [str(installed.with_name("tacit")), *(word.replace("/data", str(data)) for word in command[1:])]
    environment = {"PATH": os.environ["PATH"], "TACIT_PORT": str(port)}  # and none of PYTHONPATH
    log = (tmp_path / "log").open("wb")
    process = subprocess.Popen(command, cwd=data, env=environment, stdout=log, stderr=log)
    try:
        when_up(port, process)
        check = words_of("HEALTHCHECK")[0].partition("CMD ")[2].replace("8420", str(port))
        program, *words = json.loads(check)
        assert program == "python"
        subprocess.run([installed, *words], check=True)
        base = f"http://127.0.0.1:{port}"
        overview = httpx2.get(f"{base}/v1/operator", headers={"Authorization": f"Bearer {token}"}).json()
        assert [one["survey"] for one in overview["surveys"]] == ["visits"]
        for part in ("/operator", "/operator/operator.js", "/surveys/visits", "/form/client.mjs"):
            assert httpx2.get(base + part).status_code == 200
    finally:
        process.send_signal(signal.SIGTERM)
        code = process.wait(60)
        log.close()
    assert code == 0
    assert (data / "collector.sqlite").exists()
    assert token not in (tmp_path / "log").read_text()


def test_the_example_of_settings_is_read_and_wrong_health_is_found(tmp_path):
    (tmp_path / "admin-token").write_text("t" * 32)
    (tmp_path / "tacit.toml").write_bytes((DEPLOY / "tacit.toml").read_bytes())
    settings, surveys = read_settings(tmp_path / "tacit.toml", {}, {})
    assert settings.admin_token == "t" * 32
    assert [one.name for one in surveys] == ["visits"]
    _, *words = json.loads(words_of("HEALTHCHECK")[0].partition("CMD ")[2].replace("8420", str(free_port())))
    ran = subprocess.run([sys.executable, *words], capture_output=True)
    assert ran.returncode != 0


def test_the_guide_s_example_of_settings_is_read(tmp_path):
    (tmp_path / "admin-token").write_text("t" * 32)
    (block,) = re.findall(r"^```toml\n(.*?)^```$", GUIDE.read_text(encoding="utf-8"), re.MULTILINE | re.DOTALL)
    tomllib.loads(block)
    (tmp_path / "tacit.toml").write_text(block)
    _, surveys = read_settings(tmp_path / "tacit.toml", {}, {})
    # what is not said stays as the survey has it
    assert [(one.name, one.late, one.is_open) for one in surveys] == [("visits", None, None), ("calls", 3, True)]
