from __future__ import annotations

import json
import re
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.dialogue import Dialogue, Turn, write_dialogues
from dial2vec.cli import main
from dial2vec.collection import Collection, add
from dial2vec.collection.collection_folder import CollectionFolder
from dial2vec.collection.search import Filters, Search, exact
from dial2vec.collection.search.exact import nearest_rows, without
from dial2vec.collection.search.search import Answer, Hit, SpeakingTurn
from dial2vec.collection.search.showing import hits_as_text
from dial2vec.encoder.loading import load_encoder
from dial2vec.errors import CorpusError


def brute_force(vectors, query, k, rows):
    scored = sorted((-float(vectors[row] @ query), row) for row in rows)[:k]
    return [row for _, row in scored]


@given(
    n=st.integers(0, 30), k=st.integers(1, 8), seed=st.integers(0, 999), block=st.integers(1, 9), filtered=st.booleans()
)
@settings(max_examples=200, deadline=None)
def test_nearest_is_what_sorting_all_of_them_gives_with_ties(n, k, seed, block, filtered):
    rng = np.random.default_rng(seed)
    vectors = rng.integers(-1, 2, (n, 3)).astype(np.float32)
    query = rng.integers(-1, 2, 3).astype(np.float32)
    rows = np.flatnonzero(rng.random(n) < 0.5) if filtered else None
    whole, exact.BLOCK = exact.BLOCK, block
    try:
        found, scores = nearest_rows(vectors, query, k, rows=rows)
    finally:
        exact.BLOCK = whole
    assert found.tolist() == brute_force(vectors, query, k, range(n) if rows is None else rows)
    np.testing.assert_array_equal(scores, vectors[found] @ query)


@pytest.fixture(scope="module")
def folder(tmp_path_factory, tiny_folder) -> Path:
    """40 dialogues of two topics, w0 to w9 about cards, w10 to w19 about trips, one a day."""
    place = tmp_path_factory.mktemp("collection")
    rng = np.random.default_rng(1)
    with (place / "a.jsonl").open("w") as handle:
        for number in range(40):
            topic = number % 2
            words = [" ".join(f"w{w}" for w in 10 * topic + rng.choice(10, 4)) for _ in range(4)]
            speakers = ["ann", "bob" if number < 20 else "eve"]
            turns = [{"speaker": speakers[at % 2], "text": text} for at, text in enumerate(words)]
            record = {"dialogue_id": f"d{number}", "turns": turns, "labels": [["cards"], ["trips", "hotels"]][topic]}
            if number < 30:
                facts = {"channel": ["phone", "chat"][topic], "csat": number % 5 + 0.5, "vip": number == 3}
                record["metadata"] = facts | {"opened at": f"2026-03-{number + 1:02d}", "note": f"note {number}"}
            handle.write(json.dumps(record | {"date": f"2026-03-{number % 28 + 1:02d}T12:00:00"}) + "\n")
    encoder = load_encoder(tiny_folder, device="cpu")
    add(place / "c", place / "a.jsonl", encoder=encoder)
    return place / "c"


@pytest.fixture(scope="module")
def search(folder) -> Search:
    return Search(Collection(folder))


def test_a_dialogue_finds_what_has_the_largest_cosine_and_not_itself(search):
    collection = search.collection
    one = next(collection.dialogues([7]))
    hits = search.find(one, 5)
    cosines = collection.vectors @ collection.vectors[7]
    expected = [row for row in np.argsort(-cosines, kind="stable") if row != 7][:5]
    assert [collection.row(hit.dialogue_id) for hit in hits] == expected
    assert [hit.cosine for hit in hits] == pytest.approx(cosines[expected].tolist(), abs=1e-5)


def test_a_text_finds_as_many_as_asked_with_turns_in_order_of_what_they_say_for_it(search):
    hits = search.find("w1 w2 w3", 40)
    assert len(hits) == 40
    for hit in hits:
        shares = [turn.contribution for turn in hit.turns]
        assert shares == sorted(shares, reverse=True)
        assert len(shares) == 3


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(labels=("cards",)), range(0, 40, 2)),
        (Filters(labels=("cards", "hotels")), range(40)),
        (Filters(speakers=("eve",)), range(20, 40)),
        (Filters(after="2026-03-27"), [26, 27]),
        (Filters(before="2026-03-02"), [0, 28]),
        (Filters(where=("channel == phone",)), range(0, 30, 2)),
        (Filters(where=("channel != 'phone'", "csat<=1.5")), [1, 5, 11, 15, 21, 25]),
        (Filters(where=("csat > 3.5", "csat < 5")), range(4, 30, 5)),
        (Filters(where=("vip == true",)), [3]),
        (Filters(where=("opened at >= 2026-03-29",)), [28, 29]),
        (Filters(where=("note == note 7",)), [7]),
        (Filters(where=("note == nothing",)), []),
        (Filters(labels=("trips",), speakers=("bob",), after="2026-03-19", before="2026-04-01"), [19]),
    ],
)
def test_filters_keep_what_has_all_of_it(search, filters, expected):
    assert filters.rows(search.collection).tolist() == list(expected)
    found = search.find("w1", 100, filters=filters)
    assert sorted(search.collection.row(hit.dialogue_id) for hit in found) == list(expected)


