"""A page in headless Chromium, over its devtools protocol: pictures, mouse, keyboard and downloads."""

from __future__ import annotations

import base64
import contextlib
import itertools
import json
import shutil
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import psutil
from websockets.sync.client import ClientConnection, connect

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
# The processor draws, because test machines may have no graphics card.
OPTIONS = (
    *("--headless", "--no-sandbox", "--hide-scrollbars", "--remote-debugging-port=0", "--remote-allow-origins=*"),
    *("--use-gl=angle", "--use-angle=swiftshader", "--enable-unsafe-swiftshader", "--enable-precise-memory-info"),
    *("--no-first-run", "--disable-component-update", "--disable-background-networking", "--disable-dev-shm-usage"),
)
DESKTOP, PHONE = (1280, 800), (390, 844)
# A place in pixels of the page.
PLACE = """(() => {
  const { x, y, width, height } = document.querySelector("%s").getBoundingClientRect();
  return { x: x + scrollX, y: y + scrollY, width, height, scale: 1 };
})()"""
# Key codes that a page's handlers may read.
KEYS = {
    "Enter": 13,
    "Escape": 27,
    "ArrowUp": 38,
    "ArrowDown": 40,
    "ArrowLeft": 37,
    "ArrowRight": 39,
    "Tab": 9,
    "/": 191,
}


