from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conversations.dialogue import Dialogue, Turn
from dial2vec.errors import CorpusError
from dial2vec_papers.corpora.ubuntu_v2 import UbuntuV2
from tests.papers.corpora.upstream import CHOICE_CSV, TRAIN_CSV, WHOLE, pack, read

ONE, TWO = "participant_1", "participant_2"
WORDS = st.text("ab c", min_size=1).map(str.strip).filter(bool)


def test_speakers_change_where_a_turn_ends_and_each_utterance_is_a_turn(tmp_path: Path):
    dialogues, quarantine = read("ubuntu_v2", tmp_path)
    assert dialogues[0] == Dialogue(
        "train/1",
        (Turn(ONE, "sound does not work"), Turn(ONE, "any idea ?"), Turn(TWO, "which card ?"), Turn(ONE, "intel")),
        (),
        "train",
    )
    assert quarantine == []


def test_response_of_another_conversation_is_no_part_of_the_dialogue(tmp_path: Path):
    dialogues, _ = read("ubuntu_v2", tmp_path)
    assert [turn.text for turn in dialogues[1].turns] == ["how do i mount a disk", 'by mount , see "man mount"']


def test_turn_without_words_does_not_swap_the_speakers(tmp_path: Path):
    table = (
        "Context,Utterance,Label\r\n"
        "help ? __eou__ __eot__  __eou__ __eot__ anyone ? __eou__ __eot__ ,yes __eou__,1.0\r\n"
        "well __eou__ __eot__ hm __eou__ __eot__  __eou__ __eot__ ,go on __eou__,1.0\r\n"
    )
    dialogues, _ = read("ubuntu_v2", tmp_path, {"train.csv": table})
    assert dialogues[0].turns == (Turn(ONE, "help ?"), Turn(ONE, "anyone ?"), Turn(TWO, "yes"))
    assert dialogues[1].turns == (Turn(ONE, "well"), Turn(TWO, "hm"), Turn(TWO, "go on"))


def test_candidates_are_the_response_and_nine_others_as_one_text_each(tmp_path: Path):
    reader, folder = UbuntuV2(), pack(tmp_path / "ubuntu_v2", WHOLE["ubuntu_v2"])
    (query,) = reader.queries(folder, split="test", quarantine=[])
    assert query.context == (Turn(ONE, "hello"), Turn(TWO, "hi"))
    assert query.speaker == ONE
    assert query.responses == ("how are you ? fine ?", *(f"other {n}" for n in range(9)))
    assert query.correct == (0,)
    with pytest.raises(CorpusError, match="train of ubuntu_v2 holds no context with candidates"):
        list(reader.queries(folder, split="train", quarantine=[]))


def test_rows_that_could_be_misread_are_quarantined(tmp_path: Path):
    rows = (
        "no marks here,answer __eou__,1\r\na __eou__,b __eou__,maybe\r\na __eou__\r\na __eou__,b,1,c\r\n__eou__,b,1\r\n"
    )
    _, quarantine = read("ubuntu_v2", tmp_path, {"train.csv": TRAIN_CSV + rows})
    assert [(found.origin.line, found.dialogue_id, found.reason) for found in quarantine] == [
        (3, "train/3", "its context has no __eou__, as version 2 has it"),
        (4, "train/4", "'Label' must be 0 or 1, found 'maybe'"),
        (5, "train/5", "the row ends before 'Utterance'"),
        (6, "train/6", "the row has more cells than the table has columns"),
        (7, "train/7", "its context has no words"),
    ]


@pytest.mark.parametrize(
    ("file", "content", "message"),
    [
        ("train.csv", CHOICE_CSV, "has no column 'Utterance', only Context, Ground Truth Utterance, "),
        ("test.csv", TRAIN_CSV, "has no column 'Ground Truth Utterance'"),
        ("test.csv", "", "has no column 'Context', only ;"),
        ("valid.csv", b"Context\xff", "is not UTF-8"),
        ("train.csv", TRAIN_CSV + '"open __eou__', "no CSV table"),
    ],
)
def test_other_table_is_refused_by_name(tmp_path: Path, file: str, content: object, message: str):
    with pytest.raises(CorpusError, match=message) as raised:
        read("ubuntu_v2", tmp_path, {file: content})
    assert file in str(raised.value)


@settings(deadline=None)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=3), min_size=1, max_size=5), WORDS)
def test_what_the_generator_joins_is_taken_apart_again(turns: list[list[str]], response: str):
    context = "".join("".join(f"{text} __eou__ " for text in turn) + "__eot__ " for turn in turns)
    row = {"Context": context, "Utterance": f"{response} __eou__", "Label": "1"}
    found = UbuntuV2().dialogue(("train", 1, row))["turns"]
    speakers = [(ONE, TWO)[place % 2] for place, turn in enumerate(turns) for _ in turn]
    assert [turn["text"] for turn in found] == [text for turn in turns for text in turn] + [response]
    assert [turn["speaker"] for turn in found] == [*speakers, (ONE, TWO)[len(turns) % 2]]
