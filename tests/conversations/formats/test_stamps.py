import pytest

from conversations.dialogue import Turn
from conversations.formats.encodings import find_encoding
from conversations.formats.plain_text import read_plain_text
from conversations.options import Options
from conversations.reading import read_export

SAID = [("10:00:01", "Kim", "Is it open?"), ("10:00:05", "Ann Lee", "Yes: until 8"), ("10:01:09", "Kim", "Good - bye")]
FORMS = (
    "[{0}] {1} | {2}",
    "2024-03-01 {0} | {1} | {2}",
    "2024-03-01 {0} - {1} - {2}",
    "{0} - {1} - {2}",
    "[{0}] {1} -> {2}",
    "[2024-03-01 {0}] <{1}> {2}",
    "{0}\t{1}\t{2}",
    "2024-03-01 {0};{1};{2}",
    "2024-03-01T{0}.123456Z {1}: {2}",
    "[2024-03-01T{0}+01:00] {1}: {2}",
    "Fri 01 Mar 2024 {0} {1}: {2}",
    "{1} [{0}] {2}",
    "{1} ({0}) - {2}",
    "{1}, 2024-03-01 {0}: {2}",
    "{1} at {0}: {2}",
)


@pytest.mark.parametrize("form", FORMS)
def test_a_time_beside_a_name_tells_speaker_and_text(tmp_path, form):
    path = tmp_path / "chat.txt"
    path.write_text("".join(form.format(*said) + "\n" for said in SAID))
    [dialogue] = read_export(path, Options()).result.dialogues
    assert dialogue.turns == tuple(Turn(name, text) for _, name, text in SAID)


def test_a_line_with_the_time_of_turns_but_no_speaker_is_a_notice(tmp_path):
    path = tmp_path / "chat.txt"
    path.write_text("(10:00:01 AM) Ann: Hi\n(10:00:05 AM) *** Kim joined ***\n10:30 is fine\n(10:00:07 AM) Kim: Yes\n")
    [script] = read_plain_text(path, find_encoding(path))
    assert script.spoken() == (Turn("Ann", "Hi\n10:30 is fine"), Turn("Kim", "Yes"))
    assert script.unused == 1
