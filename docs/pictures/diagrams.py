"""Diagrams of the manual as SVG, for light and dark screens.

    .venv/bin/python docs/pictures/diagrams.py docs

Boxes stand at places given here; only the tokens of encoders.svg are read from the table of docs/encoders.md.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Callable
from html import escape
from pathlib import Path

from conversations.files import atomic_path
from figures import tables

STYLE = """svg { --page: #ffffff; --ink: #1c2024; --soft: #57606a; --floor: #f3f5f7; --line: #cfd6dd;
  --first: #d6e8ff; --second: #ffe8cc; --data: #d8f3df; }
@media (prefers-color-scheme: dark) {
  svg { --page: #14171a; --ink: #e6e9ec; --soft: #a3adb7; --floor: #1d2227; --line: #3c454e;
    --first: #1d3f66; --second: #533714; --data: #1e4029; }
}
text { font-family: system-ui, sans-serif; font-size: 13px; fill: var(--ink); }
.name { font-weight: 600; }
.note { fill: var(--soft); font-size: 12px; }
.token { font-family: ui-monospace, monospace; font-size: 12px; }
.page { fill: var(--page); }
rect { stroke: var(--line); }
.plain { fill: var(--floor); }
.first { fill: var(--first); }
.second { fill: var(--second); }
.data { fill: var(--data); }
.special { stroke: var(--ink); stroke-dasharray: 3 2; }
.arrow { fill: none; stroke: var(--soft); stroke-width: 1.5; marker-end: url(#tip); }
.gone { stroke-dasharray: 4 3; }
.tip { fill: var(--soft); }"""
TIP = """<defs><marker id="tip" viewBox="0 0 8 8" refX="6" refY="4" markerWidth="6" markerHeight="6" orient="auto">
<path d="M0 0L8 4L0 8z" class="tip"/></marker></defs>"""
LINE = 17


class Diagram:
    """A picture of boxes and arrows.

    :param title: what one sees, in a sentence.
    """

    def __init__(self, title: str, width: int, height: int) -> None:
        self.title, self.width, self.height, self.parts = title, width, height, list[str]()

    def box(self, x: int, y: int, width: int, height: int, *lines: str, kind: str = "plain") -> None:
        """Draw a box with a name and notes below it, in its middle."""
        self.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="{height}" rx="6" class="{kind}"/>')
        top = y + (height - LINE * len(lines)) / 2 + 13
        for place, line in enumerate(lines):
            self.text(x + width / 2, top + place * LINE, line, kind="note" if place else "name")

    def text(self, x: float, y: float, text: str, *, kind: str = "note", anchor: str = "middle") -> None:
        """Write a line of text."""
        self.parts.append(f'<text x="{x:g}" y="{y:g}" class="{kind}" text-anchor="{anchor}">{escape(text)}</text>')

    def arrow(self, *places: tuple[int, int], kind: str = "") -> None:
        """Draw an arrow through these places."""
        path = "L".join(f"{x} {y}" for x, y in places)
        self.parts.append(f'<path d="M{path}" class="{f"arrow {kind}".strip()}"/>')

    def svg(self) -> str:
        """Return the file."""
        head = (
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{self.width}" viewBox="0 0 {self.width} {self.height}" '
            'role="img" aria-labelledby="title">'
        )
        page = f'<rect width="{self.width}" height="{self.height}" rx="10" class="page"/>'
        title = f'<title id="title">{escape(self.title)}</title>'
        return "\n".join([head, title, f"<style>\n{STYLE}\n</style>", TIP, page, *self.parts, "</svg>\n"])


def main() -> None:
    """Write all diagrams."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pictures", type=Path, help="folder that gets the pictures")
    arguments = parser.parse_args()
    for name, draw in DIAGRAMS.items():
        with atomic_path(arguments.pictures / f"{name}.svg") as temporary:
            temporary.write_text(draw().svg(), encoding="utf-8")


def ecosystem() -> Diagram:
    """Draw which libraries take an encoder, and what they read."""
    found = Diagram("A saved encoder in the middle, and what each library reads with it.", 680, 330)
    found.box(16, 120, 170, 90, "a saved encoder", "save_pretrained", "a folder", kind="first")
    rows = (
        ("DialogueEncoder", "dialogues with their speakers, of any length", "data"),
        ("scikit-learn", "DialogueVectorizer: the same, as a step of a pipeline", "data"),
        ("sentence-transformers", "plain text; pooling role is read as mean", "second"),
        ("BERTopic, LangChain, vector stores", "by sentence-transformers", "second"),
        ("mteb", "a clustering task of your test split", "second"),
        ("a hub", "push_to_hub, private unless you say otherwise", "plain"),
    )
    for place, (name, note, kind) in enumerate(rows):
        y = 12 + place * 52
        found.box(300, y, 364, 44, name, note, kind=kind)
        found.arrow((186, 165), (240, 165), (240, y + 22), (298, y + 22))
    return found


def reference() -> Diagram:
    """Draw what leads from a file to vectors and to a collection."""
    found = Diagram("From a file by read to dialogues, by an encoder to vectors, and by add to a collection.", 680, 320)
    found.box(16, 20, 130, 56, "a file", "any export", kind="plain")
    found.box(240, 20, 170, 56, "Dialogue, Turn", "a list of dialogues", kind="data")
    found.box(492, 20, 172, 56, "float32 [n, d]", "one vector each", kind="second")
    found.arrow((146, 48), (238, 48))
    found.text(192, 40, "read")
    found.arrow((410, 48), (490, 48))
    found.text(450, 40, "encode")
    found.box(240, 126, 170, 60, "DialogueEncoder", "from_pretrained", kind="first")
    found.arrow((410, 142), (450, 142), (450, 54))
    found.box(16, 126, 140, 60, "training methods", "by dial2vec run", kind="plain")
    found.arrow((156, 156), (238, 156))
    found.box(492, 126, 172, 60, "turn_shares", "and explain: what made it", kind="second")
    found.arrow((410, 168), (490, 168))
    found.box(240, 240, 170, 60, "Collection", "add: vectors, turns, rows", kind="data")
    found.arrow((325, 186), (325, 238))
    found.box(492, 240, 172, 60, "search, groups", "compare, segments, lens", kind="second")
    found.arrow((410, 270), (490, 270))
    found.box(16, 240, 130, 60, "embed_file", "to Parquet", kind="second")
    found.arrow((270, 186), (270, 213), (81, 213), (81, 238))
    return found


def team() -> Diagram:
    """Draw the three servers, and what machines exchange with them."""
    found = Diagram("A machine that trains, three shared servers, and a machine that uses models.", 680, 300)
    found.box(16, 60, 150, 190, "trains", "checkout", "make schedule", "a GPU if there is one", kind="first")
    found.box(514, 60, 150, 190, "uses models", "checkout", "embed, search, serve", kind="first")
    rows = (
        ("MLflow", "models, figures, decisions", "versions", "champion"),
        ("Prefect", "schedule, runs, verdicts", "runs", ""),
        ("a remote of DVC", "data, outputs of stages", "dvc push", "dvc pull"),
    )
    for place, (name, note, left, right) in enumerate(rows):
        y = 60 + place * 67
        found.box(252, y, 176, 56, name, note, kind="data")
        found.arrow((166, y + 28), (250, y + 28))
        found.text(208, y + 20, left)
        if right:
            found.arrow((428, y + 28), (512, y + 28))
            found.text(470, y + 20, right)
    found.text(340, 38, "shared: use one, two or all three", kind="name")
    found.text(340, 282, "settings and digests (params.yaml, data.dvc, dvc.lock) go by git")
    return found


def scaling() -> Diagram:
    """Draw a corpus in shards, processes of which one is killed, and the parts that they write."""
    found = Diagram("A corpus in four shards; after a kill the next run reads what is missing.", 680, 300)
    found.box(16, 110, 120, 76, "a corpus", "read once,", "bytes counted", kind="plain")
    found.box(554, 110, 110, 76, "the vectors", "in the order", "of the corpus", kind="data")
    for place in range(4):
        y = 16 + place * 70
        killed = place == 2
        found.box(190, y, 100, 48, f"shard {place + 1}", "2,048 lines", kind="data")
        found.arrow((136, 148), (162, 148), (162, y + 24), (188, y + 24))
        words = ("the next run", "reads it again") if killed else (f"process {place + 1}", "an encoder")
        found.box(326, y, 112, 48, *words, kind="second" if killed else "first")
        found.arrow((290, y + 24), (324, y + 24), kind="gone" if killed else "")
        found.box(460, y + 6, 62, 36, "a part", kind="data")
        found.arrow((438, y + 24), (458, y + 24))
        found.arrow((522, y + 24), (538, y + 24), (538, 148), (552, 148))
    found.text(382, 219, "process 3 was killed")
    return found


def serving() -> Diagram:
    """Draw how a new champion takes over."""
    found = Diagram("Three moments: the old worker serves, both accept, the new worker serves.", 680, 300)
    moments = (
        ("1. The alias has moved", "serves", "loads, encodes a test", (True, False)),
        ("2. Both are ready", "accepts", "accepts", (True, True)),
        ("3. The old one leaves", "finishes, then ends", "serves", (False, True)),
    )
    for place, (title, old, new, accepts) in enumerate(moments):
        x = 14 + place * 222
        found.text(x + 104, 26, title, kind="name")
        found.box(x + 44, 44, 120, 36, "clients", kind="plain")
        found.box(x, 116, 208, 54, "the command's socket", "stays open", kind="data")
        found.arrow((x + 104, 80), (x + 104, 114))
        for side, (name, does, kind) in enumerate((("version 3", old, "first"), ("version 4", new, "second"))):
            left = x + side * 107
            found.box(left, 214, 101, 68, name, *halved(does), kind=kind)
            found.arrow((left + 50, 170), (left + 50, 212), kind="" if accepts[side] else "gone")
    return found


def halved(text: str) -> list[str]:
    """Return a text in one line, or in two if it is long."""
    words = text.split()
    return [text] if len(text) < 15 else [" ".join(words[: len(words) // 2]), " ".join(words[len(words) // 2 :])]


def encoders() -> Diagram:
    """Draw the tokens of each input, coloured by who speaks."""
    rows = tables("encoders")[1][1:]
    inputs = [(name, tokens, roles) for (name, tokens), (_, roles) in zip(rows[::2], rows[1::2], strict=True)]
    title = "Tokens of one dialogue by input: turns of speaker a in blue, of b in orange, special tokens dashed."
    found = Diagram(title, 680, 46 + 36 * len(inputs))
    found.text(16, 26, "a: w0 w1 · b: w2 · a: w3", kind="token", anchor="start")
    for place, (shown, colour) in enumerate((("speaker a", "first"), ("speaker b", "second"))):
        found.box(300 + place * 100, 10, 90, 24, shown, kind=colour)
    found.box(500, 10, 110, 24, "special token", kind="special page")
    for row, (name, tokens, roles) in enumerate(inputs):
        y, x = 44 + 36 * row, 186
        found.text(16, y + 17, name.replace("`", ""), kind="name", anchor="start")
        spoken = [int(one) for one in re.findall(r"\d", roles.partition("roles")[2].partition("positions")[0])]
        for sequence in re.findall(r"`([^`]*)`", tokens):
            for token in sequence.split():
                width = 10 + 8 * len(token)
                kind = ("first", "second")[spoken.pop(0)] + ("" if re.fullmatch(r"w\d", token) else " special")
                found.parts.append(f'<rect x="{x}" y="{y}" width="{width}" height="25" rx="4" class="{kind}"/>')
                found.text(x + width / 2, y + 17, token, kind="token")
                x += width + 3
            x += 12
    return found


def papers() -> Diagram:
    """Draw what each paper trains, its module and its preset."""
    found = Diagram(
        "Five papers: what each trains, the module of its method, and the preset of its settings.", 680, 330
    )
    rows = (
        ("dial2vec", "each side guides the other", "methods/dial2vec.py", "dial2vec-paper"),
        ("DialogueCSE", "an utterance fits its context", "methods/dialoguecse.py", "dialoguecse-paper"),
        ("DSE", "an utterance and the next one", "methods/dse.py", "dse-paper"),
        ("DialAug", "a damaged context and its answer", "methods/dialaug.py", "dialaug-paper"),
        (
            "augmentation",
            "variants with the same intent",
            "methods/intent_augmentation.py",
            "intent-augmentation-paper",
        ),
    )
    for place, title in ((104, "the paper trains"), (337, "module in training/"), (571, "dial2vec papers preset")):
        found.text(place, 24, title, kind="name")
    for place, (name, trains, module, preset) in enumerate(rows):
        y = 36 + place * 58
        found.box(4, y, 206, 48, name, trains, kind="first")
        found.box(236, y, 206, 48, module, kind="data")
        found.box(468, y, 206, 48, preset, kind="second")
        found.arrow((210, y + 24), (234, y + 24))
        found.arrow((442, y + 24), (466, y + 24))
    return found


DIAGRAMS: dict[str, Callable[[], Diagram]] = {
    "ecosystem": ecosystem,
    "encoders": encoders,
    "papers": papers,
    "reference": reference,
    "scaling-workers": scaling,
    "serving": serving,
    "team": team,
}


if __name__ == "__main__":
    main()
