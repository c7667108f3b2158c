"""`dial2vec drift`: files of new dialogues against the training data of a corpus, as a table and a verdict."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from dial2vec.collection.embedding.shards import ShardReader, look_at, shards_of
from dial2vec.config import Drift, Settings
from dial2vec.dialogue import Dialogue, Quarantined, read_dialogues
from dial2vec.encoder import DialogueEncoder
from dial2vec.errors import CorpusError
from dial2vec.operation.drift.comparison import Comparison, compare
from dial2vec.operation.drift.shape import Quartiles, Shape
from dial2vec.pipeline.artifacts import Artifacts
from dial2vec.research.tasks.sources import require_split

# Languages of a side in the table; the others are added up.
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

    :param transcripts: JSON Lines, or a folder of them, as `dial2vec embed` takes it.
    :param model: as `DialogueEncoder.from_pretrained` takes it; None is the starting encoder of the settings.
    :param quarantine: gets the records that cannot be used.
    :raises CorpusError: when the corpus has no splits yet, a file cannot be read, or nothing in it can be used.
    :raises ModelError: when the model cannot be loaded.
    """
    train = Artifacts(root, corpus).split("train")
    require_split(corpus, train)
    # A wrong path is found before the model is loaded.
    look_at(transcripts)
    encoder = DialogueEncoder.start(settings.encoder) if model is None else DialogueEncoder.from_pretrained(model)
    reference, new = read_dialogues(train, may_be_empty=True), _read(transcripts, quarantine)
    found = compare(reference, new, encoder=encoder, options=options, seed=settings.seed)
    if not found.new.dialogues:
        reasons = "; ".join(map(str, quarantine[:3])) or "it is empty"
        raise CorpusError(f"nothing in {transcripts} can be used: {reasons}. Mend it and try again.")
    return found


def _read(transcripts: Path, quarantine: list[Quarantined]) -> Iterator[Dialogue]:
    seen: set[str] = set()
    with ShardReader() as reader:
        for shard in shards_of(transcripts)[0]:
            for dialogue in reader.read(shard, quarantine=quarantine):
                if dialogue.dialogue_id not in seen:
                    seen.add(dialogue.dialogue_id)
                    yield dialogue


def comparison_text(found: Comparison, corpus: str) -> str:
    """Return the comparison as a table, the farthest dialogues and the verdict, with what to do next."""
    lines = _table(found.reference, found.new)
    if found.difference is not None and found.far_share is not None and found.far_p_value is not None:
        lines += ["", f"difference {found.difference.effect:.3f}, p-value {_chance(found.difference.p_value)}"]
        lines += [f"far away {100 * found.far_share:.1f} %, p-value {_chance(found.far_p_value)}"]
    if found.farthest:
        lines += ["", "Farthest from the training data (1.0 is where far away begins):"]
        lines += [f"  {one.distance:4.1f}  {one.dialogue_id}  {one.begins}  ({one.origin})" for one in found.farthest]
    lines += ["", found.verdict]
    if found.alarm:
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
