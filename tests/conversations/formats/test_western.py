from __future__ import annotations

import pytest

from conversations.formats.encodings import find_encoding, open_text

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
