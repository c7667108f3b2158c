"""Values of cells: texts, names and times."""
