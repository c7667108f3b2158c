"""Stage prepare: usable dialogues to train, dev and test."""

from __future__ import annotations

from dial2vec.artifacts import Artifacts
from dial2vec.config import Settings
from dial2vec.corpora import get_corpus
from dial2vec.dialogue import read_dialogues, write_dialogues
from dial2vec.errors import CorpusError
from dial2vec.files import atomic_path, write_json
from dial2vec.splits import SPLITS, label_counts, split_dialogues
from dial2vec.stages import stage


def prepare(artifacts: Artifacts, settings: Settings) -> str:
    """Split the corpus: officially where upstream has splits, by seed otherwise."""
    corpus = get_corpus(artifacts.corpus, data=artifacts.data.parent)
    splits = split_dialogues(
        list(read_dialogues(artifacts.dialogues)),
        splitting=corpus.splitting,
        dev_share=settings.prepare.dev_share,
        test_share=settings.prepare.test_share,
        seed=settings.seed,
    )
    if not splits.train:
        raise CorpusError(
            f"{artifacts.corpus}: the train split is empty; expected dialogues in it. "
            "Lower the shares in block `prepare` of params.yaml."
        )
    with atomic_path(artifacts.splits) as folder:
        folder.mkdir()
        for name in SPLITS:
            write_dialogues(folder / f"{name}.jsonl", getattr(splits, name))
    write_json(
        artifacts.split_report,
        {
            "corpus": artifacts.corpus,
            "splitting": corpus.splitting,
            "split_sizes": splits.sizes,
            "labels": {name: label_counts(getattr(splits, name)) for name in SPLITS},
            "left_out": [dialogue.dialogue_id for dialogue in splits.left_out],
        },
    )
    sizes = ", ".join(f"{name} {size}" for name, size in splits.sizes.items())
    left_out = f"; {len(splits.left_out)} with several labels left out of dev and test" if splits.left_out else ""
    several = sum(len(dialogue.labels) > 1 for dialogue in (*splits.dev, *splits.test))
    unscored = f"; {several} of dev and test have several labels, and no figure counts them" if several else ""
    return sizes + left_out + unscored


if __name__ == "__main__":
    stage.main(prepare)
