import json
import zipfile

import pytest

from dial2vec.errors import CorpusError
from dial2vec_papers.tasks.intents import INTENT_SETS, Sentences, read_intents

HEADER = "answerid;scenario;intent;answer_annotation;answer_from_anno;answer_from_user\n"
CLINC = {
    "train": [["pay my bill", "pay"], ["how far is it", "distance"]],
    "val": [["settle the bill", "pay"]],
    "test": [["bill please", "pay"]],
    "oos_train": [["who am i", "oos"]],
    "oos_val": [["why", "oos"]],
    "oos_test": [["a show on broadway", "oos"]],
}


def files(tmp_path):
    """A folder of all four sets, each of a few sentences."""
    write(tmp_path, "clinc150/data_oos_plus.json", json.dumps(CLINC))
    write(tmp_path, "banking77/train.csv", 'text,category\r\n"\nHow, when?\n\n",lost\r\nWhere is it,card\r\n')
    write(tmp_path, "banking77/test.csv", "text,category\r\nIs it lost,lost\r\n\r\n")
    snips = [[f" play {i}\n song", "play"] for i in range(12)]
    write(tmp_path, "snips/snips_train.json", json.dumps([*snips[:10], ["rain?", "weather"]]))
    write(tmp_path, "snips/snips_test.json", json.dumps([*snips[10:], ["sun?", "weather"]]))
    row = '7;alarm;set;"wake me at [time : six]";"wake me at six";"Olly; wake me at 6"\n'
    write(tmp_path, "hwu64/trainset/alarm_set.csv", HEADER + row)
    write(tmp_path, "hwu64/trainset/play_game.csv", HEADER + 'null;play;game;"run";"run ""it""";"null"\n')
    write(tmp_path, "hwu64/testset/csv/alarm_set.csv", HEADER + row)
    return tmp_path


def write(folder, name, text):
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(text if isinstance(text, bytes) else text.encode())


def zipped(folder):
    path = folder.parent / f"{folder.name}.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for file in sorted(folder.rglob("*")):
            archive.write(file, file.relative_to(folder).as_posix())
    return path


@pytest.mark.parametrize("name", INTENT_SETS)
def test_a_folder_and_its_zip_read_alike(tmp_path, name):
    folder = files(tmp_path / "intents")
    assert read_intents(name, folder) == read_intents(name, zipped(folder))


def test_clinc150_keeps_validation_and_what_is_out_of_scope_apart(tmp_path):
    found = read_intents("clinc150", files(tmp_path))
    assert found.train == Sentences(("pay my bill", "how far is it"), ("pay", "distance"))
    assert found.validation == Sentences(("settle the bill",), ("pay",))
    assert found.test == Sentences(("bill please",), ("pay",))
    assert (found.out_of_scope, found.out_of_scope_train) == (("a show on broadway",), ("who am i",))


def test_bank77_cells_of_several_lines_are_one_sentence(tmp_path):
    found = read_intents("bank77", files(tmp_path))
    assert found.train == Sentences(("How, when?", "Where is it"), ("lost", "card"))
    assert (found.test.texts, found.validation.texts, found.out_of_scope) == (("Is it lost",), (), ())


def test_snips_is_divided_anew_nine_to_one_within_each_intent_in_file_order(tmp_path):
    found = read_intents("snips", files(tmp_path))
    # Of 12, sentences 0 to 10 train (0.9 x 12 = 10.8), of 2 the first two (1.8), so that none tests.
    assert found.train.texts == (*(f"play {i} song" for i in range(10)), "rain?", "play 10 song", "sun?")
    assert found.test == Sentences(("play 11 song",), ("play",))


def test_hwu64_utterance_is_what_the_annotators_wrote_and_its_intent_has_the_scenario(tmp_path):
    found = read_intents("hwu64", files(tmp_path))
    assert found.train == Sentences(("wake me at six", 'run "it"'), ("alarm_set", "play_game"))
    assert found.test == Sentences(("wake me at six",), ("alarm_set",))


