"""The explorer: a map of the dialogues of a collection on a web page, to search, select and read."""
