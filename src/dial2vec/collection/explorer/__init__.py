"""The explorer: a web page with a map of a collection's dialogues, to search, select and read them."""
