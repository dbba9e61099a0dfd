"""Headless Chromium for tests, driven over a pipe by its DevTools protocol: no package and no port is needed."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from required import missing

__all__ = ["Browser", "Page", "open_browser"]

NAMES = ("chromium", "chromium-browser", "google-chrome")
SECONDS = 60
LEAST = 10
#: The browser reads orders from descriptor 3 and writes answers to 4.
START = "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execvp(sys.argv[3], sys.argv[3:])"


def program() -> str:
    """Return the program, as ``PARAPLY_TEST_CHROMIUM`` names it or the system has it; skips the test where there is none."""
    found = os.environ.get("PARAPLY_TEST_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)
    if found is None:
        missing("NO BROWSER: install chromium, or name the program in PARAPLY_TEST_CHROMIUM")
    return found


@contextlib.contextmanager
def open_browser() -> Iterator[Browser]:
    """Start a browser without a window and with an empty profile; it ends with the block."""
    command = [program(), "--headless=new", "--remote-debugging-pipe", "--no-first-run", "--disable-gpu", "--hide-scrollbars"]
    if os.geteuid() == 0:
        command.append("--no-sandbox")
    orders, answers = pipe(), pipe()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        process = subprocess.Popen(
            [sys.executable, "-c", START, str(orders[0]), str(answers[1]), *command, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(orders[0], answers[1]),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(orders[0])
        os.close(answers[1])
        try:
            yield Browser(orders[1], answers[0])
        finally:
            os.close(orders[1])
            os.close(answers[0])
            process.terminate()
            process.wait(SECONDS)


def pipe() -> tuple[int, int]:
    """Return a pipe whose descriptors are not 3 and 4, which are the browser's."""
    ends = os.pipe()
    found = [fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, LEAST) for end in ends]
    for end in ends:
        os.close(end)
    return found[0], found[1]


class Browser:
    """Running browser.

    Args:
        orders: Descriptor for orders.
        answers: Descriptor for answers and events.
    """

    def __init__(self, orders: int, answers: int) -> None:
        self._orders, self._answers = orders, answers
        self._number = 0
        self._rest = b""
        self.events: list[dict[str, Any]] = []
        """Events since the last order was given whose answer they preceded."""

    def order(self, method: str, session: str | None = None, **values: Any) -> dict[str, Any]:
        """Give an order, and return its result; events that come before are kept."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": values} | ({"sessionId": session} if session else {})
        os.write(self._orders, json.dumps(message).encode() + b"\0")
        until = time.monotonic() + SECONDS
        while (answer := self._read(until)).get("id") != self._number:
            self.events.append(answer)
        if "error" in answer:
            raise RuntimeError(f"{method}: {answer['error']}")
        result: dict[str, Any] = answer["result"]
        return result

    def page(self) -> Page:
        """Open a page that shares nothing with other pages."""
        context = self.order("Target.createBrowserContext")["browserContextId"]
        target = self.order("Target.createTarget", url="about:blank", browserContextId=context)["targetId"]
        session = self.order("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        return Page(self, session)

    def _read(self, until: float) -> dict[str, Any]:
        while b"\0" not in self._rest:
            if not select.select([self._answers], [], [], max(0.0, until - time.monotonic()))[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self._answers, 1 << 20)
            if not part:
                raise RuntimeError("the browser ended")
            self._rest += part
        message, _, self._rest = self._rest.partition(b"\0")
        answer: dict[str, Any] = json.loads(message)
        return answer


class Page:
    """Page of a browser.

    Args:
        browser: The browser.
        session: Its session with the page.
    """

    def __init__(self, browser: Browser, session: str) -> None:
        self._browser, self._session = browser, session
        for area in ("Page", "Runtime", "Log", "Network"):
            self.order(f"{area}.enable")

    def order(self, method: str, **values: Any) -> dict[str, Any]:
        """Give an order to the page, and return its result."""
        return self._browser.order(method, self._session, **values)

    def size(self, width: int, height: int, *, phone: bool = False) -> None:
        """Set the size of the window in pixels."""
        self.order("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)

    def prefer(self, scheme: str) -> None:
        """Set what the system prefers: ``light`` or ``dark``."""
        self.order("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def open(self, path: Path, ready: str) -> None:
        """Open a file, and wait until an expression is true."""
        self.order("Page.navigate", url=path.resolve().as_uri())
        self.wait(ready)

    def wait(self, condition: str) -> None:
        """Wait until an expression is true."""
        until = time.monotonic() + SECONDS
        while not self.evaluate(f"Boolean({condition})"):
            if time.monotonic() > until:
                raise TimeoutError(f"not true after {SECONDS} s: {condition}; messages: {self.messages()}")
            time.sleep(0.05)

    def evaluate(self, expression: str) -> Any:
        """Return the value of an expression."""
        answer = self.order("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in answer:
            raise RuntimeError(f"{expression}: {answer['exceptionDetails']}")
        return answer["result"].get("value")

    def key(self, name: str, code: int, text: str = "") -> None:
        """Press and release a key."""
        values = {"key": name, "windowsVirtualKeyCode": code} | ({"text": text} if text else {})
        self.order("Input.dispatchKeyEvent", type="keyDown", **values)
        self.order("Input.dispatchKeyEvent", type="keyUp", key=name, windowsVirtualKeyCode=code)

    def messages(self) -> list[str]:
        """Return messages on the console, uncaught errors, and violations of the page's policy."""
        found = []
        for event in self._of("Runtime.consoleAPICalled", "Runtime.exceptionThrown", "Log.entryAdded"):
            found.append(f"{event['method']}: {json.dumps(event['params'])[:500]}")
        return found

    def requests(self) -> list[str]:
        """Return the addresses that the page asked for."""
        return [event["params"]["request"]["url"] for event in self._of("Network.requestWillBeSent")]

    def screenshot(self, path: Path, *, selector: str | None = None) -> None:
        """Write a picture of the whole page or of an element."""
        box = f"document.querySelector({json.dumps(selector or 'html')}).getBoundingClientRect()"
        x, y, width, height = self.evaluate(f"(b => [b.x + scrollX, b.y + scrollY, b.width, b.height])({box})")
        clip = {"x": x, "y": y, "width": width, "height": height, "scale": 1}
        answer = self.order("Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(answer["data"]))

    def _of(self, *methods: str) -> list[dict[str, Any]]:
        return [event for event in self._browser.events if event.get("sessionId") == self._session and event.get("method") in methods]
