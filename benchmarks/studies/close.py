"""Does a search say that nothing is close to what nothing answers, and only then? Figures of docs/search.md.

    .venv/bin/python benchmarks/studies/close.py --archives FOLDER

The questions are those of close.yaml, written by hand, and the retold turns of find.yaml. Each collection has 2,000
dialogues of topic_corpora.py, besides those with retold turns, by the general student.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import yaml

from adapting import drawn
from conversations.dialogue import Dialogue, write_dialogues
from dial2vec.collection.adding import add
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search.search import Search
from dial2vec.encoder.loading import load_encoder
from topic_corpora import self_dialogue, sgd

HERE, DIALOGUES = Path(__file__).parent, 2_000


def main() -> None:
    """Print how many questions of each kind nothing is close to."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--archives", type=Path, required=True)
    archives = parser.parse_args().archives
    retold = yaml.safe_load((HERE / "find.yaml").read_text())["retold"]
    corpora = {"self_dialogue": self_dialogue(archives), "sgd": [*sgd(archives, "test"), *sgd(archives, "dev")]}
    for name, questions in yaml.safe_load((HERE / "close.yaml").read_text()).items():
        turns = {dialogue: text for corpus, dialogue, text in retold if corpus == name}
        with tempfile.TemporaryDirectory() as work:
            search = made(Path(work), corpora[name], turns)
            known = [text for dialogue, text in turns.items() if dialogue in search.collection.row_of]
            for kind, asked in (questions | {"for a turn": known}).items():
                far = sum(not search.answer(question, 1).close for question in asked)
                sys.stdout.write(f"{name}, {kind}: nothing is close to {far} of {len(asked)}\n")


def made(folder: Path, corpus: list[Dialogue], wanted: dict[str, str]) -> Search:
    """Return the search in a new collection of some dialogues, among them the wanted ones."""
    some = {dialogue.dialogue_id: dialogue for dialogue in drawn(corpus, DIALOGUES, 0)}
    some |= {dialogue.dialogue_id: dialogue for dialogue in corpus if dialogue.dialogue_id in wanted}
    write_dialogues(folder / "some.jsonl", list(some.values()))
    add(folder / "collection", folder / "some.jsonl", encoder=load_encoder("general"))
    return Search(CollectionFolder(folder / "collection"))


if __name__ == "__main__":
    main()
