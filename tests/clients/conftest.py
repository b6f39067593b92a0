"""The built browser client, asked in Node and in Chromium."""

from __future__ import annotations

import json
import shutil
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import sync_playwright

from browser_client import CLIENT, answer_of

HERE = Path(__file__).parent
Ask = Callable[..., Any]


@pytest.fixture(scope="session")
def node() -> str:
    """Node; a machine without it cannot say that the browser client works."""
    found = shutil.which("node")
    if found is None:
        pytest.fail("the browser client is tested in Node, and none was found. Run: apt-get install nodejs npm")
    return found


@pytest.fixture(scope="session")
def ask_node(node) -> Iterator[Ask]:
    """Ask the client in one Node for all tests."""
    command = [node, str(HERE / "node.mjs"), CLIENT.as_uri()]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, encoding="utf-8") as process:

        def ask(question: str, **request: Any) -> Any:
            process.stdin.write(json.dumps({"ask": question} | request) + "\n")
            process.stdin.flush()
            return answer_of(json.loads(process.stdout.readline()))

        yield ask
        process.stdin.close()


@pytest.fixture(scope="module")  # no other may be open in the same process
def ask_chromium(chromium) -> Iterator[Ask]:
    """Ask the client in one page of Chromium for all tests."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.evaluate(
            """async (sources) => {
                const load = (source) => import(URL.createObjectURL(new Blob([source], { type: "text/javascript" })));
                const [client, answers] = await Promise.all(sources.map(load));
                globalThis.answer = answers.answersOf(client);
            }""",
            [CLIENT.read_text(encoding="utf-8"), (HERE / "answers.mjs").read_text(encoding="utf-8")],
        )

        def ask(question: str, **request: Any) -> Any:
            return answer_of(page.evaluate("(request) => answer(request)", {"ask": question} | request))

        yield ask
        browser.close()


@pytest.fixture(params=["node", pytest.param("chromium", marks=pytest.mark.browser)])
def ask(request) -> Ask:
    """Ask the client in both, one after the other."""
    return request.getfixturevalue(f"ask_{request.param}")
