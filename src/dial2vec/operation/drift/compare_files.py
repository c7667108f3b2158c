"""`dial2vec drift`: comparison of files with the training data of a corpus, as a table and a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from conversations.dialogue import Dialogue, Quarantined, read_dialogues
from dial2vec.collection.embedding.shards import ShardReader, shards_of
from dial2vec.config import Drift, Settings
from dial2vec.encoder.loading import load_encoder
from dial2vec.encoder.protocol import Encoder
from dial2vec.errors import CorpusError
from dial2vec.operation.drift.comparison import Comparison, Quartiles, Shape, compare
from dial2vec.pipeline.artifacts import Artifacts, require_split

# Number of languages named in the table; the others are added up.
LANGUAGES = 4


def compare_files(
    root: Path,
    corpus: str,
    transcripts: Path,
    *,
    model: str | None,
    settings: Settings,
    options: Drift,
    quarantine: list[Quarantined],
) -> Comparison:
    """Compare the dialogues of files with the train split of a corpus.

    :param transcripts: JSON Lines file, or a folder of them, as for `dial2vec embed`.
    :param model: Name, folder or address for `load_encoder`; None means the base encoder.
    :param quarantine: List that gets the unusable records.
    :raises CorpusError: if the corpus has no splits yet, a file cannot be read, or no record can be used.
    :raises ModelError: if the model cannot be loaded.
    """
    train = Artifacts(root, corpus).split("train")
    require_split(corpus, train)
    encoder = _start(settings) if model is None else load_encoder(model)
    reference, new = read_dialogues(train, may_be_empty=True), _read(transcripts, quarantine)
    comparison = compare(reference, new, encoder=encoder, options=options, seed=settings.seed)
    if not comparison.new.dialogues:
        reasons = "; ".join(map(str, quarantine[:3])) or "it is empty"
        raise CorpusError(f"nothing in {transcripts} can be used: {reasons}. Mend it and try again.")
    return comparison


def _start(settings: Settings) -> Encoder:
    from dial2vec.encoder import DialogueEncoder  # imports torch, which a student does not need

    return DialogueEncoder.start(settings.encoder)


def _read(transcripts: Path, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
    seen: set[str] = set()
    with ShardReader() as reader:
        for shard in shards_of(transcripts)[0]:
            for dialogue in reader.read(shard, quarantine=quarantine):
                if dialogue.dialogue_id not in seen:
                    seen.add(dialogue.dialogue_id)
                    yield dialogue


def comparison_text(comparison: Comparison, corpus: str) -> str:
    """Return table, farthest dialogues, verdict and next step for people."""
    lines = _table(comparison.reference, comparison.new)
    difference, far_share, far_p_value = comparison.difference, comparison.far_share, comparison.far_p_value
    if difference is not None and far_share is not None and far_p_value is not None:
        lines += ["", f"difference {difference.effect:.3f}, p-value {_chance(difference.p_value)}"]
        lines += [f"far away {100 * far_share:.1f} %, p-value {_chance(far_p_value)}"]
    if comparison.farthest:
        lines += ["", "Farthest from the training data (1.0 is where far away begins):"]
        lines += [
            f"  {far.distance:4.1f}  {far.dialogue_id}  {far.begins}  ({far.origin})" for far in comparison.farthest
        ]
    lines += ["", comparison.verdict]
    if comparison.alarm:
        lines += [
            f"Next: look at them. If such dialogues are to come, put them into data/{corpus}, then retrain: "
            "`dial2vec run`."
        ]
    return "\n".join(lines)


def _table(reference: Shape, new: Shape) -> list[str]:
    rows = {
        "": ("training data", "new"),
        "dialogues": (f"{reference.dialogues:,}", f"{new.dialogues:,}"),
        "of them compared": (f"{reference.compared:,}", f"{new.compared:,}"),
        "turns, quartiles": (_spread(reference.turns), _spread(new.turns)),
        "words, quartiles": (_spread(reference.words), _spread(new.words)),
        "speakers, mean": (f"{reference.speakers:.2f}", f"{new.speakers:.2f}"),
        "one speaker only": (f"{100 * reference.one_speaker:.1f} %", f"{100 * new.one_speaker:.1f} %"),
        "languages": (_languages(reference.languages), _languages(new.languages)),
    }
    widths = [max(map(len, column)) for column in zip(*rows.values(), strict=True)]
    return [f"{name:<18}{old:>{widths[0]}}  {fresh:>{widths[1]}}" for name, (old, fresh) in rows.items()]


def _chance(p_value: float) -> str:
    return f"{p_value:.3f}" if p_value >= 0.001 else "below 0.001"


def _spread(quartiles: Quartiles) -> str:
    return " ".join(f"{figure:,.0f}" for figure in quartiles)


def _languages(shares: Mapping[str, float]) -> str:
    named = [f"{name} {100 * share:.0f} %" for name, share in list(shares.items())[:LANGUAGES]]
    rest = sum(list(shares.values())[LANGUAGES:])
    return ", ".join([*named, f"others {100 * rest:.0f} %"] if rest else named) or "too few words"
