"""Installs the wheel into a new environment, looks at the sample, and films both, from `pip install` to the open page.

    .venv/bin/python docs/pictures/install.py --film docs/install.svg

pip takes nothing from its cache. Prints packages, megabytes and seconds; the film is an animated SVG at the recorded
pace, in which the page follows the terminal. Needs Chromium and a package index.
"""

from __future__ import annotations

import argparse
import base64
import html
import json
import re
import shutil
import subprocess
import sys
import time
from io import BytesIO
from pathlib import Path

from browser import browser
from first_look import ROOT, clean, run

# Size of the film in pixels, and of a line.
WIDTH, HEIGHT, LINE = 860, 540, 19
COUNT = """
import json
from importlib import metadata
sizes, names = {"files": 0, "bytecode": 0}, []
for found in metadata.distributions():
    if found.name in ("pip", "setuptools"):
        continue
    names.append(found.name)
    for file in found.files or ():
        path = found.locate_file(file)
        sizes["bytecode" if path.suffix == ".pyc" else "files"] += path.stat().st_size if path.is_file() else 0
print(json.dumps(sizes | {"packages": len(names), "torch": "torch" in names}))
"""
# Seconds of the film that a shown line waits for, and the line.
Shown = list[tuple[float, str]]


def main() -> None:
    """Install, look, and write the film."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--work", type=Path, default=Path("artifacts/install"), help="folder of the environment")
    parser.add_argument("--film", type=Path, required=True, help="file of the film, which ends in .svg")
    arguments = parser.parse_args()
    work = arguments.work.resolve()
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    run(sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(work), str(ROOT))
    run(sys.executable, "-m", "venv", str(work / "venv"))
    [wheel] = work.glob("*.whl")
    python = str(work / "venv" / "bin" / "python")
    began = time.monotonic()
    shown: Shown = [(0, f"$ pip install {wheel.name}")]
    pip = ("-m", "pip", "--disable-pip-version-check", "install", "--no-cache-dir", "--progress-bar=off", str(wheel))
    last = run(python, *pip).strip().splitlines()[-1]
    shown += [(time.monotonic() - began, last[: WIDTH // 9] + " ..."), (time.monotonic() - began, "")]
    counts = json.loads(run(python, "-c", COUNT))
    install = time.monotonic() - began
    shown.append((install, "$ dial2vec look --sample"))
    command = [work / "venv" / "bin" / "dial2vec", "look", "--sample", "--port", "0"]
    with subprocess.Popen(command, cwd=work, env=clean(), stdout=subprocess.PIPE, text=True) as process:
        try:
            for line in process.stdout or ():
                shown.append((time.monotonic() - began, line.rstrip("\n")))
                if address := re.search(r"http://\S+", line):
                    break
            else:
                sys.exit("look ended without an address")
            with browser() as page:
                page.look((1280, 800))
                page.open(address[0])
                page.until("document.querySelector('canvas') && document.readyState === 'complete'")
                opened = time.monotonic() - began
                page.picture(work / "page.png")
        finally:
            process.terminate()
    arguments.film.write_text(film(shown, work / "page.png", opened), encoding="utf-8")
    sys.stdout.write(f"{counts['packages']} packages, torch {'is' if counts['torch'] else 'is not'} among them\n")
    sys.stdout.write(f"{counts['files'] / 1e6:.0f} MB, and {counts['bytecode'] / 1e6:.0f} MB of bytecode\n")
    sys.stdout.write(f"{install:.0f} s for pip install, {opened - install:.0f} s from look to the open page\n")


def film(shown: Shown, picture: Path, opened: float) -> str:
    """Return the film as SVG."""
    from PIL import Image

    small = BytesIO()
    with Image.open(picture) as image:
        image.convert("RGB").resize((WIDTH, HEIGHT)).save(small, "JPEG", quality=70)
    lines = "".join(
        f'<text x="16" y="{28 + LINE * row}" style="animation-delay:{at:.1f}s">{html.escape(text)}</text>'
        for row, (at, text) in enumerate(shown[: HEIGHT // LINE - 1])
    )
    page = base64.b64encode(small.getvalue()).decode()
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}">'
        "<style>svg{font:13px monospace}"
        "text,image{opacity:0;animation:shown 0s forwards}text{fill:#e8e8ea;white-space:pre}"
        "@keyframes shown{to{opacity:1}}</style>"
        f'<rect width="{WIDTH}" height="{HEIGHT}" fill="#1e1e24"/>{lines}'
        f'<image width="{WIDTH}" height="{HEIGHT}" href="data:image/jpeg;base64,{page}" '
        f'style="animation-delay:{opened:.1f}s"/></svg>\n'
    )


if __name__ == "__main__":
    main()
