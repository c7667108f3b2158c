"""`python -m dial2vec.cli` is `dial2vec`."""

from __future__ import annotations

from dial2vec.cli import main

if __name__ == "__main__":
    main()
