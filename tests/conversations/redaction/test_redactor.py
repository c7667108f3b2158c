from __future__ import annotations

import re
from importlib.metadata import EntryPoint

import pytest

from conversations.dialogue import Dialogue, Origin, Quarantined, Turn
from conversations.redaction import Redactor, personal_kind, redact
from conversations.result import ImportResult
from dial2vec.errors import CorpusError


def masked(text, *speakers, names=(), countries=("US", "GB"), here=frozenset()):
    return Redactor(speakers, names=names, countries=countries).text(text, here=here)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("mail anna.smith+x@ex-ample.co.uk, please", "mail [EMAIL], please"),
        ("<müller@bücher.de>.", "<[EMAIL]>."),
        ("call +44 20 7946 0958 or 020 7946 0958", "call [PHONE] or [PHONE]"),
        ("call (415) 555-2671 or +1-415-555-2671.", "call [PHONE] or [PHONE]."),
        ("card 4111 1111 1111 1111 and 378282246310005", "card [CARD] and [CARD]"),
        ("4111-1111-1111-1111, +14155552671, a@b.org", "[CARD], [PHONE], [EMAIL]"),
    ],
)
def test_addresses_phones_and_cards_are_masked(text, expected):
    assert masked(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "order 4482910 of 2024-01-15 at 14:05:10, due 12/26/2024",
        "order 4111111111111112 is no card: its check digit is wrong",
        "order 2025550143999 is no card: no issuer has 13 digits that begin with 2",
        "ref 12345678901234567890123, version 1.2.3.4, room 12-34",
        "from 10.01.2024 09:00 to 11.01.2024 10:30, 1,234,567.89 dollars",
        "me @ home, a@b, 50% @ 3.50",
        "",
    ],
)
def test_order_numbers_dates_and_amounts_are_left(text):
    assert masked(text) == text


def test_national_numbers_are_those_of_the_countries_that_are_named():
    assert masked("030 901820") == "030 901820"
    assert masked("030 901820", countries=("DE",)) == "[PHONE]"
    with pytest.raises(CorpusError, match=r"'gb' .* is no country with phone numbers. Did you mean 'GB'"):
        masked("x", countries=("gb",))


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Hi Anna, ANNA SMITH's case, anna smith too", "Hi [NAME], [NAME]'s case, [NAME] too"),
        ("Annabel and Smithers are others", "Annabel and Smithers are others"),
        ("pat o'brien and Pat O'Brien", "[NAME] and [NAME]"),
        ("我是王伟你好", "我是[NAME]你好"),
        ("the agent and the Customer", "the agent and the Customer"),
        ("ask zed or Jo Ann", "ask [NAME] or [NAME]"),
    ],
)
def test_names_of_speakers_and_named_ones_are_masked_as_whole_words(text, expected):
    found = masked(text, "Anna Smith", "O'Brien, Pat", "王伟", "agent", "Customer 2", names=("Zed", "jo ann"))
    assert found == expected


def test_a_word_that_is_also_a_name_is_left_in_small_letters_but_where_its_bearer_speaks():
    assert masked("my bill, Bill", "Bill") == "my bill, [NAME]"
    assert masked("my bill, Bill", "Bill", here={"bill"}) == "my [NAME], [NAME]"


def test_speakers_get_numbers_that_no_role_has_and_keep_them():
    redactor = Redactor(["Anna", "agent", "Speaker 1", "Bob", "4417", "a@b.org"])
    names = ("Anna", "Bob", "4417", "a@b.org", "agent", "Speaker 1")
    expected = ("speaker 2", "speaker 3", "speaker 4", "speaker 5", "agent", "Speaker 1")
    assert tuple(map(redactor.speaker, names)) == expected


def test_nothing_of_a_person_is_left_in_an_import():
    turns = (Turn("Anna Lee", "I am anna, a@b.org"), Turn("agent", "Hi Anna"))
    result = ImportResult(
        dialogues=[
            Dialogue("+14155552671", turns, ("Anna's", "cards")),
            Dialogue("calls-1", (Turn("agent", "Lee?"),)),
            Dialogue("4155552671", turns[1:]),
        ],
        quarantine=[Quarantined(Origin("f", 1), "a@b.org", "found 'Anna Lee'")],
        speakers=dict.fromkeys(["Anna Lee", "agent"]),
    )
    redactor = Redactor(result.speakers)
    redact(result, redactor, name="calls")
    assert result.dialogues == [
        Dialogue(
            "calls-2", (Turn("speaker 1", "I am [NAME], [EMAIL]"), Turn("agent", "Hi [NAME]")), ("[NAME]'s", "cards")
        ),
        Dialogue("calls-1", (Turn("agent", "[NAME]?"),)),
        Dialogue("4155552671", (Turn("agent", "Hi [NAME]"),)),
    ]
    assert result.quarantine == [Quarantined(Origin("f", 1), "[EMAIL]", "found '[NAME]'")]
    assert redactor.counts == {"NAME": 6, "EMAIL": 2}
    first, *samples = redactor.report(result.dialogues)
    assert "2 [EMAIL], 6 [NAME]; speakers with a number for a name: 1" in first
    assert samples == ["  I am [NAME], [EMAIL]", "  I am [NAME], [EMAIL]", "  Hi [NAME]", "  [NAME]?"]
    assert redactor.counts_and_samples(result.dialogues)["EMAIL"] == {"times": 2, "samples": ["I am [NAME], [EMAIL]"]}


