"""Finding the dialogues of a collection that are like a text or another dialogue, and the turns that make them so."""

from dial2vec.collection.search.filters import Filters
from dial2vec.collection.search.search import Hit, Search, SpeakingTurn

__all__ = ["Filters", "Hit", "Search", "SpeakingTurn"]
