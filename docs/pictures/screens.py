"""Pictures of every page at four widths, light and dark, and what axe, the Tab key and the console find on it.

    .venv/bin/python docs/pictures/screens.py --pictures artifacts/screens

Makes the pages from made-up calls: the explorer with a server and as a file, in all its states, the summary of the
collection, the report of a training, the page of its validation, and the explanation of a dialogue. The first time
takes 5 minutes, because a model is trained. --collections adds other collections, by their folders. Then look at
index.html in the folder of the pictures, or at one sheet-*.png per page. Simulations of colour blindness come last.
--before names a folder of pictures of an earlier version; change-*.png then shows each page before and after.
"""

from __future__ import annotations

import argparse
import contextlib
import html
import itertools
import json
import shutil
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from datetime import date, timedelta
from pathlib import Path
from random import Random

from accessibility import DEFICIENCIES, axe_findings, keyboard_findings, overhang, see_as, sideways
from browser import Page, browser
from conversations.dialogue import Dialogue, write_dialogues
from dial2vec.data.corpora.demo import generate_demo
from explorer_page import PHONE_STATES, STATES, open_explorer, show
from scratch import make_project, say, serving

CORPUS, QUESTION = "calls", "I want to change my booking"
SIZES = {1440: (1440, 900), 1024: (1024, 768), 768: (768, 1024), 390: (390, 844)}
# Below the first, the explorer shows one view at a time; below the second, a finger is used.
NARROW, PHONE_WIDTH = 832, 500
# States whose colours tell something that the first screen does not.
COLOURFUL = ("filtered", "reader")
# A long page is cut off: pictures of more than 8192 pixels repeat themselves, and a phone has two per pixel.
MOST_HIGH = 4000
# Width of a picture beside another one by that of the page, and the space between them.
BESIDE, SPACE = {1440: 960, 390: 390}, 24
SHEET = """<meta charset="utf-8"><title>%s</title><style>
body { font: 15px/1.4 sans-serif; margin: 1rem; background: #888; }
section { margin-bottom: 2rem; } h2 { margin: 0 0 .5rem; } div { display: flex; flex-wrap: wrap; gap: .6rem; }
figure { margin: 0; background: #fff; } figcaption { padding: .2rem .5rem; }
img { display: block; height: 420px; max-width: 100%%; }
pre { white-space: pre-wrap; background: #fff; padding: .5rem; }</style>%s"""


@dataclass
class Screen:
    """A page, or one of its states.

    :param name: name of its pictures.
    :param act: opens it, or brings the opened page into this state.
    :param narrow: True if only phones have this state.
    :param colours: True to simulate colour blindness.
    :param fills: True if the page fills the screen and is not scrolled.
    """

    name: str
    act: Callable[[Page], None]
    narrow: bool = False
    colours: bool = True
    fills: bool = False
    pictures: list[Path] = field(default_factory=list)
    findings: list[str] = field(default_factory=list)


