"""What is new in a collection since the last look, with one error rate for all that is told in a quarter."""

from dial2vec.collection.news.looking import whats_new
from dial2vec.collection.news.telling import News, mark_sent, unsent

__all__ = ["News", "mark_sent", "unsent", "whats_new"]
