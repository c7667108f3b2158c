"""Reading and checking a corpus part by part, a large one in several processes."""

from __future__ import annotations

from collections import deque
from collections.abc import Generator, Iterator
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from conversations.dialogue import Dialogue, Quarantined, line_of
from conversations.files import transcript_files
from dial2vec.config import Validate
from dial2vec.data.corpora.corpus import Corpus
from dial2vec.data.corpora.transcripts import FirstFiles, LinesOf, Transcripts
from dial2vec.data.validation.block import Block, check_block
from dial2vec.data.validation.checker import Checker
from dial2vec.data.workers import spread, works_alone

# Dialogues of a part of a corpus with a reader of its own.
BLOCK = 5000
# Bytes of transcripts by which processes are counted, and how often that for which one more is worth its start: each
# imports Great Expectations, which takes some seconds.
PART_BYTES, FEWEST_PARTS = 10_000_000, 5
# How much smaller packed transcripts are.
PACKED = 8


@dataclass(frozen=True, slots=True)
class Part:
    """Some dialogues of a corpus, and how they are checked.

    :param source: Their lines in a file, or the dialogues.
    :param limits: Block `validate` of params.yaml.
    :param merge: Whether consecutive turns of a speaker become one.
    :param below: Hash of an id from which on no language is needed.
    """

    source: LinesOf | list[Dialogue]
    limits: Validate
    merge: bool
    below: int


@dataclass(frozen=True, slots=True)
class CheckedPart:
    """What was found in a part.

    :param ids: Ids of all dialogues read.
    :param passing: Ids of those that pass.
    :param lines: Lines of a JSON Lines file, with those that pass.
    :param rejected: Records that are no dialogue, then dialogues that fail an expectation.
    :param block: Sums of the checks.
    """

    ids: list[str]
    passing: list[str]
    lines: bytes
    rejected: list[Quarantined]
    block: Block


def checked_parts(corpus: Corpus, folder: Path, checker: Checker, *, merge: bool) -> Generator[CheckedPart]:
    """Read and check the dialogues of a corpus, and add what is found to `checker` and its quarantine.

    Results do not depend on the number of processes.

    :param folder: Folder of the raw files.
    :param merge: Whether consecutive turns of a speaker become one (`read.merge_turns`).
    :raises CorpusError: if the files are missing or damaged, or have no usable dialogue.
    """
    if isinstance(corpus, Transcripts):
        parts = _of_transcripts(corpus, folder, checker, merge)
    else:
        stream = corpus.read(folder, quarantine=checker.quarantine)
        blocks = iter(lambda: list(islice(stream, BLOCK)), [])
        parts = (check_part(Part(block, checker.limits, merge, checker.languages.limit)) for block in blocks)
    for part in parts:
        checker.quarantine += part.rejected
        checker.add(part.block)
        yield part


def check_part(part: Part) -> CheckedPart:
    """Read and check a part, in any process."""
    rejected: list[Quarantined] = []
    dialogues = part.source.dialogues(rejected) if isinstance(part.source, LinesOf) else part.source
    if part.merge:
        dialogues = [dialogue.merged() for dialogue in dialogues]
    block = check_block(dialogues, part.limits, below=part.below)
    passing = [dialogue for place, dialogue in enumerate(dialogues) if place not in block.reasons]
    return CheckedPart(
        [dialogue.dialogue_id for dialogue in dialogues],
        [dialogue.dialogue_id for dialogue in passing],
        b"".join(map(line_of, passing)),
        rejected + block.failures(dialogues),
        block,
    )


def _of_transcripts(corpus: Transcripts, folder: Path, checker: Checker, merge: bool) -> Iterator[CheckedPart]:
    """Check the parts of a team's transcripts; one with an id that came in an earlier part is checked again here."""
    known, n_before = FirstFiles(folder), len(checker.quarantine)
    n_parts = sum(_text_size(path) for path in transcript_files(folder)) // PART_BYTES
    # One process knows all earlier ids when it reads a part; several do not.
    alone = works_alone(n_parts, fewest=FEWEST_PARTS)
    waiting: deque[LinesOf] = deque()

    def parts() -> Iterator[Part]:
        for lines in corpus.parts(folder):
            waiting.append(lines)
            source = replace(lines, before=known.first) if alone else lines
            # The limit of languages is that of the parts that are back by then: a later one only spares work.
            yield Part(source, checker.limits, merge, checker.languages.limit)

    for checked in spread(check_part, parts(), n_parts=n_parts, fewest=FEWEST_PARTS):
        lines = waiting.popleft()
        if not alone and (repeated := known.repeated(lines, checked.ids)):
            checked = check_part(Part(repeated, checker.limits, merge, checker.languages.limit))
        known.add(lines, checked.ids)
        yield checked
    known.require_some(checker.quarantine[n_before:])


def _text_size(path: Path) -> int:
    """Return the bytes of a file of transcripts, roughly if it is packed."""
    return path.stat().st_size * (PACKED if path.suffix.lower() == ".gz" else 1)
