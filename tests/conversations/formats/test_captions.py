from __future__ import annotations

import pytest

from conversations.dialogue import Turn
from conversations.formats.captions import read_captions
from conversations.formats.encodings import find_encoding
from conversations.options import Options
from conversations.reading import read_export

MEETING = """WEBVTT - Weekly
X-TIMESTAMP-MAP=LOCAL:00:00:00.000

NOTE exported
on Monday

STYLE
::cue { color: red }

9f-1/12-0
00:00:01.000 --> 00:00:02.000
<v Anna Smith>Hello &amp; <i>welcome</i>
to all</v>

9f-1/12-1
00:00:02,000 --> 00:00:03,000 align:start
<v Bob>Hi</v>
<v.loud Cara>Two in <00:00:02.500>one cue</v>

00:99:03.000 --> 00:00:0
and on
00:00:04.000 --> 00:00:05.000
<v Anna Smith></v>
"""


def read(tmp_path, content, name="meeting.vtt"):
    path = tmp_path / name
    path.write_text(content, encoding="utf-8")
    return read_captions(path, find_encoding(path))


def test_a_meeting_of_three_keeps_its_three_speakers(tmp_path):
    script = read(tmp_path, MEETING)
    assert script.spoken() == (
        Turn("Anna Smith", "Hello & welcome to all"),
        Turn("Bob", "Hi"),
        Turn("Cara", "Two in one cue"),
        Turn("Cara", "and on"),
    )
    assert not script.problem


def test_srt_is_read_with_and_without_numbers_and_with_two_voices_in_a_cue(tmp_path):
    cues = (
        "1\n00:00:01,000 --> 00:00:02,000\nRecording started\n\n2\n00:00:01,000 --> 00:00:02,000\nAnna: Hi\nall\n\n"
        "three\n00:00:03,000 --> 00:00:04,000\n- Bob: Yes: no\n- Anna: dash\n\n00:00:05,000 --> 00:00:06,000\n4 is it\n"
    )
    assert read(tmp_path, cues, "m.srt").spoken() == (
        Turn("unknown", "Recording started"),
        Turn("Anna", "Hi all"),
        Turn("Bob", "Yes: no"),
        Turn("Anna", "dash"),
        Turn("Anna", "4 is it"),
    )


def test_where_nearly_every_cue_names_its_speaker_names_may_have_commas(tmp_path):
    said = ["Anna: Hi", "Fred, Acme Inc.: Hello", "Bob's iPhone: Yes", "415-555-2671: No", "I say two things: go on"]
    cues = [f"00:00:0{at}.000 --> 00:00:0{at}.900\n{words}\n" for at, words in enumerate(said, start=1)]
    script = read(tmp_path, "WEBVTT\n\n" + "\n".join(cues))
    assert [name for name, _ in script.turns] == ["Anna", "Fred, Acme Inc.", "Bob's iPhone", *["415-555-2671"] * 2]
    words = ["Anna: Hi", "Well, Anna: no", "It is late", "So it is"]
    cues = [f"00:00:0{at}.000 --> 00:00:0{at}.900\n{line}\n" for at, line in enumerate(words, start=1)]
    assert {name for name, _ in read(tmp_path, "WEBVTT\n\n" + "\n".join(cues)).turns} == {"Anna"}


def test_names_in_brackets_above_the_time_or_in_objects_are_speakers(tmp_path):
    event = '{"speakerName": "Bo", "spokenText": "From Teams", "startDateTime": "2024-03-05T10:00:00Z"}'
    cues = ["[SPEAKER_00]: Good day\n", "[Anna Smith]: Hi", "[speaker_1] No colon", "[Music] plays", event, "{broken"]
    text = "".join(f"00:00:0{at}.000 --> 00:00:0{at}.900\n{words}\n\n" for at, words in enumerate(cues))
    assert [(turn.speaker, turn.text) for turn in read(tmp_path, "WEBVTT\n\n" + text).spoken()] == [
        ("SPEAKER_00", "Good day"),
        ("Anna Smith", "Hi"),
        ("speaker_1", "No colon"),
        ("speaker_1", "[Music] plays"),
        ("Bo", "From Teams"),
        ("Bo", "{broken"),
    ]
    named = '1 "Anna Smith" (3422)\n00:00:01.000 --> 00:00:02.000\nHello\nall\n\n'
    named += "Speaker 2\n00:00:03.000 --> 00:00:04.000\nHi\n"
    assert read(tmp_path, f"WEBVTT\n\n{named}").spoken() == (
        Turn("Anna Smith", "Hello all"),
        Turn("Speaker 2", "Hi"),
    )


def test_captions_without_any_name_or_text_are_no_dialogue(tmp_path):
    assert "names its speaker" in read(tmp_path, "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nhello\n").problem
    assert read(tmp_path, "WEBVTT\n").problem == "there is no cue with text in it"


def test_a_damaged_cue_is_named_with_its_line(tmp_path):
    script = read(tmp_path, "WEBVTT\n\n00:00:01.000 --> 00:00:02.000\nAnna: a\0b\n")
    assert (script.problem, script.line) == ("the cue holds bytes that are not valid characters", 3)


def test_a_text_may_stand_on_the_line_of_its_times(tmp_path):
    script = read(tmp_path, "00:01.000 --> 00:02.000 Ana: Hello\n00:03.000 --> 00:04.000 Bo: Hi\n")
    assert script.spoken() == (Turn("Ana", "Hello"), Turn("Bo", "Hi"))


