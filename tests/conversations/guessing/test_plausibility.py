"""Readings that are weighed as a whole, and what is refused."""

from __future__ import annotations

import json

import pytest

from conversations.dialogue import Turn
from conversations.options import Options
from conversations.reading import read_export
from dial2vec.errors import CorpusError
from tests.conversations.exports import imported
from tests.conversations.test_reading import read


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("From: You\nSent: Monday\n\nHello\nFrom: Ana\nSent: Monday\n\nHi\n", "would be called 'From', 'Sent'"),
        ("text: hello\nlabels: hi\ntext: bye\n", "which name no people"),
        ("@Languages: eng\n@ID: x\nMOT: hi\nCHI: yo\n", "which name no people"),
        ("Saved: Monday\none line\nanother\na third\nand a fourth\n", "would say everything, and 4 lines name nobody"),
        ("A: x\nB: y\nC: z\nD: x\nE: y\nF: z\n", "nearly everybody would speak once: 6 speakers in 6 turns"),
        ("Ana: hi\nBo: yo\n" + "a line of other things\n" * 9, "most lines would belong to one turn, 10 of 11"),
    ],
)
def test_an_implausible_transcript_is_refused_with_a_way_out(tmp_path, content, reason):
    dialogues, [(_, _, shown)] = read(tmp_path, "t.txt", content)
    assert dialogues == []
    assert reason in shown
    assert "docs/recipes.md" in shown


@pytest.mark.parametrize(
    "content",
    [
        "Ana: hi\nBo: yo\nCy: hey\n",
        "Agent: Hello\nCustomer: one\ntwo\nthree\nAgent: Ok\n",
        "Speaker 1: a talk\nwith a second line\nSpeaker 1: and more\n",
    ],
)
def test_a_short_or_long_turn_alone_is_plausible(tmp_path, content):
    dialogues, quarantine = read(tmp_path, "t.txt", content)
    assert len(dialogues) == 1
    assert quarantine == []


def test_full_names_in_small_letters_come_back_with_another_speaker_between(tmp_path):
    [dialogue], _ = read(tmp_path, "t.txt", "anna smith: hello\nbob: hi\nanna smith: are you well?\nbob: yes\n")
    assert [turn.speaker for turn in dialogue.turns] == ["anna smith", "bob", "anna smith", "bob"]
    [dialogue], _ = read(tmp_path, "t.txt", "Anna: so\nhere is it: one\nand two\nBob: yes\nhere is it: two\n")
    assert [turn.speaker for turn in dialogue.turns] == ["Anna", "Bob"]


def test_where_letters_have_no_case_a_speaker_comes_back_or_is_a_role(tmp_path):
    [dialogue], _ = read(tmp_path, "t.txt", "王伟：你好\n李雷：在吗\n问题：发票\n王伟：在\n李雷：好\n")
    assert [turn.speaker for turn in dialogue.turns] == ["王伟", "李雷", "王伟", "李雷"]
    assert dialogue.turns[1].text == "在吗\n问题：发票"
    [dialogue], _ = read(tmp_path, "t.txt", "王伟：你好\n李雷：在吗\n")
    assert len(dialogue.turns) == 2


def test_a_transcript_on_one_line_is_read_if_its_names_are_roles_or_come_back(tmp_path):
    rows = 'call_id,transcript\n1,"Agent: Hello, you? Customer: My card. Agent: I block it: now."\n'
    [dialogue], _ = read(tmp_path, "e.csv", rows)
    assert dialogue.turns == (
        Turn("Agent", "Hello, you?"),
        Turn("Customer", "My card."),
        Turn("Agent", "I block it: now."),
    )
    with pytest.raises(CorpusError, match="is known to hold the speaker"):
        read(tmp_path, "e.csv", 'call_id,transcript\n1,"Hello: I am Anna. Note: my card is lost."\n')


@pytest.mark.parametrize("name", ["Ana] x", "18.00 - Budi", "AM", "p. m.] Ana"])
def test_the_rest_of_a_clock_is_no_name(tmp_path, name):
    dialogues, quarantine = read(tmp_path, "t.txt", f"{name}: hello\n{name}: hi\n")
    assert dialogues == []
    assert len(quarantine) == 1


