"""Pages opened one after the other in one tab of a browser."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page, sync_playwright

FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
HEIGHT = 900


@dataclass
class Opened:
    """A page in the browser and everything it said or asked for."""

    page: Page
    console: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    """Both in one, without the page itself."""
    path: str = ""

    def hear(self, text: str) -> None:
        self.console.append(text)
        self.said.append(text)

    def ask(self, url: str) -> None:
        self.requests.append(url)
        if url.partition("#")[0] != self.path:
            self.said.append(url)


class Tabs:
    """The tabs of a browser without a network, one for all pages that are opened with the same settings.

    A tab of its own is a process of its own, and takes a page two thirds of its processor time.
    """

    def __init__(self, browser: Browser) -> None:
        self._browser = browser
        self._tabs: dict[tuple[tuple[str, Any], ...], Opened] = {}

    def open(
        self, path: Path, *, address: str = "", width: int = 1280, beside: bool = False, **settings: Any
    ) -> Opened:
        """Open a file in place of the last one with these settings, or ``beside`` all others, where it stays."""
        key = tuple(sorted(settings.items()))
        if beside or key not in self._tabs:
            opened = self._new(width, settings)
        else:
            opened = self._tabs[key]
            _clear(opened, width, settings)
        if not beside:
            self._tabs[key] = opened
        opened.path = path.as_uri()
        opened.page.goto(opened.path + address)
        return opened

    def _new(self, width: int, settings: dict[str, Any]) -> Opened:
        size = {"width": width, "height": HEIGHT}
        context = self._browser.new_context(viewport=size, offline=True, **settings)  # type: ignore[arg-type]
        opened = Opened(context.new_page())
        opened.page.on("console", lambda message: opened.hear(message.text))
        opened.page.on("pageerror", lambda error: opened.hear(str(error)))
        opened.page.on("request", lambda request: opened.ask(request.url))
        return opened


def _clear(opened: Opened, width: int, settings: dict[str, Any]) -> None:
    """Make a tab as one that was just opened."""
    opened.page.goto("about:blank")
    opened.page.mouse.move(0, 0)
    opened.page.emulate_media(media="null", color_scheme=settings.get("color_scheme", "light"))
    opened.page.set_viewport_size({"width": width, "height": HEIGHT})
    for heard in (opened.console, opened.requests, opened.said):
        heard.clear()


@contextmanager
def tabs_of(chromium: Path) -> Iterator[Tabs]:
    """Start a browser."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=FLAGS)
        yield Tabs(browser)
        browser.close()
