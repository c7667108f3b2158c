"""Words of column names in other languages, each with its English word."""

from __future__ import annotations

import re

from conversations.vocabulary import by_word

# English word by word of another language.
ENGLISH = by_word("translations")
# Words between the two parts of "ID de conversación" and "Nom de l'expéditeur".
LINKS = {"de", "del", "des", "du", "da", "do", "di", "della", "van"}
FILLERS = {*LINKS, "la", "l", "el", "le", "dell", "den", "het", "y", "et", "e", "i", "en", "und", "der"}
COMPOUND = re.compile(
    r"^(gesprächs|gespraechs|unterhaltungs|konversations|nachrichten|ticket|chat|anruf|会話|会话|对话|對話|대화|メッセージ|消息)"
    r"_?(id|nummer|text|zeit|datum|番号|内容|时间|日時)$"
)


def in_english(name: str) -> str:
    """Return a plain column name with its known foreign words in English; an English name is unchanged."""
    if name in ENGLISH:
        return ENGLISH[name]
    compound = COMPOUND.match(name)
    words = [compound[1], compound[2]] if compound else name.split("_")
    translated = [ENGLISH.get(word, word) for word in words]
    if translated == words and not LINKS & set(words):
        return name
    # "Data" alone is more often English than Portuguese or Italian.
    translated = ["date" if word == "data" else word for word in translated]
    at = next((at for at, word in enumerate(words) if word in LINKS and 0 < at < len(words) - 1), None)
    if at is not None:
        translated = [*translated[at + 1 :], *translated[:at]]
    elif translated[0] in ("id", "number") and len(words) == 2 and translated != words:
        translated.reverse()
    kept = [word for word in translated if word not in FILLERS or translated == words]
    return "_".join(kept) or name
