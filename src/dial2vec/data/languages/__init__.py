"""The languages of dialogues, and the encoder to begin with in another than English; docs/languages.md."""

from __future__ import annotations

from dial2vec.data.languages.languages import common_words, known_languages, languages_of, start_advice

__all__ = ["common_words", "known_languages", "languages_of", "start_advice"]
