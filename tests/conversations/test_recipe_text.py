"""What was understood of an export is a recipe that reads it in the same way."""

from __future__ import annotations

import json

import pytest

from conversations.by_recipe.known import known_recipes
from conversations.by_recipe.recipe import recipe_from
from conversations.explaining import explanation, known_exports, recipe_text
from conversations.options import KINDS, Options
from conversations.reading import read_export
from dial2vec.errors import CorpusError

TABLE = (
    "Case No,Sent On,Person Name,Message Text,Queue,Is Internal\n"
    "7,2024-03-05 10:00,Ana,Hello there,cards,false\n"
    "7,2024-03-05 10:01,Bo,She is angry,cards,true\n"
    "7,2024-03-05 10:02,Bo,Hi you,cards,false\n"
    "8,2024-03-05 10:03,Cy,Is it open?,loans,false\n"
    "8,2024-03-05 10:04,Bo,Until six.,loans,false\n"
)
EXCHANGES = (
    "session_id,question,answer\n1,Is it open?,Until six.\n1,And on Sunday?,We are closed.\n2,Hi there,Hello you\n"
)
RECORDS = [
    {
        "ref": f"r{n}",
        "opening": {"party": "Ana", "words": "My card is lost"},
        "steps": [{"party": "Bo", "words": "Which one?"}, {"party": "Ana", "words": "The blue one."}],
    }
    for n in range(3)
]
EDITED = (
    "ticket_id,message_id,sender,text,version,created_at\n"
    "7,1,Ana,Hello you,1,2024-05-01 10:00\n7,2,Bo,Hi thre,1,2024-05-01 10:01\n7,2,Bo,Hi there,2,2024-05-01 10:01\n"
)
CLOCKS = (
    "call_id,speaker,text,date,time,tags\n"
    "7,Ana,Hello you,2024-05-02,09:00,a;b\n7,Bo,Hi,2024-05-01,10:00,a;b\n7,Bo,See you soon,2024-05-02,09:01,a;b\n"
)
ANSWERED = {
    "chat_ref": "c1",
    "log": [{"role": "user", "content": "Is it open?"}, {"role": "assistant", "content": "Yes."}],
    "response": "Until six.",
}
FORKS = {
    "chat_ref": "c1",
    "log": [
        {"message_id": number, "parent_id": parent, "sender": sender, "text": text}
        for number, parent, sender, text in [
            ("1", "", "user", "Is it opn?"),
            ("2", "1", "assistant", "Open what?"),
            ("3", "1", "assistant", "Until six."),
            ("4", "3", "user", "Thank you."),
        ]
    ],
}
# A message whose parts are objects, and options that name them by paths.
SAID = [
    {"from": {"user": {"name": name}}, "body": {"plain": text}, "meta": {"ts": f"2024-05-01T10:0{at}:00Z"}}
    for at, (name, text) in enumerate([("Ana", "My card is lost"), ("Bo", "Which one?"), ("Ana", "The blue one.")])
]
PATHS = {"speaker": "from.user.name", "text": "body.plain", "time": "meta.ts"}
CALL = {"call": {"id": "c1", "topic": "cards"}}
OF_CALL = {"dialogue_id": "call.id", "labels": ("call.topic",)}
DOTS = "call.id,from.name,body.text,meta.ts\n7,Ana,Hello there,2024-05-01 10:00\n7,Bo,Hi you,2024-05-01 10:01\n"


