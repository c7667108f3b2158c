from collections import Counter
from pathlib import Path

import pytest

from dial2vec.errors import CorpusError
from dial2vec_papers.corpora import CORPORA
from dial2vec_papers.corpora.file_corpus import ArchiveCorpus, CandidateCorpus, FileCorpus
from tests.papers.corpora.upstream import COUNTS, FORMS, WHOLE, pack, read

READERS = {
    name: corpus
    for name, corpus in CORPORA.items()
    if issubclass(corpus, FileCorpus) and not issubclass(corpus, ArchiveCorpus)
}
WITH_CANDIDATES = [name for name, corpus in READERS.items() if issubclass(corpus, CandidateCorpus)]


def test_every_reader_has_a_fixture():
    assert set(WHOLE) == set(COUNTS) == set(READERS)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", WHOLE)
def test_archive_and_unpacked_folder_give_the_counted_dialogues(tmp_path: Path, name: str, form: str):
    dialogues, quarantine = read(name, tmp_path, form=form)
    counts = Counter(dialogue.split for dialogue in dialogues)
    assert tuple(counts[split] for split in ("train", "dev", "test", None)) == COUNTS[name]
    assert quarantine == []
    assert dialogues == read(name, tmp_path / "again")[0]
    assert len({dialogue.dialogue_id for dialogue in dialogues}) == len(dialogues)
    assert (CORPORA[name].splitting == "official") == (counts[None] == 0)


@pytest.mark.parametrize("name", WHOLE)
def test_missing_names_each_needed_file_that_is_absent(tmp_path: Path, name: str):
    reader = READERS[name]()
    assert reader.missing(pack(tmp_path / name, WHOLE[name])) == []
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "README.md").write_text("hello")
    assert reader.missing(tmp_path / "other") == list(reader.expected)
    with pytest.raises(CorpusError, match=r"holds no file .*; expected those of "):
        list(reader.read(tmp_path / "other", quarantine=[]))


@pytest.mark.parametrize("name", WHOLE)
def test_absent_folder_is_refused_with_what_to_do(tmp_path: Path, name: str):
    with pytest.raises(CorpusError, match=rf"does not exist; expected those of .* run `dial2vec fetch {name}`"):
        list(READERS[name]().read(tmp_path / name, quarantine=[]))


@pytest.mark.parametrize("wrong", [None, [], [None], {}, {"a": None}, 3, 1.5, "x", True, float("nan")])
@pytest.mark.parametrize("name", WHOLE)
def test_wrong_types_never_raise_and_are_counted(tmp_path: Path, name: str, wrong: object):
    for path, content in WHOLE[name].items():
        if not isinstance(content, list) or not content or not isinstance(content[0], dict):
            continue
        first = content[0]
        odd = [wrong, *({**first, key: wrong} for key in first)]
        for key, value in first.items():
            if isinstance(value, list) and value and isinstance(value[0], dict):
                odd.append({**first, key: [wrong]})
                odd += [{**first, key: [{**value[0], inner: wrong}, *value[1:]]} for inner in value[0]]
        whole, _ = read(name, tmp_path / "whole" / path)
        dialogues, quarantine = read(name, tmp_path / path, {path: [*content, *odd]})
        added = len(dialogues) + len(quarantine) - len(whole)
        # The same file can be unread, as sample.json is.
        assert added in (len(odd), 0), path
        ids = [dialogue.dialogue_id for dialogue in dialogues]
        assert [name for name in ids if name in {dialogue.dialogue_id for dialogue in whole}] == [
            dialogue.dialogue_id for dialogue in whole
        ]


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", WITH_CANDIDATES)
def test_queries_end_where_the_dialogue_has_its_right_response(tmp_path: Path, name: str, form: str):
    reader = READERS[name]()
    assert isinstance(reader, CandidateCorpus)
    folder = pack(tmp_path / name, WHOLE[name], form=form)
    dialogues = {dialogue.dialogue_id: dialogue for dialogue in reader.read(folder, quarantine=[])}
    for split in ("dev", "test"):
        quarantine: list = []
        queries = list(reader.queries(folder, split=split, quarantine=quarantine))
        assert quarantine == []
        assert {query.query_id for query in queries} == {d.dialogue_id for d in dialogues.values() if d.split == split}
        for query in queries:
            whole = dialogues[query.query_id]
            n = len(query.context)
            assert query.context == whole.turns[:n]
            assert query.responses[query.correct[0]] == " ".join(turn.text for turn in whole.turns[n:])
            assert {turn.speaker for turn in whole.turns[n:]} == {query.speaker}
