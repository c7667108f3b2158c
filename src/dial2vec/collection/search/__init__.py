"""Search in a collection: dialogues similar to a text or a dialogue, and the turns that make them similar."""

from dial2vec.collection.search.filters import Filters
from dial2vec.collection.search.search import Hit, Search, SpeakingTurn

__all__ = ["Filters", "Hit", "Search", "SpeakingTurn"]
