import re
from collections import Counter
from itertools import islice
from pathlib import Path

import pytest

from conversations.dialogue import Dialogue, Quarantined
from dial2vec.data.corpora.demo import DemoCorpus, demo_domains, generate_demo, write_demo
from dial2vec.errors import CorpusError

DATE = re.compile(r"\b(?:monday|tuesday|wednesday|thursday|friday|saturday|the \d+(?:rd|th|st) of \w+)", re.IGNORECASE)
DONE = re.compile(r"(?:Booked:|All done:|down for|Changed:|the new one is|so now it is)(.*)")


@pytest.fixture(scope="module")
def dialogues() -> list[Dialogue]:
    return list(generate_demo())


def said(dialogue: Dialogue, speaker: str | None = None) -> str:
    return " ".join(turn.text for turn in dialogue.turns if speaker in (None, turn.speaker))


def names_domain(dialogue: Dialogue, label: str) -> bool:
    words = "|".join(demo_domains()[label]["words"])
    return re.search(rf"\b(?:{words})\b", said(dialogue), re.IGNORECASE) is not None


def test_same_seed_gives_the_same_dialogues(dialogues):
    assert list(generate_demo()) == dialogues


def test_another_seed_gives_other_dialogues(dialogues):
    other = list(generate_demo(n_dialogues=50, seed=8))
    assert not {dialogue.turns for dialogue in other} & {dialogue.turns for dialogue in dialogues[:50]}


def test_shorter_corpus_is_the_beginning_of_the_longer_one(dialogues):
    assert list(generate_demo(n_dialogues=40)) == dialogues[:40]


def test_dialogues_come_one_by_one():
    assert len(list(islice(generate_demo(n_dialogues=10**9), 3))) == 3


def test_ids_are_unique_and_carry_the_number(dialogues):
    assert len({dialogue.dialogue_id for dialogue in dialogues}) == 2000
    assert dialogues[42].dialogue_id == "demo-00042"


def test_no_two_dialogues_are_the_same(dialogues):
    assert len({dialogue.turns for dialogue in dialogues}) == len(dialogues)


def test_twelve_domains_are_roughly_but_not_exactly_balanced(dialogues):
    counts = Counter(dialogue.label for dialogue in dialogues if dialogue.label)
    assert set(counts) == set(demo_domains())
    assert len(counts) == 12
    assert 1 < max(counts.values()) / min(counts.values()) < 2


def test_one_dialogue_in_five_is_mixed_and_has_two_sorted_labels(dialogues):
    mixed = [dialogue for dialogue in dialogues if dialogue.label is None]
    assert 0.17 < len(mixed) / len(dialogues) < 0.23
    assert all(len(dialogue.labels) == 2 and list(dialogue.labels) == sorted(dialogue.labels) for dialogue in mixed)


def test_both_speak_in_every_dialogue(dialogues):
    assert all({turn.speaker for turn in dialogue.turns} == {"customer", "agent"} for dialogue in dialogues)


def test_some_agents_begin_and_some_speak_twice_in_a_row(dialogues):
    begins = sum(dialogue.turns[0].speaker == "agent" for dialogue in dialogues)
    assert 0.1 < begins / len(dialogues) < 0.5
    again = sum(any(a == b for a, b in zip(d.roles, d.roles[1:], strict=False)) for d in dialogues)
    assert 0.2 < again / len(dialogues) < 0.9


def test_turns_are_about_as_many_and_as_long_as_in_public_corpora(dialogues):
    single = [dialogue for dialogue in dialogues if dialogue.label]
    turns = [len(dialogue.turns) for dialogue in single]
    words = [len(said(dialogue).split()) for dialogue in single]
    assert min(turns) >= 6
    assert max(turns) <= 26
    assert 10 < sum(turns) / len(turns) < 13
    assert 95 < sum(words) / len(words) < 135


def test_no_turn_is_blank_or_shows_the_notation(dialogues):
    texts = {turn.text for dialogue in dialogues for turn in dialogue.turns}
    assert all(text == text.strip() != "" for text in texts)
    assert not [text for text in texts if re.search(r"[\[\]{}|]|  | [,.?!]", text)]


def test_every_label_is_heard_in_its_dialogue(dialogues):
    silent = [(d.dialogue_id, label) for d in dialogues for label in d.labels if not names_domain(d, label)]
    assert silent == []


def test_a_dialogue_without_its_domain_word_would_be_noticed(dialogues):
    restaurant = next(dialogue for dialogue in dialogues if dialogue.label == "restaurant")
    assert names_domain(restaurant, "restaurant")
    assert not names_domain(restaurant, "bank_transfer")


def test_agent_confirms_a_day_that_the_customer_named(dialogues):
    checked = 0
    for dialogue in dialogues:
        for confirmed in DONE.findall(said(dialogue, "agent")) if dialogue.label else []:
            for day in DATE.findall(confirmed)[:1]:
                assert day.lower() in said(dialogue, "customer").lower(), dialogue.dialogue_id
                checked += 1
    assert checked > 500


def test_articles_fit_the_word_that_follows(dialogues):
    text = " ".join(said(dialogue) for dialogue in dialogues)
    assert re.findall(r"\b[Aa] [aeio]\w+", text) == []
    assert re.findall(r"\b[Aa]n (?!hour)[^aeiouAEIOU\W]\w+", text) == []


def test_small_talk_is_about_something_else(dialogues):
    cinema = [said(dialogue) for dialogue in dialogues if dialogue.label == "cinema"]
    assert not any("queue at a cinema" in text for text in cinema)
    assert any("queue at a cinema" in said(dialogue) for dialogue in dialogues if dialogue.label == "dentist")


def test_written_twice_the_file_has_the_same_bytes(tmp_path: Path):
    assert write_demo(tmp_path / "one") == write_demo(tmp_path / "two") == 2000
    one, two = ((tmp_path / name / "dialogues.jsonl.gz").read_bytes() for name in ("one", "two"))
    assert one == two
    assert 100_000 < len(one) < 900_000


def test_corpus_reads_what_was_written(tmp_path: Path, dialogues):
    write_demo(tmp_path)
    quarantine: list[Quarantined] = []
    assert list(DemoCorpus().read(tmp_path, quarantine=quarantine)) == dialogues
    assert quarantine == []


def test_corpus_that_is_not_written_is_refused(tmp_path: Path):
    with pytest.raises(CorpusError, match="does not exist"):
        list(DemoCorpus().read(tmp_path, quarantine=[]))
