"""Pictures of commands on the terminal, for the pages that describe them.

    .venv/bin/python docs/pictures/calls.py       # makes the collection
    .venv/bin/python docs/pictures/terminal.py artifacts/changes/calls --pictures docs

The commands run in a temporary folder, on a copy of the collection and on an export of its dialogues. An error is shown
as the command says it.
"""

from __future__ import annotations

import argparse
import html
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from browser import Page, browser
from dial2vec.collection.collection_folder import CollectionFolder
from scratch import write_table

TERMINAL = """<meta charset="utf-8"><body style="margin:0;background:#1e1e24">
<pre style="margin:0;padding:20px 24px;color:#e8e8ea;font:14px/1.42 monospace;white-space:pre-wrap">%s</pre>"""
# Columns of the terminal, and its width in pixels.
COLUMNS, WIDTH = 104, 960
TRACES = Path(__file__).parents[2] / "tests" / "conversations" / "traces" / "otlp_today.jsonl"
# The recipe of the page on plug-ins.
ACME = (Path(__file__).parents[1] / "plugins.md").read_text().split("# acme_dial2vec/recipes/acme_tickets.yaml\n")[1]
ACME = ACME.partition("```")[0]
# Dialogues of the export.
EXPORTED = 500
FILES = {
    "nearest.py": """import dial2vec
from sklearn.metrics.pairwise import cosine_similarity

encoder = dial2vec.DialogueEncoder.from_pretrained("all-MiniLM-L6-v2")
calls = dial2vec.read("export.csv")
vectors = encoder.encode(calls)
print(vectors.shape, vectors.dtype)

asked = encoder.encode([{"role": "user", "content": "Please book me a cab for tonight"}])
cosines = cosine_similarity([asked], vectors)[0]
for place in cosines.argsort()[:-4:-1]:
    print(f"{cosines[place]:.2f}  {calls[place].dialogue_id}  {calls[place].turns[0].text}")
""",
    "assistant.py": """import json
from pathlib import Path

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor

token = Path("inbox/.receive/token").read_text()
exporter = OTLPSpanExporter("http://127.0.0.1:4318/v1/traces", headers={"Authorization": f"Bearer {token}"})
provider = TracerProvider()
provider.add_span_processor(BatchSpanProcessor(exporter))
for session, question, answer in [
    ("s1", "Where is my parcel?", "On its way to you."),
    ("s2", "May I pay by card?", "Yes, by any card."),
    ("s1", "Will it come today?", "Before noon."),
]:
    with provider.get_tracer("assistant").start_as_current_span("chat") as span:
        span.set_attribute("gen_ai.conversation.id", session)
        span.set_attribute("gen_ai.input.messages", json.dumps([{"role": "user", "content": question}]))
        span.set_attribute("gen_ai.output.messages", json.dumps([{"role": "assistant", "content": answer}]))
provider.shutdown()
""",
    "acme_tickets.yaml": ACME,
    "acme_calls.yaml": ACME.replace("speaker: who", "speakr: who"),
    "acme.json": """[{"acme_ticket": "A-1", "exchange": [
  {"who": "customer", "words": "My card is lost."}, {"who": "agent", "words": "I have blocked it."}]}]
""",
    "rated.sql": """SELECT topic, count(*) AS n, round(avg("metadata.CSAT"), 1) AS csat
FROM 'tables/conversations.parquet'
WHERE belongs
GROUP BY topic
ORDER BY csat
LIMIT 5;
""",
    "query.py": """import sys
import duckdb

print(duckdb.sql(open(sys.argv[1]).read()))
""",
    "traces.jsonl": TRACES.read_text(encoding="utf-8"),
    "tickets.json": """[{"ticket_ref": "T1", "requester": {"email": "a@example.com"}, "events": [
  {"type": "message", "author": {"role": "requester"}, "body": "<p>My router is dead.</p>", "at": "2024-03-05T10:00Z"},
  {"type": "note", "author": {"role": "agent"}, "body": "He called twice", "at": "2024-03-05T10:00Z"},
  {"type": "message", "author": {"role": "agent"}, "body": "Have you another cable?", "at": "2024-03-05T10:01Z"}]},
 {"ticket_ref": "T2", "requester": {"email": "b@example.com"}, "events": [
  {"type": "message", "author": {"role": "requester"}, "body": "<p>Where is my bill?</p>", "at": "2024-03-06T09:00Z"},
  {"type": "message", "author": {"role": "agent"}, "body": "I send it at once.", "at": "2024-03-06T09:03Z"}]}]
""",
}


@dataclass(frozen=True)
class Scene:
    """What a picture shows.

    :param commands: commands that are shown with their outputs.
    :param before: commands that run before, and are not shown.
    :param lines: most lines of an output; the middle of a longer one is left out.
    :param last: so many of these lines are its last ones.
    """

    commands: tuple[str, ...]
    before: tuple[str, ...] = ()
    lines: int = 26
    last: int = 0


