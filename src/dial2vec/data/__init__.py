"""Conversations in: import, corpora, validation, splits."""
