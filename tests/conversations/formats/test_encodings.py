from __future__ import annotations

import codecs
import gzip

import pytest

from conversations.formats.encodings import find_encoding, is_damaged, open_text, right_to_left_page
from dial2vec.errors import CorpusError

FRENCH = "Où êtes-vous ? Ça va très bien, « merci » – à bientôt"
POLISH = "Dzień dobry, chciałbym zapytać o moją kartę, która została zgubiona"


def read(path, **options):
    encoding = find_encoding(path, **options)
    with open_text(path, encoding) as text:
        return str(encoding), text.read()


@pytest.mark.parametrize(
    ("data", "shown", "text"),
    [
        (FRENCH.encode(), "UTF-8", FRENCH),
        (FRENCH.encode("utf-8-sig"), "UTF-8 (byte order mark)", FRENCH),
        (codecs.BOM_UTF16_LE + FRENCH.encode("utf-16-le"), "UTF-16 (byte order mark)", FRENCH),
        (codecs.BOM_UTF16_BE + FRENCH.encode("utf-16-be"), "UTF-16 (byte order mark)", FRENCH),
        (FRENCH.encode("utf-32"), "UTF-32 (byte order mark)", FRENCH),
        (FRENCH.encode("utf-16-le"), "utf-16-le (guessed)", FRENCH),
        (FRENCH.encode("utf-16-be"), "utf-16-be (guessed)", FRENCH),
        (FRENCH.encode("cp1252"), "cp1252 (guessed)", FRENCH),
        (POLISH.encode("cp1250"), "cp1250 (guessed)", POLISH),
        ("Привет, как дела?".encode("cp1251"), "cp1251 (guessed)", "Привет, как дела?"),
    ],
)
def test_the_encoding_is_found_and_a_guess_is_called_one(tmp_path, data, shown, text):
    path = tmp_path / "t.txt"
    path.write_bytes(data)
    assert read(path) == (shown, text)
    packed = tmp_path / "t.txt.gz"
    packed.write_bytes(gzip.compress(data))
    assert read(packed) == (shown, text)