def test_sounds_are_no_speech_and_names_may_stand_in_brackets_or_above(tmp_path):
    cue = "00:00:0{0}.000 --> 00:00:0{0}.900\n{1}\n\n"
    sounds = [cue.format(at, text) for at, text in enumerate(["ANA: Hello", "[DOOR CLOSES]", "BO: Hi", "♪ ♪"])]
    script = read(tmp_path, "WEBVTT\n\n" + "".join(sounds))
    assert (script.spoken(), script.unused) == ((Turn("ANA", "Hello"), Turn("BO", "Hi")), 2)
    said = (Turn("Ana Ruiz", "Hello: all"), Turn("Bo", "Hi"), Turn("Ana Ruiz", "Bye"))
    for form in ("[{}] {}", "({}) {}", "{}\n{}"):
        cues = [cue.format(at, form.format(turn.speaker, turn.text)) for at, turn in enumerate(said)]
        assert read(tmp_path, "WEBVTT\n\n" + "".join(cues)).spoken() == said


SAID = [("Kim", "Hello"), ("Ann", "Hi"), ("Kim", "Bye")]


def said_in(tmp_path, name, cues):
    (tmp_path / name).write_text("\n".join(cues))
    path = tmp_path / name
    return [(turn.speaker, turn.text) for turn in read_captions(path, find_encoding(path)).spoken()]


def test_cues_are_sorted_by_time_unless_a_second_part_begins(tmp_path):
    cues = [f"00:00:0{at},000 --> 00:00:0{at},900\n{name}: {text}\n" for at, (name, text) in enumerate(SAID, start=1)]
    mixed = [f"{at}\n{cues[at - 1]}" for at in (2, 1, 3)]
    assert said_in(tmp_path, "a.srt", mixed) == SAID
    parts = [f"{at}\n{cues[at - 1]}" for at in (1, 2, 1, 3)]
    assert said_in(tmp_path, "b.srt", parts) == [SAID[0], SAID[1], SAID[0], SAID[2]]


def test_captions_of_youtube_are_read(tmp_path):
    cues = [f"0:00:0{at}.000,0:00:0{at}.900\n{name}: {text}\n" for at, (name, text) in enumerate(SAID, start=1)]
    assert said_in(tmp_path, "a.sbv", cues) == SAID


def test_a_name_above_the_time_of_each_cue_speaks(tmp_path):
    said = [("Kim Lee", "Hello you"), ("Ann", "My card"), ("Kim Lee", "Lost?")]
    cues = [f"{name}\n00:00:0{at}.000 --> 00:00:0{at}.900\n{text}" for at, (name, text) in enumerate(said)]
    path = tmp_path / "c.vtt"
    path.write_text("WEBVTT\n\n" + "\n\n".join(cues) + "\n")
    [dialogue] = read_export(path, Options()).result.dialogues
    assert [(turn.speaker, turn.text) for turn in dialogue.turns] == said
    path.write_text("WEBVTT\n\n" + "\n\n".join(cues).replace("Kim Lee\n", "2\n").replace("Ann\n", "1\n"))
    assert read_export(path, Options()).result.dialogues == []


def vtt(*cues):
    return "WEBVTT\n\n" + "\n".join(f"00:00:{at:02}.000 --> 00:00:{at:02}.900\n{cue}\n" for at, cue in enumerate(cues))


@pytest.mark.parametrize(
    ("cues", "said"),
    [
        ((">> ANNA: Hello.", ">> Hi Anna.", "It is late."), ["ANNA", "unknown", "unknown"]),
        (("&gt;&gt; ANNA: Hello.", "&gt;&gt; Hi.", "&gt;&gt; Hm.", "&gt;&gt; ANNA: So"), None),
        (("HOST: Welcome. >> GUEST: Thanks.", "I see. >> No."), ["HOST", "GUEST", "GUEST", "unknown"]),
        ((">>> KIM: The news.", ">> BO LEE: Thanks.", "And more."), ["KIM", "BO LEE", "BO LEE"]),
        (("Anna: Is it so?", "- No.\n- Yes.", "Anna: Hm"), ["Anna", "Anna", "unknown", "Anna"]),
        (("<v Anna>Hello", "and", "so", "on", "till", "six"), ["Anna"] * 6),
    ],
)
def test_a_mark_of_a_change_is_another_voice(tmp_path, cues, said):
    names = [turn.speaker for turn in read(tmp_path, vtt(*cues)).spoken()]
    assert names == (said or ["ANNA", "unknown", "unknown 2", "ANNA"])


@pytest.mark.parametrize(
    "cues",
    [
        ("Hello.", "Note: the sail is torn.", "Shall we begin?"),
        ("Hola.", "Nota: rota.", "Nota: otra vez.", "Fin."),
        ("Well.", "Question: can we?", "Yes.", "So.", "Answer: no.", "I see.", "Fine."),
        (">> Hello.", ">> Hi."),
        ("Conclusion: yes.", "We did it.", "So.", "Conclusion: again.", "And on.", "It is."),
        ("Step 1: cut.", "Well.", "Step 1: cut again.", "So."),
    ],
)
def test_captions_whose_names_are_words_of_speech_are_refused(tmp_path, cues):
    assert "export the captions with speakers" in read(tmp_path, vtt(*cues)).problem


def test_a_remark_in_captions_belongs_to_the_speaker_before(tmp_path):
    script = read(tmp_path, vtt("ANNA: Hello.", "BO: Hi.", "Note: torn."))
    assert script.spoken()[-1] == Turn("BO", "Note: torn.")