@pytest.mark.parametrize(
    ("name", "text", "options"),
    [
        ("steps.json", json.dumps([CALL | {"steps": SAID}]), Options(turns="steps", **PATHS, **OF_CALL)),
        (
            "deep.json",
            json.dumps({"data": {"calls": [CALL | {"steps": SAID}]}}),
            Options(turns="steps", **PATHS, **OF_CALL),
        ),
        ("inner.jsonl", json.dumps(CALL | {"log": {"steps": SAID}}), Options(turns="log.steps", **PATHS, **OF_CALL)),
        ("rows.jsonl", "".join(f"{json.dumps(CALL | said)}\n" for said in SAID), Options(**PATHS, **OF_CALL)),
        (
            "script.json",
            json.dumps([CALL | {"doc": {"text": "Ana: Hi\nBo: Yes?"}}]),
            Options(turns="doc.text", **OF_CALL),
        ),
        ("edited.csv", EDITED, Options()),
        ("clocks.csv", CLOCKS, Options()),
        ("answers.jsonl", json.dumps(ANSWERED), Options(recipe="none")),
        ("forks.json", json.dumps([FORKS, FORKS | {"chat_ref": "c2"}]), Options(recipe="none")),
        ("merged.csv", "call_id,speaker,text\n7,Ana,Hello you\n,Kim,Hi there\n,Ana,Bye now\n", Options()),
        ("turns.csv", "ref,agent_1,user_1,agent_2,user_2\n7,Hello,Hi,Lost?,Yes\n8,Good day,Hi,So?,No\n", Options()),
        ("restarts.csv", "turn,speaker,text\n1,Kim,Hello you\n2,Ann,My card\n1,Kim,Hi\n2,Bo,Is it paid\n", Options()),
        ("pairs.csv", "from,to,text\nA,B,Hello you\nB,A,Hi there\nA,C,Bye now\nC,A,So long\n", Options()),
        ("dots.csv", DOTS, Options(dialogue_id="call.id", speaker="from.name", text="body.text", time="meta.ts")),
        ("table.csv", TABLE, Options()),
        ("exchanges.csv", EXCHANGES, Options()),
        ("records.json", json.dumps(RECORDS), Options(turns="steps", speaker="party", text="words", dialogue_id="ref")),
    ],
)
def test_a_saved_recipe_reads_like_the_guess(tmp_path, name, text, options):
    (tmp_path / name).write_text(text)
    guessed = read_export(tmp_path / name, options)
    (tmp_path / "mine.yaml").write_text(recipe_text(guessed))
    export = read_export(tmp_path / name, Options(recipe=str(tmp_path / "mine.yaml")))

    def spoken(dialogues):
        return [(item.dialogue_id, item.turns, item.labels, item.date) for item in dialogues]

    assert guessed.result.dialogues
    assert spoken(export.result.dialogues) == spoken(guessed.result.dialogues)
    assert export.result.left_out == guessed.result.left_out


@pytest.mark.parametrize(
    ("key", "reason"),
    [
        ("reshape: [merged cell]", r"unknown step 'merged cell' in reshape\. Did you mean 'merged cells'"),
        ("versions: [id]", "1 expressions in versions; expected a message's id and version"),
        ("parts: old", "unknown parts 'old'; expected true or new"),
    ],
)
def test_a_key_with_another_value_is_refused(key, reason):
    with pytest.raises(CorpusError, match=reason):
        recipe_from(f"{{title: x, source: y, speaker: a, text: b, {key}}}", "x", where="x.yaml")


def test_a_damaged_row_costs_its_dialogue_also_by_a_recipe(tmp_path):
    (tmp_path / "mine.yaml").write_text("title: x\nsource: y\nid: call\nspeaker: who\ntext: said")
    (tmp_path / "e.csv").write_bytes(b"call,who,said\n7,Ana,Hi\n7,Bo,M\xfcll\xc3\xa9r \xff\xfe\n8,Ana,Hello\n8,Bo,Hi\n")
    result = read_export(tmp_path / "e.csv", Options(recipe=str(tmp_path / "mine.yaml"), encoding="utf-8")).result
    assert [item.dialogue_id for item in result.dialogues] == ["8"]
    assert [(item.dialogue_id, item.origin.line) for item in result.quarantine] == [("7", 3)]


def test_a_known_export_gives_the_file_of_its_recipe(tmp_path):
    example = known_recipes()["intercom"].examples[0]
    (tmp_path / example.file).write_text(example.text)
    assert recipe_text(read_export(tmp_path / example.file, Options())).startswith("title: Intercom")


def test_a_transcript_needs_no_recipe(tmp_path):
    (tmp_path / "call.txt").write_text("Agent: Hello\nCustomer: Hi\n")
    with pytest.raises(CorpusError, match="need no recipe"):
        recipe_text(read_export(tmp_path / "call.txt", Options()))


def test_a_list_inside_an_object_is_read_by_the_saved_recipe_too(tmp_path):
    calls = [{"call": n, "data": {"msgs": [{"from": {"name": "Ana"}, "body": "Hi"}]}} for n in ("a", "b")]
    (tmp_path / "calls.json").write_text(json.dumps(calls))
    guessed = read_export(tmp_path / "calls.json", Options())
    (tmp_path / "saved.yaml").write_text(recipe_text(guessed))
    saved = read_export(tmp_path / "calls.json", Options(recipe=str(tmp_path / "saved.yaml")))
    assert saved.result.dialogues == guessed.result.dialogues != []


def explained(path):
    """Meaning by field, of the first record."""
    text = explanation(read_export(path, Options())).split("  record 2")[0]
    lines = [line.split(maxsplit=1) for line in text.splitlines() if line.startswith("    ")]
    return dict(line for line in lines if len(line) == 2), text


