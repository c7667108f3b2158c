"""The stages, and what runs them: they alone open and write the files of a run."""
