"""Guessing what no recipe fits: evidence on columns and speakers, and whether a reading is plausible."""
