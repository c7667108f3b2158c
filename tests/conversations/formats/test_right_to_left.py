"""Code pages of Hebrew and Arabic beside others."""

from __future__ import annotations

import pytest

from conversations.formats.encodings import right_to_left_page

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
