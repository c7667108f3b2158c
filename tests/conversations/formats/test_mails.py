from __future__ import annotations

from conversations.options import Options
from conversations.reading import read_export
from tests.conversations.exports import imported, turns_of


def mail(number, sender, text, subject="Lamp", *heads):
    date = f"Tue, 05 Mar 2024 10:0{number}:00 +0000"
    lines = [f"Message-ID: <{number}@x.example>", f"From: {sender}", f"Subject: {subject}", f"Date: {date}", *heads]
    return "\n".join([*lines, "", text, ""])


ASKED = mail(1, "Ana <ana@x.example>", "Is it broken?")
ANSWER = mail(2, "Bo <bo@x.example>", "Yes.\n\n> Is it broken?", "Re: Lamp", "In-Reply-To: <1@x.example>")
THANKS = mail(3, "ana@x.example", "Thanks", "AW: Lamp", "References: <1@x.example> <2@x.example>")
OTHER = mail(4, "Cy <cy@x.example>", "Hello", "Kite")
SAID = ["Ana: Is it broken?", "Bo: Yes.\n\n> Is it broken?", "Ana: Thanks"]


def test_a_mailbox_holds_conversations_told_by_the_ids_of_answers(tmp_path):
    box = "\n".join(f"From x Tue Mar  5 10:00:00 2024\n{item}" for item in (THANKS, OTHER, ANSWER, ASKED))
    assert turns_of(imported(tmp_path, "all.mbox", box)) == {"1@x.example": SAID, "4@x.example": ["Cy: Hello"]}


def test_answers_without_ids_belong_to_the_mail_with_their_subject(tmp_path):
    bare = [
        mail(1, "ana@x.example", "Hm?"),
        mail(2, "bo@x.example", "Yes", "RE: Lamp"),
        mail(3, "c@x.example", "No", "Kite"),
    ]
    box = "\n".join(f"From x Tue Mar  5 10:00:00 2024\n{item}" for item in bare)
    assert [len(turns) for turns in turns_of(imported(tmp_path, "list.txt", box)).values()] == [2, 1]


def test_a_folder_of_mails_is_one_mailbox(tmp_path):
    (tmp_path / "mails" / "sent").mkdir(parents=True)
    for name, item in (("a.eml", THANKS), ("sent/b.EML", ANSWER), ("c.eml", ASKED)):
        (tmp_path / "mails" / name).write_text(item)
    result = read_export(tmp_path / "mails", Options()).result
    assert turns_of(result) == {"1@x.example": SAID}
    assert turns_of(read_export(tmp_path / "mails" / "c.eml", Options()).result) == {"1@x.example": SAID[:1]}
