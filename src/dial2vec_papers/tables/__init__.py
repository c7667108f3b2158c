"""The tables of Liu et al. 2022 for the corpora at hand: systems x corpora x seeds, each cell scored once and kept."""
