"""Great Expectations between a corpus and everything that is paid for: what is checked, and what happens then."""

from dial2vec.data.validation.checker import Checker
from dial2vec.data.validation.outcome import Outcome, require
from dial2vec.data.validation.profile import Profile

__all__ = ["Checker", "Outcome", "Profile", "require"]