def test_marks_around_names_are_taken_off(tmp_path):
    [dialogue], _ = read(
        tmp_path, "t.txt", "[SPEAKER_00]: hi\n\u200fדנה: שלום\n[SPEAKER_00]: yes\n\u200fדנה: כן\n", recipe="none"
    )
    assert [turn.speaker for turn in dialogue.turns[:2]] == ["SPEAKER_00", "דנה"]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "call_id,username,text\n" + "".join(f"{at // 2},u{at // 2},word {at} here\n" for at in range(8)),
            "hardly in column 'username': one voice would say everything",
        ),
        ("user_id,text\n" + "".join(f"{at},word {at} here\n" for at in range(8)), "nearly everybody would speak once"),
        (
            "call_id,text,mood,tone\n" + "".join(f"{at // 4},word {at} of it,,x\n" for at in range(8)),
            "no column of the rows is known to hold the speaker",
        ),
        ("call_id,turn_1,turn_2,turn_3\n1,Hello how are you,I lost it,I block it\n", "hold one turn each"),
    ],
)
def test_rows_that_hardly_hold_a_speaker_are_refused(tmp_path, rows, message):
    with pytest.raises(CorpusError, match=message):
        read(tmp_path, "e.csv", rows)


@pytest.mark.parametrize("options", [{}, {"dialogue_id": "in_reply_to"}])
def test_rows_that_answer_each_other_are_a_dialogue(tmp_path, options):
    rows = "1,,a,what is tea\n2,1,b,a drink it is\n3,,a,any news now\n4,3,b,none at all\n5,2,a,thank you so much\n"
    dialogues, refused = read(tmp_path, "e.csv", f"id,in_reply_to,author,text\n{rows}", **options)
    assert {item.dialogue_id: len(item.turns) for item in dialogues} == {"1": 3, "3": 2}
    assert not refused


def test_a_reading_that_was_refused_is_taken_if_the_user_names_it(tmp_path):
    rows = "call_id,username,text\n" + "".join(f"{at // 2},u{at // 2},word {at} here\n" for at in range(8))
    dialogues, _ = read(tmp_path, "e.csv", rows, speaker="username")
    assert len(dialogues) == 4


def test_broadcasts_of_one_sender_are_read(tmp_path):
    dialogues, _ = read(tmp_path, "e.csv", "call_id,sender,text\n1,Shop,a sale\n2,Shop,it ends\n2,Shop,it ended\n")
    assert len(dialogues) == 2


def test_each_pair_of_numbers_is_a_dialogue_and_that_is_said(tmp_path):
    path = tmp_path / "log.csv"
    path.write_text("From,To,Body\n+1,+9,is it ready\n+9,+1,yes it is\n+2,+9,are you open\n+9,+2,no\n")
    export = read_export(path, Options())
    assert [dialogue.dialogue_id for dialogue in export.result.dialogues] == ["+1, +9", "+2, +9"]
    assert "each pair of 'From' and 'To'" in export.descriptions[path].notes[0]


def test_equal_rows_count_once_if_they_have_a_time(tmp_path):
    path = tmp_path / "e.csv"
    rows = "7,Ana,First,10:00:01\n7,Kim,Second,10:00:02\n"
    path.write_text("call_id,speaker,text,time\n" + rows * 2)
    result = read_export(path, Options()).result
    assert (len(result.dialogues[0].turns), result.repeated) == (2, 2)
    path.write_text("call_id,speaker,text,n\n7,Ana,Yes,1\n7,Kim,So,1\n7,Ana,Yes,1\n")
    assert len(read_export(path, Options()).result.dialogues[0].turns) == 3


def test_turns_in_one_cell_become_columns(tmp_path):
    cell = '"{""type"": ""%s"", ""data"": {""content"": ""%s""}}"'
    rows = "id,session_id,message\n1,s1," + cell % ("human", "Is it open?") + "\n2,s1," + cell % ("ai", "Until six.")
    [dialogue], _ = read(tmp_path, "e.csv", rows)
    assert dialogue.turns == (Turn("human", "Is it open?"), Turn("ai", "Until six."))
    [dialogue], _ = read(tmp_path, "e.csv", 'call_id,speaker,text\n1,a,"{""x"": 1}"\n1,b,"{""y"": 2}"\n')
    assert dialogue.turns[0].text == '{"x": 1}'


def test_texts_written_as_json_are_decoded(tmp_path):
    [dialogue], _ = read(tmp_path, "e.csv", 'call_id,speaker,text\n1,a,"""Hi\\nyou"""\n1,b,"""yes"""\n')
    assert [turn.text for turn in dialogue.turns] == ["Hi\nyou", "yes"]
    [dialogue], _ = read(tmp_path, "e.csv", 'call_id,speaker,text\n1,a,"""Hi"""\n1,b,yes\n')
    assert dialogue.turns[0].text == '"Hi"'


def message(name, parent, role, text):
    return {"uuid": name, "parent_id": parent, "role": role, "text": text}


