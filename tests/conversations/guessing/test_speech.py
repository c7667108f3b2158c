from __future__ import annotations

import json

import pytest

from conversations.explaining import recipe_text
from conversations.guessing.speech import ALL_SAID, kind_of
from conversations.options import Options
from conversations.reading import read_export
from tests.conversations.exports import imported

ROWS = ("7,Ana,where is it", "7,Kim,she is a VIP", "7,Kim,on its way")


def read(tmp_path, column, values, **options):
    path = tmp_path / "e.csv"
    rows = [f"{row},{value}" for row, value in zip(ROWS, values, strict=True)]
    path.write_text("\n".join([f"call_id,speaker,text,{column}", *rows]))
    return read_export(path, Options(**options)).result


@pytest.mark.parametrize(
    ("column", "values", "kind"),
    [
        ("public", ("true", "false", "true"), "note"),
        ("private", ("False", "True", "False"), "note"),
        ("is_note", ("0", "1", "0"), "note"),
        ("part_type", ("comment", "note", "comment"), "note"),
        ("channel", ("chat", "internal-note", "chat"), "note"),
        ("visibility", ("all", "agents", "all"), "note"),
        ("subtype", ("", "channel_join", ""), "notice"),
        ("message_type", ("text", "system", "text"), "notice"),
        ("type", ("m.room.message", "m.reaction", "m.room.message"), "notice"),
        ("type", ("message", "tool_call", "message"), "tool"),
        ("isThought", ("", "true", ""), "thought"),
        ("is_deleted", ("false", "true", "false"), "deleted"),
        ("deleted_at", ("", "2024-03-05", ""), "deleted"),
        ("is_draft", ("no", "yes", "no"), "draft"),
        ("Comment Is Public", ("TRUE", "FALSE", "TRUE"), "note"),
        ("Intern", ("nein", "ja", "nein"), "note"),
        ("Privado", ("No", "Sí", "No"), "note"),
        ("Tipo", ("Mensagem", "Nota interna", "Mensagem"), "note"),
        ("Visibilità", ("Pubblico", "Interno", "Pubblico"), "note"),
        ("Тип", ("Сообщение", "Внутренняя заметка", "Сообщение"), "note"),
        ("種別", ("返信", "社内メモ", "返信"), "note"),
        ("消息类型", ("文本", "系统消息", "文本"), "notice"),
    ],
)
def test_what_nobody_said_is_left_out_by_kind_and_kept_if_asked_for(tmp_path, column, values, kind):
    result = read(tmp_path, column, values)
    assert [turn.text for turn in result.dialogues[0].turns] == ["where is it", "on its way"]
    assert result.left_out == {kind: 1}
    assert len(read(tmp_path, column, values, keep=(kind,)).dialogues[0].turns) == 3


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("type", ("note", "note", "note")),
        ("status", ("closed", "closed", "open")),
        ("side", ("internal", "external", "internal")),
        ("public", ("false", "false", "false")),
        ("edited", ("false", "true", "false")),
        ("channel", ("chat", "call", "chat")),
    ],
)
def test_a_rule_that_leaves_nothing_or_parts_no_dialogue_is_none(tmp_path, column, values):
    result = read(tmp_path, column, values)
    assert len(result.dialogues[0].turns) == 3
    assert not result.left_out


@pytest.mark.parametrize(
    ("speakers", "left"),
    [
        (("system", "user", "assistant"), {"system": 1}),
        (("user", "tool", "assistant"), {"tool": 1}),
        # In some corpora the system is the other side.
        (("user", "system", "user"), {}),
        (("Ana", "Tool", "Ana"), {}),
    ],
)
def test_programs_are_no_speakers(tmp_path, speakers, left):
    path = tmp_path / "e.jsonl"
    turns = [{"role": name, "content": f"word {at}"} for at, name in enumerate(speakers)]
    path.write_text(json.dumps({"id": 1, "messages": turns}))
    result = read_export(path, Options(recipe="none")).result
    assert result.left_out == left
    assert len(result.dialogues[0].turns) == 3 - sum(left.values())


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        ("<Media omitted>", "notice"),
        ("\u200eimage omitted", "notice"),
        ("This message was deleted", "notice"),
        ("Ana sent an attachment.", "notice"),
        ("Kim joined the chat", "notice"),
        ("IMG-1.jpg", "media"),
        ("I joined the chat because my card is lost", ""),
        ("see IMG-1.jpg", ""),
        ("omitted", ""),
    ],
)
def test_notices_of_messengers_are_known_by_their_whole_text(text, kind):
    assert ALL_SAID.kind({}, "Ana", text) == kind


def test_kinds_are_known_by_the_words_of_a_value():
    assert kind_of("type", "THREAD_STATUS_CHANGE") == "notice"
    assert kind_of("type", "chat message") == ""
    assert kind_of("status", "closed") == ""
    assert kind_of("deleted_at", "nan") == ""


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("Intern", ("nein", "ja", "nein")),
        ("Öffentlich", ("ja", "nein", "ja")),
        ("Message Type", ("public", "Nota interna", "public")),
        ("deleted_at", ("", "2024-03-05", "")),
    ],
)
def test_a_saved_recipe_leaves_out_the_same_turns(tmp_path, column, values):
    read(tmp_path, column, values)
    export = read_export(tmp_path / "e.csv", Options())
    recipe = tmp_path / "mine.yaml"
    recipe.write_text(recipe_text(export), encoding="utf-8")
    result = read_export(tmp_path / "e.csv", Options(recipe=str(recipe))).result
    assert [turn.text for turn in result.dialogues[0].turns] == ["where is it", "on its way"]


@pytest.mark.parametrize(("name", "parts"), [("is_final", ("false", "true")), ("ResultType", ("partial", "final"))])
def test_what_a_recogniser_says_on_the_way_is_not_said(tmp_path, name, parts):
    rows = [("A", 0, "Hel"), ("A", 1, "Hello you"), ("B", 0, "My"), ("B", 1, "My card"), ("A", 1, "Lost?")]
    content = "".join(f"1,{parts[last]},{who},{text}\n" for who, last, text in rows)
    result = imported(tmp_path, "t.csv", f"call_id,{name},channel,transcript\n{content}")
    said = [(who, text) for who, last, text in rows if last]
    assert [(turn.speaker, turn.text) for turn in result.dialogues[0].turns] == said
    assert result.left_out == {"draft": 2}
