"""Validation of a corpus by Great Expectations, before any costly stage."""

from dial2vec.data.validation.checker import Checker
from dial2vec.data.validation.parts import checked_parts
from dial2vec.data.validation.profile import Profile
from dial2vec.data.validation.result import ValidationResult, require

__all__ = ["Checker", "Profile", "ValidationResult", "checked_parts", "require"]
