from __future__ import annotations

import random

import pytest

from conversations.dialogue import Dialogue, Turn
from dial2vec.data.function_words import Words, function_words
from dial2vec.data.terms import Terms

# Per language: sentences of all talks, and of three topics with their words; "|" stands between choices.
GERMAN = (
    (
        "guten Tag wie kann ich Ihnen helfen|nein das möchte ich nicht|vielen Dank für Ihre Hilfe|"
        "können Sie mir das noch einmal sagen|ich habe da eine Frage an Sie|einen Moment bitte ich sehe nach|"
        "das ist kein Problem für uns|haben Sie sonst noch eine Frage|nein danke das war alles|"
        "dann wünsche ich Ihnen einen schönen Tag|ich bin mir nicht sicher ob das so ist|"
        "das weiß ich leider auch nicht|ja das ist gut|"
        "der Kollege ruft Sie morgen an und hilft Ihnen|ich gebe der Kollegin den Hörer und sie sagt es Ihnen|"
        "und wie ist der Name bitte|der Name ist Meier und ich wohne hier|mein Mann und der Sohn sind auch da|"
        "wir haben der Dame das gesagt und sie weiß es|so ist der Stand und mehr weiß ich nicht|"
        "und dann hat der Herr aufgelegt|ich habe mit der Firma und mit dem Chef geredet"
    ),
    (
        "ich suche einen Zug von {city} nach {city} am Abend|der Zug fährt von {city} um acht ab|"
        "wann kommt der Zug in {city} an|die Fahrkarte von {city} nach {city} kostet zwanzig Euro|"
        "auf dem Bahnhof von {city} ist der Zug auf Gleis drei|ich nehme die Fahrkarte für den Zug"
    ),
    (
        "meine Rechnung ist zu hoch und ich habe sie bezahlt|auf der Rechnung steht ein Betrag den ich nicht kenne|"
        "der Betrag wurde von meinem Konto abgebucht|ich habe die Rechnung mit der Post bekommen|"
        "den Betrag buche ich auf Ihr Konto zurück|die Rechnung kommt mit der Post an Ihre Adresse"
    ),
    (
        "mein Drucker druckt nicht und die Lampe blinkt|haben Sie den Drucker aus und wieder an gemacht|"
        "das Papier steckt im Drucker fest|nehmen Sie das Papier aus dem Drucker heraus|"
        "die Lampe am Drucker ist jetzt aus|bei uns blinkt die Lampe wenn das Papier fehlt"
    ),
    "der die das und ich sie ist von nach am an den ein eine dem im nicht für",
    "zug rechnung drucker fahrkarte betrag papier lampe",
)
SPANISH = (
    (
        "buenos días en qué le puedo ayudar|sí eso está bien|no eso no lo quiero|muchas gracias por su ayuda|"
        "me lo puede decir otra vez por favor|tengo una pregunta para usted|un momento por favor lo voy a ver|"
        "no es un problema para nosotros|tiene alguna otra pregunta|no gracias eso es todo|"
        "que tenga un buen día|no sé si es así o no|eso tampoco lo sé|"
        "mi nombre es Ana y mi marido está aquí|su nombre por favor y su teléfono|mi hijo me lo dijo en su casa|"
        "le paso con mi jefe y él se lo dice|su hermana y mi madre se van hoy|en mi trabajo no se puede hablar|"
        "con su permiso le llamo a la una|mi vecino y su hijo lo saben|y con quién hablo"
    ),
    (
        "busco un tren de {city} a {city} por la tarde|el tren sale de {city} a las ocho|"
        "a qué hora llega el tren a {city}|el billete de {city} a {city} cuesta veinte euros|"
        "en la estación de {city} el tren está en la vía tres|quiero el billete para el tren"
    ),
    (
        "mi factura es muy alta y ya la he pagado|en la factura hay un importe que no conozco|"
        "el importe se ha cobrado de mi cuenta|he recibido la factura por correo|"
        "le devuelvo el importe a su cuenta|la factura llega por correo a su casa"
    ),
    (
        "mi impresora no imprime y la luz parpadea|ha apagado la impresora y la ha vuelto a encender|"
        "el papel está atascado en la impresora|saque el papel de la impresora con cuidado|"
        "la luz de la impresora ya no está|la luz parpadea si no hay papel en la impresora"
    ),
    "de la el en a no un que por lo es se y su mi con",
    "tren factura impresora billete importe papel luz",
)
JAPANESE = (
    (
        "お電話ありがとうございます|はいそうです|いいえそれはいりません|ありがとうございました|"
        "もう一度お願いできますか|少しお待ちください|それは大丈夫だと思います|他に何かありますか|"
        "はいそれでお願いします|ちょっとわからないのですが|それはどういうことですか|よろしくお願いします"
    ),
    (
        "{city}から{city}までの電車を探しています|電車は{city}を八時に出ます|"
        "電車は何時に{city}に着きますか|{city}までの切符はいくらですか|切符を二枚ください|電車の切符を買いたいのですが"
    ),
    (
        "請求書の金額が高いと思います|この金額は何ですか|請求書は先月に届きました|"
        "金額を確認してもらえますか|請求書をもう払いました|請求書の金額は正しいです"
    ),
    (
        "プリンターが動かないのですが|プリンターの紙がなくなりました|ランプが赤く光っています|"
        "プリンターの電源を切ってください|ランプは消えましたか|紙を入れたらプリンターが動きました"
    ),
    "です ます のの から まで すか した のを いま して が を に は",
    "電車 請求書 プリンター 切符 金額 ランプ",
)
CITIES = ["Aurin", "Belmo", "Cordal", "Dewin", "Estra", "Fulda"]
KANA = ["東山", "北川", "西野", "南田", "中島", "上町"]


