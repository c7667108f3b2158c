"""Embedding of corpora of any size: shard by shard, on one machine or many, and resumable."""