def test_hits_are_among_the_rows_that_are_given_and_pass_the_filters(search):
    labelled, given = Filters(labels=("cards",)), np.array([0, 1, 3])
    passing = labelled.rows(search.collection).tolist()
    for way in ("moments", "themes"):
        rows = [search.collection.row_of[hit.dialogue_id] for hit in search.answer("w1", rows=given, way=way).hits]
        assert sorted(rows) == [0, 1, 3]
        hits = search.answer("w1", rows=given, filters=labelled, way=way).hits
        assert {search.collection.row_of[hit.dialogue_id] for hit in hits} == {0, 1, 3} & set(passing)


def test_no_filter_looks_at_all(search):
    assert Filters().rows(search.collection) is None


@pytest.mark.parametrize(
    ("filters", "said"),
    [
        (Filters(labels=("card",)), "Did you mean 'cards'"),
        (Filters(speakers=("zoe",)), "There are 3: ann, bob, eve"),
        (Filters(after="March"), "'March' is no date"),
        (Filters(where=("channel phone",)), "expected a key, one of == != <= >= < > ~ !~ in and a value"),
        (Filters(where=("chanel == phone",)), "has metadata 'chanel'. Did you mean 'channel'. There are 5: channel"),
        (Filters(where=("channel == phon",)), "no dialogue has the channel 'phon'. Did you mean 'phone'"),
        (Filters(where=("channel > a",)), "'channel' .* holds texts, which '>' does not compare"),
        (Filters(where=("csat > good",)), "'csat' .* holds numbers, found 'good'"),
        (Filters(where=("opened at > March",)), "'March' is no date"),
    ],
)
def test_filter_that_can_find_nothing_says_what_there_is(search, filters, said):
    with pytest.raises(CorpusError, match=said):
        filters.rows(search.collection)


def test_dates_of_a_collection_without_any_are_refused(tmp_path, tiny_folder, dialogue):
    write_dialogues(tmp_path / "a.jsonl", [dialogue("d", "a: w1")])
    add(tmp_path / "c", tmp_path / "a.jsonl", encoder=load_encoder(tiny_folder, device="cpu"))
    with pytest.raises(CorpusError, match=r"no dialogue of .* has a date"):
        Filters(after="2026-03-01").rows(Collection(tmp_path / "c"))


def call(*arguments: object, text: str | None = None):
    return CliRunner().invoke(main, [str(argument) for argument in arguments], input=text)


def test_command_prints_hits_with_the_turn_that_speaks_for_each(folder):
    done = call("search", folder, "w1 w2", "-k", 2, "--label", "cards")
    assert done.exit_code == 0, done.output
    assert done.stdout.count("  > ") == 2
    assert "(cards, 2026-03-" in done.stdout
    assert "2 of 40 dialogues by" in done.stderr


def test_command_prints_records_and_reads_queries_line_by_line(folder):
    done = call("search", folder, "-k", 1, "--json", text="w1 w2\n\nw11\n")
    hits = [json.loads(line) for line in done.stdout.splitlines()]
    assert len(hits) == 2
    assert set(hits[0]) - {"metadata"} == {"dialogue_id", "cosine", "labels", "way", "date", "turns"}


def test_command_filters_by_metadata_and_prints_it(folder):
    done = call("search", folder, "w1", "--where", "channel == phone", "--where", "csat < 1", "--json")
    hits = [json.loads(line) for line in done.stdout.splitlines()]
    assert sorted(hit["dialogue_id"] for hit in hits) == ["d0", "d10", "d20"]
    assert hits[0]["metadata"].items() >= {"channel": "phone", "csat": 0.5, "vip": False}.items()


