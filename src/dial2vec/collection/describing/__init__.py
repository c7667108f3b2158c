"""Names and summaries of groups by a language model, beside the terms that the groups already have."""

from dial2vec.collection.describing.describing import describe_groups, questions_of, read_descriptions

__all__ = ["describe_groups", "questions_of", "read_descriptions"]
