"""The student: token vectors that give nearly a trained encoder's vectors, without torch; docs/student.md."""

from __future__ import annotations

from dial2vec.encoder.student.student import StudentEncoder
from dial2vec.encoder.student.table import TokenTable

__all__ = ["StudentEncoder", "TokenTable"]
