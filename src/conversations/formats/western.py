"""Code pages of languages in Latin letters, told apart by the letters that each language has."""

from __future__ import annotations

# The most common one first; it counts if others fit no better.
PAGES = ("cp1252", "cp1250", "cp1254", "mac_roman")
LANGUAGES = {
    **{"German": "äöüß", "French": "àâæçéèêëîïôœùûüÿ", "Spanish": "áéíñóúüªº", "Portuguese": "ãõáâàçéêíóôúü"},
    **{"Swedish, Finnish": "åäöé", "Danish, Norwegian": "æøåéòô", "Italian": "àèéìíòóùú", "Dutch": "ëïéèüöáóê"},
    **{"Icelandic": "áðéíóúýþæö", "Catalan": "àçèéíïòóúü·", "Polish": "ąćęłńóśźż", "Hungarian": "áéíóöőúüű"},
    **{"Czech, Slovak": "áäčďéěíĺľňóôŕřšťúůýž", "Croatian, Slovenian": "čćđšž", "Romanian": "ăâîşţ"},
    **{"Turkish": "çğıöşüâîi̇"},
}
SIGNS = "“”‘’„‚–—…€£§°«»¿¡•™©®\u00a0´½¼¾²³·†×÷±¢¥µ‹›"
# Signs that stand between letters: "l’été".
INSIDE = "’·\u00a0-–—"


def western_page(sample: bytes) -> str:
    """Return the code page in which most characters beyond ASCII are letters of one language, or signs."""
    return max(PAGES, key=lambda page: fit_of(sample, page))


def fit_of(sample: bytes, page: str) -> float:
    """Return the share of the characters beyond ASCII that the language that fits best has, and signs between words."""
    text = sample.decode(page, "replace")
    marks = [at for at, sign in enumerate(text) if not sign.isascii()]
    letters = [text[at] for at in marks if text[at] not in SIGNS and _is_letter(text, at)]
    signs = sum(text[at] in SIGNS and not _is_inside(text, at) for at in marks)
    known = max(sum(letter.lower() in language for letter in letters) for language in LANGUAGES.values())
    return (known + signs) / max(len(marks), 1)


def _is_letter(text: str, at: int) -> bool:
    """Return whether a letter is no capital after a small one."""
    return not (text[at].isupper() and text[at - 1 : at].islower())


def _is_inside(text: str, at: int) -> bool:
    """Return whether a sign stands between two letters, where few signs do."""
    return text[at] not in INSIDE and text[at - 1 : at].isalpha() and text[at + 1 : at + 2].isalpha()