def test_older_versions_of_an_edited_chat_are_left_out(tmp_path):
    turns = [message("1", None, "user", "rain"), message("2", "1", "assistant", "drip")]
    turns += [message("3", "1", "assistant", "drop"), message("4", "3", "user", "more")]
    path = tmp_path / "e.jsonl"
    path.write_text(json.dumps({"id": 1, "turns": turns}))
    result = read_export(path, Options(recipe="none")).result
    assert [turn.text for turn in result.dialogues[0].turns] == ["rain", "drop", "more"]
    assert result.left_out == {"edited": 1}
    # In a forum two people answer one message.
    path.write_text(json.dumps({"id": 1, "turns": [turn | {"role": f"u{at}"} for at, turn in enumerate(turns)]}))
    assert len(read_export(path, Options(recipe="none")).result.dialogues[0].turns) == 4


def test_turns_that_hold_further_turns_are_refused(tmp_path):
    reply = {"author": "b", "body": "no it is not"}
    record = {"id": 1, "comments": [{"author": "a", "body": "it is so", "replies": [reply]}, reply]}
    with pytest.raises(CorpusError, match="hold further turns in 'replies'"):
        read(tmp_path, "e.jsonl", json.dumps(record), recipe="none")


@pytest.mark.parametrize("answer", ["Until six.", {"role": "assistant", "content": "Until six."}])
def test_the_answer_beside_the_messages_is_the_last_turn(tmp_path, answer):
    asked = [{"role": "user", "content": "Is it open?"}]
    record = {"id": 1, "messages": asked, "output": answer}
    [dialogue], _ = read(tmp_path, "e.jsonl", json.dumps(record), recipe="none")
    assert dialogue.turns == (Turn("user", "Is it open?"), Turn("assistant", "Until six."))
    record["messages"] = [*asked, {"role": "assistant", "content": "Until six."}]
    [dialogue], _ = read(tmp_path, "e.jsonl", json.dumps(record), recipe="none")
    assert len(dialogue.turns) == 2


def test_a_person_two_levels_down_is_named(tmp_path):
    rows = [
        {"id": at, "conversationId": "c", "from": {"user": {"displayName": name}}, "text": f"word {at}"}
        for at, name in enumerate(("Ana", "Bo"))
    ]
    [dialogue], _ = read(tmp_path, "e.json", json.dumps(rows), recipe="none")
    assert [turn.speaker for turn in dialogue.turns] == ["Ana", "Bo"]


def test_one_turn_per_column_is_read_if_the_columns_name_the_sides(tmp_path):
    rows = "call_id,agent_1,customer_1,agent_2\n7,Hello you,My card is lost,I block it\n"
    [dialogue], _ = read(tmp_path, "e.csv", rows)
    assert dialogue.turns == (
        Turn("agent", "Hello you"),
        Turn("customer", "My card is lost"),
        Turn("agent", "I block it"),
    )
    with pytest.raises(CorpusError):
        read(tmp_path, "e.csv", "call_id,score_1,rank_1,score_2\n7,one,two,three\n")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        ("2024-03-05 10:15:03 INFO: started\n2024-03-05 10:15:04 WARN: slow\n", "which name no people"),
        ("Milk: 2\nBread: 1\nEggs: 12\n", "most texts are numbers"),
    ],
)
def test_logs_of_programs_and_lists_are_no_transcripts(tmp_path, content, reason):
    [record] = imported(tmp_path, "t.txt", content).quarantine
    assert reason in record.reason


@pytest.mark.parametrize(
    ("wrapped", "shown", "options"),
    [
        (
            {
                "ok": 1,
                "result": {"rows": [{"ref": n, "bits": [{"p": w, "q": f"{w} is said"} for w in "xy"]} for n in "ab"]},
            },
            "rows[].bits[] with p ('x'), q ('x is said'); rows[] with ref ('a'), bits (a list)",
            {"turns": "bits", "speaker": "p", "text": "q"},
        ),
        (
            {"payload": {"items": [{"p": w, "zz": {"q": "a longer text that may be said"}} for w in "xy"]}},
            "items[] with p ('x'), zz (an object)",
            {"turns": "items", "speaker": "p", "text": "zz.q"},
        ),
        (
            {"hits": [{"doc": {"bits": [{"p": w, "q": "a longer text that may be said"} for w in "xy"]}}]},
            "hits[].doc.bits[] with p ('x'), q (a text); hits[] with doc (an object)",
            {"turns": "doc.bits", "speaker": "p", "text": "q"},
        ),
    ],
)
def test_a_refused_export_shows_its_lists_and_a_step_that_works(tmp_path, wrapped, shown, options):
    with pytest.raises(CorpusError) as refused:
        read(tmp_path, "e.json", json.dumps(wrapped))
    assert shown in str(refused.value)
    assert f"such as --turns {options['turns']!r}" in str(refused.value)
    dialogues, _ = read(tmp_path, "e.json", json.dumps(wrapped), **options)
    assert {len(item.turns) for item in dialogues} == {2}
