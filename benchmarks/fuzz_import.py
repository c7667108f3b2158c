"""Break exports of every format at random and import them: any error that is not ours is a fault of the importer.

    PYTHONPATH=src .venv/bin/python benchmarks/fuzz_import.py --seconds 120 --seed 1

Each case takes a good export, changes its bytes (flips, cuts, reversals, doubles, random bytes, bytes that mean
something to a format), reads it, masks it and writes it out. Also checked: no dialogue is counted twice, a refusal is
one line, and what is written is read back.
"""

from __future__ import annotations

import gzip
import io
import json
import random
import sys
import tempfile
import time
import traceback
from collections import Counter
from pathlib import Path

import click
import pandas as pd

from conversations.dialogue import read_dialogues, write_dialogues
from conversations.options import Options
from conversations.reading import read_export
from conversations.redaction import Redactor, redact
from conversations.summary import import_summary
from dial2vec.errors import Dial2vecError

SPEAKERS = ("Anna Smith", "agent", "王伟", "O'Brien, Pat")
TEXTS = ("Hello, how are you?", 'He said "no"\nand left', "mail anna@x.org or call +44 20 7946 0958", "ça va 😀", "ok")
TOKENS = (b'"', b"\n", b",", b";", b"\x00", b"\xff", b"\xed\xa0\x80", b"\\ud83d", b"{", b"]", b"-->", b"<v ", b"---\n")
TOKENS += (b"1e999", b"NaN", b"\xef\xbb\xbf", b"[" * 3000, b"\xff\xfe", b"\r", b":", b"null", b"sep=;", b"9" * 5000)


def turns(rng: random.Random) -> list[dict[str, str]]:
    """Return rows of three dialogues."""
    rows = []
    for number in range(3):
        for minute in range(rng.randint(1, 4)):
            when = f"2024-01-0{number + 1}T10:{minute:02}:00"
            row = {"call_id": f"c{number}", "speaker": rng.choice(SPEAKERS), "text": rng.choice(TEXTS)}
            rows.append(row | {"timestamp": when, "queue": "billing"})
    return rows


def records(rng: random.Random) -> list[dict[str, object]]:
    """Return three dialogues, a record each."""
    return [
        {
            "id": number,
            "messages": [{"role": row["speaker"], "content": row["text"]} for row in turns(rng)],
            "tags": ["a"],
        }
        for number in range(3)
    ]


def lines(rng: random.Random) -> str:
    """Return `Speaker: text` lines."""
    return "\n".join(f"[12.03.24, 14:05:11] {row['speaker']}: {row['text']}" for row in turns(rng))


def headed(rng: random.Random) -> str:
    """Return the lines of each speaker below a name with a clock."""
    return "\n".join(f"{row['speaker']}  0:{at:02}\n{row['text']}\n" for at, row in enumerate(turns(rng)))


def trees(rng: random.Random) -> list[dict[str, object]]:
    """Return three dialogues as trees of messages."""
    found: list[dict[str, object]] = []
    for number in range(3):
        nodes = {
            str(at): {
                "parent": str(at - rng.randint(1, 2)),
                "message": {"author": {"role": row["speaker"]}, "content": {"parts": [row["text"]]}},
            }
            for at, row in enumerate(turns(rng))
        }
        found.append({"id": number, "mapping": nodes, "current_node": rng.choice([*nodes, None])})
    return found


def exchanges(rng: random.Random) -> list[dict[str, str]]:
    """Return rows of a question and its answer."""
    return [
        {"session_id": row["call_id"], "user_message": f"<p>{row['text']}</p>", "bot_response": rng.choice(TEXTS)}
        for row in turns(rng)
    ]


def cues(rng: random.Random, comma: str) -> str:
    """Return the cues of captions."""
    blocks = [
        f"{at}\n00:00:{at:02}{comma}000 --> 00:00:{at + 1:02}{comma}000\n<v {row['speaker']}>{row['text']}</v>"
        for at, row in enumerate(turns(rng))
    ]
    return "\n\n".join(blocks)


def parquet(frame: pd.DataFrame) -> bytes:
    """Return a table as Parquet."""
    buffer = io.BytesIO()
    frame.to_parquet(buffer)
    return buffer.getvalue()


