"""A picture of the sheet that `dial2vec report` writes, as it is printed.

.venv/bin/python docs/pictures/calls.py        # makes the collection
.venv/bin/python docs/pictures/sheet.py artifacts/changes/calls --before 2026-05-01 --picture docs/summary.png
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

from browser import browser
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.summary import Scope, write_summary

# A4 less the margins of the page, in pixels of 1/96 inch, and a white rim.
WIDTH, RIM = 718, 24


def main() -> None:
    """Write the sheet, and take the picture."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the collection")
    parser.add_argument("--before", help="start of the second period")
    parser.add_argument("--picture", type=Path, required=True, help="file of the picture")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as work, browser() as page:
        sheet = Path(work).resolve() / "sheet.html"
        write_summary(sheet, CollectionFolder(arguments.folder), Scope(before=arguments.before))
        page.open(sheet.as_uri())
        page.until("document.readyState === 'complete' && !!document.querySelector('.typical')")
        page.value(f"document.body.style.margin = '{RIM}px'")
        size = {"width": WIDTH + 2 * RIM, "deviceScaleFactor": 1.5, "mobile": False}
        page.ask("Emulation.setEmulatedMedia", media="print")
        page.ask("Emulation.setDeviceMetricsOverride", height=800, **size)
        height = page.value("document.documentElement.scrollHeight")
        page.ask("Emulation.setDeviceMetricsOverride", height=height, **size)
        page.picture(arguments.picture)


if __name__ == "__main__":
    main()
