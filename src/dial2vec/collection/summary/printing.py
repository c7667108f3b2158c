"""A page as PDF, printed by a browser of this machine."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from conversations.files import atomic_path
from dial2vec.errors import Dial2vecError

# Browsers that print without a window, by the names of their programs; then their places on macOS and Windows.
PROGRAMS = (
    *("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"),
    *("microsoft-edge", "microsoft-edge-stable", "msedge"),
)
APPLICATIONS = (
    *(f"/Applications/{name}.app/Contents/MacOS/{name}" for name in ("Google Chrome", "Chromium", "Microsoft Edge")),
    *(rf"C:\Program Files{end}\Google\Chrome\Application\chrome.exe" for end in ("", " (x86)")),
    *(rf"C:\Program Files{end}\Microsoft\Edge\Application\msedge.exe" for end in (" (x86)", "")),
)
# No name is looked up, and nothing is fetched besides the page.
OPTIONS = (
    *("--headless", "--disable-gpu", "--no-first-run", "--no-default-browser-check", "--disable-extensions"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-dev-shm-usage"),
    *("--host-resolver-rules=MAP * ~NOTFOUND", "--no-pdf-header-footer"),
)
SECONDS = 60


def printing_browser() -> str | None:
    """Return the path of an installed Chromium, Chrome or Edge; None without one."""
    paths = (shutil.which(name) for name in (*PROGRAMS, *APPLICATIONS))
    return next((path for path in paths if path), None)


def print_page(html: str, pdf: Path, *, page: Path) -> None:
    """Print a page into a PDF file, atomically.

    :param html: the page, which loads nothing.
    :param page: file with the page, which an error names.
    :raises Dial2vecError: if there is no browser to print with, or it does not print within 60 s.
    """
    browser = printing_browser()
    if browser is None:
        raise Dial2vecError(
            f"no PDF was made: found no Chromium, Chrome or Edge on this machine; expected one of them to print. Open "
            f"{page} in any browser and print it: it fits on one sheet."
        )
    # The folder is not hidden and beside the PDF: a Chromium from a snap opens no other files.
    pdf.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="printing-", dir=pdf.parent, ignore_cleanup_errors=True) as work:
        source, printed = Path(work).resolve() / "page.html", Path(work).resolve() / "page.pdf"
        source.write_text(html, encoding="utf-8")
        reason = _printed(browser, source, printed)
        if not printed.is_file() or not printed.read_bytes().startswith(b"%PDF"):
            raise Dial2vecError(
                f"{browser} made no PDF ({reason}); expected one within {SECONDS} s. Open {page} in any browser and "
                "print it: it fits on one sheet."
            )
        with atomic_path(pdf) as temporary:
            shutil.copyfile(printed, temporary)


def _printed(browser: str, source: Path, printed: Path) -> str:
    """Run the browser, and return the last line that it said, or that it took too long."""
    profile = source.parent / "profile"
    command = [browser, *OPTIONS, f"--user-data-dir={profile}", f"--print-to-pdf={printed}", source.as_uri()]
    # Chromium refuses its sandbox to root, which containers often are. The page has no scripts.
    if getattr(os, "geteuid", lambda: 1)() == 0:
        command.insert(1, "--no-sandbox")
    try:
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=SECONDS, check=False)
    except subprocess.TimeoutExpired:
        return f"it took more than {SECONDS} s"
    except OSError as error:
        return str(error.strerror)
    lines = done.stderr.strip().splitlines()
    return lines[-1][:200] if lines else f"exit status {done.returncode}"
