"""A real Chromium that is driven by the W3C's WebDriver, so that a test can type and click."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest

from tests.integration.conftest import CHROMIUM_FLAGS, stopped
from tests.servers.ports import free_port

_PATIENCE: Final = 120
"""Seconds that the browser waits for an element of a page to appear."""

_ELEMENT: Final = "element-6066-11e4-a52e-4f735466cecf"
"""The name that the W3C gave the reference to an element."""


class CoveredElementError(AssertionError):
    """Another element would get the click."""


class Browser:
    """One window. Elements are found by XPath, and waited for."""

    def __init__(self, address: str) -> None:
        self._address = address

    def open(self, url: str) -> None:
        """Go to a page."""
        self._call("POST", "/url", url=url)

    def text(self, xpath: str) -> str:
        """Return the text of an element."""
        return str(self._of_element(xpath, "GET", "/text"))

    def click(self, xpath: str) -> None:
        """Click an element, as soon as nothing covers it that moves away."""
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._of_element(xpath, "POST", "/click")
            except CoveredElementError:
                if time.monotonic() > end:
                    raise
            time.sleep(0.1)

    def type(self, xpath: str, text: str) -> None:
        """Press the keys of ``text`` in an element."""
        self._of_element(xpath, "POST", "/value", text=text)

    def paste(self, xpath: str, text: str) -> None:
        """Put ``text`` into an element at once: on a busy machine pages of React lose keys that are pressed fast."""
        self.click(xpath)
        self._call(
            "POST", "/execute/sync", script="document.execCommand('insertText', false, arguments[0])", args=[text]
        )

    def press(self, keys: str) -> None:
        """Press keys, wherever the focus is."""
        strokes = [{"type": kind, "value": key} for key in keys for kind in ("keyDown", "keyUp")]
        self._call("POST", "/actions", actions=[{"type": "key", "id": "keyboard", "actions": strokes}])

    def run(self, script: str, *args: Any) -> Any:
        """Return what a script returns. It may return a promise."""
        return self._call("POST", "/execute/sync", script=script, args=list(args))

    def enter_frame(self, xpath: str) -> None:
        """Go into a frame of the page; what is found from now on is in it."""
        self._call("POST", "/frame", id=self._call("POST", "/element", using="xpath", value=xpath))

    def leave_frame(self) -> None:
        """Go back to the page."""
        self._call("POST", "/frame", id=None)

    def resize(self, width: int, height: int) -> None:
        """Set the size of the window."""
        self._call("POST", "/window/rect", width=width, height=height)

    def add_cookie(self, name: str, value: str) -> None:
        """Add a cookie of the site that is open."""
        self._call("POST", "/cookie", cookie={"name": name, "value": value, "path": "/"})

    def forget_cookies(self) -> None:
        """Delete the cookies of the site that is open."""
        self._call("DELETE", "/cookie")

    def replace(self, xpath: str, text: str) -> None:
        """Type ``text`` in place of what is in a field."""
        self._of_element(xpath, "POST", "/clear")
        self.type(xpath, text)

    def picture(self, xpath: str = "") -> bytes:
        """Return what an element shows, or all of the window, as a PNG."""
        shown = self._of_element(xpath, "GET", "/screenshot") if xpath else self._call("GET", "/screenshot")
        return base64.b64decode(shown)

    def _of_element(self, xpath: str, method: str, path: str, **body: Any) -> Any:
        found = self._call("POST", "/element", using="xpath", value=xpath)
        return self._call(method, f"/element/{found[_ELEMENT]}{path}", **body)

    def _call(self, method: str, path: str, **body: Any) -> Any:
        return _asked(method, self._address + path, body)


def _asked(method: str, url: str, body: Any) -> Any:
    data = json.dumps(body).encode() if method == "POST" else None
    request = urllib.request.Request(url, data, {"Content-Type": "application/json"}, method=method)
    try:
        with urllib.request.urlopen(request, timeout=_PATIENCE + 60) as response:
            return json.loads(response.read())["value"]
    except urllib.error.HTTPError as error:
        answer = error.read().decode()
        kind = CoveredElementError if '"element click intercepted"' in answer else AssertionError
        raise kind(f"{method} {url} {body}: {answer[:2000]}") from None


@contextmanager
def browser() -> Iterator[Browser]:
    """Start Chromium, and end it when the ``with`` block ends."""
    driver = shutil.which("chromedriver")
    if driver is None:
        pytest.skip("no ChromeDriver: apt-get install chromium chromium-driver")
    port = free_port()
    command = [driver, f"--port={port}", "--allowed-ips=127.0.0.1"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, start_new_session=True)
    assert process.stdout is not None
    with process.stdout as output, stopped([process]):
        for line in output:
            if "started successfully" in line:
                break
        address = f"http://127.0.0.1:{port}/session"
        flags = [flag for flag in CHROMIUM_FLAGS if "virtual-time" not in flag]
        capabilities = {"goog:chromeOptions": {"args": flags}, "timeouts": {"implicit": _PATIENCE * 1000}}
        session = _asked("POST", address, {"capabilities": {"alwaysMatch": capabilities}})["sessionId"]
        try:
            yield Browser(f"{address}/{session}")
        finally:
            _asked("DELETE", f"{address}/{session}", {})
