"""Makes the general student: a table of 256 numbers per token that stands in for MiniLM where torch is not installed.

    make general

It learns MiniLM's vectors of public texts (texts.py). The same seed on the same kind of processor, with the same number
of threads, gives the same bytes. README.md beside this file says what is read and how to get it.
"""

from __future__ import annotations

import argparse
import hashlib
import logging
import shutil
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray
from texts import TRAIN, drawn, glosses, intent_turns, single_turns, split_of
from vocabulary import Vocabulary, vocabulary_of

from conversations.dialogue import Dialogue
from dial2vec.config import Distil
from dial2vec.encoder import DialogueEncoder
from dial2vec.encoder.folder import STUDENT_FILE
from dial2vec.encoder.nearest import unit_rows
from dial2vec.encoder.student import StudentEncoder, TokenTable
from dial2vec.encoder.student.saving import TABLE_FILE, TOKENIZER_FILE
from dial2vec.training.distillation.bags import Bags
from dial2vec.training.distillation.fitting import fit
from dial2vec.training.distillation.learning_table import first_weights
from dial2vec.training.distillation.lesson import Lesson
from dial2vec.training.distillation.teachers import EncoderTeacher

ROOT = Path(__file__).parents[1]
TEACHER = "all-MiniLM-L6-v2"
# What the package needs; the files for other libraries would double its size.
FILES = (TABLE_FILE, TOKENIZER_FILE, STUDENT_FILE)


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a student is made of.

    :param corpora: Public corpora, and the number of training dialogues of each.
    :param intents: Intent sets whose training sentences are texts, all of them.
    :param turns: Number of single turns of each corpus.
    :param glosses: Number of WordNet's glosses.
    :param tokens: Size of the vocabulary.
    :param dimension: Length of a vector.
    :param options: Options of the training.
    """

    corpora: Mapping[str, int]
    intents: tuple[str, ...] = ()
    turns: int = 20_000
    glosses: int = 30_000
    tokens: int = 28_672
    dimension: int = 256
    options: Distil = field(default_factory=partial(Distil, targets="vectors", epochs=4, batch_size=512))


RECIPE = Recipe({"self_dialogue": 6000}, intents=("hwu64", "snips"))


def make(recipe: Recipe, *, data: Path, wordnet: Path, work: Path, seed: int, teacher: str = TEACHER) -> StudentEncoder:
    """Return a student made by a recipe.

    :param data: Folder with a folder per corpus, as `dial2vec fetch` fills it.
    :param wordnet: Folder with WordNet's database.
    :param seed: Seed of the order in which texts are learnt.
    :param work: Folder that keeps the teacher's vectors and the training's state, so that a killed run goes on.
    """
    encoder = DialogueEncoder.from_pretrained(teacher)
    texts = read_texts(recipe, data=data, wordnet=wordnet)
    dialogues = [dialogue for own in texts.values() for dialogue in own]
    vocabulary = vocabulary_of(encoder, dialogues, size=recipe.tokens)
    # Each kind of text has a folder of vectors, so that another mixture encodes only what is new.
    known = EncoderTeacher(encoder, teacher)
    vectors = np.concatenate([known.vectors(own, work / "vectors" / name) for name, own in texts.items()])
    lesson = lesson_of(vocabulary, encoder, dialogues, vectors, recipe.dimension)
    made_by = repr((asdict(recipe.options), seed, encoder.fingerprint(), recipe)).encode()
    made_by += vectors.tobytes()
    files = fit(
        lesson,
        options=recipe.options,
        seed=seed,
        folder=work / f"fitting-{seed}",
        fingerprint=hashlib.sha256(made_by).hexdigest(),
    )
    table = TokenTable.load(files[-1]).as_rows("int8")
    return StudentEncoder(table, vocabulary.tokenizer, name="general", teacher=teacher)


def read_texts(recipe: Recipe, *, data: Path, wordnet: Path) -> dict[str, list[Dialogue]]:
    """Return the texts of a recipe by their kind; the draws are the same for every seed, and so the vectors."""
    texts = {}
    for name, n in recipe.corpora.items():
        dialogues = split_of(name, data, TRAIN)
        texts[name] = drawn(dialogues, n, name)
        texts[f"{name}_turns"] = drawn(single_turns(dialogues), recipe.turns, name, "turns")
    if recipe.intents:
        texts["intents"] = intent_turns(recipe.intents, data / "intents" / "intents.zip")
    texts["glosses"] = drawn(glosses(wordnet), recipe.glosses, "glosses")
    return texts


def lesson_of(
    vocabulary: Vocabulary,
    encoder: DialogueEncoder,
    dialogues: list[Dialogue],
    vectors: NDArray[np.float32],
    dimension: int,
) -> Lesson:
    """Return what the student learns: the teacher's vectors, cut to their largest principal components.

    :param vectors: The teacher's vectors of the dialogues, unit rows [n, e].
    """
    rows, bags = vocabulary.rows(encoder), Bags.of(dialogues, vocabulary.tokenizer)
    _, components = np.linalg.eigh(vectors.T.astype(np.float64) @ vectors)
    matrix = np.ascontiguousarray(components[:, : -dimension - 1 : -1], dtype=np.float32)
    return Lesson(bags, unit_rows(vectors @ matrix), rows, first_weights(bags, len(rows)), matrix)


def write(student: StudentEncoder, folder: Path) -> None:
    """Write what the package needs of a student into a folder, beside the card and the licences that are kept there."""
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as whole:
        student.save_pretrained(whole, rows="int8")
        for name in FILES:
            shutil.copyfile(Path(whole) / name, folder / name)
    # A third smaller than with the blanks that saving writes.
    student.tokenizer.save(str(folder / TOKENIZER_FILE), pretty=False)


def main(arguments: list[str] | None = None) -> None:
    """Make the student of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path, default=ROOT / "data", help="folder with a folder per corpus")
    parser.add_argument("--wordnet", type=Path, default=Path("/usr/share/wordnet"), help="WordNet's database")
    parser.add_argument("--output", type=Path, default=ROOT / "src" / "dial2vec" / "encoder" / "general")
    parser.add_argument("--work", type=Path, default=ROOT / ".general", help="folder of what took long to compute")
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--threads", type=int, default=1, help="with another number the last digits differ")
    options = parser.parse_args(arguments)
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.set_num_threads(options.threads)
    student = make(RECIPE, data=options.data, wordnet=options.wordnet, work=options.work, seed=options.seed)
    write(student, options.output)


if __name__ == "__main__":
    main()
