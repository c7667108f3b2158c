"""Corpora of any size to files of vectors: shard by shard, on one machine or on many, resumed after any kill."""
