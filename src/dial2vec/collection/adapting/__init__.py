"""A linear map fitted to a collection's own dialogues, without labels, which groups, the map and "similar" use."""
