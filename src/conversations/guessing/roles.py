"""Words for the roles of speakers."""

from __future__ import annotations

import re

from conversations.vocabulary import word_set

ROLES = word_set("speakers", "roles")


def is_role(name: str) -> bool:
    """Return whether a speaker's name is a role, not a person's name: "Agent", "speaker_2", "Support bot"."""
    words = re.findall(r"[^\W\d_]+", name.lower())
    return bool(words) and all(word in ROLES for word in words)
