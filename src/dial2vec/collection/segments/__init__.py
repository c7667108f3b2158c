"""Topics within dialogues: dialogues are cut where their topic changes, and the segments are grouped and named."""

from dial2vec.collection.segments.segments import (
    Segments,
    Topic,
    dialogue_topics,
    find_segments,
    read_segments,
    segments_table,
    topics_table,
)

__all__ = ["Segments", "Topic", "dialogue_topics", "find_segments", "read_segments", "segments_table", "topics_table"]
