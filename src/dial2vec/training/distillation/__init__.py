"""A student learns to give a teacher's vectors from a bag of tokens (docs/student.md)."""
