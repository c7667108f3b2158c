"""How near sentence-transformers, which pools by the mean, comes to an encoder that keeps the roles apart.

    .venv/bin/python benchmarks/role_as_mean.py all-MiniLM-L6-v2 artifacts/sgd/splits/test.jsonl
    .venv/bin/python benchmarks/role_as_mean.py artifacts/sgd/model artifacts/sgd/splits/test.jsonl

Of the dialogues of a split that have one label and are not longer than the encoder reads at once: the cosine of each
dialogue's two vectors, and what each kind of vector scores.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

import numpy as np
from sentence_transformers import SentenceTransformer

from conversations.dialogue import read_dialogues
from dial2vec import telemetry
from dial2vec.encoder import DialogueEncoder
from dial2vec.evaluation import TASKS
from dial2vec.evaluation.scores import score

RUNS, SEED = 10, 1


def main() -> None:
    """Print a table of the two."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("model", help="a folder or name that DialogueEncoder.from_pretrained opens, with pooling role")
    parser.add_argument("split", type=Path, help="JSON Lines of labelled dialogues")
    given = parser.parse_args()
    telemetry.switch_off()
    encoder = DialogueEncoder.from_pretrained(given.model)
    labelled = [one for one in read_dialogues(given.split) if one.label is not None]
    read = encoder.tokens.dialogues(labelled)
    dialogues = [one for one, tokens in zip(labelled, read, strict=True) if not tokens.cut]
    by_role = encoder.encode(dialogues)
    by_role /= np.linalg.norm(by_role, axis=1, keepdims=True)
    with tempfile.TemporaryDirectory() as folder:
        encoder.save_pretrained(folder)
        model = SentenceTransformer(folder, device="cpu")
        by_mean = model.encode([one.text for one in dialogues], normalize_embeddings=True)
    cosines = (by_role * by_mean).sum(axis=1)
    low, middle = np.quantile(cosines, [0.01, 0.5])
    sys.stdout.write(
        f"{len(dialogues)} of {len(labelled)} dialogues: cosine of the two {cosines.mean():.4f} on average, "
        f"{middle:.4f} median, {low:.4f} or less for 1 in 100, {cosines.min():.4f} the least\n"
        f"| read by | {' | '.join(TASKS)} |\n|---|{'---|' * len(TASKS)}\n"
    )
    labels = [str(one.label) for one in dialogues]
    for name, vectors in (("dial2vec", by_role), ("sentence-transformers", by_mean)):
        figures = score(np.asarray(vectors, dtype=np.float32), labels, runs=RUNS, seed=SEED)
        sys.stdout.write(f"| {name} | {' | '.join(f'{figures[task]:.2f}' for task in TASKS)} |\n")


if __name__ == "__main__":
    main()
