"""`python -m dial2vec`: the command, where its script is not installed."""

from dial2vec.cli import main

main(prog_name="python -m dial2vec")
