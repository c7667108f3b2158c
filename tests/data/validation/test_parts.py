from __future__ import annotations

import gzip
import json
from dataclasses import astuple
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.dialogue import line_of
from dial2vec.config import Validate
from dial2vec.data.corpora.transcripts import Transcripts
from dial2vec.data.validation import Checker, checked_parts
from dial2vec.data.validation import profile as profile_module
from dial2vec.data.validation.block import check_block
from dial2vec.data.validation.frames import dialogue_frame
from dial2vec.data.validation.profile import LanguageSample
from dial2vec.errors import CorpusError
from tests.conftest import make_dialogue

LIMITS = Validate(max_turn_words=8)
SAID = ("where is my parcel please", "wo ist mein paket bitte", "one two three four five six seven eight nine")


@pytest.fixture
def calls(tmp_path: Path) -> Path:
    """Two files with long turns, lines that are no dialogue, ids that come again, and labels."""
    for name, first in (("1", 0), ("2", 18)):
        records = [json.loads(line_of(made(number))) for number in range(first, first + 20)]
        lines = [json.dumps(record) for record in records]
        lines[3], lines[15] = "{broken", lines[5]
        (tmp_path / f"{name}.jsonl").write_text("\n".join(lines) + "\n")
    (tmp_path / "labels.csv").write_text("dialogue_id,label\nd1,parcel\nd22,letter\n")
    (tmp_path / "notes.txt").write_text("not read")
    for name in ("0", "1a", "3"):
        (tmp_path / f"{name}.jsonl").write_text("")
    return tmp_path


def made(number: int):
    return make_dialogue(f"d{number}", f"a: {SAID[number % 3]}", "a: and now", f"b: it is number {number}")


def found(corpus, folder: Path, *, merge: bool):
    quarantine = []
    checker = Checker(LIMITS, quarantine=quarantine)
    parts = list(checked_parts(corpus, folder, checker, merge=merge))
    profile = checker.profile()
    results = [astuple(result) for result in checker.results(profile, earlier=None)]
    return b"".join(part.lines for part in parts), list(map(str, quarantine)), profile, results


def found_plainly(corpus, folder: Path, *, merge: bool):
    """Read and check all dialogues at once."""
    quarantine = []
    checker = Checker(LIMITS, quarantine=quarantine)
    dialogues = list(corpus.read(folder, quarantine=quarantine))
    if merge:
        dialogues = [dialogue.merged() for dialogue in dialogues]
    block = check_block(dialogues, LIMITS)
    quarantine += block.failures(dialogues)
    checker.add(block)
    lines = [line_of(dialogue) for place, dialogue in enumerate(dialogues) if place not in block.reasons]
    profile = checker.profile()
    results = [astuple(result) for result in checker.results(profile, earlier=None)]
    return b"".join(lines), list(map(str, quarantine)), profile, results


@pytest.mark.parametrize("merge", [False, True])
@pytest.mark.parametrize("size", [1, 7, 5000])
def test_parts_give_what_the_whole_gives(calls, monkeypatch, merge, size):
    plain = found_plainly(Transcripts(), calls, merge=merge)
    monkeypatch.setattr("dial2vec.data.corpora.transcripts.PART", size)
    lines, quarantine, profile, results = found(Transcripts(), calls, merge=merge)
    assert (lines, sorted(quarantine), profile) == (plain[0], sorted(plain[1]), plain[2])
    # Examples of quarantined records are the first, which depend on where parts end.
    assert [result[:4] for result in results] == [result[:4] for result in plain[3]]
    assert sum("came before in 1.jsonl" in reason for reason in quarantine) == 2
    assert sum("came before in this file" in reason for reason in quarantine) == 2
    assert sum("the file is empty" in reason for reason in quarantine) == 3
    assert profile.labels == {"letter": 1, "parcel": 1}


def test_two_processes_give_what_one_gives_to_the_last_record_of_the_quarantine(calls, monkeypatch):
    monkeypatch.setattr("dial2vec.data.corpora.transcripts.PART", 7)
    alone = found(Transcripts(), calls, merge=True)
    monkeypatch.setattr("dial2vec.data.workers.processes_for", lambda n_parts, fewest: 2)
    assert found(Transcripts(), calls, merge=True) == alone


def test_a_corpus_with_a_reader_of_its_own_is_checked_block_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr("dial2vec.data.validation.parts.BLOCK", 7)

    class Few:
        def read(self, folder, *, quarantine):
            yield from (made(number) for number in range(20))

    assert found(Few(), tmp_path, merge=False) == found_plainly(Few(), tmp_path, merge=False)


def test_packed_files_count_as_what_they_hold(tmp_path, monkeypatch):
    seen = []
    monkeypatch.setattr("dial2vec.data.validation.parts.PART_BYTES", 1)
    monkeypatch.setattr("dial2vec.data.workers.processes_for", lambda n_parts, fewest: seen.append(n_parts) or 1)
    packed = gzip.compress(b"".join(line_of(made(number)) for number in range(4)))
    (tmp_path / "1.jsonl.gz").write_bytes(packed)
    found(Transcripts(), tmp_path, merge=False)
    assert set(seen) == {8 * len(packed)}


def test_transcripts_without_a_dialogue_are_an_error_with_the_first_problem(tmp_path):
    (tmp_path / "1.jsonl").write_text("{broken\n")
    with pytest.raises(CorpusError, match=r"no usable dialogue in the 1 .* first problem is .*1.jsonl:1: not valid"):
        found(Transcripts(), tmp_path, merge=False)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.integers(1, 40), min_size=1, max_size=8))
def test_a_sample_of_languages_joins_like_one_of_the_whole(sizes):
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(profile_module, "LANGUAGE_SAMPLE", 50)
        dialogues = [make_dialogue(f"d{number}", f"a: {SAID[number % 2]}") for number in range(sum(sizes))]
        whole, joined, first = LanguageSample(), LanguageSample(), 0
        whole.add(dialogues, dialogue_frame(dialogues))
        for size in sizes:
            part, taken = LanguageSample(joined.limit), dialogues[first : first + size]
            part.add(taken, dialogue_frame(taken))
            joined.join(part)
            first += size
        assert joined.languages == whole.languages
        assert len(whole.languages) == min(sum(sizes), 50)
