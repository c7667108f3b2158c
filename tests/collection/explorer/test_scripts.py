"""The page's scripts together: they share one scope."""

from __future__ import annotations

from .page import Script


def test_no_script_declares_a_name_of_another_one():
    # V8 refuses a second `const` or `class` of the same name.
    assert Script().value("typeof Points") == "function"