@pytest.mark.parametrize(
    ("kind", "keys"),
    [
        ("NAME", ["agent", "Agent Name", "agentId", "customer_id", "user_names", "name", "first_name", "closed_by"]),
        ("EMAIL", ["email", "E-Mail", "customer_email", "Email Address"]),
        ("PHONE", ["phone", "Phone Number", "contactPhone", "mobile_no"]),
        (
            "",
            ["channel", "queue_name", "agent_rating", "customer_since", "email_subject", "id", "phone_model"],
        ),
    ],
)
def test_a_key_that_names_a_person_is_known(kind, keys):
    assert {key: personal_kind(key) for key in keys} == dict.fromkeys(keys, kind)


def test_metadata_is_masked_with_its_dialogue():
    metadata = {
        "agent": "Tom Brown",
        "agent_id": 17,
        "role of caller": "phone",
        "caller": "customer",
        "phone_number": 4155552671,
        "note": "Anna asked tom to mail a@b.org",
        "callback": 4155552671,
        "csat": 4,
        "wait": 415.5552671,
        "vip": True,
        "channel": "chat",
    }
    turns = (Turn("Anna Lee", "is tom there, tom brown?"), Turn("agent", "Yes, Anna."))
    result = ImportResult([Dialogue("d1", turns, metadata=metadata)], speakers={"Anna Lee": None, "agent": None})
    redactor = Redactor(result.speakers)
    redact(result, redactor, name="may")
    [dialogue] = result.dialogues
    assert dialogue.metadata == metadata | {
        "agent": "[NAME]",
        "agent_id": "[NAME]",
        "role of caller": "[NAME]",
        "phone_number": "[PHONE]",
        "note": "[NAME] asked [NAME] to mail [EMAIL]",
        "callback": "[PHONE]",
    }
    assert [turn.text for turn in dialogue.turns] == ["is [NAME] there, [NAME] [NAME]?", "Yes, [NAME]."]
    assert redactor.counts == {"NAME": 9, "PHONE": 2, "EMAIL": 1}


def test_metadata_of_a_reader_reaches_the_dialogue_or_its_quarantine():
    result = ImportResult()
    result.accept("may.csv", 2, "d1", [Turn("a", "hi")], [], metadata={"csat": 4, "channel": " chat ", "note": ""})
    result.accept("may.csv", 3, "d2", [Turn("a", "hi")], [], metadata={"tags": ["a"]})
    assert [dialogue.metadata for dialogue in result.dialogues] == [{"csat": 4, "channel": "chat"}]
    assert "metadata 'tags' must be" in result.quarantine[0].reason


def accounts(text):
    return [(*match.span(), "ACCOUNT") for match in re.finditer("K-[0-9]+", text)]


def no_span(text):
    return [(0, 10_000, "ACCOUNT")]


@pytest.fixture
def package(monkeypatch):
    def installed(function):
        point = EntryPoint("accounts", f"{__name__}:{function}", "dial2vec.masks")
        monkeypatch.setattr("conversations.redaction.redactor.entry_points", lambda *, group: [point])

    return installed


def test_masks_of_a_package_go_before_ours_and_are_counted(package):
    package("accounts")
    redactor = Redactor(["K-17 Bank"])
    assert redactor.text("my account K-17, mail a@b.org") == "my account [ACCOUNT], mail [EMAIL]"
    assert redactor.identifies("K-17")
    assert redactor.counts == {"ACCOUNT": 1, "EMAIL": 1}


@pytest.mark.parametrize(
    ("function", "reason"), [("missing", "AttributeError"), ("no_span", "expected spans of the text")]
)
def test_a_package_whose_masks_fail_stops_the_import(package, function, reason):
    package(function)
    with pytest.raises(CorpusError, match=f"masks 'accounts' of the package .* fail .*{reason}.* Mend or remove"):
        Redactor([]).text("hello")
