"""Tables of the groups of a collection: their metadata, their shares over time, and what changed."""

from dial2vec.collection.changes.comparing import GroupChanges, compare_groups
from dial2vec.collection.changes.over_time import groups_over_time
from dial2vec.collection.changes.overview import groups_table, standing_out

__all__ = ["GroupChanges", "compare_groups", "groups_over_time", "groups_table", "standing_out"]