def talks(language, n: int = 40) -> tuple[list[Dialogue], list[int]]:
    """Return n dialogues of each topic: of six turns, three are about the topic."""
    draw = random.Random(1)
    general, *topics = (part.split("|") for part in language[:4])
    cities = KANA if language is JAPANESE else CITIES
    dialogues, groups = [], []
    for number in range(3 * n):
        texts = draw.sample(general, 3) + draw.sample(topics[number % 3], 3)
        draw.shuffle(texts)
        turns = (Turn("ab"[at % 2], _with_cities(text, draw, cities)) for at, text in enumerate(texts))
        dialogues.append(Dialogue(f"d{number}", tuple(turns)))
        groups.append(number % 3)
    return dialogues, groups


def _with_cities(text: str, draw: random.Random, cities: list[str]) -> str:
    for city in draw.sample(cities, text.count("{city}")):
        text = text.replace("{city}", city, 1)
    return text


@pytest.mark.parametrize("language", [GERMAN, SPANISH, JAPANESE], ids=["German", "Spanish", "Japanese"])
def test_a_name_has_words_of_its_topic_and_no_function_words_in_any_language(language):
    dialogues, groups = talks(language)
    found = Terms.read(dialogues).of(groups, 3)
    named = [" ".join(term.text for term in own[:3]).split() for own in found]
    assert not {word for own in named for word in own} & set(language[4].lower().split())
    for own, topic in zip(named, language[5].split(), strict=False):
        assert any(topic in word for word in own)


def test_most_words_are_no_function_words_and_those_of_topics_never_are():
    words = Words.read(talks(GERMAN)[0])
    found = {word for word, is_found in zip(words.vocabulary, function_words(words), strict=True) if is_found}
    assert {"das", "ich", "ist", "sie"} <= found
    assert not {"zug", "rechnung", "drucker", "fahrkarte", "betrag", "lampe", "papier"} & found
    assert len(found) < len(words.vocabulary) / 4


def test_a_few_words_show_nothing():
    words = Words.read([Dialogue("d", (Turn("a", "the cat and the dog"),))] * 9)
    assert not function_words(words).any()


def test_words_keep_their_order_and_leave_out_names_and_numbers():
    words = Words.read(
        [Dialogue("d", (Turn("Bob", "on the 8th, Bob: mp3 or tape"), Turn("Eve", "クレジットカードの件")))]
    )
    read = [words.vocabulary[number] for number in words.numbers]
    assert read == ["", "on", "the", "", "or", "tape", "", "クレジットカード", "の", "件", ""]
    assert words.dialogues.tolist() == [0] * 11