def test_a_dialogue_of_a_file_or_of_the_collection_is_a_query(folder, tmp_path):
    like = call("search", folder, "--like", "d3", "-k", 3, "--json").stdout
    one = next(Collection(folder).dialogues([3]))
    write_dialogues(tmp_path / "q.jsonl", [one, *Collection(folder).dialogues([5])])
    assert call("search", folder, f"{tmp_path / 'q.jsonl'}:d3", "-k", 3, "--json").stdout == like
    (tmp_path / "one.json").write_text(json.dumps(one.to_record(), indent=1))
    assert call("search", folder, tmp_path / "one.json", "-k", 3, "--json").stdout == like


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["text", "--like", "d1"], "both a query and --like"),
        ([" "], "the query is blank; expected words"),
        (["--like", "d400"], "no dialogue 'd400'"),
        (["x", "--label", "bards"], "Did you mean 'cards'"),
        (["none.jsonl:3"], "none.jsonl does not exist; expected words, or an export with a dialogue"),
        (["none.json"], "none.json does not exist; expected words"),
        ([__file__], "test_search.py can be used"),
    ],
)
def test_command_says_what_is_wrong_in_a_sentence(folder, arguments, said):
    done = call("search", folder, *arguments)
    assert done.exit_code == 1
    assert said in done.stderr


def test_words_with_dots_and_colons_are_words(folder):
    for words in ("w1: w2", "error 404: notes.jsonl is gone", "10:15", "w1."):
        assert call("search", folder, words, "-k", 1).exit_code == 0


def test_a_file_in_the_place_of_a_collection_is_what_to_index(folder, tmp_path):
    write_dialogues(tmp_path / "a.jsonl", [next(Collection(folder).dialogues([3]))])
    done = call("search", tmp_path / "a.jsonl", "w1")
    assert f"`dial2vec index {tmp_path / 'a.jsonl'} --output FOLDER` makes one" in done.stderr


def test_index_makes_a_collection_and_adds_to_it_by_its_own_encoder(tmp_path, tiny_folder, dialogue):
    path, output = tmp_path / "a.jsonl", tmp_path / "c"
    write_dialogues(path, [dialogue("x", "a: w1", "b: w2")])
    done = call("index", path, "--output", output, "--model", tiny_folder)
    assert "1 dialogues, 1 new, 0 already there" in done.stdout
    write_dialogues(path, [dialogue("x", "a: w1", "b: w2"), dialogue("y", "a: w3")])
    done = call("index", path, "--output", output)
    assert "2 dialogues, 1 new, 1 already there" in done.stdout
    assert call("search", output, "w3", "-k", 1, "--json").exit_code == 0


def test_a_new_collection_is_read_by_the_encoder_of_the_install_where_none_is_named(tmp_path, dialogue):
    write_dialogues(tmp_path / "a.jsonl", [dialogue("x", "a: hello", "b: goodbye")])
    done = call("index", tmp_path / "a.jsonl", "--output", tmp_path / "c")
    assert "1 dialogues, 1 new" in done.stdout
    assert "come from all-MiniLM-L6-v2, which was not trained on them; --model names another" in done.stdout


def test_half_of_a_character_in_a_query_is_read_as_a_question_mark(search):
    halves, whole = (search.find(f"w1 {end}") for end in ("\udcff", "?"))
    assert [hit.dialogue_id for hit in halves] == [hit.dialogue_id for hit in whole]


def test_another_dialogue_of_the_same_id_is_a_hit(folder):
    found = Search(Collection(folder))
    [own] = found.collection.dialogues([3])
    other = Dialogue(own.dialogue_id, (Turn("ann", "w1 w2"), Turn("bob", "w3")))
    everyone = len(found.collection)
    assert own.dialogue_id not in [hit.dialogue_id for hit in found.find(own, everyone)]
    assert own.dialogue_id in [hit.dialogue_id for hit in found.find(other, everyone)]


def test_nothing_that_was_said_steers_a_terminal():
    turn = SpeakingTurn(0, "a", "\x1b[2J\x1b]0;x\x07hello", 1.0)
    shown = hits_as_text([Hit("id\x1b[31m", 0.5, ("\x1b[1m",), None, (turn,))], bold=False)
    assert "\x1b" not in shown
    assert "\x07" not in shown
    assert "hello" in shown


