"""From files to dialogues: import, corpora, validation, splits."""