def test_one_damaged_byte_does_not_make_utf8_another_encoding(tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes(FRENCH.encode() * 3 + b"\xff" + FRENCH.encode())
    shown, text = read(path)
    assert shown == "UTF-8 (except 1 damaged places)"
    assert text.count(FRENCH) == 4
    assert is_damaged(text)


def test_the_encoding_that_was_said_is_taken(tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes("£5".encode("cp1252"))
    assert read(path, given="latin1") == ("iso8859-1 (as given)", "£5")
    path.write_bytes(b"\xef\xbb\xbfx")
    assert read(path, given="utf8") == ("UTF-8 (as given)", "x")


@pytest.mark.parametrize("given", ["utf-16", "utf-32"])
def test_a_wide_encoding_without_its_mark_is_refused_where_the_order_of_bytes_cannot_be_told(tmp_path, given):
    path = tmp_path / "t.txt"
    path.write_text("Agent: Hello")
    with pytest.raises(CorpusError, match=rf"does not begin with the mark of {given}.* Name {given}-le or {given}-be"):
        find_encoding(path, given=given)
    path.write_text("Agent: Hello", encoding=given)
    assert read(path, given=given)[1] == "Agent: Hello"
    if given == "utf-16":
        path.write_text("Agent: Hello", encoding="utf-16-be")
        assert read(path, given=given)[1] == "Agent: Hello"


@pytest.mark.parametrize("given", ["utf-9", "base64", "x\0y"])
def test_an_unknown_encoding_is_refused(tmp_path, given):
    path = tmp_path / "t.txt"
    path.write_text("x")
    with pytest.raises(CorpusError, match="is no text encoding that Python knows"):
        find_encoding(path, given=given)


@pytest.mark.parametrize(
    ("name", "data", "message"),
    [
        ("t.txt", b"", "is empty; expected an export"),
        ("t.gz", b"plain", "is not a whole gzip file"),
        ("t.gz", gzip.compress(b"x" * 100, mtime=0)[:-9], "is not a whole gzip file"),
    ],
)
def test_unreadable_files_are_refused_in_one_sentence(tmp_path, name, data, message):
    path = tmp_path / name
    path.write_bytes(data)
    with pytest.raises(CorpusError, match=message):
        find_encoding(path)


def test_missing_files_and_folders_are_named(tmp_path):
    with pytest.raises(CorpusError, match="does not exist"):
        find_encoding(tmp_path / "none")
    with pytest.raises(CorpusError, match="cannot be read"):
        find_encoding(tmp_path)


def test_rows_of_another_encoding_do_not_spoil_those_in_utf8(tmp_path):
    path = tmp_path / "t.txt"
    path.write_bytes("Zoë: Très bien €5\n".encode() + "André: Café fermé\n".encode("cp1252"))
    shown, text = read(path)
    assert shown == "UTF-8 (except 3 damaged places)"
    assert "Zoë: Très bien" in text


TEXTS = {
    "German": ("cp1252", "Agent: Grüß Gott, wie kann ich helfen?"),
    "Swedish": ("cp1252", "Kund: Jag har förlorat mitt kort på ön. Å nej!"),
    "French": ("cp1252", "Client: J’ai perdu ma carte à l’été, ça va être très gênant."),
    "Spanish": ("cp1252", "Cliente: ¿Dónde está mi tarjeta, señor?"),
    "signs": ("cp1252", "Ann: “Fine” – that’s €5…"),
    "Polish": ("cp1250", "Klient: Zgubiłem kartę, proszę o pomoc. Dziękuję!"),
    "Czech": ("cp1250", "Zákazník: Dobrý den, ztratil jsem kartu. Agent: Zablokuji ji, prosím počkejte."),
    "Hungarian": ("cp1250", "Ügyfél: Elvesztettem a kártyámat. Ő: Köszönöm, rögtön letiltom."),
    "Turkish": ("cp1254", "Müşteri: Kartımı kaybettim, yardım eder misiniz?"),
    "Mac, German": ("mac_roman", "Agent: Grüß Gott, wie kann ich helfen? Schöne Grüße!"),
    "Mac, Spanish": ("mac_roman", "Cliente: ¿Dónde está mi tarjeta, señor?"),
    "Russian": ("cp1251", "Иван: Здравствуйте, чем помочь? Анна: Я потеряла карту."),
    "Japanese": ("euc_jp", "田中: こんにちは、どうしましたか。鈴木: カードをなくしました。"),
    "Chinese": ("gb18030", "客户：我的银行卡丢了，怎么办？客服：请您先登录手机银行，然后点击挂失。"),
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_text_in_a_code_page_is_read_to_the_letter(tmp_path, language):
    page, text = TEXTS[language]
    path = tmp_path / "t.txt"
    path.write_bytes(text.encode(page))
    with open_text(path, find_encoding(path)) as opened:
        assert opened.read() == text


@pytest.mark.parametrize("language", [name for name, (page, _) in TEXTS.items() if page == "cp1252"])
@pytest.mark.parametrize("start", range(0, 40, 8))
def test_a_part_of_a_western_text_is_read_like_the_whole(tmp_path, language, start):
    part = TEXTS[language][1][start:] + "\n"
    path = tmp_path / "t.txt"
    path.write_bytes(part.encode("cp1252"))
    with open_text(path, find_encoding(path)) as opened:
        assert opened.read() == part


HEBREW = "אנה: שלום לכולם, מה שלומכם היום\nדן: הכל בסדר, תודה\n"
ARABIC = "سارة: صباح الخير، كيف الحال؟\nعلي: أهلا، أنا بخير\n"
OTHERS = [
    ("Анна: привет, как у вас дела сегодня\nБорис: хорошо\n", "cp1251"),
    ("АННА: ПРИВЕТ ВСЕМ\nБОРИС: КАК ДЕЛА\n", "cp1251"),
    ("Анна: привет, как дела\n", "koi8_r"),
    ("Άννα: Θέλω να μιλήσουμε για τον λογαριασμό\n", "cp1253"),
    ("Ana: ça va très bien, garçon, à bientôt\n", "cp1252"),
    ("安娜: 你好，最近怎么样\n", "gb18030"),
    ("アンナ: こんにちは、元気ですか\n", "cp932"),
    ("안나: 안녕하세요 잘 지내세요\n", "euc_kr"),
]


@pytest.mark.parametrize(
    ("text", "page"), [(HEBREW, "cp1255"), (ARABIC, "cp1256"), *((text, "") for text, _ in OTHERS)]
)
def test_hebrew_and_arabic_are_told_from_other_scripts(text, page):
    written = dict(OTHERS).get(text, page)
    assert right_to_left_page(text.encode(written)) == page
    assert right_to_left_page((text * 30).encode(written)) == page
