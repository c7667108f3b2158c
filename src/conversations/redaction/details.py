"""E-mail addresses, bank accounts, payment cards and phone numbers in folded texts.

`phonenumbers`, Google's rules for every country, finds phone numbers: it needs no other package, is imported in 0.1 s
and never uses the network. Two larger packages were tried. presidio-analyzer 2.2.366 brings spaCy (392 MB), and its
e-mail recognizer asks the network for a list of domains. scrubadub 2.0.1 (413 MB) leaves the domain of an address and
misses a card number with spaces. Both could add names found by a language model, which has to be downloaded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from conversations.errors import CorpusError, did_you_mean

COUNTRIES = ("US", "GB")
LOCAL = r"[^\s@<>()\[\],;:\"]{1,64}"
EMAIL = re.compile(
    rf"(?:{LOCAL}|\"[^\"@\n]{{1,64}}\")@[^\s@<>()\[\],;:\"]{{1,255}}\.(?:xn--[a-z\d-]+|[^\W\d_]{{2,24}})"
)
# Digits in groups, which any blanks, line ends, dots, dashes and strokes part.
SEPARATOR = r"[\s._/·•‐-―-]{1,3}"
GROUPS = re.compile(rf"(?<![\d+])\d+(?:{SEPARATOR}\d+)*", re.ASCII)
SIMPLE = re.compile(r"\d+(?:[ -]\d+)*", re.ASCII)
DIGITS = re.compile(r"\d+", re.ASCII)
# Visa; Mastercard and Maestro; Mastercard; American Express; Diners; JCB; Discover and UnionPay.
ISSUERS = re.compile(
    r"4\d{12}(?:\d{3}){0,2}|5[0-8]\d{14}|2[2-7]\d{14}|3[47]\d{13}|3[0689]\d{12,17}|35\d{14,17}|6\d{15,18}", re.ASCII
)
SHORTEST_CARD, LONGEST_CARD = 13, 19
# A country, a check number, and 11 to 30 letters and digits in groups (ISO 13616); one may follow within.
IBAN = re.compile(rf"(?<![^\W_])(?=([a-z]{{2}}\d{{2}}(?:(?:{SEPARATOR})?[a-z\d]){{11,30}}))", re.ASCII)
# A number that begins with + is a phone number, even if no network has assigned it.
INTERNATIONAL = re.compile(r"(?<![\w+])\+\d(?:[ ()./-]{0,2}\d){6,14}(?!\d)")
SEVEN_DIGITS = re.compile(r"(?:\d\D{0,3}){6}\d")


class Mask(NamedTuple):
    """A span of a text that is masked as `[KIND]`."""

    start: int
    end: int
    kind: str


def details(text: str, countries: Sequence[str]) -> Iterator[Mask]:
    """Yield masks of a folded text, the more certain kind first.

    :param countries: Two-letter codes of the countries whose national phone numbers are masked.
    """
    if "@" in text:
        yield from (Mask(*match.span(), "EMAIL") for match in EMAIL.finditer(text))
    if SEVEN_DIGITS.search(text):
        yield from _numbers(text, countries)


def _numbers(text: str, countries: Sequence[str]) -> Iterator[Mask]:
    from phonenumbers import PhoneNumberMatcher

    masks = [*_accounts(text), *_cards(text)]
    masks += [Mask(*match.span(), "PHONE") for match in INTERNATIONAL.finditer(text)]
    for country in countries:
        # Masked spans are blanked out first: often no number is left, and the slow search is skipped.
        for mask in masks:
            text = text[: mask.start] + "x" * (mask.end - mask.start) + text[mask.end :]
        if SEVEN_DIGITS.search(text):
            masks += [Mask(match.start, match.end, "PHONE") for match in PhoneNumberMatcher(text, country)]
    yield from masks


def _accounts(text: str) -> Iterator[Mask]:
    """Yield the longest part of each match that has the check number of an account; words may follow it."""
    for match in IBAN.finditer(text):
        places = [at for at in range(*match.span(1)) if text[at].isalnum()]
        for n in range(len(places), 14, -1):
            after = text[places[n - 1] + 1 : places[n - 1] + 2]
            number = "".join(text[at] for at in (*places[4:n], *places[:4]))
            if not after.isalnum() and int("".join(str(int(sign, 36)) for sign in number)) % 97 == 1:
                yield Mask(match.start(), places[n - 1] + 1, "IBAN")
                break


def _cards(text: str) -> Iterator[Mask]:
    """Yield the longest cards: groups of 3 to 6 digits as cards are printed, or any with single blanks or dashes."""
    for match in GROUPS.finditer(text):
        groups = [group.span() for group in DIGITS.finditer(text, *match.span())]
        at = 0
        while at < len(groups):
            for last in range(len(groups), at, -1):
                part = groups[at:last]
                whole = SIMPLE.fullmatch(text, part[0][0], part[-1][1]) or all(
                    2 < end - start < 7 for start, end in part
                )
                if whole and is_card("".join(text[start:end] for start, end in part)):
                    yield Mask(part[0][0], part[-1][1], "CARD")
                    at = last - 1
                    break
            at += 1


def is_card(digits: str) -> bool:
    """Return whether a number has the issuer digits and the check digit of a payment card."""
    fits = SHORTEST_CARD <= len(digits) <= LONGEST_CARD and ISSUERS.fullmatch(digits)
    return bool(fits) and passes_luhn(digits)


def passes_luhn(digits: str) -> bool:
    """Return whether the last digit is the check digit of the others, as on every payment card (ISO/IEC 7812)."""
    doubled = [int(digit) * (1 + at % 2) for at, digit in enumerate(reversed(digits))]
    return sum(number - 9 if number > 9 else number for number in doubled) % 10 == 0


def known_countries(countries: Sequence[str]) -> Sequence[str]:
    """Return the countries.

    :raises CorpusError: if one of them does not exist.
    """
    from phonenumbers import SUPPORTED_REGIONS

    for country in countries:
        if country not in SUPPORTED_REGIONS:
            raise CorpusError(
                f"{country!r} (--phone-country) is no country with phone numbers."
                f"{did_you_mean(country.upper(), SUPPORTED_REGIONS)} Expected two capital letters such as US, GB or DE."
            )
    return countries