def main() -> None:
    """Make the pages, take the pictures and print the findings."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pictures", type=Path, required=True, help="folder that gets the pictures")
    parser.add_argument("--work", type=Path, default=Path("artifacts/screens-work"), help="folder of the project")
    parser.add_argument("--collections", type=Path, nargs="*", default=[], help="folders of other collections")
    parser.add_argument("--files", type=Path, nargs="*", default=[], help="other pages")
    parser.add_argument(
        "--only", nargs="*", default=[""], help="parts of the names of the pages to look at; default: all"
    )
    parser.add_argument("--widths", type=int, nargs="*", default=list(SIZES), choices=list(SIZES))
    parser.add_argument("--before", type=Path, help="folder of pictures of an earlier version")
    parser.add_argument("--axe", type=Path, help="a newer axe.min.js than that of axe-core-python")
    options = parser.parse_args()
    began = time.monotonic()
    made = project(options.work.resolve())
    shutil.rmtree(options.pictures, ignore_errors=True)
    options.pictures.mkdir(parents=True)
    found = 0
    with contextlib.ExitStack() as stack:
        page = stack.enter_context(browser())
        groups = stack.enter_context(pages(made, options.collections, options.files))
        for screen in (one for screens in groups for one in screens if any(part in one.name for part in options.only)):
            look_at(page, screen, options.pictures, options.widths, options.axe)
            sys.stdout.writelines(f"{screen.name}: {line}\n" for line in screen.findings or ["nothing"])
            sys.stdout.flush()
            found += len(screen.findings)
        shown = [one for screens in groups for one in screens if one.pictures]
        sheets(page, shown, options.pictures)
    for one in shown if options.before else ():
        beside(one, options.before, options.pictures)
    sys.stdout.write(f"{found} findings in {time.monotonic() - began:.0f} s; {options.pictures / 'index.html'}\n")


def project(folder: Path) -> Path:
    """Make all pages of a small project once, and return its folder."""
    if (folder / "static.html").exists():
        return folder
    make_project(folder, CORPUS)
    write_dialogues(folder / "calls.jsonl", calls(500))
    say(folder, "dial2vec", "import", "calls.jsonl", "--name", CORPUS)
    say(folder, "dial2vec", "run")
    # Its groups are found before the last weeks, so that there is news.
    dialogues = sorted(calls(800), key=lambda one: one.date or "")
    for name, part in (("before", dialogues[:650]), ("after", dialogues[650:])):
        write_dialogues(folder / f"{name}.jsonl", part)
        say(folder, "dial2vec", "index", f"{name}.jsonl", "--output", "collection")
        say(folder, "dial2vec", "cluster", "collection")
    say(folder, "dial2vec", "segments", "collection")
    say(folder, "dial2vec", "report", "collection", "--output", "summary.html")
    (folder / "one.json").write_text(json.dumps(max(dialogues, key=lambda one: len(one.turns)).to_record()))
    say(folder, "dial2vec", "explain", "one.json", "--output", "explained.html")
    say(folder, "dial2vec", "explore", "collection", "--static", "static.html")
    return folder


def calls(count: int) -> list[Dialogue]:
    """Return dialogues of the demo corpus as calls with made-up facts: one topic grows over time."""
    random = Random(1)
    made = []
    for one in generate_demo(n_dialogues=count):
        grows = bool(one.labels) and sum(map(ord, one.labels[0])) % 5 == 0
        day = date(2026, 1, 5) + timedelta(days=int(290 * random.random() ** (0.4 if grows else 1)))
        facts = {
            "channel": random.choice(["phone", "phone", "chat", "email"]),
            "csat": random.randint(1, 5),
            "duration": round(random.lognormvariate(5.5, 0.6)),
        }
        made.append(replace(one, date=str(day), metadata=facts))
    return made


@contextlib.contextmanager
def pages(folder: Path, collections: Sequence[Path], files: Sequence[Path]) -> Iterator[list[list[Screen]]]:
    """Serve the collections, and list the screens page by page."""
    with contextlib.ExitStack() as stack:
        found = []
        for path in [folder / "collection", *(path.resolve() for path in collections)]:
            address = stack.enter_context(serving(folder, "dial2vec", "explore", str(path), "--port", "0"))
            name = "explorer" if path.parent == folder else f"explorer-{path.name}"
            found.append(states(name, address))
        found.append(states("static", (folder / "static.html").as_uri()))
        own = {
            "summary": folder / "summary.html",
            "report": folder / "artifacts" / CORPUS / "report.html",
            "validation": folder / "artifacts" / CORPUS / "validation.html",
            "explanation": folder / "explained.html",
        }
        own |= {path.stem: path.resolve() for path in files}
        found += [[Screen(name, opens(path))] for name, path in own.items() if path.exists()]
        yield found


def states(name: str, address: str) -> list[Screen]:
    """Return the states of an explorer; the first one opens it."""

    def opened(page: Page) -> None:
        open_explorer(page, address)

    def shows(state: str) -> Callable[[Page], None]:
        return lambda page: show(page, state, question=QUESTION)

    wanted = STATES if name != "static" else ("hits", "filtered", "reader")
    return [
        Screen(f"{name}-first", opened, fills=True),
        *(Screen(f"{name}-{one}", shows(one), one in PHONE_STATES, one in COLOURFUL, fills=True) for one in wanted),
    ]


def opens(path: Path) -> Callable[[Page], None]:
    """Return what opens a file."""

    def act(page: Page) -> None:
        page.open(path.as_uri())
        page.until("document.readyState === 'complete'")

    return act


def look_at(page: Page, screen: Screen, folder: Path, widths: Sequence[int], axe: Path | None) -> None:
    """Take the pictures of a screen, and note what is found at the widest and the narrowest."""
    page.complaints.clear()
    page.look(SIZES[1440])
    # The keyboard has scrolled.
    page.value("for (const one of document.querySelectorAll('*')) if (one.scrollTop) one.scrollTop = 0")
    try:
        screen.act(page)
    except (RuntimeError, TimeoutError) as error:
        screen.findings.append(f"cannot be shown: {error}")
        return
    shown = [width for width in widths if not screen.narrow or width < NARROW]
    for width, dark in itertools.product(shown, (False, True)):
        page.look(SIZES[width], phone=width < PHONE_WIDTH, dark=dark)
        taken(page, screen, folder, f"{width}{'-dark' if dark else ''}")
        found = [*sideways(page), *(overhang(page) if screen.fills and width >= NARROW else [])]
        if width in (max(shown), min(shown)):
            found += axe_findings(page, axe)
        screen.findings += [f"{width}{' dark' if dark else ''}: {line}" for line in found]
    for deficiency in DEFICIENCIES if screen.colours else ():
        page.look(SIZES[max(shown)])
        see_as(page, deficiency)
        taken(page, screen, folder, deficiency)
    see_as(page)
    # Last, as it scrolls.
    for width in {max(shown), min(shown)}:
        page.look(SIZES[width], phone=width < PHONE_WIDTH)
        screen.findings += [f"{width}: {line}" for line in keyboard_findings(page)]
    screen.findings += [f"console: {line}" for line in page.complaints]


def taken(page: Page, screen: Screen, folder: Path, name: str) -> None:
    """Take a picture once the page is at rest."""
    time.sleep(0.7)
    screen.pictures.append(folder / f"{screen.name}-{name}.png")
    picture(page, screen.pictures[-1])


def picture(page: Page, path: Path) -> None:
    """Save a picture of the whole height of a page."""
    high = page.value("Math.max(document.documentElement.scrollHeight, innerHeight)")
    width, least = page.value("[innerWidth, innerHeight]")
    if high <= least:
        page.picture(path)
        return
    page.picture(path, area=(0, 0, width, min(high, MOST_HIGH)))


def sheets(page: Page, screens: Sequence[Screen], folder: Path) -> None:
    """Write one page with all pictures, and a picture of each screen's pictures."""
    parts = [section(screen) for screen in screens]
    (folder / "index.html").write_text(SHEET % ("Screens", "\n".join(parts)), encoding="utf-8")
    for screen, part in zip(screens, parts, strict=True):
        sheet = folder / "sheet.html"
        sheet.write_text(SHEET % (html.escape(screen.name), part), encoding="utf-8")
        page.look((1900, 1000))
        page.open(sheet.as_uri())
        page.until("document.readyState === 'complete' && [...document.images].every((one) => one.complete)")
        picture(page, folder / f"sheet-{screen.name}.png")
        sheet.unlink()


