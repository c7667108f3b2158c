"""The one-page report of a collection: areas and topics, what changed, and typical dialogues."""

from dial2vec.collection.summary.summary import Scope, Summary
from dial2vec.collection.summary.summary_page import write_summary

__all__ = ["Scope", "Summary", "write_summary"]
