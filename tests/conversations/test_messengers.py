"""Chats of messengers in the forms of many locales."""

from __future__ import annotations

import pytest

from conversations.options import Options
from conversations.reading import read_export

# How WhatsApp writes the moments in other locales; each stands for 19:02 on 24 January 2023.
ANDROID = {
    "en_US": "1/24/23, 7:02\u202fPM - ",
    "en_GB": "24/01/2023, 19:02 - ",
    "en_IN": "24/01/23, 7:02 pm - ",
    "en_AU": "24/1/2023, 7:02 pm - ",
    "en_ZA": "2023/01/24, 19:02 - ",
    "en_CA": "2023-01-24, 7:02 p.m. - ",
    "en, until 2016": "Jan 24, 2023, 7:02 PM - ",
    "en_GB, until 2016": "24 Jan 2023 19:02 - ",
    "en, clock first": "7:02pm, 24 Jan 2023 - ",
    "de": "24.01.23, 19:02 - ",
    "de, um": "24.01.23 um 19:02 - ",
    "de, until 2016": "24. Jan. 2023 19:02 - ",
    "fr": "24/01/2023, 19:02 - ",
    "fr, à": "24/01/2023 à 19:02 - ",
    "fr_CA": "2023-01-24 19 h 02 - ",
    "es": "24/1/23, 19:02 - ",
    "es_MX": "24/1/2023, 7:02 p.\u00a0m. - ",
    "es, a las": "24/1/23 a las 19:02 - ",
    "es, until 2016": "24 de ene. de 2023 19:02 - ",
    "pt_BR": "24/01/2023 19:02 - ",
    "pt, às": "24/01/2023 às 19:02 - ",
    "it": "24/01/23, 19:02 - ",
    "it, alle": "24/01/23 alle 19:02 - ",
    "nl": "24-01-2023 19:02 - ",
    "sv": "2023-01-24 19:02 - ",
    "sv, kl.": "2023-01-24 kl. 19:02 - ",
    "da": "24.01.2023 kl. 19.02 - ",
    "nb": "24.01.2023, 19:02 - ",
    "fi": "24.1.2023 klo 19.02 - ",
    "pl": "24.01.2023, 19:02 - ",
    "cs": "24.01.23 19:02 - ",
    "sk": "24. 1. 2023 19:02 - ",
    "sl": "24. 01. 23 19:02 - ",
    "hr": "24. 01. 2023. 19:02 - ",
    "sr": "24.1.23. 19:02 - ",
    "hu": "2023. 01. 24. 19:02 - ",
    "ro": "24.01.2023, 19:02 - ",
    "bg": "24.01.23 г., 19:02 ч. - ",
    "ru": "24.01.2023, 19:02 - ",
    "el": "24/1/23, 7:02 μ.μ. - ",
    "tr": "24.01.2023 19:02 - ",
    "tr, 12 hours": "24.01.2023 ÖS 7:02 - ",
    "lt": "2023-01-24 19:02 - ",
    "he": "24.1.2023, 19:02 - \u200f",
    "ar": "٢٤\u200f/١\u200f/٢٠٢٣، ٧:٠٢ م - ",
    "fa": "۲۰۲۳/۱/۲۴،\u200f ۱۹:۰۲ - ",
    "ur": "24/1/23، 7:02 PM - ",
    "hi": "24/1/23, 7:02 pm - ",
    "hi, अपराह्न": "24/1/23, 7:02 अपराह्न - ",
    "bn": "২৪/১/২৩, ৭:০২ PM - ",
    "id": "24/01/23 19.02 - ",
    "ms": "24/01/2023, 7:02 PTG - ",
    "vi": "24/01/2023, 19:02 - ",
    "vi, clock first": "19:02, 24/1/2023 - ",
    "th": "24/1/2566 19:02 - ",
    "ja": "2023/01/24 19:02 - ",
    "ja, 12 hours": "2023/1/24 午後7:02 - ",
    "ko": "2023. 1. 24. 오후 7:02 - ",
    "ko, until 2016": "2023년 1월 24일, 오후 7:02 - ",
    "zh_CN": "2023/1/24 下午7:02 - ",
    "zh_CN, until 2016": "2023年1月24日 下午7:02 - ",
    "zh_HK": "24/1/2023 下午7:02 - ",
    "af": "2023-01-24 7:02 nm. - ",
    "sq": "24.1.23, 7:02 e pasdites - ",
    "mk": "24.1.23, во 19:02 - ",
}
IOS = {
    "en_US": "[1/24/23, 7:02:11\u202fPM] ",
    "en_US, marked": "\u200e[1/24/23, 7:02:11 PM] ",
    "en_GB": "[24/01/2023, 19:02:11] ",
    "en, at": "[24/01/2023 at 19:02:11] ",
    "de": "[24.01.23, 19:02:11] ",
    "es_MX": "[24/1/23, 7:02:11\u202fp.\u202fm.] ",
    "fr": "[24/01/2023 19:02:11] ",
    "fr_CA": "[2023-01-24 19 h 02 min 11 s] ",
    "da": "[24.01.2023 19.02.11] ",
    "fi": "[24.1.2023 klo 19.02.11] ",
    "hu": "[2023. 01. 24. 19:02:11] ",
    "nl": "[24-01-2023 19:02:11] ",
    "ar": "[٢٤\u200f/١\u200f/٢٠٢٣، ٧:٠٢:١١ م] ",
    "he": "[24.1.2023, 19:02:11] \u200f",
    "ja": "[2023/01/24 19:02:11] ",
    "ko": "[2023. 1. 24. 오후 7:02:11] ",
    "th": "[24/1/2566 BE 19:02:11] ",
    "zh_TW": "[2023/1/24 下午7:02:11] ",
    "copied from the web": "[19:02, 24/01/2023] ",
    "copied from the web, AM or PM": "[7:02 PM, 1/24/2023] ",
}
FORMS = [("whatsapp_android", *item) for item in ANDROID.items()] + [("whatsapp_ios", *item) for item in IOS.items()]


