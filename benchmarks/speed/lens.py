"""A lens over a large collection: seconds, CPU seconds and peak memory of learning it and reading every dialogue.

    .venv/bin/python benchmarks/speed/lens.py --sizes 25000 100000 1000000

Makes collections of dialogues of the demo corpus by the general student, without an index of their turns; a million
take 3 GB of disk. The lens learns the corpus's largest label from 500 examples in a process of its own. Memory is that
of its largest process.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from collections import Counter
from itertools import islice
from pathlib import Path

from conversations.dialogue import write_dialogues
from dial2vec.collection.adding import add
from dial2vec.collection.lenses.examples import write_examples
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.names import GENERAL, resolve
from night import days

EXAMPLES = 500
LEARN = """
import json, resource, sys, time
from pathlib import Path
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.lenses import LensLabel, lens
from dial2vec.collection.lenses.examples import read_examples
known = read_examples(Path(sys.argv[2]))
label = next(name for name in known.values() if name != "none")
began = time.perf_counter()
done = lens(CollectionFolder(Path(sys.argv[1])), "topic", [LensLabel(label)], known)
own, of_children = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
cpu = sum(usage.ru_utime + usage.ru_stime for usage in (own, of_children))
print(json.dumps({"seconds": time.perf_counter() - began, "cpu": cpu, "auroc": done.quality[label].auroc,
                  "mib": max(own.ru_maxrss, of_children.ru_maxrss) // 1024}))
"""


def main() -> None:
    """Measure each size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sizes", nargs="+", type=int, default=[25_000, 100_000])
    say("| dialogues | seconds | CPU seconds | peak memory, MiB | AUROC |\n|---|---|---|---|---|\n")
    for n in parser.parse_args().sizes:
        with tempfile.TemporaryDirectory() as place:
            done = measured(Path(place), n)
        say(f"| {n:,} | {done['seconds']:.0f} | {done['cpu']:.0f} | {done['mib']:,} | {done['auroc']:.3f} |\n")


def measured(place: Path, n: int) -> dict[str, float]:
    """Make a collection of n dialogues and label them."""
    write_dialogues(place / "calls.jsonl", days(0, n))
    encoder = load_encoder(resolve(GENERAL))
    add(place / "calls", place / "calls.jsonl", encoder=encoder, turns=False, adapted=False, progress=False)
    known = {each.dialogue_id: each.label or "" for each in islice(days(0, n), EXAMPLES)}
    largest = Counter(known.values()).most_common(1)[0][0]
    labels = {name: "yes" if label == largest else "none" for name, label in known.items()}
    write_examples(place / "examples.csv", labels)
    command = [sys.executable, "-c", LEARN, str(place / "calls"), str(place / "examples.csv")]
    found: dict[str, float] = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    return found


def say(line: str) -> None:
    """Print at once."""
    sys.stdout.write(line)
    sys.stdout.flush()


if __name__ == "__main__":
    main()