def export(rng: random.Random) -> tuple[str, bytes]:
    """Return the name and bytes of a good export."""
    kinds = ["csv", "tsv", "json", "chats", "object", "jsonl", "parquet", "nested", "txt", "vtt", "srt", "wide"]
    kind = rng.choice([*kinds, "headed", "trees", "exchanges", "latin"])
    rows, several = turns(rng), records(rng)
    if kind in ("parquet", "nested"):
        return "e.parquet", parquet(pd.DataFrame(rows if kind == "parquet" else several))
    text = {
        "csv": lambda: pd.DataFrame(rows).to_csv(index=False, sep=rng.choice(",;|")),
        "tsv": lambda: pd.DataFrame(rows).to_csv(index=False, sep="\t"),
        "json": lambda: json.dumps(rows),
        "chats": lambda: json.dumps(several, ensure_ascii=False),
        "object": lambda: json.dumps({"meta": {"n": 3}, "conversations": several}),
        "jsonl": lambda: "\n".join(json.dumps(record, ensure_ascii=rng.random() < 0.5) for record in several),
        "txt": lambda: lines(rng),
        "vtt": lambda: "WEBVTT\n\n" + cues(rng, "."),
        "srt": lambda: cues(rng, ","),
        "headed": lambda: headed(rng),
        "trees": lambda: json.dumps(trees(rng)),
        "exchanges": lambda: pd.DataFrame(exchanges(rng)).to_csv(index=False),
        "latin": lambda: json.dumps({"messages": rows}, ensure_ascii=False).encode().decode("latin-1"),
        "wide": lambda: pd.DataFrame(several).to_csv(index=False),
    }[kind]()
    data = text.encode(rng.choice(["utf-8", "utf-8", "utf-8-sig", "utf-16", "utf-16-le"]))
    endings = {"json": ("chats", "object", "trees", "latin"), "csv": ("wide", "exchanges"), "txt": ("headed",)}
    name = "e." + next((ending for ending, names in endings.items() if kind in names), kind)
    return (f"{name}.gz", gzip.compress(data)) if rng.random() < 0.1 else (name, data)


def damage(rng: random.Random, data: bytes) -> bytes:
    """Return the bytes with one to six changes."""
    broken = bytearray(data)
    for _ in range(rng.randint(1, 6)):
        at, end = sorted(rng.randrange(len(broken) + 1) for _ in range(2))
        how = rng.randrange(7)
        if how == 0 and at < len(broken):
            broken[at] ^= 1 << rng.randrange(8)
        elif how == 1:
            del broken[at : min(end, at + 40)]
        elif how == 2:
            broken[at:at] = broken[at : min(end, at + 200)]
        elif how == 3:
            broken[at:at] = rng.choice(TOKENS)
        elif how == 4:
            broken[at:at] = rng.randbytes(rng.randint(1, 8))
        elif how == 5:
            end = min(end, at + 30)
            broken[at:end] = broken[at:end][::-1]
        elif rng.random() < 0.3:
            del broken[end:]
    return bytes(broken)


def run(path: Path, rng: random.Random) -> str:
    """Import one file, and return the outcome.

    :raises AssertionError: if a dialogue is counted twice, or is not read back as it was written.
    """
    try:
        found = read_export(path, Options(header=rng.random() < 0.95))
    except Dial2vecError as error:
        return _refused(str(error))
    outcome = found.result
    used = {dialogue.dialogue_id for dialogue in outcome.dialogues}
    assert len(used) == len(outcome.dialogues)
    assert outcome.dialogues or outcome.quarantine
    redactor = Redactor(outcome.speakers)
    redact(outcome, redactor, name="e")
    import_summary(found, redactor)
    target = path.with_name("out.jsonl")
    write_dialogues(target, outcome.dialogues)
    assert list(read_dialogues(target, may_be_empty=True)) == outcome.dialogues
    return "imported in part" if outcome.quarantine else "imported whole"


def _refused(sentence: str) -> str:
    assert sentence.strip()
    assert len(sentence.splitlines()) == 1
    return "refused in one sentence"


@click.command()
@click.option("--seconds", default=60.0, show_default=True, help="Seconds after which to stop.")
@click.option("--cases", default=1_000_000, show_default=True, help="Number of cases after which to stop.")
@click.option("--seed", default=1, show_default=True, help="Random seed; the same seed breaks the same files.")
def main(seconds: float, cases: int, seed: int) -> None:
    """Run cases until time or number is up; exit status 1 if a case failed."""
    outcomes: Counter[str] = Counter()
    ends = time.monotonic() + seconds
    with tempfile.TemporaryDirectory() as folder:
        for case in range(cases):
            if time.monotonic() > ends:
                break
            rng = random.Random(f"{seed}-{case}")
            name, data = export(rng)
            path = Path(folder) / name
            path.write_bytes(damage(rng, data))
            try:
                outcomes[run(path, rng)] += 1
            except Exception:
                outcomes["failed"] += 1
                click.echo(f"case {seed}-{case}, {name}:\n{traceback.format_exc()}", err=True)
            path.unlink()
    click.echo(f"{outcomes.total()} cases, {outcomes['failed']} failures: {dict(outcomes.most_common())}")
    sys.exit(bool(outcomes["failed"]))


if __name__ == "__main__":
    main()
