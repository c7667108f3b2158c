"""What columns hold goes before their names: times, ids, marks and speakers in any language."""

from __future__ import annotations

import pytest

from conversations.errors import CorpusError
from tests.conversations.exports import imported, turns_of

SAID = (
    ("17", 0, "Thanks a lot", 6),
    ("17", 1, "On its way", 5),
    ("17", 0, "Where is it?", 0),
    ("18", 1, "Until six", 9),
)
SAID = (*SAID, ("18", 0, "Open on Sunday?", 8))


def table(names, sides, time="2024-03-05 10:0{}", flags=()):
    rows = [(key, sides[side], text, time.format(at)) for key, side, text, at in SAID]
    cells = [(*row, *flag) for row, flag in zip(rows, [(flag,) for flag in flags] or [()] * 5, strict=True)]
    return "\n".join(";".join(row) for row in [names.split(";"), *cells]) + "\n"


@pytest.mark.parametrize(
    ("names", "sides"),
    [
        ("Gespreksnummer;Afzender;Bericht;Verzonden op", ("Klant", "Medewerker")),
        ("Nº do atendimento;Remetente;Mensagem;Enviado em", ("Cliente", "Atendente")),
        ("N. conversazione;Mittente;Messaggio;Data d'invio", ("Cliente", "Operatore")),
        ("Numéro de conversation;Expéditeur;Message;Envoyé le", ("Client", "Conseiller")),
        ("Sagsnr;Afsender;Besked;Sendt", ("Kunde", "Medarbejder")),
        ("Saksnummer;Avsender;Melding;Tidspunkt", ("Kunde", "Rådgiver")),
        ("Keskustelun tunnus;Lähettäjä;Viesti;Lähetetty", ("Asiakas", "Asiantuntija")),
        ("Číslo konverzace;Odesílatel;Zpráva;Odesláno", ("Zákazník", "Operátor")),
        ("Görüşme No;Gönderen;Mesaj;Gönderim Tarihi", ("Müşteri", "Temsilci")),
        ("Номер розмови;Відправник;Повідомлення;Надіслано", ("Клієнт", "Оператор")),
        ("会话ID;发送人;消息内容;发送时间", ("客户", "客服")),
        ("대화 번호;보낸 사람;메시지;보낸 시간", ("고객", "상담원")),
        ("رقم المحادثة;المرسل;الرسالة;تاريخ الإرسال", ("العميل", "الموظف")),
        ("Zed;Wij;Praat;Moment", ("Kobb", "Lun")),
    ],
)
def test_the_newest_turn_first_is_turned_round_in_any_language(tmp_path, names, sides):
    one, two = sides
    assert turns_of(imported(tmp_path, "t.csv", table(names, sides))) == {
        "17": [f"{one}: Where is it?", f"{two}: On its way", f"{one}: Thanks a lot"],
        "18": [f"{one}: Open on Sunday?", f"{two}: Until six"],
    }


def test_ids_and_times_that_only_values_tell_are_named_in_notes(tmp_path):
    result = imported(tmp_path, "t.csv", table("Zed;Wij;Praat;Wann", ("Kobb", "Lun")))
    assert list(turns_of(result)) == ["17", "18"]
    first = turns_of(imported(tmp_path, "v.csv", table("Ticket;Author;Body;Last updated", ("Kobb", "Lun"))))["17"][0]
    assert first == "Kobb: Thanks a lot"


@pytest.mark.parametrize(
    ("name", "yes", "no"),
    [
        ("Note interne", "oui", "non"),
        ("Nota interna", "sim", "não"),
        ("Interne notitie", "ja", "nee"),
        ("社内メモ", "はい", "いいえ"),
    ],
)
def test_a_mark_of_a_note_is_one_in_any_language(tmp_path, name, yes, no):
    content = table(f"Ticket;Author;Message;Date;{name}", ("Ana", "Bo"), flags=(no, yes, no, no, no))
    assert imported(tmp_path, "t.csv", content).left_out == {"note": 1}


@pytest.mark.parametrize("flag", ["is_bot", "bot", "automated", "human"])
def test_a_flag_names_nobody_beside_people(tmp_path, flag):
    rows = [("r1", "ana", 0), ("r1", "poll", 1), ("r1", "bo", 0), ("r1", "cy", 0), ("r2", "ana", 0), ("r2", "bo", 0)]
    content = f"room,user,{flag},text\n" + "".join(f"{room},{user},{bot},tea at four\n" for room, user, bot in rows)
    assert [turn.speaker for turn in imported(tmp_path, "t.csv", content).dialogues[0].turns] == [
        "ana",
        "poll",
        "bo",
        "cy",
    ]


@pytest.mark.parametrize("flag", ["is_agent", "from_customer", "outgoing", "est_client"])
def test_true_and_false_are_voices_if_the_name_tells_a_side(tmp_path, flag):
    content = f"conversation_id,text,{flag}\nc,Where is it?,true\nc,On its way,false\nc,Thanks,true\n"
    assert turns_of(imported(tmp_path, "t.csv", content))["c"][1] == "false: On its way"


@pytest.mark.parametrize("flag", ["speaker_turn_next", "overlap", "verified", "edited"])
def test_other_flags_are_no_voices(tmp_path, flag):
    content = f"conversation_id,text,{flag}\nc,Where is it?,true\nc,On its way,false\nc,Thanks,true\n"
    with pytest.raises(CorpusError, match="hold the speaker"):
        imported(tmp_path, "t.csv", content)
