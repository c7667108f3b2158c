"""The public texts that the general student learns from: dialogues, single turns, and glosses of WordNet."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

import numpy as np

from conversations.dialogue import Dialogue, Turn
from dial2vec.config import Prepare
from dial2vec.data.corpora import get_corpus
from dial2vec.data.splits import SPLITS, assign_splits
from dial2vec.draws import rng_for
from dial2vec.errors import CorpusError
from dial2vec_papers.tasks.intents import read_intents

# Seed of the splits in params.yaml. Dialogues of dev and test of such a split teach nothing, whatever the student's
# seed, so that they can be used for measuring.
SPLIT_SEED = 42
TRAIN, TEST = SPLITS.index("train"), SPLITS.index("test")
# Words of a turn that is a text of its own: shorter ones have no topic, longer ones are like dialogues.
FEWEST_WORDS, MOST_WORDS = 4, 60
PARTS_OF_SPEECH = ("noun", "verb", "adj", "adv")


def split_of(name: str, data: Path, wanted: int) -> list[Dialogue]:
    """Return the dialogues of a public corpus that belong to a split, sorted by id.

    :param wanted: `TRAIN` or `TEST`.
    :param data: folder with the folder `name`, which `dial2vec fetch` fills.
    :raises CorpusError: if the corpus is not there, or damaged.
    """
    corpus, shares = get_corpus(name, data=data), Prepare()
    dialogues = sorted(corpus.read(data / name, quarantine=[]), key=lambda dialogue: dialogue.dialogue_id)
    splits = assign_splits(
        [dialogue.dialogue_id for dialogue in dialogues],
        [len(dialogue.labels) for dialogue in dialogues],
        [dialogue.split for dialogue in dialogues],
        splitting=corpus.splitting,
        dev_share=shares.dev_share,
        test_share=shares.test_share,
        seed=SPLIT_SEED,
    )
    return [dialogue for dialogue, split in zip(dialogues, splits, strict=True) if split == wanted]


def single_turns(dialogues: Iterable[Dialogue]) -> list[Dialogue]:
    """Return the different turns of 4 to 60 words, each as a dialogue of one turn, sorted."""
    turns = {turn.text for dialogue in dialogues for turn in dialogue.turns}
    return alone(sorted(text for text in turns if FEWEST_WORDS <= len(text.split()) <= MOST_WORDS))


def intent_turns(names: Sequence[str], path: Path) -> list[Dialogue]:
    """Return the different training sentences of intent sets, each as a dialogue of one turn, sorted.

    :param names: `hwu64`, `snips`, ...
    :param path: folder or zip of the sets, as `dial2vec papers tables --intents` takes it.
    :raises CorpusError: if a set is not there, or damaged.
    """
    return alone(sorted({text for name in names for text in read_intents(name, path).train.texts}))


def glosses(folder: Path) -> list[Dialogue]:
    """Return the synonyms and the gloss of each of WordNet's 117,659 synsets, each as a dialogue of one turn.

    :param folder: folder with WordNet's database, `data.noun` to `data.adv`.
    :raises CorpusError: if a file is not there.
    """
    texts = []
    for part in PARTS_OF_SPEECH:
        path = folder / f"data.{part}"
        if not path.is_file():
            raise CorpusError(
                f"{path} does not exist; expected WordNet's database. Install Debian's package wordnet-base, or unpack "
                "https://wordnetcode.princeton.edu/3.0/WNdb-3.0.tar.gz and give its folder dict as --wordnet."
            )
        lines = path.read_text(encoding="utf-8").splitlines()
        # Lines of the licence begin with blanks.
        texts += [_gloss(line) for line in lines if not line.startswith(" ")]
    return alone(texts)


def _gloss(line: str) -> str:
    """Return the words and the gloss of a synset (wndb(5WN): the number of words is hexadecimal)."""
    fields, _, gloss = line.partition(" | ")
    _, _, _, count, *rest = fields.split()
    # An adjective can have a marker of its place in a sentence, such as `alone(p)`.
    words = [word.partition("(")[0].replace("_", " ") for word in rest[: 2 * int(count, 16) : 2]]
    return f"{', '.join(words)}: {gloss.strip()}"


def alone(texts: Sequence[str]) -> list[Dialogue]:
    """Return a dialogue of one turn for each text."""
    return [Dialogue(str(number), (Turn("user", text),)) for number, text in enumerate(texts)]


def drawn(dialogues: Sequence[Dialogue], n: int, *names: str | int) -> list[Dialogue]:
    """Return n dialogues, or all if there are fewer, in an order drawn by some names."""
    order = rng_for(*names).permutation(len(dialogues))[:n]
    return [dialogues[place] for place in np.asarray(order).tolist()]