def beside(screen: Screen, before: Path, folder: Path) -> None:
    """Write the widest and the narrowest picture of a screen before and after, if there were such ones."""
    from PIL import Image

    for width, shown in BESIDE.items():
        pair = [where / f"{screen.name}-{width}.png" for where in (before, folder)]
        if not all(path.exists() for path in pair):
            continue
        images = [Image.open(path).convert("RGB") for path in pair]
        images = [one.resize((shown, one.height * shown // one.width)) for one in images]
        high = min(max(one.height for one in images), 3 * shown)
        together = Image.new("RGB", (2 * shown + SPACE, high), "white")
        for place, one in enumerate(images):
            together.paste(one, (place * (shown + SPACE), 0))
        together.quantize(128).save(folder / f"change-{screen.name}-{width}.png", optimize=True)


def section(screen: Screen) -> str:
    """Return the pictures and findings of a screen as HTML."""
    figures = "".join(
        f'<figure><a href="{path.name}"><img src="{path.name}" alt=""></a><figcaption>{path.stem}</figcaption></figure>'
        for path in screen.pictures
    )
    findings = f"<pre>{html.escape(chr(10).join(screen.findings))}</pre>" if screen.findings else ""
    return f"<section><h2>{html.escape(screen.name)}</h2><div>{figures}</div>{findings}</section>"


if __name__ == "__main__":
    main()