# By the page that shows the picture, which is named after it.
SCENES = {
    "import": Scene(("dial2vec import export.csv --output export.jsonl",)),
    "clusters": Scene(("dial2vec cluster calls",)),
    "changes": Scene(("dial2vec compare calls --before 2026-05-01",)),
    # Of the made-up help desk.
    "acting": Scene(
        (
            'dial2vec export calls "Lost card" --as openai --where "CSAT <= 2" --sample 20 --output lost.jsonl',
            "head -1 lost.jsonl",
            'dial2vec export calls "Lost card" --as label-studio --output tasks.json',
            "dial2vec export calls --as tags --output tags.csv",
            "head -4 tags.csv",
        )
    ),
    "sql": Scene(
        ("dial2vec export calls --as tables --output tables", "cat rated.sql", "python query.py rated.sql"), lines=30
    ),
    "recipes": Scene(
        ("dial2vec import tickets.json --output calls.jsonl --save-recipe mine.yaml", "cat mine.yaml"), lines=30
    ),
    "plugins": Scene(
        (
            "ls $XDG_CONFIG_HOME/dial2vec/recipes",
            "dial2vec import --known 2>&1 | grep -i acme",
            "dial2vec import acme.json --output acme.jsonl",
        ),
        before=("mkdir -p $XDG_CONFIG_HOME/dial2vec/recipes; mv acme_*.yaml $XDG_CONFIG_HOME/dial2vec/recipes",),
    ),
    "traces": Scene(("dial2vec import traces.jsonl --output chats.jsonl",), lines=34),
    "receive": Scene(
        (
            "tail -n 14 assistant.py",
            "dial2vec receive --inbox inbox & sleep 5; python assistant.py; kill $!; wait",
            "dial2vec import inbox --output chats.jsonl",
        ),
        lines=26,
    ),
    "search": Scene(('dial2vec search calls "is smoking allowed on the property" -k 4',)),
    "projects": Scene(("dial2vec new hotline", "ls -ACp hotline", "grep -A 3 ^prepare: hotline/params.yaml")),
    "python": Scene(("cat nearest.py", "python nearest.py")),
    "shell": Scene(("dial2vec --help",), lines=70),
    "language-model": Scene(
        ("dial2vec describe calls --dry-run --address http://localhost:11434/v1 --model llama3.1",), lines=19, last=1
    ),
    "troubleshooting": Scene(
        (
            'dial2vec search cals "refund"',
            'dial2vec search calls "refund" --where "chanel == phone"',
            "dial2vec import export.csv --output export.jsonl --text mesage",
        )
    ),
}


def main() -> None:
    """Run the commands, and take their pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="folder of the collection")
    parser.add_argument("--pictures", type=Path, required=True, help="folder that gets the pictures")
    parser.add_argument("--only", choices=SCENES, help="take only the picture of this page")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, browser() as page:
        work = Path(name).resolve()
        shutil.copytree(arguments.folder, work / "calls")
        write_table(islice(CollectionFolder(work / "calls").dialogues(), EXPORTED), work / "export.csv")
        for name, text in FILES.items():
            (work / name).write_text(text, encoding="utf-8")
        for title in [arguments.only] if arguments.only else SCENES:
            scene = SCENES[title]
            for command in scene.before:
                output_of(command, work)
            shown = [f"$ {command}\n{shortened(output_of(command, work), scene)}" for command in scene.commands]
            take_terminal(page, "\n\n".join(shown), arguments.pictures / f"{title}-terminal.png")


def output_of(command: str, work: Path) -> str:
    """Return what a command of a shell prints, or its error."""
    path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
    environment = os.environ | {"COLUMNS": str(COLUMNS), "PATH": path, "XDG_CONFIG_HOME": str(work / "config")}
    done = subprocess.run(command, shell=True, cwd=work, env=environment, capture_output=True, text=True, check=False)
    return (done.stdout + done.stderr if done.returncode else done.stdout).strip("\n")


def shortened(text: str, scene: Scene) -> str:
    """Return a text without its middle, if it is too long for the picture."""
    lines = text.split("\n")
    if len(lines) <= scene.lines:
        return text
    return "\n".join([*lines[: scene.lines - 1 - scene.last], "...", *lines[len(lines) - scene.last :]])


def take_terminal(page: Page, text: str, picture: Path) -> None:
    """Take a picture of a text on a terminal."""
    with tempfile.NamedTemporaryFile("w", suffix=".html", encoding="utf-8") as file:
        file.write(TERMINAL % html.escape(text))
        file.flush()
        page.open(Path(file.name).as_uri())
        page.look((WIDTH, 100))
        page.look((WIDTH, page.until("document.querySelector('pre')?.scrollHeight")))
        page.picture(picture)
    reduce_colours(picture)


def reduce_colours(picture: Path) -> None:
    """Write a picture again with 256 colours, the rare ones kept, in a third of the bytes."""
    from PIL import Image

    with Image.open(picture) as image:
        few = image.convert("RGB").quantize(method=Image.Quantize.MAXCOVERAGE, kmeans=3, dither=Image.Dither.NONE)
        few.save(picture, optimize=True)


if __name__ == "__main__":
    main()
