"""Great Expectations between a corpus and everything that is paid for: what is checked, and what happens then."""

from dial2vec.data.validation.checker import Checker
from dial2vec.data.validation.profile import Profile
from dial2vec.data.validation.result import ValidationResult, require

__all__ = ["Checker", "Profile", "ValidationResult", "require"]
