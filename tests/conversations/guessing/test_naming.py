import pytest

from conversations.dialogue import Turn
from conversations.formats.plain_text import script_of
from conversations.guessing.naming import without_separators


@pytest.mark.parametrize("remark", ["Note: it rains", "Warning: disk full", "Option 2: a refund", "Hinweis: zu"])
def test_a_remark_in_a_message_is_no_speaker(remark):
    script = script_of(f"Agent: Hello\n{remark}\nCustomer: Hi\nAgent: Bye")
    assert script.spoken() == (Turn("Agent", f"Hello\n{remark}"), Turn("Customer", "Hi"), Turn("Agent", "Bye"))


@pytest.mark.parametrize("frame", ["*** Call ended ***", "Page 2 of 7", "--- end of chat ---", "Seite 2 von 7"])
def test_lines_around_pages_and_calls_are_no_speech(frame):
    script = script_of(f"Agent: Hello\nCustomer: Hi\n{frame}\nAgent: Bye")
    assert script.spoken() == (Turn("Agent", "Hello"), Turn("Customer", "Hi"), Turn("Agent", "Bye"))
    assert script.unused == 1


@pytest.mark.parametrize("mark", [" | ", "<br>", " <EOT> ", " // ", "; ", " [SEP] "])
def test_marks_between_turns_on_one_line_are_no_speech(mark):
    said = ["Agent: Hello.", "Customer: Is it open?", "Agent: Yes"]
    assert without_separators([text + mark.rstrip() for text in said[:-1]] + said[-1:]) == said
    script = script_of(mark.join(said))
    assert [turn.text for turn in script.spoken()] == ["Hello.", "Is it open?", "Yes"]


def test_a_sign_that_not_all_turns_end_with_is_speech():
    said = ["Agent: see a/", "Customer: b", "Agent: c"]
    assert without_separators(said) == said
