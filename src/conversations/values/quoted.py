"""The mail that a mail quotes below its own words: what somebody else said before, so no speech of its sender."""

from __future__ import annotations

import re

# "On Tue, Mar 5, 2024 at 10:00 Ana Lee <ana@shop.example> wrote:", also over two lines.
WROTE = "wrote|schrieb|écrit|escribió|scritto|schreef|escreveu|skrev|napisała?"
INTRODUCTION = re.compile(
    rf"^[ \t>]*(?:On|Am|Le|El|Il|Op|Em|Den|På|Dnia|W dniu)\b(?=[^\n]*\d)[^\n]{{5,200}}?(?:\n[^\n]{{0,100}}?)?"
    rf"\b(?:{WROTE})\b[^\n]{{0,80}}:[ \t]*$",
    re.MULTILINE,
)
# What Outlook puts above: a rule with words, or the head of the quoted mail, each in the language of its user.
RULE = re.compile(
    r"^[ \t]*-{3,}[ \t]*(?:Original Message|Original-Nachricht|Ursprüngliche Nachricht|Message d['’]origine|"
    r"Mensaje original|Messaggio originale|Oorspronkelijk bericht|Mensagem original)[ \t]*-{3,}[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
HEAD = re.compile(
    r"^(?:_{5,}\s*\n)?\**(?:From|Von|De|Da|Van)\s?:\**[^\n]{1,200}\n"
    r"\**(?:Sent|Date|Gesendet|Datum|Envoyé|Enviado(?: el)?|Inviato|Verzonden|Enviada em)\s?:\**[^\n]{1,100}\n"
    r"\**(?:To|An|À|Para|A|Aan)\s?:\**[^\n]{1,500}\n"
    r"(?:\**(?:Cc|Kopie|Copia)\s?:\**[^\n]{1,500}\n)?"
    r"\**(?:Subject|Betreff|Objet|Asunto|Oggetto|Onderwerp|Assunto)\s?:",
    re.MULTILINE,
)


def without_quoted(text: str, *, marked: bool = True) -> str:
    """Return a text without the mail that it quotes at its end; as it is if it has no words of its own.

    :param marked: True if each line of a mail that "Ana wrote:" introduces has to begin with ">"; in HTML none does.
    """
    if "\n" not in text:
        return text
    ends = [match.start() for pattern in (RULE, HEAD) if (match := pattern.search(text))]
    for match in INTRODUCTION.finditer(text):
        below = text[match.end() :].split("\n")
        if any(map(str.strip, below)) and (not marked or all(line.lstrip()[:1] in ("", ">") for line in below)):
            ends.append(match.start())
            break
    own = text[: min(ends)].rstrip() if ends else text
    return own if own.strip() else text
