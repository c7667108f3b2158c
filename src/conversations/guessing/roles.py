"""Words for the roles of speakers."""

from __future__ import annotations

import re

ROLES = {
    *("agent", "customer", "client", "caller", "user", "system", "bot", "chatbot", "assistant", "operator", "advisor"),
    *("adviser", "representative", "rep", "support", "service", "human", "ai", "speaker", "participant", "person"),
    *("host", "guest", "interviewer", "interviewee", "moderator", "teacher", "student", "doctor", "patient", "nurse"),
    *("seller", "buyer", "clerk", "visitor", "admin", "tool", "developer", "function", "gpt", "model", "team", "desk"),
    *("employee", "manager", "staff", "member", "contact", "center", "centre", "help", "unknown", "consumer", "end"),
    *("virtual", "automated", "ivr", "the", "a", "b", "c", "d", "q", "gov", "sys", "usr", "inbound", "outbound"),
    *(
        "kunde",
        "kundin",
        "berater",
        "beraterin",
        "mitarbeiter",
        "mitarbeiterin",
        "cliente",
        "agente",
        "asesor",
        "klient",
    ),
    *("asesora", "usuario", "usuaria", "operador", "operadora", "operatore", "conseiller", "conseillère", "klant"),
    *("medewerker", "utente", "utilisateur", "vendedor", "atendente", "klientka", "klient", "konsultant", "клиент"),
    *(
        "оператор",
        "агент",
        "бот",
        "пользователь",
        "الموظف",
        "العميل",
        "الوكيل",
        "الزبون",
        "المستخدم",
        "לקוח",
        "נציג",
        "סוכן",
    ),
    *("顧客", "お客様", "オペレーター", "エージェント", "ユーザー", "客服", "客户", "顾客", "用户", "坐席", "机器人"),
    *("担当者", "고객", "상담원", "상담사", "ग्राहक", "एजेंट"),
    *("in", "out", "left", "right", "channel", "spk", "narrator", "all", "everyone", "other", "voice", "side", "party"),
}


def is_role(name: str) -> bool:
    """Return whether a speaker's name is a role, not a person's name: "Agent", "speaker_2", "Support bot"."""
    words = re.findall(r"[^\W\d_]+", name.lower())
    return bool(words) and all(word in ROLES for word in words)
