"""Words of column names in other languages, each with its English word."""

from __future__ import annotations

import re

# In German, Spanish, French, Italian, Portuguese, Dutch, Polish, Swedish, Danish, Turkish, Russian, Japanese, Chinese
# and Korean.
WORDS = {
    "conversation": "gespräch gesprächs gespraech gespraechs unterhaltung unterhaltungs konversation konversations "
    "conversación conversacion conversazione conversa conversação conversacao gesprek gesprekken gespreks "
    "rozmowa rozmowy samtal samtals samtale konuşma görüşme разговор разговора диалог диалога беседа "
    "беседы 会話 会话 对话 對話 대화",
    "chat": "чат チャット 聊天 채팅",
    "call": "anruf anrufs llamada appel chiamata chamada ligação oproep połączenie połączenia samtalet звонок звонка",
    "case": "vorgang vorgangs anfrage caso dossier zaak sprawa sprawy",
    "ticket": "тикет",
    "session": "sitzung sitzungs sesión sesion séance sessione sessão sessao sessie sesja",
    "speaker": "sprecher sprecherin redner hablante orador locuteur intervenant parlante oratore falante spreker mówca "
    "talare taler konuşmacı спикер говорящий 話者 发言人 說話者 화자",
    "sender": "absender sender remitente emisor expéditeur expediteur émetteur mittente remetente afzender nadawca "
    "avsändare afsender gönderen отправитель 送信者 发送者 发件人 보낸사람",
    "author": "autor autora autrice auteur autore verfasser автор",
    "participant": "teilnehmer participante partecipante deelnemer uczestnik deltagare участник",
    "user": "benutzer nutzer usuario utilisateur utente usuário utilizador gebruiker użytkownik användare пользователь",
    "role": "rolle rol rôle ruolo papel função rola roll роль",
    "message": "nachricht nachrichten mensaje messaggio mensagem bericht wiadomość wiadomosc meddelande besked mesaj "
    "сообщение メッセージ 消息 訊息 메시지",
    "text": "texto texte testo tekst inhalt contenido contenu contenuto conteúdo conteudo treść metin текст 本文 内容",
    "comment": "kommentar comentario commentaire commento comentário opmerking komentarz комментарий",
    "question": "frage pregunta domanda pergunta vraag pytanie вопрос",
    "answer": "antwort respuesta réponse reponse risposta resposta antwoord odpowiedź ответ",
    "date": "datum fecha dato tarih дата 日付 日期 날짜",
    "time": "zeit uhrzeit hora heure ora orario tijd tijdstip czas godzina tidspunkt saat время 時刻 时间 時間 시간",
    "timestamp": "zeitpunkt zeitstempel horodatage 日時 日时 일시",
    "created": "erstellt creado créé cree creato criado aangemaakt utworzono skapad",
    "sent": "gesendet enviado envoyé inviato verzonden wysłano skickat",
    "department": "abteilung departamento département reparto departamento afdeling dział avdelning отдел",
    "topic": "thema tema sujet argomento assunto onderwerp temat ämne тема",
    "category": "kategorie categoría categoria catégorie categorie kategoria категория",
    "queue": "warteschlange cola coda fila wachtrij",
    "name": "nombre nom nome naam imię nazwa namn navn имя",
    "number": "nummer número numero numéro numer номер",
    "id": "ид kennung identificador identifiant identificativo",
    "customer": "kunde kundin kunden cliente klant klient kund kunde müşteri клиент",
    "type": "typ tipo тип",
}
ENGLISH = {word: english for english, words in WORDS.items() for word in words.split()}
# Words between the two parts of "ID de conversación" and "Nom de l'expéditeur".
LINKS = {"de", "del", "des", "du", "da", "do", "di", "della", "van"}
FILLERS = {*LINKS, "la", "l", "el", "le", "dell", "den", "het", "y", "et", "e", "i", "en", "und", "der"}
COMPOUND = re.compile(
    r"^(gesprächs|gespraechs|unterhaltungs|konversations|nachrichten|ticket|chat|anruf|会話|会话|对话|對話|대화|メッセージ|消息)"
    r"_?(id|nummer|text|zeit|datum|番号|内容|时间|日時)$"
)


def in_english(name: str) -> str:
    """Return a plain column name with its known foreign words in English; an English name is unchanged."""
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
    elif translated[0] == "id" and len(words) == 2 and translated != words:
        translated.reverse()
    kept = [word for word in translated if word not in FILLERS or translated == words]
    return "_".join(kept) or name
