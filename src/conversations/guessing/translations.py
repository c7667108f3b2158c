"""Words of column names in other languages, each with its English word."""

from __future__ import annotations

import re

# In German, Spanish, French, Italian, Portuguese, Dutch, Polish, Czech, Swedish, Danish, Turkish, Russian, Arabic,
# Hebrew, Japanese, Chinese and Korean.
WORDS = {
    "conversation": "gespräch gesprächs gespraech gespraechs unterhaltung unterhaltungs "
    "konversation konversations conversación conversacion conversazione conversa conversação "
    "conversacao gesprek gesprekken gespreks rozmowa rozmowy samtal samtals samtale konuşma "
    "görüşme разговор разговора диалог диалога беседа беседы 会話 会话 对话 對話 대화 المحادثة "
    "konverzace שיחה 대화방 keskustelu keskustelun beszélgetés συνομιλία συνομιλίας conversație "
    "conversației розмова розмови percakapan گفتگو",
    "chat": "чат チャット 聊天 채팅",
    "call": "anruf anrufs llamada appel chiamata chamada ligação oproep połączenie połączenia samtalet звонок звонка",
    "case": "vorgang vorgangs anfrage caso dossier zaak sprawa sprawy atendimento vaka",
    "ticket": "тикет обращения обращение заявки заявка protocolo chamado zgłoszenia zgłoszenie "
    "zgłoszeń talep تذكرة التذكرة tiketu פנייה",
    "session": "sitzung sitzungs sesión sesion séance sessione sessão sessao sessie sesja",
    "speaker": "sprecher sprecherin redner hablante orador locuteur intervenant parlante oratore "
    "falante spreker mówca talare taler konuşmacı спикер говорящий 話者 发言人 說話者 화자 المتحدث "
    "mluvčí",
    "sender": "absender sender remitente emisor expéditeur expediteur émetteur mittente "
    "remetente afzender nadawca avsändare afsender gönderen отправитель 送信者 发送者 发件人 보낸사람 "
    "المرسل odesílatel שולח 送信元 送信人 发信人 发送人 발신자 작성자 lähettäjä feladó αποστολέας expeditor "
    "відправник pengirim người_gửi فرستنده avsender",
    "author": "autor autora autrice auteur autore verfasser автор",
    "participant": "teilnehmer participante partecipante deelnemer uczestnik deltagare участник",
    "user": "benutzer nutzer usuario utilisateur utente usuário utilizador gebruiker użytkownik användare пользователь",
    "role": "rolle rol rôle ruolo papel função rola roll роль",
    "message": "nachricht nachrichten mensaje messaggio mensagem bericht wiadomość wiadomosc "
    "meddelande besked mesaj сообщение メッセージ 消息 訊息 메시지 الرسالة zpráva הודעה 消息内容 消息正文 메세지 "
    "viesti üzenet μήνυμα mesajul повідомлення pesan tin_nhắn پیام melding",
    "text": "texto texte testo tekst inhalt contenido contenu contenuto conteúdo conteudo treść "
    "metin текст 本文 内容 النص 内文 正文 내용 본문 äußerung äusserung redebeitrag énoncé enunciado "
    "enunciato wypowiedź κείμενο nội_dung",
    "comment": "kommentar comentario commentaire commento comentário opmerking komentarz комментарий",
    "question": "frage pregunta domanda pergunta vraag pytanie вопрос",
    "answer": "antwort respuesta réponse reponse risposta resposta antwoord odpowiedź ответ",
    "date": "datum fecha dato tarih дата 日付 日期 날짜 التاريخ תאריך päivämäärä dátum ημερομηνία tanggal ngày تاریخ",
    "time": "zeit uhrzeit hora heure ora orario tijd tijdstip czas godzina tidspunkt saat время "
    "時刻 时间 時間 시간 الوقت čas שעה aika kellonaika ώρα час waktu thời_gian زمان",
    "timestamp": "zeitpunkt zeitstempel horodatage 日時 日时 일시 发送时间 送信日時 投稿日時 전송시간 időpont",
    "creation": "erstellung creación création creazione criação",
    "created": "erstellt creado créé cree creato criado aangemaakt utworzono skapad",
    "sent": "gesendet enviado envoyé inviato verzonden wysłano skickat",
    "department": "abteilung departamento département reparto departamento afdeling dział avdelning отдел",
    "topic": "thema tema sujet argomento assunto onderwerp temat ämne тема",
    "category": "kategorie categoría categoria catégorie categorie kategoria категория",
    "queue": "warteschlange cola coda fila wachtrij",
    "name": "nombre nom nome naam imię nazwa namn navn имя",
    "number": "nummer número numero numéro numer номер nr n nº رقم číslo מספר",
    "id": "ид kennung identificador identifiant identificativo tunniste azonosító αναγνωριστικό",
    "customer": "kunde kundin kunden cliente klant klient kund kunde müşteri клиент",
    "type": "typ tipo тип soort rodzaj art nachrichtentyp nachrichtenart tür النوع",
    "ticket_number": "ticketnr ticketnummer vorgangsnummer fallnummer "
    "問い合わせ番号 お問い合わせ番号 受付番号 案件番号 "
    "チケット番号 工单号 工单编号 상담번호 문의번호 접수번호 티켓번호",
    "conversation_id": "会话编号 对话编号 대화id mã_hội_thoại mã_cuộc_trò_chuyện",
    "message_type": "消息类型 訊息類型 種別 种类 类型 類型 유형 종류",
    "visibility": "sichtbarkeit visibilidad visibilité visibilità visibilidade zichtbaarheid "
    "widoczność видимость 公開範囲",
    "public": "öffentlich öffentliche publique público pública pubblico pubblica openbaar publiczny публичный",
    "private": "privat privado privada privé privée privato privata prywatny prywatna приватный приватная",
    "internal": "intern interne interner internes interno interna internt wewnętrzny wewnętrzna "
    "wewnętrzne внутренний внутренняя внутреннее interní dahili 内部",
    "note": "notiz vermerk notitie notatka заметка примечание poznámka anteckning 社内メモ 内部メモ 内部备注 "
    "内部備註 メモ 备注 메모 내부메모",
    "system": "système sistema systemu системный система 系统 系統 システム 시스템",
    "notice": "systemnachricht systemmeldung systeembericht 系统消息 系统通知 システムメッセージ 시스템메시지",
    "deleted": "gelöscht supprimé eliminado borrado eliminato excluído apagado verwijderd "
    "usunięta usunięte удалено удалён smazáno raderad 已删除 削除済み",
    "draft": "entwurf borrador brouillon bozza rascunho szkic черновик 下書き 草稿",
    "start": "beginn anfang début inicio início inizio",
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