@pytest.mark.parametrize(
    ("name", "file", "content", "message"),
    [
        ("clinc150", "clinc150/data_oos_plus.json", "[\n[1,", r"plus.json is not JSON \(.*line 2"),
        ("clinc150", "clinc150/data_oos_plus.json", "[" * 99_999, r"plus.json is not JSON \(maximum recursion"),
        ("clinc150", "clinc150/data_oos_plus.json", "[]", "plus.json is no JSON object; expected train, val, test"),
        ("clinc150", "clinc150/data_oos_plus.json", '{"train": 3}', "'train' holds no list of sentences"),
        ("clinc150", "clinc150/data_oos_plus.json", b'{"a":\n "\xff"}', r"plus.json is not JSON \(.utf-8. codec"),
        (
            "snips",
            "snips/snips_test.json",
            '[["a", "b"], ["a"]]',
            r"test.json: entry 2 of the file is \['a'\]; expected",
        ),
        ("snips", "snips/snips_test.json", '[["a", 5]]', r"test.json: entry 1 of the file is \['a', 5\]; expected"),
        (
            "bank77",
            "banking77/test.csv",
            "text,kind\na,b\n",
            "test.csv has no column 'category', only text, kind;",
        ),
        ("bank77", "banking77/test.csv", "", "test.csv has no column 'text', only ; expected text, category"),
        (
            "bank77",
            "banking77/test.csv",
            'text,category\n"a\nb",c\nd\n',
            "test.csv:4: found more or fewer cells",
        ),
        ("bank77", "banking77/test.csv", 'text,category\na,b\n"c', r"test.csv:2: no CSV table \(unexpected end"),
        ("bank77", "banking77/test.csv", "text,category\n ,b\n", "test.csv:2: text, category is blank; expected a"),
        ("bank77", "banking77/test.csv", "text,category\na,new\n", "bank77 tests the intent 'new'"),
        (
            "hwu64",
            "hwu64/testset/csv/alarm_set.csv",
            f"{HEADER}1;alarm;;a;b;c\n",
            r"alarm_set.csv:2: answer_from_anno, ",
        ),
    ],
)
def test_a_bad_file_is_named_with_the_line(tmp_path, name, file, content, message):
    write(files(tmp_path), file, content)
    with pytest.raises(CorpusError, match=message):
        read_intents(name, tmp_path)


def test_a_missing_file_or_folder_is_one_sentence(tmp_path):
    (tmp_path / "empty").mkdir()
    archive = tmp_path / "empty.zip"
    zipfile.ZipFile(archive, "w").close()
    for path in (tmp_path / "empty", archive):
        with pytest.raises(
            CorpusError, match=r"banking77/train.csv does not exist; expected it there. Put a whole copy"
        ):
            read_intents("bank77", path)
        with pytest.raises(CorpusError, match=r"hwu64/trainset holds no \*.csv; expected a file per intent"):
            read_intents("hwu64", path)
    with pytest.raises(CorpusError, match="nowhere does not exist; expected a folder or a zip of intent sets"):
        read_intents("bank77", tmp_path / "nowhere")


def test_damage_to_the_archive_is_one_sentence(tmp_path):
    path = zipped(files(tmp_path / "intents"))
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"Is it lost", b"Is it XXXX"))
    with pytest.raises(CorpusError, match=r"intents.zip/banking77/test.csv is damaged \(Bad CRC"):
        read_intents("bank77", path)
    path.write_bytes(whole[:100])
    with pytest.raises(CorpusError, match=r"intents.zip cannot be read as a zip archive"):
        read_intents("bank77", path)


def test_an_unknown_set_is_answered_with_the_nearest_name(tmp_path):
    with pytest.raises(CorpusError, match=r"no intent set 'clinc'; expected one of .* Did you mean 'clinc150'\?"):
        read_intents("clinc", tmp_path)