class Page:
    """One page.

    Attributes `complaints`: errors on the console and uncaught exceptions; `requests`: every requested address.
    """

    def __init__(self, connection: ClientConnection, process: psutil.Process) -> None:
        self._connection, self._process = connection, process
        self._numbers = itertools.count(1)
        self.complaints: list[str] = []
        self.requests: list[str] = []
        for domain in ("Page", "Runtime", "Log", "Network", "Performance"):
            self.ask(f"{domain}.enable")

    def ask(self, method: str, **parameters: Any) -> dict[str, Any]:
        """Send a command of the protocol and return its result.

        :raises TimeoutError: after two minutes, also if the page goes on to tell of other things.
        """
        number = next(self._numbers)
        self._connection.send(json.dumps({"id": number, "method": method, "params": parameters}))
        deadline = time.monotonic() + 120
        while (left := deadline - time.monotonic()) > 0:
            message = json.loads(self._connection.recv(timeout=left))
            if message.get("id") == number:
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']['message']}")
                return dict(message["result"])
            self._notice(message)
        raise TimeoutError(f"{method} had no result after two minutes: {str(parameters)[:200]}")

    def _notice(self, message: dict[str, Any]) -> None:
        about = message.get("params", {})
        if message["method"] == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif message["method"] == "Log.entryAdded" and about["entry"]["level"] == "error":
            self.complaints.append(f"{about['entry']['text']} {about['entry'].get('url', '')}")
        elif message["method"] == "Runtime.consoleAPICalled" and about["type"] == "error":
            self.complaints.append(" ".join(str(one.get("value", one.get("description"))) for one in about["args"]))
        elif message["method"] == "Network.requestWillBeSent":
            self.requests.append(about["request"]["url"])

    def open(self, address: str) -> None:
        """Go to an address."""
        self.ask("Page.navigate", url=address)

    def value(self, script: str) -> Any:
        """Return the value of an expression in the page, after its promise."""
        found = self.ask("Runtime.evaluate", expression=script, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            details = found["exceptionDetails"]
            raise RuntimeError(details.get("exception", {}).get("description", details["text"]))
        return found["result"].get("value")

    def until(self, script: str, *, seconds: float = 30) -> Any:
        """Wait until an expression is true, and return its value."""
        deadline = time.monotonic() + seconds
        while True:
            with contextlib.suppress(RuntimeError):
                if found := self.value(script):
                    return found
            if time.monotonic() > deadline:
                raise TimeoutError(f"after {seconds:g} s it is not so: {script}; complaints: {self.complaints}")
            time.sleep(0.05)

    def middle(self, selector: str) -> tuple[float, float]:
        """Scroll an element into sight, and return its centre."""
        script = f"""(() => {{ const e = document.querySelector({json.dumps(selector)});
            e.scrollIntoView({{block: "nearest"}}); const b = e.getBoundingClientRect();
            return [b.left + b.width / 2, b.top + b.height / 2]; }})()"""
        x, y = self.value(script)
        return x, y

    def mouse(self, kind: str, x: float, y: float, *, pressed: bool = False) -> None:
        """Send one event of the mouse: "mousePressed", "mouseReleased" or "mouseMoved"."""
        button = "left" if pressed or kind != "mouseMoved" else "none"
        count = 0 if kind == "mouseMoved" else 1
        held = int(pressed or kind == "mousePressed")
        self.ask("Input.dispatchMouseEvent", type=kind, x=x, y=y, button=button, buttons=held, clickCount=count)

    def click(self, target: str | tuple[float, float]) -> None:
        """Click an element, or a place."""
        x, y = self.middle(target) if isinstance(target, str) else target
        self.mouse("mouseMoved", x, y)
        self.mouse("mousePressed", x, y)
        self.mouse("mouseReleased", x, y)

    def drag(self, places: Sequence[tuple[float, float]]) -> None:
        """Press at the first place, move through the others and release at the last."""
        self.mouse("mouseMoved", *places[0])
        self.mouse("mousePressed", *places[0])
        for x, y in places[1:]:
            self.mouse("mouseMoved", x, y, pressed=True)
        self.mouse("mouseReleased", *places[-1])

    def wheel(self, x: float, y: float, *, by: float) -> None:
        """Turn the wheel at a place; away from the user is negative."""
        self.ask("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=by)

    def touch(self, x: float, y: float) -> None:
        """Tap a place with a finger."""
        self.ask("Input.dispatchTouchEvent", type="touchStart", touchPoints=[{"x": x, "y": y}])
        self.ask("Input.dispatchTouchEvent", type="touchEnd", touchPoints=[])

    def key(self, name: str) -> None:
        """Press a key: a letter, a digit, or one of `KEYS`."""
        text = {"text": "\r"} if name == "Enter" else {"text": name} if len(name) == 1 else {}
        about = {"key": name, "windowsVirtualKeyCode": KEYS.get(name) or ord(name.upper())}
        self.ask("Input.dispatchKeyEvent", type="keyDown", **about, **text)
        self.ask("Input.dispatchKeyEvent", type="keyUp", **about)

    def write(self, text: str) -> None:
        """Type into the focused element."""
        self.ask("Input.insertText", text=text)

    def look(self, size: tuple[int, int] = DESKTOP, *, phone: bool = False, dark: bool = False) -> None:
        """Show the page on a screen of this size."""
        width, height = size
        ratio = 2 if phone else 1
        self.ask(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=ratio, mobile=phone
        )
        self.ask("Emulation.setTouchEmulationEnabled", enabled=phone)
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.ask("Emulation.setEmulatedMedia", features=[scheme])

    def picture(self, path: Path, *, of: str = "", area: tuple[int, int, int, int] | None = None) -> None:
        """Save a PNG of the visible page, of the element of this selector, or of an area: left, top, width, height."""
        clip = {"clip": self.value(PLACE % of)} if of else {}
        if area:
            place = dict(zip(("x", "y", "width", "height"), area, strict=True), scale=1)
            clip = {"clip": place, "captureBeyondViewport": True}
        path.write_bytes(base64.b64decode(self.ask("Page.captureScreenshot", format="png", **clip)["data"]))

    def downloads_to(self, folder: Path) -> None:
        """Save downloads in a folder."""
        self.ask("Browser.setDownloadBehavior", behavior="allow", downloadPath=str(folder))

    def heap_bytes(self) -> int:
        """Return the memory of the page's scripts after a garbage collection."""
        self.ask("HeapProfiler.collectGarbage")
        return int(self.ask("Runtime.getHeapUsage")["usedSize"])

    def resident_bytes(self) -> int:
        """Return the memory of all browser processes; shared memory counts for each."""
        family = [self._process, *self._process.children(recursive=True)]
        return sum(one.memory_info().rss for one in family if one.is_running())

    def busy_seconds(self) -> float:
        """Return the seconds that all browser processes have kept processors busy."""
        family = [self._process, *self._process.children(recursive=True)]
        return sum(sum(one.cpu_times()[:2]) for one in family if one.is_running())


@contextlib.contextmanager
def browser(*options: str) -> Iterator[Page]:
    """Start Chromium with an empty page and a new profile, and end it with the `with`.

    :param options: further options of the command line.
    """
    assert CHROMIUM is not None, "no chromium here"
    # Processes of the browser that end later may still write into its profile.
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile:
        command = [CHROMIUM, *OPTIONS, *options, f"--user-data-dir={profile}", "about:blank"]
        with subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as process:
            try:
                with connect(_address(Path(profile), process), max_size=None) as connection:
                    page = Page(connection, psutil.Process(process.pid))
                    page.look()
                    yield page
            finally:
                process.kill()


def _address(profile: Path, process: subprocess.Popen[bytes]) -> str:
    """Return the address of the protocol for a browser's empty page."""
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and process.poll() is None:
        with contextlib.suppress(OSError, ValueError, IndexError):
            port = (profile / "DevToolsActivePort").read_text().split()[0]
            with urllib.request.urlopen(f"http://127.0.0.1:{port}/json/list", timeout=10) as answer:
                pages = [one for one in json.load(answer) if one["type"] == "page"]
            return str(pages[0]["webSocketDebuggerUrl"])
        time.sleep(0.1)
    raise RuntimeError(f"chromium did not start (status {process.poll()})")