def read(tmp_path, text, file="chat.txt"):
    path = tmp_path / file
    path.write_text(text, encoding="utf-8")
    export = read_export(path, Options())
    assert export.result.quarantine == []
    return export.descriptions[path].recipe, export.result


@pytest.mark.parametrize(("recipe", "locale", "stamp"), FORMS)
def test_whatsapp_is_read_in_every_locale(tmp_path, recipe, locale, stamp):
    lines = [f"{stamp}Ana Ruiz: Hello: you", "Second: line", f"{stamp}Bo left", f"{stamp}Bo: Fine", ""]
    found, result = read(tmp_path, "\n".join(lines))
    assert found == recipe
    (dialogue,) = result.dialogues
    assert [(turn.speaker, turn.text) for turn in dialogue.turns] == [
        ("Ana Ruiz", "Hello: you\nSecond: line"),
        ("Bo", "Fine"),
    ]
    assert str(dialogue.date)[:16] == "2023-01-24T19:02"
    assert result.left_out == {"notice": 1}


def test_texts_that_whatsapp_writes_are_left_out_in_every_language(tmp_path):
    own = [
        "<Medien ausgeschlossen>",
        "<Multimedia omitido>",
        "<省略多媒体文件>",
        "null",
        "IMG-20230124-WA0001.jpg (file attached)",
    ]
    own += [
        "tickets.pdf (archivo adjunto)",
        "Esta mensagem foi apagada",
        "Bu mesaj silindi",
        "This message was deleted.",
    ]
    lines = [
        f"24/01/2023, 19:02 - Bo: {text}" for text in ["Hi", *own, "I deleted <that>", "Fine <Se editó este mensaje>"]
    ]
    _, result = read(tmp_path, "\n".join(lines))
    assert [turn.text for turn in result.dialogues[0].turns] == ["Hi", "I deleted <that>", "Fine"]
    assert result.left_out == {"media": 6, "deleted": 3}