def test_fields_of_a_known_export_have_what_they_change(tmp_path):
    example = known_recipes()["intercom"].examples[0]
    (tmp_path / example.file).write_text(example.text)
    fields, text = explained(tmp_path / example.file)
    assert "read by the recipe intercom" in text
    assert fields["source.body"].startswith("text ")
    assert fields["source.author.name"].startswith("speaker ")
    assert fields["tags.tags[].name"].startswith("label ")
    assert fields["source.author.type"].startswith("not used ")
    first = next(name for name in fields if name.endswith("[].part_type"))
    assert fields[first].startswith("mark of non-speech")


def test_columns_that_were_guessed_have_their_meanings(tmp_path):
    path = tmp_path / "e.csv"
    path.write_text("call_id,speaker,text,channel,is_deleted\n7,a,Hello,phone,no\n7,b,Hi,phone,no\n7,a,Bye,phone,yes\n")
    fields, text = explained(path)
    assert "no recipe fits" in text
    assert [fields[name].split("  ")[0] for name in ("call_id", "speaker", "text", "channel")] == [
        "dialogue id",
        "speaker",
        "text",
        "metadata of the dialogue",
    ]
    assert fields["is_deleted"].startswith("mark of non-speech")


def test_known_exports_are_listed_by_name_and_title():
    assert len(known_exports().splitlines()) == len(known_recipes()) >= 90
    assert "intercom " in known_exports()


EXAMPLES = [(recipe, example) for recipe in known_recipes().values() for example in recipe.examples]
# The options that name a column, and those that a recipe does not hold, which its first line tells.
NAMED = ("dialogue_id", "speaker", "text", "time", "labels")
FURTHER = [
    {},
    {"keep": KINDS},
    {"blank_speaker": "nobody"},
    {"join": 3600.0},
    {"pause": 0.01},
    {"parts": True},
    {"drop": ("role == user",)},
]


def read_again(path, options):
    """What is read by the options, and by the recipe that they are saved as; None if they are refused."""
    try:
        first = read_export(path, options)
    except CorpusError:
        return None
    saved = path.parent / "saved.yaml"
    saved.write_text(recipe_text(first))
    further = {name: getattr(options, name) for given in FURTHER for name in given}
    second = read_export(path, Options(recipe=str(saved), **further))
    return tuple(
        [(item.dialogue_id, item.turns, item.labels, item.date, item.metadata) for item in export.result.dialogues]
        for export in (first, second)
    )


@pytest.mark.parametrize("number", range(len(EXAMPLES)), ids=lambda number: EXAMPLES[number][0].name)
def test_a_saved_recipe_reads_every_example_alike_with_every_option(tmp_path, number):
    _, example = EXAMPLES[number]
    path = tmp_path / example.file
    path.write_text(example.text)
    first = read_export(path, Options()).files[path].first
    columns = [name for name, value in (first[0] if first else {}).items() if isinstance(value, str | int)]
    # Each example is tried with one column for each meaning, and with one of the other options.
    column = columns[number % len(columns)] if columns else ""
    named = [{key: (column,) if key == "labels" else column} for key in NAMED if column]
    for given in [{}, FURTHER[number % len(FURTHER)], *named]:
        pair = read_again(path, Options(**given))
        assert pair is None or pair[0] == pair[1], given


def test_the_first_line_of_a_saved_recipe_tells_the_options_that_it_cannot_hold(tmp_path):
    (tmp_path / "e.csv").write_text("call_id,speaker,text\n7,Ana,Hello you\n7,,Hi\n")
    options = Options(blank_speaker="the other", keep=("note", "tool"), header=True, where=("call_id == 7",), pause=2.0)
    head = recipe_text(read_export(tmp_path / "e.csv", options)).splitlines()[0]
    assert head.endswith(
        "dial2vec import FILE --recipe THIS_FILE --where 'call_id == 7' --keep note,tool "
        "--speaker-of-blank 'the other' --pause 2.0"
    )


def test_a_known_recipe_is_saved_with_the_columns_that_the_user_names(tmp_path):
    rows = [{"conversation_id": "c", "role": "user", "alias": "Ana", "content": "Hi", "topic": "tea"}]
    (tmp_path / "rows.json").write_text(json.dumps(rows))
    export = read_export(tmp_path / "rows.json", Options(speaker="alias", labels=("topic",)))
    (tmp_path / "saved.yaml").write_text(recipe_text(export))
    again = read_export(tmp_path / "rows.json", Options(recipe=str(tmp_path / "saved.yaml")))
    assert [(item.turns[0].speaker, item.labels) for item in again.result.dialogues] == [("Ana", ("tea",))]
