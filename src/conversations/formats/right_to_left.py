"""Code pages of Hebrew and Arabic, told by the letters that each script has, and where in words they stand."""

from __future__ import annotations

import re

# Letters of Hebrew with signs beside them; the five final letters stand at the ends of words.
HEBREW = re.compile(rb"[\xe0-\xfa]")
OTHER_THAN_HEBREW = re.compile(rb"[\x80-\x84\x8a-\x90\x9a\x9c-\x9f\xbc-\xdf\xfb\xfc\xff]")
FINAL = re.compile(rb"[\xea\xed\xef\xf3\xf5](?=[\xe0-\xfa])")
AT_END = re.compile(rb"[\xea\xed\xef\xf3\xf5](?![\xe0-\xfa])")
# Letters of Arabic and Persian; between them the page has letters of French, which Cyrillic and Greek need.
ARABIC = re.compile(rb"[\x81\x8d\x8e\x90\x98\xaa\xc0-\xd6\xd8-\xdf\xe1\xe3-\xe6\xec\xed]")
OTHER_THAN_ARABIC = re.compile(rb"[\x83\x88\x8c\x9c\xd7\xe0\xe2\xe7-\xeb\xee\xef\xf4\xf9\xfb\xfc]")
SMALL = re.compile(rb"[\xe1\xe3-\xe6\xec\xed]")
ALEF, LAM = b"\xc7", b"\xe1"
# Least number of letters by which a page is told.
LEAST = 8


def right_to_left_page(sample: bytes) -> str:
    """Return the code page of Hebrew or Arabic in which a sample is written; "" for other scripts."""
    letters = HEBREW.findall(sample)
    if len(letters) >= LEAST and not OTHER_THAN_HEBREW.search(sample) and AT_END.search(sample):
        inside = len(FINAL.findall(sample))
        if 20 * inside <= len(letters):
            return "cp1255"
    letters = ARABIC.findall(sample)
    if len(letters) >= LEAST and not OTHER_THAN_ARABIC.search(sample) and ALEF in sample and LAM in sample:
        return "cp1256" if 6 * len(SMALL.findall(sample)) >= len(letters) else ""
    return ""