def test_the_mark_before_texts_of_whatsapp_tells_them_from_speech_on_ios(tmp_path):
    stamp = "[24.01.23, 19:02:11] "
    texts = ["Hallo", "\u200eBild weggelassen", "\u200eSprachanruf verpasst", "ein Bild \u200e<Anhang: 1.jpg>"]
    _, result = read(tmp_path, "\n".join(f"{stamp}Bo: {text}" for text in texts), "_chat.txt")
    assert [turn.text for turn in result.dialogues[0].turns] == ["Hallo", "ein Bild"]
    assert result.left_out == {"media": 1, "notice": 1}


def test_newest_first_turns_of_one_minute_are_reversed(tmp_path):
    rows = ["4,Kim,Good,2024-03-05 10:02", "4,Ann,Fine,2024-03-05 10:01", "4,Kim,How,2024-03-05 10:01"]
    text = "\n".join(
        ["conversation_id,sender,message,created_at", *rows, "5,Kim,Yes,2024-03-05", "5,Ann,So,2024-03-05"]
    )
    _, result = read(tmp_path, text, "e.csv")
    turns = [[turn.text for turn in dialogue.turns] for dialogue in result.dialogues]
    assert turns == [["How", "Fine", "Good"], ["So", "Yes"]]


def test_day_or_month_first_is_decided_for_all_lines_of_a_chat(tmp_path):
    _, result = read(tmp_path, "03/04/2024, 19:02 - Bo: Hi\n03/14/2024, 19:02 - Ana: Yes\n")
    assert str(result.dialogues[0].date).startswith("2024-03-04")
    _, result = read(tmp_path, "3/4/24, 7:02 PM - Bo: Hi\n3/4/24, 7:03 PM - Ana: Yes\n")
    assert str(result.dialogues[0].date).startswith("2024-03-04")
    _, result = read(tmp_path, "03/04/2024, 19:02 - Bo: Hi\n03/04/2024, 19:03 - Ana: Yes\n")
    assert str(result.dialogues[0].date).startswith("2024-04-03")


def test_a_table_whose_dates_have_two_senses_says_so(tmp_path):
    rows = ["conversation_id,sender,message,created_at", "4,Kim,Hi,03/04/2024 19:02", "4,Ann,Yes,03/04/2024 19:03"]
    _, result = read(tmp_path, "\n".join(rows), "e.csv")
    assert result.dialogues[0].date is None
    assert "may begin with the day or the month" in next(iter(result.notes))


def test_a_slack_export_needs_no_turns_in_the_files_above_its_channels(tmp_path):
    (tmp_path / "help").mkdir()
    (tmp_path / "users.json").write_text('[{"id": "U1", "name": "ana"}]')
    (tmp_path / "channels.json").write_text('[{"id": "C1", "name": "help"}]')
    message = (
        '{{"type": "message", "user": "U{}", "text": "{}", "ts": "17096328{}0.0001", "thread_ts": "1709632800.0001"}}'
    )
    (tmp_path / "help" / "2024-03-05.json").write_text(f"[{message.format(1, 'Hi', 0)}, {message.format(2, 'Yes', 1)}]")
    export = read_export(tmp_path, Options())
    assert export.result.quarantine == []
    assert [turn.text for turn in export.result.dialogues[0].turns] == ["Hi", "Yes"]
    assert {path.name for path in export.skipped} == {"users.json", "channels.json"}


def test_a_line_with_another_form_of_time_is_text(tmp_path):
    lines = ["23/06/2018, 01:55 p.m. - Loris: see", "2016-04-29 10:30 - Mia: old", "2016-04-29 10:30 - Mia left"]
    _, result = read(
        tmp_path, "\n".join([*lines, "23/06/2018, 01:56 p.m. - Mia: Yes", "23/06/2018, 01:57 p.m. - Mia left"])
    )
    assert [turn.text for turn in result.dialogues[0].turns] == ["\n".join(["see", *lines[1:]]), "Yes"]
    assert result.left_out == {"notice": 1}