def test_a_search_as_a_table_has_the_hits_and_their_first_turn(folder, search):
    table = Collection(folder).search("w1 w2 w3", 4, filters=Filters(labels=("cards",)))
    hits = search.find("w1 w2 w3", 4, filters=Filters(labels=("cards",)))
    assert table["dialogue_id"].tolist() == [hit.dialogue_id for hit in hits]
    assert table["cosine"].tolist() == pytest.approx([hit.cosine for hit in hits])
    assert table["text"].tolist() == [hit.turns[0].text for hit in hits]
    assert list(Collection(folder).search("w1", filters=Filters(where=("note == nothing",))).columns) == list(table)


def test_the_command_takes_a_way_and_says_by_which_it_found(folder):
    for way in ("moments", "themes"):
        done = call("search", folder, "w1 w2", "-k", 2, f"--{way}", "--json")
        assert done.exit_code == 0, done.output
        assert [json.loads(line)["way"] for line in done.stdout.splitlines()] == [way, way]
    refused = call("search", folder, "w1 w2", "--moments", "--not", "w2")
    assert refused.exit_code == 1
    assert "found --not with --moments" in refused.stderr


@pytest.mark.parametrize(("way", "told"), [("moments", False), ("themes", True)])
def test_the_command_tells_cosines_if_the_hits_are_in_their_order(folder, way, told):
    first = call("search", folder, "w1 w2", f"--{way}").stdout.splitlines()[0]
    assert bool(re.match(r" +1\. 0\.\d{3}  d", first)) == told


def test_the_command_says_if_nothing_is_close(folder, monkeypatch):
    monkeypatch.setattr(Search, "answer", lambda *_, **__: Answer((), "themes", close=False))
    done = call("search", folder, "w1 w2")
    assert "Nothing is close" in done.stderr
    assert "0 of 40 dialogues by themes" in done.stderr


def rows(*given: list[float]) -> np.ndarray:
    return np.asarray(given, dtype=np.float32)


def test_what_is_left_of_a_query_has_nothing_in_common_with_what_is_not_wanted():
    np.testing.assert_allclose(without(rows([0.6, 0.8, 0])[0], rows([1, 0, 0])), [0, 1, 0], atol=1e-6)
    wanted, unwanted = rows([0.5, 0.5, 0.5, 0.5])[0], rows([1, 0, 0, 0], [0.6, 0.8, 0, 0], [1, 0, 0, 0])
    left = without(wanted, unwanted)
    np.testing.assert_allclose(left, [0, 0, 0.5**0.5, 0.5**0.5], atol=1e-6)
    np.testing.assert_allclose(without(wanted, unwanted[::-1]), left, atol=1e-6)


def test_a_query_that_is_all_unwanted_is_refused():
    with pytest.raises(CorpusError, match="nothing is left to search"):
        without(rows([0, 1])[0], rows([0, 1]))


@pytest.fixture(scope="module")
def collection(tmp_path_factory, student_folder) -> CollectionFolder:
    """Dialogues d0 to d9; the words of dialogue n are w<n> and w<n + 1>."""
    from tests.conftest import make_dialogue

    place = tmp_path_factory.mktemp("contrast")
    made = [make_dialogue(f"d{n}", f"a: w{n} w{n}", f"b: w{n + 1}") for n in range(10)]
    write_dialogues(place / "a.jsonl", made)
    add(place / "c", place / "a.jsonl", encoder=load_encoder(student_folder))
    return CollectionFolder(place / "c")


def test_hits_are_ordered_by_what_is_left_and_their_turns_sum_to_the_cosine(collection):
    search = Search(collection)
    hits = search.find("w3 w4", 10, unlike=("w4",), n_turns=2)
    vectors = [search.encoder.encode(search_query) for search_query in _queries("w3 w4", "w4")]
    left = without(*(vectors[0] / np.linalg.norm(vectors[0]), rows(vectors[1] / np.linalg.norm(vectors[1]))))
    cosines = collection.vectors @ left
    assert [collection.row(hit.dialogue_id) for hit in hits] == np.argsort(-cosines, kind="stable").tolist()
    for hit in hits:
        assert sum(turn.contribution for turn in hit.turns) == pytest.approx(hit.cosine, abs=1e-4)


def _queries(*texts: str):
    from tests.conftest import make_dialogue

    return [make_dialogue("", f"query: {text}") for text in texts]


def test_neither_dialogue_of_like_and_not_is_a_hit(collection):
    done = CliRunner().invoke(
        main, ["search", str(collection.folder), "--like", "d3", "--not", "d4", "--not", "w9", "-k", "20", "--json"]
    )
    assert done.exit_code == 0, done.output
    names = {json.loads(line)["dialogue_id"] for line in done.stdout.splitlines()}
    assert names == {f"d{n}" for n in range(10)} - {"d3", "d4"}
